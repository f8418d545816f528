"""From the chain to the picture: the maps, the networks, the traces and the numbers of the present state."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import pictures, theme
from app.kit.player.scene import Axis, Editable, Panel, Scene, levels
from app.kit.preview import Preview
from app.kit.text import minus
from engine.networks.predictive import probabilities
from engine.scores import binary_entropy
from engine.spec import SpecError
from lessons.xor.learning import CELLS, Learning, Maps, beginning, first_look, first_states, modes, plane, scores, started, work_of
from lessons.xor.spec import CLASSES, MAX_POINTS, REACH, WORDS, XorSpec

Array = NDArray[np.float64]

RATE = 14.0  # states a second
TILES = 8  # single networks beside one another
TILE_COLUMNS = 4
GAP = 0.12  # between tiles, in tiles
LN2 = float(np.log(2.0))
SHAPES = ["circle", "square"]
ROLES = ["class-0", "class-1"]
VIEW = (-REACH, REACH)
FARTHEST = 1e30  # nats: a log posterior farther from 0 is on no axis
LOWEST = 120.0  # nats below its settled level, at most, that the trace of the log posterior reaches down


PREVIEWS = dict.fromkeys(("prior_sd", "temper", "corner", "units", "step_size", "leapfrog", "jitter", "burn"), Preview(smooth=False))


def scene(spec: XorSpec, window: int | None) -> bytes:
    """The first picture: the chain as far as `first_states`. `window` is not used, a step has no inside here."""
    return picture(first_look(spec), growing=False)


def grow(spec: XorSpec, job: Any) -> bytes | None:
    """The same, with a picture of its beginning while the rest is sampled."""
    if first_look.peek(spec) is None and first_states(spec) > beginning(spec):
        job.publish(picture(started(spec, beginning(spec)), growing=True))
    return None if job.is_set() else scene(spec, None)


def live(spec: XorSpec):
    """The body of the long run: the same chain, sampled on to its last state."""

    def body(job: Any) -> bytes:
        learning = Learning(spec).advance(first_states(spec))
        while not learning.done and not job.cancelled:
            learning.advance(learning.states + chunk(spec))
            job.report(learning.states, spec.draws)
            job.publish(picture(learning, growing=not learning.done))
        return picture(learning, growing=False)

    return body


def chunk(spec: XorSpec) -> int:
    """States between two pictures of the long run: some tenths of a second, but no more than a tenth of the run."""
    return int(np.clip(1.5e8 / work_of(spec), 20, max(20, spec.draws // 10)))


def picture(learning: Learning, growing: bool) -> bytes:
    """The scene of a chain as far as it has come; `growing`: more of it comes by itself."""
    spec, shown, frames = learning.spec, learning.shown(), learning.frame_at()
    all_steps = len(learning.times) if learning.states > first_states(spec) else _first_steps(learning)
    made = Scene(
        run=hashlib.blake2b(repr(spec).encode(), digest_size=12).hexdigest(),
        steps=len(frames),
        label=WORDS.phrase("stage.picture", units=spec.units, data=WORDS.phrase(f"data.{spec.data}", points=len(spec.points))),
        rate=RATE,
        autoplay=True,
        total=all_steps if growing else None,
        theme=theme.palette(),
    )
    maps = learning.maps()
    editable = None
    if spec.data in ("points", "none"):
        rows = np.array(spec.points, dtype=float).reshape(-1, 3) if spec.data == "points" else np.empty((0, 3))
        editable = Editable(points=rows, classes=CLASSES, limit=MAX_POINTS)

    mean = plane_panel(made, "mean", WORDS.phrase("stage.mean"), (0, 0, 12, 2), 360, editable=editable)
    probability(mean, maps.mean, frames, WORDS.phrase("stage.probability"), colorbar=True)
    if editable is None:
        data_layer(mean, learning, size=2.7, labelled=True)
    network_panel(made, spec, shown["weights"])
    tile_panel(made, maps.tiles, frames)
    uncertainty_panels(made, learning, maps, frames)
    map_panel(made, learning)
    traces(made, learning, shown)
    words(made, learning, shown, maps.counts[frames])
    return made.encode()


# Panels ---------------------------------------------------------------------------------------------------------------


def plane_panel(made: Scene, id: str, title: str, place: tuple[int, int, int, int], height: int, editable: Editable | None = None) -> Panel:
    """The plane of the two inputs."""
    x, y = Axis(WORDS.phrase("stage.input_1"), *VIEW), Axis(WORDS.phrase("stage.input_2"), *VIEW)
    return made.panel(id, title=title, x=x, y=y, place=place, equal=True, height=height, editable=editable)


def small_panel(made: Scene, id: str, title: str, place: tuple[int, int, int, int], height: int) -> Panel:
    """The same plane, small: the axes as in the large map."""
    ticks = [(value, minus(f"{value:+d}".replace("+0", "0"))) for value in (-1, 0, 1)]
    x, y = Axis("x₁", *VIEW, ticks=ticks), Axis("x₂", *VIEW, ticks=ticks)
    return made.panel(id, title=title, x=x, y=y, place=place, equal=True, height=height)


def uncertainty_panels(made: Scene, learning: Learning, maps: Maps, frames: NDArray[np.int64]) -> None:
    """Total, aleatoric and epistemic uncertainty on one scale, whose bar stands at the last."""
    rows = (("total", maps.total, (0, 2, 6, 1)), ("aleatoric", maps.aleatoric, (6, 2, 6, 1)), ("epistemic", maps.epistemic, (12, 2, 8, 1)))
    for id, cells, place in rows:
        panel = small_panel(made, id, WORDS.phrase(f"stage.{id}"), place, 226)
        last = id == "epistemic"
        panel.heatmap(cells, x=VIEW, y=VIEW, low=0.0, high=LN2, at=frames, label=WORDS.phrase("stage.entropy"), colorbar=last)
        data_layer(panel, learning, size=1.2)


def probability(panel: Panel, cells: NDArray[np.uint8], frames: NDArray[np.int64] | None, label: str, *, colorbar: bool = False) -> Panel:
    """A map of probabilities, paler than its colours so that the points stand out."""
    return panel.heatmap(
        cells, x=VIEW, y=VIEW, low=0.0, high=1.0, at=frames, colormap="diverging", label=label, colorbar=colorbar, alpha=0.75
    )


def data_layer(panel: Panel, learning: Learning, *, size: float, labelled: bool = False) -> None:
    """The data on top, class by shape and colour, on a rim of the background's colour."""
    if not len(learning.x):
        return
    panel.points(learning.x, classes=learning.y, role=["surface", "surface"], shape=SHAPES, size=size + 0.8, alpha=1.0)
    panel.points(learning.x, classes=learning.y, role=ROLES, shape=SHAPES, size=size, alpha=1.0, label=list(CLASSES) if labelled else None)


