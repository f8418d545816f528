"""What stands below the stage: all scores and posteriors in numbers, beside those printed; galleries of images."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import charts, theme
from app.kit.charts import Column, Figure, Table
from engine import scores
from engine.diagnostics import rhat
from lessons.families.digit_posteriors import sources
from lessons.families.digit_posteriors.spec import METHODS
from lessons.families.digit_posteriors.spec import NAMES as POSTERIORS
from lessons.families.digit_posteriors.training import CHAINS
from lessons.scores import analysis, galleries
from lessons.scores.analysis import ALPHA, NAMES, Reading
from lessons.scores.spec import ScoresSpec
from lessons.scores.stage_errors import PRINTED
from lessons.scores.stage_probabilities import PRECISION_RECALL, PRINTED_AT, TOPS

SPLITS = 100
TENTHS = 10  # of the ranks
TRAINED_ALIKE = ("lbbnn", "dense", "dropout")  # that learn from the images, and with the layers, of a trained network


def panels(spec: ScoresSpec, cancel: Any) -> list[Figure | Table]:
    """The figures and tables of the present view."""
    return sources.captioned(_of_the_view(spec, cancel), spec.data)


def _of_the_view(spec: ScoresSpec, cancel: Any) -> list[Figure | Table]:
    reading = analysis.read(spec, stop=cancel.is_set)
    if reading is None:
        return []
    if spec.view == "errors":
        return [_all_scores(spec, reading), *galleries.report(spec, reading)]
    if spec.view == "thresholds":
        return [_printed(reading), galleries.sure_and_wrong(spec, reading)]
    if spec.view == "calibration":
        return [_posteriors(spec, cancel), _ranks(spec, reading, cancel)]
    return [_splits(spec, reading, cancel)]


# Scores ---------------------------------------------------------------------------------------------------------------


def _all_scores(spec: ScoresSpec, reading: Reading) -> Table:
    wrong, names = reading.wrong, list(NAMES)
    if not 0 < wrong.sum() < len(wrong):
        return Table("Six scores, the same images", {}, "No prediction is wrong: there is nothing to find.")
    every = [analysis.values(reading, name) for name in names]
    found, chosen = analysis.ranked(every, wrong), names.index(spec.score)
    area, gamma, apart = [], [], []
    for row, (name, score) in enumerate(zip(names, every, strict=True)):
        low, high = analysis.gamma_band(score, wrong, np.array([ALPHA]), spec.seed)
        area.append(f"{found.area[row]:.3f} ± {found.error(row):.3f}")
        gamma.append(f"{scores.gamma(score, wrong, ALPHA):.3f} ({low[0]:.2f} to {high[0]:.2f})")
        difference = found.area[row] - found.area[chosen]
        apart.append("–" if name == spec.score else f"{difference:+.3f} ± {found.error(row, chosen):.3f}")
    printed = [PRINTED.get(name) for name in names]
    columns: dict[str, Column] = {
        "score": [NAMES[name] for name in names],
        "AUROC ± SE": area,
        f"against {NAMES[spec.score]}": apart,
        f"γ({ALPHA:g}), 90 %": gamma,
        "Steyn: γ, BNN": ["–" if pair is None else pair[0] for pair in printed],
        "Steyn: γ, BCNN": ["–" if pair is None else pair[1] for pair in printed],
    }
    caption = (
        f"{int(wrong.sum())} errors among {len(wrong)} test digits. Standard errors by DeLong; differences on the same "
        "images, so their errors are smaller than those of two areas. γ with 90 % of resampled test sets. GA's cutoff "
        f"(ε = {analysis.cutoff(reading):.0f}) is found on the labels of the images it is judged on, as in Steyn "
        "(2018). The two last columns are printed there, for MNIST: 10,000 images and other networks, so compare "
        "scores, not numbers."
    )
    return Table("Six scores, the same images", columns, caption)


def _printed(reading: Reading) -> Table:
    p, y = reading.mean, reading.y
    columns: dict[str, list[str]] = {"score": [], "ours ± SE": [], **{f"Berezowski, {run}": [] for run in TOPS}}

    def row(name: str, share: float, of: int, printed: list[float]) -> None:
        error = float(analysis.share_error(share, of)) if of else np.nan
        columns["score"].append(name)
        columns["ours ± SE"].append(f"{100 * share:.1f} ± {100 * error:.1f} %" if of else "nothing answered")
        for run, value in zip(TOPS, printed, strict=True):
            columns[f"Berezowski, {run}"].append(f"{value:.2f} %")

    for k in (1, 2, 3):
        row(f"top {k}", scores.top_accuracy(p, y, k), len(y), [TOPS[run][k - 1] for run in TOPS])
    right = int((~reading.wrong).sum())
    for place, at in enumerate(PRINTED_AT):
        found = scores.precision_recall(p, y, at)
        answers = round(found.answered * len(y))
        row(f"precision at {at:g}", found.precision, answers, [PRECISION_RECALL[run][place][0] for run in TOPS])
        row(f"recall at {at:g}", found.recall, right, [PRECISION_RECALL[run][place][1] for run in TOPS])
    caption = (
        f"Ours: {len(y)} test digits, {len(reading.draws)} networks averaged. Berezowski 2021, table 7.2, ten "
        "classes: 500 OptDigits images learnt from, 2,000 tested, networks of changing width, two runs. Precision: of "
        "the answers, those that are right. Recall: of all right predictions, those that are answered. Other images "
        "and other networks, so the table shows what kind of numbers these are, not who wins."
    )
    return Table("Beside table 7.2 of Berezowski (2021)", columns, caption)


def _posteriors(spec: ScoresSpec, cancel: Any) -> Table:
    names = ("posterior", "right (%)", "mean confidence", "ECE", "calibrated, 90 %", "Brier", "log score (nats)")
    columns: dict[str, list[str]] = {name: [] for name in names}
    # on MNIST, where each takes minutes, the one that is shown
    for method in METHODS if sources.present(spec.data) == "digits" else (spec.method,):
        reading = analysis.read(spec, method, cancel.is_set)
        if reading is None:
            break
        for which, number in (("one network", 1), ("average", len(reading.draws))):
            p, y = analysis.averaged(reading, number), reading.y
            right, confidence = p.argmax(axis=1) == y, p.max(axis=1)
            lucky = analysis.chance(confidence, analysis.forecasters(confidence, spec.seed), 10).errors
            cells = (
                f"{POSTERIORS[method]}, {which}",
                f"{100 * right.mean():.1f} ± {100 * float(analysis.share_error(right.mean(), len(y))):.1f}",
                f"{100 * confidence.mean():.1f} %",
                f"{scores.calibration_error(p, y):.3f}",
                f"{np.quantile(lucky, 0.05):.3f} to {np.quantile(lucky, 0.95):.3f}",
                _mean(scores.brier_scores(p, y)),
                _mean(scores.log_scores(p, y)),
            )
            for name, cell in zip(names, cells, strict=True):
                columns[name].append(cell)
    caption = (
        f"{len(analysis.data_of(spec).y_test)} test digits, ± one standard error; ECE in ten bins of equal width. “Calibrated, "
        "90 %”: the range of ECE of a forecaster with these confidences that is right exactly as often as it says. "
        "Below it no ECE on so few images means anything. Brier and log score need no bins: smaller is better. NUTS "
        "learns from the first 500 digits, the others from all that the settings give."
    )
    return Table("Every posterior: one network, and the average", columns, caption)


def _ranks(spec: ScoresSpec, reading: Reading, cancel: Any) -> Figure:
    """Where the confidence of one network stands among that of the members, image by image, beside that of the average."""
    sure = reading.draws.max(axis=2)
    ranks = {
        "one member, the first": scores.rank_among(sure[0], sure[1:]),
        "the average of all": scores.rank_among(reading.confidence, sure),
    }
    if spec.method in TRAINED_ALIKE:
        trained = analysis.read(spec, "ensemble", cancel.is_set)
        if trained is not None:
            ranks["one network, most probable weights"] = scores.rank_among(trained.draws[0].max(axis=1), sure)
    own = np.array([_tenths(scores.rank_among(each, np.delete(sure, r, axis=0))) for r, each in enumerate(sure)])
    middles = 10.0 * np.arange(TENTHS) + 5.0
    figure = charts.blank("members that are less sure (%)", "test digits (%)")
    edge = {"color": theme.colour("muted"), "width": 1}
    low, high = np.quantile(own, (0.05, 0.95), axis=0)
    figure.add_scatter(x=middles, y=low, mode="lines", line=edge, showlegend=False)
    band = {"mode": "lines", "line": edge, "fill": "tonexty", "fillcolor": theme.colour("muted", 0.25)}
    figure.add_scatter(x=middles, y=high, name="a member among the others: 90 % of them", **band)
    told = []
    looks = (("ink", "square"), ("posterior", "circle"), ("reject", "x"))
    for (name, found), (role, symbol) in zip(ranks.items(), looks, strict=False):
        line, marker = {"color": theme.colour(role)}, {"symbol": symbol, "size": 9, "color": theme.colour(role)}
        figure.add_scatter(x=middles, y=_tenths(found), mode="lines+markers", line=line, marker=marker, name=name)
        told.append(f"{name}: surer than {100 * found.mean():.0f} % of the members, on an average image")
    figure.update_xaxes(range=(0.0, 100.0))
    figure.update_yaxes(rangemode="tozero")
    caption = (
        f"{len(reading.y)} test digits, {len(sure)} members; equal ones count half. {'; '.join(told)}. A member stands anywhere among "
        "the others: the mean over all members is flat."
    )
    return Figure("One network's confidence among the members", figure, caption, caption)


def _tenths(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """(TENTHS,) per cent of the images in each tenth of all ranks."""
    return np.asarray(100.0 * np.histogram(ranks, TENTHS, (0.0, 1.0))[0] / len(ranks))


def _mean(each: NDArray[np.float64]) -> str:
    return f"{each.mean():.3f} ± {each.std(ddof=1) / np.sqrt(len(each)):.3f}"


def _splits(spec: ScoresSpec, reading: Reading, cancel: Any) -> Figure:
    found = flattery(spec, reading, cancel)
    figure = charts.blank("cost on the other half − cost on the half it was chosen on", "splits")
    figure.add_histogram(x=found, nbinsx=25, marker={"color": theme.colour("posterior", 0.8)})
    caption = (
        f"The test digits parted {len(found)} times; each time the least costly threshold of one half is judged on the "
        f"other. There it costs {found.mean():.4f} more on average (sd {found.std():.4f} from split to split, of the "
        f"same digits): the cost on the half where a threshold was chosen is {_flatters(found)}."
    )
    return Figure("What choosing costs", figure, caption, caption)


def _flatters(found: NDArray[np.float64]) -> str:
    return "too good to be true" if found.mean() > 0 else "here no better than on the other"


def flattery(spec: ScoresSpec, reading: Reading, cancel: Any) -> NDArray[np.float64]:
    """(splits,) how much more the best threshold of one half costs on the other."""
    found = []
    for split in range(SPLITS):
        if cancel.is_set():
            break
        game = analysis.game(spec, reading, split=split)
        found.append(game.second.cost - game.first.cost)
    return np.array(found)


# Diagnostics ----------------------------------------------------------------------------------------------------------


def diagnostics(spec: ScoresSpec, cancel: Any) -> Table:
    """What the networks are, and for NUTS whether its chains agree on every test digit."""
    reading = analysis.read(spec, stop=cancel.is_set)
    if reading is None:
        return Table("Diagnostics", {})
    right = float((~reading.wrong).mean())
    learnt = len(analysis.data_of(spec).labels)
    columns: dict[str, Column] = {
        "posterior": [POSTERIORS[spec.method]],
        "networks": [len(reading.draws)],
        "learnt from": [min(learnt, 500) if spec.method == "nuts" else learnt],
        "tested on": [len(reading.y)],
        "right (%)": [f"{100 * right:.1f} ± {100 * float(analysis.share_error(right, len(reading.y))):.1f}"],
    }
    if spec.method != "nuts" or len(reading.draws) < 4 * CHAINS:
        caption = "There are no chains to compare, so there is no R-hat and no effective sample size."
        return Table("The networks", columns, caption)
    each = len(reading.draws) // CHAINS
    told = reading.draws[: each * CHAINS, np.arange(len(reading.y)), reading.y]
    spread = np.array([rhat(np.ascontiguousarray(row.reshape(each, CHAINS).T)) for row in told.T])
    columns["R-hat: median"] = [f"{np.nanmedian(spread):.3f}"]
    columns["worst"] = [f"{np.nanmax(spread):.3f}"]
    caption = (
        f"R-hat over {CHAINS} chains of {each} networks, of the probability of each test digit's label: weights of "
        "networks may be exchanged, functions not. What is above 1.05 has not mixed, and its scores are the scores of "
        "these networks, not yet those of the posterior."
    )
    return Table("The networks", columns, caption)
