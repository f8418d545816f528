"""What the story wants of the stage: a cue of some hundred bytes that travels with the picture.

Whoever arrives at a step sees its picture played from the beginning to the place that makes its point, within seconds.
While a step asks about the very run that it shows, the stage waits before what it asks for; the locked answer lets it
play. How it plays: `direct` in app/static/player/clock.js. What the reader sets is the reader's: no cue.
"""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from app.kit import predict, share, story
from app.kit.lesson import Lesson
from app.kit.moments import MomentError, Moments, Place
from app.kit.player import scene
from app.kit.visit import Visit
from app.kit.words import Question
from engine.spec import Spec

log = logging.getLogger(__name__)

WAITING = "/waiting"  # at the end of a cue's id


@dataclass(frozen=True)
class Choices:
    """The options of a question as places on the stage: the reader chooses there, and sees there what was chosen.

    chosen : the option; None: none as yet
    right : the right one, once the choice is locked
    """

    panels: tuple[str, ...]
    places: tuple[tuple[float, float], ...]
    options: tuple[str, ...]
    chosen: int | None
    locked: bool
    right: int | None


@dataclass(frozen=True)
class Drawing:
    """A guess that the reader draws on the stage, and sees there while the stage plays the answer.

    question : by id
    kind, panel, along, at, over : of `guess.Drawn`
    drawn : its numbers; None: nothing as yet
    right : those of the right one, once it is locked
    """

    question: str
    kind: str
    panel: str
    along: str
    at: float | None
    over: Sequence[float]
    drawn: tuple[float, ...] | None
    locked: bool
    right: tuple[float, ...] | None


@dataclass(frozen=True)
class Cue:
    """What the player does, once for each `id`.

    hold : wait at `until`, show nothing beyond it
    locked : the prediction for which it waits is locked, and its answer is being worked out
    reveal : the play answers a question: its explanation waits for the end
    panels : those on stage; none: all
    begins, ends, until : places (transition, phase); None: the beginning, the end, where it begins
    seconds, pace : of the play, as `story.Staging` has them
    choices : the options of the question that are places
    drawing : the guess that the reader draws
    card : lines of the card that the words name: they are in view
    plain : picture and controls alone, without legend, card and table
    frame : transition and sub-step at which it stands, in place of the play
    speed, slow : of the player from now on; None, False: as they are
    """

    id: str
    hold: bool = False
    locked: bool = False
    reveal: bool = False
    panels: tuple[str, ...] = ()
    begins: Place | None = None
    ends: Place | None = None
    until: Place | None = None
    seconds: float = story.LONGEST
    pace: str = story.PACES[0]
    choices: Choices | None = None
    drawing: Drawing | None = None
    card: tuple[str, ...] = ()
    plain: bool = False
    frame: tuple[int, int | None] | None = None
    speed: float | None = None
    slow: bool = False

    def encode(self) -> bytes:
        """As the player reads it."""
        return json.dumps(asdict(self)).encode()


def cue(lesson: Lesson, here: Visit, blob: bytes) -> Cue | None:
    """The cue of the present step for its picture; None in the sandbox and beside a long run. A link may open either at
    a frame of its own."""
    if here.run is not None:
        return None
    told = None if here.scenario is None else _told(lesson, here, blob)
    if here.frame in (None, share.Frame()):
        return told
    return _framed(lesson, here, told, here.frame, scene.header(blob))


def _framed(lesson: Lesson, here: Visit, told: Cue | None, frame: share.Frame, header: Mapping[str, Any]) -> Cue | None:
    """The cue that brings the player to the frame of a link; the next one is the story's again."""
    if told is None:
        step = present(lesson, here)
        panels = step.staging.play.panels if step is not None and here.led else ()  # who saw no step saw all of them
        told = Cue(f"{lesson.slug}/{here.step}/own", panels=panels)
    if here.framed not in (None, told.id.removesuffix(WAITING)):
        here.frame = None
        return told
    here.framed = told.id.removesuffix(WAITING)
    place, steps, total = frame.place, header["steps"], header["total"] or 0
    if place is not None and steps <= place[0] < total:
        told = replace(told, id=here.framed + WAITING)
    elif place is not None and place[0] >= steps:
        here.problems += (share.Problem(share.FRAME, f"{place[0] + 1} is beyond this run of {steps}; its end is shown"),)
        place = steps - 1, None
        here.frame = replace(frame, place=place)
    return replace(told, frame=place, speed=frame.speed, slow=frame.slow)


