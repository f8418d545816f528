"""Speed of the gradient and of the samplers, with blackjax side by side in the same run.

    python -m benchmarks.samplers            all, about two minutes
    python -m benchmarks.samplers --no-peer  without blackjax

Each figure is the median of several repeats on one core, in one process, after warm-up; the ratio to the peer is of
medians.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import llvmlite.binding
import numpy as np

import datasets
import engine
from engine import targets
from engine.kernels import kernel, log_density_at

REPEATS = 7


def median_seconds(task: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Median wall time of `task` after one call that does not count."""
    task()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        task()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


@kernel
def _evaluate_often(address, q, grad, data, ints, scratch, n):
    total = 0.0
    for _ in range(n):
        total += log_density_at(address, q, grad, data, ints, scratch)
        q[0] += 1e-9
    return total


def gradients_per_second(target: engine.Target, n: int = 200_000) -> float:
    ints, scratch = target.buffers()
    q = np.random.default_rng(1).normal(size=target.dim) * 0.5
    return n / median_seconds(lambda: _evaluate_often(target.address, q.copy(), np.zeros(target.dim), target.data, ints, scratch, n))


def steps_per_second(target: engine.Target, method: str, draws: int, per_draw: int, **settings: Any) -> float:
    return draws * per_draw / median_seconds(lambda: engine.sample(target, method, chains=1, draws=draws, seed=1, **settings))


def xor_target() -> engine.Target:
    x, y, _ = datasets.xor(seed=1)
    return engine.network(2, 1, width=4, depth=1, activation="tanh", likelihood="bernoulli").posterior(x, y)


def blackjax_rates(steps: int) -> dict[str, float]:
    """The same three jobs in blackjax, float64, one device: gradients, HMC leapfrog steps and Metropolis proposals per
    second.
    """
    import blackjax
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    x, y, _ = datasets.xor(seed=1)
    inputs, labels = jnp.asarray(x), jnp.asarray(y, dtype=float)

    def network(theta: Any) -> Any:
        hidden = jnp.tanh(inputs @ theta[:8].reshape(4, 2).T + theta[8:12])
        z = hidden @ theta[12:16] + theta[16]
        return jnp.sum(labels * z - jnp.logaddexp(0.0, z)) - 0.5 * jnp.sum(theta**2)

    def banana(q: Any) -> Any:
        return -0.5 * ((q[0] / 2) ** 2 + (q[1] - 0.5 * (q[0] ** 2 - 4)) ** 2)

    def scan(step: Callable[..., Any], state: Any, draws: int) -> Callable[[], Any]:
        def body(carry: Any, key: Any) -> Any:
            carry, _ = step(key, carry)
            return carry, carry.position

        run = jax.jit(lambda state, keys: jax.lax.scan(body, state, keys))
        keys = jax.random.split(jax.random.key(1), draws)
        return lambda: jax.block_until_ready(run(state, keys))

    gradient = jax.value_and_grad(network)

    def gradient_loop(theta: Any) -> Any:
        return jax.lax.fori_loop(0, 5000, lambda _, q: q + 1e-9 * gradient(q)[1], theta)

    loop = jax.jit(gradient_loop)
    theta = jnp.ones(17) * 0.3
    hmc = blackjax.hmc(banana, step_size=0.1, inverse_mass_matrix=jnp.ones(2), num_integration_steps=steps)
    walk = blackjax.additive_step_random_walk(banana, blackjax.mcmc.random_walk.normal(jnp.ones(2)))
    start = jnp.zeros(2)
    draws = 50_000
    return {
        "gradient": 5000 / median_seconds(lambda: jax.block_until_ready(loop(theta)), 5),
        "hmc": draws * steps / median_seconds(scan(hmc.step, hmc.init(start), draws), 5),
        "metropolis": draws / median_seconds(scan(walk.step, walk.init(start, jax.random.key(0)), draws), 5),
    }


def versions(*names: str) -> str:
    found = []
    for name in names:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} not installed")
    return ", ".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-peer", action="store_true", help="leave blackjax out")
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, {versions('numba', 'numpy', 'blackjax', 'jax')}, {llvmlite.binding.get_host_cpu_name()}")
    steps = 20
    banana = targets.TargetSpec(target="banana").build_target()
    ours = {
        "gradient": gradients_per_second(xor_target()),
        "hmc": steps_per_second(banana, "hmc", 200_000, steps, step_size=0.1, steps=steps),
        "metropolis": steps_per_second(banana, "metropolis", 2_000_000, 1, scale=1.0),
    }
    peer = {} if options.no_peer else blackjax_rates(steps)
    goals = {"gradient": 700_000, "hmc": 30e6, "metropolis": 20e6}
    names = {
        "gradient": "XOR 2-4-1, 200 points: gradients/s",
        "hmc": "banana, HMC: leapfrog steps/s",
        "metropolis": "banana, random walk: proposals/s",
    }
    print(f"{'':42s}{'here':>14s}{'goal':>14s}{'blackjax':>14s}{'ratio':>8s}")
    for key, rate in ours.items():
        other = f"{peer[key]:14,.0f}{rate / peer[key]:8.1f}" if key in peer else f"{'-':>14s}{'-':>8s}"
        print(f"{names[key]:42s}{rate:14,.0f}{goals[key]:14,.0f}{other}")


if __name__ == "__main__":
    main()
