"""Convolutional networks in which every weight has a variational distribution.

A stage is a convolution with stride 1, max-pooling over windows side by side, and the activation; after the stages come
dense layers (`engine.variational.network`). A filter serves every place of the image, and yet it is one set of weights:
its divergence from the prior counts once, however many places there are.

Wrong on purpose (`variant`): "places" counts the divergence of a filter once for every place that it serves; "flipped"
and "padding" are wrong in the backward pass, see `engine.variational.convolution_pass`.

Sources: LeCun, Bottou, Bengio and Haffner 1998 (the network); Steyn 2018, section 7.4 (with weights that have a
distribution); Kingma, Salimans and Welling 2015 (local reparameterisation).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from engine.levels import Levels
from engine.networks.passes import ACTIVATIONS
from engine.spec import SpecError, choice, integer
from engine.variational.convolution_pass import EXACT, FLIPPED, UNPADDED, convolve, convolve_back
from engine.variational.fused import FLIPOUT, SAMPLED, Single, key, padded, signs
from engine.variational.minibatch import LIKELIHOODS, Shape, Workspace, train_pass
from engine.variational.network import OF_PART, NetworkFit, NetworkRun, NetworkSpec, changed, checked_inputs

CONVOLUTION_METHODS = ("map", "gaussian", "mixture", "spike_and_slab")
PADDINGS = ("valid", "same")
CONVOLUTION_VARIANTS = ("exact", "places", "flipped", "padding")
_BACKWARD = {"flipped": FLIPPED, "padding": UNPADDED}
_PLACES = 3  # a stream of random numbers within a step, beside those of `engine.variational.network`
_GROUP = 1 << 17  # float32 of patches at a time: they stay in the second-level cache

# The convolutional network of Steyn 2018, figure 7.10, for 28 x 28 pixels. It prints 288 inputs of the dense layer;
# these filters and windows leave 4 * 4 * 32 = 512.
STEYN: dict[str, Any] = {"filters": (32, 32), "kernel": 5, "padding": "valid", "pool": 2, "hidden": (256,)}


@dataclass(frozen=True, kw_only=True)
class ConvolutionSpec(NetworkSpec):
    """Everything that decides a fit, beside the images.

    filters : how many each stage has, input to output
    hidden : widths of the hidden dense layers behind the stages
    """

    filters: tuple[int, ...] = (8, 16)
    hidden: tuple[int, ...] = (32,)
    method: str = choice("gaussian", CONVOLUTION_METHODS, "family of the variational distribution, or the most probable weights")
    kernel: int = integer(3, 1, 15, "rows and columns of a filter")
    padding: str = choice("same", PADDINGS, "a rim of zeros so that a convolution keeps the size, or none")
    pool: int = integer(2, 1, 4, "rows and columns of a pooling window; 1 pools nothing")
    variant: str = choice("exact", CONVOLUTION_VARIANTS, "right, or wrong on purpose")

    def check(self) -> None:
        super().check()
        filters: Any = self.filters
        if not isinstance(filters, (tuple, list)) or any(isinstance(f, bool) or not isinstance(f, int) for f in filters):
            raise SpecError("filters", f"{filters!r} is not a tuple of whole numbers")
        if not 1 <= len(filters) <= 4 or any(not 1 <= f <= 256 for f in filters):
            raise SpecError("filters", f"{filters!r} is not 1 to 4 numbers from 1 to 256")
        object.__setattr__(self, "filters", tuple(filters))
        if self.padding == "same" and self.kernel % 2 == 0:
            raise SpecError("kernel", f"{self.kernel} is even: with padding same it must be odd")
        if self.variant == "padding" and self.padding != "same":
            raise SpecError("variant", "padding is wrong only where there is padding: it needs padding same")


class Stage(NamedTuple):
    """A convolution and its pooling, as kernels take it.

    side, channels : of the maps that come in
    kernel, pad : rows and columns of a filter, and of zeros around the maps
    places : rows and columns of places that the filters serve
    filters, pool, pooled : how many, side of a pooling window, rows and columns after pooling
    group : images handled at a time
    """

    side: int
    channels: int
    kernel: int
    pad: int
    places: int
    filters: int
    pool: int
    pooled: int
    group: int

    @property
    def columns(self) -> int:
        """Weights of one filter, its bias included."""
        return self.kernel * self.kernel * self.channels + 1


def stages_of(side: int, channels: int, spec: ConvolutionSpec) -> tuple[Stage, ...]:
    """The stages for images (side, side, channels). Raises SpecError where nothing is left of them."""
    found = []
    pad = spec.kernel // 2 if spec.padding == "same" else 0
    for number, filters in enumerate(spec.filters, start=1):
        places = side + 2 * pad - spec.kernel + 1
        if places < spec.pool:
            raise SpecError("filters", f"stage {number} leaves nothing: its maps have {max(places, 0)} places a side, a window {spec.pool}")
        columns = spec.kernel**2 * channels + 1
        group = max(1, _GROUP // (places * places * max(columns, filters)))
        found.append(Stage(side, channels, spec.kernel, pad, places, filters, spec.pool, places // spec.pool, group))
        side, channels = places // spec.pool, filters
    return tuple(found)


@dataclass(frozen=True)
class ConvolutionShape(Shape):
    """Stages, then dense layers of `sizes`, the first of which reads the last maps."""

    stages: tuple[Stage, ...] = ()

    @property
    def inputs(self) -> int:
        return self.stages[0].side ** 2 * self.stages[0].channels

    @property
    def convolution_weights(self) -> int:
        """Weights of all stages, biases included."""
        return sum(stage.columns * stage.filters for stage in self.stages)

    @property
    def weights(self) -> int:
        return self.convolution_weights + sum((a + 1) * b for a, b in pairwise(self.sizes))

    @property
    def work(self) -> int:
        dense = sum((a + 1) * b for a, b in pairwise(self.sizes))
        return dense + sum(stage.places**2 * stage.columns * stage.filters for stage in self.stages)

    def split(self, flat: NDArray) -> list[NDArray]:
        """Views of every layer in a flat array, biases in the last row: (k k C + 1, F) of the stages, rows by kernel
        row, kernel column, channel; then (n_l + 1, n_{l+1}) of the dense layers.
        """
        parts, at = [], 0
        for stage in self.stages:
            end = at + stage.columns * stage.filters
            parts.append(flat[at:end].reshape(stage.columns, stage.filters))
            at = end
        return parts + super().split(flat[at:])

    def workspace(self, batch: int, way: int, noisy: bool) -> Workspace:
        return Maps(self, batch, way, noisy)

    def forward(self, activation: int, x: Single, weights: Single) -> Single:
        maps = Maps(self, len(x), SAMPLED, False)
        at = self.convolution_weights
        convolve(maps.stages, activation, x, np.arange(len(x)), weights[:at], maps.none, SAMPLED, 0, 0, maps.of_stages())
        return super().forward(activation, maps.features(), weights[at:])


class Maps(Workspace):
    """The arrays that one minibatch of `batch` images passes through; those of the dense layers are the base's.

    images : (batch * inputs,)
    maps, winners, carry : pooled and activated maps of all stages, where each maximum stood in its window, and what
        carries a derivative there to the variance (local passes) or the deviation (Flipout); flat, one stage after
        another
    turns : for Flipout signs (batch, columns) and then (batch, filters) of every stage
    back_maps : derivatives with respect to the maps of one stage
    scratch : of one group of images: padded maps, patches, their squares, values before pooling, normal draws,
        derivatives; and the gradient of one group's product
    """

    def __init__(self, shape: ConvolutionShape, batch: int, way: int, noisy: bool):
        dense = Shape(shape.sizes)
        super().__init__(dense, batch, way, noisy)
        stages = shape.stages

        def empty(sizes: Sequence[int]) -> Single:
            return np.zeros(padded(max(sizes)), np.float32)

        def group(stage: Stage) -> int:
            return min(batch, stage.group)

        out = [batch * s.pooled**2 * s.filters for s in stages]
        self.stages = np.array(stages, dtype=np.int64)
        self.dense, self.batch = dense, batch
        self.none = np.zeros(0, np.float32)
        second = way != SAMPLED
        self.turns = empty([batch * sum(s.columns + s.filters for s in stages) if way == FLIPOUT else 0])
        self.images, self.maps = empty([batch * shape.inputs]), empty([sum(out)])
        self.winners, self.carry = np.zeros(sum(out), np.uint8), empty([sum(out) if second else 1])
        self.back_maps = empty([*out])
        patches = [group(s) * s.places**2 * s.columns for s in stages]
        values = [group(s) * s.places**2 * s.filters for s in stages]
        self._padded = empty([group(s) * (s.side + 2 * s.pad) ** 2 * s.channels for s in stages])
        self._patches, self._squares = empty(patches), empty(patches if second else [1])
        self._values, self._noise = empty(values), empty(values)
        self._back = empty([*patches, *values])
        self._product = empty([s.columns * s.filters for s in stages])

    def of_stages(self) -> tuple[Any, ...]:
        """As the kernels of the stages take them."""
        kept = self.images, self.maps, self.winners, self.carry
        return (*kept, self._padded, self._patches, self._squares, self._values, self._noise, self._back, self._product, self.turns)

    def features(self) -> Single:
        """(batch, n): what the dense layers read."""
        last = self.dense.sizes[0]
        end = len(self.winners)
        return self.maps[end - self.batch * last : end].reshape(self.batch, last)


class ConvolutionFit(NetworkFit):
    """A fitted convolutional network."""

    spec: ConvolutionSpec
    shape: ConvolutionShape

    def _inputs(self, x: ArrayLike) -> Single:
        first = self.shape.stages[0]
        return checked_inputs(as_images(x, first.side, first.channels).reshape(len(np.asarray(x)), -1), self.shape.inputs)

    def filters(self, stage: int = 0) -> tuple[Single, Single]:
        """Mean and standard deviation under q of a stage's filters, each (F, k, k, C), biases left out."""
        sds = self.posterior.sds() if hasattr(self.posterior, "sds") else np.zeros(self.shape.weights, np.float32)
        return self._as_filters(self.posterior.expected(), stage), self._as_filters(sds, stage)

    def draw_filters(self, samples: int, stage: int = 0, seed: int = 0) -> Single:
        """Draws (samples, F, k, k, C) of a stage's filters from q."""
        rng = np.random.Generator(np.random.SFC64(seed))
        return np.stack([self._as_filters(self.posterior.sample(rng), stage) for _ in range(samples)])

    def _as_filters(self, flat: Single, stage: int) -> Single:
        return as_filters(self.shape.split(flat)[stage], self.shape.stages[stage])

    def kl_by_layer(self) -> NDArray[np.float64]:
        """(stages + dense layers,) divergence of every layer's weights from the prior, in nats; each weight once."""
        return _kl_by_layer(self.shape, self.posterior)

    def feature_maps(self, x: ArrayLike, weights: Sequence[NDArray] | None = None) -> list[FeatureMaps]:
        """What every stage makes of images x (m, side, side) or (m, side, side, C).

        weights : of every layer, as from `draw_weights`; by default the expected weights
        """
        first = self.shape.stages[0]
        layers = self.expected_weights() if weights is None else weights
        return feature_maps(as_images(x, first.side, first.channels), layers, self.shape.stages, self.spec.activation)


