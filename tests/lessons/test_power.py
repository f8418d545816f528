"""The judge judges: a sample of the cells of docs/POWER.md and of the rows of docs/ALARMS.md, all in the long tests."""

from __future__ import annotations

import pytest

from app import catalogue
from tests import alarms, power

SLUGS = [entry.slug for entry in catalogue.LESSONS]
# Of each family a page, and the number of the fault in its menu: what `make test` has time for. Other pages plant in
# their own tests.
SAMPLE = [
    ("conjugate", 0),
    ("metropolis", 0),
    ("gibbs", 0),
    ("hmc", 0),
    ("nuts", 0),
    ("tuning", 0),
    ("xor", 1),
    ("priors", 0),
    ("dimensions", 1),
    ("layers", 0),
    ("landing", 3),
    ("delayed-rejection", 0),
    ("spike-and-slab", 0),
    ("variational", 0),
]


@pytest.mark.parametrize(("slug", "number"), SAMPLE)
def test_a_planted_fault_turns_a_sign_red(slug: str, number: int) -> None:
    name, fault = list(power.faults_of(slug).items())[number]
    found = power.cell(slug, name, fault)
    assert found.verdict == "fail", (name, found.sentence)


@pytest.mark.parametrize("slug", ["hmc", "nuts", "dimensions"])
def test_first_looks_of_right_pages_are_uniform(slug: str) -> None:
    """One in 100,000 such rows fails by chance."""
    row = next(iter(alarms.rows(slug, 40)))
    assert row.good, row


def test_every_right_kernel_has_its_row_of_alarms() -> None:
    told = alarms.TABLE.read_text(encoding="utf-8")
    lacking = [
        f"| {slug} | {scenario} | {kernel.name} |"
        for slug in SLUGS
        for scenario, kernel in alarms.right_kernels(slug)
        if f"| {slug} | {scenario} | {kernel.name} |" not in told
    ]
    assert not lacking, "python -m tests.alarms --write"


@pytest.mark.long
@pytest.mark.parametrize("slug", SLUGS)
def test_no_planted_fault_stays_green(slug: str) -> None:
    found = power.cells(slug)
    assert not [cell for cell in found if cell.verdict == "pass"]


@pytest.mark.long
@pytest.mark.parametrize("slug", SLUGS)
def test_right_pages_do_not_alarm(slug: str) -> None:
    for row in alarms.rows(slug, 200):
        assert row.good, row


def test_every_page_has_something_that_can_be_planted() -> None:
    """No fault named, no check: each page with a check names one that turns it red."""
    from app.kit.verdicts import plantable

    for slug in SLUGS:
        lesson = power.lesson_of(slug)
        if lesson.kernels or lesson.audit:
            specs = [scenario.spec for scenario in lesson.scenarios if not scenario.failure]
            assert any(plantable(lesson, spec, "kernel") for spec in specs), slug
