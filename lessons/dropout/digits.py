"""The network that reads digits: one hidden layer, trained with dropout look by look, and the passes made with it.

That of MNIST is trained once for all who look, and its state is on disk: it grows while somebody looks, and goes on from
there. Where MNIST is not on this machine the bundled digits stand in for it. Its masks cannot be counted, but where no
pixel is dropped the mean and sd over all of them are known exactly: the output adds up over the units.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datasets.images import Images
from engine import kept, scores, ticket
from engine.training import activation
from engine.variational import NetworkFit, NetworkRun, NetworkSpec
from engine.variational.predict import forward
from lessons.dropout.spec import DropoutSpec, factor
from lessons.families import watched
from lessons.families.digit_posteriors import sources
from lessons.families.digit_posteriors.training import begun
from lessons.families.watched import State, Watched

Array = NDArray[np.float64]

LOOKS = 20  # at a whole training, after the start
DRAWS = 20  # passes by which test images are read
DOUBTS = np.geomspace(1e-4, 1.0, 25)  # edges of the histograms of disagreement, in nats; what lies outside counts at the ends
SMALL: dict[str, Any] = {"epochs": 60, "step_size": 3e-3, "inclusion_step_size": 0.02}  # on the bundled digits
LARGE: dict[str, Any] = {"epochs": 10, "step_size": 1e-3, "inclusion_step_size": 0.01}
FORMAT = 1  # of states on disk: another number leaves the old ones behind


def is_large(spec: DropoutSpec) -> bool:
    """Whether the network learns MNIST, which is here."""
    return spec.data == "digits" and sources.present(spec.images) == "mnist"


def data_of(spec: DropoutSpec) -> Images:
    """What it learns from and is tried on."""
    return sources.few_tested(spec.images)


def number_of(spec: DropoutSpec) -> int:
    """Which test image x* is: the one asked for, unless other data with fewer stand in."""
    return spec.number % len(sources.images(spec.images).labels_test)


def image_of(spec: DropoutSpec) -> tuple[NDArray[np.float32], int]:
    """(1, pixels) x*, ink from 0 to 1, and which digit it is."""
    data, number = sources.images(spec.images), number_of(spec)
    ink = data.images_test[number].astype(np.float32) / np.float32(data.top)
    return ink.reshape(1, -1), int(data.labels_test[number])


def network_spec(spec: DropoutSpec) -> NetworkSpec:
    """The engine's description of the training."""
    settings = LARGE if is_large(spec) else SMALL
    about: dict[str, Any] = {"method": spec.method, "keep": spec.keep, "scaling": spec.scaling, "prior_sd": spec.prior_sd}
    return NetworkSpec(hidden=(spec.hidden,), seed=spec.seed, **about, **settings)


def start(spec: DropoutSpec) -> NetworkRun:
    """The training before its first step."""
    settings, data = network_spec(spec), data_of(spec)
    return begun(data, settings, often=is_large(spec))


# Looks ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Look:
    """The training after some steps.

    epoch : passes through the data so far
    single, averaged, off : share of test images read right by one pass, by the average of `DRAWS`, with dropout switched off
    keep : (2,) probability that a pixel and that a hidden unit is kept
    doubt_right, doubt_wrong : (bins,) shares of the test images that the average reads right, and wrong, by how much the
        passes disagree: their epistemic uncertainty, see `DOUBTS`
    """

    epoch: float
    single: float
    averaged: float
    off: float
    keep: Array
    doubt_right: Array
    doubt_wrong: Array


class Learning(Watched[NetworkFit, Look]):
    """A training that everyone in the process shares.

    path : of its state on disk, from which it goes on; None: it has none
    """

    def __init__(self, spec: DropoutSpec, path: Path | None = None):
        run = start(spec)
        super().__init__(run, watched.bent(run.total, LOOKS), partial(look_at, data=data_of(spec)), path)


