"""One point through the network and back: one node is one step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.player.scene import Axis, Panel, Scene
from app.kit.text import minus
from engine.training import activation, activation_slope
from lessons.perceptron import analysis
from lessons.perceptron.analysis import Pass
from lessons.perceptron.spec import WORDS, PerceptronLesson

Array = NDArray[np.float64]
WIDTH = 3.0  # of the axis of z


@dataclass(frozen=True)
class Event:
    """One thing that happens: at which node (layer from 1 on, unit from 0), what is said of it."""

    kind: str  # forward, loss, delta or gradient
    layer: int
    unit: int
    words: str


def events(found: Pass, spec: PerceptronLesson) -> list[Event]:
    """Everything that happens, in order: forward, the loss, backward, the derivatives."""
    nodes, parameters = found.nodes, found.network.unpack(found.theta)
    last, made = len(parameters), []
    values = [found.x, *(value for _, value in nodes.layers)]
    for layer, (weights, biases) in enumerate(parameters, start=1):
        for unit, (row, bias) in enumerate(zip(weights, biases, strict=True)):
            terms = " + ".join(f"{_n(w)}·{_n(v)}" for w, v in zip(row, values[layer - 1], strict=True))
            pre, value = nodes.layers[layer - 1][0][unit], nodes.layers[layer - 1][1][unit]
            words = WORDS.phrase("nodes.forward", node=name(layer, unit, last, "z"), terms=terms, bias=_n(bias), sum=_r(pre))
            if layer < last:
                words += f";  {name(layer, unit, last, 'h')} = φ({_r(pre)}) = {_r(value)}"
            made.append(Event("forward", layer, unit, words))
    z, p = nodes.layers[-1][0][0], 1.0 / (1.0 + np.exp(-nodes.layers[-1][0][0]))
    chance = "p" if found.y else "(1 − p)"
    made.append(Event("loss", last, 0, WORDS.phrase("nodes.loss", z=_n(z), p=_r(p), y=found.y, chance=chance, loss=_r(nodes.loss))))
    made.append(Event("delta", last, 0, WORDS.phrase("nodes.delta_of_output", p=_r(p), y=found.y, delta=_r(p - found.y))))
    for layer in range(last - 1, 0, -1):
        following, delta = parameters[layer][0], nodes.delta[layer]
        for unit in range(len(nodes.delta[layer - 1])):
            terms = " + ".join(f"{_n(w)}·{_n(d)}" for w, d in zip(following[:, unit], delta, strict=True))
            slope = float(activation_slope(spec.activation, nodes.layers[layer - 1][0][unit]))
            of = {"node": name(layer, unit, last, "h"), "terms": terms, "slope": _n(slope), "delta": _r(nodes.delta[layer - 1][unit])}
            if spec.variant == "no_slope":
                words = WORDS.phrase("nodes.delta_without_slope", **of)
            else:
                words = WORDS.phrase("nodes.delta", arriving=_n(float(following[:, unit] @ delta)), **of)
            made.append(Event("delta", layer, unit, words))
    for layer in range(last, 0, -1):
        for unit, delta in enumerate(nodes.delta[layer - 1]):
            parts = ", ".join(f"{_n(delta)}·{_n(v)} = {_r(delta * v)}" for v in values[layer - 1])
            bias = _r(nodes.biases[layer - 1][unit])
            words = WORDS.phrase("nodes.gradient", node=name(layer, unit, last, "h"), parts=parts, bias=bias)
            made.append(Event("gradient", layer, unit, words))
    return made


def name(layer: int, unit: int, last: int, letter: str) -> str:
    """A node's name: z₁ or h₁, with two hidden layers z₂,₁; the output is z."""
    if layer == last:
        return "z"
    digits = "₀₁₂₃₄₅₆₇₈₉"
    return f"{letter}{digits[unit + 1]}" if last == 2 else f"{letter}{digits[layer]},{digits[unit + 1]}"


def _r(value: float) -> str:
    """A result."""
    return minus(f"{round(value, 3) + 0.0:.3f}")  # a rounded −0 is a 0


def _n(value: float) -> str:
    """A number inside a formula."""
    return f"({_r(value)})" if value < 0 else _r(value)


def stage(spec: PerceptronLesson) -> Scene:
    """The scene of the pass."""
    found = analysis.one_pass(spec)
    made = events(found, spec)
    picture = Scene(run=repr(spec), steps=len(made), rate=1.0, theme=theme.palette(), label=WORDS.phrase("nodes.picture"))
    _diagram(picture, found, made)
    _gradient(picture, found, made)
    _values(picture, found, made)
    _activation(picture, spec, found, made)
    _words(picture, found, made)
    return picture


