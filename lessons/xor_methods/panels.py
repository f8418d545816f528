"""Below the stage: how far each method is from the long run, and what it costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.kit import charts, theme
from app.kit.charts import Figure, Table
from lessons.xor_methods.analysis import FAR, NEAR
from lessons.xor_methods.proof import signed
from lessons.xor_methods.spec import FITTED, METHODS, NAMES, WORDS, MethodsSpec
from lessons.xor_methods.study import FAR_AWAY, QUANTITIES, REFERENCE, REGIONS, WHOLE, Study, name_of, networks_of, reference_seed, study

SYMBOLS = {"circle": "circle", "cross": "x", "square": "square", "triangle": "triangle-up", "ring": "circle-open", "diamond": "diamond"}
COSTLY = 2.0  # half-length of the error bars, in standard errors


def panels(spec: MethodsSpec, cancel: Any) -> list[Figure]:
    """How far off, and for which price."""
    seen = study(spec, cancel)
    return [_differences(seen), _price(seen)]


def _differences(seen: Study) -> Figure:
    """Epistemic uncertainty, method minus reference, in three regions."""
    figure = charts.blank(WORDS.phrase("panels.differences_x"), "")
    for number, method in enumerate(METHODS):
        difference, error = (values[: len(REGIONS)] for values in seen.difference(method))
        height = np.arange(len(REGIONS)) + 0.1 * (number - 2.5)
        bars = {"type": "data", "array": COSTLY * error, "color": theme.colour(f"chain-{number}"), "thickness": 1.5}
        marker = {"symbol": SYMBOLS[theme.MARKERS[number]], "size": 8, "color": theme.colour(f"chain-{number}")}
        figure.add_scatter(x=difference, y=height, error_x=bars, mode="markers", marker=marker, name=NAMES[method])
    line = {"color": theme.colour("ink"), "width": 1.5, "dash": "dash"}
    figure.add_scatter(x=[0, 0], y=[-0.5, 2.5], mode="lines", line=line, name=WORDS.phrase("panels.long_run"))
    names = [WORDS.phrase(f"panels.{region}") for region in REGIONS]
    axis = {"tickvals": list(range(len(REGIONS))), "ticktext": names, "range": [2.6, -0.6]}
    figure.update_layout(height=380, yaxis=axis, margin={"l": 90})
    return Figure(
        WORDS.phrase("panels.differences"),
        figure,
        alt=WORDS.phrase("panels.differences_alt"),
        caption=WORDS.phrase("panels.differences_caption", near=NEAR, far=FAR),
    )


def _price(seen: Study) -> Figure:
    """Error against gradients."""
    figure = charts.blank(WORDS.phrase("panels.price_x"), WORDS.phrase("panels.price_y"), height=380)
    for number, method in enumerate(METHODS):
        difference, error = seen.difference(method)
        marker = {"symbol": SYMBOLS[theme.MARKERS[number]], "size": 10, "color": theme.colour(f"chain-{number}")}
        bars = {"type": "data", "array": [COSTLY * error[WHOLE]], "color": theme.colour(f"chain-{number}")}
        figure.add_scatter(
            x=[seen.found[method].gradients], y=[abs(difference[WHOLE])], error_y=bars, mode="markers", marker=marker, name=NAMES[method]
        )
    figure.update_layout(xaxis={"type": "log"}, yaxis={"rangemode": "tozero"})
    return Figure(WORDS.phrase("panels.price"), figure, alt=WORDS.phrase("panels.price_alt"), caption=WORDS.phrase("panels.price_caption"))


def diagnostics(spec: MethodsSpec, cancel: Any) -> Table:
    """R-hat in function space, effective networks, cost and difference of every method."""
    seen = study(spec, cancel)
    order = (REFERENCE, *METHODS)
    found = [seen.found[method] for method in order]
    columns: dict[str, list] = {
        "method": [name_of(method) for method in order],
        "networks": [networks_of(one) for one in found],
        "gradients": [f"{one.gradients:,}" for one in found],
        "seconds": [f"{one.seconds:.2f}" for one in found],
        "R-hat, worst": ["–" if method in FITTED else f"{seen.rhat(method):.3f}" for method in order],
        "effective networks, least": ["–" if method in FITTED else f"{np.nanmin(seen.says[method].ess):,.0f}" for method in order],
        "epistemic": [f"{seen.says[method].value[WHOLE]:.4f}" for method in order],
        "± MCSE": [f"{seen.says[method].error[WHOLE]:.4f}" for method in order],
    }
    columns |= {"difference": _apart(seen, WHOLE), "difference far away": _apart(seen, FAR_AWAY)}
    widths = seen.found["jumps"].width.ravel()
    shares = ", ".join(f"{k}: {np.mean(widths == k):.0%}" for k in np.unique(widths))
    caption = WORDS.phrase("panels.table_caption", quantities=len(QUANTITIES), seed=reference_seed(spec), shares=shares)
    return Table(WORDS.phrase("panels.table"), columns, caption)


def _apart(seen: Study, quantity: int) -> list[str]:
    """How far every method is from the reference; that itself first."""
    cells = ["–"]
    for method in METHODS:
        difference, error = (values[quantity] for values in seen.difference(method))
        cells.append(f"{signed(difference)} ± {error:.3f}" if np.isfinite(difference) else "–")
    return cells
