"""The predictions, with answers computed from the runs, and the diagnoses of the gallery."""

from __future__ import annotations

from functools import partial

import numpy as np

from app.kit.frame import Question
from lessons.diagnostics import analysis, doctor
from lessons.diagnostics.patients import GALLERY, ILLNESSES
from lessons.diagnostics.scenarios import FAR_TOGETHER
from lessons.diagnostics.spec import PATIENTS, DiagnosticsLesson


def nearest(value: float, choices: tuple[float, ...]) -> int:
    """Index of the choice nearest to `value` on a logarithmic scale."""
    return int(np.argmin([abs(np.log(value / choice)) for choice in choices]))


def error_in_mcse(spec: DiagnosticsLesson) -> float:
    """Error of the mean of all chains, in the Monte Carlo standard errors that they claim."""
    found = analysis.running(spec)
    return float((found.mean[-1] - analysis.exact(spec).mean) / found.mcse[-1])


def level(spec: DiagnosticsLesson) -> int:
    """0 for an R-hat up to 1.01, 1 up to 1.1, else 2."""
    return int(np.searchsorted([1.01, 1.1], analysis.running(spec).rhat[-1]))


def _explain_modes(spec: DiagnosticsLesson) -> str:
    found, parts = analysis.running(spec), analysis.classic(spec)
    return (
        f"R-hat is {found.rhat[-1]:.2f}, the classic one {parts.rhat[-1]:.2f}: the means of the chains have variance "
        f"{parts.between[-1]:.3g}, the draws inside a chain {parts.within[-1]:.3g}. {spec.chains * spec.draws:,} "
        f"draws are worth {found.ess_bulk[-1]:.0f} independent ones."
    )


def _explain_one_mode(spec: DiagnosticsLesson) -> str:
    found, true = analysis.running(spec), analysis.exact(spec)
    return (
        f"R-hat is {found.rhat[-1]:.3f} with {found.ess_bulk[-1]:,.0f} effective draws. The chains claim a mean of "
        f"{found.mean[-1]:.2f} ± {2 * found.mcse[-1]:.2f}; the truth is {true.mean:.2f}, "
        f"{abs(error_in_mcse(spec)):.0f} of their standard errors away. R-hat compares chains with each other, not "
        "with the truth."
    )


DISCARDS = (10.0, 100.0, 500.0)


def best_burn_in(spec: DiagnosticsLesson) -> int:
    """The number of discarded draws with the least typical error, over the repeated runs."""
    found = analysis.burn_in(spec)
    assert found is not None
    return int(found.discarded[np.argmin(found.rmse)])


