"""The words of a lesson: `words.toml` beside its page. Whoever translates or teaches edits this file and `story.md`.

    title = "HMC trajectories"
    promise = "One sentence that says what one will see."

    [scenarios.too-large]
    title = "ε too large"
    story = "Markdown"
    why = "Markdown, only where the method goes wrong: then the reason"

    [questions.halve]
    ask = "Markdown"
    options = ["the answers", "from which to choose"]
    explain = "The median error became {ratio:.2f} times as large."
    panels = ["energy"]     # only where the options are places
    places = [[3, 0.1], [6, 0.1], [9, 0.1]]     # of each option, in these panels: there the reader may choose, too

    [questions.end]
    ask = "Where will the ball stop?"
    draw = {kind = "point", panel = "plane", near = 0.5}     # in place of options: the reader draws, see app.kit.guess
    again = [{steps = 24}]     # settings of further rounds, taken in turn, each with a new seed; [{}]: the seed alone; []: none
    explain = "It stops at {x:.1f}."

    [controls]
    step_size = "What the control of this field is called"

    [options.mass]
    diagonal = "What this option of the field `mass` is called"

    [folds]
    break = "What stands over some controls that few need"

    [buttons]
    best = "What stands on a button, or over a place to drop files"

    [help]
    best = "What the button says when it is pointed at; of a field, what is said there in place of its declaration"

    [notes]
    chains = "A remark between controls"

    [elsewhere]
    no_prior = "Where the mistake of this name is made, if no line of the code that is shown makes it."

`app/kit/words.toml` has the names that are the same in all lessons. What a lesson says beside these, on its stage, below
it, in its checks, stands in tables of its own, by `Words.phrase`, or all of one by `Words.entry`.

Numbers of a run stand in `explain` by their names, as Python's `str.format` has it; what they are called is said where
they are computed, in `questions.py`. An explanation that depends on the run is a table of passages, of which the code
chooses. A single end of line in a long text is a space, an empty line ends a paragraph; beside `$$` lines end as they stand.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Real
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any

from app.kit.guess import Drawn, DrawnError
from app.kit.icons import sign
from app.kit.text import minus
from engine.kept import lazy

if TYPE_CHECKING:
    from engine.spec import Spec

SANDBOX = "sandbox"  # the chip of settings that are no scenario's

WARNING = " " + sign("warning")  # behind the title of a scenario where the method goes wrong
HEAD = ("title", "promise")
SHARED = Path(__file__).with_suffix(".toml")
SCENARIO = {"title", "story"}
QUESTION = {"ask", "explain"}


class WordsError(ValueError):
    """Words that are missing or that nobody says; the message names the file and the place."""


@dataclass(frozen=True)
class Scenario:
    """A named setting with its story. `failure` marks one where the method goes wrong; then `why` says the reason."""

    id: str
    title: str
    spec: Spec
    story: str
    failure: bool = False
    why: str = ""

    def __post_init__(self) -> None:
        if self.failure and not self.why:
            raise ValueError(f"scenario {self.id} is a failure without a reason")
        if self.id == SANDBOX:
            raise ValueError(f"{SANDBOX} is not free as a scenario's name")


@dataclass(frozen=True)
class Where:
    """Where the options of a question lie: the panels, by id, and in them a place (x, y) for each."""

    panels: tuple[str, ...]
    places: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Question:
    """A question about a run.

    Attributes
    ----------
    id : unique within the lesson
    ask : the question, Markdown
    options : the possible answers; none where the guess is drawn
    answer : index of the right option, or a function of the spec that computes it from the run; of a drawn guess the
        numbers of the right drawing
    explain : Markdown shown once the answer is locked, or a function of the spec
    scenario : id of the scenario that is run when the answer is locked; None: the settings as they stand
    reveal : (spec) → the spec that is shown once the answer is locked: what was hidden until then
    where : the places of the options on the stage, where they are places
    draw : what the reader draws, in place of options
    again : settings over those of the step for further rounds
    """

    id: str
    ask: str
    options: Sequence[str]
    answer: int | Callable[[Any], int | Sequence[float]]
    explain: str | Callable[[Any], str]
    scenario: str | None = None
    reveal: Callable[[Any], Spec] | None = None
    where: Where | None = None
    draw: Drawn | None = None
    again: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Said:
    """What a run has to say to a question: numbers by name, and the passages in which they stand, in order; an empty
    name begins a paragraph. No passages: the explanation is one text.
    """

    passages: tuple[str, ...]
    values: Mapping[str, Any]


def say(*passages: str, **values: Any) -> Said:
    """These passages of an explanation, with these values."""
    return Said(passages, values)


class Words:
    """The words of the lesson in whose folder `file` stands: `Words(__file__)`. `family` has those that it shares with some.

    Scenarios and questions are made of them and of what only code can say. Each entry of the file must be used, and
    each id must have its entry (`unsaid` says what is left).
    """

    def __init__(self, file: str | Path, family: Words | None = None):
        self.folder = Path(file).parent
        self._family = family
        self._said: set[tuple[str, str]] = set()

    @property
    def title(self) -> str:
        return self._text(self._all, "title")

    @property
    def promise(self) -> str:
        return self._text(self._all, "promise")

    def __getitem__(self, table: str) -> dict[str, str]:
        """Other words by name, in the order of the file: what stands in `[table]`, "options.mass" as well."""
        found = self._all
        for name in table.split("."):
            found = found[name]
        return {name: self._filled(text, {}) for name, text in found.items()}

    def get(self, table: str) -> dict[str, str]:
        """The same, nothing where there is no such table."""
        return self[table] if table in self._all else {}

    def tables(self, table: str) -> dict[str, dict[str, str]]:
        """Tables of other words by name, in the order of the file: what stands in each `[table.name]`."""
        return {name: self[f"{table}.{name}"] for name in self._all[table]}

    def entry(self, table: str, id: str, /, **values: Any) -> dict[str, Any]:
        """All that stands in `[table.id]`: texts, lists of them and tables of them, with these values."""
        return {name: self._deep(text, values) for name, text in self._entry(table, id, set()).items()}

    def _deep(self, found: Any, values: Mapping[str, Any]) -> Any:
        if isinstance(found, dict):
            return {name: self._deep(text, values) for name, text in found.items()}
        if isinstance(found, list):
            return tuple(self._deep(text, values) for text in found)
        return self._filled(found, values)

    def named(self, table: str, name: str, /, **values: Any) -> str | None:
        """What something among the controls is called, as the lesson has it or as all have; None where none says."""
        for words in self._chain:
            if name in words.get(table, {}):
                return self._filled(words[table][name], values)
        return None

    def options(self, field: str) -> dict[str, str]:
        """What the options of a field are called, where they have another name than their own."""
        tables = [words.get("options", {}).get(field, {}) for words in reversed(self._chain)]
        return {name: text for table in tables for name, text in table.items()}

    def scenarios(self, specs: Mapping[str, Spec]) -> list[Scenario]:
        """One scenario each, in this order; the first is shown when the page is opened bare."""
        return [self.scenario(id, spec) for id, spec in specs.items()]

    def scenario(self, id: str, spec: Spec, words: str | None = None, **values: Any) -> Scenario:
        """A scenario. `words`: the entry it shares with others, in which `values` stand by name."""
        entry = self._entry("scenarios", words or id, SCENARIO)
        title, story, why = (self._text(entry, name, values) for name in ("title", "story", "why"))
        return Scenario(id, title, spec, story, failure=bool(why), why=why)

    def question(
        self,
        id: str,
        answer: int | Callable[[Any], int | Sequence[float]],
        told: Callable[[Any], Said] | None = None,
        *,
        scenario: str | None = None,
        options: Sequence[str] | None = None,
        reveal: Callable[[Any], Spec] | None = None,
        words: str | None = None,
        **values: Any,
    ) -> Question:
        """A question; see `Question`.

        told : (spec) → what the run says to it, by `say`; None: the explanation has no numbers
        options : names that stand elsewhere, in place of the entry's
        words : the entry it shares with others
        values : constants that stand in any of its texts by name
        """
        entry = self._entry("questions", words or id, QUESTION)
        chosen = entry.get("options", ()) if options is None else options
        if bool(chosen) == ("draw" in entry):
            raise self._wrong(f"questions.{words or id} has no options, or has them beside what is drawn")

        def explain(spec: Any) -> str:
            said = told(spec) if told else say()
            known = {**values, **said.values}
            passages = entry["explain"]
            if isinstance(passages, str):
                return self._text(entry, "explain", known)
            texts = (self._text(passages, name, known) if name else "\n\n" for name in said.passages)
            return " ".join(texts).replace(" \n\n ", "\n\n")

        texts = [self._filled(str(option), values) for option in chosen]
        asked = self._text(entry, "ask", values)
        where, draw, again = self._where(id, entry, len(texts)), self._draw(id, entry), tuple(entry.get("again", ({},)))
        return Question(id, asked, texts, answer, explain, scenario, reveal, where, draw, again)

    def _where(self, id: str, entry: Mapping[str, Any], options: int) -> Where | None:
        if "places" not in entry:
            return None
        places = tuple((float(x), float(y)) for x, y in entry["places"])
        if len(places) != options or not entry.get("panels"):
            raise self._wrong(f"questions.{id} needs panels, and a place for each of its {options} options")
        return Where(tuple(entry["panels"]), places)

    def _draw(self, id: str, entry: Mapping[str, Any]) -> Drawn | None:
        if "draw" not in entry:
            return None
        try:
            return Drawn(**entry["draw"])
        except (TypeError, DrawnError) as problem:
            raise self._wrong(f"questions.{id}, its drawing: {problem}") from problem

    def drawn(self, id: str) -> Drawn:
        """What a question has drawn."""
        draw = self._draw(id, self._entry("questions", id, QUESTION))
        if draw is None:
            raise self._wrong(f"questions.{id} has nothing to draw")
        return draw

    def phrase(self, path: str, /, **values: Any) -> str:
        """A text by its tables and name, of this lesson or of all: `phrase("questions.surest.each", digit=3)`."""
        *tables, name = path.split(".")
        for entry in self._chain:
            for table in tables:
                entry = entry.get(table, {})
            if name in entry:
                return self._filled(entry[name], values)
        raise self._wrong(f"there is no {path!r}")

    def unsaid(self) -> list[str]:
        """Entries of the file that nobody used."""
        kinds = ("scenarios", "questions")
        return [f"{kind}.{id}" for kind in kinds for id in self._all.get(kind, {}) if (kind, id) not in self._said]

    @lazy
    def _all(self) -> dict[str, Any]:
        return _read(self.folder / "words.toml")

    @lazy
    def _chain(self) -> tuple[dict[str, Any], ...]:
        """The files that say something, the lesson's own first."""
        return (self._all, *(self._family._chain if self._family else (_read(SHARED),)))

    def _entry(self, kind: str, id: str, needed: set[str]) -> Mapping[str, Any]:
        entry = self._all.get(kind, {}).get(id)
        if entry is None or needed - set(entry):
            raise self._wrong(f"[{kind}.{id}] with {', '.join(sorted(needed))} is missing")
        self._said.add((kind, id))
        return entry

    def _text(self, entry: Mapping[str, Any], name: str, values: Mapping[str, Any] | None = None) -> str:
        if name not in entry:
            if name == "why":
                return ""
            raise self._wrong(f"there is no {name!r}")
        return self._filled(entry[name], values or {})

    def _filled(self, text: str, values: Mapping[str, Any]) -> str:
        joined = _joined(text)
        if not values:
            return joined
        try:
            return _NUMBERS.vformat(joined, (), values)
        except (KeyError, IndexError, ValueError) as problem:
            raise self._wrong(f"“{joined[:60]}…” cannot be said with {', '.join(values)}: {problem!r}") from problem

    def _wrong(self, what: str) -> WordsError:
        return WordsError(f"{self.folder.name}/words.toml: {what}")