def look_at(fit: NetworkFit, step: int, data: Images) -> Look:
    """What is seen of the training after so many steps."""
    x, y = data.x_test, data.y_test
    averaged, off = fit.predict(x, "MA", samples=DRAWS, seed=fit.spec.seed), fit.predict(x, "MEAN")
    assert averaged is not None and off is not None  # nobody stops it
    parts = scores.decompose(averaged.draws)
    right = parts.mean.argmax(axis=1) == y
    return Look(
        epoch=step / (len(data.y) // min(fit.spec.batch, len(data.y))),
        single=float(averaged.draw_accuracies(y)[0]),
        averaged=averaged.accuracy(y),
        off=off.accuracy(y),
        keep=fit.posterior.keep.copy(),
        doubt_right=_shares(parts.epistemic[right]),
        doubt_wrong=_shares(parts.epistemic[~right]),
    )


def _shares(values: Array) -> Array:
    """Share of the values between two of `DOUBTS` each; those outside count at the ends."""
    return np.histogram(np.clip(values, DOUBTS[0], DOUBTS[-1]), DOUBTS)[0] / max(len(values), 1)


# Trainings ------------------------------------------------------------------------------------------------------------


def learning(spec: DropoutSpec) -> Learning:
    """The training of these settings, as far as somebody has trained it."""
    alone = trained_alone(spec)
    return kept.store.make((Learning, alone), lambda: Learning(alone, state_path(alone)))


def trained_alone(spec: DropoutSpec) -> DropoutSpec:
    """The settings that training depends on; the rest at its default."""
    names = ("method", "keep", "scaling", "hidden", "prior_sd", "seed")
    return DropoutSpec(data="digits", images=sources.present(spec.images), **{name: getattr(spec, name) for name in names})


def state_path(spec: DropoutSpec) -> Path | None:
    """Where the state of the training on MNIST is kept on disk. The name holds all that it depends on."""
    if not is_large(spec):
        return None
    return sources.trained_path("dropout", sources.images(spec.images), FORMAT, network_spec(spec), LOOKS)


def ended(spec: DropoutSpec) -> State[NetworkFit, Look]:
    """The training at its end. Raises InterruptedError where nobody wants it any more."""
    return learning(spec).ended()


# Passes ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Passes:
    """The engine's own draws of the masks, one a pass, at one image.

    units : (T, k) which hidden units are kept
    outputs : (T, classes) of the network, before they become probabilities
    draws : (T, classes) probabilities
    """

    units: NDArray[np.bool_]
    outputs: Array
    draws: Array


def passes(fit: NetworkFit, x: NDArray[np.float32], count: int, seed: int) -> Passes:
    """Passes at x (1, pixels)."""
    units, said = [], []
    for weights in drawn(fit, count, seed):
        units.append(fit.shape.split(weights)[1][:-1].any(axis=1))
        said.append(outputs(fit, x, weights)[0])
    z = np.stack(said)
    odds = np.exp(z - z.max(axis=1, keepdims=True))
    return Passes(np.stack(units), z, odds / odds.sum(axis=1, keepdims=True))


def drawn(fit: NetworkFit, count: int, seed: int) -> Iterator[NDArray[np.float32]]:
    """Flat weights under the masks of one pass after another: those of `NetworkFit.predict`, one at a time, for they are large."""
    rng = np.random.Generator(np.random.SFC64(seed))
    for _ in range(count):
        ticket.look()
        yield fit.posterior.sample(rng)


def outputs(fit: NetworkFit, x: NDArray[np.float32], weights: NDArray[np.float32]) -> Array:
    """(m, classes) what the engine's network with these flat weights says at x (m, pixels), before the softmax."""
    found = forward(fit.shape, fit.spec.activation, "gaussian", x, weights)
    assert found is not None  # nobody stops it
    return found.astype(np.float64)


# All masks ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Parts:
    """The outputs of the network without masks, in double precision: a sum over hidden units.

    parts : (m, k, classes) what each unit adds at each of m images; bias : (classes,)
    """

    parts: Array
    bias: Array

    @property
    def off(self) -> Array:
        """(m, classes) the outputs with dropout switched off."""
        return self.parts.sum(axis=1) + self.bias


def parts_of(fit: NetworkFit, x: NDArray[Any], first: NDArray[Any] | None = None) -> Parts:
    """At x (m, pixels). `first`: weights of the first layer in place of the trained ones, such as those of a pass."""
    layers = [layer.astype(np.float64) for layer in fit.expected_weights()]
    if first is not None:
        layers[0] = first.astype(np.float64)
    hidden = activation(fit.spec.activation, np.asarray(x, dtype=np.float64) @ layers[0][:-1] + layers[0][-1])
    return Parts(hidden[:, :, None] * layers[1][:-1], layers[1][-1])


def rivals(found: Parts) -> tuple[int, int]:
    """The two digits that the network finds most probable at the first image with dropout switched off."""
    order = np.argsort(found.off[0])
    return int(order[-1]), int(order[-2])


@dataclass(frozen=True, eq=False)
class OverMasks:
    """A number that adds up over the units, over all masks of them: exact, without counting one.

    mean, sd : (...,); third, fourth : (...,) central moments
    floor : (...,) what the sd cannot fall below
    """

    mean: Array
    sd: Array
    third: Array
    fourth: Array
    floor: Array


def over_masks(parts: Array, bias: Any, keep: float, times: float) -> OverMasks:
    """Of bias + times Σ_j z_j parts_j, z_j Bernoulli(keep); parts (..., k). The cumulants of independent terms add up."""
    parts = times * parts
    rate = keep * (1.0 - keep)
    second = rate * (parts**2).sum(axis=-1)
    third = rate * (1.0 - 2.0 * keep) * (parts**3).sum(axis=-1)
    fourth = rate * (1.0 - 6.0 * rate) * (parts**4).sum(axis=-1) + 3.0 * second**2
    total = parts.sum(axis=-1)
    floor = np.abs(total) * np.sqrt(rate / parts.shape[-1])
    return OverMasks(bias + keep * total, np.sqrt(second), third, fourth, floor)


def log_odds(spec: DropoutSpec, fit: NetworkFit, found: Parts, pair: tuple[int, int]) -> OverMasks:
    """Of the first digit of `pair` against the second, at each image of `found`."""
    one, other = pair
    keep = float(fit.posterior.keep[1])
    return over_masks(found.parts[:, :, one] - found.parts[:, :, other], found.bias[one] - found.bias[other], keep, factor(spec, keep))


def drops_pixels(fit: NetworkFit) -> bool:
    """Whether pixels are dropped, too: then the hidden units change from pass to pass."""
    return bool(fit.posterior.keep[0] < 1.0)
