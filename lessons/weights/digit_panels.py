"""What stands below the network of digits: ways to predict, pruning, the weights that no data reach, the cost."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from app.kit.charts import Column, Figure, Table
from datasets.images import Images
from engine.variational import NetworkFit
from lessons.families import watched
from lessons.families.digit_posteriors import sources
from lessons.weights import digits
from lessons.weights.digits import DRAWS
from lessons.weights.spec import WORDS, WeightsSpec

REMOVED = (0.0, 0.5, 0.75, 0.9, 0.95, 0.98)  # shares of the weights
STEYN = 0.9514  # of MNIST's 10,000 test images right, printed by Steyn (2018), figure 7.2
STUDY = "/reproduce?id=steyn-7.3"  # where it is run again


def panels(spec: WeightsSpec, cancel: Any) -> list[Figure | Table]:
    """The tables of the training on stage, on all test images."""
    found: list[Figure | Table] = []
    for make in (_pruned, _ways, *([_idle] if digits.never_inked(spec).any() else [])):
        if cancel.is_set():
            break
        found.append(make(spec, digits.ended(spec).fit, sources.images(spec.images)))
    return sources.captioned(found, spec.images)


def _error(share: float, tested: int) -> float:
    """Standard error of a share of so many test images, in per cent."""
    return 100.0 * math.sqrt(share * (1.0 - share) / tested)


def _pruned(spec: WeightsSpec, fit: NetworkFit, data: Images) -> Table:
    ratios = np.concatenate([layer.ravel() for layer in fit.signal_to_noise()])
    columns: dict[str, list[Any]] = {
        "weights cut (%)": [],
        "weights left": [],
        "|mean|/sd above": [],
        "means alone: right (%)": [],
        f"{DRAWS} networks: right (%)": [],
    }
    for removed in REMOVED:
        masks = fit.prune(1.0 - removed)
        drawn = fit.predict(data.x_test, "MA", samples=DRAWS, seed=spec.seed, masks=masks)
        assert drawn is not None
        left = np.concatenate([mask.ravel() for mask in masks])
        columns["weights cut (%)"].append(f"{100 * removed:g}")
        columns["weights left"].append(int(left.sum()))
        columns["|mean|/sd above"].append(float(ratios[~left].max()) if removed else 0.0)
        columns["means alone: right (%)"].append(f"{100 * digits.right(fit, data.x_test, data.y_test, masks):.2f}")
        columns[f"{DRAWS} networks: right (%)"].append(f"{100 * drawn.accuracy(data.y_test):.2f}")
    tested = len(data.labels_test)
    caption = WORDS.phrase("digit_panels.pruned_caption", tested=tested, error=_error(digits.right(fit, data.x_test, data.y_test), tested))
    return Table(WORDS.phrase("digit_panels.pruned"), columns, caption)


def _ways(spec: WeightsSpec, fit: NetworkFit, data: Images) -> Table:
    """One network, ten, the means; of MNIST beside what Steyn printed."""
    tested = len(data.labels_test)
    drawn = fit.predict(data.x_test, "MA", samples=DRAWS, seed=spec.seed)
    assert drawn is not None
    ways = {
        WORDS.phrase("digit_panels.single"): float(drawn.draw_accuracies(data.y_test)[0]),
        WORDS.phrase("digit_panels.averaged", networks=DRAWS): drawn.accuracy(data.y_test),
        WORDS.phrase("digit_panels.middle"): digits.right(fit, data.x_test, data.y_test),
    }
    caption = WORDS.phrase("digit_panels.ways_caption", tested=tested)
    if digits.is_large(spec):
        ways[WORDS.phrase("digit_panels.steyn")] = STEYN
        caption = f"{caption} {WORDS.phrase('digit_panels.steyn_caption', link=STUDY)}"
    columns: dict[str, Column] = {
        "prediction": list(ways),
        "right (%)": [f"{100 * share:.2f}" for share in ways.values()],
        "standard error (%)": [f"{_error(share, tested):.2f}" for share in ways.values()],
    }
    return Table(WORDS.phrase("digit_panels.ways"), columns, caption)


def _idle(spec: WeightsSpec, fit: NetworkFit, data: Images) -> Table:
    """What is known exactly of the weights that no data reach."""
    idle = digits.never_inked(spec)
    mean, sd = fit.expected_weights()[0][:-1][idle], fit.shape.split(fit.posterior.sds())[0][:-1][idle]
    drawn = fit.draw_weights(spec.seed)[0][:-1][idle]
    columns: dict[str, Column] = {
        "of their weights": [WORDS.phrase(f"digit_panels.idle_{name}") for name in ("mean", "low", "high", "drawn")],
        "must be": [0.0, spec.prior_sd, spec.prior_sd, spec.prior_sd],
        "is": [float(value) for value in (np.abs(mean).max(), sd.min(), sd.max(), np.sqrt(np.mean(drawn**2, dtype=np.float64)))],
    }
    caption = WORDS.phrase(
        "digit_panels.idle_caption", idle=int(idle.sum()), pixels=len(idle), unreached=drawn.size, weights=fit.shape.weights
    )
    return Table(WORDS.phrase("digit_panels.idle"), columns, caption)


def cost(spec: WeightsSpec) -> Table:
    """What the training was and took."""
    state = digits.ended(spec)
    columns = watched.cost(state, **{"KL (nats)": float(state.fit.history.kl[-1])})
    return Table(WORDS.phrase("digit_panels.cost"), columns, WORDS.phrase("digit_panels.cost_caption", batch=state.fit.spec.batch))
