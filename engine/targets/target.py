"""A target: a log density with its gradient, by address, and what is known about it exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numba
import numpy as np
from numba import carray, njit
from numpy.typing import ArrayLike, NDArray

from engine import ticket
from engine.kernels import TARGET_SIGNATURE, kernel, log_density_at

Array = NDArray[np.float64]
FEW = 64  # points at which a density is asked for without a look at the ticket


Draw = Callable[[np.random.Generator, int], Array]


class TargetError(ValueError):
    """A target cannot be used as given: the message says what was wrong and where."""


@dataclass(frozen=True)
class Truth:
    """What is known about a target without sampling it.

    mean : (dim,); NaN where it does not exist
    covariance : (dim, dim); inf where a variance is infinite, NaN where it does not exist or is not known to
    marginals : one density per coordinate, `f(x: (n,)) -> (n,)`, normalised
    source : "exact" (closed form) or "quadrature" (numerical, relative error below 1e-6)
    log_normaliser : log of the integral of exp(log density), NaN when not known
    draw : exact independent draws `f(rng, n) -> (n, dim)`, None when there is no way to make them
    heavy_tails : averages of squares hang on a few extreme draws, so that their standard errors cannot be trusted;
        checks then judge shares below quantiles instead of moments
    """

    mean: Array
    covariance: Array
    marginals: tuple[Callable[[Array], Array], ...]
    source: str = "exact"
    log_normaliser: float = float("nan")
    draw: Draw | None = None
    heavy_tails: bool = False


@dataclass(frozen=True, eq=False)
class Conditionals:
    """The full conditionals of a target, for Gibbs sampling.

    owner : a compiled C function of the target's six arguments, in which the third, dim, is the coordinate: it returns
        `NORMAL` or `GAMMA` and writes the two parameters, (mean, sd) or (shape, rate), to the second. Coordinate dim + j
        asks for coordinate j with the later coordinates of its block integrated out
    blocked : whether coordinates dim + j are answered; a sweep over those in order draws each block jointly
    """

    owner: Any
    blocked: bool = False


NORMAL, GAMMA = 0.0, 1.0  # what a conditional can be


@dataclass(frozen=True, eq=False)
class Target:
    """A log density that every sampler can run.

    name : identifier, also in URLs
    dim : number of coordinates
    owner : the compiled C function; held here so that its address stays valid
    data, ints : read-only numbers and the template of the per-chain integers handed to the function
    scratch_size : number of float64 the function may scribble in, one buffer per chain
    labels : names of the coordinates
    view : ((x low, x high), (y low, y high)), where to look at the first two coordinates
    truth : what is known exactly, or None
    conditionals : the full conditionals, where they are known
    plane : the marginal of the first two coordinates as a target, where that is known and there are more; else None
    model : of a network's posterior, the network with its inputs (`engine.networks.mlp.AtInputs`), of which the judge
        makes the joint distribution of weights and data; else None
    """

    name: str
    dim: int
    owner: Any
    data: Array
    ints: NDArray[np.int64]
    scratch_size: int = 1
    labels: tuple[str, ...] = ()
    view: tuple[tuple[float, float], tuple[float, float]] = ((-4.0, 4.0), (-4.0, 4.0))
    truth: Truth | None = field(default=None, repr=False)
    plane: Target | None = field(default=None, repr=False)
    conditionals: Conditionals | None = field(default=None, repr=False)
    model: Any = field(default=None, repr=False)

    @property
    def known(self) -> Truth:
        """The truth of a target that has one. Raises TargetError where it is None."""
        if self.truth is None:
            raise TargetError(f"{self.name}: nothing is known exactly about this target")
        return self.truth

    def __post_init__(self) -> None:
        data = np.ascontiguousarray(self.data, dtype=np.float64).ravel()
        ints = np.ascontiguousarray(self.ints, dtype=np.int64).ravel()
        # Kernels are compiled for one array type: never empty, data always read-only.
        data = data.copy() if data.size else np.zeros(1)
        ints = ints.copy() if ints.size else np.zeros(1, dtype=np.int64)
        data.flags.writeable = False
        object.__setattr__(self, "data", data)
        object.__setattr__(self, "ints", ints)
        if not self.labels:
            object.__setattr__(self, "labels", tuple(f"x{_subscript(i + 1)}" for i in range(self.dim)))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.data.flags.writeable = False  # which a pickle does not keep

    def bare(self) -> Target:
        """What kernels need of it, without what is known of it."""
        return replace(self, truth=None, plane=None, model=None)

    @property
    def address(self) -> int:
        """Address of the compiled function in this process."""
        return int(self.owner.address)

    def buffers(self) -> tuple[NDArray[np.int64], Array]:
        """Fresh `(ints, scratch)` for one chain."""
        return self.ints.copy(), np.zeros(max(self.scratch_size, 1))

    def log_density_and_gradient(self, q: ArrayLike) -> tuple[float, Array]:
        """Log density at `q` (dim,) and its gradient (dim,)."""
        point = _point(q, self.dim)
        gradient = np.zeros(self.dim)
        value = _evaluate(self.address, point, gradient, self.data, *self.buffers())
        return float(value), gradient

    def log_density(self, q: ArrayLike) -> float:
        """Log density at `q` (dim,), up to the target's constant."""
        return self.log_density_and_gradient(q)[0]

    def log_density_many(self, q: ArrayLike) -> Array:
        """Log density at each row of `q` (n, dim) -> (n,)."""
        points = np.ascontiguousarray(q, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != self.dim:
            raise TargetError(f"{self.name} wants points of shape (n, {self.dim}), got {points.shape}")
        values, grad, buffers, done = np.empty(len(points)), np.zeros(self.dim), self.buffers(), 0
        for n in ticket.pieces(len(points)) if len(points) > FEW else [len(points)]:
            rows = slice(done, done + n)
            _evaluate_many(self.address, points[rows], grad, self.data, *buffers, values[rows])
            done += n
        return values

    def density_grid(self, x: Array, y: Array, at: ArrayLike | None = None) -> Array:
        """Log density over the first two coordinates: (len(y), len(x)). Further coordinates stay at `at` (dim,),
        default 0.
        """
        if self.dim < 2:
            raise TargetError(f"{self.name} has {self.dim} coordinate: a map needs two")
        points = np.tile(np.zeros(self.dim) if at is None else _point(at, self.dim), (len(x) * len(y), 1))
        points[:, 0], points[:, 1] = np.tile(x, len(y)), np.repeat(y, len(x))
        return self.log_density_many(points).reshape(len(y), len(x))


def target(
    function: Callable[..., float], dim: int, data: ArrayLike | None = None, ints: ArrayLike | None = None, *, at: ArrayLike | None = None
) -> Target:
    """Make a target of a Python function `f(q, grad, data, ints) -> float` that numba can compile.

    function : returns the log density at `q` (dim,) and fills `grad` (dim,). An impossible point returns -inf or NaN;
        an exception raised while sampling would be swallowed, so the function is first run at `at` with bounds checks
        on.
    dim : number of coordinates
    data, ints : numbers for the function, any shape, seen as flat float64 and int64 arrays; their lengths are compiled
        in
    at : (dim,) where to try the function, default zeros

    Raises TargetError when the function does not compile, raises, or returns something that is not a number at `at`,
    and when its gradient there is not finite or disagrees with finite differences.
    """
    if dim < 1:
        raise TargetError(f"dim is {dim}: a target has at least one coordinate")
    numbers = np.atleast_1d(np.asarray([] if data is None else data, dtype=np.float64)).ravel()
    integers = np.atleast_1d(np.asarray([] if ints is None else ints, dtype=np.int64)).ravel()
    plain = function if isinstance(function, numba.core.registry.CPUDispatcher) else njit(error_model="numpy")(function)
    name = getattr(function, "__name__", "target")
    _try_out(plain, name, _point(np.zeros(dim) if at is None else at, dim), numbers, integers)

    n_data, n_ints = max(numbers.size, 1), max(integers.size, 1)

    def compiled(q, grad, _dim, values, counts, scratch):
        return plain(carray(q, (dim,)), carray(grad, (dim,)), carray(values, (n_data,)), carray(counts, (n_ints,)))

    owner = numba.cfunc(TARGET_SIGNATURE, error_model="numpy")(compiled)
    return Target(name, dim, owner, numbers, integers)


def _try_out(plain: Any, name: str, start: Array, data: Array, ints: NDArray[np.int64]) -> None:
    checked = njit(error_model="numpy", boundscheck=True)(plain.py_func)
    values = data if data.size else np.zeros(1)
    counts = ints if ints.size else np.zeros(1, dtype=np.int64)

    def run(q: Array) -> tuple[float, Array]:
        gradient = np.zeros(len(q))
        return checked(q.copy(), gradient, values.copy(), counts.copy()), gradient

    try:
        value, gradient = run(start)
    except numba.core.errors.NumbaError as error:
        raise TargetError(f"{name} does not compile: {_first_line(error)}") from error
    except Exception as error:
        raise TargetError(f"{name} failed at {start}: {type(error).__name__}: {error}") from error
    if not isinstance(value, (int, float)):
        raise TargetError(f"{name} returned {type(value).__name__}, not a number")
    if not np.isfinite(value):
        raise TargetError(f"{name} is {value} at {start}: give `at`, a point inside its support")
    if not np.all(np.isfinite(gradient)):
        raise TargetError(f"the gradient of {name} at {start} is {gradient}: it must be finite where the log density is")
    for i in range(len(start)):
        h = 1e-5 * max(1.0, abs(start[i]))
        up, down = start.copy(), start.copy()
        up[i] += h
        down[i] -= h
        slope = (run(up)[0] - run(down)[0]) / (2 * h)
        if np.isfinite(slope) and abs(slope - gradient[i]) > 1e-3 * max(1.0, abs(slope), abs(gradient[i])):
            said = f"it says {gradient[i]:.6g}, finite differences say {slope:.6g}"
            raise TargetError(f"the gradient of {name} is wrong in coordinate {i}: {said}")


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:3])


def _point(q: ArrayLike, dim: int) -> Array:
    point = np.array(q, dtype=np.float64)
    if point.shape != (dim,):
        raise TargetError(f"a point has shape {point.shape}, the target wants ({dim},)")
    return point


def _subscript(i: int) -> str:
    return str(i).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


@kernel
def _evaluate(address, q, grad, data, ints, scratch):
    return log_density_at(address, q, grad, data, ints, scratch)


@kernel
def _evaluate_many(address, points, grad, data, ints, scratch, values):
    for i in range(points.shape[0]):
        values[i] = log_density_at(address, points[i], grad, data, ints, scratch)
