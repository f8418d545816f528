"""Hamiltonian Monte Carlo with a fixed number of leapfrog steps.

A ball of mass M rolls over the surface -log pi, and its energy stays what it is:

    H(q, p) = -log pi(q) + p' M^-1 p / 2,    dq/dt = M^-1 p,    dp/dt = grad log pi(q)

A kick with a new p ~ N(0, M), L steps of size epsilon, then Metropolis' rule with min(1, exp(H0 - H1)), which puts
right what the steps get wrong. Source: Duane et al. 1987; Neal 2011, section 5.2.3 (leapfrog) and figure 2.
"""

import math

import numpy as np

# the kicks before the first drift, between two, and behind the last one, in steps
KICKS = {"leapfrog": (0.5, 1.0, 0.5), "swapped_kicks": (1.0, 0.5, 1.0), "euler": (0.0, 1.0, 1.0)}


def hmc(target, q, n, rng, step_size=0.1, steps=10, mass=1.0, jitter=0.0, integrator="leapfrog", variant="exact"):
    """n draws (n, dim) from pi, from q (dim,) on. target(q) gives log pi and its gradient (dim,).

    mass : M, its diagonal, a number or (dim,), or all of it (dim, dim)
    jitter : each path has the step size epsilon (1 + jitter U(-1, 1))
    """
    mass = np.broadcast_to(mass, q.shape) if np.ndim(mass) < 2 else np.asarray(mass)
    (log_pi, g), draws = target(q), []
    for _ in range(n):
        epsilon = step_size * (1.0 + jitter * (2.0 * rng.random() - 1.0)) if jitter else step_size
        # phase: momentum
        p = times(np.sqrt(mass) if mass.ndim < 2 else np.linalg.cholesky(mass), rng.standard_normal(q.size))
        h0 = energy(log_pi, p, mass)
        # phase: leapfrog
        q1, p1, g1, log_pi1 = path(target, q, p, g, epsilon, steps, mass, integrator)
        # phase: energy
        h1 = energy(log_pi1, p1, mass)
        error = h1 - h0 if math.isfinite(h1) else math.inf
        # phase: u
        u = rng.random()
        # phase: decide
        if u < math.exp(min(-error, 0.0)) or (variant == "always_accept" and error < math.inf):  # wrong: always_accept
            q, g, log_pi = q1, g1, log_pi1
        draws.append(q)
    return np.array(draws)


def energy(log_pi, p, mass):
    """H(q, p)."""
    return 0.5 * sum(p * times(inverse(mass), p)) - log_pi


def times(A, p):
    """A p, where a diagonal A is (dim,)."""
    return A * p if A.ndim < 2 else A @ p


def inverse(mass):
    return 1.0 / mass if mass.ndim < 2 else np.linalg.inv(mass)


def path(target, q, p, g, epsilon, steps, mass, integrator):
    """Steps along a path, which ends early where the density does: position, momentum, gradient, log pi."""
    first, between, last = KICKS[integrator]
    W = inverse(mass)
    # phase: leapfrog
    p = p + epsilon * first * g
    for step in range(steps):
        q = q + times(epsilon * W, p)
        old, (log_pi, g) = g, target(q)
        kick = epsilon * (last if step == steps - 1 else between)
        p = p + kick * (old if integrator == "euler" else g)  # wrong: euler
        if not math.isfinite(log_pi):
            break
    return q, p, g, log_pi


if __name__ == "__main__":
    from engine.readable import beside

    beside.sampler(hmc, beside.with_gradient, {"step_size": 0.3, "steps": 12})
