"""The networks of this lesson: a convolutional one, trained once for all who look, and a dense one to compare with.

Of 28 × 28 digits it is Steyn's network on MNIST, and its state is on disk: it grows while somebody looks, and goes on from
there. Where MNIST is not on this machine the bundled digits stand in for it, and the picture says so.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from datasets import local, remote
from datasets.images import Images, digits
from engine import kept, states
from engine.variational import STEYN, ConvolutionFit, ConvolutionRun, ConvolutionSpec, NetworkFit, fit_network, start_convolution
from lessons.convolution.spec import FILTERS, WORDS, ConvolutionLesson
from lessons.families import watched
from lessons.families.watched import Stop, Watched

Array = NDArray[np.float64]

SIDE, KERNEL, PAD, POOL = 8, 3, 1, 2
LOOKS = 24  # at a whole training, after the start,
BENT = 2.0  # closer at the beginning: look k is after (k / LOOKS)^BENT of the steps
INITIAL_SD = 0.02  # small, so that means are learnt before the noise has grown
STEP_SIZE = 0.02
MNIST = "mnist"
LARGE: dict[str, Any] = {"epochs": 5, "step_size": 1e-3, "batch": 100}  # of Steyn's network
REPORTS = 150  # an epoch: the first before the first look
TESTED = 1_000  # images of MNIST by which it is tried at each look
FORMAT = 1  # of them: another number leaves the old ones behind
DENSE: dict[str, Any] = {"method": "gaussian", "hidden": (64,), "epochs": 120, "initial_sd": INITIAL_SD}


def is_large(spec: ConvolutionLesson) -> bool:
    """Whether it learns from the 28 × 28 digits, which are here."""
    return spec.large and local.here(MNIST)


def stand_in(spec: ConvolutionLesson) -> str:
    """What the picture says where other digits stand in for MNIST; nothing where not."""
    return WORDS.phrase("stage.stand_in") if spec.large and not local.here(MNIST) else ""


class Geometry(NamedTuple):
    """Pixels along an edge of the digits, weights along an edge of the first filters, and the rim of zeros around."""

    side: int
    kernel: int
    pad: int

    @property
    def places(self) -> int:
        """Along an edge, that a filter looks at."""
        return self.side + 2 * self.pad - self.kernel + 1


def geometry(spec: ConvolutionLesson) -> Geometry:
    """Of the network that learns."""
    return Geometry(28, int(STEYN["kernel"]), 0) if is_large(spec) else Geometry(SIDE, KERNEL, PAD)


def data_of(spec: ConvolutionLesson) -> Images:
    """What it learns from and is tried on."""
    return local.images(MNIST) if is_large(spec) else digits()


def network_spec(spec: ConvolutionLesson) -> ConvolutionSpec:
    """The network: two stages of 3 × 3 filters, 32 dense units; of 28 × 28 digits two stages of 32 filters of 5 × 5, 256
    units. A pass draws every weight once, for all places and all images of the minibatch, so that what is trained is the
    ELBO of this very q."""
    if is_large(spec):
        return ConvolutionSpec(estimator="weights", initial_sd=INITIAL_SD, variant=spec.variant, seed=spec.seed, **STEYN, **LARGE)
    return ConvolutionSpec(
        filters=(FILTERS, 16),
        kernel=KERNEL,
        padding="same",
        pool=POOL if spec.pooling == "max" else 1,
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
    data, network = data_of(spec), network_spec(spec)
    if some is not None:
        return start_convolution(data.images[:some] / np.float32(data.top), data.labels[:some], network, batch=some)
    if is_large(spec):
        epoch = len(data.labels) // network.batch
        return start_convolution(data.levels, data.labels, network, report_every=max(1, epoch // REPORTS))
    return start_convolution(data.images / np.float32(data.top), data.labels, network, report_every=1)


class Look(NamedTuple):
    """The training after some steps.

    step : how many
    mean, sd : (F, k, k) of the first stage's filters
    kl : (layers,) nats, each weight once
    counted : (layers,) how often the ELBO counts it
    elbo, energy, accuracy : as last reported; NaN before the first report
    tested : share of `TESTED` test images read right by the means; NaN of the small digits
    """

    step: int
    mean: Array
    sd: Array
    kl: Array
    counted: Array
    elbo: float
    energy: float
    accuracy: float
    tested: float


State = watched.State[ConvolutionFit, Look]


class Learning(Watched[ConvolutionFit, Look]):
    """A training that everyone in the process shares.

    path : of its state on disk, from which it goes on; None: it has none
    """

    def __init__(self, spec: ConvolutionLesson, path: Path | None = None):
        run, tests = start(spec), data_of(spec).some(1, TESTED) if is_large(spec) else None
        super().__init__(run, watched.bent(run.total, LOOKS, BENT), partial(look_at, tests=tests), path)


def look_at(fit: ConvolutionFit, step: int, tests: Images | None) -> Look:
    """What is seen of the training after so many steps; `tests`: images that its means are tried on."""
    mean, sd = (part[..., 0].astype(np.float64) for part in fit.filters())
    kl = fit.kl_by_layer()
    counted = np.ones(len(kl))
    if fit.spec.variant == "places":
        counted[: len(fit.shape.stages)] = [stage.places**2 for stage in fit.shape.stages]
    last = [float(column[-1]) if len(column) else np.nan for column in fit.history[1:]]
    prediction = None if tests is None else fit.predict(tests.x_test, "MEAN")
    tested = np.nan if prediction is None or tests is None else prediction.accuracy(tests.labels_test)
    return Look(step, mean, sd, kl, counted, last[0], last[1], last[3], tested)


def learning(spec: ConvolutionLesson) -> Learning:
    """The training of these settings, as far as somebody has trained it."""
    alone = spec.trained_alone()
    if not is_large(alone):
        alone = alone.replace(part="kernel", size="small").trained_alone()  # also of what stands in
    return kept.store.make((Learning, alone), lambda: Learning(alone, state_path(alone)))


def state_path(spec: ConvolutionLesson) -> Path | None:
    """Where the state of the large network is kept on disk. The name holds all that it depends on."""
    if not is_large(spec):
        return None
    about = repr((FORMAT, network_spec(spec), LOOKS, BENT)).encode() + data_of(spec).labels.tobytes()
    return states.path_of(remote.trained_folder(), "convolution", about)


def trained(spec: ConvolutionLesson, stop: Stop | None = None) -> State | None:
    """It, trained to the end; None when stopped."""
    return learning(spec).finish(stop)


@kept.kept
def dense(seed: int) -> NetworkFit:
    """A dense network on the same digits, every weight with a normal distribution."""
    data = digits()
    return fit_network(data.x, data.y, seed=seed, **DENSE)
