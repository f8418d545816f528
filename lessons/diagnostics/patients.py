"""The gallery: runs whose names the reader has to find, and the illnesses to choose from."""

from __future__ import annotations

from dataclasses import dataclass

from lessons.diagnostics.spec import BIASED, FAR, MODES, NOBODY, WORDS, DiagnosticsLesson

ILLNESSES = WORDS["illnesses"]


@dataclass(frozen=True)
class Patient:
    """A run of the gallery. `illness` is what was done to it, a key of `ILLNESSES`."""

    run: DiagnosticsLesson
    illness: str


GALLERY: dict[str, Patient] = {
    "1": Patient(DiagnosticsLesson(target="gaussian", sampler="metropolis", scale=0.1), "small"),
    "2": Patient(MODES, "modes"),
    "3": Patient(DiagnosticsLesson(target="gaussian", sampler="nuts", step_size=0.5), "none"),
    "4": Patient(FAR, "burn"),
    "5": Patient(DiagnosticsLesson(target="gaussian", sampler="metropolis", scale=25.0), "large"),
    "6": Patient(DiagnosticsLesson(target="funnel", dimension=5, sampler="nuts", step_size=0.5, spread=1.0), "neck"),
    "7": Patient(DiagnosticsLesson(target="gaussian", correlation=0.99, sampler="gibbs", spread=2.0), "ridge"),
    "8": Patient(BIASED, "none"),
}


def case(spec: DiagnosticsLesson) -> DiagnosticsLesson:
    """The spec whose target, sampler and start are run: the patient's, or `spec` itself.

    Seed and burn-in, thinning and view stay those of `spec`: a new seed is a new patient with the same illness.
    """
    if spec.patient == NOBODY:
        return spec
    looks = ("file", "burn", "thin", "quantity", "view", "seed", "draws", "chains", "patient")
    return GALLERY[spec.patient].run.replace(**{name: getattr(spec, name) for name in looks})
