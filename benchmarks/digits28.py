"""Variational networks at the papers' sizes, 28 x 28 pixels: the engine beside JAX and PyTorch in one run.

    python -m benchmarks.digits28                        speed and peak memory, some minutes
    python -m benchmarks.digits28 --no-peer              without the peers
    python -m benchmarks.digits28 --peer-python PATH     another interpreter that has jax and torch
    python -m benchmarks.digits28 --case dense           one case only
    python -m benchmarks.digits28 --sparse               prediction by the median model, sparse beside dense
    python -m benchmarks.digits28 --roofline             what a step needs at least on two cores, and what it takes; and
                                                         what memory
    python -m benchmarks.digits28 --all                  the races, then all of these, but not the next
    python -m benchmarks.digits28 --accuracy             seconds to 97 % on MNIST (POSTERIOR_LAB_DATA)

Contestants take turns, see `benchmarks.variational`: single precision, minibatches of 100 of 60,000 images, Adam, local
reparameterisation with the same arithmetic, an exact divergence. Everyone may use all cores, or, with --threads 1, one.

dense : mean-field 784-400-600-600-10
convolution : Steyn's network, two convolutions 5 x 5 of 32 filters with pooling 2, 512-256-10
slab : spike and slab 784-400-600-600-10 (Hubin and Storvik 2019)
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.variational import BATCH, PRIOR_LOG_ODDS, SAMPLES, Contestant, Race, Steps, data, race, work

DENSE = (784, 400, 600, 600, 10)
CONVOLUTIONS = ((25, 32), (800, 32))  # weights of a filter, filters
BEHIND = (512, 256, 10)
MODULE = "benchmarks.digits28"
RACES = {
    "dense": Race("784-400-600-600-10, local reparameterisation", 50, {"jax": 1.5, "torch": 3.0}, MODULE),
    "convolution": Race("two convolutions 5 x 5 of 32 filters, 512-256-10", 3, {"jax": 1.5, "torch": 1.0}, MODULE),
    "slab": Race("784-400-600-600-10, weights may be absent", 50, {"jax": 2.0, "torch": 2.0}, MODULE),
}
TARGET = 0.97
ENOUGH = 80  # % of the roofline


def shapes(case: str) -> list[tuple[int, int]]:
    """(inputs, outputs) of every layer; of a convolution, weights of a filter and filters."""
    return [*CONVOLUTIONS, *pairwise(BEHIND)] if case == "convolution" else list(pairwise(DENSE))


def engine_steps(case: str) -> Steps:
    import engine  # noqa: F401  sets the kernel cache and the threads of linear algebra
    from engine.variational import STEYN, start_convolution, start_network

    x, y = data()
    common: dict[str, Any] = {"epochs": 10_000, "step_size": 1e-4, "initial_sd": 0.02, "estimator": "local"}
    if case == "convolution":
        run = start_convolution(x, y, method="gaussian", **common, **STEYN)
    else:
        run = start_network(x, y, method="gaussian" if case == "dense" else "spike_and_slab", hidden=DENSE[1:-1], **common)
    return lambda steps: (run.advance(steps), None)[1]


def jax_steps(case: str) -> Steps:
    import jax
    import jax.numpy as jnp
    from jax import lax

    x, y = (jnp.asarray(a) for a in data())
    rng = np.random.default_rng(2)
    slab = case == "slab"
    q = []
    for a, b in shapes(case):
        rows = a + 1
        start = jnp.asarray(0.05 * rng.standard_normal((rows, b)), jnp.float32), jnp.full((rows, b), -4.0, jnp.float32)
        q.append((*start, jnp.full((rows, b), 2.0, jnp.float32)) if slab else start)

    def moments(layer: Any) -> Any:
        """Mean and variance of the weights, and their divergence."""
        mean, sd = layer[0], jax.nn.softplus(layer[1])
        normal = 0.5 * (mean**2 + sd**2) - 0.5 - jnp.log(sd)
        if not slab:
            return mean, sd**2, normal.sum()
        alpha = jax.nn.sigmoid(layer[2])
        kl = (alpha * (layer[2] - PRIOR_LOG_ODDS + normal) - jax.nn.softplus(layer[2])).sum()
        return alpha * mean, alpha * (sd**2 + (1 - alpha) * mean**2), kl

    def convolved(h: Any, w: Any) -> Any:
        side = 5
        kernel = w[:-1].reshape(side, side, h.shape[3], -1)
        return lax.conv_general_dilated(h, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")) + w[-1]

    def loss(q: Any, key: Any, rows: Any) -> Any:
        h, kl = x[rows], 0.0
        keys = jax.random.split(key, len(q))
        convolutions = len(CONVOLUTIONS) if case == "convolution" else 0
        h = h.reshape(-1, 28, 28, 1) if convolutions else h
        for number, layer in enumerate(q):
            mean, variance, more = moments(layer)
            kl += more
            if number < convolutions:
                z, v = convolved(h, mean), convolved(h**2, variance)
            else:
                h = h.reshape(BATCH, -1)
                z, v = h @ mean[:-1] + mean[-1], h**2 @ variance[:-1] + variance[-1]
            h = z + jnp.sqrt(v + 1e-12) * jax.random.normal(keys[number], z.shape, jnp.float32)
            if number < convolutions:
                h = lax.reduce_window(h, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
            h = jax.nn.relu(h) if number < len(q) - 1 else h
        return kl - SAMPLES / BATCH * jax.nn.log_softmax(h)[jnp.arange(BATCH), y[rows]].sum()

    def step(state: Any, _: Any) -> Any:
        q, m, v, t, key = state
        key, for_rows, for_noise = jax.random.split(key, 3)
        g = jax.grad(loss)(q, for_noise, jax.random.randint(for_rows, (BATCH,), 0, SAMPLES))
        t = t + 1
        m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
        v = jax.tree.map(lambda a, b: 0.999 * a + 0.001 * b * b, v, g)
        length, correction = 1e-4 / (1 - 0.9**t), 1 / (1 - 0.999**t)
        q = jax.tree.map(lambda a, b, c: a - length * b / (jnp.sqrt(c * correction) + 1e-8), q, m, v)
        return (q, m, v, t, key), None

    steps = RACES[case].steps
    run = jax.jit(lambda state: lax.scan(step, state, None, length=steps)[0], donate_argnums=0)
    zeros = jax.tree.map(jnp.zeros_like, q)
    state = [(q, zeros, jax.tree.map(jnp.zeros_like, q), jnp.float32(0), jax.random.key(1))]

    def advance(_: int) -> None:
        state[0] = jax.block_until_ready(run(state[0]))

    return advance


def torch_steps(case: str) -> Steps:
    import torch
    from torch.nn import functional

    x, y = (torch.from_numpy(a) for a in data())
    torch.manual_seed(1)
    slab, convolutions = case == "slab", len(CONVOLUTIONS) if case == "convolution" else 0

    def start(number: int, a: int, b: int) -> Any:
        scale = (2.0 / a) ** 0.5
        if number < convolutions:
            return torch.nn.Parameter(scale * torch.randn(b, a // 25, 5, 5))
        return torch.nn.Parameter(scale * torch.randn(b, a))

    means, biases = [], []
    for number, (a, b) in enumerate(shapes(case)):
        means.append(start(number, a, b))
        biases.append(torch.nn.Parameter(torch.zeros(b)))
    tensors = [t for pair in zip(means, biases, strict=True) for t in pair]
    rhos = [torch.nn.Parameter(torch.full_like(t, -4.0)) for t in tensors]
    omegas = [torch.nn.Parameter(torch.full_like(t, 2.0)) for t in tensors] if slab else []
    groups = [{"params": tensors + rhos, "lr": 1e-4}, {"params": omegas, "lr": 0.02}]
    adam = torch.optim.Adam([g for g in groups if g["params"]], fused=True)

    def moments(number: int) -> Any:
        mean, sd = tensors[number], functional.softplus(rhos[number])
        normal = 0.5 * (mean**2 + sd**2) - 0.5 - torch.log(sd)
        if not slab:
            return mean, sd**2, normal.sum()
        omega = omegas[number]
        alpha = torch.sigmoid(omega)
        kl = (alpha * (omega - PRIOR_LOG_ODDS + normal) - functional.softplus(omega)).sum()
        return alpha * mean, alpha * (sd**2 + (1 - alpha) * mean**2), kl

    def through(h: Any) -> Any:
        kl: Any = 0.0
        h = h.reshape(-1, 1, 28, 28) if convolutions else h
        layers = len(tensors) // 2
        for number in range(layers):
            (w, wv, more), (b, bv, less) = moments(2 * number), moments(2 * number + 1)
            kl = kl + more + less
            apply = functional.conv2d if number < convolutions else functional.linear
            h = h.flatten(1) if number >= convolutions else h
            z = apply(h, w, b)
            z = z + torch.sqrt(apply(h**2, wv, bv) + 1e-12) * torch.randn_like(z)
            h = functional.max_pool2d(z, 2) if number < convolutions else z
            h = torch.relu(h) if number < layers - 1 else h
        return h, kl

    def advance(steps: int) -> None:
        for _ in range(steps):
            rows = torch.randint(0, SAMPLES, (BATCH,))
            adam.zero_grad(set_to_none=True)
            z, kl = through(x[rows])
            (kl + SAMPLES / BATCH * functional.cross_entropy(z, y[rows], reduction="sum")).backward()
            adam.step()

    return advance


MAKERS = {"engine": engine_steps, "jax": jax_steps, "torch": torch_steps}


def arithmetic(case: str) -> tuple[float, float]:
    """Multiply-adds of one step's matrix products, in millions, and megabytes that it must read or write at least.

    Products: means and variances forward, both gradients, and both derivatives of every layer's inputs but the first's.
    Memory: every weight's means, variances and gradients as often as products need them, and in the step its parameters,
    Adam's averages and sd, read and written; the patches of convolutions are taken to stay in the cache.
    """
    sizes = shapes(case)
    places = (24 * 24, 8 * 8) if case == "convolution" else ()
    work, weights = 0.0, 0
    for number, (a, b) in enumerate(sizes):
        lines = BATCH * (places[number] if number < len(places) else 1)
        work += lines * a * b * (6 if number else 4)
        weights += (a + 1) * b
    rows = 10 if case == "slab" else 7
    return work / 1e6, 4 * weights * (4 + 2 + 2 * rows + 2 + 2) / 1e6


def products() -> str:
    """The library that multiplies the engine's matrices, and for which CPU: OPENBLAS_CORETYPE may hold it to an older one."""
    import scipy.linalg  # noqa: F401  its library is the one
    from threadpoolctl import threadpool_info

    found = [pool for pool in threadpool_info() if pool["user_api"] == "blas" and "numpy.libs" not in pool["filepath"]]
    return "; ".join(f"{pool['internal_api']} {pool['version']}, {pool.get('architecture', 'any CPU')}" for pool in found)


