"""Nanoseconds per evaluation (log density and gradient) of every target, called inside a kernel loop as the samplers
call it.

Run: python -m benchmarks.targets
"""

from __future__ import annotations

import time

import numpy as np

import engine  # noqa: F401  (sets the kernel cache)
from engine.kernels import kernel, log_density_at
from engine.targets import Target, dense_gaussian, formula_target, funnel, gaussian, student, two_modes
from engine.targets.quadrature import quadrature_truth
from engine.targets.spec import FAMILIES

FORMULAS = {
    "Gaussian, 9 operations": "-x^2/2 - (y - 1)^2/2",
    "banana, 11 operations": "-x^2/2 - (y - x^2)^2",
    "Rosenbrock": "-(1 - x)^2 - 5*(y - x^2)^2",
    "ring": "-(sqrt(x^2 + y^2) - 3)^2 / 0.18",
    "mixture": "logsumexp(-(x - 3)^2/2, -(x + 3)^2/2) - y^2/2",
    "constrained": "2*log(x) - x - y^2/x where x > 0",
}


@kernel
def _repeat(address, data, ints, scratch, q, grad, n):
    """Evaluate n times on a slow walk, so that no evaluation can be left out."""
    total = 0.0
    for i in range(n):
        q[0] = -2.0 + 4.0 * (i % 1024) / 1024.0 + 1e-3
        total += log_density_at(address, q, grad, data, ints, scratch) + grad[0]
    return total


def nanoseconds(target: Target, n: int = 2_000_000, repeats: int = 3) -> float:
    """Best of `repeats` timings, in CPU time of this thread."""
    ints, scratch = target.buffers()
    q, grad = np.full(target.dim, 0.3), np.zeros(target.dim)
    arguments = (target.address, target.data, ints, scratch, q, grad)
    _repeat(*arguments, 1000)
    best = np.inf
    for _ in range(repeats):
        start = time.thread_time_ns()
        _repeat(*arguments, n)
        best = min(best, (time.thread_time_ns() - start) / n)
    return best


def main() -> None:
    for name, builder in FAMILIES.items():
        if name != "formula":
            print(f"{name + ', 2-D':34s}{nanoseconds(builder()):8.1f} ns")
    for target in (
        gaussian(dimension=100),
        dense_gaussian(np.zeros(20), np.eye(20)),
        funnel(dimension=20),
        two_modes(dimension=20),
        student(dimension=20),
    ):
        print(f"{f'{target.name}, {target.dim}-D':34s}{nanoseconds(target, 200_000):8.1f} ns")
    for name, formula in FORMULAS.items():
        print(f"{'formula: ' + name:34s}{nanoseconds(formula_target(formula=formula)):8.1f} ns")
    for name, formula in FORMULAS.items():
        target = formula_target(formula=formula)
        start = time.thread_time_ns()
        error = quadrature_truth(target).error
        print(f"{'quadrature: ' + name:34s}{(time.thread_time_ns() - start) / 1e6:8.1f} ms, error {error:.0e}")


if __name__ == "__main__":
    main()
