"""The glossary: each term of the field in one line, shown where a story uses it.

`app/static/glossary.json` has the terms: the words that name each, what it means, and the lesson that teaches it. The
browser reads the same file when a reader points at a term: app/static/player/glossary.js.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).parents[1] / "static" / "glossary.json"

# Code, formulas, links, bold text (which defines its own word) and headings keep their words as they are.
_KEPT = re.compile(r"```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$\n]*\$|!?\[[^\]]*\]\([^)]*\)|\*\*[^*]*\*\*|^#.*$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Term:
    """A term: the words that name it, one line that says what it means, and the slug of the lesson that teaches it."""

    id: str
    names: tuple[str, ...]
    means: str
    lesson: str


@cache
def terms() -> tuple[Term, ...]:
    """All terms, in the order of the file."""
    told: Mapping[str, Mapping] = json.loads(FILE.read_text(encoding="utf-8"))
    return tuple(Term(id, tuple(term["names"]), term["means"], term["lesson"]) for id, term in told.items())


@cache
def linked(text: str, lesson: str) -> str:
    """`text`, Markdown, with the first use of each term made a link to its line; not of those that `lesson` teaches."""
    known = {name.lower(): term for term in terms() if term.lesson != lesson for name in term.names}
    pattern, met = _pattern(tuple(known)), set[str]()

    def link(found: re.Match[str]) -> str:
        term = known[found[0].lower()]
        if term.id in met:
            return found[0]
        met.add(term.id)
        return f"[{found[0]}](#term={term.id})"

    parts, end = [], 0
    for kept in _KEPT.finditer(text):
        parts += [pattern.sub(link, text[end : kept.start()]), kept[0]]
        end = kept.end()
    return "".join([*parts, pattern.sub(link, text[end:])])


@cache
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """Any of these words, the longest first; "MAP" is not the map of a country."""
    longest = sorted(names, key=len, reverse=True)
    shouted = {term_name for term in terms() for term_name in term.names if term_name.isupper()}
    written = "|".join(re.escape(name.upper()) if name.upper() in shouted else f"(?i:{re.escape(name)})" for name in longest)
    return re.compile(rf"(?<![\w-])(?:{written})(?![\w-])")
