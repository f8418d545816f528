"""The gallery: runs whose names the reader has to find, and the illnesses to choose from."""

from __future__ import annotations

from dataclasses import dataclass

from lessons.diagnostics.spec import NOBODY, DiagnosticsLesson

ILLNESSES = {
    "none": "No sign of illness",
    "small": "Steps too small: it crawls",
    "large": "Steps too large: nearly every proposal is rejected",
    "modes": "Chains stuck in different modes",
    "burn": "Burn-in left in: it started far away",
    "neck": "A neck or a tail that its steps cannot enter",
    "ridge": "Moves along the axes on a narrow ridge",
}

MODES = DiagnosticsLesson(target="two_modes", separation=9.0, weight=0.7, sampler="hmc", step_size=0.4, steps=4)
BIASED = DiagnosticsLesson(
    target="gaussian", correlation=0.0, sampler="nuts", step_size=0.1, broken="yes", spread=2.0, draws=1500
)
FAR = DiagnosticsLesson(target="gaussian", sampler="metropolis", scale=1.5, spread=40.0)


@dataclass(frozen=True)
class Patient:
    """A run of the gallery. `illness` is what was done to it, a key of `ILLNESSES`; `story` is told on opening the
    file.
    """

    run: DiagnosticsLesson
    illness: str
    story: str


GALLERY: dict[str, Patient] = {
    "1": Patient(
        DiagnosticsLesson(target="gaussian", sampler="metropolis", scale=0.1),
        "small",
        "Metropolis with a proposal ten times narrower than the target. Nearly everything is accepted, and nearly "
        "nothing is explored.",
    ),
    "2": Patient(
        MODES,
        "modes",
        "HMC on two modes nine standard deviations apart. Inside its mode each chain is a model of health: its own "
        "two halves agree. Only the comparison *between* chains shows the illness.",
    ),
    "3": Patient(
        DiagnosticsLesson(target="gaussian", sampler="nuts", step_size=0.5),
        "none",
        "NUTS on a Gaussian with correlation 0.5. Nothing was done to it.",
    ),
    "4": Patient(
        FAR,
        "burn",
        "Metropolis on a Gaussian of width 1, started 57 widths away in four directions. After the journey it is "
        "healthy: set the burn-in to 150 and look again.",
    ),
    "5": Patient(
        DiagnosticsLesson(target="gaussian", sampler="metropolis", scale=25.0),
        "large",
        "Metropolis with a proposal 25 times wider than the target. Horizontal lines in the trace are rejections, "
        "one after another.",
    ),
    "6": Patient(
        DiagnosticsLesson(target="funnel", dimension=5, sampler="nuts", step_size=0.5, spread=1.0),
        "neck",
        "NUTS on Neal's funnel in five dimensions. The neck is narrower than its steps can follow, the mouth is "
        "wider than one momentum can cross. Divergences mark the first, a low E-BFMI the second.",
    ),
    "7": Patient(
        DiagnosticsLesson(target="gaussian", correlation=0.99, sampler="gibbs", spread=2.0),
        "ridge",
        "Gibbs sampling of a Gaussian with correlation 0.99. Every update is accepted, because it is drawn from the "
        "exact conditional; but the conditional is seven times narrower than the target.",
    ),
    "8": Patient(
        BIASED,
        "none",
        "NUTS with the bug of a well-known demonstration, on a standard normal. No diagnostic of the draws can find "
        "it: all chains agree, on a density that is too wide. The signs *kernel* and *numbers* at the top know the "
        "exact answer, and are red.",
    ),
}


def case(spec: DiagnosticsLesson) -> DiagnosticsLesson:
    """The spec whose target, sampler and start are run: the patient's, or `spec` itself.

    Seed and burn-in, thinning and view stay those of `spec`: a new seed is a new patient with the same illness.
    """
    if spec.patient == NOBODY:
        return spec
    looks = ("file", "burn", "thin", "quantity", "view", "seed", "draws", "chains", "patient")
    return GALLERY[spec.patient].run.replace(**{name: getattr(spec, name) for name in looks})
