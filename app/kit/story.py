"""The guided story: story.md, one `## heading` a step.

A heading may carry what the step does: `## Too large a step {scenario=too-large question=energy}` loads that scenario
and asks that question.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_HEADING = re.compile(r"^##[ \t]+(?P<title>.*?)[ \t]*(\{(?P<does>[^{}]*)\})?[ \t]*$", re.MULTILINE)
_KNOWN = ("scenario", "question")


class StoryError(ValueError):
    """A story that cannot be followed; the message names the heading."""


@dataclass(frozen=True)
class Step:
    """One step: a title, its Markdown, and optionally the scenario it loads and the question it asks."""

    title: str
    text: str
    scenario: str | None = None
    question: str | None = None


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
    steps = []
    for heading, end in zip(headings, ends, strict=True):
        body = text[heading.end() : end].strip()
        if introduction and not steps:
            body = f"{introduction}\n\n{body}"
        steps.append(Step(heading["title"].strip("# "), body, **_does(heading)))
    return tuple(steps)


def _does(heading: re.Match[str]) -> dict[str, str]:
    does = {}
    for item in (heading["does"] or "").split():
        name, _, value = item.partition("=")
        if name not in _KNOWN or not value:
            raise StoryError(f"“{heading[0]}”: {item!r} is not scenario=… or question=…")
        does[name] = value
    return does