def _told(lesson: Lesson, here: Visit, blob: bytes) -> Cue:
    """The cue of the present step."""
    step, question = present(lesson, here), asked(lesson, here)
    answered = question is not None and here.answered(question.id)
    place = f"{lesson.slug}/{here.step}/{here.scenario}{_tried(lesson, here)}" + ("/answered" if answered else "")
    waits: dict[str, Any] = {"hold": held(lesson, here), "reveal": answered, "choices": _choices(lesson, here, question)}
    waits["drawing"] = _drawing(here, question)
    waits["locked"] = question is not None and question.id in here.answers and not answered
    if step is None or staged(lesson, step) is None or here.scenario != step.scenario:
        return Cue(place, **waits)
    staging = step.staging
    play = staging.answer if answered and staging.answer is not None else staging.play
    begins = (answered and play.begins is None and staging.until) or play.begins
    asked_for = {"begins": begins, "ends": play.ends, "until": staging.until}
    wanted = {name: moment for name, moment in asked_for.items() if moment is not None}
    places: dict[str, Any] = _places(lesson, blob, wanted)
    if len(places) < len(wanted):
        place += WAITING  # of a run that still grows: it plays anew when it has what it was to show
    return Cue(place, **waits, panels=play.panels, **places, seconds=play.seconds, pace=play.pace, card=step.on_card)


def _choices(lesson: Lesson, here: Visit, question: Question | None) -> Choices | None:
    if question is None or question.where is None:
        return None
    answer = here.answers.get(question.id)
    chosen = here.guesses.get(question.id) if answer is None else answer.choice
    right = None if answer is None else answer.right
    assert not isinstance(chosen, tuple) and not isinstance(right, tuple)
    return Choices(question.where.panels, question.where.places, tuple(question.options), chosen, answer is not None, right)


def _drawing(here: Visit, question: Question | None) -> Drawing | None:
    if question is None or question.draw is None:
        return None
    asked_for, answer = question.draw, here.answers.get(question.id)
    drawn = here.guesses.get(question.id) if answer is None else answer.choice
    right = None if answer is None else answer.right
    placed = asked_for.kind, asked_for.panel, asked_for.along, asked_for.at, asked_for.over
    return Drawing(question.id, *placed, drawn=_row(drawn), locked=answer is not None, right=_row(right))


def _row(found: int | tuple[float, ...] | None) -> tuple[float, ...] | None:
    """What was drawn, or is to be; None where there is nothing, or the run could not be evaluated."""
    return found if isinstance(found, tuple) else None


def _places(lesson: Lesson, blob: bytes, wanted: dict[str, str]) -> dict[str, Place]:
    """The places of these moments; without those that the run never meets."""
    places: dict[str, Place] = {}
    if not wanted:
        return places  # nothing is read of the picture
    moments = Moments(blob)
    for name, moment in wanted.items():
        try:
            places[name] = moments[moment]
        except MomentError as problem:  # of another seed, or of a run that still grows
            log.info("%s: %s", lesson.slug, problem)
    return places


def present(lesson: Lesson, here: Visit) -> story.Step | None:
    """The present step."""
    steps = lesson.steps()
    return steps[min(here.step, len(steps) - 1)] if steps else None


def staged(lesson: Lesson, step: story.Step, here: Visit | None = None) -> Spec | None:
    """The settings of a step: its scenario with what it shows over it, and what another round of its question changes;
    None where it leaves them be.
    """
    scenario = lesson.specs().get(step.scenario or "")
    return None if scenario is None else _varied(scenario.replace(**step.staging.show), _asked_by(lesson, step), here)


def specs(lesson: Lesson, here: Visit) -> dict[str, Spec]:
    """The scenarios' specs by id, as the present round of the present question has them."""
    question, known = asked(lesson, here), lesson.specs()
    step = present(lesson, here)
    played = {question.scenario, step.scenario} if question is not None and step is not None else set()
    return {name: _varied(spec, question, here) if name in played else spec for name, spec in known.items()}


