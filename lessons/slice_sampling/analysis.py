"""The numbers behind the picture: the run and its inside, its checks, what the width costs, the diagnostics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import engine
from app.kit import charts, pictures, theme
from app.kit.charts import Figure, Table
from app.kit.text import chains, number
from engine import diagnostics as measures
from engine.judge import Check, Kernel, books, chains_checks, kernel_of, sampled_apart, unknown
from engine.kept import kept
from engine.recording import Recording
from engine.spec import SpecError
from engine.targets.target import TargetError
from lessons.slice_sampling.spec import WORDS, SliceSamplingLesson

Array = NDArray[np.float64]

LONG_CHAINS, LONG_DRAWS = 4, 30_000
MISTAKE = WORDS.phrase("checks.mistake")
WIDTHS = tuple(float(w) for w in np.geomspace(0.1, 30.0, 8))
SWEEP_DRAWS, FEWEST = 4_000, 30.0  # effective draws below which their number itself is too uncertain to show
LOOKS = {  # of the methods in the figure: role, marker, dash
    "stepping_out": ("posterior", "circle", "solid"),
    "doubling": ("highlight", "square", "dash"),
    "hyperrectangle": ("energy", "diamond", "dot"),
    "metropolis": ("truth", "cross", "dashdot"),
}


@kept
def simulate(spec: SliceSamplingLesson) -> tuple[Recording, Recording]:
    """The run of `spec`: all its chains, and chain 1 with its inside. A start without density raises SpecError."""
    try:
        recording = engine.record(spec)
    except TargetError as error:
        raise SpecError("start", str(error)) from error
    return recording, engine.replay(recording, first=0, count=spec.draws)


@kept
def long_run(spec: SliceSamplingLesson, work: int = 1) -> Recording:
    """The same kernel run longer, from starts far apart: `draws` (4, 30 000 · work, 2)."""
    return _sample(spec, work * LONG_DRAWS, "slice_sampling", **spec.settings())


def drawn_from(spec: SliceSamplingLesson, coordinate: int) -> tuple[Array, Array]:
    """Midpoints and heights of a histogram of the long run: what the kernel draws from, as near as that tells."""
    return pictures.heights(long_run(spec).draws[:, :, coordinate], spec.build_target().view[coordinate])


def _sample(spec: SliceSamplingLesson, draws: int, method: str, **settings: Any) -> Recording:
    settings |= {"draws": draws, "warmup": draws // 10}
    return sampled_apart(spec.build_target(), method, spec.init(), chains=LONG_CHAINS, seed=spec.seed, **settings)


# Checks ---------------------------------------------------------------------------------------------------------------


def kernels(spec: SliceSamplingLesson) -> list[Kernel]:
    """The sampler with the present settings, where exact draws can be made to try it on."""
    kernel = kernel_of(simulate(spec)[0], MISTAKE * spec.mistaken)
    return [] if kernel is None else [kernel]


def audit(spec: SliceSamplingLesson, cancel: Any = None) -> list[Check]:
    """The events of the run on stage, worked out again."""
    found = books(simulate(spec)[1], MISTAKE * spec.mistaken)
    no_draws = unknown(WORDS.phrase("checks.exact"), WORDS.phrase("checks.no_draws"), kind="kernel")
    return [found] if kernels(spec) else [found, no_draws]


def checks(spec: SliceSamplingLesson, cancel: Any = None) -> list[Check]:
    """The kernel run longer than the picture, from starts far apart: do its chains agree, and with the truth?"""
    return chains_checks(lambda seed, work: long_run(spec.replace(seed=seed), work), spec.seed)


# Below the stage ------------------------------------------------------------------------------------------------------


@kept
def efficiency(spec: SliceSamplingLesson, method: str) -> float:
    """Effective draws per 1 000 evaluations of the worst of coordinates and their squares, of the right sampler with
    this w, or of Metropolis with this scale; NaN where there are too few to tell.
    """
    settings: dict[str, Any] = {"scale": spec.w} if method == "metropolis" else {"w": spec.w, "interval": method, "limit": spec.limit}
    run = _sample(spec, SWEEP_DRAWS, method if method == "metropolis" else "slice_sampling", **settings)
    truth = spec.build_target().truth
    ess = measures.least_ess(np.arctan(run.draws) if truth is not None and truth.heavy_tails else run.draws)
    return 1000.0 * ess / float(run.gradient_evaluations.sum()) if ess >= FEWEST else np.nan


def panels(spec: SliceSamplingLesson, cancel: Any = None) -> list[Figure]:
    """What a wrong width costs, for each way to find the interval and for Metropolis."""
    figure, best = charts.blank(WORDS.phrase("panels.width"), WORDS.phrase("panels.efficiency")), []
    base = spec.replace(interval="stepping_out", variant="exact", chains=1, draws=100)
    for method, (role, symbol, dash) in LOOKS.items():
        if cancel is not None and cancel.is_set():
            break
        name = WORDS["options.interval"].get(method, WORDS.phrase("panels.metropolis"))
        found = [efficiency(base.replace(w=w), method) for w in WIDTHS]
        figure.add_scatter(
            x=WIDTHS,
            y=found,
            mode="lines+markers",
            name=name,
            line={"color": theme.colour(role), "dash": dash},
            marker={"symbol": symbol, "size": 7},
        )
        if np.isfinite(found).any():
            best.append(WORDS.phrase("panels.best", name=name, ess=np.nanmax(found), width=WIDTHS[int(np.nanargmax(found))]))
    figure.update_xaxes(type="log", dtick=1)
    figure.update_yaxes(type="log", dtick=1)
    told = "; ".join(best) or WORDS.phrase("panels.none")
    caption = WORDS.phrase("panels.caption", told=told, long_chains=LONG_CHAINS, sweep_draws=SWEEP_DRAWS, fewest=FEWEST)
    return [Figure(WORDS.phrase("panels.title"), figure, WORDS.phrase("panels.alt", told=told), caption)]


def diagnostics(spec: SliceSamplingLesson, cancel: Any = None) -> Table:
    """One row a coordinate: R-hat, effective draws, what they cost."""
    recording, target = simulate(spec)[0], spec.build_target()
    summary = measures.summarise(recording.draws)
    cost = measures.cost(recording, summary)
    spent, exact = cost.gradient_evaluations, pictures.exact(target)
    columns = charts.estimates(target.labels, summary, *exact, per="evaluations", spent=spent, seconds=cost.seconds)
    caption = WORDS.phrase(
        "panels.cost",
        chains=chains(spec.chains),
        spent=number(spent),
        each=spent / recording.accepted.size,
        seconds=number(1000 * cost.seconds),
    )
    return Table(WORDS.phrase("panels.diagnostics"), columns, caption)


def runs(spec: SliceSamplingLesson) -> str:
    """Which kernel runs."""
    wrong = WORDS.phrase("runs.wrong", mistake=WORDS["options.variant"][spec.variant]) if spec.mistaken else ""
    return WORDS.phrase("runs.right", interval=WORDS["options.interval"][spec.interval], wrong=wrong)
