"""The networks of this lesson: a convolutional one, trained once for all who look, and a dense one to compare with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from datasets.images import digits
from engine import kept
from engine.ticket import Lock
from engine.variational import ConvolutionFit, ConvolutionRun, ConvolutionSpec, History, NetworkFit, fit_network, start_convolution
from lessons.convolution.spec import FILTERS, ConvolutionLesson

Array = NDArray[np.float64]
Stop = Callable[[], bool]

SIDE, KERNEL, PAD = 8, 3, 1
LOOKS = 24  # at a whole training, after the start,
BENT = 2.0  # closer at the beginning: look k is after (k / LOOKS)^BENT of the steps
INITIAL_SD = 0.02  # small, so that means are learnt before the noise has grown
STEP_SIZE = 0.02
DENSE: dict[str, Any] = {"method": "gaussian", "hidden": (64,), "epochs": 120, "initial_sd": INITIAL_SD}


def network_spec(spec: ConvolutionLesson) -> ConvolutionSpec:
    """The network: two stages of 3 × 3 filters, 32 dense units. A pass draws every weight once, for all places and all
    images of the minibatch, so that what is trained is the ELBO of this very q."""
    return ConvolutionSpec(
        filters=(FILTERS, 16),
        kernel=KERNEL,
        padding="same",
        pool=2 if spec.pooling == "max" else 1,
        hidden=(32,),
        estimator="weights",
        initial_sd=INITIAL_SD,
        step_size=STEP_SIZE,
        epochs=spec.epochs,
        variant=spec.variant,
        seed=spec.seed,
    )


def start(spec: ConvolutionLesson, some: int | None = None) -> ConvolutionRun:
    """Its training before the first step; on `some` of the digits, all in one batch, where that is enough."""
    data, network = digits(), network_spec(spec)
    x, y = data.images / np.float32(data.top), data.labels
    if some is None:
        return start_convolution(x, y, network, report_every=1)
    return start_convolution(x[:some], y[:some], network, batch=some)


class Look(NamedTuple):
    """The training after some steps.

    step : how many
    mean, sd : (F, k, k) of the first stage's filters
    kl : (layers,) nats, each weight once
    counted : (layers,) how often the ELBO counts it
    elbo, energy, accuracy : as last reported; NaN before the first report
    """

    step: int
    mean: Array
    sd: Array
    kl: Array
    counted: Array
    elbo: float
    energy: float
    accuracy: float


class State(NamedTuple):
    """What is known of a training so far."""

    looks: tuple[Look, ...]
    fit: ConvolutionFit
    done: bool

    @property
    def history(self) -> History:
        return self.fit.history


class Learning:
    """A training that everyone in the process shares: whoever needs it trains it on; `state` never waits."""

    def __init__(self, spec: ConvolutionLesson):
        self._run = start(spec)
        self._lock = Lock()
        self.state = State((), *self._fit())
        self.state = self._looked()

    def advance(self, stop: Stop | None = None) -> None:
        """To the next look, or wait while somebody else trains."""
        with self._lock:
            if self.state.done:
                return
            wanted = max(1, round(self._run.total * (len(self.state.looks) / LOOKS) ** BENT) - self._run.completed)
            if self._run.advance(wanted, stop) == wanted:
                self.state = self._looked()

    def finish(self, stop: Stop | None = None) -> State | None:
        """Train to the end; None when stopped."""
        while not self.state.done:
            if stop is not None and stop():
                return None
            self.advance(stop)
        return self.state

    def _fit(self) -> tuple[ConvolutionFit, bool]:
        fit = self._run.fit()
        assert isinstance(fit, ConvolutionFit)
        return fit, self._run.done

    def _looked(self) -> State:
        fit, done = self._fit()
        mean, sd = (part[..., 0].astype(np.float64) for part in fit.filters())
        kl = fit.kl_by_layer()
        counted = np.ones(len(kl))
        if fit.spec.variant == "places":
            counted[: len(fit.shape.stages)] = [stage.places**2 for stage in fit.shape.stages]
        last = [float(column[-1]) if len(column) else np.nan for column in fit.history[1:]]
        look = Look(self._run.completed, mean, sd, kl, counted, last[0], last[1], last[3])
        return State((*self.state.looks, look), fit, done)


def learning(spec: ConvolutionLesson) -> Learning:
    """The training of these settings, as far as somebody has trained it."""
    alone = spec.trained_alone()
    return kept.store.make((Learning, alone), lambda: Learning(alone))


def trained(spec: ConvolutionLesson, stop: Stop | None = None) -> State | None:
    """It, trained to the end; None when stopped."""
    return learning(spec).finish(stop)


@kept.kept
def dense(seed: int) -> NetworkFit:
    """A dense network on the same digits, every weight with a normal distribution."""
    data = digits()
    return fit_network(data.x, data.y, seed=seed, **DENSE)
