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
from lessons.spike_and_slab.spec import SpikeAndSlabSpec

PRICE = {"inclusion_prior": "aic", "inclusion": 0.1}  # of the comparison with other families
SIMULATIONS = 5  # trainings with random numbers of their own, by which the inclusion of a layer scatters
LAYERS = ("first layer", "second layer", "output layer")
# Hubin and Storvik 2019, table 2: mean inclusion of each layer, median of ten simulations and their sd
PRINTED = {
    "MNIST": ((0.0520, 0.0598, 0.2217), (0.0005, 0.0003, 0.0064)),
    "Fashion-MNIST": ((0.0665, 0.0613, 0.2013), (0.0004, 0.0005, 0.0051)),
}
THRESHOLDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.97)


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
        "of their weights": ["α", "mean of the slab", "sd of the slab", "share in one network", f"share in at least one of {DRAWS}"],
        "must be": [prior, 0.0, fit.spec.prior_sd, prior, 1.0 - (1.0 - prior) ** DRAWS],
        "is": [
            mean_of(fit.posterior.alpha),
            mean_of(fit.posterior.mean),
            mean_of(fit.posterior.sd),
            float(np.mean(masks)),
            float(np.any(masks, axis=0).mean()),
        ],
    }
    unreached = int(idle.sum()) * spec.units
    caption = (
        f"{idle.sum()} of the {len(idle)} pixels are paper in every image, and {unreached:,} of the {fit.shape.weights:,} weights "
        "leave them. They change no prediction, so q must be the prior there: the one place where the exact posterior is known. "
        f"Shares are of {DRAWS} networks drawn; averaged networks carry these weights along for nothing. The median model cuts "
        f"them: {prior:.3g} is below ½."
    )
    return Table("Pixels that are never inked", columns, caption)


def _modes(spec: SpikeAndSlabSpec, cancel: Any) -> Table:
    fit, data = learning.fitted(spec), learning.data_of(spec)
    truth = data.y_test
    rows = [
        ("SM: one network drawn", predicted(fit, data, "SM")),
        (f"MA: {DRAWS} networks averaged", predicted(fit, data, "MA")),
        ("MED: median model, α > ½", predicted(fit, data, "MED")),
        ("MEAN: expected weights", predicted(fit, data, "MEAN")),
    ]
    about = f"Post-training goes on for {max(5, spec.epochs // 2)} epochs with the structure (or the inclusion probabilities) held fixed."
    if learning.is_large(spec):
        about = "Post-training, other priors and other families are shown on the bundled digits: here each would train as long again."
    else:
        median, masks = learning.post_trained(spec, "median"), learning.post_trained(spec, "probabilities")
        rows.append(("MED after post-training", predicted(median, data, "MED")))
        rows.append(("MA after post-training", predicted(masks, data, "MA")))
    accuracy = [found.accuracy(truth) for _, found in rows]
    notes = " ".join(sorted({found.note for _, found in rows if found.note}))
    caption = f"{len(truth):,} test digits. Weights used: by at least one of the networks averaged. {about} {notes}"
    columns = {
        "prediction": [name for name, _ in rows],
        "right (%)": [f"{100 * a:.1f}" for a in accuracy],
        "standard error (%)": [f"{100 * noise(a, len(truth)):.1f}" for a in accuracy],
        "weights used (%)": [f"{100 * found.density:.1f}" for _, found in rows],
    }
    return Table("Ways to predict", columns, caption.strip())


def _samples(spec: SpikeAndSlabSpec, cancel: Any) -> Figure:
    fit, data = learning.fitted(spec), learning.data_of(spec)
    figure = charts.blank("networks averaged R", "test digits right (%)")
    ends = []
    for mode, role, dash in (("MA", "posterior", "solid"), ("MED", "accept", "dash")):
        right = 100.0 * predicted(fit, data, mode, MANY).running_accuracy(data.y_test)
        line = {"color": theme.colour(role), "dash": dash}
        figure.add_scatter(x=np.arange(1, MANY + 1), y=right, mode="lines+markers", line=line, name=mode)
        ends.append(f"{mode}: {right[0]:.1f} % with one, {right[DRAWS - 1]:.1f} % with {DRAWS}, {right[-1]:.1f} % with {MANY}")
    caption = "; ".join(ends) + ". One sequence of draws each; MED draws slabs only."
    return Figure("How many networks to average", figure, caption, caption)


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
    figure = charts.blank("", "mean of α")
    middle, sd = np.median(ours, axis=0), np.std(ours, axis=0, ddof=len(ours) > 1)
    rows: list[tuple[Any, ...]] = [("ours", (LAYERS[0], LAYERS[-1]), middle, sd, "posterior", "circle")]
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
    figure.add_scatter(x=LAYERS, y=[prior] * len(LAYERS), mode="lines", line=line, name="prior")
    figure.update_xaxes(categoryorder="array", categoryarray=LAYERS)
    figure.update_yaxes(rangemode="tozero")
    margin = "" if large else " ± {:.3f}"
    told = ", ".join(f"{layer} {m:.3f}{margin.format(2 * s)}" for layer, m, s in zip(rows[0][1], middle, sd, strict=True))
    about = "one training" if large else f"median of {len(ours)} trainings, ± 2 sd"
    other = "Another network on these images" if large else "Other images and sizes"
    caption = (
        f"Mean inclusion probability. Ours, {data.side**2}–{spec.units}–10 on {'MNIST' if large else 'bundled digits'}: {told}; {about}. "
        "MNIST and Fashion-MNIST: printed in Hubin and Storvik (2019), table 2, median of 10 simulations, ± 2 sd, three "
        f"layers. Prior {prior:.3g}. There the output layer keeps the largest share, here "
        f"{'too' if middle[-1] > middle[0] else 'it does not'}. {other}: compare the order of the layers."
    )
    return Figure("Inclusion, layer by layer", figure, caption, caption)


