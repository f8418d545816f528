"""The words of lessons: found, filled with numbers, and none left unsaid."""

from __future__ import annotations

import importlib
from pathlib import Path
from unittest.mock import patch

import pytest

from app import catalogue
from app.kit import frame, words
from app.kit.words import Said, Words, WordsError, say
from tests.kit.demo.lesson import WalkSpec

SPEC = WalkSpec()
TOML = '''
title = "A title"
promise = "A promise."

[scenarios.first]
title = "first"
story = """
A line,
and its end: $x^{2}$.

A paragraph."""

[scenarios.wrong]
title = "wrong"
story = "It fails."
why = "Because."

[scenarios.patient]
title = "patient {number}"
story = "Patient {number} waits."

[questions.plain]
ask = "Left or right?"
options = ["left", "right"]
explain = "Braces stay: $x^{2}$."

[questions.filled]
ask = "More than {limit}?"
options = ["at most {limit}", "more"]
explain = "It is {found:.2f}, the limit {limit}, and $x^{{2}}$."

[questions.passages]
ask = "Which?"
options = ["a", "b"]

[questions.passages.explain]
one = "One {n}."
two = "Two."

[tools.saw]
what = """
Cuts
wood:

$$
a + b
$$
"""

[tools.axe]
what = "Splits {n}."

[works.two]
name = "Two, {year}"
rows = [["a", "b {year}"], ["c", "d"]]

[works.two.labels]
"with, comma" = "x"

[names]
b = "second"
a = "first"

[controls]
draws = "Sweeps"

[options.target]
student = "Student"
mine = "My own"

[notes]
many = "{n} of them."
'''


@pytest.fixture
def lesson(tmp_path: Path) -> Words:
    (tmp_path / "words.toml").write_text(TOML, encoding="utf-8")
    return Words(tmp_path / "spec.py")


def explained(question: words.Question) -> str:
    assert callable(question.explain)
    return question.explain(SPEC)


def test_scenarios_have_their_words(lesson: Words):
    first, wrong = lesson.scenarios({"first": SPEC, "wrong": SPEC.replace(drift=0.5)})
    assert (first.title, first.failure, first.spec) == ("first", False, SPEC)
    assert first.story == "A line, and its end: $x^{2}$.\n\nA paragraph."
    assert wrong.failure and wrong.why == "Because."
    shared = lesson.scenario("patient-3", SPEC, "patient", number=3)
    assert (shared.id, shared.title, shared.story) == ("patient-3", "patient 3", "Patient 3 waits.")


def test_questions_are_told_by_the_numbers_of_a_run(lesson: Words):
    assert explained(lesson.question("plain", 1)) == "Braces stay: $x^{2}$."
    filled = lesson.question("filled", 0, lambda spec: say(found=1.234), limit=2)
    assert (filled.ask, list(filled.options)) == ("More than 2?", ["at most 2", "more"])
    assert explained(filled) == "It is 1.23, the limit 2, and $x^{2}$."
    assert list(lesson.question("plain", 0, options=["up", "down"]).options) == ["up", "down"]
    below = lesson.question("filled", 0, lambda spec: say(found=-1.234), limit="two-sided")
    assert explained(below) == "It is −1.23, the limit two-sided, and $x^{2}$.", "a minus, as on the cards"


@pytest.mark.parametrize(
    ("passages", "text"), [(("one",), "One 4."), (("two", "one"), "Two. One 4."), (("one", "", "two"), "One 4.\n\nTwo.")]
)
def test_passages_stand_in_the_order_said(lesson: Words, passages: tuple[str, ...], text: str):
    assert explained(lesson.question("passages", 0, lambda spec: say(*passages, n=4))) == text


def test_other_words_stand_in_the_order_of_the_file(lesson: Words):
    assert list(lesson["names"].items()) == [("b", "second"), ("a", "first")]
    assert lesson.phrase("questions.passages.explain.one", n=1) == "One 1."
    assert list(lesson.tables("tools").items()) == [("saw", {"what": "Cuts wood:\n\n$$\na + b\n$$"}), ("axe", {"what": "Splits {n}."})]
    assert lesson.entry("tools", "axe", n=2) == {"what": "Splits 2."}
    two = {"name": "Two, 1", "rows": (("a", "b 1"), ("c", "d")), "labels": {"with, comma": "x"}}
    assert lesson.entry("works", "two", year=1) == two


