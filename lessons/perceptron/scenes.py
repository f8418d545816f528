"""One picture for each part of the lesson."""

from __future__ import annotations

from lessons.perceptron import stage_held_out, stage_network, stage_nodes, stage_perceptron, stage_race
from lessons.perceptron.spec import PerceptronLesson

STAGES = {
    "perceptron": stage_perceptron.stage,
    "network": stage_network.stage,
    "nodes": stage_nodes.stage,
    "race": stage_race.stage,
    "held_out": stage_held_out.stage,
}


def scene(spec: PerceptronLesson, window: int | None = None) -> bytes:
    """The scene of `spec`; no step has an inside to ask for."""
    return STAGES[spec.part](spec).encode()
