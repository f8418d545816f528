"""The predictions, with answers computed from the networks."""

from __future__ import annotations

import numpy as np

from app.kit.words import Said, say
from lessons.uncertainty_maps import analysis, domain
from lessons.uncertainty_maps.analysis import SURE, Average, Sweep
from lessons.uncertainty_maps.domain import PARTS, Both
from lessons.uncertainty_maps.spec import WORDS, MapsSpec


def _sweep(spec: MapsSpec) -> Sweep:
    networks = analysis.trained(spec)
    assert networks is not None
    return analysis.sweep(spec, networks)


def _average(spec: MapsSpec) -> Average:
    found = analysis.average(spec)
    assert found is not None
    return found


def _at(amounts: np.ndarray, amount: float) -> int:
    return int(np.abs(amounts - amount).argmin())


def _half_turn(spec: MapsSpec) -> int:
    """0: another digit and sure; 1: unsure; 2: still its label."""
    found = _sweep(spec)
    mean = found.parts.mean[_at(found.amounts, 180.0)]
    if mean.max() < 0.8:
        return 1
    return 2 if int(mean.argmax()) == analysis.labels(spec)[0] else 0


def _explain_half_turn(spec: MapsSpec) -> Said:
    found = _sweep(spec)
    at = _at(found.amounts, 180.0)
    mean, total = found.parts.mean[at], found.parts.total
    return say(digit=mean.argmax(), probability=mean.max(), total=total[at], total_at_start=total[0], total_at_top=total.max())


def _on_its_side(spec: MapsSpec) -> int:
    """Of the images at 90° that are read wrong: 0 fewer than a third, 1 about half, 2 most are answered surely."""
    share = _sure_share(spec)
    return 0 if share < 1 / 3 else 2 if share > 2 / 3 else 1


def _sure_share(spec: MapsSpec) -> float:
    found = _average(spec)
    at = _at(found.amounts, 90.0)
    return float(found.sure_and_wrong[at] / max(1.0 - found.right[:, at].mean(), 1e-12))


def _explain_on_its_side(spec: MapsSpec) -> Said:
    mine, gaussian = _average(spec), _average(spec.replace(method="dense"))
    at = _at(mine.amounts, 90.0)
    return say(
        images=len(mine.right),
        wrong=100 * (1 - mine.right[:, at].mean()),
        dropout_sure=100 * _sure_share(spec),
        threshold=SURE,
        gaussian_sure=100 * _sure_share(spec.replace(method="dense")),
        dropout_epistemic=mine.epistemic[:, at].mean(),
        gaussian_epistemic=gaussian.epistemic[:, at].mean(),
    )


def _both(spec: MapsSpec, method: str = "") -> Both:
    networks = analysis.trained(spec, method)
    assert networks is not None
    found = domain.read(spec, networks)
    assert found is not None
    return found


def _sure_of_none(spec: MapsSpec, method: str = "") -> float:
    return float(np.mean(_both(spec, method).outside.mean.max(axis=1) >= SURE))


def _negatives(spec: MapsSpec) -> int:
    share = _sure_of_none(spec)
    return 0 if share < 0.01 else 1 if share < 0.1 else 2


def _explain_negatives(spec: MapsSpec) -> Said:
    areas = {WORDS.phrase(f"parts.{part}"): domain.area(_both(spec), part) for part in PARTS}
    each = (
        WORDS.phrase("questions.negatives.each", part=part, value=area.value, two_errors=2 * area.error) for part, area in areas.items()
    )
    return say(dropout_sure=100 * _sure_of_none(spec), gaussian_sure=100 * _sure_of_none(spec, "dense"), areas=", ".join(each))


QUESTIONS = (
    WORDS.question("half_turn", _half_turn, _explain_half_turn, scenario="six"),
    WORDS.question("on_its_side", _on_its_side, _explain_on_its_side, scenario="quarter"),
    WORDS.question("negatives", _negatives, _explain_negatives, scenario="inverted"),
)