def _places(sizes: tuple[int, ...]) -> list[Array]:
    """Where the nodes of every layer stand."""
    return [
        np.column_stack([np.full(n, float(layer)), (np.arange(n)[::-1] - 0.5 * (n - 1)) / max(max(sizes) - 1, 1)])
        for layer, n in enumerate(sizes)
    ]


def _diagram(picture: Scene, found: Pass, made: list[Event]) -> None:
    sizes = found.network.sizes
    places, last = _places(sizes), len(sizes) - 1
    panel = picture.panel(
        "network",
        title=WORDS.phrase("nodes.network"),
        x=Axis("", -0.35, last + 0.4, ticks=[]),
        y=Axis("", -0.68, 0.68, ticks=[]),
        place=(0, 0, 11, 1),
        height=300,
    )
    gap = np.full((1, 2), np.nan)
    edges = [
        [np.vstack([places[layer][i], places[layer + 1][j], gap]) for i in range(sizes[layer])]
        for layer in range(last)
        for j in range(sizes[layer + 1])
    ]
    for edge in (row for unit in edges for row in unit):
        panel.path(edge[:2], role="muted", width=1.2, alpha=0.7)
    _flow(panel, places, sizes, made)
    shown = len(found.theta) <= 17
    for layer, (weights, biases) in enumerate(found.network.unpack(found.theta)):
        for j, row in enumerate(weights):
            for i, weight in enumerate(row):
                if shown:
                    x, y = places[layer][i] + (0.5 if layer == last - 1 else 0.3 + 0.12 * (i % 2)) * (
                        places[layer + 1][j] - places[layer][i]
                    )
                    panel.text(x, y, minus(f"{weight:.2f}"), role="ink")
            x, y = places[layer + 1][j]
            panel.text(x, y - 0.13, minus(f"b {biases[j]:.2f}"), role="muted")
    for layer, spots in enumerate(places):
        role, shape = ("prior", "square") if layer == 0 else ("posterior", "circle")
        label = WORDS.phrase("nodes.unit" if layer else "nodes.input") if layer < 2 else None
        panel.points(spots, role=role, shape=shape, size=6, label=label)
        for unit, (x, y) in enumerate(spots):
            words = f"x{'₁₂'[unit]}" if layer == 0 else name(layer, unit, last, "h")
            panel.text(x - 0.12 if layer == 0 else x, y + (0.0 if layer == 0 else 0.1), words, role="ink")
    at = np.array([places[event.layer][event.unit] for event in made])
    panel.points(at, show="at", role="highlight", shape="ring", size=11, label=WORDS.phrase("nodes.here"))


def _flow(panel: Panel, places: list[Array], sizes: tuple[int, ...], made: list[Event]) -> None:
    """The lines that take part in each event: forward and for derivatives those that come in, backward those that lead
    out."""
    most = 3 * max(sizes)
    for kinds, role, label in ((("forward", "gradient"), "accept", "nodes.come_forward"), (("delta",), "reject", "nodes.come_back")):
        frames = np.full((len(made), most, 2), np.nan)
        for row, event in enumerate(made):
            if event.kind not in kinds:
                continue
            back = event.kind == "delta"
            if back and event.layer == len(sizes) - 1:
                continue
            others = places[event.layer + 1] if back else places[event.layer - 1]
            for k, other in enumerate(others):
                frames[row, 3 * k], frames[row, 3 * k + 1] = other, places[event.layer][event.unit]
        panel.path(frames, at=np.arange(len(made)), role=role, width=3.2, label=WORDS.phrase(label))


def _progress(found: Pass, made: list[Event], kind: str, parts: list[Array]) -> Array:
    """(events, sum of sizes) what has been computed so far, 0 elsewhere; `parts` hold one array a layer."""
    first = np.cumsum([0, *map(len, parts)])
    rows = np.zeros((len(made), first[-1]))
    for row, event in enumerate(made):
        rows[row] = rows[row - 1] if row else 0.0
        if event.kind == kind:
            rows[row, first[event.layer - 1] + event.unit] = parts[event.layer - 1][event.unit]
    return rows


