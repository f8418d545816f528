"""The race as a scene: four lanes side by side that advance by cost, and their errors against what they have spent."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import pictures, theme
from app.kit.player.scene import Axis, Panel, Scene
from app.kit.preview import Preview
from engine.targets.target import Target
from lessons.race import analysis
from lessons.race.analysis import Race
from lessons.race.spec import RACERS, WORDS, RaceLesson

Array = NDArray[np.float64]
Bands = dict[str, tuple[Array, Array, Array]]  # of each racer, see `analysis.band`

LAYOUT = "lane-metropolis*4 lane-gibbs*4 score-0*6 / lane-hmc*4 lane-nuts*4 score-1*6"
TRAIL = 12  # newest checkpoints whose path stays visible
BEST = 1 / 3  # of the error of as many independent draws as there are evaluations: where the axis of errors ends
ROOM = 1.3  # of the highest error in the beginning: where it starts
CLOUD = 400  # exact draws that stand for the density where there is no map of two coordinates
_NOWHERE = 1e6  # states further out are as good as lost


OF_TARGETS = ("correlation", "scale_ratio", "width", "curvature", "separation", "weight")
OF_RACERS = ("scale", "single_scale", "step_size", "steps", "gradient_price", "warmup")
PREVIEWS = dict.fromkeys((*OF_TARGETS, *OF_RACERS), Preview(smooth=False))


def scene(spec: RaceLesson, window: int | None = None) -> bytes:
    """The scene of a race. Nothing in it is timed, so it is the same bytes every time."""
    return drawn(spec, analysis.race(spec))


def grow(spec: RaceLesson, job: Any) -> bytes | None:
    """The same, with a picture of its beginning while the rest is run."""
    if analysis.race.peek(spec) is None:
        job.publish(drawn(spec, analysis.race(spec, analysis.beginning(spec))))
    return None if job.is_set() else scene(spec)


def drawn(spec: RaceLesson, found: Race) -> bytes:
    """The scene of a race as far as it has been run."""
    names = analysis.names(spec)
    picture = Scene(
        run=repr(spec),
        steps=len(found.cost),
        rate=12.0,
        total=analysis.STEPS if len(found.cost) < analysis.STEPS else None,
        theme=theme.palette(),
        label=WORDS.phrase("stage.picture", target=spec.target.replace("_", " ")),
    ).layout(LAYOUT, heights=230)
    for k, racer in enumerate(RACERS):
        _lane(picture, spec, found, racer, names[racer], k)
    kinds = analysis.features(found.target).kinds
    bands = [{racer: analysis.band(found.lanes[racer].error[k]) for racer in RACERS} for k in range(len(kinds))]
    for k, kind in enumerate(kinds):
        _score(picture, spec, found, names, k, kind, bands[k])
    _card(picture, spec, found, names, bands)
    return picture.encode()


# Lanes ----------------------------------------------------------------------------------------------------------------


def _lane(picture: Scene, spec: RaceLesson, found: Race, racer: str, name: str, k: int) -> None:
    lane = found.lanes[racer]
    panel = _ground(picture, found.target, f"lane-{racer}", name, first=k == 0)
    places = np.where(np.abs(lane.place[:, :2]) < _NOWHERE, lane.place[:, :2], np.nan)
    fresh = np.concatenate([[True], np.any(np.diff(lane.place[:, :2], axis=0) != 0, axis=1)]) & (lane.count > 0)
    panel.points(
        places,
        show="upto",
        mask=fresh,
        chain=k,
        shape=theme.MARKERS[k],
        size=2.6,
        alpha=0.6,
        label=WORDS.phrase("stage.states", stride=_stride(spec)) if k == 0 else None,
    )
    panel.path(places, show="upto", last=TRAIL, fade=True, role="ink", width=1.1, alpha=0.5)
    panel.points(places, show="at", role="ink", shape="ring", size=6, label=WORDS.phrase("stage.now") if k == 0 else None)


def _stride(spec: RaceLesson) -> str:
    """Evaluations between two checkpoints."""
    return f"{spec.budget / analysis.STEPS:g}"


def _ground(picture: Scene, target: Target, id: str, title: str, *, first: bool) -> Panel:
    """The density below a lane: a map in the plane, else exact draws of the first two coordinates."""
    if (target.plane or target).dim == 2:
        return pictures.density_panel(picture, target, id=id, title=title, equal=False)
    draw = target.known.draw
    assert draw is not None  # every target of more dimensions has one
    cloud = draw(np.random.Generator(np.random.SFC64(1)), CLOUD)[:, :2]
    x, y = ((label, *side) for label, side in zip(target.labels, target.view, strict=False))
    panel = picture.panel(id, title=title, x=x, y=y)
    return panel.points(cloud, role="truth", size=1.6, alpha=0.35, label=WORDS.phrase("stage.exact") if first else None)


# Scores ---------------------------------------------------------------------------------------------------------------


def _score(picture: Scene, spec: RaceLesson, found: Race, names: dict[str, str], k: int, kind: str, bands: Bands) -> None:
    low, high = _axis(spec, bands.values())
    unit = WORDS.phrase("stage.unit_of_shares" if analysis.features(found.target).shares else ("stage.sd", "stage.variance")[k])
    panel = picture.panel(
        f"score-{k}",
        title=WORDS.phrase("stage.error", kind=kind),
        x=Axis(WORDS.phrase("stage.spent_axis"), found.cost[0], spec.budget, log=True),
        y=Axis(WORDS.phrase("stage.error_axis", unit=unit), low, high, log=True),
    )
    whole = analysis.costs(spec)
    panel.line(whole, 1.0 / np.sqrt(whole), role="truth", dash=True, width=1.2, label=WORDS.phrase("stage.guide"))
    for c, racer in enumerate(RACERS):
        middle, lower, upper = bands[racer]
        shown = np.where(middle > 0, middle, np.nan)
        panel.line(
            found.cost,
            shown,
            show="upto",
            band=(np.maximum(lower, low), upper),
            chain=c,
            width=2.2,
            label=_named(spec, names[racer], first=c == 0) if k == 0 else None,
        )


def _axis(spec: RaceLesson, bands: Iterable[tuple[Array, ...]]) -> tuple[float, float]:
    """From where the best get to as high as the beginning was: it stands still while the race goes on."""
    beginning = np.concatenate([curve[: analysis.BEGINNING] for band in bands for curve in band])
    highest = float(np.nanmax(beginning, initial=1.0, where=np.isfinite(beginning)))
    return BEST / math.sqrt(spec.budget), min(ROOM * highest, 1e3)


def _named(spec: RaceLesson, name: str, *, first: bool) -> str:
    """A line of the legend; the first says what all of them are."""
    return WORDS.phrase("stage.first_line", name=name, pairs=spec.pairs) if first else name


# Numbers and words ----------------------------------------------------------------------------------------------------


def _card(picture: Scene, spec: RaceLesson, found: Race, names: dict[str, str], bands: Sequence[Bands]) -> None:
    scored = analysis.features(found.target)
    picture.values(cost=found.cost, budget=np.full(len(found.cost), float(spec.budget)))
    picture.line("spent", WORDS.phrase("stage.spent"))
    first, unit = found.target.labels[0], float(scored.scale[0, 0])
    exact = round(float(scored.expected[0, 0]), 6) + 0.0  # + 0.0 makes a negative zero positive
    shown = f"{exact:.4g}" if exact >= 0 else f"(−{-exact:.4g})"
    middles = {racer: analysis.band(found.lanes[racer].both)[0] for racer in RACERS}
    for racer in RACERS:
        lane, mine = found.lanes[racer], f"{racer}_mean"
        off = np.abs(lane.running[0] - exact) / unit
        picture.values(**{f"{racer}_draws": lane.count.astype(np.int32), f"{racer}_tunes": lane.count == 0})
        picture.values(**{mine: lane.running[0], f"{racer}_off": off})
        told = dict(racer=racer, name=names[racer], word=scored.kinds[0], coordinate=first, exact=shown, unit=unit)
        picture.line(racer, WORDS.phrase("stage.lane", **told))
    leader = _leader(middles)
    options = "|".join((*(names[racer] for racer in RACERS), WORDS.phrase("stage.nobody")))
    lead = np.min(np.stack([np.where(np.isnan(v), np.inf, v) for v in middles.values()]), axis=0)
    picture.values(leader=leader, lead=np.where(np.isfinite(lead), lead, np.nan))
    picture.line("leader", WORDS.phrase("stage.leader", pairs=spec.pairs, options=options))
    picture.say(WORDS.phrase("stage.said", options=options), c=found.cost, who=leader)
    picture.table(
        {
            "evaluations": found.cost,
            **{f"{names[racer]}, {kind}: median error": bands[k][racer][0] for racer in RACERS for k, kind in enumerate(scored.kinds)},
        }
    )


def _leader(middles: dict[str, Array]) -> NDArray[np.int32]:
    """(checkpoints,) index of the racer with the smallest median error; one past the last while nobody has draws."""
    stacked = np.stack([np.where(np.isnan(middles[racer]), np.inf, middles[racer]) for racer in RACERS])
    return np.where(np.isfinite(stacked).any(axis=0), np.argmin(stacked, axis=0), len(RACERS)).astype(np.int32)
