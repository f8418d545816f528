"""What the stage shows while a slider is dragged: the pictures of the settings around the present one, in a table that
travels when the reader's hand comes near the slider.

Each picture is the lesson's own, of the engine's own run at a stop of the slider, as it stands at the transition on
stage; of it go what differs from stop to stop. So there is nothing here that could be wrong where the run is right. At
the stops of the table the player shows these pictures; between two of them it draws what lies between. It marks the
picture as a preview, and the run takes its place once the slider is let go.

app/static/player/preview.js reads the table.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from app.kit.player import frozen, scene
from app.kit.stops import stops
from engine.spec import Declaration, Spec, SpecError
from engine.targets.spec import TargetSpec

FEW = 40  # stops of which each has its picture
SIDE = 12  # else pictures on either side of the present value, the denser the nearer
MOST = 500_000  # bytes of a table
FINE = 101  # nodes a side

Picture = Callable[[Any, int | None], bytes]


@dataclass(frozen=True)
class Preview:
    """What follows the slider of one field.

    panels : those whose marks follow it; none: all
    smooth : whether between two pictures of the table lies another; else of what the run draws the nearer one is shown
    instead : (spec on stage, spec under the slider, transition) → the picture, in place of the lesson's own
    whole : spec → the picture of the whole run, where the lesson's own is that of its beginning
    slow : spec → whether such a run takes seconds by nature; then there is no table
    """

    panels: tuple[str, ...] = ()
    smooth: bool = True
    instead: Callable[[Any, Any, int], bytes] | None = None
    whole: Callable[[Any], bytes] | None = None
    slow: Callable[[Any], bool] = lambda spec: False

    def picture(self, scene: Picture) -> Picture:
        """What a run that is over looks like, in a lesson with this scene."""
        whole = self.whole
        return scene if whole is None else lambda spec, window: whole(spec)


def of_target(names: Collection[str] = ()) -> dict[str, Preview]:
    """The previews of the parameters of a run's target, and of other fields that decide the run."""
    numbers = [name for name, declared in TargetSpec.declarations().items() if declared.kind == "number"]
    return dict.fromkeys((*numbers, *names), Preview(smooth=False))


@dataclass(frozen=True)
class Asked:
    """What a player asks for.

    field : of the slider
    t, upto : the transition on stage, and the newest draw that counts there
    id : by which it knows the answer
    """

    field: str
    t: int
    upto: int
    id: int

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> Asked | None:
        """The wish in an event of the player; None where it makes no sense."""
        field, numbers = event.get("field"), [event.get(name) for name in ("t", "upto", "id")]
        if not isinstance(field, str) or not all(isinstance(each, int) and -1 <= each < 2**31 for each in numbers):
            return None
        t, upto, id = (int(each) for each in numbers if each is not None)
        return cls(field, t, upto, id) if t >= 0 and upto in (t, t - 1) else None


def grid(declaration: Declaration, value: float) -> list[float]:
    """The stops of a slider that have a picture: all, or those that lie the denser, the nearer they are to `value`.

    `value` is the first. Of the others each beginning is spread over the slider: dear pictures are made as far as time
    allows.
    """
    every = stops(declaration, value)
    here = int(np.argmin(np.abs(np.array(every) - value)))
    if len(every) <= FEW:
        found = set(range(len(every)))
    else:
        reach = np.linspace(0.0, 1.0, SIDE + 1) ** 3
        ends = here - reach * here, here + reach * (len(every) - 1 - here)
        found = {round(float(place)) for end in ends for place in end}
    below = sorted((place for place in found if place < here), reverse=True)
    above = sorted(place for place in found if place > here)
    spread = [place for pair in zip_longest(_spread(below), _spread(above)) for place in pair if place is not None]
    return [every[place] for place in (here, *spread)]


def _spread(places: Sequence[int]) -> list[int]:
    """The places in an order of which each beginning is spread over all: van der Corput's."""
    bits = len(places).bit_length()
    return [places[k - 1] for k in sorted(range(1, len(places) + 1), key=lambda k: f"{k:0{bits}b}"[::-1])]


def tables(
    preview: Preview,
    picture: Picture,
    spec: Spec,
    asked: Asked,
    ended: Callable[[], bool] = lambda: False,
    due: Callable[[], bool] = lambda: False,
) -> Iterator[bytes]:
    """The table of a field: pictures of other values around that of `spec`, as far on either side as there are any.
    Before it, what there is of it so far.

    picture : (spec, window) → the lesson's picture
    ended : whether nobody wants it any more, or it has taken long enough
    due : whether it is time to show what there is
    """
    declaration = spec.declarations()[asked.field]
    value, picture = float(getattr(spec, asked.field)), preview.picture(picture)
    first = _cut(picture(spec, None), preview, asked) or _cut(picture(spec, asked.t), preview, asked)
    if first is None:
        raise ValueError(f"the picture has no transition {asked.t}")
    shots, size = {value: first}, 0
    low, high = -math.inf, math.inf  # from there on there is no such picture

    def packed() -> bytes:
        scale = _Scale(declaration, value)
        frames = [{"at": scale(stop), "panels": panels} for stop, panels in sorted(_varied(shots).items())]
        return scene.pack_bound({"v": scene.VERSION, "id": asked.id, "max": scale.high, "smooth": preview.smooth, "frames": frames})

    for stop in grid(declaration, value)[1:]:
        if not low < stop < high:
            continue
        if size > MOST or ended():
            break
        try:
            shot = _shot(preview, picture, spec, spec_at(spec, asked.field, stop), asked)
        except InterruptedError:  # in the midst of a picture
            break
        if ended():  # it may be half a picture
            break
        if shot is None or shot.keys() != first.keys():
            low, high = (stop, high) if stop < value else (low, stop)
            shots = {at: shot for at, shot in shots.items() if low < at < high}
            continue
        shots[stop] = shot
        size += _bytes(shot, first)
        if due():
            yield packed()
    yield packed()


