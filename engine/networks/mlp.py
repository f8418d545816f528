"""Multi-layer perceptrons, and the posterior over all their weights as a target for every sampler.

The network is h_0 = x, h_l = phi(W_l h_{l-1} + b_l), z = W_{L+1} h_L + b_{L+1}; its likelihood is one of
    softmax    p(y = j | x) = exp(a z_j) / sum_i exp(a z_i), with temper a (Berezowski 2021, eq. 6.1)
    bernoulli  p(y = 1 | x) = 1 / (1 + exp(-a z)), one output
    gaussian   y ~ N(z, noise_sd^2), each output by itself
and its prior N(0, prior_sd^2) on every weight and every bias.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.kept import lazy
from engine.kernels import arguments_apart, target_kernel
from engine.networks.passes import (
    ACTIVATIONS,
    BLOCK,
    ROW,
    TANH,
    add_products,
    aligned,
    backward,
    backward_plane,
    binary_loss,
    combine,
    forward,
    gaussian_loss,
    moved,
    softmax_loss,
)
from engine.spec import MAX_SEED, Declaration, SpecError, validate
from engine.targets.target import Target, TargetError

Array = NDArray[np.float64]

LIKELIHOODS = ("softmax", "bernoulli", "gaussian")
BINARY, SOFTMAX, GAUSSIAN, TWO_CLASSES = range(4)  # how the kernels name them; TWO_CLASSES is softmax with two outputs

# What the kernel reads.
# ints: number of samples, likelihood, activation, hidden layers, number of precisions of the chain's own, then the size
# of every layer, inputs to outputs.
# data: temper, 1 / prior_sd^2, 1 / noise_sd^2, the constant of the log density, 1 where the chain's own precisions are
# single, padding to a cache line, then the blocks of samples: one row for each input, then one for each target.
# scratch: begins with the chain's own precisions, if it has any (they change with its architecture, or are sampled):
# those of the output weights and biases, then of each hidden layer's weights and biases, last of the noise. They
# stand in place of the two in data. Single ones: that of every parameter, last that of the noise.
HIDDEN, OWN, SIZES = 3, 4, 5
HEADER, SINGLE = 8, 4


@target_kernel
def _network(q, grad, dim, data, ints, scratch):
    arguments_apart()
    samples, likelihood, kind, hidden, own = ints[0], ints[1], ints[2], ints[HIDDEN], ints[OWN]
    sizes = moved(ints, SIZES)
    temper, precision, noise_precision, value = data[0], data[1], data[2], data[3]
    if own == 0:
        squares = 0.0
        for i in range(dim):
            squares += q[i] * q[i]
            grad[i] = -precision * q[i]
        value -= 0.5 * precision * squares
    elif data[SINGLE] == 1.0:
        noise_precision, squares = scratch[own - 1], 0.0
        for i in range(dim):
            squares += scratch[i] * q[i] * q[i]
            grad[i] = -scratch[i] * q[i]
        value -= 0.5 * squares
    else:
        noise_precision = scratch[own - 1]
        first = 0
        for layer in range(1, hidden + 2):
            which = 2 * layer if layer <= hidden else 0
            for kinds in range(2):
                count = sizes[layer] if kinds == 1 else sizes[layer - 1] * sizes[layer]
                precision, squares = scratch[which + kinds], 0.0
                for i in range(first, first + count):
                    squares += q[i] * q[i]
                    grad[i] = -precision * q[i]
                value -= 0.5 * precision * squares
                first += count

    n_last, outputs, units, widest = sizes[hidden], sizes[hidden + 1], 0, 2
    for layer in range(1, hidden + 1):
        units += sizes[layer]
        widest = max(widest, sizes[layer])
    h = aligned(moved(scratch, own))
    z = moved(h, units * ROW)
    slopes = moved(z, outputs * ROW)
    inputs, targets = sizes[0], outputs if likelihood == GAUSSIAN else 1

    # The output layer, or what stands for it: two classes need one logit, the difference of theirs.
    start = dim - (n_last + 1) * outputs
    head, head_gradient, logits = moved(q, start), moved(grad, start), outputs
    if likelihood == TWO_CLASSES:
        logits = 1
        head = moved(slopes, widest * ROW)
        head_gradient = moved(head, n_last + 1)
        for i in range(n_last):
            head[i] = q[start + n_last + i] - q[start + i]
        head[n_last] = q[dim - 1] - q[dim - 2]
        for i in range(n_last + 1):
            head_gradient[i] = 0.0
    bias, bias_gradient = moved(head, n_last * logits), moved(head_gradient, n_last * logits)

    plane = inputs == 2 and hidden == 1 and kind == TANH and logits == 1 and likelihood != GAUSSIAN
    for first in range(0, samples, BLOCK):
        n = min(BLOCK, samples - first)
        x = moved(data, HEADER + (first // BLOCK) * (inputs + targets) * ROW)
        y = moved(x, inputs * ROW)
        at, rows = forward(q, sizes, hidden, kind, x, h, n)
        last = moved(h, (rows - n_last) * ROW) if hidden > 0 else x
        combine(head, 1, n_last, bias, True, n_last, logits, last, z, n)
        if likelihood == SOFTMAX:
            value += softmax_loss(z, y, temper, logits, slopes, moved(slopes, ROW), n, bias_gradient)
        elif likelihood == GAUSSIAN:
            value += gaussian_loss(z, y, noise_precision, logits, n, bias_gradient)
        else:
            gain, slope = binary_loss(z, y, temper, n)
            value += gain
            bias_gradient[0] += slope
        if plane:
            backward_plane(z, head, head_gradient, n_last, x, h, n, grad)
            continue
        add_products(z, logits, last, n_last, n, head_gradient)
        if hidden > 0:
            combine(head, n_last, 1, head, False, logits, n_last, z, slopes, n)
            backward(q, grad, sizes, hidden, kind, x, h, at, rows, slopes, n)

    if likelihood == TWO_CLASSES:
        for i in range(n_last):
            grad[start + i] -= head_gradient[i]
            grad[start + n_last + i] += head_gradient[i]
        grad[dim - 2] -= head_gradient[n_last]
        grad[dim - 1] += head_gradient[n_last]
    # Beyond the range of floats (inf - inf) the density is 0.
    return -math.inf if math.isnan(value) else value


_DECLARATIONS = {
    "inputs": Declaration("integer", "number of inputs", 1, 10_000),
    # softmax_loss multiplies BLOCK numbers that may be as large as the number of classes: 200^128 is still a float.
    "outputs": Declaration("integer", "number of outputs", 1, 200),
    "width": Declaration("integer", "units in a hidden layer", 1, 1024),
    "depth": Declaration("integer", "hidden layers", 0, 32),
    "activation": Declaration("choice", "activation of the hidden units", options=ACTIVATIONS),
    "likelihood": Declaration("choice", "how outputs become probabilities", options=LIKELIHOODS),
    "temper": Declaration("number", "factor a of the outputs inside softmax or sigmoid", 0.0, 100.0),
    "prior_sd": Declaration("number", "prior standard deviation of every weight and bias", 1e-3, 1e3),
    "noise_sd": Declaration("number", "standard deviation of the noise on y", 1e-6, 1e6, unit="of y"),
}


class AtInputs(NamedTuple):
    """A network, and the inputs x (n, inputs) at which its data were seen."""

    network: Network
    x: Array


class MapEstimate(NamedTuple):
    """The best of several climbs to a mode of the posterior.

    theta : (dim,) the parameters at the highest mode found
    log_density : the log density there
    climbs : (starts,) log density that each start reached; many different values mean many modes
    path : (iterations + 1, dim) the climb to it, from where it began
    """

    theta: Array
    log_density: float
    climbs: Array
    path: Array


@dataclass(frozen=True)
class Network:
    """A multi-layer perceptron with its likelihood and prior, made by `network`.

    What needs one architecture raises SpecError while `width` or `depth` is a range.
    Parameters `theta` (dim,) lie layer by layer: the weights (out, in) row by row, then the biases (out).
    """

    inputs: int
    outputs: int
    width: int | tuple[int, int] = 4
    depth: int | tuple[int, int] = 1
    activation: str = "tanh"
    likelihood: str = "softmax"
    temper: float = 1.0
    prior_sd: float = 1.0
    noise_sd: float = 1.0

    def __post_init__(self) -> None:
        for name, declaration in _DECLARATIONS.items():
            object.__setattr__(self, name, _validated(name, declaration, getattr(self, name)))
        if self.likelihood == "softmax" and self.outputs < 2:
            raise SpecError("outputs", "softmax needs one output a class, at least 2; for one output take the bernoulli likelihood")
        if self.likelihood == "bernoulli" and self.outputs != 1:
            raise SpecError("outputs", f"bernoulli has one output, not {self.outputs}; for more classes take softmax")
        if self.likelihood == "gaussian" and self.temper != 1.0:
            raise SpecError("temper", "has no meaning for the gaussian likelihood; change noise_sd instead")
        if self.likelihood != "gaussian" and self.noise_sd != 1.0:
            raise SpecError("noise_sd", f"has no meaning for the {self.likelihood} likelihood")

    @lazy
    def sizes(self) -> tuple[int, ...]:
        """Number of units of every layer, from the inputs to the outputs."""
        for name, value in (("width", self.width), ("depth", self.depth)):
            if not isinstance(value, int):
                raise SpecError(name, f"is the range {value[0]} to {value[1]}: one network has one {name}")
        assert isinstance(self.width, int) and isinstance(self.depth, int)
        return (self.inputs, *(self.width,) * self.depth, self.outputs)

    @lazy
    def dim(self) -> int:
        """Number of weights and biases."""
        return sum(weights + biases for weights, biases in self.layer_shapes)

    @property
    def layer_shapes(self) -> list[tuple[int, int]]:
        """Number of weights and of biases of every layer, the output last."""
        return [(n_in * n_out, n_out) for n_in, n_out in pairwise(self.sizes)]

    @property
    def classes(self) -> int:
        """Number of classes, 0 for regression."""
        return {"softmax": self.outputs, "bernoulli": 2, "gaussian": 0}[self.likelihood]

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the parameters: `W2[1,3]` leads to unit 1 of layer 2 from unit 3 of the layer before it, `b2[1]`
        is its bias.
        """
        names: list[str] = []
        for layer, (n_in, n_out) in enumerate(pairwise(self.sizes), start=1):
            names += [f"W{layer}[{j + 1},{i + 1}]" for j in range(n_out) for i in range(n_in)]
            names += [f"b{layer}[{j + 1}]" for j in range(n_out)]
        return tuple(names)

    def unpack(self, theta: ArrayLike) -> list[tuple[Array, Array]]:
        """The parameters (..., dim) as one pair (weights (..., out, in), biases (..., out)) for each layer."""
        flat = np.asarray(theta, dtype=np.float64)
        if flat.ndim == 0 or flat.shape[-1] != self.dim:
            raise TargetError(f"theta has shape {flat.shape}, the network has {self.dim} parameters")
        layers, at = [], 0
        for n_in, n_out in pairwise(self.sizes):
            weights = flat[..., at : at + n_in * n_out].reshape(*flat.shape[:-1], n_out, n_in)
            layers.append((weights, flat[..., at + n_in * n_out : at + (n_in + 1) * n_out]))
            at += (n_in + 1) * n_out
        return layers

    def prior_draws(self, n: int, seed: int) -> Array:
        """`n` independent draws of all parameters from the prior: (n, dim)."""
        return self.prior_sd * np.random.Generator(np.random.PCG64(_seed(seed))).standard_normal((n, self.dim))

    def posterior(self, x: ArrayLike, y: ArrayLike) -> Target:
        """The posterior of all parameters, a target for every sampler.

        x : (n, inputs)
        y : (n,) labels 0, 1, ...; for regression (n, outputs) values, or (n,) when there is one output

        The log density is log likelihood + log prior with all constants, so that its integral over theta is the
        evidence p(y | x). No samples (n = 0) give the prior. Beyond the range of floats the log density is -inf.
        Raises TargetError when x or y does not fit.
        """
        constant = -0.5 * self.dim * math.log(2 * math.pi * self.prior_sd**2)
        target = network_target(self, "posterior", x, y, 1.0 / self.prior_sd**2, constant)
        return replace(target, model=AtInputs(self, checked_inputs(self, x)))

    def log_likelihood(self, x: ArrayLike, y: ArrayLike) -> Target:
        """The log likelihood alone, normalised over y, as a target: to evaluate and to temper, not to sample."""
        return network_target(self, "likelihood", x, y, 0.0, 0.0)

    def map_estimate(self, x: ArrayLike, y: ArrayLike, seed: int, starts: int = 8) -> MapEstimate:
        """The most probable parameters: the best of `starts` L-BFGS climbs that begin at draws from the prior."""
        if starts < 1:
            raise SpecError("starts", f"{starts} is less than 1")
        posterior = self.posterior(x, y)

        from scipy.optimize import minimize  # a fifth of a second that only a climb needs

        def downhill(theta: Array) -> tuple[float, Array]:
            value, gradient = posterior.log_density_and_gradient(theta)
            # L-BFGS steps back from a huge value, and is lost at an infinite one.
            return (-value, -gradient) if np.isfinite(value) else (1e300, np.zeros_like(theta))

        paths = [[start] for start in self.prior_draws(starts, seed)]
        ends = [
            minimize(
                downhill, path[0], jac=True, method="L-BFGS-B", options={"maxiter": 2000}, callback=lambda theta, to=path: to.append(+theta)
            )
            for path in paths
        ]
        climbs = np.array([-end.fun for end in ends])
        best = int(np.argmax(climbs))
        return MapEstimate(np.array(ends[best].x), float(climbs[best]), climbs, np.array(paths[best]))


