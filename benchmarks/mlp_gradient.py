"""Speed of the network gradient: evaluations a second on one core.

Measured inside a kernel loop, through the target's address, as samplers call it.

    python benchmarks/mlp_gradient.py [--check]

Prints the best and the median of many short runs (on a busy machine the best is the one to compare) and the versions.
`--check` exits with 1 when XOR 2-4-1 on 200 points stays below 700,000 evaluations a second.
"""

from __future__ import annotations

import platform
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import llvmlite
import llvmlite.binding
import numba
import numpy as np

import engine  # noqa: F401  sets the kernel cache before kernels are imported
from datasets.xor import xor
from engine.kernels import kernel, log_density_at
from engine.networks import Network, network
from engine.targets.target import Target

WANTED = 700_000  # evaluations a second for XOR 2-4-1 on 200 points
SECONDS = 0.001  # of one run: so short that on a busy machine some runs are not interrupted
RUNS = 1000


@kernel
def _evaluate(address, q, grad, data, ints, scratch, times):
    total = 0.0
    for _ in range(times):
        q[0] += 1e-9  # so that no evaluation can be skipped
        total += log_density_at(address, q, grad, data, ints, scratch)
    return total


def seconds_per_evaluation(target: Target, start: np.ndarray) -> tuple[float, float]:
    """Best and median seconds of one log density with its gradient."""
    q, gradient = start.copy(), np.zeros(target.dim)
    ints, scratch = target.buffers()

    def run(times: int) -> float:
        begin = time.perf_counter()
        _evaluate(target.address, q, gradient, target.data, ints, scratch, times)
        return (time.perf_counter() - begin) / times

    run(10)
    times = max(1, int(SECONDS / run(100)))
    taken = [run(times) for _ in range(RUNS)]
    return min(taken), float(np.median(taken))


def cases() -> list[tuple[str, Network, np.ndarray, np.ndarray]]:
    """Name, network, inputs, labels or values of every measurement."""
    rng = np.random.default_rng(1)
    clouds = xor(seed=1)
    digits = rng.standard_normal((100, 20)), rng.integers(0, 10, 100)
    houses = rng.standard_normal((256, 13)), rng.standard_normal(256)
    return [
        ("XOR 2-4-1 bernoulli", network(2, 1, 4, likelihood="bernoulli"), clouds.x, clouds.y),
        ("XOR 2-4-2 softmax", network(2, 2, 4), clouds.x, clouds.y),
        ("XOR 2-16-2 softmax", network(2, 2, 16), clouds.x, clouds.y),
        ("XOR 2-8-8-2 softmax", network(2, 2, 8, depth=2), clouds.x, clouds.y),
        ("20-5-10 softmax", network(20, 10, 5), *digits),
        ("13-10-1 gaussian", network(13, 1, 10, likelihood="gaussian"), *houses),
    ]


def main() -> int:
    print(f"python {platform.python_version()}  numba {numba.__version__}  llvmlite {llvmlite.__version__}  numpy {np.__version__}")
    print(f"cpu {llvmlite.binding.get_host_cpu_name()}  one thread  {RUNS} runs of {SECONDS * 1e3:g} ms\n")
    print(f"{'network':22} {'samples':>7} {'best us':>9} {'median us':>10} {'best evaluations/s':>20}")
    rates = []
    for name, net, x, y in cases():
        best, median = seconds_per_evaluation(net.posterior(x, y), net.prior_draws(1, seed=1)[0])
        rates.append(1.0 / best)
        print(f"{name:22} {len(x):7d} {best * 1e6:9.3f} {median * 1e6:10.3f} {1.0 / best:20,.0f}")
    fast = rates[0] >= WANTED
    print(f"\nXOR 2-4-1: {rates[0]:,.0f} evaluations/s, wanted {WANTED:,}: {'reached' if fast else 'NOT reached'}")
    return 0 if fast or "--check" not in sys.argv else 1


if __name__ == "__main__":
    raise SystemExit(main())
