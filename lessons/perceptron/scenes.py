"""One picture for each part of the lesson."""

from __future__ import annotations

from typing import Any

from app.kit.preview import Preview
from lessons.perceptron import stage_held_out, stage_network, stage_nodes, stage_perceptron, stage_race
from lessons.perceptron.spec import PerceptronLesson

STAGES = {
    "perceptron": stage_perceptron.stage,
    "network": stage_network.stage,
    "nodes": stage_nodes.stage,
    "race": stage_race.stage,
    "held_out": stage_held_out.stage,
}

OF_POINTS = ("gap", "count", "epochs")
OF_TRAINING = ("units", "depth", "step_size", "momentum", "row")
OF_RACE = ("correlation", "scale_ratio", "width", "curvature", "length", "adaptive", "noise")
AGAINST_OVERFITTING = ("decay", "keep", "patience")
PREVIEWS = dict.fromkeys((*OF_POINTS, *OF_TRAINING, *OF_RACE, *AGAINST_OVERFITTING), Preview(smooth=False))


def scene(spec: PerceptronLesson, window: int | None = None) -> bytes:
    """The scene of `spec`; no step has an inside to ask for."""
    return STAGES[spec.part](spec).encode()


def grow(spec: PerceptronLesson, job: Any) -> bytes | None:
    """The same; of loss on new points with a picture of the first set while the others are trained on."""
    first = stage_held_out.beginning(spec) if spec.part == "held_out" else None
    if first is not None:
        job.publish(first.encode())
    return None if job.is_set() else scene(spec)