def roofline(rounds: int = 9) -> None:
    """Print what two cores of this machine reach at once, what a step needs at least by that, and what it takes, by the
    clock: the best that the machine did in any round, and the median of a step. Then what memory a training needs at
    least, and what it has held.
    """
    import numba

    import engine  # noqa: F401

    product = numba.njit(nogil=True)(lambda a, b, c: np.dot(a, b, c))
    cores = range(min(2, os.cpu_count() or 1))
    squares = [[np.random.default_rng(core).random((1000, 1000), dtype=np.float32) for _ in range(3)] for core in cores]
    large = [(np.ones(25_000_000, np.float32), np.ones(25_000_000, np.float32)) for _ in cores]
    advances = {case: engine_steps(case) for case in RACES}
    took: dict[str, list[float]] = {case: [] for case in RACES}
    peak = copied = 0.0

    def seconds(act: Any) -> float:
        begin = time.perf_counter()
        act()
        return time.perf_counter() - begin

    with ThreadPoolExecutor(len(cores)) as pool:

        def at_once(act: Any) -> float:
            return seconds(lambda: list(pool.map(act, cores)))

        at_once(lambda core: product(*squares[core]))
        for _ in range(rounds):
            peak = max(peak, 1e3 * len(cores) / at_once(lambda core: product(*squares[core])))  # million multiply-adds a second
            copied = max(copied, 2e-6 * len(cores) * large[0][0].nbytes / at_once(lambda core: np.copyto(*large[core])))  # MB a second
            for case, advance in advances.items():
                advance(2)
                took[case].append(seconds(lambda advance=advance: advance(5)) / 5)  # type: ignore[misc]
    print(
        f"{len(cores)} cores at once: {peak / 1e3:.0f} G multiply-adds/s (1000 x 1000 products), "
        f"{copied / 1e3:.0f} GB/s (copies of {large[0][0].nbytes / 1e6:.0f} MB)"
    )
    for case, times in took.items():
        work, moved = arithmetic(case)
        floor = work / peak + moved / copied
        print(
            f"  {case:12s}{work:6.0f} M multiply-adds, {moved:4.0f} MB: at least {1e3 * floor:5.1f} ms "
            f"({1e3 * work / peak:.1f} + {1e3 * moved / copied:.1f}); takes {1e3 * np.median(times):5.1f} ms, "
            f"{100 * floor / np.median(times):.0f} % of the roofline, {ENOUGH} % is the bound where a race cannot be won"
        )
    for case, (needed, bare, most) in memories().items():
        print(
            f"  {case:12s}images, parameters, averages, weights and slopes {needed:4.0f} MB, interpreter and libraries {bare:4.0f} MB; "
            f"held {most:4.0f} MB at most, {100 * (needed + bare) / most:.0f} % of it needed"
        )


