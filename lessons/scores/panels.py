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
from lessons.scores.spec import SCORES, WORDS, ScoresSpec
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
    title, wrong, names = WORDS.phrase("panels.scores"), reading.wrong, list(SCORES)
    if not 0 < wrong.sum() < len(wrong):
        return Table(title, {}, WORDS.phrase("panels.none_wrong"))
    every = [analysis.values(reading, name) for name in names]
    found, chosen = analysis.ranked(every, wrong), names.index(spec.score)
    area, gamma, apart = [], [], []
    for row, (name, score) in enumerate(zip(names, every, strict=True)):
        low, high = analysis.gamma_band(score, wrong, np.array([ALPHA]), spec.seed)
        area.append(f"{found.area[row]:.3f} ± {found.error(row):.3f}")
        within = WORDS.phrase("panels.range", low=low[0], high=high[0])
        gamma.append(f"{scores.gamma(score, wrong, ALPHA):.3f} ({within})")
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
    caption = WORDS.phrase("panels.scores_caption", wrong=int(wrong.sum()), all=len(wrong), cutoff=analysis.cutoff(reading))
    return Table(title, columns, caption)


def _printed(reading: Reading) -> Table:
    p, y = reading.mean, reading.y
    columns: dict[str, list[str]] = {"score": [], "ours ± SE": [], **{f"Berezowski, {run}": [] for run in TOPS}}

    def row(name: str, share: float, of: int, printed: list[float]) -> None:
        error = float(analysis.share_error(share, of)) if of else np.nan
        columns["score"].append(name)
        columns["ours ± SE"].append(f"{100 * share:.1f} ± {100 * error:.1f} %" if of else WORDS.phrase("panels.nothing_answered"))
        for run, value in zip(TOPS, printed, strict=True):
            columns[f"Berezowski, {run}"].append(f"{value:.2f} %")

    for k in (1, 2, 3):
        row(WORDS.phrase("panels.top", k=k), scores.top_accuracy(p, y, k), len(y), [TOPS[run][k - 1] for run in TOPS])
    right = int((~reading.wrong).sum())
    for place, at in enumerate(PRINTED_AT):
        found = scores.precision_recall(p, y, at)
        answers = round(found.answered * len(y))
        row(WORDS.phrase("panels.precision", at=at), found.precision, answers, [PRECISION_RECALL[run][place][0] for run in TOPS])
        row(WORDS.phrase("panels.recall", at=at), found.recall, right, [PRECISION_RECALL[run][place][1] for run in TOPS])
    caption = WORDS.phrase("panels.printed_caption", digits=len(y), networks=len(reading.draws))
    return Table(WORDS.phrase("panels.printed"), columns, caption)


def _posteriors(spec: ScoresSpec, cancel: Any) -> Table:
    rows: list[dict[str, str]] = []
    # on MNIST, where each takes minutes, the one that is shown
    for method in METHODS if sources.present(spec.data) == "digits" else (spec.method,):
        reading = analysis.read(spec, method, cancel.is_set)
        if reading is None:
            break
        for which, number in (("one_network", 1), ("average", len(reading.draws))):
            p, y = analysis.averaged(reading, number), reading.y
            right, confidence = p.argmax(axis=1) == y, p.max(axis=1)
            lucky = analysis.chance(confidence, analysis.forecasters(confidence, spec.seed), 10).errors
            rows.append(
                {
                    "posterior": WORDS.phrase(f"panels.{which}", method=POSTERIORS[method]),
                    "right (%)": f"{100 * right.mean():.1f} ± {100 * float(analysis.share_error(right.mean(), len(y))):.1f}",
                    "mean confidence": f"{100 * confidence.mean():.1f} %",
                    "ECE": f"{scores.calibration_error(p, y):.3f}",
                    "calibrated, 90 %": WORDS.phrase("panels.lucky", low=np.quantile(lucky, 0.05), high=np.quantile(lucky, 0.95)),
                    "Brier": analysis.mean_told(scores.brier_scores(p, y)),
                    "log score (nats)": analysis.mean_told(scores.log_scores(p, y)),
                }
            )
    columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
    caption = WORDS.phrase("panels.posteriors_caption", digits=len(analysis.data_of(spec).y_test))
    return Table(WORDS.phrase("panels.posteriors"), columns, caption)