class ConvolutionRun(NetworkRun):
    """Training as a job, see `NetworkRun`. Parameters are those of `start_convolution`."""

    fitted = ConvolutionFit
    spec: ConvolutionSpec
    shape: ConvolutionShape

    def _inputs(self, x: ArrayLike | Levels) -> Single | Levels:
        if isinstance(x, Levels):
            self._stages = stages_of(math.isqrt(x.shape[1]), 1, self.spec)
            return x
        images = as_images(x)
        self._stages = stages_of(images.shape[1], images.shape[3], self.spec)
        return checked_inputs(images.reshape(len(images), -1))

    def _layers(self, outputs: int) -> Shape:
        last = self._stages[-1]
        return ConvolutionShape((last.pooled**2 * last.filters, *self.spec.hidden, outputs), self._stages)

    def _part(
        self, number: int, rows: NDArray[np.int64], step: int, scale: float, gradient: Single, variance_gradient: Single
    ) -> tuple[float, int]:
        spec, posterior, work, at = self.spec, self.posterior, self._works[number], self.shape.convolution_weights
        assert isinstance(work, Maps)
        kind = ACTIVATIONS.index(spec.activation)
        first, second = key(spec.seed, step, _PLACES + OF_PART * number)
        signs(work.turns, first, second)
        arrays, variances = work.of_stages(), posterior.variances
        x, at_rows = self._x, rows
        if isinstance(x, Levels):  # those of this part alone become float32
            x, at_rows = x[rows], np.arange(len(rows))
        convolve(work.stages, kind, x, at_rows, posterior.weights, variances, posterior.way, first, second, arrays)
        self._draw_noise(number, step)
        value, right = train_pass(
            np.array(self.shape.sizes),
            (kind, LIKELIHOODS.index(spec.likelihood)),
            spec.noise_sd**-2,
            np.float32(scale),
            work.features(),
            self._y[rows],
            np.arange(len(rows)),
            posterior.weights[at:],
            gradient[at:],
            variances[at:],
            variance_gradient[at:],
            posterior.way,
            False,
            True,
            work.arrays(),
        )
        inputs = self.shape.sizes[0]
        slopes = work.back_maps
        slopes[: len(rows) * inputs].reshape(len(rows), inputs)[:] = work.back[: len(rows) * (inputs + 1)].reshape(len(rows), -1)[:, :-1]
        variant = _BACKWARD.get(spec.variant, EXACT)
        gradients = gradient, variance_gradient, variant
        convolve_back(work.stages, kind, len(rows), slopes, posterior.weights, variances, posterior.way, *gradients, arrays)
        if spec.variant == "places":
            # The steps below take the divergence once; Adam's direction is that of (likelihood) / places - divergence.
            for slope in (gradient, variance_gradient) if posterior.way != SAMPLED else (gradient,):
                for layer, stage in zip(self.shape.split(slope), self.shape.stages, strict=False):
                    layer /= stage.places**2
        return value, right

    def _by_products(self, batch: int) -> bool:
        return False  # most of the work is that of the stages, image by image

    def _kl(self) -> float:
        by_layer = _kl_by_layer(self.shape, self.posterior)
        if self.spec.variant == "places" and len(by_layer) > 1:
            by_layer[: len(self.shape.stages)] *= [stage.places**2 for stage in self.shape.stages]
        return float(by_layer.sum())