def network_panel(made: Scene, spec: XorSpec, weights: Array) -> None:
    """The network with the weights of the present state."""
    panel = made.panel("network", title=WORDS.phrase("stage.network"), place=(12, 0, 8, 1), height=170)
    panel.network([2, spec.units, 2], weights, labels=[["x₁", "x₂"], None, ["0", "1"]])


def tile_panel(made: Scene, tiles: NDArray[np.uint8], frames: NDArray[np.int64]) -> None:
    """Single networks of the chain beside one another, the newest first."""
    rows = TILES // TILE_COLUMNS
    panel = made.panel(
        "singles",
        title=WORDS.phrase("stage.singles", networks=TILES),
        place=(12, 1, 8, 1),
        height=170,
        equal=True,
        x=Axis("", 0, TILE_COLUMNS * (1 + GAP) - GAP, ticks=[]),
        y=Axis("", 0, rows * (1 + GAP) - GAP, ticks=[]),
    )
    for tile in range(TILES):
        left, bottom = (tile % TILE_COLUMNS) * (1 + GAP), (rows - 1 - tile // TILE_COLUMNS) * (1 + GAP)
        at = np.maximum(frames - tile, 0)
        panel.heatmap(
            tiles,
            x=(left, left + 1),
            y=(bottom, bottom + 1),
            low=0.0,
            high=1.0,
            at=at,
            colormap="diverging",
            label=WORDS.phrase("stage.probability_of_one"),
            colorbar=False,
        )


def map_panel(made: Scene, learning: Learning) -> None:
    """The most probable weights as one network."""
    weights, _ = modes(learning.spec)
    cells = probabilities(learning.predictor, weights[None], plane(CELLS))[0, :, 1]
    panel = small_panel(made, "map", WORDS.phrase("stage.map"), (0, 3, 6, 2), 226)
    probability(panel, levels(cells, 1.0).reshape(CELLS, CELLS), None, WORDS.phrase("stage.probability_of_map"))
    data_layer(panel, learning, size=1.2)


def traces(made: Scene, learning: Learning, shown: dict[str, Array]) -> None:
    """The log posterior and the points right against the number of the state, from the start on."""
    spec = learning.spec
    state = shown["state"].astype(float)
    last = spec.draws if learning.states > first_states(spec) else first_states(spec)
    numbered = Axis(WORDS.phrase("stage.state"), 1, last, log=True)
    posterior = shown["likelihood"] + shown["prior"]
    alone = not len(learning.x)
    place, height, axis = ((6, 3, 14, 2), 226, numbered) if alone else ((6, 3, 14, 1), 110, Axis("", 1, last, log=True))
    y = Axis("", *_range(learning, posterior))
    panel = made.panel("posterior", title=WORDS.phrase("stage.log_posterior"), x=axis, y=y, place=place, height=height)
    panel.line(state, posterior, show="upto", role="posterior", width=1.4)
    burn_rule(panel, spec)
    if alone:
        return
    first, places = _first_steps(learning), ((6, 4, 7, 1), (13, 4, 7, 1))
    for panel in pictures.performance_panels(made, state, numbered, scores(shown), first=first, places=places, height=132):
        burn_rule(panel, spec)


def burn_rule(panel: Panel, spec: XorSpec) -> None:
    """Where the warm-up ends."""
    if spec.burn:
        panel.rule(x=float(spec.burn), role="highlight", dash=True, label=WORDS.phrase("stage.burn"))


def _first_steps(learning: Learning) -> int:
    """Steps of the first picture."""
    return int((learning.times <= first_states(learning.spec)).sum())


def _range(learning: Learning, posterior: Array) -> tuple[float, float]:
    """Limits of the log posterior's axis, from the first picture so that they stay as the run grows. The climb may
    begin below them.
    """
    first = posterior[: _first_steps(learning)]
    settled = first[len(first) // 2 :]
    first, settled = (part[np.abs(part) < FARTHEST] for part in (first, settled))
    if not len(settled):
        raise SpecError("step_size", "the chain left at once for where no number is left to draw: take smaller steps")
    margin = 4.0 * float(settled.std()) + 2.0
    return float(max(first.min(), settled.min() - LOWEST) - margin / 4), float(settled.max() + margin)


# Words and numbers ----------------------------------------------------------------------------------------------------


def words(made: Scene, learning: Learning, shown: dict[str, Array], averaged: NDArray[np.int64]) -> None:
    """The arithmetic card, the spoken sentence and the table."""
    state, mean, aleatoric = shown["state"], shown["mean"], shown["aleatoric"]
    posterior = shown["likelihood"] + shown["prior"]
    total = binary_entropy(mean)
    warm = state <= learning.spec.burn
    made.readout("state", WORDS.phrase("stage.state_card"), n=state, warm=warm)
    made.readout("posterior", WORDS.phrase("stage.posterior_card"), sum=posterior, fit=shown["likelihood"], prior=shown["prior"])
    made.readout("accept", WORDS.phrase("stage.accept_card"), a=shown["accept_prob"], accepted=shown["accepted"])
    made.readout("mean", WORDS.phrase("stage.mean_card"), p=shown["centre"], k=shown["networks"], m=mean)
    made.readout("entropy", WORDS.phrase("stage.entropy_card"), total=total, within=aleatoric, between=np.maximum(total - aleatoric, 0.0))
    made.say(WORDS.phrase("stage.said"), n=state, warm=warm, k=averaged, one=averaged == 1)
    columns = {
        "state": state,
        "log posterior": posterior,
        "log likelihood": shown["likelihood"],
        "log prior": shown["prior"],
        "acceptance probability": shown["accept_prob"],
        "accepted": shown["accepted"],
        "p at the centre": shown["centre"],
        "mean p there": mean,
        "total there (nats)": total,
        "aleatoric there (nats)": aleatoric,
    }
    found = scores(shown)
    if found:
        present, average, held = found["present"], found["average"], found.get("held")
        n = len(learning.x)
        right, together = (np.rint(0.01 * n * one.right).astype(int) for one in (present, average))
        values: dict[str, Any] = {"own": average.loss}
        columns |= {"points right": right, "points right, average": together, "loss of the average (nats a point)": average.loss}
        if held is not None:
            values |= {"m": np.full(len(state), learning.held_out), "held": held.loss, "share": held.right}
            columns |= {"held out right (%)": held.right, "held out loss (nats a point)": held.loss}
        made.readout("loss", WORDS.phrase("stage.loss_card" if held is None else "stage.loss_held_out_card"), **values)
        made.say(WORDS.phrase("stage.said_right"), right=right, together=together, all=np.full(len(state), n))
    made.table(columns)
