"""Six methods as a scene: two of them in full, all six maps of epistemic uncertainty, and uncertainty against distance.

A step is a number of networks: the maps average the first 1, 2, 3, 5, … networks of each method. Or it is a distance:
a point walks away from the data, and the curves follow it; the maps average all networks.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.player.scene import Axis, Editable, Panel, Scene, levels
from app.kit.text import minus
from lessons.xor_methods.analysis import CELLS, CHECKPOINTS, Board, Look, board_of, data_of, rings, walk
from lessons.xor_methods.spec import CLASSES, MAX_POINTS, METHODS, NAMES, REACH, WORDS, MethodsSpec

Array = NDArray[np.float64]

LN2 = float(np.log(2.0))
VIEW = (-REACH, REACH)
TICKS = [(value, minus(f"{value:d}")) for value in (-2, 0, 2)]
SHAPES, ROLES = ["circle", "square"], ["class-0", "class-1"]
RATE, PACE = 2.5, 1.0  # numbers of networks, and distances, a second
BARS = 2.0  # half-length of the error bars, in standard errors
APART = 0.014  # between the curves' points, in units of distance, so that no error bar hides another
PARTS = ("total", "aleatoric", "epistemic")


def scene(spec: MethodsSpec, window: int | None) -> bytes:
    """The picture with all methods in it. `window` is not used, a step has no inside here."""
    board = board_of(spec)
    while not board.done:
        board.advance(lambda: False)
    return picture(spec, board)


def grow(spec: MethodsSpec, job: Any) -> bytes | None:
    """The same, with a picture for each method as soon as it is there, the quickest first."""
    board = board_of(spec)
    while not board.done:
        board.advance(job.is_set)
        if job.is_set():
            return None
        job.publish(picture(spec, board))
    return picture(spec, board)


def looks(board: Board) -> dict[str, Look]:
    """What each method that is there shows."""
    return {method: found.look for method, found in list(board.found.items())}


def picture(spec: MethodsSpec, board: Board) -> bytes:
    """The scene of the methods that are there."""
    seen = looks(board)
    count = steps(spec)
    whole = (spec.method, spec.compare) if spec.view == "networks" else (spec.method,)
    name, other = NAMES[spec.method], NAMES[spec.compare]
    shown = WORDS.phrase("stage.two", one=name, other=other) if spec.view == "networks" else name
    made = Scene(
        run=hashlib.blake2b(repr(spec).encode(), digest_size=12).hexdigest(),
        steps=count,
        start=count - 1,
        rate=RATE if spec.view == "networks" else PACE,
        theme=theme.palette(),
        label=WORDS.phrase("stage.picture", methods=shown),
    )
    for column, method in enumerate(whole):
        _column(made, spec, seen.get(method), method, column)
    _six(made, spec, seen)
    _distance(made, spec, seen)
    _words(made, spec, board, seen)
    return made.encode()


def steps(spec: MethodsSpec) -> int:
    """Numbers of networks, or classes of distance."""
    return len(CHECKPOINTS) if spec.view == "networks" else len(rings(spec)[0])


# Panels ---------------------------------------------------------------------------------------------------------------


def _bare(made: Scene, id: str, title: str, place: tuple[int, int, int, int], height: int) -> Panel:
    """The plane without axes, for small maps: they are those of the large ones."""
    x, y = Axis("", *VIEW, ticks=[]), Axis("", *VIEW, ticks=[])
    return made.panel(id, title=title, x=x, y=y, place=place, equal=True, height=height)


def _column(made: Scene, spec: MethodsSpec, look: Look | None, method: str, column: int) -> None:
    """Mean, total, aleatoric and epistemic of one method, the first map to be edited."""
    first, name = column == 0, NAMES[method]
    if look is None:
        name = WORDS.phrase("stage.waiting", method=name)
    editable = None
    if first and spec.data == "points":
        rows = np.array(spec.points, dtype=float).reshape(-1, 3)
        editable = Editable(points=rows, classes=CLASSES, limit=MAX_POINTS)
    panel = made.panel(
        "mean" if first else "mean-2",
        title=WORDS.phrase("stage.mean", method=name),
        place=(12 * column, 0, 12, 1),
        height=262,
        x=Axis(WORDS.phrase("stage.input_1"), *VIEW, ticks=TICKS),
        y=Axis(WORDS.phrase("stage.input_2"), *VIEW, ticks=TICKS),
        equal=True,
        editable=editable,
    )
    panel.heatmap(
        _cells(spec, None if look is None else look.mean, 1.0, 0.5),
        x=VIEW,
        y=VIEW,
        low=0.0,
        high=1.0,
        at=np.arange(steps(spec)),
        colormap="diverging",
        label=WORDS.phrase("stage.probability"),
        colorbar=True,
        alpha=0.75,
    )
    if editable is None:
        _data(panel, spec, 2.2, labelled=first)
    if spec.view == "distance":
        _walker(panel, spec)
    for number, part in enumerate(PARTS):
        id = part if first else f"{part}-2"
        panel = _bare(made, id, WORDS.phrase(f"stage.{part}"), (12 * column + 4 * number, 1, 4, 1), 132)
        _uncertainty(panel, spec, None if look is None else getattr(look, part), colorbar=False)
        _data(panel, spec, 1.0)


def _six(made: Scene, spec: MethodsSpec, seen: dict[str, Look]) -> None:
    """The epistemic uncertainty of every method, on the scale of the maps above."""
    for number, method in enumerate(METHODS):
        look = seen.get(method)
        title = WORDS.phrase("stage.waiting" if look is None else "stage.epistemic_of", method=NAMES[method])
        panel = _bare(made, f"six-{method}", title, (8 * (number % 3), 2 + number // 3, 8, 1), 175)
        _uncertainty(panel, spec, None if look is None else look.epistemic, colorbar=True)
        _data(panel, spec, 1.2)


def _uncertainty(panel: Panel, spec: MethodsSpec, maps: Array | None, *, colorbar: bool) -> None:
    cells, at = _cells(spec, maps, LN2, 0.0), np.arange(steps(spec))
    panel.heatmap(cells, x=VIEW, y=VIEW, low=0.0, high=LN2, at=at, label=WORDS.phrase("stage.entropy"), colorbar=colorbar)


def _cells(spec: MethodsSpec, maps: Array | None, high: float, waiting: float) -> NDArray[np.uint8]:
    """Maps as the player takes them, one a step; one value everywhere while there are none."""
    values = np.full((len(CHECKPOINTS), CELLS, CELLS), waiting) if maps is None else maps
    shown = values if spec.view == "networks" else np.repeat(values[-1:], steps(spec), axis=0)
    return levels(shown, high)


def _walker(panel: Panel, spec: MethodsSpec) -> None:
    """The point that walks away from the data."""
    places = walk(spec)
    panel.path(places, show="upto", role="ink", width=1.6)
    panel.points(places, show="at", role="highlight", shape="diamond", size=6.0, label=WORDS.phrase("stage.walker"))


def _data(panel: Panel, spec: MethodsSpec, size: float, labelled: bool = False) -> None:
    """The data on top, class by shape and colour, on a rim of the background's colour."""
    x, y = data_of(spec)
    panel.points(x, classes=y, role=["surface", "surface"], shape=SHAPES, size=size + 0.8, alpha=1.0)
    label = [WORDS.phrase("stage.data", name=name) for name in CLASSES] if labelled else None
    panel.points(x, classes=y, role=ROLES, shape=SHAPES, size=size, alpha=1.0, label=label)