class FeatureMaps(NamedTuple):
    """What a stage makes of m images.

    convolved : (m, places, places, F), before pooling and activation
    pooled : (m, pooled, pooled, F), after both
    """

    convolved: NDArray[np.float64]
    pooled: NDArray[np.float64]


def start_convolution(
    images: ArrayLike | Levels,
    labels: ArrayLike,
    spec: ConvolutionSpec | None = None,
    *,
    report_every: int | None = None,
    snapshots: int = 0,
    **settings: Any,
) -> ConvolutionRun:
    """Begin to fit a convolutional network; nothing is trained yet.

    images : (n, side, side) or (n, side, side, channels), ink from 0 to 1; or `Levels` (n, side²)
    labels : (n,) 0, 1, ...
    spec, settings, report_every, snapshots : as for `engine.variational.start_network`, with a `ConvolutionSpec`
    Raises SpecError naming a wrong setting.
    """
    return ConvolutionRun(images, labels, changed(spec or ConvolutionSpec(), **settings), report_every=report_every, snapshots=snapshots)


def fit_convolution(
    images: ArrayLike, labels: ArrayLike, spec: ConvolutionSpec | None = None, *, stop: Callable[[], bool] | None = None, **settings: Any
) -> ConvolutionFit:
    """Fit a convolutional network and return it; parameters as in `start_convolution`.

    stop : looked at every 20 ms or every step; once it answers true, the fit is what is there
    """
    run = start_convolution(images, labels, spec, **settings)
    run.advance(run.total, stop)
    fit = run.fit()
    assert isinstance(fit, ConvolutionFit)
    return fit