def _varied(spec: Spec, question: Question | None, here: Visit | None) -> Spec:
    """The settings in another round of a question: those that it names, with another seed."""
    rounds = 0 if question is None or here is None else here.rounds.get(question.id, 0)
    if question is None or not rounds:
        return spec
    settings = dict(question.again[(rounds - 1) % len(question.again)]) if question.again else {}
    if "seed" in spec.declarations():
        settings["seed"] = spec.seed + rounds  # type: ignore[attr-defined]
    return spec.replace(**settings)


def another(lesson: Lesson, here: Visit) -> Callable[[], None] | None:
    """What begins another round of the present question: a hidden run with other settings. None where it has none."""
    step, question = present(lesson, here), asked(lesson, here)
    own = None if step is None else staged(lesson, step)
    changes = question is not None and own is not None and (any(question.again) or (question.again and "seed" in own.declarations()))
    if step is None or question is None or not changes:
        return None

    def begin() -> None:
        predict.forget(question, here)
        here.rounds[question.id] = here.rounds.get(question.id, 0) + 1
        wanted = staged(lesson, step, here)
        if wanted is not None:
            here.load(wanted, step.scenario)

    return begin


def kept(lesson: Lesson, here: Visit) -> tuple[Spec, story.Keep] | None:
    """The run whose marks stay in the picture that is on stage in its place, and which; None: no comparison."""
    step = present(lesson, here)
    if step is None or step.staging.keep is None or here.run is not None:
        return None
    own, shown = staged(lesson, step, here), here.draft or here.spec
    if own is None or here.shows(own):
        return None
    return own.replace(seed=getattr(shown, "seed", None)) if "seed" in own.declarations() else own, step.staging.keep


def left(lesson: Lesson, here: Visit) -> bool:
    """Whether the reader has gone from the settings of the present step, to which one may lead back."""
    step, question = present(lesson, here), asked(lesson, here)
    wanted = None if step is None else staged(lesson, step, here)
    if step is None or wanted is None or here.shows(wanted):
        return False
    if question is not None and _shows_answer(lesson, here, question):
        return False
    return here.scenario in (None, step.scenario)


def _shows_answer(lesson: Lesson, here: Visit, question: Question) -> bool:
    if not here.answered(question.id):
        return False
    return question.reveal is not None or _on_stage(lesson, here, question.scenario)


def _on_stage(lesson: Lesson, here: Visit, scenario: str | None) -> bool:
    run = specs(lesson, here).get(scenario or "")
    return run is not None and here.shows(run)


def _tried(lesson: Lesson, here: Visit) -> str:
    """What tells the run on stage from that of its scenario, the seed aside."""
    if here.scenario not in specs(lesson, here) or _on_stage(lesson, here, here.scenario):
        return ""
    return f"/{zlib.crc32(repr(here.spec).encode()):x}"


def asked(lesson: Lesson, here: Visit) -> Question | None:
    """The question of the present step."""
    step = present(lesson, here)
    return None if step is None else _asked_by(lesson, step)


def _asked_by(lesson: Lesson, step: story.Step) -> Question | None:
    return next((question for question in lesson.predict if question.id == step.question), None)


def open_question(lesson: Lesson, here: Visit) -> Question | None:
    """The question of the present step while nobody has answered it; None in the sandbox."""
    question = asked(lesson, here)
    return None if question is None or here.scenario is None or here.answered(question.id) else question


def held(lesson: Lesson, here: Visit) -> bool:
    """Whether an open question asks about the run on stage, so that what comes of it must not be seen."""
    question = open_question(lesson, here)
    return question is not None and asks_about_stage(lesson, here, question)


def asks_about_stage(lesson: Lesson, here: Visit, question: Question) -> bool:
    """Whether the run on stage is the one that a question asks about."""
    if question.reveal is not None:
        return False
    return question.scenario is None or _on_stage(lesson, here, question.scenario)


def fails(lesson: Lesson, here: Visit) -> bool:
    """Whether the run on stage is one that goes wrong, and the page may say so."""
    scenario = next((scenario for scenario in lesson.scenarios if scenario.id == here.scenario), None)
    return scenario is not None and scenario.failure and here.shows(scenario.spec) and not held(lesson, here)
