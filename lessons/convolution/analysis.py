"""The numbers behind the pictures: maps of a kernel, of draws of a filter, of a moved digit; what is checked of them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from datasets import pad
from datasets.images import digits
from engine.judge import Average, Check, averages_check, unknown
from engine.judge.convolution import convolution_gradient_check, divergence_check, maps_check
from engine.judge.plant import SHIFTED, is_planted
from engine.judge.training import rest_check
from engine.kept import kept
from engine.variational import ConvolutionFit
from engine.variational.convolution import correlate, equivariance_gap, max_pool, shifted
from lessons.convolution import training
from lessons.convolution.spec import KERNELS, LEARNT, VARIANTS, WORDS, ConvolutionLesson
from lessons.convolution.training import KERNEL, PAD, SIDE, Geometry, State

Array = NDArray[np.float64]

DRAWS = 60  # of a filter, on stage
JUDGED = 4, 400  # chains and draws by which averages over q are held against their exact values
NETWORKS = 20  # whose probabilities are averaged
SHIFTS = tuple(range(-3, 4))  # pixels to the right
SOME, FEW, STEPS = 40, 3, 6  # digits on which a gradient is checked, small and large ones, and steps before
ROUNDING = 1e-12


def image_of(spec: ConvolutionLesson) -> NDArray[np.float32]:
    """(side, side) what the network sees, ink from 0 to 1."""
    return pad.drawn(spec.drawing, training.geometry(spec).side)


def as_batch(image: NDArray[Any]) -> Array:
    """(1, 8, 8, 1)."""
    return np.asarray(image, dtype=np.float64)[None, :, :, None]


# A kernel -------------------------------------------------------------------------------------------------------------


def kernel_of(spec: ConvolutionLesson, state: State | None) -> tuple[Array, float]:
    """(k, k) weights and a bias: those made by hand, or the means of a learnt filter."""
    if not spec.learns:
        return np.array(KERNELS[spec.kernel]), 0.0
    assert state is not None
    layer = state.fit.expected_weights()[0].astype(np.float64)[:, spec.filter - 1]
    edge = training.geometry(spec).kernel
    return layer[:-1].reshape(edge, edge), float(layer[-1])


def layer_of(kernel: Array, bias: float) -> Array:
    """(k k + 1, 1) as a layer with one filter."""
    return np.append(kernel.ravel(), bias)[:, None]


def windows(image: NDArray[Any], kernel: int = KERNEL, rim: int = PAD) -> Array:
    """(places, k, k) the pixels under the kernel at every place, row by row; a rim of zeros around the image."""
    wide = np.pad(np.asarray(image, dtype=np.float64), rim)
    return np.lib.stride_tricks.sliding_window_view(wide, (kernel, kernel)).reshape(-1, kernel, kernel)


def follows(spec: ConvolutionLesson) -> Array:
    """(3,) how well the size of the map follows the ink under the window, its change from left to right, and its change
    from top to bottom: correlations over the places.
    """
    seen = windows(image_of(spec))
    kernel, bias = kernel_of(spec, None if not spec.learns else training.trained(spec))
    sizes = np.abs((seen * kernel).sum(axis=(1, 2)) + bias)
    across = np.abs((seen[:, :, 2] - seen[:, :, 0]).sum(axis=1))
    down = np.abs((seen[:, 2] - seen[:, 0]).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = [np.corrcoef(sizes, other)[0, 1] for other in (seen.sum(axis=(1, 2)), across, down)]
    return np.nan_to_num(np.array(found))


# Its posterior --------------------------------------------------------------------------------------------------------


def draws_of(spec: ConvolutionLesson, fit: ConvolutionFit, count: int = DRAWS) -> Array:
    """(count, k k + 1) weights of the filter, its bias last: one draw serves every place."""
    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence([spec.seed, 31])))
    draws = [fit.shape.split(fit.posterior.sample(rng))[0][:, spec.filter - 1] for _ in range(count)]
    return np.stack(draws).astype(np.float64)


def moments_of(spec: ConvolutionLesson, fit: ConvolutionFit) -> tuple[Array, Array]:
    """Means and sds (k k + 1,) of the filter's weights under q, the bias last."""
    found = fit.posterior.expected(), fit.posterior.sds()
    mean, sd = (fit.shape.split(flat)[0][:, spec.filter - 1].astype(np.float64) for flat in found)
    return mean, sd


class Spread(NamedTuple):
    """What q makes of one digit by one filter. P places, row by row; D draws.

    draws : (D, 10); maps : (D, 8, 8) before pooling; pooled : (D, p, p) after it; active : after the activation, too
    mean, sd : (8, 8) of the map before pooling, exact: it is linear in the weights
    a, b : two places, with much and like ink under the window; rho : their exact correlation
    """

    draws: Array
    maps: Array
    pooled: Array
    active: Array
    mean: Array
    sd: Array
    a: int
    b: int
    rho: float


