"""What the posterior draws of a network predict, and how sure they are.

For classes, with p_s(y | x) the probabilities of draw s: predictive mean = mean_s p_s; total entropy = H[mean_s p_s];
aleatoric part = mean_s H[p_s], what is left when the network is known; epistemic part = total - aleatoric, the mutual
information of label and network. All in nats (divide by log 2 for bits). For values: mean and standard deviation of the
outputs over draws, beside the noise.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine import ticket
from engine.kernels import kernel
from engine.networks.mlp import Network, checked_inputs, in_blocks
from engine.networks.passes import ACTIVATIONS, BLOCK, ROW, aligned, class_probabilities, combine, forward, moved, pointer
from engine.spec import SpecError
from engine.targets.target import TargetError

Array = NDArray[np.float64]


class Uncertainty(NamedTuple):
    """What an ensemble says about classes. With checkpoints every array has a leading axis (frames,).

    mean : (m, classes) predictive probability
    sd : (m, classes) standard deviation over draws of the class probability
    total, aleatoric, epistemic : (m,) entropies in nats, 0 to log(classes); total = aleatoric + epistemic
    """

    mean: Array
    sd: Array
    total: Array
    aleatoric: Array
    epistemic: Array


class Bands(NamedTuple):
    """What an ensemble says about values, in units of y. With checkpoints every array has a leading axis (frames,).

    mean : (m, outputs) predictive mean
    aleatoric, epistemic, total : (m, outputs) standard deviations: of the noise, of the output over draws, of a new y;
        total^2 = aleatoric^2 + epistemic^2
    """

    mean: Array
    aleatoric: Array
    epistemic: Array
    total: Array


class Ensemble:
    """Predictions at fixed inputs of a growing set of draws: add draws as they come, look whenever you like.

    Keeps sums only: memory does not grow with the number of draws. Adding in pieces gives the same as adding at once.
    For one thread at a time.
    """

    def __init__(self, network: Network, inputs: ArrayLike):
        """inputs : (m, inputs) where to predict."""
        self.network = network
        self.count = 0
        x = checked_inputs(network, inputs)
        self._points = len(x)
        self._frame = _Frame(network, x)
        blocks, rows = -(-len(x) // BLOCK), network.classes or network.outputs
        # Deviations from the first draw are summed, so that a small spread around a large value survives the rounding.
        self._first, self._sum, self._squares = (np.zeros((blocks, rows, ROW)) for _ in range(3))
        self._entropy = np.zeros((blocks, ROW))

    def add(self, draws: ArrayLike) -> Ensemble:
        """Count draws (n, dim) in. Releases the GIL; add a few hundred at a time where cancelling must be quick."""
        theta = _checked_draws(self.network, draws)
        frame = self._frame
        sums = self._first, self._sum, self._squares, self._entropy
        done = 0
        for n in ticket.pieces(len(theta), whole=True):
            part, fresh = theta[done : done + n], self.count == 0
            _accumulate(part, frame.x, frame.sizes, *frame.settings, self._points, fresh, *sums, frame.scratch)
            self.count += n
            done += n
        return self

    def mean(self) -> Array:
        """(m, classes) predictive probability, or (m, outputs) mean value, without the rest of what is known."""
        if self.count == 0:
            raise TargetError("no draws have been added yet")
        mean = self._by_point(self._first + self._sum / self.count)
        return mean / mean.sum(axis=-1, keepdims=True) if self.network.classes else mean

    def uncertainty(self) -> Uncertainty:
        """The state of a classifying ensemble."""
        if not self.network.classes:
            raise SpecError("likelihood", "gaussian predicts values, not classes: ask for bands()")
        mean, sd = self.mean(), self._sd()
        total = -(mean * np.log(np.where(mean > 0.0, mean, 1.0))).sum(axis=-1)  # 0 log 0 is 0
        aleatoric = self._entropy.reshape(-1, ROW)[:, :BLOCK].ravel()[: self._points] / self.count
        # The entropy of a mean is never below the mean of entropies; rounding can put it 1e-15 below.
        epistemic = np.maximum(total - aleatoric, 0.0)
        return Uncertainty(mean, sd, total, aleatoric, epistemic)

    def bands(self) -> Bands:
        """The state of a regressing ensemble."""
        if self.network.classes:
            raise SpecError("likelihood", f"{self.network.likelihood} predicts classes, not values: ask for uncertainty()")
        mean, sd = self.mean(), self._sd()
        noise = np.full_like(mean, self.network.noise_sd)
        return Bands(mean, noise, sd, np.hypot(noise, sd))

    def _sd(self) -> Array:
        deviation = self._sum / self.count
        return self._by_point(np.sqrt(np.maximum(self._squares / self.count - deviation**2, 0.0)))

    def _by_point(self, rows: Array) -> Array:
        return np.ascontiguousarray(rows[:, :, :BLOCK].transpose(0, 2, 1).reshape(-1, rows.shape[1])[: self._points])


def decompose(network: Network, draws: ArrayLike, inputs: ArrayLike, checkpoints: Iterable[int] | None = None) -> Uncertainty:
    """Predictive mean and entropies of class probabilities over draws (n, dim) at inputs (m, inputs).

    checkpoints : increasing numbers of draws; each gives a frame that counts the draws up to there (for animation).
        None: all draws, and no frame axis
    """
    ensemble = Ensemble(network, inputs)
    if checkpoints is None:
        return ensemble.add(draws).uncertainty()
    frames = [ensemble.add(part).uncertainty() for part in _parts(draws, checkpoints)]
    return Uncertainty(*(np.stack(arrays) for arrays in zip(*frames, strict=True)))


def bands(network: Network, draws: ArrayLike, inputs: ArrayLike, checkpoints: Iterable[int] | None = None) -> Bands:
    """Mean and standard deviations of a regression over draws (n, dim) at inputs (m, inputs).

    checkpoints : as in `decompose`
    """
    ensemble = Ensemble(network, inputs)
    if checkpoints is None:
        return ensemble.add(draws).bands()
    frames = [ensemble.add(part).bands() for part in _parts(draws, checkpoints)]
    return Bands(*(np.stack(arrays) for arrays in zip(*frames, strict=True)))


def quantiles(network: Network, draws: ArrayLike, inputs: ArrayLike, levels: ArrayLike, noise_seed: int | None = None) -> Array:
    """Quantiles over draws of the outputs: (levels, m, outputs). They hold the curve, not new observations.

    noise_seed : with a seed, one noise value is added to each output of each draw first: then they hold new
        observations
    """
    values = outputs(network, draws, inputs)
    if noise_seed is not None:
        if network.classes:
            raise SpecError("likelihood", f"{network.likelihood} has no noise on its outputs")
        values += network.noise_sd * np.random.Generator(np.random.PCG64(noise_seed)).standard_normal(values.shape)
    return np.quantile(values, np.asarray(levels, dtype=np.float64), axis=0)


def outputs(network: Network, draws: ArrayLike, inputs: ArrayLike) -> Array:
    """Outputs z of every draw at every input, before softmax or sigmoid: (n, m, outputs)."""
    return _predict(network, draws, inputs, False)


def probabilities(network: Network, draws: ArrayLike, inputs: ArrayLike) -> Array:
    """Class probabilities of every draw at every input: (n, m, classes)."""
    if not network.classes:
        raise SpecError("likelihood", "gaussian predicts values, not classes: ask for outputs()")
    return _predict(network, draws, inputs, True)


def log_likelihood(network: Network, draws: ArrayLike, x: ArrayLike, y: ArrayLike) -> Array:
    """Log likelihood of the samples under every draw, in nats: (n,)."""
    return network.log_likelihood(x, y).log_density_many(_checked_draws(network, draws))


def accuracy(network: Network, draws: ArrayLike, x: ArrayLike, y: ArrayLike) -> Array:
    """Share of the samples whose most probable class is their label, for every draw: (n,).

    Of equally probable classes the lower counts.
    """
    if not network.classes:
        raise SpecError("likelihood", "gaussian has no classes to be right about: ask for rmse()")
    labels = np.asarray(y)
    x = checked_inputs(network, x)
    if labels.shape != (len(x),):
        raise TargetError(f"y has shape {labels.shape}, it should be ({len(x)},)")
    pieces = _pieces(network, draws, len(x))
    return np.concatenate([(_classes(network, piece, x) == labels).mean(axis=1) for piece in pieces])


def rmse(network: Network, draws: ArrayLike, x: ArrayLike, y: ArrayLike) -> Array:
    """Root mean squared error over samples and outputs of every draw, in units of y: (n,)."""
    x = checked_inputs(network, x)
    wanted = np.asarray(y, dtype=np.float64).reshape(len(x), -1)
    if wanted.shape[1] != network.outputs:
        raise TargetError(f"y has {wanted.shape[1]} columns, the network has {network.outputs} outputs")
    pieces = _pieces(network, draws, len(x))
    return np.concatenate([np.sqrt(np.mean((outputs(network, p, x) - wanted) ** 2, axis=(1, 2))) for p in pieces])


def _classes(network: Network, draws: Array, x: Array) -> NDArray[np.int64]:
    z = outputs(network, draws, x)
    return np.argmax(z, axis=2) if network.outputs > 1 else (z[:, :, 0] > 0.0).astype(np.int64)


def _pieces(network: Network, draws: ArrayLike, points: int) -> list[Array]:
    """The draws in pieces whose outputs fit in about 16 MB."""
    theta = _checked_draws(network, draws)
    size = max(1, 2_000_000 // max(1, points * network.outputs))
    return [theta[i : i + size] for i in range(0, max(len(theta), 1), size)]


def _parts(draws: ArrayLike, checkpoints: Iterable[int]) -> list[Array]:
    """The draws between one checkpoint and the next."""
    theta, ends = np.asarray(draws, dtype=np.float64), list(checkpoints)
    if not ends or any(end <= start for start, end in pairwise([0, *ends])) or ends[-1] > len(theta):
        raise SpecError("checkpoints", f"{ends} are not increasing numbers from 1 to the {len(theta)} draws")
    return [theta[start:end] for start, end in pairwise([0, *ends])]


def _checked_draws(network: Network, draws: ArrayLike) -> Array:
    theta = np.ascontiguousarray(draws, dtype=np.float64)
    if theta.ndim != 2 or theta.shape[1] != network.dim:
        raise TargetError(f"draws have shape {theta.shape}, the network wants (draws, {network.dim})")
    return theta


class _Frame:
    """What the kernels need besides the draws."""

    def __init__(self, network: Network, x: Array):
        sizes = network.sizes
        self.x = in_blocks(x)
        self.sizes = np.array(sizes, dtype=np.int64)
        self.settings = len(sizes) - 2, ACTIVATIONS.index(network.activation), network.classes > 0, network.temper
        self.scratch = np.zeros(8 + (3 + max(2, sizes[-1]) + sum(sizes[1:-1])) * ROW)


def _predict(network: Network, draws: ArrayLike, inputs: ArrayLike, as_probabilities: bool) -> Array:
    theta, x = _checked_draws(network, draws), checked_inputs(network, inputs)
    frame = _Frame(network, x)
    hidden, kind, _, temper = frame.settings
    columns = network.classes if as_probabilities else network.outputs
    out = np.empty((len(theta), len(x), columns))
    done = 0
    for n in ticket.pieces(len(theta)):
        rows = slice(done, done + n)
        _each_draw(theta[rows], frame.x, frame.sizes, hidden, kind, as_probabilities, temper, out[rows], frame.scratch)
        done += n
    return out


@kernel
def _outputs_of(q, x, sizes, hidden, kind, h, z, n):
    at, rows = forward(q, sizes, hidden, kind, x, h, n)
    n_in, n_out = sizes[hidden], sizes[hidden + 1]
    last = moved(h, (rows - n_in) * ROW) if hidden > 0 else x
    combine(moved(q, at), 1, n_in, moved(q, at + n_in * n_out), True, n_in, n_out, last, z, n)


@kernel
def _each_draw(draws, x, sizes, hidden, kind, as_probabilities, temper, out, scratch):
    q, blocks, size, entropy = pointer(draws), pointer(x), pointer(sizes), aligned(pointer(scratch))
    spare, z = moved(entropy, ROW), moved(entropy, 3 * ROW)
    h = moved(z, max(2, sizes[hidden + 1]) * ROW)
    points = out.shape[1]
    for first in range(0, points, BLOCK):
        n = min(BLOCK, points - first)
        here = moved(blocks, (first // BLOCK) * sizes[0] * ROW)
        for draw in range(draws.shape[0]):
            _outputs_of(moved(q, draw * draws.shape[1]), here, size, hidden, kind, h, z, n)
            if as_probabilities:
                class_probabilities(z, sizes[hidden + 1], temper, entropy, spare, n)
            for j in range(out.shape[2]):
                for s in range(n):
                    out[draw, first + s, j] = z[j * ROW + s]


@kernel
def _accumulate(draws, x, sizes, hidden, kind, classes, temper, points, fresh, first_values, sums, squares, entropies, scratch):
    q, blocks, size, entropy = pointer(draws), pointer(x), pointer(sizes), aligned(pointer(scratch))
    spare, z = moved(entropy, ROW), moved(entropy, 3 * ROW)
    h = moved(z, max(2, sizes[hidden + 1]) * ROW)
    rows = sums.shape[1]
    for first in range(0, points, BLOCK):
        n = min(BLOCK, points - first)
        block = first // BLOCK
        here = moved(blocks, block * sizes[0] * ROW)
        at = block * rows * ROW
        origin, total, square = moved(pointer(first_values), at), moved(pointer(sums), at), moved(pointer(squares), at)
        entropy_sum = moved(pointer(entropies), block * ROW)
        for draw in range(draws.shape[0]):
            _outputs_of(moved(q, draw * draws.shape[1]), here, size, hidden, kind, h, z, n)
            if classes:
                class_probabilities(z, sizes[hidden + 1], temper, entropy, spare, n)
                for s in range(n):
                    entropy_sum[s] += entropy[s]
            if fresh and draw == 0:
                for i in range(rows * ROW):
                    origin[i] = z[i]
            _add_deviation(z, origin, total, square, rows, n)


@kernel
def _add_deviation(z, origin, total, square, rows, n):
    for j in range(rows):
        value, zero = moved(z, j * ROW), moved(origin, j * ROW)
        sums, squares = moved(total, j * ROW), moved(square, j * ROW)
        for s in range(n):
            deviation = value[s] - zero[s]
            sums[s] += deviation
            squares[s] += deviation * deviation