def as_images(x: ArrayLike, side: int | None = None, channels: int = 1) -> NDArray[Any]:
    """x as (m, side, side, channels): images without channels have one, rows of pixels (m, side²·channels) are taken
    row by row. Raises SpecError.
    """
    found = np.asarray(x)
    if found.ndim == 2:
        edge = side or math.isqrt(found.shape[1])
        if edge * edge * channels == found.shape[1] and edge:
            found = found.reshape(len(found), edge, edge, channels)
    elif found.ndim == 3:
        found = found[..., None]
    if found.ndim != 4 or found.shape[1] != found.shape[2] or not found.size:
        raise SpecError("images", f"their shape is {np.shape(x)}, not (images, side, side) or (images, side, side, channels)")
    if side is not None and found.shape[1:] != (side, side, channels):
        raise SpecError("images", f"they are {found.shape[1:]}; the network reads {(side, side, channels)}")
    return found


def as_filters(layer: NDArray, stage: Stage) -> NDArray[Any]:
    """(F, k, k, C) from a stage's weights (k k C + 1, F), biases left out."""
    return np.moveaxis(layer[:-1].reshape(stage.kernel, stage.kernel, stage.channels, stage.filters), 3, 0)


def correlate(images: NDArray[Any], layer: NDArray[Any], kernel: int, pad: int = 0) -> NDArray[np.float64]:
    """A convolution as networks have it: (m, places, places, F) of images (m, side, side, C) and weights
    (k k C + 1, F), biases last; `pad` rows and columns of zeros around each image. In double precision, by definition.
    """
    wide = np.pad(np.asarray(images, dtype=np.float64), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    patches = np.moveaxis(sliding_window_view(wide, (kernel, kernel), axis=(1, 2)), 3, 5)
    m, places = patches.shape[:2]
    weights = np.asarray(layer, dtype=np.float64)
    return np.asarray(patches.reshape(m, places, places, -1) @ weights[:-1] + weights[-1])


def max_pool(maps: NDArray[np.float64], pool: int) -> NDArray[np.float64]:
    """The largest value of every window (pool, pool) side by side; rows and columns that fill none are left out."""
    m, places, _, filters = maps.shape
    side = places // pool
    return np.asarray(maps[:, : side * pool, : side * pool].reshape(m, side, pool, side, pool, filters).max(axis=(2, 4)))


def feature_maps(images: NDArray[Any], layers: Sequence[NDArray], stages: Sequence[Stage], activation: str = "relu") -> list[FeatureMaps]:
    """The maps of every stage for images (m, side, side, C) and weights of every layer."""
    functions: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
        "relu": lambda z: np.maximum(z, 0.0),
        "tanh": np.tanh,
        "sigmoid": lambda z: 0.5 + 0.5 * np.tanh(0.5 * z),
        "linear": lambda z: z,
        "elu": lambda z: np.where(z > 0.0, z, np.expm1(np.minimum(z, 0.0))),
    }
    found, maps = [], np.asarray(images, dtype=np.float64)
    for stage, layer in zip(stages, layers, strict=False):
        z = correlate(maps, layer, stage.kernel, stage.pad)
        maps = functions[activation](max_pool(z, stage.pool))
        found.append(FeatureMaps(z, maps))
    return found


