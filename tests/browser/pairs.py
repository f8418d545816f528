"""Two runs behind one beginning: what a step that waits for its prediction may show cannot tell them apart.

`behind(first, second, place)` is the picture of a second run, up to `place` that of the first. All else is the
second's: what always stands in the picture, words, the table, and whole panels that are not on stage there. Only the
ranges are the first's, for axes that hold a whole run stand still while it plays, and what is given before any run: the
truth, the prior, the data. `in_view` is what of a picture cannot depend on what comes. A server that has called `install`
serves such a picture to whoever opens a story's step with another seed than the step's own.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import direction, stage
from app.kit.lesson import Lesson
from app.kit.player import scene
from app.kit.visit import Visit
from engine.spec import Spec
from tests.lessons.pages import Job

Layer = dict[str, Any]
GIVEN = ("truth", "prior", "ink", "surface", "class-0", "class-1", "class-2")  # roles of what is there before any run
DRAWN = ("points", "classes", "mask", "start", "end", "xs", "ys", "values", "frames", "truth", "weights", "parents", "widths")


@dataclass(frozen=True)
class Beginning:
    """What is in view at the place where a step waits: the transitions before `t`, and of `t` what its phases have
    shown up to `phase`; None: all of it. panels : those on stage; none: all
    """

    t: int
    phase: int | None
    panels: tuple[str, ...] = ()

    @classmethod
    def of(cls, cue: direction.Cue, header: dict[str, Any]) -> Beginning:
        """That at which the player holds: clock.js, `direct`."""
        t, name = cue.until or cue.begins or (-1, None)
        phases = [phase["id"] for phase in header["phases"]]
        if t < 0:
            return cls(0, 0 if phases else None, cue.panels)
        return cls(t, None if name is None else phases.index(name), cue.panels)

    def settled(self) -> int:
        """How many transitions count as over."""
        return self.t + (self.phase is None)

    def seen(self, show: dict[str, Any]) -> int:
        """How many transitions have their items in view, of those that `show` lets see one by one."""
        if show["what"] == "upto":
            return self.settled()
        first = 0 if show["phase"] is None else show["phase"][0]
        return self.t + (self.phase is None or self.phase >= first)


def picture(lesson: Lesson, spec: Spec, window: int | None = None) -> bytes:
    """The finished picture of a run."""
    return lesson.grow(spec, Job()) if lesson.grow is not None and window is None else lesson.scene(spec, window)


def behind(first: bytes, second: bytes, begun: Beginning) -> bytes:
    """The second picture, with the beginning of the first."""
    return _Pair(first, second, begun).encode()


def in_view(blob: bytes, panels: tuple[str, ...] = ()) -> dict[str, Any]:
    """What of a picture is there at each of its places, by where it stands: marks that come and go with no transition,
    titles, names, the words of the card. panels : those on stage; none: all
    """
    header, arrays = scene.decode(blob)
    found: dict[str, Any] = {"label": header["label"], "steps": header["steps"]}
    for panel in header["panels"]:
        if panels and panel["id"] not in panels:
            continue
        found[panel["id"]] = panel["title"], panel["x"], panel["y"]
        for number, layer in enumerate(panel["layers"]):
            name = f"{panel['id']}, layer {number} ({layer['kind']})"
            found[name] = {key: layer[key] for key in ("label", "labels", "text") if key in layer}
            still = layer["show"]["what"] == "all" and layer.get("at") is None
            if still and not (layer["kind"] == "heatmap" and len(arrays[layer["frames"]]) > 1):
                indices = [*(layer[key] for key in DRAWN if isinstance(layer.get(key), int)), *(layer.get("band") or ())]
                found[f"{name}, drawn"] = [arrays[index].tobytes() for index in indices]
    for line in [*header["readouts"], *header["say"]]:
        if line.get("held"):
            continue  # it waits, too
        words = [token for token in line["tokens"] if isinstance(token, str)]
        found[f"words of {line.get('id', 'the voice')}, {line['show']}"] = words
    return found


class _Pair:
    def __init__(self, first: bytes, second: bytes, begun: Beginning):
        (self.one, self.ones), (self.two, self.twos) = scene.decode(first), scene.decode(second)
        self.begun, self.arrays = begun, list(self.twos)
        # of each set of items: how many, where in the second's the beginning ends, and where it is in the first's
        self.cuts: dict[str | None, tuple[int, int, slice]] = {}
        self.steps = self.two["steps"]
        phases = [phase["count"] for phase in self.two["phases"]]
        self.inside = phases.index("inner") if "inner" in phases else None

    def encode(self) -> bytes:
        """The blob."""
        one, two = self.one, self.two
        two["run"] = one["run"]
        if two["window"] is not None:
            self._windows(one, two)
        for mine, other in zip(two["panels"], one["panels"], strict=True):
            on_stage = not self.begun.panels or mine["id"] in self.begun.panels
            if on_stage:
                mine["x"], mine["y"] = other["x"], other["y"]
            for layer, before in zip(mine["layers"], other["layers"], strict=True):
                if on_stage or layer["show"]["what"] in (*scene.INNER, *scene.PARTED):  # whose inside is cut for all panels
                    self._layer(layer, before)
        for cards in ("readouts", "say"):
            for line, before in zip(two[cards], one[cards], strict=True):
                for name, value in line["values"].items():
                    cut = self._inner() if value["inner"] else self._steps(self.begun.seen(line["show"]))
                    self._join(value, before["values"][name], "array", cut)
        for column, before in zip(two["table"], one["table"], strict=True):
            self._join(column, before, "values", self._steps(self.begun.t + 1))  # the moment itself is found in it
        return scene.pack(two, self.arrays)

    def _layer(self, layer: Layer, before: Layer) -> None:
        what = layer["show"]["what"]
        if what == "all" and layer["role"] in GIVEN and layer["kind"] != "heatmap" and layer.get("at") is None:
            self._given(layer, before)
            return
        layer.update({key: before[key] for key in ("bins", "scale") if key in layer})
        if layer["kind"] in ("heatmap", "path") and layer.get("at") is not None:
            self._film(layer, before, "frames" if layer["kind"] == "heatmap" else "points")
        elif layer["kind"] == "heatmap":
            frames = self.twos[layer["frames"]].shape[0]
            if frames > 1:
                self._join(layer, before, "frames", self._steps((self.begun.settled() * frames) // self.steps + 1))
        elif what in scene.STEPWISE:
            for key in ("points", "classes", "mask", "start", "end", "xs", "ys", "values", "weights", "active", "before", "proposed"):
                if isinstance(layer.get(key), int):
                    self._join(layer, before, key, self._steps(self.begun.seen(layer["show"])))
            if layer.get("band"):
                cut, pairs = self._steps(self.begun.seen(layer["show"])), zip(layer["band"], before["band"], strict=True)
                layer["band"] = [self._joined(*pair, cut) for pair in pairs]
        elif what in scene.INNER or what in scene.PARTED:
            for key in ("points", "classes", "mask", "start", "end", "xs", "ys", "values", "weights", "parents", "widths"):
                if isinstance(layer.get(key), int):
                    self._join(layer, before, key, self._inner(layer["show"].get("parts")))

    def _given(self, layer: Layer, before: Layer) -> None:
        for key, index in layer.items():
            if key in DRAWN and isinstance(index, int) and isinstance(before.get(key), int):
                layer[key] = self._add(self.ones[before[key]])
        if layer.get("band"):
            layer["band"] = [self._add(self.ones[index]) for index in before["band"]]

    def _film(self, layer: Layer, before: Layer, key: str) -> None:
        """Frames of which each step shows one."""
        mine, other = self.twos[layer[key]], self.ones[before[key]]
        at = self.twos[layer["at"]] + len(other)
        known = max(self.begun.settled() + len(at) - self.steps, 1)  # with what stands before the first step, or is its own
        at[:known] = self.ones[before["at"]][:known]
        layer[key] = self._add(np.concatenate([other, mine]))
        layer["at"] = self._add(at.astype(np.int32))

    def _windows(self, one: dict[str, Any], two: dict[str, Any]) -> None:
        """The inside of the transitions in view is the first's, with its parts. The windows may begin at different
        transitions: a lesson sends as many as fit."""
        ahead = two["window"]["first"] - one["window"]["first"]
        within = self.inside is None or self.begun.phase is None or self.begun.phase >= self.inside
        opened = max(0, self.begun.t + within - two["window"]["first"])
        sets = {None: (two["window"], one["window"]), **{name: (two["parts"][name], one["parts"][name]) for name in two["parts"]}}
        for name, (entry, before) in sets.items():
            mine, other = self.twos[entry["offsets"]], self.ones[before["offsets"]]
            kept = min(opened, len(mine) - 1)
            assert not kept or 0 <= ahead <= ahead + kept < len(other), "the first's inside is not all here"
            shared = other[ahead : ahead + kept + 1] if kept else other[:1]
            self.cuts[name] = int(mine[-1]), int(mine[kept]), slice(int(shared[0]), int(shared[-1]))
            bounds = np.concatenate([shared, mine[kept + 1 :] - mine[kept] + shared[-1]]) - shared[0]
            entry["offsets"] = self._add(bounds.astype(np.int32))
        for name in two["parts"]:
            entry, before = sets[name]
            for key in ("at", "low", "high"):
                self._join(entry, before, key, self._inner(name))
            for line, known in zip(entry["lines"], before["lines"], strict=True):
                if line["when"] is not None:
                    self._join(line, known, "when", self._inner(name))
                for value in line["values"]:
                    self._join(line["values"][value], known["values"][value], "array", self._inner(name))

    def _steps(self, number: int) -> Callable[[NDArray, NDArray], NDArray]:
        def cut(mine: NDArray, other: NDArray) -> NDArray:
            if len(mine) != self.steps or mine.shape[1:] != other.shape[1:]:
                return mine  # one for all steps
            return np.concatenate([other[:number], mine[number:]])

        return cut

    def _inner(self, parts: str | None = None) -> Callable[[NDArray, NDArray], NDArray]:
        def cut(mine: NDArray, other: NDArray) -> NDArray:
            total, after, before = self.cuts[parts]
            return np.concatenate([other[before], mine[after:]]) if len(mine) == total else mine

        return cut

    def _join(self, entry: dict[str, Any], before: dict[str, Any], key: str, cut: Callable[[NDArray, NDArray], NDArray]) -> None:
        entry[key] = self._joined(entry[key], before[key], cut)

    def _joined(self, mine: int, other: int, cut: Callable[[NDArray, NDArray], NDArray]) -> int:
        return self._add(cut(self.twos[mine], self.ones[other]))

    def _add(self, array: NDArray) -> int:
        self.arrays.append(array)
        return len(self.arrays) - 1


def install() -> None:
    """Serve pairs."""
    shown = stage._picture
    firsts: dict[tuple[str, Spec, int | None], bytes] = {}

    def paired(lesson: Lesson, here: Visit) -> Any:
        work = shown(lesson, here)
        step = direction.present(lesson, here)
        own = None if step is None else direction.staged(lesson, step)
        if direction.asked(lesson, here) is None or own is None or own.seed == here.spec.seed or not here.shows(own):
            return work
        work.heartbeat()  # the page looks at the pair
        pair = copy.copy(work)
        pair.latest = None  # while it grows there is no pair: its layers come with its length
        if pair.result is not None:
            key = lesson.slug, here.spec.replace(seed=own.seed), here.window
            first = firsts.get(key) or firsts.setdefault(key, picture(lesson, *key[1:]))
            waiting = copy.copy(here)
            waiting.answers = {}
            cue = direction.cue(lesson, waiting, first)
            assert cue is not None
            pair.result = behind(first, pair.result, Beginning.of(cue, scene.decode(first)[0]))
        return pair

    stage._picture = paired