def spread(spec: ConvolutionLesson, fit: ConvolutionFit, count: int = DRAWS) -> Spread:
    """Of the filter of the settings."""
    about = training.geometry(spec)
    image = as_batch(image_of(spec))
    draws = draws_of(spec, fit, count)
    maps = correlate(image, draws.T, about.kernel, about.pad)
    pooled = max_pool(maps, fit.spec.pool)
    mean, sd = moments_of(spec, fit)
    seen = windows(image[0, :, :, 0], about.kernel, about.pad).reshape(about.places**2, -1)
    rows = np.column_stack([seen, np.ones(len(seen))])
    covariance = (rows * sd**2) @ rows.T
    a, b = alike(rows, about)
    return Spread(
        draws,
        np.moveaxis(maps[0], 2, 0),
        np.moveaxis(pooled[0], 2, 0),
        np.moveaxis(np.maximum(pooled[0], 0.0), 2, 0),
        (rows @ mean).reshape(about.places, -1),
        np.sqrt(np.diag(covariance)).reshape(about.places, -1),
        a,
        b,
        float(covariance[a, b] / math.sqrt(covariance[a, a] * covariance[b, b])),
    )


def alike(rows: Array, about: Geometry) -> tuple[int, int]:
    """The place with the most ink under the window, and the one most like it whose window shares no pixel with it."""
    a = int(rows[:, :-1].sum(axis=1).argmax())
    likeness = rows @ rows[a] / np.linalg.norm(rows, axis=1)
    row, column = np.divmod(np.arange(len(rows)), about.places)
    far = np.maximum(np.abs(row - a // about.places), np.abs(column - a % about.places)) >= about.kernel
    return a, int(np.where(far, likeness, -np.inf).argmax())


# A moved digit --------------------------------------------------------------------------------------------------------


class Moved(NamedTuple):
    """A digit moved by every one of SHIFTS (S,).

    images : (S, 8, 8)
    maps : (S, 8, 8) of the filter; gap : (S, 8, 8) the map moved back, less that of the digit where it was drawn
    inside : (S,) largest of the gap where both windows hold no rim
    pooled : (S, p, p); off : (S,) largest difference of the pooled map from the one where it was drawn, moved by as many
        whole windows as come nearest; size : the largest value of that map
    """

    images: Array
    maps: Array
    gap: Array
    inside: Array
    pooled: Array
    off: Array
    size: float


def moved(spec: ConvolutionLesson, state: State) -> Moved:
    """The digit, moved, as the filter's means see it."""
    kernel, bias = kernel_of(spec, state)
    layer, pool = layer_of(kernel, bias), state.fit.spec.pool
    image = as_batch(image_of(spec))
    images = np.concatenate([shifted(image, 0, by) for by in SHIFTS])
    maps = correlate(images, layer, KERNEL, PAD)
    still = correlate(image, layer, KERNEL, PAD)
    gap = np.concatenate([shifted(maps[i : i + 1], 0, -by) - shifted(shifted(still, 0, by), 0, -by) for i, by in enumerate(SHIFTS)])
    pooled, before = max_pool(maps, pool), max_pool(still, pool)
    off = [np.abs(pooled[i : i + 1] - shifted(before, 0, round(by / pool)))[:, :, _inner(by, pool)].max() for i, by in enumerate(SHIFTS)]
    inside = [equivariance_gap(image, layer, KERNEL, PAD, 0, by) for by in SHIFTS]
    return Moved(
        images[..., 0], maps[..., 0], gap[..., 0], np.array(inside), pooled[..., 0], np.array(off), max(float(np.abs(still).max()), 1e-9)
    )


def _inner(by: int, pool: int) -> list[int]:
    """Columns of pooled maps whose windows hold no rim, of the digit moved by so many pixels and of the one that is not."""
    first, last = PAD + max(by, 0), SIDE - 1 - PAD + min(by, 0)
    return [column for column in range(SIDE // pool) if first <= column * pool and (column + 1) * pool - 1 <= last]


class Read(NamedTuple):
    """How well networks read moved digits, (S,) and (S, classes).

    right, dense_right : share of the test digits, of the convolutional and of the dense network
    says, dense_says : what they say of the digit on stage, averaged over NETWORKS draws
    """

    right: Array
    dense_right: Array
    says: Array
    dense_says: Array


@kept
def read(spec: ConvolutionLesson) -> Read:
    """Both networks, trained to the end."""
    state = training.trained(spec)
    assert state is not None
    data, other = digits(), training.dense(spec.seed)
    tests = np.concatenate([as_batch(image_of(spec))[..., 0], data.images_test / data.top]).astype(np.float32)
    found = []
    for by in SHIFTS:
        images = shifted(tests, 0, by)
        for network, x in ((state.fit, images), (other, images.reshape(len(images), -1))):
            said = network.predict(x, samples=NETWORKS, seed=spec.seed)
            assert said is not None
            found.append((float((said.mean[1:].argmax(axis=1) == data.labels_test).mean()), said.mean[0]))
    right, says = (np.array(part) for part in zip(*found, strict=True))
    return Read(right[::2], right[1::2], says[::2], says[1::2])


def right_at(spec: ConvolutionLesson, by: int) -> float:
    """Share of the test digits that the convolutional network reads, moved by so many pixels to either side."""
    right = read(spec).right
    return float(0.5 * (right[SHIFTS.index(by)] + right[SHIFTS.index(-by)]))


# Checks ---------------------------------------------------------------------------------------------------------------


def audit(spec: ConvolutionLesson, cancel: Any) -> list[Check]:
    """The map by other code; of a training its gradient, and what its ELBO counts."""
    state = training.trained(spec, cancel.is_set) if spec.learns else None
    if spec.learns and state is None:
        return []
    about = training.geometry(spec)
    found = [maps_check(as_batch(image_of(spec)), layer_of(*kernel_of(spec, state)), about.kernel, about.pad)]
    if spec.learns:
        run = training.start(spec, FEW if training.is_large(spec) else SOME)
        run.advance(STEPS)
        found += [convolution_gradient_check(run), divergence_check(run)]
    return found


def checks(spec: ConvolutionLesson, cancel: Any) -> list[Check]:
    """Has the training come to rest; averages over draws against exact ones; a moved map against the map, moved."""
    state = training.trained(spec, cancel.is_set) if spec.learns else None
    if spec.learns and state is None:
        return []
    found = [moved_check(spec, state)]
    if state is not None:
        found += [rest_check(state.fit.history.elbo), averages(spec, state.fit)]
        if spec.part == "training":
            found.append(unknown(WORDS.phrase("checks.posterior"), WORDS.phrase("checks.no_answer"), kind="numbers"))
    return found


def moved_check(spec: ConvolutionLesson, state: State | None) -> Check:
    """Moving the digit moves its map: exactly, where both fill the window."""
    layer = layer_of(*kernel_of(spec, state))
    image = as_batch(image_of(spec))
    _, kernel, rim = training.geometry(spec)
    off = max(equivariance_gap(image, layer, kernel, rim, down, right) for down in (-2, 0, 1) for right in SHIFTS)
    size = max(float(np.abs(correlate(image, layer, kernel, rim)).max()), 1.0)
    off += 0.01 * size if is_planted(SHIFTED) else 0.0
    sentence = WORDS.phrase("checks.moved_sentence", moves=3 * len(SHIFTS), off=off)
    return Check(WORDS.phrase("checks.moved"), "pass" if off < ROUNDING * size else "fail", off, ROUNDING * size, sentence, kind="numbers")


def averages(spec: ConvolutionLesson, fit: ConvolutionFit) -> Check:
    """Over draws of the filter: mean and variance of its map at A, and the covariance with B. All are exact under q."""
    chains, count = JUDGED
    found = spread(spec, fit, chains * count)
    flat = found.maps.reshape(chains, count, -1)
    mean, sd = found.mean.ravel(), found.sd.ravel()
    a, b = ((flat[:, :, place] - mean[place]) / sd[place] for place in (found.a, found.b))
    return averages_check(
        WORDS.phrase("checks.under_q"),
        [
            Average(WORDS.phrase("checks.mean"), a, 0.0, 1.0),
            Average(WORDS.phrase("checks.variance"), a**2, 1.0, math.sqrt(2.0)),
            Average(WORDS.phrase("checks.correlation"), a * b, found.rho, math.sqrt(1.0 + found.rho**2)),
        ],
    )


def faults(spec: ConvolutionLesson) -> dict[str, ConvolutionLesson]:
    """The mistakes that can be made in the training of this network; it is trained on the page of a learnt kernel. Those
    of 28 × 28 digits are made in the small one: the same kernels, and it takes seconds.
    """
    learns = spec.replace(size="small") if spec.learns else spec.replace(kernel=LEARNT)
    called = WORDS["options.variant"]
    return {called[name]: learns.replace(variant=name) for name in VARIANTS[1:] if name != spec.variant}


def runs(spec: ConvolutionLesson) -> str:
    """What computes the picture."""
    if not spec.learns:
        return WORDS.phrase("runs.by_hand")
    told = [WORDS.phrase("runs.training")]
    if training.is_large(spec):
        told.append(WORDS.phrase("runs.large"))
    if spec.variant != "exact":
        told.append(WORDS.phrase("runs.wrong", mistake=WORDS["options.variant"][spec.variant]))
    return " ".join(told)