def test_a_lesson_calls_things_as_all_do_unless_it_or_its_family_says_otherwise(lesson: Words, tmp_path: Path):
    assert [lesson.named("controls", name) for name in ("draws", "chains", "gone")] == ["Sweeps", "Chains", None]
    assert lesson.named("notes", "many", n=3) == "3 of them."
    called = lesson.options("target")
    assert (called["student"], called["mine"], called["two_modes"]) == ("Student", "My own", "two modes")
    assert lesson.options("names") == {} and lesson["options.target"] == {"student": "Student", "mine": "My own"}
    assert lesson.phrase("panels.diagnostics") == "Diagnostics of this run"
    child = Words(tmp_path / "child" / "spec.py", family=lesson)
    child.folder.mkdir()
    (child.folder / "words.toml").write_text('[controls]\nchains = "Walks"\n[options.target]\nmine = "Hers"\n', encoding="utf-8")
    assert [child.named("controls", name) for name in ("draws", "chains", "start")] == ["Sweeps", "Walks", "Start"]
    assert (child.options("target")["mine"], child.options("target")["student"]) == ("Hers", "Student")
    assert child.phrase("notes.many", n=2) == "2 of them."
    with pytest.raises(WordsError, match=r"words.toml: there is no 'panels.gone'"):
        lesson.phrase("panels.gone")


def test_what_is_missing_is_named(lesson: Words):
    with pytest.raises(WordsError, match=r"words.toml: \[scenarios.gone\]"):
        lesson.scenario("gone", SPEC)
    with pytest.raises(WordsError, match="passages"):
        lesson.question("passages", 0, options=[])
    wrong: list[Said] = [say("three"), say("one", m=1)]
    for said in wrong:
        with pytest.raises(WordsError):
            explained(lesson.question("passages", 0, lambda spec, said=said: said))


@pytest.mark.parametrize(("places", "right"), [("[[0, 1], [2, 3]]", True), ("[[0, 1]]", False)])
def test_options_that_are_places_have_one_each(tmp_path: Path, places: str, right: bool):
    file = tmp_path / "words.toml"
    file.write_text(
        f'[questions.where]\nask = "Where?"\noptions = ["here", "there"]\nexplain = "There."\npanels = ["map"]\nplaces = {places}'
    )
    if not right:
        with pytest.raises(WordsError, match=r"questions.where .*2 options"):
            Words(file).question("where", 0)
        return
    where = Words(file).question("where", 0).where
    assert where is not None and where.panels == ("map",) and where.places == ((0.0, 1.0), (2.0, 3.0))


def test_what_nobody_says_is_found(lesson: Words):
    lesson.scenario("first", SPEC)
    assert "scenarios.first" not in lesson.unsaid() and "scenarios.wrong" in lesson.unsaid()


def test_the_head_is_read_without_the_rest(tmp_path: Path):
    (tmp_path / "words.toml").write_text(TOML + "\nnot = toml = at all", encoding="utf-8")
    assert words.head(tmp_path) == {"title": "A title", "promise": "A promise."}
    with pytest.raises(WordsError, match=r"words.toml: .*line"):
        Words(tmp_path / "spec.py").scenario("first", SPEC)
    (tmp_path / "words.toml").write_text('title = "A title"', encoding="utf-8")
    with pytest.raises(WordsError, match="promise"):
        words.head(tmp_path)


@pytest.mark.parametrize("entry", catalogue.LESSONS, ids=lambda entry: entry.slug)
def test_every_word_of_a_lesson_is_said(entry: catalogue.Entry):
    with patch.object(frame, "show", lambda lesson: None):
        lesson = importlib.import_module(f"{entry.package}.page").LESSON
    assert lesson.words.unsaid() == []
    assert set(entry.worth) <= {scenario.id for scenario in lesson.scenarios}
