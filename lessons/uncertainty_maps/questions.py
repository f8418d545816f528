"""The predictions, with answers computed from the networks."""

from __future__ import annotations

import numpy as np

from app.kit.frame import Question
from lessons.uncertainty_maps import analysis, domain
from lessons.uncertainty_maps.analysis import SURE, Average, Sweep
from lessons.uncertainty_maps.domain import PARTS, Both
from lessons.uncertainty_maps.spec import MapsSpec


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


def _explain_half_turn(spec: MapsSpec) -> str:
    found = _sweep(spec)
    at = _at(found.amounts, 180.0)
    mean, total = found.parts.mean[at], found.parts.total
    return (
        f"At 180° the average says {mean.argmax()} with probability {mean.max():.2f}. The total is {total[at]:.2f} "
        f"nats; it was {total[0]:.2f} at the start and {total.max():.2f} at its top. The networks answer what the "
        "pixels show."
    )


def _on_its_side(spec: MapsSpec) -> int:
    """Of the images at 90° that are read wrong: 0 fewer than a third, 1 about half, 2 most are answered surely."""
    share = _sure_share(spec)
    return 0 if share < 1 / 3 else 2 if share > 2 / 3 else 1


def _sure_share(spec: MapsSpec) -> float:
    found = _average(spec)
    at = _at(found.amounts, 90.0)
    return float(found.sure_and_wrong[at] / max(1.0 - found.right[:, at].mean(), 1e-12))


def _explain_on_its_side(spec: MapsSpec) -> str:
    mine, gaussian = _average(spec), _average(spec.replace(method="dense"))
    at = _at(mine.amounts, 90.0)
    return (
        f"Of the {len(mine.right)} images {100 * (1 - mine.right[:, at].mean()):.0f} % are read wrong at 90°, and "
        f"{100 * _sure_share(spec):.0f} % of those with a probability of at least {SURE:g}. By the dense Gaussian it "
        f"is {100 * _sure_share(spec.replace(method='dense')):.0f} %. The mean epistemic part is "
        f"{mine.epistemic[:, at].mean():.2f} nats by dropout and {gaussian.epistemic[:, at].mean():.2f} by the "
        "Gaussian."
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


def _explain_negatives(spec: MapsSpec) -> str:
    areas = {part: domain.area(_both(spec), part) for part in PARTS}
    told = ", ".join(f"{part} {area.value:.2f} ± {2 * area.error:.2f}" for part, area in areas.items())
    return (
        f"{100 * _sure_of_none(spec):.0f} % by MC dropout, {100 * _sure_of_none(spec, 'dense'):.0f} % by the dense "
        f"Gaussian. Dropout's AUROC, ± 2 errors: {told}."
    )


QUESTIONS = (
    Question(
        "half_turn",
        "A 6 is turned by 180°. What will the networks say?",
        ("Another digit, with a probability of at least 0.8", "They will be unsure: below 0.8", "Still a 6, surely"),
        _half_turn,
        _explain_half_turn,
        scenario="six",
    ),
    Question(
        "on_its_side",
        "Digits on their sides, read by MC dropout. Of those that it reads wrong, how many does it answer with a "
        "probability of at least 0.9?",
        ("Fewer than a third", "Between a third and two thirds", "More than two thirds"),
        _on_its_side,
        _explain_on_its_side,
        scenario="quarter",
    ),
    Question(
        "negatives",
        "450 test images with ink for paper, none of them a digit any more. How many does MC dropout answer with a "
        "probability of at least 0.9?",
        ("Fewer than 1 %", "Between 1 and 10 %", "More than 10 %"),
        _negatives,
        _explain_negatives,
        scenario="inverted",
    ),
)
