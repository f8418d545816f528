"""Hamiltonian Monte Carlo with a fixed number of leapfrog steps.

`H(q, p) = -log pi(q) + p' M^-1 p / 2`, `dq/dt = M^-1 p`, `dp/dt = +grad log pi(q)`. Leapfrog: half kick, drift, half
kick.
Accept with `min(1, exp(H0 - H1))`. Source: Duane et al. 1987; Neal 2011. (Berezowski 2021, eq. 4.17, and Andersen and
Roed-Sørensen 2021, section 4.5.3, print the wrong sign of the force.)

Integrators:
- "leapfrog", reversible and volume preserving;
- "swapped_kicks", algorithm 5 of Berezowski 2021 as printed, full momentum steps at the ends and half steps between:
  still reversible and volume preserving, hence exact, but its energy error does not vanish with the step size;
- "euler", explicit Euler: neither reversible nor volume preserving, hence wrong on purpose.

Wrong on purpose (`variant`): "always_accept" leaves the Metropolis step out, so the draws follow a density distorted by
the energy error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.kernels import kernel, part
from engine.samplers.chain import Chain, Density, Trace, evaluate
from engine.spec import SpecError
from engine.targets.target import Target

Array = NDArray[np.float64]

INTEGRATORS = ("leapfrog", "swapped_kicks", "euler")
_, SWAPPED_KICKS, EULER = range(3)
VARIANTS = ("exact", "always_accept")
_, ALWAYS_ACCEPT = range(2)
DIVERGENCE = 1000.0  # energy error above which a transition is called divergent
MAX_STEPS = 10_000


class HmcTransitions(NamedTuple):
    """The inside of HMC transitions, n of them with L steps each.

    path, path_momentum : (n, L+1, dim), position and momentum at times 0, step_size, ..., momentum synchronised with
        position
    path_energy : (n, L+1), H along the path
    path_log_density : (n, L+1)
    step_size : (n,), after jitter
    steps : (n,) int32, steps taken: fewer than L only where the density stopped being finite; later path rows repeat
        the last one
    energy_error : (n,), H1 - H0 (infinite where the path left the support)
    uniform : (n,), accepted if and only if uniform < accept_prob
    """

    path: Array
    path_momentum: Array
    path_energy: Array
    path_log_density: Array
    step_size: Array
    steps: NDArray[np.int32]
    energy_error: Array
    uniform: Array


class HmcSettings(NamedTuple):
    """Settings as the kernel takes them. integrator, variant : index into `INTEGRATORS`, `VARIANTS`."""

    step_size: float
    steps: int
    jitter: float
    inverse_mass: Array
    mass_root: Array
    integrator: int
    variant: int


@dataclass(frozen=True)
class Hmc:
    """Settings of the sampler.

    step_size : > 0
    steps : leapfrog steps of a trajectory, 1 to 10,000
    mass : scalar, (dim,) diagonal or (dim, dim) symmetric positive definite mass matrix M
    jitter : in [0, 1]: each transition uses step_size * (1 + jitter * U(-1, 1))
    integrator : "leapfrog", "swapped_kicks" or "euler"
    variant : "exact" or "always_accept"
    """

    name: ClassVar[str] = "hmc"
    label: ClassVar[str] = "HMC"
    faults: ClassVar[tuple[str, ...]] = ("always_accept", "euler")
    records: ClassVar[tuple[str, ...]] = ("energy", "step_size")
    step_size: float = 0.1
    steps: int = 10
    mass: ArrayLike = 1.0
    jitter: float = 0.0
    integrator: str = "leapfrog"
    variant: str = "exact"

    def prepare(self, target: Target) -> HmcSettings:
        """Validated kernel arguments. Raises SpecError naming the setting."""
        if not (math.isfinite(self.step_size) and self.step_size > 0):
            raise SpecError("step_size", f"{self.step_size} is not a finite number above 0")
        if not 1 <= int(self.steps) <= MAX_STEPS or int(self.steps) != self.steps:
            raise SpecError("steps", f"{self.steps} is not a whole number from 1 to {MAX_STEPS:,}")
        if not 0 <= self.jitter <= 1:
            raise SpecError("jitter", f"{self.jitter} is outside 0 to 1")
        if self.integrator not in INTEGRATORS:
            raise SpecError("integrator", f"{self.integrator!r} is not one of {', '.join(INTEGRATORS)}")
        if self.variant not in VARIANTS:
            raise SpecError("variant", f"{self.variant!r} is not one of {', '.join(VARIANTS)}")
        inverse_mass, mass_root = factor_mass(self.mass, target.dim)
        return HmcSettings(
            float(self.step_size),
            int(self.steps),
            float(self.jitter),
            inverse_mass,
            mass_root,
            INTEGRATORS.index(self.integrator),
            VARIANTS.index(self.variant),
        )

    def transitions(self, chains: int, n: int, dim: int) -> HmcTransitions:
        """Empty arrays for the inside of n transitions of each chain."""
        points = (chains, n, int(self.steps) + 1) if n else (chains, 1, 0)  # without detail the kernel still takes a row, an empty one
        return HmcTransitions(
            np.empty((*points, dim)),
            np.empty((*points, dim)),
            np.empty(points),
            np.empty(points),
            np.empty((chains, n)),
            np.empty((chains, n), dtype=np.int32),
            np.empty((chains, n)),
            np.empty((chains, n)),
        )

    def advance(self, target: Target, settings: HmcSettings, chain: Chain, n: int, trace: Trace, inside: HmcTransitions) -> None:
        """Run n transitions, writing rows 0..n-1 of `trace` and, when it has any, of `inside`."""
        hmc_chunk(*chain.arguments(target), settings, n, trace, inside)


class Trajectory(NamedTuple):
    """A path without a sampler around it: position, momentum (steps+1, dim), energy, log_density (steps+1,)."""

    position: Array
    momentum: Array
    energy: Array
    log_density: Array


def trajectory(
    target: Target,
    position: ArrayLike,
    momentum: ArrayLike,
    *,
    step_size: float,
    steps: int,
    mass: ArrayLike = 1.0,
    integrator: str = "leapfrog",
) -> Trajectory:
    """Integrate Hamilton's equations from (position, momentum), each (dim,). A negative step_size goes back in time."""
    method = Hmc(abs(step_size), steps, mass, integrator=integrator)
    settings = method.prepare(target)
    q, p = np.array(position, dtype=np.float64), np.array(momentum, dtype=np.float64)
    if q.shape != (target.dim,) or p.shape != (target.dim,):
        raise SpecError("position", f"position and momentum must have shape ({target.dim},)")
    log_density, gradient = target.log_density_and_gradient(q)
    points = (steps + 1,)
    path = Trajectory(np.empty((*points, target.dim)), np.empty((*points, target.dim)), np.empty(points), np.empty(points))
    density, point = (Density(target.address, target.data, *target.buffers()), _Point(q, p, gradient, np.empty(target.dim)))
    rule = _Rule(float(step_size), steps, settings.inverse_mass, settings.integrator)
    _trajectory(density, point, log_density, rule, np.empty(target.dim), path)
    return path


