"""Whether what a story directs exists in the picture it directs: read without a browser."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

from app.kit import direction, predict, stage, story
from app.kit.lesson import Lesson
from app.kit.moments import MomentError, Moments
from app.kit.player import scene
from app.kit.visit import Visit
from app.kit.words import Question
from engine.spec import Spec, SpecError
from tests.lessons.pages import Job

WORDS = 30  # of a takeaway at most
BEGINNING = 100  # transitions: most moments are among them

Draw = Callable[[Any, None], bytes]


def staged(steps: tuple[story.Step, ...]) -> list[int]:
    """The steps that say what the stage does."""
    return [i for i, step in enumerate(steps) if step.staging != story.Staging()]


def faults(lesson: Lesson, step: story.Step) -> list[str]:
    """What is wrong with the staging of a step: a sentence each."""
    try:
        spec = direction.staged(lesson, step)
        if spec is None:
            return ["it directs the stage without a scenario"]
        for one in step.staging.tries:
            spec.replace(**one.set)
    except (SpecError, TypeError) as problem:
        return [str(problem)]
    found: list[str] = []
    for draw in _draws(lesson, step):
        found = _faults_in(lesson, step, spec, draw)
        if not found:
            break
    return [*_vain(lesson, step, spec), *_undrawable(lesson, step, spec), *found]


def _asked(lesson: Lesson, step: story.Step) -> Question | None:
    return next((question for question in lesson.predict if question.id == step.question), None)


def _nowhere(question: Question | None, play: story.Play, blob: bytes) -> Iterator[str]:
    """Options that are places, and of which the reader sees none before the lock."""
    if question is None or question.where is None:
        return
    panels = {panel["id"]: panel for panel in scene.decode(blob)[0]["panels"]}
    shown = [name for name in question.where.panels if name in panels and name in (play.panels or panels)]
    if not shown:
        yield f"the options of {question.id!r} are places in {', '.join(question.where.panels)}, and none of these is on stage"
    for name in shown:
        for place in question.where.places:
            axes = zip((panels[name]["x"], panels[name]["y"]), place, strict=True)
            if not all(axis["low"] <= value <= axis["high"] for axis, value in axes):
                yield f"{place} is outside of {name!r}"


def _undrawable(lesson: Lesson, step: story.Step, spec: Spec) -> Iterator[str]:
    """Other rounds of a question that cannot be played, and a drawing whose panel is not there or does not reach."""
    question = _asked(lesson, step)
    if question is None:
        return
    here = Visit(spec, step.scenario, step=lesson.steps().index(step) if step in lesson.steps() else 0)
    for rounds in range(1 + len(question.again)):
        here.rounds[question.id] = rounds
        try:
            shown = direction.staged(lesson, step, here)
            asked_about = direction.specs(lesson, here).get(question.scenario or "", shown)
        except (SpecError, TypeError) as problem:
            yield f"round {rounds} of {question.id!r}: {problem}"
            continue
        if question.draw is None:
            continue
        panels = {panel["id"]: panel for panel in scene.decode(lesson.scene(shown, None))[0]["panels"]}
        drawn = panels.get(question.draw.panel)
        plays = [play.panels for play in (step.staging.play, step.staging.answer) if play is not None and play.panels]
        if drawn is None or any(question.draw.panel not in named for named in plays):
            yield f"{question.id!r} is drawn in {question.draw.panel!r}, which is not on stage"
            continue
        right = predict._answered(question, asked_about)[0]
        assert isinstance(right, tuple) and len(right) == question.draw.numbers
        axes = {"point": "xy", "curve": "y" * len(right)}.get(question.draw.kind, question.draw.along * len(right))
        for axis, value in zip(axes, right, strict=True):
            if not drawn[axis]["low"] <= value <= drawn[axis]["high"]:
                yield f"round {rounds} of {question.id!r}: {value:.3g} is outside of {question.draw.panel!r}"


def _vain(lesson: Lesson, step: story.Step, spec: Spec) -> Iterator[str]:
    """A play of which nothing is ever seen: the step waits before it, and its answer plays another."""
    question = _asked(lesson, step)
    held = question is not None and direction.asks_about_stage(lesson, Visit(spec, step.scenario), question)
    if held and step.staging.answer is not None and step.staging.play.ends is not None:
        yield f"its play never gets to {step.staging.play.ends!r}: it waits for its question, and then its answer plays"


def _faults_in(lesson: Lesson, step: story.Step, spec: Spec, draw: Draw) -> list[str]:
    """The faults of a step in pictures that are drawn so."""
    blob, answers = _picture(draw, spec), _answering(lesson, step, spec)
    places = _nowhere(_asked(lesson, step), step.staging.play, blob)
    answer = Moments(blob if answers == spec else _picture(draw, answers))
    return [*_faults_of(step, Moments(blob), answer), *_faults_of_keeping(lesson, step, spec, blob), *places]


class _Beginning(Job):
    """A run that is not wanted any more once it has so many transitions."""

    def __init__(self, transitions: float):
        super().__init__()
        self.transitions = transitions

    def publish(self, blob: bytes) -> None:
        super().publish(blob)
        self.cancelled = scene.header(blob)["steps"] >= self.transitions


def _draws(lesson: Lesson, step: story.Step) -> list[Draw]:
    """How the picture of a run is drawn: of a long one first some beginnings, then the whole, which has their marks. Lines
    of the card may go before the end: a step that names some is looked for in the whole alone.
    """
    grow = lesson.grow
    if grow is None:
        return [lesson.scene]
    beginnings = [] if any(address.startswith("card.") for address in step.mentions) else [lesson.scene, _grown(grow, BEGINNING)]
    return [*beginnings, _grown(grow, math.inf)]


@functools.cache
def _grown(grow: Callable[[Any, Job], bytes | None], transitions: float) -> Draw:
    def draw(spec: Spec, _: None) -> bytes:
        job = _Beginning(transitions)
        whole = grow(spec, job)
        return job.blobs[-1] if job.cancelled else whole

    return draw


@functools.lru_cache(maxsize=12)  # steps that follow each other tell of one run
def _picture(draw: Draw, spec: Spec) -> bytes:
    return draw(spec, None)


def _answering(lesson: Lesson, step: story.Step, spec: Spec) -> Spec:
    """The run that is on stage once the question of a step is answered."""
    question = _asked(lesson, step)
    if question is not None and question.reveal is not None:
        return question.reveal(spec)
    return spec if question is None or question.scenario is None else lesson.specs()[question.scenario]


def _faults_of_keeping(lesson: Lesson, step: story.Step, spec: Spec, blob: bytes) -> Iterator[str]:
    """Old marks that cannot stay, or that stay where nobody looks."""
    keep, plays = step.staging.keep, (step.staging.play, step.staging.answer)
    if keep is None:
        return
    try:
        stage.with_ghosts(lesson, blob, spec, keep)
    except MomentError as problem:
        yield str(problem)
    for play in plays:
        for address in keep.marks if play is not None and play.panels else ():
            if address.split(".")[0] not in play.panels:
                yield f"{address!r} is kept, and its panel is not on stage"
    if step.question is None and not step.staging.tries:
        yield "it keeps marks, and nothing takes their place"


def _faults_of(step: story.Step, picture: Moments, answer: Moments) -> Iterator[str]:
    """picture, answer : what is on stage before and after the step's question is answered"""
    staging = step.staging
    pairs = [(play, seen) for play, seen in ((staging.play, picture), (staging.answer, answer)) if play is not None]
    moments = [(staging.until, picture), *((moment, seen) for play, seen in pairs for moment in (play.begins, play.ends))]
    for moment, seen in moments:
        try:
            _ = moment is None or seen[moment]
        except MomentError as problem:
            yield str(problem)
    for play, seen in pairs:
        for panel in set(play.panels) - set(seen.panels()):
            yield f"there is no panel {panel!r}; there are {', '.join(seen.panels())}"
    for address in step.mentions:
        panel = address.split(".")[0]
        if not picture.has(address):
            yield f"nothing in the picture is {address!r}"
        elif panel != "card" and any(play.panels and panel not in play.panels for play, _ in pairs):
            yield f"{address!r} is named, and its panel is not on stage"
    if staging.answer is not None and step.question is None:
        yield "an answer plays to no question"
    if len(staging.takeaway.split()) > WORDS:
        yield f"its takeaway has more than {WORDS} words"
    if staging.until is not None and step.question is None:
        yield "it waits for no question"
