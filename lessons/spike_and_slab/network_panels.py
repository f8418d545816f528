"""What stands below a trained network: prediction modes, number of samples, pruning, priors, other families."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.kit import charts, theme
from app.kit.charts import Column, Figure, Table
from engine.spec import MAX_SEED
from lessons.families.digit_posteriors import sources
from lessons.spike_and_slab import estimators, learning
from lessons.spike_and_slab.learning import DRAWS, MANY, METHODS, RULES, digits, predicted
from lessons.spike_and_slab.spec import WORDS, SpikeAndSlabSpec

PRICE = {"inclusion_prior": "aic", "inclusion": 0.1}  # of the comparison with other families
SIMULATIONS = 5  # trainings with random numbers of their own, by which the inclusion of a layer scatters
LAYERS = tuple(WORDS["layers"].values())
TYPICAL = 93.0  # % of the test digits that are read right
# Hubin and Storvik 2019, table 2: mean inclusion of each layer, median of ten simulations and their sd
PRINTED = {
    "MNIST": ((0.0520, 0.0598, 0.2217), (0.0005, 0.0003, 0.0064)),
    "Fashion-MNIST": ((0.0665, 0.0613, 0.2013), (0.0004, 0.0005, 0.0051)),
}
HALF = 0.5  # the median model's threshold
THRESHOLDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, HALF, 0.7, 0.9, 0.97)


def panels(spec: SpikeAndSlabSpec, cancel: Any) -> list[Figure | Table]:
    """The figures and tables of the present settings; each trains what it needs. Of MNIST those of the training on stage:
    any other would take as long again.
    """
    small = (_modes, _samples, _inclusion, _pruned, _priors, _families, _bias, _noise)
    large = (_idle, _modes, _samples, _inclusion, _pruned)
    found: list[Figure | Table] = []
    for make in large if learning.is_large(spec) else small:
        if cancel.is_set():
            break
        found.append(make(spec, cancel))
    return sources.captioned(found, spec.data)


def noise(accuracy: float, tested: int) -> float:
    """Standard error of a share of so many test digits."""
    return float(np.sqrt(accuracy * (1.0 - accuracy) / tested))


def _idle(spec: SpikeAndSlabSpec, cancel: Any) -> Table:
    """What is known exactly of the weights that no data reach."""
    fit, idle = learning.fitted(spec), learning.never_inked(spec)
    prior = learning.price(fit.spec, len(learning.data_of(spec).y))

    def mean_of(values: Any) -> float:
        return float(fit.shape.split(values)[0][:-1][idle].mean(dtype=np.float64))

    masks = [fit.draw_weights(fit.spec.seed + number)[0][:-1][idle] != 0.0 for number in range(DRAWS)]
    columns: dict[str, Column] = {
        "of their weights": [
            *(WORDS.phrase(f"network_panels.{name}") for name in ("alpha", "slab_mean", "slab_sd", "in_one")),
            WORDS.phrase("network_panels.in_any", draws=DRAWS),
        ],
        "must be": [prior, 0.0, fit.spec.prior_sd, prior, 1.0 - (1.0 - prior) ** DRAWS],
        "is": [
            mean_of(fit.posterior.alpha),
            mean_of(fit.posterior.mean),
            mean_of(fit.posterior.sd),
            float(np.mean(masks)),
            float(np.any(masks, axis=0).mean()),
        ],
    }
    counts = {"idle": idle.sum(), "pixels": len(idle), "unreached": idle.sum() * spec.units, "weights": fit.shape.weights}
    caption = WORDS.phrase("network_panels.idle_caption", **counts, draws=DRAWS, prior=prior)
    return Table(WORDS.phrase("network_panels.idle"), columns, caption)


def _modes(spec: SpikeAndSlabSpec, cancel: Any) -> Table:
    fit, data = learning.fitted(spec), learning.data_of(spec)
    truth = data.y_test
    rows = [
        (WORDS.phrase("network_panels.single"), predicted(fit, data, "SM")),
        (WORDS.phrase("network_panels.averaged", draws=DRAWS), predicted(fit, data, "MA")),
        (WORDS.phrase("network_panels.median"), predicted(fit, data, "MED")),
        (WORDS.phrase("network_panels.expected"), predicted(fit, data, "MEAN")),
    ]
    if learning.is_large(spec):
        about = WORDS.phrase("network_panels.only_small")
    else:
        about = WORDS.phrase("network_panels.post_training", epochs=learning.post_epochs(spec))
        median, masks = learning.post_trained(spec, "median"), learning.post_trained(spec, "probabilities")
        rows.append((WORDS.phrase("network_panels.median_after"), predicted(median, data, "MED")))
        rows.append((WORDS.phrase("network_panels.averaged_after"), predicted(masks, data, "MA")))
    accuracy = [found.accuracy(truth) for _, found in rows]
    notes = " ".join(sorted({found.note for _, found in rows if found.note}))
    caption = f"{WORDS.phrase('network_panels.modes_caption', digits=len(truth), about=about)} {notes}"
    columns = {
        "prediction": [name for name, _ in rows],
        "right (%)": [f"{100 * a:.1f}" for a in accuracy],
        "standard error (%)": [f"{100 * noise(a, len(truth)):.1f}" for a in accuracy],
        "weights used (%)": [f"{100 * found.density:.1f}" for _, found in rows],
    }
    return Table(WORDS.phrase("network_panels.modes"), columns, caption.strip())


def _samples(spec: SpikeAndSlabSpec, cancel: Any) -> Figure:
    fit, data = learning.fitted(spec), learning.data_of(spec)
    figure = charts.blank(WORDS.phrase("drawn.averaged"), WORDS.phrase("network.right"))
    ends = []
    for mode, role, dash in (("MA", "posterior", "solid"), ("MED", "accept", "dash")):
        right = 100.0 * predicted(fit, data, mode, MANY).running_accuracy(data.y_test)
        line = {"color": theme.colour(role), "dash": dash}
        figure.add_scatter(x=np.arange(1, MANY + 1), y=right, mode="lines+markers", line=line, name=mode)
        found = {"first": right[0], "some": right[DRAWS - 1], "last": right[-1]}
        ends.append(WORDS.phrase("network_panels.samples_item", mode=mode, **found, draws=DRAWS, many=MANY))
    caption = WORDS.phrase("network_panels.samples_caption", listed="; ".join(ends))
    return Figure(WORDS.phrase("network_panels.samples"), figure, caption, caption)


def _inclusion(spec: SpikeAndSlabSpec, cancel: Any) -> Figure:
    """Mean inclusion probability of each layer's weights, over trainings, beside the printed bands."""
    large = learning.is_large(spec)
    seeds = [(spec.seed + number) % (MAX_SEED + 1) for number in range(1 if large else SIMULATIONS)]
    ours: list[list[float]] = []
    for seed in seeds:
        if ours and cancel.is_set():
            break
        fit = learning.fitted(spec) if large else learning.trained(learning.network_spec(spec, seed=seed)).fit()
        ours.append([float(layer[:-1].mean()) for layer in fit.inclusion_probabilities()])  # the last row is that of the biases
    figure = charts.blank("", WORDS.phrase("network_panels.mean_alpha"))
    middle, sd = np.median(ours, axis=0), np.std(ours, axis=0, ddof=len(ours) > 1)
    rows: list[tuple[Any, ...]] = [(WORDS.phrase("network_panels.ours"), (LAYERS[0], LAYERS[-1]), middle, sd, "posterior", "circle")]
    looks = (("ink", "diamond-open"), ("muted", "square-open"))
    for (name, (printed, spread)), look in zip(PRINTED.items(), looks, strict=True):
        rows.append((name, LAYERS, np.array(printed), np.array(spread), *look))
    for name, layers, values, spread, role, symbol in rows:
        figure.add_scatter(
            x=layers,
            y=values,
            mode="markers",
            name=name,
            marker={"symbol": symbol, "size": 11, "color": theme.colour(role)},
            error_y={"type": "data", "array": 2.0 * spread, "color": theme.colour(role)},
        )
    data = learning.data_of(spec)
    prior = learning.price(learning.network_spec(spec), len(data.y))
    line = {"color": theme.colour("prior"), "dash": "dot"}
    figure.add_scatter(x=LAYERS, y=[prior] * len(LAYERS), mode="lines", line=line, name=WORDS.phrase("network_panels.prior"))
    figure.update_xaxes(categoryorder="array", categoryarray=LAYERS)
    figure.update_yaxes(rangemode="tozero")
    margin = "" if large else " ± {:.3f}"
    told = ", ".join(f"{layer} {m:.3f}{margin.format(2 * s)}" for layer, m, s in zip(rows[0][1], middle, sd, strict=True))
    size = "large" if large else "small"
    network = {"pixels": data.side**2, "units": spec.units}
    caption = WORDS.phrase(
        "network_panels.inclusion_caption",
        ours=WORDS.phrase(f"network_panels.ours_{size}", **network, layers=told, trainings=len(ours)),
        prior=prior,
        output=WORDS.phrase("network_panels.output_too" if middle[-1] > middle[0] else "network_panels.output_not"),
        compare=WORDS.phrase(f"network_panels.compare_{size}"),
    )
    return Figure(WORDS.phrase("network_panels.inclusion"), figure, caption, caption)


