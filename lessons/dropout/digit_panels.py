"""What stands below the network of digits: ways to predict, what the sd follows, images that are no digits, the cost."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import charts, theme
from app.kit.charts import Column, Figure, Table
from datasets.images import Images
from engine import scores
from engine.variational import NetworkFit
from lessons.dropout import digits
from lessons.dropout.digits import DRAWS
from lessons.dropout.spec import WORDS, DropoutSpec, factor
from lessons.families import watched
from lessons.families.digit_posteriors import sources
from lessons.families.digit_posteriors.spec import WORDS as FAMILY

SHOWN = 500  # test images of the figure and of those that are changed
SURE = 0.9  # probability from which on a network counts as sure


def panels(spec: DropoutSpec, cancel: Any) -> list[Figure | Table]:
    """The figures and tables of the training on stage."""
    fit, data = digits.ended(spec).fit, sources.images(spec.images)
    found: list[Figure | Table] = []
    for make in (_ways, _follows, _strange):
        if cancel.is_set():
            break
        if make is not _follows or not digits.drops_pixels(fit):
            found.append(make(spec, fit, data))
    return sources.captioned(found, spec.images)


def _ways(spec: DropoutSpec, fit: NetworkFit, data: Images) -> Table:
    """One pass, some averaged, dropout switched off: on all test images."""
    y, tested = data.y_test, len(data.labels_test)
    drawn, off = fit.predict(data.x_test, "MA", samples=DRAWS, seed=spec.seed), fit.predict(data.x_test, "MEAN")
    assert drawn is not None and off is not None  # nobody stops it
    ways = {
        WORDS.phrase("digit_panels.single"): drawn.draws[0].astype(np.float64),
        WORDS.phrase("digit_panels.averaged", draws=DRAWS): drawn.mean,
        WORDS.phrase("digit_panels.off"): off.mean,
    }
    right = [scores.top_accuracy(p, y) for p in ways.values()]
    columns: dict[str, Column] = {
        "prediction": list(ways),
        "right (%)": [f"{100 * share:.2f}" for share in right],
        "standard error (%)": [f"{100 * math.sqrt(share * (1 - share) / tested):.2f}" for share in right],
        "log score (nats)": [f"{scores.log_scores(p, y).mean():.4f}" for p in ways.values()],
        "calibration error": [f"{scores.calibration_error(p, y):.4f}" for p in ways.values()],
    }
    kept = ["one", "both"][digits.drops_pixels(fit)]
    about = WORDS.phrase(f"digit_panels.left_out_{kept}")
    return Table(WORDS.phrase("digit_panels.ways"), columns, WORDS.phrase("digit_panels.ways_caption", tested=tested, about=about))


def _follows(spec: DropoutSpec, fit: NetworkFit, data: Images) -> Figure:
    """The exact sd of the output of the digit that is read, against how far that output is from its bias."""
    found = digits.parts_of(fit, data.some(1, SHOWN).x_test)
    best, rows = found.off.argmax(axis=1), np.arange(len(found.off))
    keep = float(fit.posterior.keep[1])
    here = digits.over_masks(found.parts[rows, :, best], found.bias[best], keep, factor(spec, keep))
    away = np.abs(here.mean - found.bias[best])
    figure = charts.blank(WORDS.phrase("digit_panels.away"), WORDS.phrase("digit_panels.sd"))
    right = best == data.y_test[: len(best)]
    for chosen, name, role, symbol in ((right, "read_right", "accept", "circle"), (~right, "read_wrong", "reject", "x")):
        marker = {"symbol": symbol, "size": 6, "color": theme.colour(role)}
        figure.add_scatter(x=away[chosen], y=here.sd[chosen], mode="markers", marker=marker, name=FAMILY.phrase(f"stage.{name}"))
    order = np.argsort(away)
    line = {"color": theme.colour("truth"), "dash": "dot"}
    figure.add_scatter(x=away[order], y=here.floor[order], mode="lines", line=line, name=WORDS.phrase("panels.floor"))
    figure.update_xaxes(rangemode="tozero")
    figure.update_yaxes(rangemode="tozero")
    told = {"images": len(best), "units": spec.hidden, "correlation": _correlation(away, here.sd)}
    caption = WORDS.phrase("digit_panels.follows_caption", **told)
    return Figure(WORDS.phrase("digit_panels.follows"), figure, caption, caption)


def _correlation(x: NDArray[Any], y: NDArray[Any]) -> float:
    """Of two arrays; 0 where one of them does not vary."""
    return float(np.corrcoef(x, y)[0, 1]) if min(x.std(), y.std()) > 1e-12 else 0.0


def changed(spec: DropoutSpec, x: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
    """Test images (m, pixels) by name: as they are, upside down, with paper and ink exchanged, with pixels in another order."""
    side = round(x.shape[1] ** 0.5)
    order = np.random.Generator(np.random.SFC64(np.random.SeedSequence([spec.seed, 17]))).permutation(x.shape[1])
    turned = x.reshape(-1, side, side)[:, ::-1, ::-1].reshape(x.shape)
    return {"as_they_are": x, "upside_down": turned, "negative": 1.0 - x, "shuffled": x[:, order]}


def _strange(spec: DropoutSpec, fit: NetworkFit, data: Images) -> Table:
    """How sure the passes are of what is no digit."""
    found = changed(spec, data.some(1, SHOWN).x_test)
    parts = []
    for x in found.values():
        drawn = fit.predict(np.ascontiguousarray(x), "MA", samples=DRAWS, seed=spec.seed)
        assert drawn is not None  # nobody stops it
        parts.append(scores.decompose(drawn.draws))
    sure = [100.0 * float((part.mean.max(axis=1) > SURE).mean()) for part in parts]
    columns: dict[str, Column] = {
        "images": [WORDS.phrase(f"digit_panels.{name}") for name in found],
        f"P above {SURE:g} (%)": [f"{share:.1f}" for share in sure],
        "total (nats)": [float(part.total.mean()) for part in parts],
        "aleatoric (nats)": [float(part.aleatoric.mean()) for part in parts],
        "epistemic (nats)": [float(part.epistemic.mean()) for part in parts],
    }
    told = {"images": len(data.some(1, SHOWN).labels_test), "draws": DRAWS, "sure": SURE, "worst": max(sure[1:])}
    return Table(WORDS.phrase("digit_panels.strange"), columns, WORDS.phrase("digit_panels.strange_caption", **told))


def cost(spec: DropoutSpec) -> Table:
    """What the training was and took."""
    state = digits.ended(spec)
    pixels, units = (float(p) for p in state.fit.posterior.keep)
    columns = watched.cost(state, **{"p of units": units, "p of pixels": pixels})
    return Table(WORDS.phrase("digit_panels.cost"), columns, WORDS.phrase("digit_panels.cost_caption", batch=state.fit.spec.batch))
