"""The guided story: story.md, one `## heading` a step. A long story has parts, in which steps are counted: a `# heading`
directly above the step that opens one. That at the beginning of the file is the lesson's own.

A heading may carry what the step does: `## Too large a step {scenario=too-large question=energy}` loads that scenario
and asks that question. What the stage does meanwhile stands below the heading, as TOML:

    ```stage
    show = {variant = "drop_rejections"}
    panels = ["ring", "shares"]
    play = {from = "start", to = 'first "accepted" = 0', pace = "phases"}
    answer = {panels = ["ring", "shares", "trace"]}
    takeaway = "He compares, he never counts."

    [[tries]]
    words = "Only two islands"
    set = {islands = 2}
    ```

A comparison keeps old marks, `keep = {marks = ["shares.posterior"], words = "he counted", at = "end"}`: when other
settings than the step's come on stage, these marks of its own run stay in the picture, dotted, by that name.

`Staging` and `Play` say what each word means, `moments` what a moment is. A link `[the proposal](#at=ring.proposal)`
lights what it names on the stage: a panel, the marks of one role in it (`ring.proposal`), of one kind among these
(`ring.proposal.arrows`), or a line of the card (`card.ratio`). What is to be pressed or set stands in *italics*, by its
name on the page; bold is a term that is explained here.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

_HEADING = re.compile(
    r"^(?:#[ \t]+(?P<part>.*?)[ \t]*\n(?:[ \t]*\n)*)?(?P<step>##[ \t]+(?P<title>.*?)[ \t]*(\{(?P<does>[^{}]*)\})?[ \t]*)$", re.MULTILINE
)
_KNOWN = ("scenario", "question")
_STAGE = re.compile(r"^```stage[ \t]*\n(?P<toml>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_PLAY = {"panels": "panels", "from": "begins", "to": "ends", "seconds": "seconds", "pace": "pace"}
_ITALIC = re.compile(r"(?<!\*)\*(?P<words>[^*\n]+)\*(?!\*)")
_MENTION = re.compile(r"\]\(#at=(?P<address>[^)\s]+)\)")
PACES = ("swell", "phases")
CARD = "card."  # before the id of a line, where words light it
END = "end"  # the moment after the last transition
LONGEST = 12  # s that a step plays
ESSENCE = 3  # sentences to keep of a lesson
THOUGHT = 40  # s that a prediction takes, with what explains it
WORDS_A_MINUTE = 100  # of a reader who looks at a picture meanwhile


class StoryError(ValueError):
    """A story that cannot be followed; the message names the heading."""


@dataclass(frozen=True)
class Try:
    """A button of a step: its words, and the settings that it changes."""

    words: str
    set: Mapping[str, Any]


@dataclass(frozen=True)
class Keep:
    """What stays of the run that the step shows when another takes its place: ghosts.laid_over.

    marks : by address
    words : what they are called
    at : the moment up to which they are drawn
    """

    marks: tuple[str, ...]
    words: str
    at: str = END


@dataclass(frozen=True)
class Play:
    """What the stage plays.

    panels : those on stage, by id; none named: all
    begins, ends : moments between which it plays; None: the beginning of the run, and its end
    seconds : that it takes at most
    pace : "swell", one transition at first and then ever faster, or "phases", sub-step by sub-step
    """

    panels: tuple[str, ...] = ()
    begins: str | None = None
    ends: str | None = None
    seconds: float = LONGEST
    pace: str = PACES[0]


@dataclass(frozen=True)
class Staging:
    """What the stage does at a step.

    show : settings over those of the scenario
    play : what plays on arrival
    until : the moment at which it waits for the prediction; None: where it begins
    answer : what plays once the prediction is locked; None: the same, from where it waited
    takeaway : the sentence to keep, printed when all has been seen
    keep : what stays of this picture in the next
    tries : what the reader may try at once
    """

    show: Mapping[str, Any] = field(default_factory=dict)
    play: Play = field(default_factory=Play)
    until: str | None = None
    answer: Play | None = None
    takeaway: str = ""
    keep: Keep | None = None
    tries: tuple[Try, ...] = ()


@dataclass(frozen=True)
class Step:
    """One step: a title, its Markdown, what the stage does, and optionally the scenario it loads, the question it asks
    and the part of the story that it belongs to.
    """

    title: str
    text: str
    scenario: str | None = None
    question: str | None = None
    staging: Staging = field(default_factory=Staging)
    part: str | None = None

    @property
    def mentions(self) -> list[str]:
        """The addresses that the words light."""
        return _MENTION.findall(self.text)

    @property
    def on_card(self) -> tuple[str, ...]:
        """The lines of the card among them."""
        return tuple(address.removeprefix(CARD) for address in self.mentions if address.startswith(CARD))

    @property
    def italics(self) -> list[str]:
        """Words in italics, names of controls among them."""
        return [found["words"] for found in _ITALIC.finditer(self.text)]


def number(steps: tuple[Step, ...], index: int) -> int:
    """The number of a step in its part, from 1."""
    return sum(step.part == steps[index].part for step in steps[: index + 1])


def place(steps: tuple[Step, ...], index: int) -> str:
    """Where the reader is: “Step 3 of 5”, or “Part 2 · Step 3 of 5” where there are several parts and `opens` does not say
    which."""
    step = f"Step {number(steps, index)} of {sum(step.part == steps[index].part for step in steps)}"
    parts = _parts(steps)
    return step if len(parts) == 1 or opens(steps, index) else f"Part {parts.index(steps[index].part) + 1} · {step}"


def opens(steps: tuple[Step, ...], index: int) -> str:
    """Which part of several a step opens: “Part 2 of 3: How it learns”, or nothing."""
    part, parts = steps[index].part, _parts(steps)
    if part is None or number(steps, index) > 1:
        return ""
    return f"Part {parts.index(part) + 1} of {len(parts)}: {part}"


def _parts(steps: tuple[Step, ...]) -> list[str | None]:
    return list(dict.fromkeys(step.part for step in steps))


def essence(steps: tuple[Step, ...]) -> list[str]:
    """Three sentences to keep, in the order of the story: of the steps that ask, then of the others."""
    told = [step for step in steps if step.staging.takeaway]
    kept = sorted(told, key=lambda step: step.question is None)[:ESSENCE]
    return [step.staging.takeaway for step in told if step in kept]


def minutes(steps: tuple[Step, ...]) -> int:
    """How long the story takes, in steps of five."""
    words = sum(len(step.text.split()) for step in steps)
    asked = sum(step.question is not None for step in steps)
    whole = words / WORDS_A_MINUTE + (len(steps) * LONGEST + asked * THOUGHT) / 60
    return max(5, 5 * round(whole / 5))


@cache
def read(path: Path) -> tuple[Step, ...]:
    """The steps of a story file, none if there is no file. Text before the first heading is the first step's
    introduction.
    """
    return parse(path.read_text(encoding="utf-8")) if path.exists() else ()


def parse(text: str) -> tuple[Step, ...]:
    """The steps of a story."""
    headings = list(_HEADING.finditer(text))
    if not headings:
        return (Step("", text.strip()),) if text.strip() else ()
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    introduction = re.sub(r"^# .*$", "", text[: headings[0].start()], flags=re.MULTILINE).strip()
    steps: list[Step] = []
    part = None
    for heading, end in zip(headings, ends, strict=True):
        body = text[heading.end() : end].strip()
        if heading.start() > 0 and heading["part"]:
            part = heading["part"]
        if introduction and not steps:
            body = f"{introduction}\n\n{body}"
        words, staging = _staged(heading, body)
        steps.append(Step(heading["title"].strip("# "), words, **_does(heading), staging=staging, part=part))
    return tuple(steps)


def _staged(heading: re.Match[str], body: str) -> tuple[str, Staging]:
    """The words of a step, and what its block says of the stage."""
    blocks = list(_STAGE.finditer(body))
    if not blocks:
        return body, Staging()
    if len(blocks) > 1:
        raise StoryError(f"“{heading['step']}” has {len(blocks)} blocks for the stage; a step has one")
    try:
        return _STAGE.sub("", body).strip(), _staging(tomllib.loads(blocks[0]["toml"]))
    except (tomllib.TOMLDecodeError, StoryError, KeyError, TypeError) as problem:
        raise StoryError(f"“{heading['step']}”, its stage: {problem}") from problem


def _staging(told: dict[str, Any]) -> Staging:
    panels = told.pop("panels", ())
    told["play"] = _play({"panels": panels, **told.get("play", {})})
    if "answer" in told:
        told["answer"] = _play({"panels": panels, **told["answer"]})
    if "keep" in told:
        told["keep"] = Keep(**{**told["keep"], "marks": tuple(told["keep"]["marks"])})
    told["tries"] = tuple(Try(**one) for one in told.get("tries", ()))
    return Staging(**told)


def _play(told: dict[str, Any]) -> Play:
    if unknown := told.keys() - _PLAY.keys():
        raise StoryError(f"a play knows {', '.join(_PLAY)}, not {', '.join(sorted(unknown))}")
    named: dict[str, Any] = {_PLAY[word]: tuple(value) if word == "panels" else value for word, value in told.items()}
    play = Play(**named)
    if play.pace not in PACES:
        raise StoryError(f"{play.pace!r} is not one of the paces {', '.join(PACES)}")
    if not 0 < play.seconds <= LONGEST:
        raise StoryError(f"a step plays for at most {LONGEST} s, not {play.seconds}")
    return play


def _does(heading: re.Match[str]) -> dict[str, str]:
    does = {}
    for item in (heading["does"] or "").split():
        name, _, value = item.partition("=")
        if name not in _KNOWN or not value:
            raise StoryError(f"“{heading['step']}”: {item!r} is not scenario=… or question=…")
        does[name] = value
    return does
