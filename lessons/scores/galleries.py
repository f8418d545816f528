"""The image report: which images are read worst, of which the networks are least sure, which are wrong and sure; and
what every single network says of each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.kit import charts, theme
from app.kit.charts import Column, Figure, Table
from datasets.images import Images
from engine import scores
from lessons.scores import analysis
from lessons.scores.analysis import NAMES, Reading
from lessons.scores.spec import ScoresSpec

MANY = 30  # images of a gallery
COLUMNS = 5
ROW = 25  # votes side by side
WORDS = 2  # lines of words below an image
Rows = NDArray[np.int64]


def report(spec: ScoresSpec, reading: Reading) -> list[Figure | Table]:
    """The galleries, the surest images, and the votes on each image of the first three."""
    name, score = NAMES[spec.score], analysis.values(reading, spec.score)
    order = np.argsort(score, kind="stable")
    loss = scores.log_scores(reading.mean, reading.y)
    wrong = np.flatnonzero(reading.wrong)
    worst, sure = (wrong[np.argsort(-each[wrong], kind="stable")] for each in (loss, reading.confidence))
    told = f"{len(wrong)} of {len(reading.y)} test digits are read wrong; "
    chosen = {
        "Worst errors": (worst[:MANY], f"{told}{_shown(wrong)}, those first to whose label the least probability is given."),
        f"Most uncertain by {name}": (order[::-1][:MANY], "The highest scores first, read right or wrong."),
        "Sure and wrong": (sure[:MANY], f"{told}{_shown(wrong)}, the surest first: what no threshold on the confidence finds."),
    }
    figures: list[Figure | Table] = [_gallery(spec, title, reading, which, note) for title, (which, note) in chosen.items()]
    figures.append(_gallery(spec, f"Least uncertain by {name}", reading, order[: 2 * COLUMNS], "The lowest scores."))
    return [*figures, _votes({title: which for title, (which, _) in chosen.items()}, reading, score, name)]


def sure_and_wrong(spec: ScoresSpec, reading: Reading) -> Figure:
    """What is read wrong, the surest first."""
    wrong = np.flatnonzero(reading.wrong)
    surest = wrong[np.argsort(-reading.confidence[wrong], kind="stable")]
    note = f"{len(wrong)} of {len(reading.y)} test digits are read wrong; {_shown(wrong)}, the surest first."
    return _gallery(spec, "Sure and wrong", reading, surest[:MANY], note)


def said(reading: Reading, image: int) -> Rows:
    """(R,) what each network says of an image."""
    return reading.draws[:, image].argmax(axis=1)


def _shown(wrong: Rows) -> str:
    return f"the first {MANY} of them" if len(wrong) > MANY else "all of them"


def _counted(votes: Rows) -> str:
    """ "9×61 4×39": the two digits with most votes."""
    held = np.bincount(votes)
    return " ".join(f"{digit}×{held[digit]}" for digit in np.argsort(-held, kind="stable")[:2] if held[digit])


def _in_rows(votes: Rows, between: str) -> str:
    """Every network's vote in turn."""
    text = "".join(map(str, votes))
    return between.join(text[start : start + ROW] for start in range(0, len(text), ROW))


def _gallery(spec: ScoresSpec, title: str, reading: Reading, which: Rows, note: str) -> Figure:
    """Images side by side; below each what it is read as, with what probability, its label if that is another, votes."""
    data: Images = analysis.data_of(spec)
    side, gap = data.side, 0.36 * data.side  # of paper, beside an image; below it `WORDS` of them
    cell, tall = side + round(gap), side + WORDS * round(gap)
    rows = max(-(-len(which) // COLUMNS), 1)
    sheet = np.full((rows * tall, COLUMNS * cell), np.nan)
    x, y, words, told, centres, every = [], [], [], [], [], []
    for place, image in enumerate(which):
        top, left = (place // COLUMNS) * tall, (place % COLUMNS) * cell
        sheet[top : top + side, left : left + side] = data.images_test[image]
        read, label, votes = int(reading.mean[image].argmax()), int(reading.y[image]), said(reading, int(image))
        middle = left + 0.5 * (side - 1)
        x += [middle, middle]
        y += [top + side + 0.3 * gap, top + side + 1.1 * gap]
        words += [(f"{label}→{read}" if read != label else f"{read}") + f" {reading.confidence[image]:.2f}", _counted(votes)]
        told.append(f"{label} read as {read}" if read != label else f"{read}")
        centres.append((middle, top + 0.5 * (side - 1)))
        every.append(f"test image {image}<br>{_in_rows(votes, '<br>')}")
    figure = charts.blank("", "", height=24 + 84 * rows)
    ink = [[0.0, theme.colour("grid")], [1.0, theme.colour("ink")]]
    figure.add_heatmap(z=sheet, colorscale=ink, zmin=0, zmax=data.top, showscale=False, hoverinfo="skip")
    figure.add_scatter(x=x, y=y, text=words, mode="text", textfont={"color": theme.colour("ink"), "size": 9}, hoverinfo="skip")
    if centres:
        across, down = zip(*centres, strict=True)
        figure.add_scatter(x=across, y=down, text=every, mode="markers", marker={"opacity": 0.0, "size": 30}, hoverinfo="text")
    figure.update_xaxes(visible=False, constrain="domain", range=[-0.1 * cell, (COLUMNS - 0.1) * cell])
    square = {"scaleanchor": "x", "constrain": "domain"}
    figure.update_yaxes(visible=False, range=[rows * tall - 0.5, -1.0], **square)
    figure.update_layout(margin={"l": 4, "r": 4, "t": 4, "b": 4}, showlegend=False)
    caption = (
        f"{note} Below each: label → what it is read as (one digit where they agree), and its probability; then the two "
        "digits with most votes, and how many. Point at an image for each network's vote."
    )
    return Figure(title, figure, f"{note} {', '.join(told)}.", caption)


def _votes(chosen: dict[str, Rows], reading: Reading, score: NDArray[np.float64], name: str) -> Table:
    """Every network's vote on every image of the galleries, each image once."""
    images = list(dict.fromkeys(int(image) for which in chosen.values() for image in which))
    places = [", ".join(title.split(" by ")[0].lower() for title, which in chosen.items() if image in which) for image in images]
    columns: dict[str, Column] = {
        "test image": images,
        "label": [int(reading.y[image]) for image in images],
        "read as": [int(reading.mean[image].argmax()) for image in images],
        "probability": [f"{reading.confidence[image]:.2f}" for image in images],
        name: [f"{score[image]:.3f}" for image in images],
        "gallery": places,
        f"votes of networks 1 to {len(reading.draws)}": [_in_rows(said(reading, image), " ") for image in images],
    }
    return Table("Each network's vote", columns, f"One digit a network, in the order in which they were drawn, {ROW} a group.")