def _ranks(spec: ScoresSpec, reading: Reading, cancel: Any) -> Figure:
    """Where the confidence of one network stands among that of the members, image by image, beside that of the average."""
    sure = reading.draws.max(axis=2)
    ranks = {"first_member": scores.rank_among(sure[0], sure[1:]), "average_of_all": scores.rank_among(reading.confidence, sure)}
    if spec.method in TRAINED_ALIKE:
        trained = analysis.read(spec, "ensemble", cancel.is_set)
        if trained is not None:
            ranks["most_probable"] = scores.rank_among(trained.draws[0].max(axis=1), sure)
    own = np.array([_tenths(scores.rank_among(each, np.delete(sure, r, axis=0))) for r, each in enumerate(sure)])
    middles = 10.0 * np.arange(TENTHS) + 5.0
    figure = charts.blank(WORDS.phrase("panels.ranks_x"), WORDS.phrase("panels.ranks_y"))
    edge = {"color": theme.colour("muted"), "width": 1}
    low, high = np.quantile(own, (0.05, 0.95), axis=0)
    figure.add_scatter(x=middles, y=low, mode="lines", line=edge, showlegend=False)
    band = {"mode": "lines", "line": edge, "fill": "tonexty", "fillcolor": theme.colour("muted", 0.25)}
    figure.add_scatter(x=middles, y=high, name=WORDS.phrase("panels.members"), **band)
    told = []
    looks = (("ink", "square"), ("posterior", "circle"), ("reject", "x"))
    for (which, found), (role, symbol) in zip(ranks.items(), looks, strict=False):
        name = WORDS.phrase(f"panels.{which}")
        line, marker = {"color": theme.colour(role)}, {"symbol": symbol, "size": 9, "color": theme.colour(role)}
        figure.add_scatter(x=middles, y=_tenths(found), mode="lines+markers", line=line, marker=marker, name=name)
        told.append(WORDS.phrase("panels.rank", name=name, share=100 * found.mean()))
    figure.update_xaxes(range=(0.0, 100.0))
    figure.update_yaxes(rangemode="tozero")
    listed = WORDS.phrase("panels.and_than").join(told)
    caption = WORDS.phrase("panels.ranks_caption", digits=len(reading.y), members=len(sure), ranks=listed)
    return Figure(WORDS.phrase("panels.ranks"), figure, caption, caption)


def _tenths(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """(TENTHS,) per cent of the images in each tenth of all ranks."""
    return np.asarray(100.0 * np.histogram(ranks, TENTHS, (0.0, 1.0))[0] / len(ranks))


def _splits(spec: ScoresSpec, reading: Reading, cancel: Any) -> Figure:
    found = flattery(spec, reading, cancel)
    figure = charts.blank(WORDS.phrase("panels.splits_x"), WORDS.phrase("panels.splits_y"))
    figure.add_histogram(x=found, nbinsx=25, marker={"color": theme.colour("posterior", 0.8)})
    flatters = WORDS.phrase("panels.flatters" if found.mean() > 0 else "panels.flatters_not")
    caption = WORDS.phrase("panels.splits_caption", splits=len(found), more=found.mean(), sd=found.std(), flatters=flatters)
    return Figure(WORDS.phrase("panels.splits"), figure, caption, caption)


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
        return Table(WORDS.phrase("panels.networks"), {})
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
        return Table(WORDS.phrase("panels.networks"), columns, WORDS.phrase("panels.no_chains"))
    each = len(reading.draws) // CHAINS
    told = reading.draws[: each * CHAINS, np.arange(len(reading.y)), reading.y]
    spread = np.array([rhat(np.ascontiguousarray(row.reshape(each, CHAINS).T)) for row in told.T])
    columns["R-hat: median"] = [f"{np.nanmedian(spread):.3f}"]
    columns["worst"] = [f"{np.nanmax(spread):.3f}"]
    return Table(WORDS.phrase("panels.networks"), columns, WORDS.phrase("panels.rhat", chains=CHAINS, each=each))