def _distance(made: Scene, spec: MethodsSpec, seen: dict[str, Look]) -> None:
    """Epistemic uncertainty against the distance from the nearest data point, with error bars."""
    tops = [float(np.nanmax(look.curve + BARS * look.error)) for look in seen.values()]
    distance, _ = rings(spec)
    panel = made.panel(
        "distance",
        title=WORDS.phrase("stage.distance"),
        x=Axis(WORDS.phrase("stage.distance_x"), 0.0, float(distance[-1]) + 0.1),
        y=Axis(WORDS.phrase("stage.distance_y"), 0.0, min(LN2, max([0.3, *(1.05 * top for top in tops)]))),
        place=(0, 4, 24, 1) if spec.view == "networks" else (12, 0, 12, 2),
        height=290,
    )
    for number, method in enumerate(METHODS):
        look = seen.get(method)
        curve = np.full(len(distance), np.nan) if look is None else look.curve
        error = np.zeros(len(distance)) if look is None else look.error
        at = distance + APART * (number - 2.5)
        low, high = np.maximum(curve - BARS * error, 0.0), curve + BARS * error
        bars = np.stack([np.column_stack([at, low]), np.column_stack([at, high]), np.full((len(at), 2), np.nan)], axis=1)
        points = np.column_stack([at, curve])
        if spec.view == "distance":
            panel.line(at, curve, show="upto", chain=number, width=2.0)
            panel.path(bars, at=np.arange(len(at)), chain=number, width=1.4)
            show = "upto"
        else:
            panel.line(at, curve, chain=number, width=1.4, alpha=0.7)
            panel.path(bars.reshape(-1, 2), chain=number, width=1.4)
            show = "all"
        panel.points(points, show=show, role=f"chain-{number}", shape=theme.MARKERS[number], size=3.4, alpha=1.0, label=NAMES[method])