def _pruned(spec: SpikeAndSlabSpec, cancel: Any) -> Figure:
    fit, data = learning.fitted(spec), learning.data_of(spec)
    kept, right, marks = [], [], []
    for threshold in THRESHOLDS:
        found = predicted(fit, data, "MED", threshold=threshold)
        kept.append(100.0 * fit.select(threshold).density)
        right.append(100.0 * found.accuracy(data.y_test))
        marks.append("circle-open" if found.note else "circle")
    middle = THRESHOLDS.index(HALF)
    figure = charts.blank(WORDS.phrase("network_panels.kept"), WORDS.phrase("network.right"))
    figure.add_scatter(
        x=kept,
        y=right,
        mode="lines+markers+text",
        textposition="bottom right",
        cliponaxis=False,
        text=[f"{t:g}" if t >= 0.2 else "" for t in THRESHOLDS],
        textfont={"color": theme.colour("muted")},
        line={"color": theme.colour("accept")},
        marker={"symbol": marks, "size": 9},
        name=WORDS.phrase("network_panels.threshold"),
    )
    figure.update_xaxes(type="log")
    caption = WORDS.phrase("network_panels.pruned_caption", half=HALF, right=right[middle], kept=kept[middle])
    return Figure(WORDS.phrase("network_panels.pruned"), figure, caption, caption)


