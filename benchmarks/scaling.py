"""How cost grows, beside what theory says: `python -m benchmarks.scaling [--pages]`.

Each row doubles one size and prints seconds (or bytes) and the exponent that fits the larger half of the sizes: where
they are small, what every call costs hides the law. `*` marks an exponent more than `SLACK` above the law. `--pages`
adds classes of 1 to 100 readers on one server, and thirty readers on one and on two.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import llvmlite.binding
import numpy as np

import datasets
import engine
from benchmarks.load import cpu_seconds
from benchmarks.samplers import median_seconds, versions
from engine import targets
from engine.kept import Weight
from engine.variational.network import start_network
from tests.load import classroom
from tests.load.test_class import warmed
from tests.load.user import User
from tests.server import ROOT, Server

SLACK = 0.2
REPEATS = 3
READERS = (1, 10, 30, 100)
SECONDS = 60.0  # that a class stays


class Law(NamedTuple):
    """What is measured at each size, and the exponent that theory gives for large ones."""

    name: str
    unit: str
    sizes: Sequence[int]
    exponent: float
    why: str
    cost: Callable[[int], float]


# What is measured -----------------------------------------------------------------------------------------------------


def nuts(dimension: int) -> tuple[float, float]:
    """Seconds a gradient, and gradients a transition, on independent normals."""
    target = targets.gaussian(dimension=dimension, correlation=0.0)
    draws = max(20, 20_000 // dimension)
    found: list[engine.Recording] = []

    def run() -> None:
        found.append(engine.sample(target, "nuts", chains=1, draws=draws, warmup=300, seed=1, step_size=None))

    run()
    gradients = float(found[-1].gradient_evaluations.sum())
    whole = gradients + float(found[-1].warmup_gradient_evaluations.sum())
    return median_seconds(run, REPEATS) / whole, gradients / draws


def gradient(rows: int = 200, width: int = 8, depth: int = 1) -> float:
    """Seconds of one gradient of a network on so many rows, by HMC."""
    rng = np.random.Generator(np.random.SFC64(1))
    x = rng.standard_normal((rows, 2))
    y = (x[:, 0] * x[:, 1] > 0).astype(np.int64)
    model = engine.network(2, 1, width=width, depth=depth, activation="tanh", likelihood="bernoulli")
    target, steps = model.posterior(x, y), 10
    draws = max(2, 4_000_000 // (rows * width * max(width * (depth - 1), 1) * steps))
    settings = {"step_size": 1e-4, "steps": steps, "init": model.prior_draws(1, 1)}
    seconds = median_seconds(lambda: engine.sample(target, "hmc", chains=1, draws=draws, warmup=0, seed=1, **settings), REPEATS)
    return seconds / (draws * steps)


def jump(width: int, keep_outputs: bool) -> float:
    """Seconds of one birth or death at `width` units, on 200 points."""
    x, y, _ = datasets.xor(seed=1)
    network, jumps = engine.network(2, 2, width=(width - 1, width + 1)), 4000
    settings = {"start_width": width, "within": "none", "keep_outputs": keep_outputs}
    seconds = median_seconds(
        lambda: engine.sample_architecture(network, x, y, chains=1, draws=4, jumps=jumps // 4, seed=1, **settings), REPEATS
    )
    return seconds / jumps


def training_step(weights: int) -> float:
    """Seconds of one step of a mean-field fit with about so many weights, on minibatches of 100."""
    rng = np.random.Generator(np.random.SFC64(1))
    x = rng.random((2000, 100), dtype=np.float32)
    run = start_network(x, rng.integers(0, 10, 2000), hidden=(weights // 110,), method="gaussian", epochs=10_000)
    run.advance(2)
    steps = max(2, 2_000_000 // weights)
    return median_seconds(lambda: run.advance(steps), REPEATS) / steps


def recording(draws: int, detail: bool) -> float:
    """Bytes of a recording of ten leapfrog steps a draw; with detail, of every step as well."""
    settings = {"step_size": 0.2, "steps": 10, "detail": "transitions" if detail else "draws"}
    return Weight(engine.sample(targets.banana(), "hmc", chains=1, draws=draws, seed=1, **settings)).bytes


LAWS = [
    Law("NUTS, a gradient", "s", (2, 10, 50, 200, 500, 1000), 1.0, "d multiplications", lambda d: nuts(d)[0]),
    Law("NUTS, gradients a transition", "", (2, 10, 50, 200, 500, 1000), 0.25, "d^(1/4)", lambda d: nuts(d)[1]),
    Law("data rows, a gradient", "s", (100, 1000, 10_000, 100_000), 1.0, "a sum over rows", lambda n: gradient(n)),
    Law("width of one layer", "s", (2, 8, 32, 128, 512), 1.0, "k (inputs + 2)", lambda k: gradient(width=k)),
    Law("width of two layers", "s", (4, 16, 64, 128), 2.0, "k²", lambda k: gradient(width=k, depth=2)),
    Law("depth at eight units", "s", (1, 2, 4, 8), 1.0, "k² a layer", lambda d: gradient(depth=d)),
    Law("a jump of k, outputs kept", "s", (4, 8, 16, 32, 64), 0.0, "one unit changes", lambda k: jump(k, True)),
    Law("a jump of k, from scratch", "s", (4, 8, 16, 32, 64), 1.0, "k units anew", lambda k: jump(k, False)),
    Law("variational step", "s", (11_000, 44_000, 176_000, 704_000), 1.0, "weights", training_step),
    Law("recording, draws", "B", (1000, 10_000, 100_000), 1.0, "draws", lambda n: recording(n, False)),
    Law("recording, every step", "B", (1000, 10_000, 100_000), 1.0, "draws × steps", lambda n: recording(n, True)),
]


def exponent(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """The slope of log cost in log size over the larger half of the sizes."""
    large = slice(len(sizes) // 2 - (len(sizes) < 5), None)
    return float(np.polyfit(np.log(sizes[large]), np.log(costs[large]), 1)[0])


def told(law: Law) -> str:
    """The row of a law."""
    costs = [law.cost(size) for size in law.sizes]
    found = exponent(law.sizes, costs)
    row = ", ".join(f"{size:,}: {cost:.2g}" for size, cost in zip(law.sizes, costs, strict=True))
    mark = "*" if found > law.exponent + SLACK else " "
    unit = f" ({law.unit})" if law.unit else ""
    return f"{mark} {law.name:30s} exponent {found:5.2f}, theory {law.exponent:.2f} ({law.why}); {row}{unit}"


# Pages ----------------------------------------------------------------------------------------------------------------


def told_of_pictures(name: str, servers: list[Server], users: list[User], spent: float) -> str:
    """What a class waited for, and what a picture cost."""
    waits = sorted(seconds for user in users for seconds in user.pictures)
    faults = sum(len(user.faults) for user in users)
    cost = (sum(map(cpu_seconds, servers)) - spent) / len(waits)
    return (
        f"  {name:30s} {len(waits)} pictures, p50 {1000 * waits[len(waits) // 2]:.0f} ms, p95 "
        f"{1000 * waits[len(waits) * 95 // 100]:.0f} ms, {1000 * cost:.0f} ms of CPU each, {faults} faults"
    )


def classes(folder: Path) -> None:
    """Print what readers wait for, by their number and by the number of processes."""
    with ExitStack() as open_servers:
        servers = [Server(ROOT / "app" / "main.py", folder / f"log{i}.txt") for i in range(2)]
        for server in servers:
            open_servers.callback(server.stop)
            asyncio.run(warmed(server.url))
        for readers in READERS:
            spent = cpu_seconds(servers[0])
            users = asyncio.run(classroom.reading(servers[0].url, readers, SECONDS))
            print(told_of_pictures(f"{readers} readers", servers[:1], users, spent), flush=True)
        for count in (1, 2):
            spent = sum(map(cpu_seconds, servers[:count]))

            async def both(count: int = count) -> list[User]:
                each = [classroom.movers(server.url, 30 // count, SECONDS) for server in servers[:count]]
                return [user for users in await asyncio.gather(*each) for user in users]

            users = asyncio.run(both())
            print(told_of_pictures(f"30 movers, {count} process(es)", servers[:count], users, spent), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pages", action="store_true", help="classes of readers, too: some minutes")
    with_pages = parser.parse_args().pages
    print(
        f"Python {platform.python_version()}, {versions('numba', 'numpy')}, {llvmlite.binding.get_host_cpu_name()}, {os.cpu_count()} cores"
    )
    for law in LAWS:
        print(told(law), flush=True)
    if with_pages:
        with tempfile.TemporaryDirectory() as folder:
            classes(Path(folder))


if __name__ == "__main__":
    main()