# Words and numbers ----------------------------------------------------------------------------------------------------


def _words(made: Scene, spec: MethodsSpec, board: Board, seen: dict[str, Look]) -> None:
    """The arithmetic card, the spoken sentence and the table."""
    if spec.view == "networks":
        _counted(made, spec, board, seen)
    else:
        _walked(made, spec, seen)
    waiting = ", ".join(NAMES[method] for method in METHODS if method not in seen)
    if waiting:
        made.readout("waiting", WORDS.phrase("stage.still_sampling_card", methods=waiting))
        made.say(WORDS.phrase("stage.said_still_sampling", methods=waiting))


def _walked(made: Scene, spec: MethodsSpec, seen: dict[str, Look]) -> None:
    """What each method says at the distance of the step."""
    distance, _ = rings(spec)
    made.readout("distance", WORDS.phrase("stage.distance_card"), d=distance)
    for method, look in seen.items():
        card = WORDS.phrase("stage.epistemic_card", method=NAMES[method])
        made.readout(f"at-{method}", card, e=look.curve, s=look.error, show="at")
    made.say(WORDS.phrase("stage.said_distance"), d=distance)
    made.table({"distance": distance, **{f"epistemic, {NAMES[method]} (nats)": look.curve for method, look in seen.items()}})


def _counted(made: Scene, spec: MethodsSpec, board: Board, seen: dict[str, Look]) -> None:
    """The sum of the two methods in full, and what they cost."""
    count = len(CHECKPOINTS)
    columns: dict[str, Any] = {"networks, at most": CHECKPOINTS}
    for method in METHODS:
        if method in seen:
            columns[f"epistemic over the map, {NAMES[method]} (nats)"] = seen[method].epistemic.mean(axis=(1, 2))
    for row, method in enumerate(dict.fromkeys((spec.method, spec.compare))):
        if method not in seen:
            continue
        look, found = seen[method], board.found[method]
        parts = {part: getattr(look, part).mean(axis=(1, 2)) for part in PARTS}
        made.readout(
            f"parts-{row}",
            WORDS.phrase("stage.parts_card", method=NAMES[method]),
            n=look.counts,
            one=look.counts == 1,
            t0=parts["total"],
            a0=parts["aleatoric"],
            e0=parts["epistemic"],
        )
        made.readout(
            f"cost-{row}",
            WORDS.phrase("stage.cost_card", method=NAMES[method]),
            all=np.full(count, found.chains * found.draws),
            g=np.full(count, found.gradients),
        )
        made.say(WORDS.phrase("stage.said_networks", method=NAMES[method]), n=look.counts, one=look.counts == 1, e=parts["epistemic"])
    made.table(columns)