def _priors(spec: SpikeAndSlabSpec, cancel: Any) -> Figure:
    data, used, right, median, names = digits(), [], [], [], []
    for name, changes in RULES.items():
        if cancel.is_set():
            break
        fit = learning.trained(learning.network_spec(spec, **changes)).fit()
        names.append(name)
        used.append(100.0 * fit.posterior.density())
        right.append(100.0 * predicted(fit, data, "MA").accuracy(data.y_test))
        median.append(100.0 * predicted(fit, data, "MED").accuracy(data.y_test))
    figure = charts.blank(WORDS.phrase("network_panels.used"), WORDS.phrase("network.right"))
    for values, role, symbol, label in ((right, "posterior", "circle", "MA"), (median, "accept", "square", "MED")):
        figure.add_scatter(
            x=used,
            y=values,
            mode="lines+markers+text",
            text=names if label == "MED" else None,
            textposition="bottom right",
            cliponaxis=False,
            name=label,
            textfont={"color": theme.colour("muted")},
            line={"color": theme.colour(role)},
            marker={"symbol": symbol, "size": 9},
        )
    figure.update_xaxes(type="log")
    listed = "; ".join(
        WORDS.phrase("network_panels.priors_item", prior=n, used=u, averaged=r, median=m)
        for n, u, r, m in zip(names, used, right, median, strict=True)
    )
    caption = WORDS.phrase("network_panels.priors_caption", listed=listed)
    return Figure(WORDS.phrase("network_panels.priors"), figure, caption, caption)