def network(
    inputs: int,
    outputs: int,
    width: int | tuple[int, int] = 4,
    depth: int | tuple[int, int] = 1,
    activation: str = "tanh",
    likelihood: str = "softmax",
    temper: float = 1.0,
    prior_sd: float = 1.0,
    noise_sd: float = 1.0,
) -> Network:
    """Describe a multi-layer perceptron.

    inputs, outputs : number of inputs; of outputs: one a class for softmax, 1 for bernoulli
    width : units in each hidden layer, or (low, high) for a network that grows and shrinks
    depth : hidden layers, or (low, high); 0 is a linear model, and `width` then has no meaning
    activation : "tanh", "relu", "sigmoid", "linear" or "elu" (Clevert, Unterthiner and Hochreiter 2016, with their alpha 1)
    likelihood : "softmax", "bernoulli" or "gaussian"
    temper : factor of the outputs inside softmax or sigmoid
    prior_sd : standard deviation of the normal prior of every weight and bias
    noise_sd : standard deviation of y around the output, gaussian only, in units of y

    Raises SpecError naming the parameter.
    """
    return Network(inputs, outputs, width, depth, activation, likelihood, temper, prior_sd, noise_sd)


def network_target(
    network: Network, what: str, x: ArrayLike, y: ArrayLike, precision: float, constant: float, own: int = 0, single: bool = False
) -> Target:
    """The log likelihood of one architecture plus a normal prior, as a target.

    precision : 1 / variance of every parameter; constant : added to the log density
    own : how many precisions the chain keeps at the head of its scratch, in place of `precision` and the noise's
    single : whether those are one for every parameter, then the noise's
    """
    inputs = checked_inputs(network, x)
    targets = _checked_targets(network, y, len(inputs))
    if network.likelihood == "gaussian":
        constant -= 0.5 * targets.size * math.log(2 * math.pi * network.noise_sd**2)
    code = likelihood_code(network)
    if code in (BINARY, TWO_CLASSES):
        targets = 2.0 * targets - 1.0  # labels 0, 1 as signs
    header = np.zeros(HEADER)
    header[:5] = network.temper, precision, 1.0 / network.noise_sd**2, constant, single
    sizes = network.sizes
    ints = [len(inputs), code, ACTIVATIONS.index(network.activation), len(sizes) - 2, own, *sizes]
    rows = sum(sizes[1:]) + max(2, *sizes[1:])
    return Target(
        name=f"{what}-{'-'.join(map(str, sizes))}",
        dim=network.dim,
        owner=_network,
        data=np.concatenate([header, in_blocks(np.hstack([inputs, targets]))]),
        ints=np.array(ints, dtype=np.int64),
        scratch_size=own + 8 + rows * ROW + 2 * (sizes[-2] + 1),
        labels=network.labels,
    )


