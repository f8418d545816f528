"""The Gibbs run over models as a scene: one sweep a step, one predictor a sub-step."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.player.scene import MAX_WINDOW, Axis, Phase, Scene, Show
from app.kit.preview import Preview
from engine.spike_and_slab import SelectionRecording
from engine.variational import NetworkFit
from lessons.families.digit_posteriors import sources
from lessons.families.watched import State
from lessons.spike_and_slab import analysis, learning, network_scenes, network_views
from lessons.spike_and_slab.analysis import Setup
from lessons.spike_and_slab.learning import Frame
from lessons.spike_and_slab.spec import WORDS, SpikeAndSlabSpec

Array = NDArray[np.float64]

PHASES = (Phase("flip", WORDS.phrase("stage.flip"), "inner"), Phase("draw", WORDS.phrase("stage.draw")))
HEIGHT = 260
RATE = 12.0
LOOKS = 20  # at the growing chains


OF_REGRESSION = ("inclusion", "slab_sd", "noise_sd", "rows", "correlation")
OF_NETWORK = ("weight_inclusion", "units", "epochs")
PREVIEWS = dict.fromkeys((*OF_REGRESSION, *OF_NETWORK), Preview(smooth=False, slow=learning.is_large))


def scene(spec: SpikeAndSlabSpec, window: int | None = None) -> bytes:
    """The scene of chain 1, with the inside of the sweeps around `window`; or the first looks at the training."""
    if spec.part == "network":
        return _network(spec)
    return _picture(spec, analysis.record(spec), window, None)


def _network(spec: SpikeAndSlabSpec) -> bytes:
    here = _viewed(learning.network_part(spec), spec)
    if not learning.is_large(spec):
        return network_scenes.first(here) if spec.view == "training" else network_views.first(here)
    return _large(here, learning.shared(spec).ended(), "")


def _large(spec: SpikeAndSlabSpec, state: State[NetworkFit, Frame], note: str) -> bytes:
    """The picture of a training on MNIST as it stands."""
    if spec.view == "training":
        return network_scenes.picture(spec, state.looks, None, note)
    return network_views.picture(spec, state.fit, state.looks[-1].epoch, note)


def grow(spec: SpikeAndSlabSpec, job: Any) -> bytes | None:
    """The same; of a network with a picture of its beginning, of one that learns MNIST with pictures on the way, while data
    are fetched and it learns.
    """
    if spec.part != "network":
        return scene(spec)
    return sources.behind(spec.data, partial(_grown, spec, job), job)


def _grown(spec: SpikeAndSlabSpec, job: Any) -> bytes | None:
    here = _viewed(learning.network_part(spec), spec)
    if not learning.is_large(spec):
        beginning = (network_scenes if spec.view == "training" else network_views).beginning(here)
        if beginning is not None:
            job.publish(beginning)
        return None if job.is_set() else scene(spec)
    return learning.shared(here).grown(partial(_large, here), job, network_scenes.FIRST_OF_MANY)


def live(spec: SpikeAndSlabSpec) -> Callable[[Any], bytes] | None:
    """The body of the long run: the training of a network, or the chains as they grow. None of MNIST, which grows by
    itself.
    """
    if spec.part != "network":
        return _grow(spec)
    if learning.is_large(spec):
        return None
    here = learning.network_part(spec)
    return network_scenes.live(here) if spec.view == "training" else network_views.live(_viewed(here, spec))


def _viewed(part: SpikeAndSlabSpec, spec: SpikeAndSlabSpec) -> SpikeAndSlabSpec:
    """The settings of the training with the way to look at it."""
    return part.replace(view=spec.view)


def _grow(spec: SpikeAndSlabSpec) -> Callable[[Any], bytes]:
    def body(job: Any) -> bytes:
        run = analysis.start(spec)
        while not run.done and not job.cancelled:
            run.advance(max(1, spec.draws // LOOKS))
            job.report(run.completed, spec.draws)
            job.publish(_picture(spec, run.recording(), None, None if run.done else spec.draws))
        return _picture(spec, run.recording(), None, None)

    return body


def _picture(spec: SpikeAndSlabSpec, run: SelectionRecording, window: int | None, total: int | None) -> bytes:
    """The scene of the sweeps so far; `total` while more are to come."""
    here = analysis.setup(spec)
    steps, p = run.included.shape[1:]
    width = min(MAX_WINDOW, steps)
    first = int(np.clip((window or 0) - width // 2, 0, steps - width))
    picture = Scene(
        run=repr(spec),
        steps=steps,
        rate=RATE,
        phases=PHASES,
        total=total,
        theme=theme.palette(),
        label=WORDS.phrase("stage.picture", predictors=p, likelihood=WORDS["likelihoods"][spec.likelihood]),
    )
    picture.window(first, np.arange(width + 1, dtype=np.int32) * p)
    _frequencies(picture, here, run, slice(first, first + width))
    _growth(picture, here, run)
    _models(picture, here, run)
    _coefficients(picture, here, run)
    _arithmetic(picture, spec, here, run, slice(first, first + width))
    return picture.encode()


def running(run: SelectionRecording) -> Array:
    """(draws, p), share of the sweeps of chain 1 so far that had each predictor in."""
    included = run.included[0].astype(np.float64)
    return np.asarray(np.cumsum(included, axis=0) / np.arange(1, len(included) + 1)[:, None])


def _frequencies(picture: Scene, here: Setup, run: SelectionRecording, rows: slice) -> None:
    p = here.predictors
    panel = picture.panel(
        "inclusion",
        title=WORDS.phrase("stage.inclusion"),
        x=Axis(WORDS.phrase("stage.predictor"), 0.5, p + 0.5),
        y=Axis(WORDS.phrase("stage.inclusion_probability"), 0.0, 1.05),
        place=(0, 0, 8, 1),
        height=HEIGHT,
    )
    panel.bars(running(run), labels=here.labels, truth=here.truth.inclusion, label=WORDS.phrase("stage.so_far"))
    field = np.column_stack([np.arange(1, p + 1), here.field.inclusion[-1]])
    panel.points(field, shape="square", role="reject", size=4.5, label=WORDS.phrase("stage.mean_field"))
    asked = run.conditional[0, rows]
    places = np.column_stack([np.tile(np.arange(1, p + 1), len(asked)), asked.ravel()])
    panel.points(places, show="inner_at", shape="ring", role="highlight", size=8, label=WORDS.phrase("stage.asked"))


def _growth(picture: Scene, here: Setup, run: SelectionRecording) -> None:
    shares = running(run)
    n = np.arange(1, len(shares) + 1)
    panel = picture.panel(
        "growth",
        title=WORDS.phrase("stage.growth"),
        x=Axis(WORDS.phrase("stage.sweeps"), 1, 1.2 * len(n), log=True),
        y=Axis(WORDS.phrase("stage.share"), -0.02, 1.05),
        place=(8, 0, 7, 1),
        height=HEIGHT,
    )
    told: set[bool] = set()
    for j, effect in enumerate(here.effects):
        real = bool(effect != 0.0)
        words = None if real in told else WORDS.phrase("stage.effect" if real else "stage.no_effect")
        told.add(real)
        panel.line(n, shares[:, j], show="upto", role="posterior" if real else "reject", dash=not real, width=1.6, label=words)
    ends = np.column_stack([np.full(here.predictors, float(n[-1])), here.truth.inclusion])
    panel.points(ends, shape="diamond", role="truth", size=4.5)


def _models(picture: Scene, here: Setup, run: SelectionRecording) -> None:
    included = run.included[0]
    steps, p = included.shape
    panel = picture.panel(
        "models",
        title=WORDS.phrase("stage.models"),
        x=Axis(WORDS.phrase("stage.sweep"), 0.0, float(steps)),
        y=Axis("", 0.4, p + 0.6, ticks=[(p - j, label) for j, label in enumerate(here.labels)]),
        place=(0, 1, 8, 1),
        height=HEIGHT,
    )
    sweep = np.arange(1, steps + 1)
    for j, effect in enumerate(here.effects):
        panel.points(
            np.column_stack([sweep, np.full(steps, p - j)]),
            show="upto",
            mask=included[:, j],
            size=1.8,
            shape="square" if effect != 0.0 else "cross",
            role="posterior" if effect != 0.0 else "reject",
        )
    panel.rule(x=sweep.astype(float), role="muted")


def _coefficients(picture: Scene, here: Setup, run: SelectionRecording) -> None:
    beta = run.coefficients[0]
    reach = 1.15 * max(float(np.abs(beta).max()), float(np.abs(here.effects).max()), 0.1)
    panel = picture.panel(
        "coefficients",
        title=WORDS.phrase("stage.coefficients"),
        x=Axis(WORDS.phrase("stage.predictor"), 0.5, here.predictors + 0.5),
        y=Axis(WORDS.phrase("stage.coefficient"), -reach, reach),
        place=(8, 1, 7, 1),
        height=HEIGHT,
    )
    panel.bars(beta, labels=here.labels, truth=here.effects, role="accept", label=WORDS.phrase("stage.drawn"))


def _arithmetic(picture: Scene, spec: SpikeAndSlabSpec, here: Setup, run: SelectionRecording, rows: slice) -> None:
    included = run.included[0]
    steps, p = included.shape
    asked = run.conditional[0, rows].ravel()
    with np.errstate(divide="ignore"):
        odds = np.clip(np.log(asked) - np.log1p(-asked), -999.0, 999.0)
    # the sampler's own prior odds, not the model's: the card shows what was computed
    prior = np.full(len(asked), float(here.model.log_odds[0]) + spec.log_odds_error)
    number = np.tile(np.arange(1, p + 1), len(asked) // p)
    picture.readout(
        "odds",
        WORDS.phrase("stage.odds_card" if spec.variant == "exact" else "stage.wrong_odds_card"),
        show=Show("inner_at"),
        inner=True,
        j=number,
        prior=prior,
        factor=odds - prior,
        odds=odds,
    )
    picture.readout(
        "coin", WORDS.phrase("stage.coin_card"), show=Show("inner_at"), inner=True, p=asked, taken=included[rows].ravel().astype(np.int32)
    )
    row = analysis.model_number(included)
    seen = _times_seen(row)
    picture.readout(
        "model",
        WORDS.phrase("stage.model_card", predictors=p),
        show=Show("at", phase=("draw", None)),
        size=included.sum(axis=1),
        share=seen / np.arange(1, steps + 1),
        exact=here.truth.probability[row],
    )
    error = np.abs(running(run) - here.truth.inclusion).max(axis=1)
    picture.readout("error", WORDS.phrase("stage.error_card"), show=Show("at", phase=("draw", None)), error=error)
    picture.say(WORDS.phrase("stage.said"), size=included.sum(axis=1), error=error)
    picture.table(
        {
            "predictors in": included.sum(axis=1),
            "exact probability of this model": here.truth.probability[row],
            "worst error of the shares": error,
            **{f"{label} in": included[:, j].astype(np.int32) for j, label in enumerate(here.labels)},
        }
    )


def _times_seen(row: NDArray[np.int64]) -> NDArray[np.int64]:
    """(N,), how often each model was visited up to and with its sweep."""
    counts: dict[int, int] = {}
    seen = np.empty(len(row), np.int64)
    for t, m in enumerate(row.tolist()):
        counts[m] = seen[t] = counts.get(m, 0) + 1
    return seen
