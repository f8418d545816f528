"""The predictions, with answers computed from the runs, and the diagnoses of the gallery."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from app.kit.words import Said, say
from engine.judge.answers import nearest
from lessons.diagnostics import analysis, doctor
from lessons.diagnostics.patients import GALLERY, ILLNESSES
from lessons.diagnostics.spec import BIASED, FAR_TOGETHER, NOT_ERGODIC, PATIENTS, WORDS, DiagnosticsLesson


def error_in_mcse(spec: DiagnosticsLesson) -> float:
    """Error of the mean of all chains, in the Monte Carlo standard errors that they claim."""
    found = analysis.running(spec)
    return float((found.mean[-1] - analysis.exact(spec).mean) / found.mcse[-1])


def level(spec: DiagnosticsLesson) -> int:
    """0 for an R-hat up to 1.01, 1 up to 1.1, else 2."""
    return int(np.searchsorted([1.01, 1.1], analysis.running(spec).rhat[-1]))


def _explain_modes(spec: DiagnosticsLesson) -> Said:
    found, parts = analysis.running(spec), analysis.classic(spec)
    return say(
        rhat=found.rhat[-1],
        classic=parts.rhat[-1],
        between=parts.between[-1],
        within=parts.within[-1],
        draws=spec.chains * spec.draws,
        ess=found.ess_bulk[-1],
    )


def _explain_one_mode(spec: DiagnosticsLesson) -> Said:
    found = analysis.running(spec)
    return say(
        rhat=found.rhat[-1],
        ess=found.ess_bulk[-1],
        mean=found.mean[-1],
        twice_mcse=2 * found.mcse[-1],
        true=analysis.exact(spec).mean,
        off=abs(error_in_mcse(spec)),
    )


def places(spec: DiagnosticsLesson) -> int:
    """The most different places that one of the chains has been to; to nine digits, for rounding adds up."""
    return max(len(np.unique(np.round(chain, 9), axis=0)) for chain in analysis.simulate(spec).draws)


def _explain_places(spec: DiagnosticsLesson) -> Said:
    found, run = analysis.running(spec), analysis.simulate(spec)
    square = spec.replace(quantity="square")
    count = places(spec)
    few = {1: "one", 2: "two"}.get(count, "up_to")
    return say(
        places=WORDS.phrase(f"questions.not-ergodic.{few}", count=count),
        total=int(run.accepted.sum()),
        mean=abs(found.mean[-1]),
        square=analysis.running(square).mean[-1],
        true_square=analysis.exact(square).mean,
        ess=found.ess_bulk[-1],
        classic=analysis.classic(spec).rhat[-1],
        rhat=found.rhat[-1],
    )


def errors_left(spec: DiagnosticsLesson) -> tuple[list[int], list[float]]:
    """How many draws each option discards, and the typical error of the mean after that, over the repeated runs.

    The options themselves are compared: where the error is least hangs on chance, because the curve is flat there.
    """
    found = analysis.burn_in(spec)
    assert found is not None
    at = [int(np.argmin(np.abs(found.discarded - count))) for count in (10, 150, spec.draws // 2)]
    return found.discarded[at].tolist(), found.rmse[at].tolist()


def _explain_burn_in(spec: DiagnosticsLesson) -> Said:
    found, whole = analysis.burn_in(spec), spec.replace(burn=0)
    assert found is not None
    (_, some, _), (_, with_some, half) = errors_left(spec)
    return say(
        repeats=found.repeats,
        nothing=found.rmse[0],
        some=some,
        with_some=with_some,
        half=half,
        rhat=analysis.running(whole).rhat[-1],
        classic=analysis.classic(whole).rhat[-1],
    )


def thinning_ratio(spec: DiagnosticsLesson) -> float:
    """ESS of the thinned draws over that of all."""
    found = analysis.thinning(spec)
    return float(found.ess[np.argmin(np.abs(found.every - spec.thin))] / found.ess[0])


def _explain_thinning(spec: DiagnosticsLesson) -> Said:
    found = analysis.thinning(spec)
    k = int(np.argmin(np.abs(found.every - spec.thin)))
    return say(
        draws=found.draws[0],
        worth=found.ess[0],
        kept=found.draws[k],
        kept_worth=found.ess[k],
        each=found.ess[0] / found.draws[0],
        each_kept=found.ess[k] / found.draws[k],
    )


def wrong_by(spec: DiagnosticsLesson) -> int:
    """0 within two standard errors of the truth, 2 beyond three, else 1."""
    return int(np.searchsorted([2.0, 3.0], abs(error_in_mcse(spec))))


def _explain_biased(spec: DiagnosticsLesson) -> Said:
    found = analysis.running(spec)
    return say(
        rhat=found.rhat[-1],
        ess=found.ess_bulk[-1],
        divergences=int(analysis.simulate(spec).divergent.sum()),
        mean=found.mean[-1],
        twice_mcse=2 * found.mcse[-1],
        true=analysis.exact(spec).mean,
        off=abs(error_in_mcse(spec)),
    )


def _explain_patient(number: str, spec: DiagnosticsLesson) -> Said:
    patient = GALLERY[number]
    illness, reason = doctor.diagnose(spec)
    passages = ["signs", "", "file"]
    values: dict[str, Any] = {"reason": reason, "story": WORDS["patients"][number]}
    if patient.run == BIASED:
        passages.append("biased")
        values["off"] = error_in_mcse(spec.replace(file="open", quantity="square"))
    if illness != patient.illness:  # another seed may hide an illness
        passages += ["", "misled"]
        values["illness"] = ILLNESSES[patient.illness].lower()
    return say(*passages, **values)


def _open(spec: DiagnosticsLesson) -> DiagnosticsLesson:
    return spec.replace(file="open")


_GALLERY = [
    WORDS.question(
        f"patient-{number}",
        doctor.index,
        partial(_explain_patient, number),
        scenario=f"patient-{number}",
        options=list(ILLNESSES.values()),
        reveal=_open,
        words="patient",
        number=number,
    )
    for number in PATIENTS
]
QUESTIONS = [
    WORDS.question("two-modes", level, _explain_modes, scenario="two-modes"),
    WORDS.question("one-mode", level, _explain_one_mode, scenario="one-mode"),
    WORDS.question(
        "not-ergodic",
        lambda spec: int(np.searchsorted([3, spec.draws // 2], places(spec), side="right")),
        _explain_places,
        scenario="not-ergodic",
        draws=NOT_ERGODIC.draws,
    ),
    WORDS.question(
        "far",
        lambda spec: int(np.argmin(errors_left(spec)[1])),
        _explain_burn_in,
        scenario="far",
        widths=FAR_TOGETHER.start_x,
        draws=FAR_TOGETHER.draws,
    ),
    WORDS.question("thinning", lambda spec: nearest(thinning_ratio(spec), (10.0, 1.0, 0.1)), _explain_thinning, scenario="thinning"),
    *_GALLERY,
    WORDS.question("biased", wrong_by, _explain_biased, scenario="biased"),
]