def head(folder: Path) -> dict[str, str]:
    """Title and promise of the lesson in this folder: what stands above the first table, without the rest."""
    text = (folder / "words.toml").read_text(encoding="utf-8")
    told = tomllib.loads(re.split(r"^\[", text, maxsplit=1, flags=re.MULTILINE)[0])
    if missing := [name for name in HEAD if not told.get(name)]:
        raise WordsError(f"{folder.name}/words.toml: there is no {', '.join(missing)}")
    return told


def chip(folder: Path, scenario: str) -> str:
    """What a scenario of the lesson in this folder is called where one can go to it."""
    entry = _read(folder / "words.toml")["scenarios"][scenario]
    return entry["title"] + (WARNING if "why" in entry else "")


class _Numbers(Formatter):
    """`str.format`, with a minus before a number as the cards have it, not a hyphen."""

    def format_field(self, value: Any, format_spec: str) -> str:
        text = super().format_field(value, format_spec)
        return minus(text) if isinstance(value, Real) else text


_NUMBERS = _Numbers()


@cache
def _joined(text: str) -> str:
    """A text of a file, its paragraphs on one line each."""
    return re.sub(r"(?<!\n)(?<!\$\$)\n(?!\n|\$\$)", " ", text.strip("\n"))


@cache
def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as problem:
        raise WordsError(f"{path.parent.name}/{path.name}: {problem}") from problem