def likelihood_code(network: Network) -> int:
    """The number under which the kernels know the likelihood."""
    if network.likelihood == "softmax" and network.outputs == 2:
        return TWO_CLASSES
    return {"softmax": SOFTMAX, "bernoulli": BINARY, "gaussian": GAUSSIAN}[network.likelihood]


def in_blocks(samples: Array) -> Array:
    """Samples (n, columns) as the kernels read them: blocks of up to BLOCK samples, each `columns` rows of ROW
    numbers, flat.
    """
    n, columns = samples.shape
    blocks = np.zeros((-(-n // BLOCK), columns, ROW))
    for index, first in enumerate(range(0, n, BLOCK)):
        part = samples[first : first + BLOCK]
        blocks[index, :, : len(part)] = part.T
    return blocks.ravel()


def checked_inputs(network: Network, x: ArrayLike) -> Array:
    """x as (n, inputs) float64. Raises TargetError when it is not that."""
    inputs = _numbers("x", x)
    if inputs.ndim != 2 or inputs.shape[1] != network.inputs:
        raise TargetError(f"x has shape {inputs.shape}, the network wants (samples, {network.inputs})")
    return inputs


def _checked_targets(network: Network, y: ArrayLike, samples: int) -> Array:
    targets = _numbers("y", y)
    columns = network.outputs if network.likelihood == "gaussian" else 1
    if targets.ndim == 1 and columns == 1:
        targets = targets[:, None]
    if targets.shape != (samples, columns):
        wanted = f"({samples},)" if columns == 1 else f"({samples}, {columns})"
        raise TargetError(f"y has shape {np.shape(y)}, it should be {wanted}")
    if network.classes:
        wrong = (targets < 0) | (targets >= network.classes) | (targets != np.floor(targets))
        if wrong.any():
            row = int(np.argmax(wrong))
            label, last = targets[row, 0], network.classes - 1
            raise TargetError(f"y has the label {label:g} at sample {row}: labels are the whole numbers 0 to {last}")
    return targets


def _numbers(name: str, values: ArrayLike) -> Array:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TargetError(f"{name} is not an array of numbers: {error}") from None
    if not np.all(np.isfinite(array)):
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise TargetError(f"{name} is {array[where]} at {where}: every value must be finite")
    return array


def _validated(name: str, declaration: Declaration, value: object) -> object:
    if isinstance(value, np.generic):
        value = value.item()
    if name not in ("width", "depth") or not isinstance(value, (tuple, list)):
        return validate(name, declaration, value)
    if len(value) != 2:
        raise SpecError(name, f"{value!r} is neither a whole number nor a pair (low, high)")
    low, high = (validate(name, declaration, bound) for bound in value)
    if low > high:
        raise SpecError(name, f"the range {low} to {high} is empty")
    return low, high


def _seed(seed: int) -> int:
    return int(validate("seed", Declaration("integer", "", 0, MAX_SEED), seed))