def shifted(images: NDArray[Any], down: int, right: int) -> NDArray[Any]:
    """Images or maps (m, side, side, ...) moved by whole pixels; what comes in is 0, what goes out is lost."""
    found = np.zeros_like(images)
    rows, columns = images.shape[1:3]

    def span(by: int, size: int) -> tuple[slice, slice]:
        return slice(max(by, 0), size + min(by, 0)), slice(max(-by, 0), size - max(by, 0))

    (to_y, from_y), (to_x, from_x) = span(down, rows), span(right, columns)
    found[:, to_y, to_x] = images[:, from_y, from_x]
    return found


def equivariance_gap(images: NDArray[Any], layer: NDArray[Any], kernel: int, pad: int, down: int, right: int) -> float:
    """Largest difference between a convolution of moved images (m, side, side, C) and the moved convolution, at the
    places whose patches hold no rim of either: rounding error, however the image is moved. Raises SpecError where no
    such place is left.
    """
    before, after = correlate(images, layer, kernel, pad), correlate(shifted(images, down, right), layer, kernel, pad)
    places = before.shape[1]

    def inside(by: int) -> slice:
        return slice(pad + max(by, 0), places - pad + min(by, 0))

    rows, columns = inside(down), inside(right)
    gap = np.abs(after - shifted(before, down, right))[:, rows, columns]
    if not gap.size:
        raise SpecError("shift", f"{down} down and {right} right leave no place that both images fill")
    return float(gap.max())


def _kl_by_layer(shape: ConvolutionShape, posterior: Any) -> NDArray[np.float64]:
    if not hasattr(posterior, "sds"):  # one value a weight: its penalty is of all
        return np.array([float(posterior.kl())])
    ends = np.cumsum([layer.size for layer in shape.split(np.empty(shape.weights, np.uint8))])
    return np.array([posterior.kl(end - size, end) for end, size in zip(ends, np.diff(ends, prepend=0), strict=True)])


def warm() -> None:
    """Run every kernel of the convolutional networks once, so that the cache holds it."""
    images, labels = np.arange(32.0).reshape(2, 4, 4), np.array([0, 1])
    for method, estimator in (("gaussian", "local"), ("gaussian", "weights"), ("gaussian", "flipout")):
        fit_convolution(images, labels, method=method, estimator=estimator, filters=(2,), hidden=(), epochs=1).predict(images)