def _explain_burn_in(spec: DiagnosticsLesson) -> str:
    found = analysis.burn_in(spec)
    assert found is not None
    k = int(np.argmin(found.rmse))
    half = int(np.searchsorted(found.discarded, spec.draws // 2))
    return (
        f"Over {found.repeats} runs like this one the typical error of the mean is {found.rmse[0]:.2f} with nothing "
        f"discarded, least ({found.rmse[k]:.3f}) with {found.discarded[k]} draws discarded, and "
        f"{found.rmse[half]:.3f} with half of them gone. Too few leaves bias; too many throws good draws away, which "
        "costs much less. So half is safe, if not thrifty. R-hat of all draws of this run is "
        f"{analysis.running(spec.replace(burn=0)).rhat[-1]:.3f}, the classic one "
        f"{analysis.classic(spec.replace(burn=0)).rhat[-1]:.3f}."
    )


def thinning_ratio(spec: DiagnosticsLesson) -> float:
    """ESS of the thinned draws over that of all."""
    found = analysis.thinning(spec)
    return float(found.ess[np.argmin(np.abs(found.every - spec.thin))] / found.ess[0])


def _explain_thinning(spec: DiagnosticsLesson) -> str:
    found = analysis.thinning(spec)
    k = int(np.argmin(np.abs(found.every - spec.thin)))
    return (
        f"All {found.draws[0]:,} draws are worth {found.ess[0]:.0f}, the {found.draws[k]:,} kept ones "
        f"{found.ess[k]:.0f}. Each kept draw is worth more ({found.ess[0] / found.draws[0]:.2f} before, "
        f"{found.ess[k] / found.draws[k]:.2f} now), all of them together are not: a draw thrown away told something, "
        "if only a little. Thin to save memory, not to gain precision."
    )


def wrong_by(spec: DiagnosticsLesson) -> int:
    """0 within two standard errors of the truth, 2 beyond four, else 1."""
    return int(np.searchsorted([2.0, 4.0], abs(error_in_mcse(spec))))


def _explain_biased(spec: DiagnosticsLesson) -> str:
    found, true = analysis.running(spec), analysis.exact(spec)
    return (
        f"R-hat {found.rhat[-1]:.3f}, ESS {found.ess_bulk[-1]:,.0f}, {int(analysis.simulate(spec).divergent.sum())} "
        f"divergences. The average of $x_1^2$ is {found.mean[-1]:.3f} ± {2 * found.mcse[-1]:.3f}, the truth "
        f"{true.mean:.0f}: {abs(error_in_mcse(spec)):.1f} standard errors off. More draws make it worse, not better: "
        "the error bar shrinks, the error stays. Press the sign *numbers*: it runs the kernel longer, compares "
        "with the exact answer, and fails it."
    )


def _reveal(number: str, spec: DiagnosticsLesson) -> str:
    patient = GALLERY[number]
    illness, reason = doctor.diagnose(spec)
    text = f"**The signs.** {reason}\n\n**The file.** {patient.story}"
    if number == "8":
        error = error_in_mcse(spec.replace(file="open", quantity="square"))
        text += f" The variance of $x_1$ is {error:.1f} standard errors off."
    if illness != patient.illness:  # another seed may hide an illness
        text += (
            f"\n\nWhat was really done to it: *{ILLNESSES[patient.illness].lower()}*. With this seed the signs mislead."
        )
    return text


def _open(spec: DiagnosticsLesson) -> DiagnosticsLesson:
    return spec.replace(file="open")


_GALLERY = [
    Question(
        f"patient-{number}",
        f"Patient {number}. What is your diagnosis?",
        list(ILLNESSES.values()),
        doctor.index,
        partial(_reveal, number),
        scenario=f"patient-{number}",
        reveal=_open,
    )
    for number in PATIENTS
]

QUESTIONS = [
    Question(
        "two-modes",
        "Two chains start on each hill and never cross. What will R-hat be after 1000 draws?",
        ["At most 1.01: each chain looks fine", "Between 1.01 and 1.1", "Above 1.1"],
        level,
        _explain_modes,
        scenario="two-modes",
    ),
    Question(
        "one-mode",
        "Now all four chains start on the left hill. What will R-hat be?",
        ["At most 1.01", "Between 1.01 and 1.1", "Above 1.1: the right hill is missing"],
        level,
        _explain_one_mode,
        scenario="one-mode",
    ),
    Question(
        "far",
        f"The chains start {FAR_TOGETHER.start_x:.0f} standard deviations out. How many of their {FAR_TOGETHER.draws} "
        "draws should be discarded, for the least error of the mean?",
        ["About 10", "About 100", "About half of them"],
        lambda spec: nearest(max(best_burn_in(spec), 1), DISCARDS),
        _explain_burn_in,
        scenario="far",
    ),
    Question(
        "thinning",
        "Keeping every tenth draw makes the kept ones nearly independent. The effective draws of all kept ones "
        "together become…",
        ["about ten times more", "about the same, or a little fewer", "about ten times fewer"],
        lambda spec: nearest(thinning_ratio(spec), (10.0, 1.0, 0.1)),
        _explain_thinning,
        scenario="thinning",
    ),
    *_GALLERY,
    Question(
        "biased",
        "R-hat is 1.00 and ESS is above 1000. How far is the average of $x_1^2$ from the truth?",
        [
            "Within 2 standard errors, as it should be",
            "Between 2 and 4: bad luck",
            "More than 4: it is wrong",
        ],
        wrong_by,
        _explain_biased,
        scenario="biased",
    ),
]
