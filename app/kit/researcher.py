"""The researcher's card below the stage: how well the model would predict a datum left out, and whether data drawn from
it look like those that there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from app.kit import charts, theme
from app.kit.charts import Figure, Table
from app.kit.text import number
from engine.leave_one_out import leave_one_out
from engine.predicted import Predicted
from engine.spec import SpecError

Array = NDArray[np.float64]
Statistic = Callable[[Array], Array]

REPLICATED = 1000  # data sets drawn, at most
BINS = 30
SUSPICIOUS = 0.025  # share of replications on one side, below which data and model disagree

Statistics = Mapping[str, Statistic]

VALUES: Statistics = {
    "standard deviation": lambda y: y.std(axis=-1),
    "mean": lambda y: y.mean(axis=-1),
    "smallest": lambda y: y.min(axis=-1),
    "largest": lambda y: y.max(axis=-1),
}


def card(found: Predicted, statistics: Statistics = VALUES) -> list[Figure | Table]:
    """Figures and tables of one run; none where nothing was observed.

    statistics : what is compared of data and of data drawn, by name, the first in a picture; a function of (…, n)
    """
    if not len(found.y):
        return []
    replicated = found.replicated.reshape(-1, len(found.y))
    some = replicated[np.linspace(0, len(replicated) - 1, min(len(replicated), REPLICATED)).astype(int)]
    try:
        return [*left_out(found.log_likelihood), *replications(found.y, some, statistics)]
    except SpecError as error:
        return [Table("A point left out", {"not for this run": [f"{error.reason}."]})]


def classes_card(found: Predicted) -> list[Figure | Table]:
    """The card of classes 0 and 1."""
    guess = np.exp(found.log_likelihood).mean(axis=(0, 1)) > 0.5  # of the class that is there
    average = np.where(guess, found.y, 1.0 - found.y)
    compared: dict[str, Statistic] = {
        "share that the average guesses right": lambda values: (values == average).mean(axis=-1),
        "share of class 1": lambda values: values.mean(axis=-1),
    }
    return card(found, compared)


def left_out(log_likelihood: ArrayLike) -> list[Figure | Table]:
    """PSIS-LOO beside WAIC, and Pareto k of each datum."""
    found = leave_one_out(log_likelihood)
    high = int((found.pareto_k > found.limit).sum())
    said = (
        "All are: the estimate can be trusted as far as the run can."
        if not high
        else f"{high} of {len(found.pareto_k)} are not: do not trust it."
    )
    table = Table(
        "A point left out: how well would it be predicted?",
        {
            "estimate": ["PSIS-LOO", "WAIC"],
            "elpd (nats)": [found.elpd, found.waic],
            "standard error": [found.se, found.waic_se],
            "effective parameters": [found.parameters, found.waic_parameters],
        },
        caption="Sums over the data of the log density that the other points give each. Compare models on the same data; higher is better.",
    )
    figure = charts.blank("datum, in the order of the data", "Pareto k")
    bad = found.pareto_k > found.limit
    colors = np.where(bad, theme.colour("divergent"), theme.colour("posterior"))
    symbols = np.where(bad, "x", "circle")
    marker = {"color": colors.tolist(), "symbol": symbols.tolist(), "size": 7}
    figure.add_scatter(x=np.arange(1, len(bad) + 1), y=found.pareto_k, mode="markers", marker=marker, showlegend=False)
    figure.add_hline(y=found.limit, line={"dash": "dash", "color": theme.colour("ink"), "width": 1})
    caption = f"Below the dashed line, {number(found.limit)}, weights that leave a point out are tame. {said}"
    return [table, Figure("Which points decide?", figure, alt=f"Pareto k of each datum; {high} above the limit.", caption=caption)]


def replications(y: Array, replicated: Array, statistics: Statistics) -> list[Figure | Table]:
    """Statistics of the data among those of data drawn from the model."""
    rows: dict[str, list[Any]] = {
        name: [] for name in ("of the data", "observed", "drawn: 5 %", "median", "95 %", "share at least as large")
    }
    for name, statistic in statistics.items():
        there, drawn = float(statistic(y)), statistic(replicated)
        cells = [name, there, *np.quantile(drawn, [0.05, 0.5, 0.95]), float((drawn >= there).mean())]
        for column, cell in zip(rows.values(), cells, strict=True):
            column.append(cell)
    name, statistic = next(iter(statistics.items()))
    there, drawn = float(statistic(y)), statistic(replicated)
    low, high = min(there, float(drawn.min())), max(there, float(drawn.max()))
    edges = np.linspace(low, high if high > low else low + 1.0, BINS + 1)
    figure = charts.blank(f"{name} of a data set", "data sets drawn")
    counts, _ = np.histogram(drawn, edges)
    figure.add_bar(x=(edges[1:] + edges[:-1]) / 2, y=counts, marker={"color": theme.colour("posterior", 0.7)}, showlegend=False)
    figure.add_vline(x=there, line={"color": theme.colour("ink"), "width": 2}, annotation_text="the data")
    share = float((drawn >= there).mean())
    tail = min(share, float((drawn <= there).mean()))
    said = "In this the model does not make data like these." if tail < SUSPICIOUS else "In this the model makes data like these."
    caption = f"{len(drawn)} data sets drawn from the posterior predictive; a share of {number(share)} is at least as large. {said}"
    alt = f"Histogram of the {name} of replicated data, with that of the data."
    picture = Figure("Data drawn from the model", figure, alt=alt, caption=caption)
    return [picture, Table("Data drawn from the model, in numbers", rows)]
