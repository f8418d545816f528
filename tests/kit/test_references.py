"""Works are named by author and year, and each that is named stands in the list."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.kit import references
from app.kit.references import REFERENCES, Citation, citations, named
from tests.lessons.pages import page

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("app", "engine", "datasets", "lessons")
CODE = re.compile(r"\bS[0-4]\b|\bMETHODS section")  # works and notes as their readers call them among themselves
NO_WORKS = {"R-hat", "UCI", "Zalando", "Taiwan", "Functions", "Microsystems"}  # a year stands behind these words


def sources() -> Iterator[tuple[Path, str]]:
    """Every file that a reader may see, or see the source of."""
    yield ROOT / "README.md", (ROOT / "README.md").read_text(encoding="utf-8")
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            if path.suffix in (".py", ".md", ".js") and "__pycache__" not in path.parts:
                yield path, path.read_text(encoding="utf-8")


def said(path: Path, text: str) -> list[str]:
    """The prose of a file: Markdown as it is, of code its strings and its comments."""
    if path.suffix != ".py":
        return [text]
    strings = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    comments = " ".join(line.partition("#")[2] for line in text.splitlines() if "#" in line)
    return [comments, *(value for value in strings if isinstance(value, str))]


def test_no_work_is_named_by_a_code():
    found = [f"{path.relative_to(ROOT)}: {line.strip()}" for path, text in sources() for line in text.splitlines() if CODE.search(line)]
    assert not found, "\n".join(found)


def test_every_work_that_is_cited_stands_in_the_list():
    missing = {
        f"{path.relative_to(ROOT)}: {citation}"
        for path, text in sources()
        for words in said(path, text)
        for citation in citations(words)
        if citation.names[-1] not in NO_WORKS and not any(citation.of(work) for work in REFERENCES)
    }
    assert not missing, "\n".join(sorted(missing))


def test_the_list_has_every_work_once():
    assert len({(work.authors, work.year) for work in REFERENCES}) == len(REFERENCES)
    assert all(work.work.endswith(".") and 1900 < work.year < 2100 for work in REFERENCES)


@pytest.mark.parametrize(
    "text,wanted",
    [
        ("as Green (1995) says", Citation(("Green",), False, 1995)),
        ("(Tierney and Mira 1999; more)", Citation(("Tierney", "Mira"), False, 1999)),
        ("by Tierney & Mira, 1999.", Citation(("Tierney", "Mira"), False, 1999)),
        ("Andersen and\nRoed-Sørensen (2021, figure 2)", Citation(("Andersen", "Roed-Sørensen"), False, 2021)),
        ("Al-Awadhi, Hurn and Jennison 2004", Citation(("Al-Awadhi", "Hurn", "Jennison"), False, 2004)),
        ("Guo et al. 2017", Citation(("Guo",), True, 2017)),
        ("Del Moral, Doucet and Jasra 2006", Citation(("Del Moral", "Doucet", "Jasra"), False, 2006)),
    ],
)
def test_names_and_years_are_found(text, wanted):
    assert list(citations(text)) == [wanted]
    assert len(named([text])) == 1 and wanted.of(named([text])[0])


def test_others_are_no_second_author_and_a_wrong_year_is_no_work():
    assert not named(["Guo 2017", "Tierney et al. 1999", "Green and Mira 1995", "in the year 2017"])
    assert [work.year for work in named(["Neal 2003, Neal (1996)", "Betancourt 2016"])] == [2016, 1996, 2003]
    assert named(["Tierney and Mira 1999"])[0].line.startswith("Tierney and Mira (1999). Some adaptive")


def test_code_speaks_by_its_head_too():
    head = references.texts_behind(references.named)[1]
    assert head == references.__doc__


def test_a_page_lists_what_it_names_at_the_end_of_its_formulas():
    app = page("delayed-rejection")
    assert not any("Metron" in element.value for element in app.markdown)
    app.session_state["delayed-rejection/tabs"] = "Formula"
    app.run()
    assert not app.exception
    (fold,) = [fold for fold in app.expander if fold.label.startswith("Works named")]
    assert "Tierney and Mira (1999)" in fold.markdown[0].value and "Berezowski (2021)" in fold.markdown[0].value
