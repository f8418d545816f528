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
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.kernels import kernel, log_density_at
from engine.samplers.chain import Chain, Trace
from engine.spec import SpecError
from engine.targets.target import Target

Array = NDArray[np.float64]

INTEGRATORS = ("leapfrog", "swapped_kicks", "euler")
VARIANTS = ("exact", "always_accept")
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

    def prepare(self, target: Target) -> tuple[Any, ...]:
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
        return (
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
        points = (
            (chains, n, int(self.steps) + 1) if n else (chains, 1, 0)
        )  # without detail the kernel still takes a row, an empty one
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

    def advance(
        self, target: Target, settings: tuple[Any, ...], chain: Chain, n: int, trace: Trace, inside: HmcTransitions
    ) -> None:
        """Run n transitions, writing rows 0..n-1 of `trace` and, when it has any, of `inside`."""
        hmc_chunk(*chain.arguments(target), *settings, n, trace, inside)


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
    _, _, _, inverse_mass, _, rule, _ = method.prepare(target)
    q, p = np.array(position, dtype=np.float64), np.array(momentum, dtype=np.float64)
    if q.shape != (target.dim,) or p.shape != (target.dim,):
        raise SpecError("position", f"position and momentum must have shape ({target.dim},)")
    log_density, gradient = target.log_density_and_gradient(q)
    points = (steps + 1,)
    path = Trajectory(
        np.empty((*points, target.dim)), np.empty((*points, target.dim)), np.empty(points), np.empty(points)
    )
    ints, scratch = target.buffers()
    _integrate(
        target.address,
        target.data,
        ints,
        scratch,
        q,
        p,
        gradient,
        np.empty(target.dim),
        np.empty(target.dim),
        log_density,
        float(step_size),
        steps,
        inverse_mass,
        rule,
        path.position,
        path.momentum,
        path.energy,
        path.log_density,
    )
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


@kernel
def _integrate(
    address,
    data,
    ints,
    scratch,
    q,
    p,
    gradient,
    v,
    synchronised,
    log_density,
    step_size,
    steps,
    inverse_mass,
    integrator,
    path,
    path_momentum,
    path_energy,
    path_log_density,
):
    """Move (q, p, gradient) along `steps` steps in place. Returns (log density, steps taken); stops where the log
    density is not finite.

    `v` and `synchronised` (dim,) are work space.
    The path arrays are filled when they have rows. Neighbouring half kicks are fused, so the recorded momentum is p
    plus the missing half kick.
    """
    dim = q.size
    recorded = path_energy.size > 0
    diagonal = inverse_mass.shape[0] == 1
    outer, inner = 0.5 * step_size, step_size  # kicks at the ends and between drifts
    if integrator == 1:
        outer, inner = step_size, 0.5 * step_size
    if recorded:
        path[0], path_momentum[0], path_log_density[0] = q, p, log_density
        path_energy[0] = kinetic_energy(inverse_mass, p, v) - log_density
    taken = 0
    if integrator != 2:
        for j in range(dim):
            p[j] += outer * gradient[j]
    for step in range(steps):
        if diagonal and integrator != 2:
            for j in range(dim):
                q[j] += step_size * inverse_mass[0, j] * p[j]
        else:
            velocity(inverse_mass, p, v)
            for j in range(dim):
                q[j] += step_size * v[j]
            if integrator == 2:
                for j in range(dim):
                    p[j] += step_size * gradient[j]
        log_density = log_density_at(address, q, gradient, data, ints, scratch)
        taken = step + 1
        if integrator == 2:
            synchronised[:] = p
        else:
            last = taken == steps
            kick = outer if last else inner
            if recorded:
                for j in range(dim):
                    synchronised[j] = p[j] + outer * gradient[j]
            for j in range(dim):
                p[j] += kick * gradient[j]
        if recorded:
            path[taken], path_momentum[taken], path_log_density[taken] = q, synchronised, log_density
            path_energy[taken] = kinetic_energy(inverse_mass, synchronised, v) - log_density
        if not math.isfinite(log_density):
            break
    if recorded:
        for rest in range(taken + 1, steps + 1):
            path[rest], path_momentum[rest] = path[taken], path_momentum[taken]
            path_energy[rest], path_log_density[rest] = path_energy[taken], path_log_density[taken]
    return log_density, taken


@kernel
def hmc_chunk(
    address,
    data,
    ints,
    scratch,
    rng,
    position,
    gradient,
    running,
    step_size,
    steps,
    jitter,
    inverse_mass,
    mass_root,
    integrator,
    variant,
    n,
    trace,
    inside,
):
    """Advance one chain by n transitions. `running[0]` is the log density at `position`, `gradient` its gradient.

    A path that meets a density that is not finite is rejected: the reversed path meets the same point, so detailed
    balance holds.
    """
    dim = position.size
    q, p, g, work, synchronised = np.empty(dim), np.empty(dim), np.empty(dim), np.empty(dim), np.empty(dim)
    detailed = inside.uniform.size > 0
    row = 0
    for i in range(n):
        epsilon = step_size
        if jitter > 0.0:
            epsilon *= 1.0 + jitter * (2.0 * rng.random() - 1.0)
        draw_momentum(rng, mass_root, work, p)
        energy = kinetic_energy(inverse_mass, p, work) - running[0]
        for j in range(dim):
            q[j] = position[j]
            g[j] = gradient[j]
        if detailed:
            row = i
        log_density, taken = _integrate(
            address,
            data,
            ints,
            scratch,
            q,
            p,
            g,
            work,
            synchronised,
            running[0],
            epsilon,
            steps,
            inverse_mass,
            integrator,
            inside.path[row],
            inside.path_momentum[row],
            inside.path_energy[row],
            inside.path_log_density[row],
        )
        energy_error = np.inf
        if math.isfinite(log_density):
            energy_error = kinetic_energy(inverse_mass, p, work) - log_density - energy
        if not math.isfinite(energy_error):
            energy_error = np.inf
        accept_prob = 1.0 if energy_error <= 0.0 else math.exp(-energy_error)
        uniform = rng.random()
        accepted = uniform < accept_prob
        if variant == 1:
            accepted = energy_error < np.inf
        if detailed:
            inside.step_size[i] = epsilon
            inside.steps[i] = taken
            inside.energy_error[i] = energy_error
            inside.uniform[i] = uniform
        if accepted:
            running[0] = log_density
            for j in range(dim):
                position[j] = q[j]
                gradient[j] = g[j]
        for j in range(dim):
            trace.draws[i, j] = position[j]
        trace.log_density[i] = running[0]
        trace.accept_prob[i] = accept_prob
        trace.accepted[i] = accepted
        trace.divergent[i] = not energy_error <= DIVERGENCE
        trace.gradient_evaluations[i] = taken
        trace.energy[i] = energy + energy_error if accepted else energy
        trace.step_size[i] = epsilon
