"""A fit as a scene: one picture for each method."""

from __future__ import annotations

from typing import Any

from app.kit.preview import Preview
from lessons.variational import analysis, stage_advi, stage_cavi, stage_kl
from lessons.variational.spec import VariationalLesson

STAGES = {"advi": stage_advi.stage, "cavi": stage_cavi.stage, "kl": stage_kl.stage}

OF_TARGETS = ("correlation", "scale_ratio", "width", "curvature", "separation", "weight", "rows", "prior_sd")
PREVIEWS = dict.fromkeys((*OF_TARGETS, "step_size", "samples", "batch", "start_x", "start_sd", "sweeps"), Preview(smooth=False))


def scene(spec: VariationalLesson, window: int | None = None) -> bytes:
    """The scene of `spec`, with the points of the steps around `window`."""
    return STAGES[spec.method](spec, window).encode()


def grow(spec: VariationalLesson, job: Any) -> bytes | None:
    """The same; of ADVI with a picture of the fit while its exact ELBO, its slopes and their noise are worked out."""
    climb = analysis.beginning(spec) if spec.method == "advi" else None
    if climb is not None:
        job.publish(stage_advi.drawn(spec, None, climb, whole=False).encode())
    return None if job.is_set() else scene(spec)
