"""A scene: what the player draws, as layers bound to arrays.

A lesson builds a `Scene` from a recording; `encode` turns it into one blob that the browser plays without a server.
Everything that could go wrong on screen is checked here, so that a lesson's mistake fails in its test as `SceneError`.
This module knows numpy and json, and looks up whether its picture is still wanted; nothing else.

The blob: uint32 (little endian) length of the header, the header as UTF-8 JSON padded with blanks so that the arrays
start on a multiple of 8, then the arrays, each on a multiple of 8. The header lists the arrays as {dtype, shape,
offset}, the offset counted from the start of the arrays; layers refer to them by index. Reals travel as float32.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypedDict, Unpack

import numpy as np

from engine import ticket

VERSION = 1
ALIGNMENT = 8
MAX_WINDOW = 200  # transitions whose inside travels in one blob
MAX_FRAMES = 100  # heat-map frames in one blob
MAX_BYTES = 40_000_000  # below Streamlit's maxMessageSize, with room to spare

SHAPES = ("circle", "cross", "square", "triangle", "ring", "diamond")
COLORMAPS = ("viridis", "cividis", "diverging")
ROLES = (
    *("ink", "muted", "grid", "surface", "truth", "accept", "reject", "proposal", "momentum", "energy", "divergent"),
    *("highlight", "prior", "likelihood", "posterior", "class-0", "class-1", "class-2"),
    *(f"chain-{c}" for c in range(8)),
    *("positive", "negative"),
)

STEPWISE = ("upto", "at")  # one item a transition
INNER = ("inner", "inner_at", "inner_all")  # one item a sub-step of the inner phase, inside the window
PARTED = ("inner", "inner_all", "picked")  # of a set of parts


class SceneError(ValueError):
    """A scene that cannot be drawn; the message names the panel, the layer and the fault."""


@dataclass(frozen=True)
class Axis:
    """An axis: its label (with units), its range (None: from the data of the panel) and, if wanted, its ticks."""

    label: str = ""
    low: float | None = None
    high: float | None = None
    log: bool = False
    ticks: Sequence[tuple[float, str]] | None = None


AxisLike = Axis | str | tuple[str, float | None, float | None] | None  # an axis, its label, or its label and range


@dataclass(frozen=True)
class Phase:
    """One part of a transition. `count` sub-steps, or "inner": as many as the transition has inner items."""

    id: str
    label: str = ""
    count: int | str = 1


@dataclass(frozen=True)
class Show:
    """When the items of a layer are visible.

    all: always. upto: items 0..t once transition t is settled, else 0..t-1 (`last=k`: only the k newest, `fade`: the
    older the paler). at: item t. inner: items 0..i of the transition's inner phase (inner_at: item i, inner_all: all).
    `phase=(first, last)` restricts any of them to those phases; None leaves an end open. With `parts` the items are
    those of that set (`Scene.parts`) in place of the sub-steps; picked: the one that is pointed at.
    """

    what: str = "all"
    last: int | None = None
    fade: bool = False
    phase: tuple[str | None, str | None] | None = None
    parts: str | None = None


class When(TypedDict, total=False):
    """When a mark is visible within a transition, beside its `show`.

    during : the phase, or the first and the last of several, in which it is there
    since : the phase from which on it is there
    last, fade : as of `Show`
    """

    during: str | tuple[str, str]
    since: str
    last: int
    fade: bool


@dataclass(frozen=True)
class Editable:
    """Points the reader may add, drag and remove: rows (x, y) or (x, y, class), and the classes' names."""

    points: Any = ()
    classes: Sequence[str] = ("point",)
    limit: int = 200


def _axis_of(axis: AxisLike) -> Axis | None:
    """An axis from its label alone, or from its label and its range."""
    if axis is None or isinstance(axis, Axis):
        return axis
    return Axis(axis) if isinstance(axis, str) else Axis(*axis)


def _shown(show: str | Show, when: When, where: str) -> str | Show:
    """A Show with what `when` says of it."""
    unknown = when.keys() - When.__annotations__.keys()
    if unknown:
        raise TypeError(f"{where}: unexpected argument {', '.join(sorted(unknown))}")
    if not when:
        return show
    if isinstance(show, Show):
        raise SceneError(f"{where}: give a Show, or {', '.join(when)}, not both")
    if "during" in when and "since" in when:
        raise SceneError(f"{where}: give during or since, not both")
    during = when.get("during")
    phase: tuple[str | None, str | None] | None = (when["since"], None) if "since" in when else None
    if during is not None:
        phase = (during, during) if isinstance(during, str) else during
    return Show(show, last=when.get("last"), fade=when.get("fade", False), phase=phase)


# ---------------------------------------------------------------------------------------------------------------------
# Layout: "map*9 energy*6 / map*9 distance*6" — rows of the wide stage, panels by their names, widths in shares


Place = tuple[int, int, int, int]


def read_layout(plan: str) -> dict[str, Place]:
    """The place (column, row, columnspan, rowspan) of each panel named in `plan`. A name that stands in several rows
    spans them. Raises SceneError where rows differ in width or a panel is no rectangle.
    """
    cells: dict[str, list[tuple[int, int, int]]] = {}
    widths = []
    for row, text in enumerate(plan.split("/")):
        column = 0
        for entry in text.split():
            name, _, wide = entry.partition("*")
            if not name or (wide and not wide.isdigit()) or wide == "0":
                raise SceneError(f"layout: {entry!r} is not name*width")
            width = int(wide or 1)
            cells.setdefault(name, []).append((row, column, width))
            column += width
        widths.append(column)
    if len(set(widths)) != 1 or not widths[0]:
        raise SceneError(f"layout: the rows of {plan!r} are {', '.join(map(str, widths))} wide")
    places = {}
    for name, found in cells.items():
        (row, column, width), rows = found[0], [each[0] for each in found]
        if any(each[1:] != (column, width) for each in found) or rows != list(range(row, row + len(found))):
            raise SceneError(f"layout: panel {name!r} is no rectangle in {plan!r}")
        places[name] = (column, row, width, len(found))
    return places


# ---------------------------------------------------------------------------------------------------------------------
# Templates: "log r = {new:.3f} − {old:.3f}", "{accepted?accepted:rejected}", "{move|birth|death|update}"


_HEX = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_FORMAT = re.compile(r"^\+?(\.\d+)?[fegd%]?$")
_BUILT_IN = ("t", "steps", "phase")


def compile_template(template: str, names: Iterable[str], where: str) -> list[Any]:
    """Splits a template into literal strings and {"name", "format" | "words"} slots; unknown names are an error."""
    names = {*names, *_BUILT_IN}
    tokens: list[Any] = []
    for i, part in enumerate(re.split(r"\{([^{}]*)\}", template)):
        if i % 2 == 0:
            if "{" in part or "}" in part:
                raise SceneError(f"{where}: unbalanced brace in {template!r}")
            if part:
                tokens.append(part)
            continue
        slot: dict[str, Any] = {}
        if "?" in part:
            name, _, words = part.partition("?")
            yes, colon, no = words.partition(":")
            if not colon:
                raise SceneError(f"{where}: {{{part}}} needs the form {{name?yes:no}}")
            slot["words"] = [no, yes]
        elif "|" in part:
            name, *slot["words"] = part.split("|")
        else:
            name, _, number_format = part.partition(":")
            if not _FORMAT.match(number_format):
                raise SceneError(f"{where}: unknown format {number_format!r} in {{{part}}}")
            slot["format"] = number_format
        if name not in names:
            raise SceneError(f"{where}: {{{name}}} has no array; known: {', '.join(sorted(names))}")
        tokens.append({"name": name, **slot})
    return tokens