def factor_mass(mass: ArrayLike, dim: int) -> tuple[Array, Array]:
    """Inverse mass and a root R with R R' = M, as (1, dim) rows for a diagonal M and (dim, dim) for a dense one.

    Raises SpecError when M has a wrong shape, or is not symmetric positive definite.
    """
    matrix = np.asarray(mass, dtype=np.float64)
    if matrix.ndim == 2:
        if matrix.shape != (dim, dim) or not np.allclose(matrix, matrix.T):
            raise SpecError("mass", f"a mass matrix must be symmetric with shape ({dim}, {dim}), got {matrix.shape}")
        try:
            root = np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            raise SpecError("mass", "the mass matrix is not positive definite") from None
        return np.ascontiguousarray(np.linalg.inv(matrix)), np.ascontiguousarray(root)
    try:
        diagonal = np.broadcast_to(matrix, (dim,))
    except ValueError:
        raise SpecError("mass", f"must be a number, {dim} numbers or a ({dim}, {dim}) matrix") from None
    if not (np.all(np.isfinite(diagonal)) and np.all(diagonal > 0)):
        raise SpecError("mass", "every entry must be finite and above 0")
    return np.ascontiguousarray(1.0 / diagonal[None, :]), np.ascontiguousarray(np.sqrt(diagonal)[None, :])


