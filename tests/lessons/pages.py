"""What the tests of lessons share: a lesson's page, run without a browser, and the limits all lessons keep."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from types import ModuleType

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from app import catalogue
from app.kit.player.scene import decode
from app.kit.verdicts import KernelProofs, Planted, plantable
from engine import kept, states
from engine.judge import KINDS, Check, Verdict, overall
from engine.spec import Spec
from engine.ticket import NEVER
from lessons.families.watched import State, Watched

MOST_BYTES = 500_000  # a message to the browser
RESEARCHER_S_CARD = [  # titles of what stands below the stage where a model predicts data
    "A point left out: how well would it be predicted?",
    "Which points decide?",
    "Data drawn from the model",
    "Data drawn from the model, in numbers",
]
ENTRIES = {entry.slug: entry for entry in catalogue.LESSONS}


class Job:
    """Stands for the job of a long run. most : reports after which it is not wanted any more"""

    cancelled = False

    def __init__(self, most: int = 10**9) -> None:
        self.most = most
        self.blobs: list[bytes] = []
        self.reports: list[tuple[int, int]] = []

    def is_set(self) -> bool:
        return self.cancelled or len(self.reports) >= self.most

    def publish(self, blob: bytes) -> None:
        self.blobs.append(blob)

    def report(self, done: int, total: int) -> None:
        self.reports.append((done, total))


def goes_on(first: bytes, whole: bytes) -> None:
    """Asserts that `first` is a beginning of `whole`: the same run and axes, and all that the table says of its steps."""
    (before, began), (after, ended) = decode(first), decode(whole)
    assert before["run"] == after["run"] and before["steps"] < after["steps"] == before["total"] and after["total"] is None
    framed = [[(panel["id"], panel["x"], panel["y"], panel["place"]) for panel in header["panels"]] for header in (before, after)]
    assert framed[0] == framed[1]
    assert [line["id"] for line in before["readouts"]] == [line["id"] for line in after["readouts"]], "the card would move the stage"
    for old, new in zip(before["table"], after["table"], strict=True):
        np.testing.assert_array_equal(began[old["values"]], ended[new["values"]][: before["steps"]], err_msg=old["name"])


def lacks(first: bytes, whole: bytes) -> dict[str, set[str]]:
    """Asserts that `first` has all steps of `whole`, and all that its cards and its table say. The marks that it lacks, by role,
    of each panel where some do.
    """
    (before, began), (after, ended) = decode(first), decode(whole)
    assert (before["run"], before["steps"]) == (after["run"], after["steps"])
    assert [line["id"] for line in before["readouts"]] == [line["id"] for line in after["readouts"]]
    for old, new in zip(before["table"], after["table"], strict=True):
        np.testing.assert_array_equal(began[old["values"]], ended[new["values"]])
    assert [(panel["id"], panel["place"]) for panel in before["panels"]] == [(panel["id"], panel["place"]) for panel in after["panels"]]
    roles = ([{layer["role"] for layer in panel["layers"]} for panel in header["panels"]] for header in (before, after))
    return {panel["id"]: new - old for panel, old, new in zip(after["panels"], *roles, strict=True) if new - old}


def in_view(picture: bytes) -> set[str]:
    """The lines of the card that stand there while the stage waits for a prediction, by their ids."""
    return {line["id"] for line in decode(picture)[0]["readouts"] if not line.get("held")}


def goes_on_from_disk(learning: Callable[[], Watched], whole: Watched, monkeypatch: pytest.MonkeyPatch) -> tuple[State, State]:
    """The ends of the training that `learning` gives to all who ask, killed after two looks, and of `whole`, its like that was
    not. Asserts that the first has the looks that it had, ends with the weights of the other, and is not trained again.
    """
    monkeypatch.setattr(states, "EVERY", 0.0)
    first = learning()
    first.advance()
    first.advance()
    monkeypatch.setattr(kept, "store", kept.Store(100_000_000))
    again = learning()
    assert again is not first and len(first.state.looks) == len(again.state.looks) == 3
    for old, new in zip(first.state.looks, again.state.looks, strict=True):
        np.testing.assert_equal(*(look if isinstance(look, tuple) else vars(look) for look in (new, old)))
    ends = again.finish(), whole.finish()
    assert ends[0] is not None and ends[1] is not None
    for one, other in zip(ends[0].fit.expected_weights(), ends[1].fit.expected_weights(), strict=True):
        assert one.tobytes() == other.tobytes()
    monkeypatch.setattr(kept, "store", kept.Store(100_000_000))
    assert learning().done, "what was trained is not trained again"
    return ends[0], ends[1]


def page(slug: str, **query: str) -> AppTest:
    """The page of a lesson after its first run, opened with this query."""
    app = AppTest.from_file(str(ENTRIES[slug].path), default_timeout=120)
    for name, value in query.items():
        app.query_params[name] = value
    return app.run()


def module(slug: str, name: str) -> ModuleType:
    """A module of a lesson: `module("nuts", "scenes")`."""
    return importlib.import_module(f"lessons.{ENTRIES[slug].path.parent.name}.{name}")


def explained(slug: str, question: str, spec: Spec) -> str:
    """What the run of `spec` says to a question of a lesson."""
    explain = next(each.explain for each in module(slug, "questions").QUESTIONS if each.id == question)
    assert callable(explain)
    return explain(spec)


def verdicts(slug: str, spec: Spec) -> tuple[Verdict, ...]:
    """What the three signs of a page say with these settings: kernel, this run, numbers."""
    lesson = module(slug, "page").LESSON
    kernel = KernelProofs(lesson.kernels, lesson.audit)(spec, NEVER)
    found = lesson.checks(spec, NEVER) if lesson.checks else []
    return tuple(overall([c for c in (kernel if kind == KINDS[0] else found) if c.kind == kind]) for kind in KINDS)


def says(found: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether three signs say what is wanted: a verdict each, or "not pass" or "not fail" where chance decides between
    the other two.
    """
    return all(seen != want[4:] if want.startswith("not ") else seen == want for seen, want in zip(found, wanted, strict=True))


def planted(slug: str, spec: Spec) -> dict[tuple[str, str], list[Check]]:
    """What the checks say of each fault that a reader can plant here, by the sign and the name of the fault."""
    lesson = module(slug, "page").LESSON
    parts = lesson.kernels, lesson.audit, lesson.checks, lesson.faults
    return {(kind, words): Planted(*parts, fault)(spec, NEVER) for kind in KINDS for words, fault in plantable(lesson, spec, kind).items()}