def memories() -> dict[str, tuple[float, float, float]]:
    """Of every case: MB that a training must hold, that a bare interpreter holds with its libraries, and the most held."""
    command = "import engine.variational; from benchmarks import peak_memory; print(peak_memory())"
    bare = float(subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True).stdout)
    found = {}
    for case in RACES:
        weights = sum((a + 1) * b for a, b in shapes(case))
        needed = 4 * (SAMPLES * 784 + weights * (4 + (10 if case == "slab" else 7))) / 1e6
        contestant = Contestant("engine", case, sys.executable, 0, MODULE)
        contestant.turn()
        contestant.leave()
        found[case] = needed, bare, contestant.memory
    return found


def sparse() -> None:
    """Print seconds of prediction by dense products and by sparse ones; 0.051 is the median model's density in Hubin and
    Storvik's table 1.
    """
    import engine  # noqa: F401
    from engine.variational.minibatch import Shape
    from engine.variational.predict import forward

    rng = np.random.default_rng(1)
    shape, x = Shape(DENSE), data()[0][:1000]
    print("\nprediction, 1,000 images by 784-400-600-600-10, one thread")
    for density in (0.02, 0.051, 0.1, 0.15, 0.2):
        weights = rng.standard_normal(shape.weights, dtype=np.float32) * (rng.random(shape.weights) < density)
        best, said = [], []
        for how in (False, True):
            seconds = []
            for _ in range(9):
                begin = time.perf_counter()
                found = forward(shape, "relu", "softmax", x, weights, sparse=how)
                seconds.append(time.perf_counter() - begin)
            assert found is not None
            best.append(1e3 * min(seconds))
            said.append(found)
        gap = float(np.abs(said[0] - said[1]).max())
        print(
            f"  density {density:5.3f}: dense {best[0]:6.1f} ms, sparse {best[1]:6.1f} ms, {best[0] / best[1]:4.1f} times as fast; "
            f"largest gap of a probability {gap:.1e}"
        )