@kernel
def velocity(inverse_mass, momentum, out):
    """out = M^-1 p, for a diagonal (1, dim) or dense (dim, dim) inverse mass."""
    dim = momentum.size
    if inverse_mass.shape[0] == 1:
        for j in range(dim):
            out[j] = inverse_mass[0, j] * momentum[j]
    else:
        for i in range(dim):
            total = 0.0
            for j in range(dim):
                total += inverse_mass[i, j] * momentum[j]
            out[i] = total


@kernel
def kinetic_energy(inverse_mass, momentum, out):
    """p' M^-1 p / 2; `out` (dim,) receives the velocity."""
    velocity(inverse_mass, momentum, out)
    total = 0.0
    for j in range(momentum.size):
        total += momentum[j] * out[j]
    return 0.5 * total


@kernel
def draw_momentum(rng, mass_root, noise, momentum):
    """momentum = R z ~ N(0, M); `noise` (dim,) receives z."""
    dim = momentum.size
    for j in range(dim):
        noise[j] = rng.standard_normal()
    if mass_root.shape[0] == 1:
        for j in range(dim):
            momentum[j] = mass_root[0, j] * noise[j]
    else:
        for i in range(dim):
            total = 0.0
            for j in range(i + 1):
                total += mass_root[i, j] * noise[j]
            momentum[i] = total


class _Point(NamedTuple):
    """A point of phase space that moves: position, momentum, gradient; v is work space; each (dim,)."""

    q: Array
    p: Array
    gradient: Array
    v: Array


class _Rule(NamedTuple):
    """How far a path goes, and how; integrator : index into `INTEGRATORS`."""

    step_size: float
    steps: int
    inverse_mass: Array
    integrator: int


@kernel
def _trajectory(density, point, log_density, rule, synchronised, path):
    """A path without a sampler around it, see `_integrate`."""
    _integrate(density, point, log_density, rule, synchronised, path)


@part
def _integrate(density, point, log_density, rule, synchronised, path):
    """Move `point` along a path in place. Returns (log density, steps taken); stops where the log density is not
    finite.

    The path arrays are filled when they have rows. Neighbouring half kicks are fused, so the recorded momentum, for
    which `synchronised` (dim,) is work space, is p plus the missing half kick.
    """
    q, p, gradient, v = point
    recorded, euler = path.energy.size > 0, rule.integrator == EULER
    outer, inner = 0.5 * rule.step_size, rule.step_size  # kicks at the ends and between drifts
    if rule.integrator == SWAPPED_KICKS:
        outer, inner = rule.step_size, 0.5 * rule.step_size
    if recorded:
        _record(path, 0, q, p, log_density, rule.inverse_mass, v)
    if not euler:
        _kick(p, outer, gradient)
    taken = 0
    while taken < rule.steps:
        _drift(q, p, rule, v)
        if euler:  # wrong on purpose: by the gradient where the step began
            _kick(p, rule.step_size, gradient)
        log_density = evaluate(density, q, gradient)
        taken += 1
        if recorded:
            for j in range(q.size):
                synchronised[j] = p[j] if euler else p[j] + outer * gradient[j]
            _record(path, taken, q, synchronised, log_density, rule.inverse_mass, v)
        if not euler:
            _kick(p, outer if taken == rule.steps else inner, gradient)
        if not math.isfinite(log_density):
            break
    if recorded:
        _repeat(path, taken)
    return log_density, taken