# ---------------------------------------------------------------------------------------------------------------------
# Arrays


class _Arrays:
    """The arrays of one blob; the same content is stored once."""

    def __init__(self) -> None:
        self.parts: list[np.ndarray] = []
        self._index: dict[tuple[str, tuple[int, ...], bytes], int] = {}

    def add(self, values: Any, where: str) -> int:
        ticket.give_way()  # a long run's next picture, to another run's first
        array = np.asarray(values)
        kind = array.dtype.kind
        if kind == "b" or array.dtype == np.uint8:
            wanted: type[np.generic] = np.uint8
        elif kind == "f":
            wanted = np.float32
        elif kind in "iu":
            wanted = np.int32
            if array.size and not np.array_equal(array, array.astype(np.int32)):
                raise SceneError(f"{where}: integers beyond 32 bits")
        else:
            raise SceneError(f"{where}: cannot send an array of {array.dtype}")
        with np.errstate(over="ignore"):  # too large for float32 becomes inf, which is not drawn
            array = np.ascontiguousarray(array, dtype=np.dtype(wanted).newbyteorder("<"))
        identity = wanted.__name__, array.shape, array.tobytes()
        if identity not in self._index:
            self._index[identity] = len(self.parts)
            self.parts.append(array)
        return self._index[identity]

    def layout(self) -> tuple[list[dict], int]:
        entries, offset = [], 0
        for array in self.parts:
            entries.append({"dtype": array.dtype.name, "shape": list(array.shape), "offset": offset})
            offset += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        return entries, offset

    def tobytes(self) -> bytes:
        return b"".join(a.tobytes() + b"\0" * (-a.nbytes % ALIGNMENT) for a in self.parts)


def levels(values: Any, high: float, low: float = 0.0) -> np.ndarray:
    """Values from `low` to `high` as the bytes of a heat map; what lies outside is cut off."""
    share = np.clip((np.asarray(values) - low) / (high - low), 0.0, 1.0)
    return np.rint(255.0 * share).astype(np.uint8)


def pixel_blocks(images: np.ndarray, grain: int) -> np.ndarray:
    """Images (..., h, w), the top row first, as cells of a heat map: the lowest row first, each pixel `grain` cells
    along an edge, for the player smooths and pixels should be seen as such."""
    return np.kron(images[..., ::-1, :], np.ones((1,) * (images.ndim - 2) + (grain, grain), dtype=images.dtype))


