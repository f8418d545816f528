"""From the chains to the picture: the histogram of k as it grows, the fit at every k, the traces, and the map."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.player.events import placed
from app.kit.player.scene import Axis, Editable, Panel, Scene
from engine.evidence import ArchitectureEvidence
from engine.jumps import ArchitectureRecording, ArchitectureRun
from engine.jumps.shares import running_shares
from lessons.families.growing.plane import MAX_POINTS, REACH
from lessons.families.growing.sizes import size_panel, size_traces
from lessons.families.growing.spec import CLASSES
from lessons.occam.analysis import (
    BEGINNING,
    CHAINS,
    FIRST,
    GROWS,
    begin,
    evidence,
    evidence_if_known,
    exact,
    first_look,
    map_of,
    running_fit,
    times,
)
from lessons.occam.spec import WORDS, OccamSpec

Array = NDArray[np.float64]

RATE = 12.0  # frames a second
CHUNK = 20  # sweeps between two pictures of the run
VIEW = (-REACH, REACH)
HEIGHT = 250
BELOW, ABOVE = 6.0, 12.0  # nats of the fit's axis beyond most of the first sweeps: the chains still climb
HIGHEST = 3.0  # where it ends: nothing fits better than 0


def scene(spec: OccamSpec, window: int | None) -> bytes:
    """The first sweeps. `window` is not used: a step has no inside here."""
    return picture(spec, first_look(spec), evidence_if_known(spec))


def grow(spec: OccamSpec, job: Any) -> bytes | None:
    """The chains to their last sweep, then the evidence of every k by annealing."""
    run, known = begin(spec, spec.sweeps), evidence_if_known(spec)
    while not run.done and not job.is_set():
        run.advance(min(CHUNK, (GROWS - 1) * run.completed) or BEGINNING)
        job.publish(picture(spec, run, known, more=not run.done))
    if job.is_set():
        return None
    known = evidence(spec, job)
    return None if job.is_set() else picture(spec, run, known)


def picture(spec: OccamSpec, run: ArchitectureRun, known: ArchitectureEvidence | None, *, more: bool = False) -> bytes:
    """The scene of the chains as far as they have come."""
    recording = run.recording()
    at = times(spec, run.completed)
    rows = running_shares(recording.width, 1, spec.highest, spec.burn)[at]
    made = Scene(
        run=hashlib.blake2b(repr(spec).encode(), digest_size=12).hexdigest(),
        steps=len(at),
        label=_label(spec),
        rate=RATE,
        autoplay=True,
        total=len(times(spec, spec.sweeps)) if more else None,
        theme=theme.palette(),
    )
    probability = None if known is None else exact(spec, known)
    panel = size_panel(
        made,
        rows,
        1,
        exact=probability,
        title=WORDS.phrase("stage.shares"),
        place=(0, 0, 11, 1),
        height=HEIGHT,
        label=WORDS.phrase("stage.bars", chains=CHAINS, burn=spec.burn),
    )
    sizes = np.arange(1.0, spec.highest + 1)
    panel.line(sizes, np.exp(spec.log_prior()), role="prior", dash=True, width=1.8, label=WORDS.phrase("stage.prior"))
    fit = running_fit(recording, spec.highest, spec.burn, at)
    fit_panel(made, spec, fit, known)
    size_traces(
        made,
        at + 1.0,
        recording.width[:, at].astype(float),
        id="traces",
        title=WORDS.phrase("stage.traces", chains=CHAINS),
        x=Axis(WORDS.phrase("stage.sweep"), 1, spec.sweeps if more or run.completed > FIRST else run.completed),
        y=Axis("k", 0.5, spec.highest + 0.5),
        place=(0, 1, 11, 1),
        height=HEIGHT,
    )
    map_panel(made, spec, recording)
    words(made, spec, at, rows, fit, recording, known)
    return made.encode()


def on_event(spec: OccamSpec, event: dict) -> OccamSpec | None:
    """Points placed in the map become the data."""
    points = placed(event, "map")
    return None if points is None else spec.replace(data="points", points=points)


# Panels ---------------------------------------------------------------------------------------------------------------


def fit_panel(made: Scene, spec: OccamSpec, fit: Array, known: ArchitectureEvidence | None) -> Panel:
    """The mean log likelihood at each k so far, and once known the log evidence below it. The gap is the price."""
    sizes = np.arange(1, spec.highest + 1)
    late = fit[1:BEGINNING]  # the chains come near the hill, and the axis stands still while the run grows
    seen = late[np.isfinite(late)]
    low, high = float(np.quantile(seen, 0.25)) - BELOW, min(float(seen.max()) + ABOVE, HIGHEST)
    if known is not None:
        low = min(low, float(np.min(known.log_evidence[2:])) - BELOW)
    panel = made.panel(
        "fit",
        title=WORDS.phrase("stage.fit" if known is None else "stage.fit_and_evidence"),
        x=Axis(WORDS.phrase("stage.hidden_units_k"), 0.5, spec.highest + 0.5),
        y=Axis(WORDS.phrase("stage.nats"), low, high),
        place=(11, 1, 9, 1),
        height=HEIGHT,
    )
    label = WORDS.phrase("stage.fit_so_far")
    for k, size in enumerate(sizes):
        marks = np.column_stack([np.full(len(fit), float(size)), fit[:, k]])
        panel.points(marks, show="at", role="likelihood", size=4, label=label if k == 0 else None)
    if known is not None:
        marks = np.column_stack([sizes, known.log_evidence])
        label = WORDS.phrase("stage.evidence")
        panel.points(marks, role="ink", shape="diamond", size=4, label=label)
    return panel


def map_panel(made: Scene, spec: OccamSpec, recording: ArchitectureRecording) -> Panel:
    """The average prediction over all k in the plane, with the data; own points can be edited."""
    x, y = spec.data_set()
    editable = None
    if spec.data == "points":
        editable = Editable(points=np.array(spec.points, dtype=float), classes=CLASSES, limit=MAX_POINTS)
    ticks = [(-1.0, "−1"), (0.0, "0"), (1.0, "1")]
    panel = made.panel(
        "map",
        title=WORDS.phrase("stage.mean"),
        x=Axis("x₁", *VIEW, ticks=ticks),
        y=Axis("x₂", *VIEW, ticks=ticks),
        place=(11, 0, 9, 1),
        equal=True,
        height=HEIGHT,
        editable=editable,
    )
    panel.heatmap(
        map_of(recording, spec.burn),
        x=VIEW,
        y=VIEW,
        low=0.0,
        high=1.0,
        colormap="diverging",
        label=WORDS.phrase("stage.probability"),
        alpha=0.75,
    )
    if editable is None:
        shapes = ["circle", "square"]
        panel.points(x, classes=y, role=["surface"] * 2, shape=shapes, size=2.6, alpha=1.0)
        panel.points(x, classes=y, role=["class-0", "class-1"], shape=shapes, size=1.8, alpha=1.0, label=list(CLASSES))
    return panel


# Words and numbers ----------------------------------------------------------------------------------------------------


def words(
    made: Scene,
    spec: OccamSpec,
    at: NDArray[np.int64],
    rows: Array,
    fit: Array,
    recording: ArchitectureRecording,
    known: ArchitectureEvidence | None,
) -> None:
    """The arithmetic card, the spoken sentence and the table."""
    sizes = np.arange(1, spec.highest + 1)
    top, mean = rows.argmax(axis=1), rows @ sizes
    fits = fit[np.arange(len(at)), top]
    made.readout("sweep", WORDS.phrase("stage.sweep_card"), n=at + 1, k=top + 1, mean=mean)
    if known is None:
        made.readout("fit", WORDS.phrase("stage.fit_card"), k=top + 1, fit=fits)
    else:
        logs = known.log_evidence[top]
        made.readout("split", WORDS.phrase("stage.split_card"), k=top + 1, log=logs, fit=fits, price=fits - logs)
        share = exact(spec, known).probability
        made.readout("exact", WORDS.phrase("stage.exact_card"), share=rows[np.arange(len(at)), top], exact=share[top])
    made.say(WORDS.phrase("stage.said"), n=at + 1, k=top + 1, mean=mean)
    columns = {"sweep": at + 1, "most frequent k": top + 1, "mean k": mean, "fit there (nats)": fits}
    made.table(columns | {WORDS.phrase("stage.chain", chain=c + 1): recording.width[c, at] for c in range(4)})


def _label(spec: OccamSpec) -> str:
    data = WORDS.phrase("stage.clouds") if spec.data == "clouds" else WORDS.phrase("stage.own", points=len(spec.points))
    return WORDS.phrase("stage.picture", highest=spec.highest, data=data, chains=CHAINS)
