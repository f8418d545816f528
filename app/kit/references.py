"""The works that pages name by author and year: in full, and which of them a lesson names."""

from __future__ import annotations

import ast
import inspect
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from engine.kernels import TargetKernel


@dataclass(frozen=True)
class Reference:
    """One work. authors : surnames with commas between; work : title and where it appeared, Markdown."""

    authors: str
    year: int
    work: str

    @property
    def names(self) -> tuple[str, ...]:
        """The surnames."""
        return tuple(self.authors.split(", "))

    @property
    def line(self) -> str:
        """As it stands in a list."""
        *others, last = self.names
        who = f"{', '.join(others)} and {last}" if others else last
        return f"{who} ({self.year}). {self.work}"

    @property
    def key(self) -> str:
        """The first author's name and the year, as BibTeX files call works."""
        return "".join(c for c in _letters(self.names[0]) if c.isalnum()) + str(self.year)

    def bibtex(self, key: str) -> str:
        """As an entry of BibTeX. The whole work stands in `note`: the list does not part title and journal."""
        authors = " and ".join(f"{{{name}}}" for name in self.names)
        work = self.work.replace("*", "").replace("&", r"\&").replace("%", r"\%")
        return f"@misc{{{key},\n  author = {{{authors}}},\n  year = {{{self.year}}},\n  note = {{{work}}}\n}}"


def _read(path: Path) -> tuple[Reference, ...]:
    """A work a line: surnames | year | title and where it appeared."""
    rows = (line.split(" | ") for line in path.read_text(encoding="utf-8").splitlines())
    return tuple(Reference(authors, int(year), work) for authors, year, work in rows)


REFERENCES = _read(Path(__file__).with_suffix(".txt"))  # first the five works that this product is built on

_NAME = r"(?:(?:von|de|Del|Van) )?[A-ZÀ-Þ][\w’\-–]+"
_AND = r"(?:, and |, | and | & )"
_CITATION = re.compile(rf"({_NAME}(?:{_AND}{_NAME})*)( et al\.)?,? \(?((?:19|20)\d\d)\b")


@dataclass(frozen=True)
class Citation:
    """Names and a year, as a text has them. others : “et al.” stands behind the names."""

    names: tuple[str, ...]
    others: bool
    year: int

    def of(self, reference: Reference) -> bool:
        """Whether this is what is meant: all its authors are named, or the first one and others."""
        if self.year != reference.year:
            return False
        there = tuple(map(_letters, reference.names))
        here = tuple(map(_letters, self.names))
        return here == there[:1] and len(there) > 2 if self.others else here == there


def citations(text: str) -> Iterator[Citation]:
    """Everything in a text that looks like names and a year."""
    for names, others, year in _CITATION.findall(" ".join(text.split())):
        yield Citation(tuple(re.split(_AND, names)), bool(others), int(year))


def named(texts: Iterable[str]) -> list[Reference]:
    """The works that texts cite, in the order of their authors' names."""
    found = {citation for text in texts for citation in citations(text)}
    works = [reference for reference in REFERENCES if any(citation.of(reference) for citation in found)]
    return sorted(works, key=lambda work: (_letters(work.authors), work.year))


@cache
def texts_beside(folder: Path) -> tuple[str, ...]:
    """What the files of a lesson say: its Markdown, its words, and every piece of text in its code."""
    texts = (*sorted(folder.glob("*.md")), *sorted(folder.glob("*.toml")))
    found = [path.read_text(encoding="utf-8") for path in texts]
    for path in sorted(folder.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found += [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return tuple(found)


@cache
def texts_behind(function: Callable[..., Any] | TargetKernel) -> tuple[str, ...]:
    """What the source of a function says, of a compiled one too, and the head of the file it stands in."""
    plain: Any = getattr(function, "py_func", function)
    module = inspect.getmodule(plain)
    return inspect.getsource(plain), (module.__doc__ or "") if module else ""


def _letters(name: str) -> str:
    """A name without accents and capitals."""
    plain = unicodedata.normalize("NFKD", name.casefold().replace("ø", "o"))
    return "".join(c for c in plain if not unicodedata.combining(c))
