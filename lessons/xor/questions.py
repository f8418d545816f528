"""Predict → lock → run → explain. Every answer is computed from the run."""

from __future__ import annotations

import threading

import numpy as np

from app.kit.predict import Question
from engine.networks.predictive import Ensemble, probabilities
from lessons.xor.chains import smallest_width, study
from lessons.xor.learning import CELLS, CENTRE, modes, plane, predictor_of
from lessons.xor.spec import XorSpec

NEVER = threading.Event()
ENOUGH = 0.95
REGIONS = ("at the centre, between the four clouds", "in the four clouds, where the data are", "far away from all data")


def regions(spec: XorSpec) -> tuple[float, float, float]:
    """Mean epistemic uncertainty (nats): within 0.15 of the centre, within 0.2 of a cloud's middle, beyond 1.2."""
    points = plane(CELLS)
    epistemic = Ensemble(predictor_of(spec), points).add(study(spec, NEVER).weights).uncertainty().epistemic
    corner = np.abs(np.abs(points) - 0.5)
    masks = (
        np.hypot(*points.T) < 0.15,
        np.hypot(*corner.T) < 0.2,
        np.max(np.abs(points), axis=1) > 1.2,
    )
    centre, clouds, far = (float(epistemic[mask].mean()) for mask in masks)
    return centre, clouds, far


def _where(spec: XorSpec) -> int:
    return int(np.argmax(regions(spec)))


def _where_why(spec: XorSpec) -> str:
    centre, clouds, far = regions(spec)
    return (
        f"Mean epistemic uncertainty: {centre:.3f} nats at the centre, {clouds:.3f} in the clouds, {far:.3f} far away. "
        "In the clouds every network must agree with the data. Between them, some networks join the two clouds "
        "of class 1 by a bridge and some the two of class 0: each can be sure, and they contradict one another. Look "
        "at the strip of single networks."
    )


def _width(spec: XorSpec) -> int:
    return smallest_width(spec, ENOUGH) - 1


def _width_why(spec: XorSpec) -> str:
    return (
        f"With {smallest_width(spec, ENOUGH)} hidden units the averaged networks get at least {ENOUGH:.0%} of the "
        "points right. One unit is one slanted step: a single straight edge, and no straight line separates XOR. Two "
        "units cut a stripe out of the plane; more units let it bend, and let the chain get from one solution to "
        "another."
    )


def _sides(spec: XorSpec) -> tuple[float, float]:
    """Confidence of the MAP and of the ensemble, averaged over the plane outside the clouds' square."""
    points = plane(CELLS)
    outside = points[np.max(np.abs(points), axis=1) > 1.0]
    predictor = predictor_of(spec)
    single = probabilities(predictor, modes(spec)[0][None], outside)[0, :, 1]
    many = Ensemble(predictor, outside).add(study(spec, NEVER).weights).uncertainty().mean[:, 1]
    return float(np.maximum(single, 1 - single).mean()), float(np.maximum(many, 1 - many).mean())


def _surer(spec: XorSpec) -> int:
    single, many = _sides(spec)
    return 0 if single > many + 0.02 else 1 if abs(single - many) <= 0.02 else 2


def _surer_why(spec: XorSpec) -> str:
    single, many = _sides(spec)
    centre = probabilities(predictor_of(spec), modes(spec)[0][None], CENTRE)[0, 0, 1]
    return (
        f"Away from the data the MAP gives its class {single:.0%} on average, the average of the networks {many:.0%}. "
        "The MAP's colours are *aleatoric* only: what this one network thinks of the label, if it were right. Whether "
        f"another network would say the opposite, it cannot know. (At the centre the MAP says p = {centre:.2f}.)"
    )


QUESTIONS = [
    Question(
        "where",
        "Where will the networks *disagree* most with one another (epistemic uncertainty)?",
        REGIONS,
        _where,
        _where_why,
        scenario="learn",
    ),
    Question(
        "width",
        f"How many hidden units does XOR need, so that at least {ENOUGH:.0%} of the points come out right?",
        ("1", "2", "3", "4"),
        _width,
        _width_why,
        scenario="one-unit",
    ),
    Question(
        "map",
        "Outside the square of the clouds: which is surer of its class there?",
        ("the MAP, a single network", "both the same, within 2 points", "the average of all networks"),
        _surer,
        _surer_why,
        scenario="map",
    ),
]