@part
def _drift(q, p, rule, v):
    """Move the position by its velocity M^-1 p."""
    if rule.inverse_mass.shape[0] == 1 and rule.integrator != EULER:
        for j in range(q.size):
            q[j] += rule.step_size * rule.inverse_mass[0, j] * p[j]
    else:
        velocity(rule.inverse_mass, p, v)
        for j in range(q.size):
            q[j] += rule.step_size * v[j]


@part
def _kick(p, step, gradient):
    """Move the momentum by a force."""
    for j in range(p.size):
        p[j] += step * gradient[j]


@part
def _record(path, row, q, p, log_density, inverse_mass, v):
    for j in range(q.size):
        path.position[row, j], path.momentum[row, j] = q[j], p[j]
    path.log_density[row] = log_density
    path.energy[row] = kinetic_energy(inverse_mass, p, v) - log_density


@part
def _repeat(path, taken):
    """Rows that a path cut short did not reach repeat its last one."""
    for row in range(taken + 1, path.energy.size):
        for j in range(path.position.shape[1]):
            path.position[row, j], path.momentum[row, j] = path.position[taken, j], path.momentum[taken, j]
        path.energy[row], path.log_density[row] = path.energy[taken], path.log_density[taken]


@kernel
def hmc_chunk(density, rng, state, settings, n, trace, inside):
    """Advance one chain by n transitions. `state.running[0]` is the log density at `state.position`.

    A path that meets a density that is not finite is rejected: the reversed path meets the same point, so detailed
    balance holds.
    """
    position, gradient, running = state
    dim, inverse_mass = position.size, settings.inverse_mass
    point = _Point(np.empty(dim), np.empty(dim), np.empty(dim), np.empty(dim))
    synchronised = np.empty(dim)
    detailed = inside.uniform.size > 0
    for i in range(n):
        epsilon = settings.step_size
        if settings.jitter > 0.0:
            epsilon *= 1.0 + settings.jitter * (2.0 * rng.random() - 1.0)
        draw_momentum(rng, settings.mass_root, point.v, point.p)
        energy = kinetic_energy(inverse_mass, point.p, point.v) - running[0]
        for j in range(dim):
            point.q[j], point.gradient[j] = position[j], gradient[j]
        row = i if detailed else 0
        path = Trajectory(inside.path[row], inside.path_momentum[row], inside.path_energy[row], inside.path_log_density[row])
        rule = _Rule(epsilon, settings.steps, inverse_mass, settings.integrator)
        log_density, taken = _integrate(density, point, running[0], rule, synchronised, path)
        energy_error = np.inf
        if math.isfinite(log_density):
            energy_error = kinetic_energy(inverse_mass, point.p, point.v) - log_density - energy
        if not math.isfinite(energy_error):
            energy_error = np.inf
        accept_prob = 1.0 if energy_error <= 0.0 else math.exp(-energy_error)
        uniform = rng.random()
        accepted = uniform < accept_prob
        if settings.variant == ALWAYS_ACCEPT:
            accepted = energy_error < np.inf
        if detailed:
            inside.step_size[i], inside.steps[i] = epsilon, taken
            inside.energy_error[i], inside.uniform[i] = energy_error, uniform
        if accepted:
            running[0] = log_density
            for j in range(dim):
                position[j], gradient[j] = point.q[j], point.gradient[j]
        for j in range(dim):
            trace.draws[i, j] = position[j]
        trace.log_density[i], trace.energy[i] = running[0], energy + energy_error if accepted else energy
        trace.accept_prob[i], trace.accepted[i] = accept_prob, accepted
        trace.divergent[i], trace.gradient_evaluations[i] = not energy_error <= DIVERGENCE, taken
        trace.step_size[i] = epsilon
