"""Verdicts of links without a browser, and faults planted on a page."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from app import verdict
from app.kit import badge
from app.kit.verdicts import KernelProofs, Planted, plantable
from engine.judge import Check, overall
from engine.judge.plant import SHIFTED, STUCK
from engine.ticket import NEVER
from tests.power import lesson_of, right_spec


def told(capsys: pytest.CaptureFixture[str], *links: str) -> tuple[int, list[dict]]:
    """Exit status and the lines of `python -m app.verdict`."""
    status = verdict.main(links)
    return status, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_right_link_passes(capsys: pytest.CaptureFixture[str]) -> None:
    status, (line,) = told(capsys, "/hmc")
    assert status == verdict.PASSED
    assert line["slug"] == "hmc"
    assert {kind: line[kind]["verdict"] for kind in ("kernel", "run", "numbers")} == {"kernel": "pass", "run": "pass", "numbers": "pass"}
    assert all(line[kind]["sentence"] and line[kind]["statistic"] is not None for kind in ("kernel", "run", "numbers"))


def test_a_wrong_kernel_fails(capsys: pytest.CaptureFixture[str]) -> None:
    status, (line,) = told(capsys, "http://localhost:8501/base/hmc?scenario=euler")
    assert status == verdict.FAILED and line["kernel"]["verdict"] == "fail"


NOT_VALID = {
    "/nothing": "leads to no lesson",
    "/hmc?steps=0": "steps",
    "/hmc?colour=red": "colour",
    "": "no lesson",
    "http://[": "is no link",
}


@pytest.mark.parametrize(("link", "reason"), NOT_VALID.items())
def test_a_link_that_is_not_valid(capsys: pytest.CaptureFixture[str], link: str, reason: str) -> None:
    status, (line,) = told(capsys, link)
    assert status == verdict.NOT_VALID and reason in line["error"]


def test_the_worst_status_is_that_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    status, lines = told(capsys, "/nothing", "/hmc")
    assert status == verdict.NOT_VALID and len(lines) == 2


def test_a_plus_sign_typed_by_hand_is_one() -> None:
    _, spec = verdict.opened("/metropolis?target=formula&formula=-2.3*log(1+x^2+y^2)")
    assert spec.formula == "-2.3*log(1+x^2+y^2)"  # type: ignore[attr-defined]


@pytest.mark.parametrize(("fault", "kind"), [(STUCK, "run"), (SHIFTED, "numbers"), ((0, "euler"), "kernel")])
def test_a_planted_fault_turns_its_sign_red(fault: object, kind: str) -> None:
    lesson = lesson_of("hmc")
    spec = right_spec(lesson)
    parts = lesson.kernels, lesson.audit, lesson.checks, lesson.faults
    assert overall(Planted(*parts, fault)(spec, NEVER)) == "fail"  # type: ignore[arg-type]
    assert fault in plantable(lesson, spec, kind).values()
    right: Sequence[Check] = [*KernelProofs(lesson.kernels, lesson.audit)(spec, NEVER), *lesson.checks(spec, NEVER)]
    assert overall([check for check in right if check.kind == kind]) == "pass"


def test_a_phone_shows_the_worst_sign() -> None:
    faces = [badge.face("kernel", []), badge.face("run", []), badge.face("numbers", [])]
    assert badge.worst(faces) == "kernel"
    broken = Check("agree", "fail", 2.0, 1.01, "They disagree.", "R-hat", kind="run")
    assert badge.worst([faces[0], badge.face("run", [broken]), faces[2]]) == "run"