def stairs(edges: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """The outline (..., 2 K, 2) of bars of heights (..., K) between edges (K + 1,), as a polyline."""
    across = np.broadcast_to(np.repeat(edges, 2)[1:-1], (*heights.shape[:-1], 2 * heights.shape[-1]))
    return np.stack([across, np.repeat(heights, 2, axis=-1)], axis=-1)


def _real(values: Any, where: str, *, ndim: int | tuple[int, ...]) -> np.ndarray:
    """A float array with the wanted number of dimensions."""
    wanted = (ndim,) if isinstance(ndim, int) else ndim
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise SceneError(f"{where}: not an array of numbers ({error})") from None
    if array.ndim not in wanted:
        raise SceneError(f"{where}: needs {' or '.join(map(str, wanted))} dimensions, has shape {array.shape}")
    return array


def _plane(values: Any, where: str) -> np.ndarray:
    """An (N, 2) array of points."""
    array = _real(values, where, ndim=2)
    if array.shape[1] != 2:
        raise SceneError(f"{where}: needs shape (N, 2), has {array.shape}")
    return array


def _interval(values: Any, where: str) -> list[float]:
    try:
        low, high = (float(v) for v in values)
    except (TypeError, ValueError):
        raise SceneError(f"{where}: needs a pair (low, high), got {values!r}") from None
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise SceneError(f"{where}: needs finite low < high, got ({low}, {high})")
    return [low, high]


# ---------------------------------------------------------------------------------------------------------------------
# Panels and layers


class Panel:
    """One picture with its axes; its methods add layers, drawn in the order they are added."""

    def __init__(
        self,
        bound: _Bound,
        id: str,
        title: str,
        x: AxisLike,
        y: AxisLike,
        place: Place | None,
        equal: bool,
        height: int,
        editable: Editable | None,
        clickable: bool,
    ) -> None:
        self._bound, self.id, self.x, self.y = bound, id, _axis_of(x), _axis_of(y)
        self.layers: list[dict] = []
        self._extent: dict[str, list[float]] = {"x": [], "y": []}
        where = f"panel {id!r}"
        if place is not None:
            place = tuple(int(p) for p in place)  # type: ignore[assignment]  # how many there are is looked at here
            if len(place) != 4 or min(place[:2]) < 0 or min(place[2:]) < 1:
                raise SceneError(f"{where}: place is (column, row, columnspan, rowspan), got {place}")
        if not 40 <= height <= 2000:
            raise SceneError(f"{where}: height {height} px is outside 40..2000")
        self._header = {
            "id": id,
            "title": title,
            "place": place,
            "equal": bool(equal),
            "height": int(height),
            "editable": self._editable(editable, where),
            "clickable": bool(clickable),
        }

    # -- still layers ------------------------------------------------------------------------------------------------

    def contour(self, values, *, levels, x, y, role="truth", label=None, fill=True, show="all", **when: Unpack[When]) -> Panel:
        """Isolines of values (H, W) on the nodes of a regular grid over x and y; row 0 is the lowest y."""
        where = self._where("contour")
        show = _shown(show, when, where)
        grid = _real(values, where, ndim=2)
        if min(grid.shape) < 2:
            raise SceneError(f"{where}: needs at least 2 × 2 values")
        if not np.isfinite(grid).any():
            raise SceneError(f"{where}: no finite value")
        if isinstance(levels, int):
            finite = grid[np.isfinite(grid)]
            levels = np.linspace(finite.min(), finite.max(), levels + 2)[1:-1]
        levels = np.sort(_real(levels, f"{where} levels", ndim=1))
        if not len(levels) or not np.isfinite(levels).all():
            raise SceneError(f"{where}: levels must be finite and at least one")
        ranges = {"x": _interval(x, f"{where} x"), "y": _interval(y, f"{where} y")}
        self._grow(ranges["x"], ranges["y"])
        lowest = np.where(np.isfinite(grid), grid, min(np.nanmin(np.where(np.isfinite(grid), grid, np.nan)), levels[0]))
        extra = {"values": self._add(lowest, where), "levels": levels.tolist(), "fill": bool(fill), **ranges}
        return self._layer("contour", where, show, role, label, extra, allowed=("all",))

    def heatmap(self, frames, *, x, y, low, high, at=None, colormap="viridis", label=None, colorbar=True, alpha=1.0) -> Panel:
        """Frames (F, H, W) or (H, W) of uint8, 0 meaning `low` and 255 `high`, as cells over x and y; row 0 is the
        lowest y. Step t shows frame `at[t]`, as with `path`; without `at` the frames are spread evenly over the steps."""
        where = self._where("heatmap")
        cells = np.asarray(frames)
        if cells.dtype != np.uint8 or cells.ndim not in (2, 3):
            raise SceneError(f"{where}: frames must be uint8 (F, H, W) or (H, W), are {cells.dtype} {cells.shape}")
        cells = cells[None] if cells.ndim == 2 else cells
        if not 1 <= len(cells) <= MAX_FRAMES:
            raise SceneError(f"{where}: {len(cells)} frames, allowed are 1 to {MAX_FRAMES}")
        if colormap not in COLORMAPS:
            raise SceneError(f"{where}: unknown colormap {colormap!r}; known: {', '.join(COLORMAPS)}")
        if at is not None:
            at = self._placed(at, f"{where} at", len(cells))
        low, high = _interval((low, high), f"{where} low, high")
        ranges = {"x": _interval(x, f"{where} x"), "y": _interval(y, f"{where} y")}
        self._grow(ranges["x"], ranges["y"])
        extra = {
            "frames": self._add(cells, where),
            "at": None if at is None else self._add(at, where),
            "low": low,
            "high": high,
            "colormap": colormap,
            "colorbar": bool(colorbar),
            "alpha": float(alpha),
            **ranges,
        }
        return self._layer("heatmap", where, "all", "ink", label, extra, allowed=("all",))

    def text(self, x, y, text, *, role="ink", align="center", show="all", **when: Unpack[When]) -> Panel:
        """A word in the picture, at data coordinates."""
        where = self._where("text")
        show = _shown(show, when, where)
        if align not in ("left", "center", "right"):
            raise SceneError(f"{where}: align is left, center or right")
        if not (np.isfinite(x) and np.isfinite(y)):
            raise SceneError(f"{where}: position ({x}, {y}) is not finite")
        extra = {"x": float(x), "y": float(y), "text": str(text), "align": align}
        return self._layer("text", where, show, role, None, extra, allowed=("all",))

    def rule(self, *, x=None, y=None, show=None, role="muted", label=None, dash=False, chain=None, **when: Unpack[When]) -> Panel:
        """A straight line across the panel at x or at y; an array (N,) gives a line that follows the cursor."""
        where = self._where("rule")
        if (x is None) == (y is None):
            raise SceneError(f"{where}: give x or y, not both")
        axis, value = ("x", x) if y is None else ("y", y)
        values = _real(value, where, ndim=(0, 1))
        show = _shown(show or ("at" if values.ndim else "all"), when, where)
        if values.ndim == 0 and not np.isfinite(values):
            raise SceneError(f"{where}: {axis} is not finite")
        extra = {"axis": axis, "values": self._add(np.atleast_1d(values), where), "dash": bool(dash)}
        count = None if values.ndim == 0 else len(values)
        return self._layer("rule", where, show, role, label, extra, allowed=("all", *STEPWISE, *INNER), count=count, chain=chain)

    # -- layers of items ---------------------------------------------------------------------------------------------

    def path(
        self, points, *, show="all", role="ink", width=1.5, dash=False, alpha=1.0, label=None, chain=None, at=None, **when: Unpack[When]
    ) -> Panel:
        """A polyline through points (N, 2); NaN breaks it. With `at` (steps,), points (F, N, 2) are F polylines, and
        step t shows the one numbered `at[t]` once it is settled; before the first is, its own. With `at` (steps + 1,)
        its first number is of what stands before the first step."""
        where = self._where("path")
        show = _shown(show, when, where)
        if at is None:
            plane = _plane(points, where)
            allowed: Sequence[str] = ("all", "upto", *INNER)
        else:
            plane = _real(points, where, ndim=3)
            if plane.shape[2] != 2:
                raise SceneError(f"{where}: needs shape (F, N, 2), has {plane.shape}")
            at = self._add(self._placed(at, f"{where} at", len(plane)), where)
            allowed = ("all",)
        self._grow(plane[..., 0], plane[..., 1])
        extra = {"points": self._add(plane, where), "at": at, "width": float(width), "dash": bool(dash), "alpha": float(alpha)}
        return self._layer("path", where, show, role, label, extra, allowed=allowed, count=len(plane), chain=chain)

    def points(
        self,
        points,
        *,
        show="all",
        role="posterior",
        classes=None,
        shape="circle",
        size=3.0,
        alpha=None,
        label=None,
        mask=None,
        chain=None,
        **when: Unpack[When],
    ) -> Panel:
        """Points (N, 2). With `classes` (N,), role, shape and label may be lists, one entry a class. `mask` (N,):
        0 hides a point. NaN is not drawn."""
        where = self._where("points")
        show = _shown(show, when, where)
        plane, extra = self._marked(where, points, classes, role, shape, label)
        extra |= {
            "size": float(size),
            "alpha": None if alpha is None else float(alpha),
            "mask": None if mask is None else self._add(self._mask(mask, len(plane), where), where),
        }
        allowed = ("all", *STEPWISE, *INNER, "picked")
        roles = extra["roles"]
        return self._layer("points", where, show, roles[0], None, extra, allowed, count=len(plane), chain=chain)

    def tree(
        self,
        points,
        parents,
        *,
        show="all",
        role="highlight",
        classes=None,
        shape="circle",
        size=3.5,
        width=1.8,
        dash=False,
        label=None,
        **when: Unpack[When],
    ) -> Panel:
        """Points (N, 2), each joined by a line to its parent, the row `parents` (N,) of another point (−1: none), as
        soon as both are visible. `classes` as in `points`; `dash` may be a list, too. NaN is not drawn."""
        where = self._where("tree")
        show = _shown(show, when, where)
        plane, extra = self._marked(where, points, classes, role, shape, label)
        above = np.asarray(parents)
        if above.dtype.kind not in "iu" or above.shape != (len(plane),) or (above >= len(plane)).any():
            raise SceneError(f"{where}: parents needs {len(plane)} rows below {len(plane)}")
        dashes = [bool(d) for d in (dash if isinstance(dash, Sequence) else [dash])]
        extra |= {"size": float(size), "alpha": None, "mask": None, "width": float(width), "dashes": dashes}
        extra["parents"] = self._add(above.astype(np.int32), where)
        allowed = ("all", "inner", "inner_all")
        return self._layer("tree", where, show, extra["roles"][0], None, extra, allowed, count=len(plane))

    def columns(
        self, xs, heights, *, widths, show="all", role="posterior", classes=None, hollow=False, label=None, **when: Unpack[When]
    ) -> Panel:
        """Bars from 0 to heights (N,) at xs (N,), widths (N,) wide in units of x. With `classes` (N,), role, label and
        hollow (an outline alone) may be lists, one entry a class. NaN is not drawn."""
        where = self._where("columns")
        show = _shown(show, when, where)
        xs, heights = _real(xs, where, ndim=1), _real(heights, where, ndim=1)
        wide = np.broadcast_to(_real(widths, where, ndim=(0, 1)), xs.shape)
        if len(xs) != len(heights):
            raise SceneError(f"{where}: {len(xs)} xs and {len(heights)} heights")
        plane, extra = self._marked(where, np.column_stack([xs, heights]), classes, role, "square", label)
        self._grow((), [0.0])
        extra["hollow"] = [bool(h) for h in (hollow if isinstance(hollow, Sequence) else [hollow])]
        extra["widths"] = self._add(wide, where)
        allowed = ("all", "inner", "inner_all")
        return self._layer("columns", where, show, extra["roles"][0], None, extra, allowed, count=len(plane))

    def _marked(self, where, points, classes, role, shape, label) -> tuple[np.ndarray, dict]:
        """The points of a layer whose look may differ by class, and their header."""
        plane = _plane(points, where)
        self._grow(plane[:, 0], plane[:, 1])
        roles = [role] if isinstance(role, str) else list(role)
        shapes = [shape] if isinstance(shape, str) else list(shape)
        labels = [label] if label is None or isinstance(label, str) else list(label)
        number = 1
        if classes is not None:
            number = max(len(roles), len(shapes), len(labels))
            classes = self._integers(classes, f"{where} classes", len(plane), number).astype(np.uint8)
        for name, entries in (("role", roles), ("shape", shapes), ("label", labels)):
            if len(entries) not in (1, number):
                raise SceneError(f"{where}: {len(entries)} entries of {name} for {number} classes")
        for entry in shapes:
            if entry not in SHAPES:
                raise SceneError(f"{where}: unknown shape {entry!r}; known: {', '.join(SHAPES)}")
        if len(labels) == 1 and number > 1:
            labels = labels + [None] * (number - 1)  # one label names the layer, not each class
        extra = {
            "points": self._add(plane, where),
            "classes": None if classes is None else self._add(classes, where),
            "roles": [self._role(r, where) for r in roles],
            "shapes": shapes,
            "labels": labels,
        }
        return plane, extra

    def arrows(self, start, end, *, show="at", role="momentum", width=2.0, label=None, chain=None, **when: Unpack[When]) -> Panel:
        """Arrows from start (N, 2) to end (N, 2), in data coordinates."""
        where = self._where("arrows")
        show = _shown(show, when, where)
        tails, tips = _plane(start, where), _plane(end, where)
        if len(tails) != len(tips):
            raise SceneError(f"{where}: {len(tails)} starts and {len(tips)} ends")
        extra = {"start": self._add(tails, where), "end": self._add(tips, where), "width": float(width)}
        allowed = ("all", *STEPWISE, *INNER, "picked")
        return self._layer("arrows", where, show, role, label, extra, allowed, count=len(tails), chain=chain)

    def line(
        self, xs, ys, *, show="all", role="ink", band=None, width=2.0, dash=False, alpha=1.0, label=None, chain=None, **when: Unpack[When]
    ) -> Panel:
        """A curve ys (M,) over increasing xs (M,): still ("all"), or a trace up to the cursor ("upto", M = steps), or
        along the inner phase. ys (N, M): one curve a step ("at", or "upto" with `last`). `band` (lo, hi), each shaped as
        ys; of several curves that are seen, the band of the last."""
        where = self._where("line")
        show = _shown(show, when, where)
        xs, ys = _real(xs, where, ndim=1), _real(ys, where, ndim=(1, 2))
        if ys.shape[-1] != len(xs):
            raise SceneError(f"{where}: {len(xs)} xs and {ys.shape[-1]} ys")
        inner = (show if isinstance(show, str) else show.what) in INNER  # each transition begins anew
        if not inner and (np.diff(xs[np.isfinite(xs)]) < 0).any():
            raise SceneError(f"{where}: xs must increase; use path() for other curves")
        self._grow(xs, ys)
        if band is not None:
            band = [_real(b, f"{where} band", ndim=(1, 2)) for b in band]
            if len(band) != 2 or any(b.shape != ys.shape for b in band):
                raise SceneError(f"{where}: band is (lo, hi), each shaped as ys {ys.shape}")
            self._grow((), np.concatenate(band))
        extra = {
            "xs": self._add(xs, where),
            "ys": self._add(ys, where),
            "band": None if band is None else [self._add(b, where) for b in band],
            "width": float(width),
            "dash": bool(dash),
            "alpha": float(alpha),
        }
        allowed = ("all", "upto", *INNER) if ys.ndim == 1 else ("all", *STEPWISE)
        return self._layer("line", where, show, role, label, extra, allowed, count=len(ys), chain=chain)

    # -- layers of quantities ----------------------------------------------------------------------------------------

    def bars(
        self, values, *, labels, show=None, role="posterior", truth=None, marks="truth", label=None, chain=None, **when: Unpack[When]
    ) -> Panel:
        """Bars of values (K,), or of row t of values (N, K); `truth` (K,) is marked on each bar, and called `marks`."""
        where = self._where("bars")
        heights = _real(values, where, ndim=(1, 2))
        show = _shown(show or ("at" if heights.ndim == 2 else "all"), when, where)
        self._grow((), np.append(heights, 0.0))
        extra = {"values": self._add(heights, where), **self._bar_names(labels, heights.shape[-1], truth, where), "marks": marks}
        allowed = ("all",) if heights.ndim == 1 else ("all", *STEPWISE, *INNER)
        return self._layer("bars", where, show, role, label, extra, allowed, count=len(heights), chain=chain)

    def counts(self, categories, size, labels=None, *, show="upto", role="posterior", truth=None, label=None, burn=0, chain=None) -> Panel:
        """Bars of the running frequencies of categories (N,) in 0..size-1, the first `burn` left out."""
        where = self._where("counts")
        drawn = np.asarray(categories)
        drawn = self._integers(drawn, where, len(drawn) if drawn.ndim == 1 else self._bound.steps, size)
        names = list(labels) if labels is not None else [str(k) for k in range(size)]
        final = np.bincount(drawn[burn:], minlength=size)
        self._grow((), [0.0, *(final / max(1, final.sum()))])
        extra = {"values": self._add(drawn, where), "burn": int(burn), **self._bar_names(names, size, truth, where)}
        return self._layer("counts", where, show, role, label, extra, ("all", "upto"), count=len(drawn), chain=chain)

    def histogram(self, values, *, bins, show="upto", role="posterior", density=True, burn=0, label=None, chain=None) -> Panel:
        """A histogram of values (N,) over bins = (low, high, number), counted in the browser up to the cursor."""
        where = self._where("histogram")
        draws = _real(values, where, ndim=1)
        low, high = _interval(bins[:2], f"{where} bins")
        number = int(bins[2])
        if not 1 <= number <= 1000:
            raise SceneError(f"{where}: {number} bins, allowed are 1 to 1000")
        counts, _ = np.histogram(draws[burn:][np.isfinite(draws[burn:])], bins=number, range=(low, high))
        unit = counts.sum() * (high - low) / number if density else 1.0
        top = float(counts.max() / unit) if counts.any() else 1.0
        self._grow((low, high), (0.0, top))
        extra = {"values": self._add(draws, where), "bins": [low, high, number], "density": bool(density), "burn": int(burn)}
        return self._layer("histogram", where, show, role, label, extra, ("all", "upto"), len(draws), chain=chain)

    def network(self, sizes, weights, *, show=None, labels=None, active=None, before=None, proposed=None, phase=None, label=None) -> Panel:
        """A layered network. Weights (N, W) or (W,): layer by layer W row-major (out, in), then the biases; NaN is not
        drawn. `labels`: per layer a list of names or None. `active` (N, units) or (units,): 0 marks a unit that is not
        in the model.

        With `before` and `proposed`, shaped as `active`, units come and go: a step fades from those before it to those
        proposed (in the phase of that id, if the scene has phases) and on to the active ones. Units that are not there
        take no room, nor do layers without any; the weights behind such a layer then begin at the one before it."""
        where = self._where("network")
        sizes = [int(k) for k in sizes]
        if len(sizes) < 2 or min(sizes) < 1:
            raise SceneError(f"{where}: sizes needs at least two layers, got {sizes}")
        values = _real(weights, where, ndim=(1, 2))
        wanted = sum(b * a + b for a, b in pairwise(sizes))
        if values.shape[-1] != wanted:
            raise SceneError(f"{where}: sizes {sizes} have {wanted} weights, got {values.shape[-1]}")
        show = show or ("at" if values.ndim == 2 else "all")
        if labels is not None and [len(row) if row else n for row, n in zip(labels, sizes, strict=True)] != sizes:
            raise SceneError(f"{where}: labels need one list (or None) a layer, as long as the layer")
        flags = {"active": active, "before": before, "proposed": proposed}
        given = [name for name, flag in flags.items() if flag is not None]
        if given not in ([], ["active"], list(flags)):
            raise SceneError(f"{where}: before and proposed go together, and with active")
        for name in given:
            flag, shape = np.asarray(flags[name]), (*values.shape[:-1], sum(sizes))
            if flag.shape != shape:
                raise SceneError(f"{where}: {name} needs shape {shape}, has {flag.shape}")
            flags[name] = self._add((flag != 0).astype(np.uint8), where)
        ids = [known.id for known in self._bound.phases]
        if phase is not None and phase not in ids:
            raise SceneError(f"{where}: unknown phase {phase!r}; known: {', '.join(ids) or 'none'}")
        finite = np.abs(values[np.isfinite(values)])
        extra = {
            "sizes": sizes,
            "weights": self._add(values, where),
            "labels": None if labels is None else [list(map(str, row)) if row else None for row in labels],
            **flags,
            "phase": None if phase is None else ids.index(phase),
            "scale": float(np.quantile(finite, 0.98)) if finite.size else 1.0,  # the weight drawn at full width
        }
        allowed = ("all",) if values.ndim == 1 else STEPWISE
        return self._layer("network", where, show, "ink", label, extra, allowed, count=len(values))

    # -- shared ------------------------------------------------------------------------------------------------------

    def _layer(self, kind, where, show, role, label, extra, allowed=("all",), count=None, chain=None) -> Panel:
        if chain is not None:
            if not 0 <= int(chain) <= 7:
                raise SceneError(f"{where}: chain {chain} is outside 0..7")
            role = f"chain-{int(chain)}"
            if kind == "points":
                extra["roles"] = [role]
        self.layers.append(
            {
                "kind": kind,
                "show": self._bound.show(show, allowed, count, where),
                "role": self._role(role, where),
                "label": None if label is None else str(label),
                "chain": None if chain is None else int(chain),
                **extra,
            }
        )
        return self

    def _where(self, kind: str) -> str:
        return f"panel {self.id!r}, layer {len(self.layers)} ({kind})"

    def _add(self, values: Any, where: str) -> int:
        return self._bound.arrays.add(values, where)

    def _grow(self, xs: Any, ys: Any) -> None:
        """Notes the extent of a layer, for axes without a range."""
        for axis, values in (("x", xs), ("y", ys)):
            values = np.asarray(values, dtype=float)
            values = values[np.isfinite(values)]
            if values.size:
                self._extent[axis] += [float(values.min()), float(values.max())]

    @staticmethod
    def _role(role: str, where: str) -> str:
        if role not in ROLES:
            raise SceneError(f"{where}: unknown role {role!r}")
        return role

    @staticmethod
    def _integers(values: Any, where: str, length: int, below: int) -> np.ndarray:
        array = np.asarray(values)
        if array.dtype.kind not in "iub" or array.shape != (length,):
            raise SceneError(f"{where}: needs {length} integers, has {array.dtype} {array.shape}")
        if array.size and not (array.min() >= 0 and array.max() < below):
            raise SceneError(f"{where}: values outside 0..{below - 1}")
        return array.astype(np.int32)

    def _placed(self, at: Any, where: str, below: int) -> np.ndarray:
        """Numbers of polylines or frames, one a step, perhaps with one for before the first."""
        steps = self._bound.steps
        return self._integers(at, where, steps + (np.shape(at) == (steps + 1,)), below)

    @staticmethod
    def _mask(mask: Any, length: int, where: str) -> np.ndarray:
        array = np.asarray(mask)
        if array.shape != (length,):
            raise SceneError(f"{where}: mask needs shape ({length},), has {array.shape}")
        return (array != 0).astype(np.uint8)

    def _bar_names(self, labels: Sequence, size: int, truth: Any, where: str) -> dict:
        names = [str(name) for name in labels]
        if len(names) != size:
            raise SceneError(f"{where}: {len(names)} labels for {size} bars")
        if truth is not None:
            truth = _real(truth, f"{where} truth", ndim=1)
            if len(truth) != size:
                raise SceneError(f"{where}: {len(truth)} truths for {size} bars")
            self._grow((), truth)
            truth = self._add(truth, where)
        return {"labels": names, "truth": truth}

    def _editable(self, editable: Editable | None, where: str) -> dict | None:
        if editable is None:
            return None
        names = [str(name) for name in editable.classes]
        if not 1 <= len(names) <= 3:
            raise SceneError(f"{where}: editable needs 1 to 3 classes")
        rows = _real(editable.points, f"{where} editable", ndim=2) if len(editable.points) else np.zeros((0, 3))
        if rows.shape[1] == 2:
            rows = np.column_stack([rows, np.zeros(len(rows))])
        if rows.shape[1] != 3 or not np.isfinite(rows).all() or not np.isin(rows[:, 2], range(len(names))).all():
            raise SceneError(f"{where}: editable rows are (x, y) or (x, y, class), finite, class below {len(names)}")
        if not 1 <= editable.limit <= 1000 or len(rows) > editable.limit:
            raise SceneError(f"{where}: {len(rows)} editable points, limit {editable.limit} (at most 1000)")
        self._grow(rows[:, 0], rows[:, 1])
        return {"points": self._add(rows.astype(float), where), "classes": names, "limit": editable.limit}

    def _axis(self, which: str, axis: Axis | None) -> dict | None:
        """The axis as the player needs it: with a finite range, taken from the data where the lesson gives none."""
        if axis is None:
            return None
        where = f"panel {self.id!r}, {which} axis"
        low, high = axis.low, axis.high
        if low is None or high is None:
            extent = [v for v in self._extent[which] if not axis.log or v > 0]
            if not extent:
                raise SceneError(f"{where}: no range given and no finite data to take it from")
            data_low, data_high = min(extent), max(extent)
            pad = 0.0 if axis.log else 0.04 * (data_high - data_low) or 0.5
            from_zero = which == "y" and any(k["kind"] in ("bars", "counts", "histogram") for k in self.layers)
            low = (data_low if from_zero and data_low == 0 else data_low - pad) if low is None else low
            high = data_high + pad if high is None else high
            if axis.log and low >= high:
                low, high = low / 2, high * 2
        low, high = _interval((low, high), where)
        if axis.log and low <= 0:
            raise SceneError(f"{where}: a logarithmic axis needs low > 0")
        ticks = None if axis.ticks is None else [[float(value), str(name)] for value, name in axis.ticks]
        return {"label": axis.label, "low": low, "high": high, "log": bool(axis.log), "ticks": ticks}

    def _quantity(self) -> str:
        """What the bars of this panel count, as the label of their own scale."""
        for layer in self.layers:
            if layer["kind"] == "histogram":
                return "density" if layer["density"] else "draws"
            if layer["kind"] == "counts":
                return "frequency"
        return ""

    def encode(self) -> dict:
        plane = {"path", "points", "arrows", "line", "contour", "heatmap", "text"}
        kinds = {layer["kind"] for layer in self.layers}
        if "histogram" in kinds and self.x is None:
            raise SceneError(f"panel {self.id!r}: a histogram needs an x axis")
        y = self.y
        if y is None and kinds & {"histogram", "counts", "bars"}:
            y = Axis(self._quantity())  # own scale
        if (kinds & plane or self._header["editable"]) and (self.x is None or y is None):
            raise SceneError(f"panel {self.id!r}: its layers need an x and a y axis")
        return {**self._header, "x": self._axis("x", self.x), "y": self._axis("y", y), "layers": self.layers}


# ---------------------------------------------------------------------------------------------------------------------
# The scene


class _Bound:
    """What the layers of a scene are bound to: its arrays, and the steps, phases, window and parts that say when their items
    are visible. The panels have this and not the scene, which has them: two that hold each other wait for the collector.
    """

    def __init__(self, steps: int, phases: Sequence[Phase]) -> None:
        self.steps, self.phases = steps, phases
        self.arrays = _Arrays()
        self.window: dict | None = None
        self.inner_count: int | None = None
        self.parts: dict[str, dict] = {}
        self.part_counts: dict[str, int] = {}

    def show(self, show: str | Show, allowed: Sequence[str], count: int | None, where: str) -> dict:
        """Checks a Show against the kinds a layer allows, the phases and the number of its items."""
        show = Show(show) if isinstance(show, str) else show
        if show.what not in allowed:
            raise SceneError(f"{where}: cannot show {show.what!r}; possible: {', '.join(allowed)}")
        parted = show.what == "picked" or show.parts is not None
        if parted and (show.parts not in self.parts or show.what not in PARTED):
            raise SceneError(f"{where}: {show.what!r} of parts {show.parts!r} needs scene.parts(name, …) first")
        if show.what in INNER and self.inner_count is None:
            raise SceneError(f"{where}: {show.what!r} needs scene.window(first, offsets) first")
        if count is not None and show.what != "all":
            wanted = self.inner_count if show.what in INNER else self.steps
            unit = "inner items" if show.what in INNER else "steps"
            if show.parts is not None:
                wanted, unit = self.part_counts[show.parts], f"parts {show.parts!r}"
            if count != wanted:
                raise SceneError(f"{where}: {count} items for {wanted} {unit}")
        if show.last is not None and (show.what != "upto" or show.last < 1):
            raise SceneError(f"{where}: last needs 'upto' and at least 1")
        ids = [phase.id for phase in self.phases]
        between: list[int | None] = [None, None]
        for end, phase in enumerate(show.phase or ()):
            if phase is not None:
                if phase not in ids:
                    raise SceneError(f"{where}: unknown phase {phase!r}; known: {', '.join(ids) or 'none'}")
                between[end] = ids.index(phase)
        span = None if between == [None, None] else [between[0] or 0, len(ids) - 1 if between[1] is None else between[1]]
        if span and span[0] > span[1]:
            raise SceneError(f"{where}: phase {show.phase} runs backwards")
        of = {} if show.parts is None else {"parts": show.parts}
        return {"what": show.what, "last": show.last, "fade": bool(show.fade), "phase": span, **of}


class Scene:
    """A run of `steps` transitions as the player shows it. See the module's head for the blob it becomes."""

    def __init__(
        self,
        *,
        run: str,
        steps: int,
        label: str,
        rate: float = 20.0,
        phases: Sequence[Phase] = (),
        start: int | None = None,
        autoplay: bool = False,
        total: int | None = None,
        theme: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        if int(steps) < 1:
            raise SceneError(f"a scene needs at least one step, got {steps}")
        if not label.strip():
            raise SceneError("a scene needs a label: one sentence saying what the picture shows")
        if not (np.isfinite(rate) and rate > 0):
            raise SceneError(f"rate must be positive, got {rate}")
        if start is not None and not 0 <= start < (total or steps):
            raise SceneError(f"start {start} is outside 0..{(total or steps) - 1}")
        if total is not None and total < steps:
            raise SceneError(f"total {total} is below steps {steps}")
        self.run, self.steps, self.label = str(run), int(steps), label
        self.rate, self.start, self.autoplay, self.total = float(rate), start, bool(autoplay), total
        self._inside: dict[str, Any] | None = None
        self.phases = self._checked_phases(phases)
        self.theme = self._checked_theme(theme)
        self.panels: list[Panel] = []
        self._bound = _Bound(self.steps, self.phases)
        self._readouts: list[dict] = []
        self._say: list[dict] = []
        self._table: list[dict] = []
        self._places: dict[str, Place] = {}
        self._row_heights: list[int] = []
        self._named: dict[str, Any] = {}
        self._inner_named: dict[str, Any] = {}

    def layout(self, plan: str, heights: int | Sequence[int] = 320) -> Scene:
        """Where the panels stand on the wide stage: `"map*9 energy*6 / map*9 distance*6"`, a row after the other, each
        panel by its id and its share of the width; one that is named in several rows spans them. heights : of the
        rows, px, which their panels take over. Call it before adding panels; those not named get a row of their own.
        """
        self._places = read_layout(plan)
        rows = plan.count("/") + 1
        self._row_heights = [heights] * rows if isinstance(heights, int) else [int(height) for height in heights]
        if len(self._row_heights) != rows:
            raise SceneError(f"layout: {len(self._row_heights)} heights for {rows} rows")
        return self

    def window(self, first: int, offsets) -> Scene:
        """The inside of transitions first..first+W-1: inner item i of transition t is row offsets[t-first]+i of the
        inner arrays. Call it before adding inner layers."""
        bounds = np.asarray(offsets)
        if bounds.ndim != 1 or len(bounds) < 2 or bounds.dtype.kind not in "iu":
            raise SceneError(f"window: offsets must be at least 2 integers, are {bounds.dtype} {bounds.shape}")
        width = len(bounds) - 1
        if width > MAX_WINDOW:
            raise SceneError(f"window: {width} transitions, allowed are {MAX_WINDOW}")
        if bounds[0] != 0 or (np.diff(bounds) < 0).any():
            raise SceneError("window: offsets must start at 0 and never fall")
        if first < 0 or first + width > self.steps:
            raise SceneError(f"window: transitions {first}..{first + width - 1} are outside 0..{self.steps - 1}")
        self._bound.inner_count = int(bounds[-1])
        self._bound.window = {"first": int(first), "offsets": self._bound.arrays.add(bounds, "window")}
        return self

    def parts(self, name: str, offsets, at, *, low, high, hint: str = "") -> Scene:
        """A set of items inside the window's transitions that are not its sub-steps: those of transition t are rows
        offsets[t-first].. of the arrays of layers with `Show(..., parts=name)`. Item j appears at sub-step at[j] of
        the inner phase (never falling within a transition) and spans the numbers low[j]..high[j]. Pointing at an item
        in one panel picks it: in every panel whatever lies within its span stands out, and the card shows the lines
        of `part_line`; until then it shows `hint` and the item that came last. Call it after `window` and before the
        layers."""
        where = f"parts {name!r}"
        if self._bound.window is None:
            raise SceneError(f"{where}: needs scene.window(first, offsets) first")
        if name in self._bound.parts:
            raise SceneError(f"two sets of parts are called {name!r}")
        bounds = np.asarray(offsets)
        width = len(self._bound.arrays.parts[self._bound.window["offsets"]])
        if bounds.dtype.kind not in "iu" or bounds.shape != (width,) or bounds[0] != 0 or (np.diff(bounds) < 0).any():
            raise SceneError(f"{where}: offsets must be {width} integers that start at 0 and never fall")
        count = int(bounds[-1])
        arrays = {"offsets": bounds}
        for key, values in (("at", at), ("low", low), ("high", high)):
            arrays[key] = np.asarray(values)
            if arrays[key].dtype.kind not in "iu" or arrays[key].shape != (count,):
                raise SceneError(f"{where}: {key} needs {count} integers")
        falls = np.flatnonzero(np.diff(arrays["at"]) < 0) + 1
        if not np.isin(falls, bounds).all():
            raise SceneError(f"{where}: at falls within a transition")
        bound = {key: self._bound.arrays.add(values, where) for key, values in arrays.items()}
        self._bound.parts[name] = {**bound, "hint": str(hint), "lines": []}
        self._bound.part_counts[name] = count
        return self

    def part_line(self, parts: str, template: str, *, when: Any = None, **values: Any) -> Scene:
        """A line of the card that tells of the item pointed at. Values, and `when` (0: not for this item), have one
        entry an item of the set."""
        where = f"parts {parts!r}, line {template[:30]!r}"
        if parts not in self._bound.parts:
            raise SceneError(f"{where}: no such set; known: {', '.join(self._bound.parts) or 'none'}")
        count = self._bound.part_counts[parts]
        for name, value in {**values, **({} if when is None else {"when": when})}.items():
            if np.asarray(value).shape != (count,):
                raise SceneError(f"{where}: {name} needs shape ({count},), has {np.asarray(value).shape}")
        self._bound.parts[parts]["lines"].append(
            {
                "tokens": compile_template(template, values, where),
                "values": {name: {"array": self._bound.arrays.add(value, where)} for name, value in values.items()},
                "when": None if when is None else self._bound.arrays.add((np.asarray(when) != 0).astype(np.uint8), where),
            }
        )
        return self

    def panel(
        self,
        id: str,
        *,
        title: str = "",
        x: AxisLike = None,
        y: AxisLike = None,
        place: Place | None = None,
        equal: bool = False,
        height: int = 320,
        editable: Editable | None = None,
        clickable: bool = False,
    ) -> Panel:
        """Adds a panel where `layout` says, or at place = (column, row, columnspan, rowspan) of the wide stage; None: a
        row of its own. An axis is an `Axis`, its label, or its label and its range. A clickable panel sends a "click"
        event, which runs the page again, so ask for it only where it is used."""
        if any(panel.id == id for panel in self.panels):
            raise SceneError(f"two panels are called {id!r}")
        if id in self._places and place is None:
            place = self._places[id]
            height = sum(self._row_heights[place[1] : place[1] + place[3]])
        self.panels.append(Panel(self._bound, id, title, x, y, place, equal, height, editable, clickable))
        return self.panels[-1]

    def readout(
        self, id: str, template: str, *, show: str | Show = "all", inner: bool = False, withheld: bool = False, **values: Any
    ) -> Scene:
        """A line of the arithmetic card. Values are (steps,) arrays; with `inner`, arrays of inner items may be mixed
        in, told apart by their length. `withheld`: it tells of the whole run, so it is not there while the stage waits for a
        prediction."""
        where = f"readout {id!r}"
        tokens = compile_template(template, values, where)
        return self._card(id, tokens, self._values(values, inner, where), show, where, withheld)

    def values(self, **named: Any) -> Scene:
        """Values of the transitions, (steps,) each, by the names that `line` and its templates call them."""
        return self._name(self._named, named, self.steps)

    def inner_values(self, **named: Any) -> Scene:
        """The same of the items inside the window's transitions. Call it after `window`."""
        if self._bound.inner_count is None:
            raise SceneError("inner values need scene.window(first, offsets) first")
        return self._name(self._inner_named, named, self._bound.inner_count)

    def inside(self, names: Sequence[str], which: Any) -> Scene:
        """What happens in each item inside the window's transitions: names[which[j]], or nothing named where which[j] is
        len(names). The code beside the stage lights its lines by it. Call it after `window`."""
        if self._bound.inner_count is None:
            raise SceneError("inside needs scene.window(first, offsets) first")
        values = np.asarray(which)
        if values.shape != (self._bound.inner_count,) or values.dtype.kind not in "iu" or ((values < 0) | (values > len(names))).any():
            raise SceneError(f"inside: which needs {self._bound.inner_count} integers from 0 to {len(names)}")
        self._inside = {"names": list(names), "which": self._bound.arrays.add(values.astype(np.uint8), "inside")}
        return self

    def line(self, id: str, template: str, *, show: str | Show = "all", **when: Unpack[When]) -> Scene:
        """A line of the arithmetic card, of values that `values` and `inner_values` have named."""
        where, known = f"line {id!r}", {**self._named, **self._inner_named}
        tokens = compile_template(template, known, where)
        used = {token["name"] for token in tokens if isinstance(token, dict)}
        bound = {
            name: {"array": self._bound.arrays.add(values, f"{where}, {name}"), "inner": name in self._inner_named}
            for name, values in known.items()
            if name in used
        }
        return self._card(id, tokens, bound, _shown(show, when, where), where)

    def _card(self, id: str, tokens: list[Any], values: dict[str, dict], show: str | Show, where: str, held: bool = False) -> Scene:
        if any(line["id"] == id for line in self._readouts):
            raise SceneError(f"two lines of the card are called {id!r}")
        shown = self._bound.show(show, ("all", *STEPWISE, *INNER), None, where)
        self._readouts.append({"id": id, "tokens": tokens, "values": values, "show": shown, **({"held": True} if held else {})})
        return self

    def _name(self, known: dict[str, Any], named: Mapping[str, Any], count: int) -> Scene:
        for name, values in named.items():
            if name in self._named or name in self._inner_named or name in _BUILT_IN:
                raise SceneError(f"two values are called {name!r}")
            if np.shape(values) != (count,):
                raise SceneError(f"value {name!r} needs shape ({count},), has {np.shape(values)}")
            known[name] = values
        return self

    def say(self, template: str, *, show: str | Show = "all", withheld: bool = False, **values: Any) -> Scene:
        """The sentence spoken for the current state. Called again, it adds a sentence (say one a phase). `withheld`: as of
        a line of the card."""
        tokens = compile_template(template, values, "say")
        shown = self._bound.show(show, ("all", *STEPWISE), None, "say")
        spoken = {"tokens": tokens, "values": self._values(values, False, "say"), "show": shown}
        self._say.append({**spoken, **({"held": True} if withheld else {})})
        return self

    def table(self, columns: Mapping[str, Any]) -> Scene:
        """The table twin of the picture, also the CSV export: columns of (steps,) values."""
        for name, values in columns.items():
            array = np.asarray(values)
            if array.shape != (self.steps,):
                raise SceneError(f"table column {name!r}: needs shape ({self.steps},), has {array.shape}")
            self._table.append({"name": str(name), "values": self._bound.arrays.add(array, f"table column {name!r}")})
        return self

    def encode(self) -> bytes:
        """The blob."""
        if not self.panels:
            raise SceneError("a scene needs at least one panel")
        missing = self._places.keys() - {panel.id for panel in self.panels}
        if missing:
            raise SceneError(f"layout: no panel is called {', '.join(sorted(missing))}")
        if any(p.count == "inner" for p in self.phases) and self._bound.window is None and self._has_inner_layers():
            raise SceneError("inner layers need a window")
        header = {
            "v": VERSION,
            "run": self.run,
            "steps": self.steps,
            "total": self.total,
            "label": self.label,
            "rate": self.rate,
            "start": self.start,
            "autoplay": self.autoplay,
            "phases": [{"id": p.id, "label": p.label or p.id, "count": p.count} for p in self.phases],
            "theme": self.theme,
            "window": self._bound.window,
            "inside": self._inside,
            "parts": {name: {**parts, "tallest": self._tallest(parts)} for name, parts in self._bound.parts.items()},
            "panels": [panel.encode() for panel in self.panels],
            "readouts": self._readouts,
            "say": self._say,
            "table": self._table,
        }
        return _packed(header, self._bound.arrays)

    # -- shared ------------------------------------------------------------------------------------------------------

    @staticmethod
    def _checked_phases(phases: Sequence[Phase]) -> tuple[Phase, ...]:
        ids = [phase.id for phase in phases]
        if len(set(ids)) != len(ids):
            raise SceneError(f"phases need different ids, got {ids}")
        if sum(phase.count == "inner" for phase in phases) > 1:
            raise SceneError("only one phase can have the inner count")
        for phase in phases:
            if phase.count != "inner" and not (isinstance(phase.count, int) and phase.count >= 1):
                raise SceneError(f'phase {phase.id!r}: count is a positive int or "inner", got {phase.count!r}')
        if phases and phases[-1].count == "inner":
            raise SceneError("the last phase settles the transition and cannot be the inner one")
        return tuple(phases)

    @staticmethod
    def _checked_theme(theme: Mapping[str, Mapping[str, str]] | None) -> dict[str, dict[str, str]] | None:
        if theme is None:
            return None
        for mode, colors in theme.items():
            if mode not in ("light", "dark"):
                raise SceneError(f"theme: unknown mode {mode!r}; known: light, dark")
            for role, color in colors.items():
                if role not in ROLES or not _HEX.fullmatch(color):
                    raise SceneError(f"theme {mode}: {role!r} = {color!r} is not a role with a #rrggbb colour")
        return {mode: dict(colors) for mode, colors in theme.items()}

    def _has_inner_layers(self) -> bool:
        return any(layer["show"]["what"] in INNER for panel in self.panels for layer in panel.layers)

    def _tallest(self, parts: dict) -> int:
        """Most lines that the card needs for one item."""
        shown = [1 if line["when"] is None else self._bound.arrays.parts[line["when"]] for line in parts["lines"]]
        return int(np.max(sum(shown), initial=0)) if shown else 0

    def _values(self, values: Mapping[str, Any], inner: bool, where: str) -> dict[str, dict]:
        bound = {}
        for name, value in values.items():
            array = np.asarray(value)
            is_inner = inner and array.shape == (self._bound.inner_count,)
            if not is_inner and array.shape != (self.steps,):
                wanted = f"({self.steps},)" + (f" or ({self._bound.inner_count},)" if inner else "")
                raise SceneError(f"{where}: {name} needs shape {wanted}, has {array.shape}")
            bound[name] = {"array": self._bound.arrays.add(array, f"{where}, {name}"), "inner": is_inner}
        return bound


def header(blob: bytes) -> dict:
    """The header of a blob."""
    (length,) = struct.unpack_from("<I", blob)
    return dict(json.loads(blob[4 : 4 + length]))


def _packed(header: dict[str, Any], arrays: _Arrays) -> bytes:
    entries, size = arrays.layout()
    try:
        text = json.dumps({**header, "arrays": entries}, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except ValueError as error:
        raise SceneError(f"the header holds a number that is not finite ({error})") from None
    text += b" " * (-(4 + len(text)) % ALIGNMENT)
    if 4 + len(text) + size > MAX_BYTES:
        raise SceneError(f"the scene has {(4 + len(text) + size) / 1e6:.1f} MB, allowed are {MAX_BYTES / 1e6:.0f}")
    return struct.pack("<I", len(text)) + text + arrays.tobytes()


def pack(header: dict[str, Any], arrays: Sequence[np.ndarray]) -> bytes:
    """The blob of a header and its arrays: what `decode` returns, and may have been changed since."""
    stored = _Arrays()
    stored.parts = list(arrays)
    return _packed(header, stored)


def pack_bound(header: Mapping[str, Any]) -> bytes:
    """The blob of a header in which arrays stand in place of their numbers."""
    arrays = _Arrays()

    def bound(part: Any) -> Any:
        if isinstance(part, np.ndarray):
            return arrays.add(part, "an array")
        if isinstance(part, Mapping):
            return {key: bound(value) for key, value in part.items()}
        return [bound(value) for value in part] if isinstance(part, list | tuple) else part

    return _packed(bound(header), arrays)


def decode(blob: bytes) -> tuple[dict, list[np.ndarray]]:
    """The header and the arrays of a blob, for tests and tools."""
    found = header(blob)
    base = 4 + struct.unpack_from("<I", blob)[0]
    arrays = []
    for entry in found["arrays"]:
        count = int(np.prod(entry["shape"], dtype=int))
        flat = np.frombuffer(blob, dtype=np.dtype(entry["dtype"]), count=count, offset=base + entry["offset"])
        arrays.append(flat.reshape(entry["shape"]))
    return found, arrays
