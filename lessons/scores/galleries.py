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
from lessons.scores.spec import WORDS, ScoresSpec

MANY = 30  # images of a gallery
COLUMNS = 5
ROW = 25  # votes side by side
LINES = 2  # of words below an image
Rows = NDArray[np.int64]


def report(spec: ScoresSpec, reading: Reading) -> list[Figure | Table]:
    """The galleries, the surest images, and the votes on each image of the first three."""
    name, score = NAMES[spec.score], analysis.values(reading, spec.score)
    order = np.argsort(score, kind="stable")
    loss = scores.log_scores(reading.mean, reading.y)
    wrong = np.flatnonzero(reading.wrong)
    worst, sure = (wrong[np.argsort(-each[wrong], kind="stable")] for each in (loss, reading.confidence))
    told = _wrong_told(reading, wrong)
    chosen = {"worst": worst[:MANY], "uncertain": order[::-1][:MANY], "sure": sure[:MANY]}
    figures: list[Figure | Table] = []
    for gallery, which in (chosen | {"certain": order[: 2 * COLUMNS]}).items():
        title, note = WORDS.phrase(f"galleries.{gallery}", score=name), WORDS.phrase(f"galleries.{gallery}_note", wrong=told)
        figures.append(_gallery(spec, title, reading, which, note))
    return [*figures, _votes(chosen, reading, score, name)]


def sure_and_wrong(spec: ScoresSpec, reading: Reading) -> Figure:
    """What is read wrong, the surest first."""
    wrong = np.flatnonzero(reading.wrong)
    surest = wrong[np.argsort(-reading.confidence[wrong], kind="stable")]
    note = WORDS.phrase("galleries.surest_note", wrong=_wrong_told(reading, wrong))
    return _gallery(spec, WORDS.phrase("galleries.sure"), reading, surest[:MANY], note)


def said(reading: Reading, image: int) -> Rows:
    """(R,) what each network says of an image."""
    return reading.draws[:, image].argmax(axis=1)


def _wrong_told(reading: Reading, wrong: Rows) -> str:
    shown = WORDS.phrase("galleries.first_of_them", most=MANY) if len(wrong) > MANY else WORDS.phrase("galleries.all_of_them")
    return WORDS.phrase("galleries.wrong", wrong=len(wrong), all=len(reading.y), shown=shown)


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
    side, gap = data.side, 0.36 * data.side  # of paper, beside an image; below it `LINES` of them
    cell, tall = side + round(gap), side + LINES * round(gap)
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
        told.append(WORDS.phrase("galleries.misread", label=label, read=read) if read != label else f"{read}")
        centres.append((middle, top + 0.5 * (side - 1)))
        every.append(f"{WORDS.phrase('galleries.image', image=image)}<br>{_in_rows(votes, '<br>')}")
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
    return Figure(title, figure, f"{note} {', '.join(told)}.", WORDS.phrase("galleries.caption", note=note))


def _votes(chosen: dict[str, Rows], reading: Reading, score: NDArray[np.float64], name: str) -> Table:
    """Every network's vote on every image of the galleries, each image once."""
    images = list(dict.fromkeys(int(image) for which in chosen.values() for image in which))
    places = [", ".join(WORDS.phrase(f"galleries.in_{gallery}") for gallery, which in chosen.items() if image in which) for image in images]
    columns: dict[str, Column] = {
        "test image": images,
        "label": [int(reading.y[image]) for image in images],
        "read as": [int(reading.mean[image].argmax()) for image in images],
        "probability": [f"{reading.confidence[image]:.2f}" for image in images],
        name: [f"{score[image]:.3f}" for image in images],
        "gallery": places,
        f"votes of networks 1 to {len(reading.draws)}": [_in_rows(said(reading, image), " ") for image in images],
    }
    return Table(WORDS.phrase("galleries.votes"), columns, WORDS.phrase("galleries.votes_caption", row=ROW))