def _pruned(spec: SpikeAndSlabSpec, cancel: Any) -> Figure:
    fit, data = learning.fitted(spec), learning.data_of(spec)
    kept, right, marks = [], [], []
    for threshold in THRESHOLDS:
        found = predicted(fit, data, "MED", threshold=threshold)
        kept.append(100.0 * fit.select(threshold).density)
        right.append(100.0 * found.accuracy(data.y_test))
        marks.append("circle-open" if found.note else "circle")
    middle = THRESHOLDS.index(0.5)
    figure = charts.blank("weights kept (%, log scale)", "test digits right (%)")
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
        name="α > λ",
    )
    figure.update_xaxes(type="log")
    caption = (
        "Every weight with α above λ stays, the rest is cut; nothing is trained again. Numbers at the points: λ. At "
        f"λ = 0.5, the median model: {right[middle]:.1f} % right with {kept[middle]:.2f} % of the weights. Open rings: "
        "no path was left, the likeliest was added."
    )
    return Figure("Pruned", figure, caption, caption)


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
    figure = charts.blank("weights that one draw uses (%, log scale)", "test digits right (%)")
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
    caption = "Prior, from weak to strong: " + "; ".join(
        f"{n}: {u:.1f} % used, MA {r:.1f} %, MED {m:.1f} %" for n, u, r, m in zip(names, used, right, median, strict=True)
    )
    caption += ". Same data, seed and epochs; stronger priors may want more epochs."
    return Figure("Sparsity against accuracy", figure, caption, caption)


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
    caption = (
        f"The same digits, seed and {spec.epochs} epochs, each family at the engine's standard settings (spike and "
        "slab: prior odds e⁻² a weight) and not tuned. "
        f"Standard error of a share near 93 %: {100 * noise(0.93, len(data.y_test)):.1f} %."
    )
    return Table("The same data by other families", columns, caption)


ROLES = {"score": "reject", "relaxed": "highlight", "local": "posterior"}


def _bias(spec: SpikeAndSlabSpec, cancel: Any) -> Figure:
    here = estimators.small(spec.seed)
    names = [f"x{j}" for j in range(1, len(here.exact))] + ["bias"]
    figure = charts.blank("weight", "mean estimate − exact slope in ω", barmode="group")
    told = []
    for name, label in estimators.NAMES.items():
        found = here.found[name]
        error = {"type": "data", "array": 2.0 * found.error, "color": theme.colour("ink")}
        look = {"color": theme.colour(ROLES[name], 0.8)}
        figure.add_bar(x=names, y=found.bias, error_y=error, name=label, marker=look)
        worst = float(np.max(np.abs(found.bias / found.error)))
        told.append(f"{label}: sd {np.sqrt(np.mean(found.sd**2)):.2g}, worst bias {worst:.1f} standard errors")
    caption = (
        "A logistic regression with a switch on each of seven weights, where the slope of the ELBO in each ω can be "
        f"added up over all {2 ** len(names)} masks (sizes there: {np.abs(here.exact).min():.2g} to "
        f"{np.abs(here.exact).max():.2g}). Bars: mean of {estimators.ESTIMATES:,} estimates minus the exact slope, "
        f"± 2 standard errors. {'; '.join(told)}."
    )
    return Figure("Three estimators: bias", figure, caption, caption)


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
    caption = (
        "Root mean squares over the weights, of one estimate. The score function is unbiased: what its column shows is "
        f"Monte Carlo error. On the digits, {estimators.ON_DIGITS} estimates over all training digits at the trained "
        "q; the exact slope is not known there. Local reparameterisation takes each unit's input for normal, which is "
        "nearly so where many weights add up; relaxed masks are never quite 0 or 1 (temperature 0.1)."
    )
    return Table("Three estimators: bias and noise", columns, caption)


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
    caption = (
        f"One gradient of a minibatch of {fit.spec.batch} digits a step. There are no chains, so there is no R-hat and no "
        "ESS. Local reparameterisation draws the sums in each unit as normals, so the energy is nearly, not quite, "
        "that of q."
    )
    return Table("The training", columns, caption)