def accuracy() -> None:
    """Print the seconds that training takes until the expected weights read 97 % of MNIST's test images right."""
    from datasets.local import images
    from engine.variational import start_network

    mnist = images("mnist")
    settings: dict[str, Any] = {"hidden": DENSE[1:-1], "method": "gaussian", "epochs": 20, "step_size": 1e-3, "initial_sd": 0.01}
    run = start_network(mnist.x, mnist.y, estimator="local", **settings)
    right = 0.0
    while right < TARGET and not run.done:
        run.advance(run.steps_per_epoch // 2)
        right = run.fit().predict(mnist.x_test, "MEAN").accuracy(mnist.y_test)
        print(f"{run.completed / run.steps_per_epoch:4.1f} epochs, {run.seconds:5.1f} s, {100 * right:.2f} %", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-peer", action="store_true", help="leave the peers out")
    parser.add_argument("--peer-python", default=sys.executable, help="interpreter that has jax and torch")
    parser.add_argument("--threads", type=int, default=0, help="of the peers; 0 leaves it to them")
    parser.add_argument("--rounds", type=int, default=9, help="turns of every contestant")
    parser.add_argument("--case", choices=tuple(RACES), help="one case only")
    parser.add_argument("--sparse", action="store_true", help="prediction by sparse products")
    parser.add_argument("--roofline", action="store_true", help="what a step needs at least, and what it takes")
    parser.add_argument("--all", action="store_true", help="the races, the roofline and sparse prediction")
    parser.add_argument("--accuracy", action="store_true", help="seconds to 97 %% on MNIST")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        who, case = options.worker
        work(who, MAKERS[who](case), RACES[case].steps)
    elif options.sparse:
        sparse()
    elif options.roofline:
        print(f"products: {products()}")
        roofline()
    elif options.accuracy:
        accuracy()
    else:
        print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {options.rounds} rounds, load {os.getloadavg()[0]:.1f}")
        print(f"the engine's products: {products()}")
        for case in [options.case] if options.case else RACES:
            pythons = {peer: options.peer_python for peer in ("jax", "torch")}
            race(case, RACES[case], () if options.no_peer else ("jax", "torch"), pythons, options.rounds, options.threads)
        if options.all:
            roofline()
            sparse()


if __name__ == "__main__":
    main()