def _values(picture: Scene, found: Pass, made: list[Event]) -> None:
    last = len(found.network.sizes) - 1
    names = [name(layer, unit, last, "h") for layer in range(1, last + 1) for unit in range(found.network.sizes[layer])]
    panel = picture.panel(
        "values",
        title=WORDS.phrase("nodes.values"),
        x=Axis(WORDS.phrase("nodes.node"), 0.5, len(names) + 0.5),
        y=Axis(WORDS.phrase("nodes.value")),
        place=(11, 0, 9, 1),
        height=150,
    )
    panel.bars(_progress(found, made, "forward", [v for _, v in found.nodes.layers]), labels=names, role="accept")
    panel = picture.panel(
        "deltas",
        title=WORDS.phrase("nodes.deltas"),
        x=Axis(WORDS.phrase("nodes.node"), 0.5, len(names) + 0.5),
        y=Axis(WORDS.phrase("nodes.delta_axis")),
        place=(11, 1, 9, 1),
        height=150,
    )
    panel.bars(_progress(found, made, "delta", found.nodes.delta), labels=names, role="reject")


def _gradient(picture: Scene, found: Pass, made: list[Event]) -> None:
    nodes, last = found.nodes, len(found.network.sizes) - 1
    rows, at = np.zeros((len(made), found.network.dim)), 0
    where: dict[tuple[int, int], list[int]] = {}
    for layer, weights in enumerate(nodes.weights, start=1):
        n_out, n_in = weights.shape
        for unit in range(n_out):
            where[layer, unit] = [*range(at + unit * n_in, at + (unit + 1) * n_in), at + n_out * n_in + unit]
        at += n_out * (n_in + 1)
    for row, event in enumerate(made):
        rows[row] = rows[row - 1] if row else 0.0
        if event.kind == "gradient":
            rows[row, where[event.layer, event.unit]] = nodes.gradient[where[event.layer, event.unit]]
    panel = picture.panel(
        "gradient",
        title=WORDS.phrase("nodes.derivatives"),
        x=Axis(WORDS.phrase("nodes.parameter"), 0.5, found.network.dim + 0.5),
        y=Axis(WORDS.phrase("nodes.derivative")),
        place=(0, 1, 11, 2),
        height=260,
    )
    names = [label if last < 3 and len(found.theta) < 18 else "" for label in _names(found)]
    marks, label = WORDS.phrase("nodes.by_differences"), WORDS.phrase("nodes.by_backward")
    panel.bars(rows, labels=names, role="posterior", truth=found.differences, marks=marks, label=label)


def _names(found: Pass) -> list[str]:
    """Short names of the parameters: layer, unit and source."""
    return [label.replace("[", " ").replace("]", "").replace(",", "←") for label in found.network.labels]


def _activation(picture: Scene, spec: PerceptronLesson, found: Pass, made: list[Event]) -> None:
    z = np.linspace(-WIDTH, WIDTH, 121)
    panel = picture.panel(
        "activation",
        title=WORDS.phrase("nodes.activation", formula=WORDS["formulas"][spec.activation]),
        x=Axis("z", -WIDTH, WIDTH),
        y=Axis("φ, φ′", -1.3, 1.7),
        place=(11, 2, 9, 1),
        height=180,
    )
    panel.line(z, np.clip(activation(spec.activation, z), -1.3, 1.7), role="posterior", width=2.2, label="φ(z)")
    slope = activation_slope(spec.activation, z)
    panel.line(z, slope, role="reject", dash=True, width=2.0, label="φ′(z)")
    last = len(found.network.sizes) - 1
    spots = {"forward": np.full((len(made), 2), np.nan), "delta": np.full((len(made), 2), np.nan)}
    for row, event in enumerate(made):
        if event.kind in spots and event.layer < last:
            pre = float(np.clip(found.nodes.layers[event.layer - 1][0][event.unit], -WIDTH, WIDTH))
            function = activation if event.kind == "forward" else activation_slope
            spots[event.kind][row] = pre, float(function(spec.activation, pre))
    panel.points(spots["forward"], show="at", role="posterior", shape="circle", size=6)
    panel.points(spots["delta"], show="at", role="reject", shape="diamond", size=6)


def _words(picture: Scene, found: Pass, made: list[Event]) -> None:
    at = np.arange(len(made))
    told = "|".join(event.words for event in made)
    picture.readout("event", f"{{e|{told}}}", e=at)
    error = analysis.relative_error(found.nodes.gradient, found.differences)
    picture.readout("difference", WORDS.phrase("nodes.difference_card"), e=np.full(len(made), error))
    kinds = ("forward", "loss", "delta", "gradient")
    kind = np.array([kinds.index(event.kind) for event in made])
    picture.say(WORDS.phrase("nodes.said"), k=kind)
    picture.table(
        {
            "event (0 forward, 1 loss, 2 backward, 3 derivatives)": kind,
            "layer": np.array([event.layer for event in made]),
            "unit": np.array([event.unit + 1 for event in made]),
        }
    )