def spec_at(spec: Spec, field: str, stop: float) -> Spec | None:
    """The settings with another value of a field; None where they make no sense."""
    try:
        return spec.replace(**{field: stop})
    except SpecError:
        return None


class _Scale:
    """Where a value stands on its slider, as the browser's own element counts: by value, or by stop."""

    def __init__(self, declaration: Declaration, value: float):
        every = stops(declaration, value)
        self._places = {stop: place for place, stop in enumerate(every)} if declaration.log else None
        self.high = float(len(every) - 1 if declaration.log else declaration.high)

    def __call__(self, value: float) -> float:
        return float(value if self._places is None else self._places[value])


def _shot(preview: Preview, picture: Picture, old: Spec, spec: Spec | None, asked: Asked) -> _Shot | None:
    if spec is None:
        return None
    try:
        if preview.instead is not None:
            return _cut(preview.instead(old, spec, asked.t), preview, asked)
        return _cut(picture(spec, None), preview, asked) or _cut(picture(spec, asked.t), preview, asked)
    except SpecError:
        return None


_Shot = dict[str, dict[str, Any]]  # panel → {"x", "y": its axes, "edits", "layers": {name: layer with its arrays}}


def _cut(blob: bytes, preview: Preview, asked: Asked) -> _Shot | None:
    """The marks of a picture at the transition, or where it ends before that; None if it has not got its inside."""
    header, arrays = scene.decode(blob)
    t = min(asked.t, header["steps"] - 1)  # there the player will stand in the new run
    if not frozen.has_inside(header, arrays, t):
        return None
    cut = frozen.Frozen(header, arrays, t, t - asked.t + asked.upto)
    return {
        panel["id"]: {
            "x": panel["x"],
            "y": panel["y"],
            "edits": arrays[panel["editable"]["points"]] if panel["editable"] else None,
            "layers": dict(_named(panel["layers"], cut)),
        }
        for panel in header["panels"]
        if not preview.panels or panel["id"] in preview.panels
    }


def _named(layers: Sequence[Mapping[str, Any]], cut: frozen.Frozen) -> Iterator[tuple[str, dict[str, Any]]]:
    """The marks of a panel by kind, role and place among those of the same: another picture may have some more."""
    met: Counter[tuple[str, str]] = Counter()
    for layer in layers:
        same = layer["kind"], layer["role"]
        met[same] += 1
        found = cut.layer(layer)
        if found is not None:
            yield f"{layer['kind']} {layer['role']} {met[same]}", _thinned(found)


def _thinned(layer: dict[str, Any]) -> dict[str, Any]:
    """Isolines on every second node of a fine grid: they are most of the bytes."""
    if layer["kind"] != "contour" or min(layer["values"].shape) < FINE or not all(n % 2 for n in layer["values"].shape):
        return layer
    return {**layer, "values": np.ascontiguousarray(layer["values"][::2, ::2])}


def _varied(shots: Mapping[float, _Shot]) -> dict[float, dict[str, Any]]:
    """What differs from picture to picture: of each panel its axes and its layers; None: a layer that is not there."""
    every = list(shots.values())
    kept: dict[str, tuple[list[str], list[str]]] = {}
    for id in every[0]:
        axes = [key for key in ("x", "y", "edits") if not _same([shot[id][key] for shot in every])]
        names = dict.fromkeys(name for shot in every for name in shot[id]["layers"])
        layers = [name for name in names if not _same([shot[id]["layers"].get(name) for shot in every])]
        if axes or layers:
            kept[id] = axes, layers
    return {
        stop: {
            id: {**{key: shot[id][key] for key in axes}, "layers": {name: shot[id]["layers"].get(name) for name in layers}}
            for id, (axes, layers) in kept.items()
        }
        for stop, shot in shots.items()
    }


def _same(parts: Sequence[Any]) -> bool:
    return all(_equal(parts[0], part) for part in parts[1:])


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    return type(a) is type(b) and bool(a == b)


def _bytes(shot: _Shot, first: _Shot) -> int:
    """What a picture adds to a table that begins with the first."""
    new: dict[int, int] = {}
    for panel, before in zip(shot.values(), first.values(), strict=True):
        for name, layer in panel["layers"].items():
            old = before["layers"].get(name, {})
            new |= {id(a): a.nbytes for key, a in layer.items() if isinstance(a, np.ndarray) and not _equal(a, old.get(key))}
    return sum(new.values())
