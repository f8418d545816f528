"""Predict → lock → run → explain. Every answer is computed from the run."""

from __future__ import annotations

import numpy as np

from app.kit.words import Said, say
from engine import ticket
from engine.networks.predictive import Ensemble, probabilities
from lessons.xor.chains import smallest_width, study
from lessons.xor.learning import CELLS, CENTRE, modes, plane, predictor_of
from lessons.xor.spec import WORDS, XorSpec

ENOUGH = 0.95


def regions(spec: XorSpec) -> tuple[float, float, float]:
    """Mean epistemic uncertainty (nats): within 0.15 of the centre, within 0.2 of a cloud's middle, beyond 1.2."""
    points = plane(CELLS)
    epistemic = Ensemble(predictor_of(spec), points).add(study(spec, ticket.held()).weights).uncertainty().epistemic
    corner = np.abs(np.abs(points) - 0.5)
    masks = (np.hypot(*points.T) < 0.15, np.hypot(*corner.T) < 0.2, np.max(np.abs(points), axis=1) > 1.2)
    centre, clouds, far = (float(epistemic[mask].mean()) for mask in masks)
    return centre, clouds, far


def _where(spec: XorSpec) -> int:
    return int(np.argmax(regions(spec)))


def _where_why(spec: XorSpec) -> Said:
    at_centre, in_clouds, far_away = regions(spec)
    return say(at_centre=at_centre, in_clouds=in_clouds, far_away=far_away)


def _width(spec: XorSpec) -> int:
    return smallest_width(spec, ENOUGH) - 1


def _width_why(spec: XorSpec) -> Said:
    return say(units=smallest_width(spec, ENOUGH))


def _sides(spec: XorSpec) -> tuple[float, float]:
    """Confidence of the MAP and of the ensemble, averaged over the plane outside the clouds' square."""
    points = plane(CELLS)
    outside = points[np.max(np.abs(points), axis=1) > 1.0]
    predictor = predictor_of(spec)
    single = probabilities(predictor, modes(spec)[0][None], outside)[0, :, 1]
    many = Ensemble(predictor, outside).add(study(spec, ticket.held()).weights).uncertainty().mean[:, 1]
    return float(np.maximum(single, 1 - single).mean()), float(np.maximum(many, 1 - many).mean())


def _surer(spec: XorSpec) -> int:
    single, many = _sides(spec)
    return 0 if single > many + 0.02 else 1 if abs(single - many) <= 0.02 else 2


def _surer_why(spec: XorSpec) -> Said:
    single, many = _sides(spec)
    centre = probabilities(predictor_of(spec), modes(spec)[0][None], CENTRE)[0, 0, 1]
    return say(map_confidence=single, average_confidence=many, map_at_centre=centre)


QUESTIONS = [
    WORDS.question("where", _where, _where_why, scenario="learn"),
    WORDS.question("width", _width, _width_why, scenario="one-unit", enough=ENOUGH),
    WORDS.question("map", _surer, _surer_why, scenario="map"),
]