def _families(spec: SpikeAndSlabSpec, cancel: Any) -> Table:
    data = digits()
    columns: dict[str, list[Any]] = {"family": [], "SM (%)": [], "MA (%)": [], "MEAN (%)": [], "weights in a draw (%)": []}
    for method, name in METHODS.items():
        if cancel.is_set():
            break
        fit = learning.trained(learning.network_spec(spec, method=method, **PRICE)).fit()
        columns["family"].append(name)
        for mode in ("SM", "MA", "MEAN"):
            columns[f"{mode} (%)"].append(f"{100 * predicted(fit, data, mode).accuracy(data.y_test):.1f}")
        columns["weights in a draw (%)"].append(f"{100 * predicted(fit, data, 'SM').density:.1f}")
    error = 100 * noise(TYPICAL / 100, len(data.y_test))
    caption = WORDS.phrase("network_panels.families_caption", epochs=spec.epochs, near=TYPICAL, error=error)
    return Table(WORDS.phrase("network_panels.families"), columns, caption)


ROLES = {"score": "reject", "relaxed": "highlight", "local": "posterior"}


def _bias(spec: SpikeAndSlabSpec, cancel: Any) -> Figure:
    here = estimators.small(spec.seed)
    names = [f"x{j}" for j in range(1, len(here.exact))] + [WORDS.phrase("network_panels.bias_weight")]
    axes = WORDS.phrase("network_panels.weight"), WORDS.phrase("network_panels.bias_in_omega")
    figure = charts.blank(*axes, barmode="group")
    told = []
    for name, label in estimators.NAMES.items():
        found = here.found[name]
        error = {"type": "data", "array": 2.0 * found.error, "color": theme.colour("ink")}
        look = {"color": theme.colour(ROLES[name], 0.8)}
        figure.add_bar(x=names, y=found.bias, error_y=error, name=label, marker=look)
        worst = float(np.max(np.abs(found.bias / found.error)))
        sd = np.sqrt(np.mean(found.sd**2))
        told.append(WORDS.phrase("network_panels.bias_item", estimator=label, sd=sd, worst=worst))
    sizes = np.abs(here.exact)
    caption = WORDS.phrase(
        "network_panels.bias_caption",
        masks=2 ** len(names),
        least=sizes.min(),
        most=sizes.max(),
        estimates=estimators.ESTIMATES,
        listed="; ".join(told),
    )
    return Figure(WORDS.phrase("network_panels.bias"), figure, caption, caption)


def _noise(spec: SpikeAndSlabSpec, cancel: Any) -> Table:
    here, there = estimators.small(spec.seed), estimators.on_digits(spec)
    small = {name: float(np.sqrt(np.mean(found.sd**2))) for name, found in here.found.items()}
    bias = {name: float(np.sqrt(np.mean(found.bias**2))) for name, found in here.found.items()}
    columns: dict[str, Column] = {
        "estimator": list(estimators.NAMES.values()),
        "regression: bias in ω": [bias[name] for name in estimators.NAMES],
        "sd in ω": [small[name] for name in estimators.NAMES],
        "bias² over variance": [bias[name] ** 2 / small[name] ** 2 for name in estimators.NAMES],
        "digits: sd in μ": [there[name][0] for name in estimators.NAMES],
        "digits: sd in ω": [there[name][1] for name in estimators.NAMES],
        "as against local": [there[name][1] / there["local"][1] for name in estimators.NAMES],
    }
    caption = WORDS.phrase("network_panels.noise_caption", estimates=estimators.ON_DIGITS)
    return Table(WORDS.phrase("network_panels.noise"), columns, caption)


def cost(spec: SpikeAndSlabSpec) -> Table:
    """What the training was and took."""
    fit, seconds = learning.ended(spec)
    history, steps = fit.history, int(fit.history.step[-1])
    columns: dict[str, Column] = {
        "weights": [fit.shape.weights],
        "steps": [steps],
        "seconds": [seconds],
        "steps / s": [steps / max(seconds, 1e-9)],
        "ELBO (nats)": [float(history.elbo[-1])],
        "energy (nats)": [float(history.energy[-1])],
        "KL (nats)": [float(history.kl[-1])],
        "training digits right (%)": [f"{100 * history.accuracy[-1]:.1f}"],
    }
    caption = WORDS.phrase("network_panels.cost_caption", batch=fit.spec.batch)
    return Table(WORDS.phrase("network_panels.cost"), columns, caption)
