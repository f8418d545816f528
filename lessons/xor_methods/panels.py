"""Below the stage: how far each method is from the long run, and what it costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.kit import charts, theme
from app.kit.charts import Figure, Table
from lessons.xor_methods.analysis import FAR, NEAR
from lessons.xor_methods.proof import FAR_AWAY, WHOLE, signed
from lessons.xor_methods.spec import FITTED, METHODS, NAMES, MethodsSpec
from lessons.xor_methods.study import QUANTITIES, REFERENCE, REGIONS, Study, name_of, networks_of, reference_seed, study

SYMBOLS = {"circle": "circle", "cross": "x", "square": "square", "triangle": "triangle-up", "ring": "circle-open", "diamond": "diamond"}
COSTLY = 2.0  # half-length of the error bars, in standard errors


def panels(spec: MethodsSpec, cancel: Any) -> list[Figure]:
    """How far off, and for which price."""
    seen = study(spec, cancel)
    return [_differences(seen), _price(seen)]


def _differences(seen: Study) -> Figure:
    """Epistemic uncertainty, method minus reference, in three regions."""
    figure = charts.blank("epistemic: method − long NUTS run (nats)", "")
    for number, method in enumerate(METHODS):
        difference, error = (values[: len(REGIONS)] for values in seen.difference(method))
        height = np.arange(len(REGIONS)) + 0.1 * (number - 2.5)
        bars = {"type": "data", "array": COSTLY * error, "color": theme.colour(f"chain-{number}"), "thickness": 1.5}
        marker = {"symbol": SYMBOLS[theme.MARKERS[number]], "size": 8, "color": theme.colour(f"chain-{number}")}
        figure.add_scatter(x=difference, y=height, error_x=bars, mode="markers", marker=marker, name=NAMES[method])
    figure.add_scatter(
        x=[0, 0], y=[-0.5, 2.5], mode="lines", line={"color": theme.colour("ink"), "width": 1.5, "dash": "dash"}, name="the long run"
    )
    names = [name.replace(" the ", "<br>the ") for name in REGIONS]
    axis = {"tickvals": list(range(len(REGIONS))), "ticktext": names, "range": [2.6, -0.6]}
    figure.update_layout(height=380, yaxis=axis, margin={"l": 90})
    return Figure(
        "How far from the posterior?",
        figure,
        alt="Difference in epistemic uncertainty of each method from a long NUTS run, near, far and over the map.",
        caption="Bars: ± 2 Monte Carlo standard errors of the difference; for the ensemble the spread over its few "
        f"members. Near: within {NEAR:g} of a data point. Far: beyond {FAR:g}. NUTS and HMC cover "
        "0 in 19 of 20 bars. S members show on average only (S − 1)/S of the disagreement that many would. Reversible "
        "jump averages over widths 1 to k, a larger model, so it need not.",
    )


def _price(seen: Study) -> Figure:
    """Error against gradients."""
    figure = charts.blank("gradients of the loss over all data", "|difference| over the map (nats)", height=380)
    for number, method in enumerate(METHODS):
        difference, error = seen.difference(method)
        marker = {"symbol": SYMBOLS[theme.MARKERS[number]], "size": 10, "color": theme.colour(f"chain-{number}")}
        bars = {"type": "data", "array": [COSTLY * error[WHOLE]], "color": theme.colour(f"chain-{number}")}
        figure.add_scatter(
            x=[seen.found[method].gradients], y=[abs(difference[WHOLE])], error_y=bars, mode="markers", marker=marker, name=NAMES[method]
        )
    figure.update_layout(xaxis={"type": "log"}, yaxis={"rangemode": "tozero"})
    return Figure(
        "What an answer costs",
        figure,
        alt="Absolute difference in epistemic uncertainty from the long NUTS run against the gradients each method took.",
        caption="To the right: dearer. Higher up: further from the posterior. Bars: ± 2 standard errors. With more "
        "gradients NUTS and HMC come as near as you like; what is left of a fitted method's difference is its own, and "
        "reversible jump's is that of its larger model.",
    )


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
    for label, index in (("difference", WHOLE), ("difference far away", FAR_AWAY)):
        cells = ["–"]
        for method in METHODS:
            difference, error = seen.difference(method)
            told = np.isfinite(difference[index])
            cells.append(f"{signed(difference[index])} ± {error[index]:.3f}" if told else "–")
        columns[label] = cells
    widths = seen.found["jumps"].width.ravel()
    shares = ", ".join(f"{k}: {np.mean(widths == k):.0%}" for k in np.unique(widths))
    caption = (
        f"Longer chains than on the stage. Epistemic uncertainty: mean over the map, nats. R-hat and effective "
        f"networks are the worst of {len(QUANTITIES)} functions of the networks, never of weights: units may change "
        f"places. ± is one Monte Carlo standard error. The reference has a seed of its own ({reference_seed(spec)}). "
        f"Reversible jump's units (share of its networks): {shares}. Seconds were measured on this machine, as busy "
        "as it was; a gradient is one pass over all data."
    )
    return Table("Do they agree, and what do they cost?", columns, caption)
