"""What stands below the stage: shares of L, and why so few jumps land: by points, by width, beside those of single units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.kit import charts, theme
from app.kit.charts import Figure, Table
from datasets.xor import NOISY_VARIANCE, VARIANCE, xor
from engine import sample_architecture
from engine.diagnostics import ess_mean
from engine.jumps import ArchitectureRecording
from engine.networks import network
from lessons.families.growing.chains import Growth, study
from lessons.families.growing.ledger import accept_table
from lessons.families.growing.panels import predictive, share_figure
from lessons.families.growing.sizes import HELD
from lessons.families.growing.spec import CHAINS
from lessons.layers.spec import WORDS, LayersSpec

Array = NDArray[np.float64]

CORNERS = (1, 2, 5, 10, 20, 50)  # points a cloud that acceptance is compared at
WIDTHS = (1, 2, 3, 4, 5)  # units of a layer that acceptance is compared at
# Berezowski 2021, table 6.1: units of a layer, and the share of jumps accepted, in %, with either variance of the noise
PRINTED = ((2, 4.5), (2, 4.9), (4, 1.1), (4, 1.4))
PAIRS = 4  # chains of each comparison
SWEEPS = 150
BURN = 50
WORST = -60.0  # nats: what is lower is drawn there


class Births(NamedTuple):
    """Log likelihood ratios of the births proposed, the share of all jumps accepted, and its standard error."""

    log_ratios: Array
    accepted: float
    error: float


def _births(recording: ArchitectureRecording, burn: int) -> Births:
    """After the burn-in."""
    ratios = recording.ledger.factors[:, burn:, :, 0][recording.ledger.move[:, burn:] % 2 == 0]
    asked, granted = (each[:, burn:].sum(axis=2).astype(float) for each in (recording.proposed, recording.jumped))
    share = granted.sum() / asked.sum()
    independent = ess_mean(granted)
    jumps = asked.sum() * min(1.0, independent / granted.size if np.isfinite(independent) else 1.0)
    # One jump of each verdict more: where none was accepted, that is how little is known.
    near = (share * jumps + 1.0) / (jumps + 2.0)
    return Births(ratios, float(share), float(np.sqrt(near * (1.0 - near) / jumps)))


def panels(spec: LayersSpec, cancel: Any) -> list[Figure | Table]:
    """Shares with their errors, what births do to the fit, acceptance against the number of points and against the width;
    points left out, and classes drawn anew.
    """
    growth = study(spec, cancel)
    return [share_figure(growth), fit_figure(spec, growth), points_figure(spec, cancel), width_figure(spec, cancel), *predictive(growth)]


def births(spec: LayersSpec, grows: str, corner: int) -> Births:
    """Births of layers (grows "depth") or of units of one hidden layer ("width") on `corner` points a cloud."""
    x, y, _ = xor(corner, NOISY_VARIANCE if spec.data == "noisy" else VARIANCE, spec.seed)
    return births_on(spec, grows, x, y)


def births_on(spec: LayersSpec, grows: str, x: Array, y: NDArray[np.int64]) -> Births:
    """Births of layers or of units on points x (n, 2) of classes y (n,)."""
    ranges = {"width": spec.width, "depth": (1, spec.deepest)} if grows == "depth" else {"width": (1, 2 * spec.width)}
    model = network(2, 2, **ranges, temper=spec.temper, prior_sd=spec.prior_sd)
    recording = sample_architecture(
        model,
        x,
        y,
        spec.jump,
        chains=PAIRS,
        draws=SWEEPS,
        seed=spec.seed,
        within="nuts",
        step_size=spec.step_size,
        max_depth=6,
        detail="jumps",
    )
    return _births(recording, BURN)


def layer_births(growth: Growth) -> Births:
    """The births on the page's own data, after the burn-in."""
    return _births(growth.run.recording(), growth.burn)


def fit_figure(spec: LayersSpec, growth: Growth) -> Figure:
    """What a proposed birth does to the log likelihood."""
    found = layer_births(growth)
    ratios = np.where(np.isfinite(found.log_ratios), found.log_ratios, WORST)
    edges = np.linspace(WORST, max(5.0, float(ratios.max(initial=0.0))), 41)
    counts, _ = np.histogram(np.clip(ratios, WORST, None), edges)
    figure = charts.blank(WORDS.phrase("panels.ratio"), WORDS.phrase("panels.births"))
    middles = (edges[:-1] + edges[1:]) / 2
    figure.add_bar(x=middles, y=counts, marker={"color": theme.colour("likelihood", 0.8)}, name="births")
    figure.update_layout(bargap=0)
    half, better = float(np.median(ratios)), float((ratios > 0).mean())
    caption = WORDS.phrase(
        "panels.births_caption",
        births=len(ratios),
        sweeps=growth.total - growth.burn,
        chains=CHAINS,
        half=-half,
        better=better,
        worst=WORST,
    )
    title = WORDS.phrase("panels.random_network" if spec.jump == "redraw" else "panels.random_layer")
    return Figure(title, figure, WORDS.phrase("panels.births_alt", caption=caption), caption)


