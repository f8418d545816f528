"""The glossary: every term in one line, linked where a story uses it and nowhere else."""

from __future__ import annotations

import pytest

from app import catalogue
from app.kit import glossary

WORDS = 25
FILES = ("story.md", "words.toml")


def test_each_term_has_one_line_and_a_lesson_that_exists():
    slugs = {entry.slug for entry in catalogue.LESSONS}
    names = [name.lower() for term in glossary.terms() for name in term.names]
    assert len(names) == len(set(names)), "a word means one thing"
    for term in glossary.terms():
        assert len(term.means.split()) <= WORDS and term.means.endswith("."), term.id
        assert term.lesson in slugs, term.id


def test_each_term_is_used_by_a_story():
    told = " ".join(entry.path.with_name(name).read_text(encoding="utf-8") for entry in catalogue.LESSONS for name in FILES).lower()
    assert [term.id for term in glossary.terms() if not any(name.lower() in told for name in term.names)] == []


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        ("R-hat is near 1, R-hat again.", "[R-hat](#term=r-hat) is near 1, R-hat again."),
        ("The Posterior, then the prior.", "The [Posterior](#term=posterior), then the [prior](#term=prior)."),
        ("the effective sample size (ESS)", "the [effective sample size](#term=ess) (ESS)"),
        ("`prior` and $prior$ and **prior** and [the prior](#at=a.prior)",) * 2,
        ("## The prior\nposterior-like, priority",) * 2,
        ("the MAP on this map", "the [MAP](#term=map) on this map"),
        ("proposals", "[proposals](#term=proposal)"),
    ],
)
def test_the_first_use_of_a_term_is_linked(text, linked):
    assert glossary.linked(text, "none") == linked


def test_a_lesson_does_not_link_what_it_teaches_itself():
    assert glossary.linked("leapfrog and R-hat", "hmc") == "leapfrog and [R-hat](#term=r-hat)"