def points_figure(spec: LayersSpec, cancel: Any = None) -> Figure:
    """Share of jumps accepted against the number of points: layers, and single units for comparison."""
    figure = charts.blank(WORDS.phrase("panels.points"), WORDS.phrase("panels.accepted"))
    told = []
    looks = (
        ("depth", WORDS.phrase("panels.layers"), "reject", "x", "dash"),
        ("width", WORDS.phrase("panels.units"), "accept", "circle", "solid"),
    )
    points = [4 * corner for corner in CORNERS]
    for grows, name, role, symbol, dash in looks:
        found = [births(spec, grows, corner) for corner in _wanted(CORNERS, cancel)]
        told.append(_line(figure, points, found, name, role, symbol, dash))
    figure.update_xaxes(type="log", tickvals=points)
    figure.update_yaxes(rangemode="tozero")
    kind = WORDS.phrase("panels.noisy" if spec.data == "noisy" else "panels.xor")
    caption = WORDS.phrase("panels.data_caption", kind=kind, pairs=PAIRS, sweeps=SWEEPS, burn=BURN, width=2 * spec.width, held=HELD)
    return Figure(WORDS.phrase("panels.data"), figure, WORDS.phrase("panels.alt", told="; ".join(told)), caption)


def width_figure(spec: LayersSpec, cancel: Any = None) -> Figure:
    """Share of jumps accepted against the units of each layer, of both jumps on the page's own data, beside the printed."""
    figure = charts.blank(WORDS.phrase("panels.width"), WORDS.phrase("panels.accepted_log"))
    data = spec.data_set()
    told = []
    right = spec.replace(variant="exact")
    for jump, name, role, symbol, dash in (
        ("plain", WORDS.phrase("panels.layer"), "reject", "x", "dash"),
        ("redraw", WORDS.phrase("panels.anew"), "proposal", "square", "dot"),
    ):
        found = [births_on(right.replace(jump=jump, width=width), "depth", *data) for width in _wanted(WIDTHS, cancel)]
        told.append(_line(figure, WIDTHS, found, name, role, symbol, dash))
    units, shares = zip(*PRINTED, strict=True)
    marker = {"symbol": "diamond-open", "size": 10, "color": theme.colour("ink")}
    figure.add_scatter(x=units, y=shares, mode="markers", marker=marker, name=WORDS.phrase("panels.printed"))
    figure.update_xaxes(tickvals=list(WIDTHS))
    figure.update_yaxes(type="log")
    caption = WORDS.phrase("panels.width_caption", points=len(data[1]), pairs=PAIRS, sweeps=SWEEPS, burn=BURN, held=HELD)
    alt = WORDS.phrase("panels.alt", told="; ".join(told))
    return Figure(WORDS.phrase("panels.wider"), figure, f"{alt} {caption}", caption)


def _wanted(values: Sequence[int], cancel: Any) -> Iterator[int]:
    """The values, as long as the work is wanted."""
    for value in values:
        if cancel is not None and cancel.is_set():
            raise InterruptedError
        yield value


def _line(figure: Any, at: Sequence[int], found: Sequence[Births], name: str, role: str, symbol: str, dash: str) -> str:
    """Shares accepted with their errors as a line; and in words."""
    shares, errors = [100.0 * each.accepted for each in found], [100.0 * HELD * each.error for each in found]
    figure.add_scatter(
        x=list(at),
        y=shares,
        mode="lines+markers",
        marker={"symbol": symbol, "size": 9, "color": theme.colour(role)},
        line={"color": theme.colour(role), "dash": dash},
        name=name,
        error_y={"type": "data", "array": errors, "color": theme.colour(role), "thickness": 1.5},
    )
    rows = zip(at, shares, errors, strict=True)
    return f"{name}: " + ", ".join(f"{share:.1f} ± {error:.1f} % at {n}" for n, share, error in rows)


def acceptance(spec: LayersSpec) -> Births:
    """The jumps of the page's run, after the burn-in."""
    return layer_births(study(spec))


def accepted_by_move(spec: LayersSpec) -> dict[str, list]:
    """The table of acceptance of the page's run."""
    growth = study(spec)
    return accept_table(growth.run.recording(), growth.burn)
