"""Speed of training variational networks, with JAX and PyTorch side by side in one run, and accuracy on MNIST.

    python -m benchmarks.variational                       speed, about two minutes
    python -m benchmarks.variational --no-peer             without the peers
    python -m benchmarks.variational --peer-python PATH    another interpreter that has torch
    python -m benchmarks.variational --mnist [--epochs N]  test accuracy on MNIST (POSTERIOR_LAB_DATA)

Every contestant is a process of its own that does nothing until asked. They take turns: a few steps each, round after
round, so that what else the machine does hits all alike. Printed are medians over rounds, and the median of the
ratios within a round. All use single precision, the same network, minibatches of 100 from the same data, Adam, and one
draw of the weights a step; their random numbers differ. The engine has one thread, the peers as many as they take,
or, with --peer-threads 1, one too: on a busy machine only then do the seconds of CPU mean anything, because threads
that wait for each other spin.

dense : mean-field 784-400-400-10, weights drawn (Bayes by Backprop)
score, local : spike and slab 784-400-600-600-10 (Hubin and Storvik 2019) with the paper's estimator and with local
    reparameterisation; an epoch is 60,000 images
"""

from __future__ import annotations

import argparse
import gzip
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import peak_memory

SIZES = {"dense": (784, 400, 400, 10), "score": (784, 400, 600, 600, 10), "local": (784, 400, 600, 600, 10)}
SAMPLES, BATCH = 60_000, 100
PRIOR_LOG_ODDS = -2.0
STEPS = {"dense": 20, "score": 10, "local": 10}  # of one turn
PEERS = {"dense": ("jax", "torch"), "score": ("torch",), "local": ("torch",)}
GOALS = {("dense", "jax"): 1.7, ("dense", "torch"): 3.0, ("score", "torch"): 1.5, ("local", "torch"): 1.5}

Steps = Callable[[int], None]


def data() -> tuple[np.ndarray, np.ndarray]:
    """Images and labels of MNIST's size, made up: only the time matters. In pieces, for the most memory that a contestant
    has held is that of its training.
    """
    rng = np.random.default_rng(1)
    x = np.empty((SAMPLES, 784), dtype=np.float32)
    for piece in np.split(x, 60):
        rng.random(out=piece, dtype=np.float32)
        piece[rng.random(piece.shape, dtype=np.float32) >= 0.2] = 0.0
    return x, rng.integers(0, 10, SAMPLES)


def engine_steps(case: str) -> Steps:
    import engine  # noqa: F401  sets the kernel cache and the threads of linear algebra
    from engine.variational.network import start_network

    method = "gaussian" if case == "dense" else "spike_and_slab"
    estimator = "weights" if case == "dense" else case
    x, y = data()
    hidden = SIZES[case][1:-1]
    run = start_network(x, y, hidden=hidden, method=method, estimator=estimator, epochs=10_000, step_size=1e-4, initial_sd=0.02)
    return lambda steps: (run.advance(steps), None)[1]


def jax_steps(case: str) -> Steps:
    import jax
    import jax.numpy as jnp

    assert case == "dense"
    sizes = SIZES[case]
    x, y = (jnp.asarray(a) for a in data())
    rng = np.random.default_rng(2)
    q = [
        tuple((jnp.asarray(0.05 * rng.standard_normal(shape), jnp.float32), jnp.full(shape, -4.0, jnp.float32)) for shape in ((a, b), (b,)))
        for a, b in pairwise(sizes)
    ]

    def loss(q: Any, key: Any, rows: Any) -> Any:
        h, kl = x[rows], 0.0
        keys = iter(jax.random.split(key, 2 * len(q)))
        for number, layer in enumerate(q):
            drawn = []
            for mean, rho in layer:
                sd = jax.nn.softplus(rho)
                drawn.append(mean + sd * jax.random.normal(next(keys), mean.shape, jnp.float32))
                kl += jnp.sum(0.5 * (mean**2 + sd**2) - 0.5 - jnp.log(sd))
            h = h @ drawn[0] + drawn[1]
            h = jax.nn.relu(h) if number < len(q) - 1 else h
        likelihood = jax.nn.log_softmax(h)[jnp.arange(BATCH), y[rows]].sum()
        return kl - SAMPLES / BATCH * likelihood

    def step(state: Any, _: Any) -> Any:
        q, m, v, t, key = state
        key, for_rows, for_weights = jax.random.split(key, 3)
        rows = jax.random.randint(for_rows, (BATCH,), 0, SAMPLES)
        g = jax.grad(loss)(q, for_weights, rows)
        t = t + 1
        m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
        v = jax.tree.map(lambda a, b: 0.999 * a + 0.001 * b * b, v, g)
        length, correction = 1e-4 / (1 - 0.9**t), 1 / (1 - 0.999**t)
        q = jax.tree.map(lambda a, b, c: a - length * b / (jnp.sqrt(c * correction) + 1e-8), q, m, v)
        return (q, m, v, t, key), None

    run = jax.jit(lambda state: jax.lax.scan(step, state, None, length=STEPS[case])[0], donate_argnums=0)
    zeros = jax.tree.map(jnp.zeros_like, q)
    state = [(q, zeros, jax.tree.map(jnp.zeros_like, q), jnp.float32(0), jax.random.key(1))]

    def advance(steps: int) -> None:
        assert steps == STEPS[case]
        state[0] = jax.block_until_ready(run(state[0]))

    return advance


def torch_steps(case: str) -> Steps:
    import torch
    from torch.nn import functional

    sizes = SIZES[case]
    x, y = (torch.from_numpy(a) for a in data())
    torch.manual_seed(1)
    shapes = [s for a, b in pairwise(sizes) for s in ((a, b), (b,))]
    means = [torch.nn.Parameter(0.05 * torch.randn(s)) for s in shapes]
    rhos = [torch.nn.Parameter(torch.full(s, -4.0)) for s in shapes]
    omegas = [torch.nn.Parameter(torch.full(s, 2.0)) for s in shapes] if case != "dense" else []
    groups = [{"params": means + rhos, "lr": 1e-4}, {"params": omegas, "lr": 0.02}]
    adam = torch.optim.Adam([g for g in groups if g["params"]], fused=True)
    baseline = [-SAMPLES * float(np.log(10))]

    def slab_kl(mean: Any, sd: Any) -> Any:
        return 0.5 * (mean**2 + sd**2) - 0.5 - torch.log(sd)

    def spike_kl(mean: Any, sd: Any, omega: Any) -> Any:
        inside = torch.sigmoid(omega) * (omega - PRIOR_LOG_ODDS + slab_kl(mean, sd))
        return (inside - functional.softplus(omega)).sum()

    def sampled(h: Any) -> Any:
        """Outputs, KL and log q of the masks."""
        kl, log_mask, weights = 0.0, 0.0, []
        for i, (mean, rho) in enumerate(zip(means, rhos, strict=True)):
            sd = functional.softplus(rho)
            w = mean + sd * torch.randn_like(mean)
            if omegas:
                omega = omegas[i]
                mask = torch.bernoulli(torch.sigmoid(omega.detach()))
                log_mask = log_mask + (mask * omega - functional.softplus(omega)).sum()
                kl, w = kl + spike_kl(mean, sd, omega), w * mask
            else:
                kl = kl + slab_kl(mean, sd).sum()
            weights.append(w)
        for i in range(0, len(weights), 2):
            h = torch.addmm(weights[i + 1], h, weights[i])
            h = torch.relu(h) if i < len(weights) - 2 else h
        return h, kl, log_mask

    def local(h: Any) -> Any:
        kl, moments = 0.0, []
        for mean, rho, omega in zip(means, rhos, omegas, strict=True):
            sd, alpha = functional.softplus(rho), torch.sigmoid(omega)
            moments.append((alpha * mean, alpha * (sd**2 + (1 - alpha) * mean**2)))
            kl = kl + spike_kl(mean, sd, omega)
        for i in range(0, len(moments), 2):
            (m, v), (bias_m, bias_v) = moments[i], moments[i + 1]
            z, variance = torch.addmm(bias_m, h, m), torch.addmm(bias_v, h**2, v)
            h = z + torch.sqrt(variance + 1e-12) * torch.randn_like(z)
            h = torch.relu(h) if i < len(moments) - 2 else h
        return h, kl, 0.0

    def advance(steps: int) -> None:
        for _ in range(steps):
            rows = torch.randint(0, SAMPLES, (BATCH,))
            adam.zero_grad(set_to_none=True)
            z, kl, log_mask = (local if case == "local" else sampled)(x[rows])
            energy = -SAMPLES / BATCH * functional.cross_entropy(z, y[rows], reduction="sum")
            loss = kl - energy
            if case == "score":
                value = float(energy.detach())
                loss = loss - log_mask * (value - baseline[0])
                baseline[0] += 0.1 * (value - baseline[0])
            loss.backward()
            adam.step()

    return advance


MAKERS = {"engine": engine_steps, "jax": jax_steps, "torch": torch_steps}


class Race(NamedTuple):
    """Steps that contestants take by turns.

    what : network and estimator
    steps : of one turn
    goals : how many times as fast as each peer the engine ought to be
    module : whose `--worker` runs a contestant
    """

    what: str
    steps: int
    goals: dict[str, float]
    module: str = "benchmarks.variational"


RACES = {
    case: Race(f"{'-'.join(str(n) for n in SIZES[case])}, batch {BATCH}", STEPS[case], {p: GOALS[case, p] for p in PEERS[case]})
    for case in SIZES
}


def work(who: str, advance: Steps, steps: int) -> None:
    """Take turns as asked: every line on standard input is one turn, answered by its seconds, those of CPU, and the
    most memory that the process has held, in MB.
    """
    advance(steps)
    module = {"engine": "numba"}.get(who, who)
    print(f"ready {module} {sys.modules[module].__version__}", flush=True)
    for _ in sys.stdin:
        begin, busy = time.perf_counter(), time.process_time()
        advance(steps)
        seconds, cpu = time.perf_counter() - begin, time.process_time() - busy
        print(seconds, cpu, peak_memory(), flush=True)


class Contestant:
    """A process that takes turns at one case."""

    def __init__(self, who: str, case: str, python: str, threads: int, module: str):
        command = [python, "-m", module, "--worker", who, case]
        environment = dict(os.environ)
        if threads:
            environment["OMP_NUM_THREADS"] = str(threads)
            if threads == 1:
                environment["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.name = who
        self.memory = 0.0
        answer = self._answer()
        self.ready = answer.startswith("ready")
        self.version = answer.removeprefix("ready").strip()

    def _answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def turn(self) -> tuple[float, float]:
        """Seconds of one turn, and of CPU in it."""
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        seconds, busy, self.memory = map(float, self._answer().split())
        return seconds, busy

    def leave(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def race(case: str, entry: Race, peers: Iterable[str], pythons: dict[str, str], rounds: int, threads: int) -> None:
    """Print one case: steps a second of everyone, and the ratios. pythons : interpreters of peers, by name"""
    steps = entry.steps
    field = [Contestant(who, case, pythons.get(who, sys.executable), threads, entry.module) for who in ("engine", *peers)]
    missing = [c.name for c in field if not c.ready]
    field = [c for c in field if c.ready]
    times: dict[str, list[float]] = {c.name: [] for c in field}
    busy: dict[str, list[float]] = {c.name: [] for c in field}
    for number in range(rounds):
        for contestant in field if number % 2 == 0 else reversed(field):
            seconds, cpu = contestant.turn()
            times[contestant.name].append(seconds / steps)
            busy[contestant.name].append(cpu / steps)
    for contestant in field:
        contestant.leave()
    memory = {c.name: c.memory for c in field}
    print(f"\n{case}: {entry.what}; {', '.join(c.version for c in field)}")
    for name, each in times.items():
        median, best = statistics.median(each), min(each)
        cpu = statistics.median(busy[name])
        line = (
            f"  {name:8s}{1 / median:8.0f} steps/s (best {1 / best:.0f}), {1e3 * cpu:6.2f} ms of CPU a step, "
            f"epoch {SAMPLES / BATCH * median:6.1f} s, {memory[name]:5.0f} MB"
        )
        if name != "engine":
            ratio = statistics.median(a / b for a, b in zip(each, times["engine"], strict=True))
            goal = entry.goals[name]
            verdict = "reached" if ratio >= goal else "NOT reached"
            saved = statistics.median(a / b for a, b in zip(busy[name], busy["engine"], strict=True))
            line += f"; engine {ratio:.2f} times as fast ({saved:.2f} in CPU), wanted {goal}: {verdict}"
        print(line, flush=True)
    share = statistics.median(c / t for c, t in zip(busy["engine"], times["engine"], strict=True))
    if share < 0.9:
        print(f"  The machine was busy: the engine's one thread had {100 * share:.0f} % of a core.")
    for name in missing:
        print(f"  {name:8s}not installed")


def images(folder: Path, name: str) -> np.ndarray:
    """One IDX file of MNIST: (n, 784) float32 from 0 to 1, or (n,) labels."""
    raw = gzip.decompress((folder / f"{name}-ubyte.gz").read_bytes())
    if "labels" in name:
        return np.frombuffer(raw, np.uint8, offset=8).astype(np.int64)
    return np.frombuffer(raw, np.uint8, offset=16).reshape(-1, 784).astype(np.float32) / np.float32(255)


def mnist(epochs: int, methods: list[str], hidden: tuple[int, ...], prior_sd: float) -> None:
    """Train on all of MNIST, and print what each way to predict gets right on the test images."""
    from engine.variational.network import start_network

    named = os.environ.get("POSTERIOR_LAB_DATA")
    if not named:
        raise SystemExit("POSTERIOR_LAB_DATA names no folder: MNIST is not bundled")
    folder = Path(named) / "mnist"
    x, y, x_test, y_test = (
        images(folder, name) for name in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
    )
    # Small standard deviations at the start and weights that leave slowly: the means learn before the noise has grown.
    # The ELBO still rises at the end, by what it saves on the divergence; so it does in the paper's 250 epochs.
    common = {"epochs": epochs, "step_size": 1e-3, "initial_sd": 0.005, "final_step_size": 0.1, "prior_sd": prior_sd}
    common["inclusion_step_size"] = 0.0135 / epochs
    fits = {
        "dense": {"method": "gaussian", "hidden": hidden or (400, 400)},
        "spike_and_slab": {"method": "spike_and_slab", "hidden": hidden or (400, 600, 600)},
    }
    for name in methods:
        run = start_network(x, y, **(common | fits[name]))
        while not run.done:
            run.advance(run.steps_per_epoch)
            history = run.history()
            print(
                f"{name} epoch {run.completed // run.steps_per_epoch}: ELBO {history.elbo[-1]:,.0f}, "
                f"train {history.accuracy[-1]:.4f}, density {history.density[-1]:.4f}, {run.seconds:.0f} s",
                flush=True,
            )
        report(name, run.fit(), x_test, y_test)
        if run.posterior.has_mask:
            layers = run.fit().inclusion_probabilities()
            print("  mean inclusion by layer: " + ", ".join(f"{a.mean():.4f}" for a in layers))
            for mask in ("probabilities", "median"):
                post = run.post_train(mask, epochs=max(1, epochs // 5))
                post.advance(post.total)
                report(f"{name}, post-trained with {mask} fixed, {post.seconds:.0f} s", post.fit(), x_test, y_test)


def report(name: str, fit: Any, x: np.ndarray, y: np.ndarray) -> None:
    """Print accuracy and density of every way to predict."""
    modes = ("SM", "MA", "MED", "MEAN") if fit.posterior.has_mask else ("SM", "MA", "MEAN")
    found = []
    for mode in modes:
        prediction = fit.predict(x, mode)
        found.append(f"{mode} {prediction.accuracy(y):.4f} (density {prediction.density:.3f})")
    print(f"{name}: {', '.join(found)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-peer", action="store_true", help="leave the peers out")
    parser.add_argument("--peer-python", default=sys.executable, help="interpreter that has torch")
    parser.add_argument("--peer-threads", type=int, default=0, help="of the peers; 0 leaves it to them")
    parser.add_argument("--rounds", type=int, default=11, help="turns of every contestant")
    parser.add_argument("--case", choices=tuple(SIZES), help="one case only")
    parser.add_argument("--mnist", nargs="*", metavar="METHOD", help="accuracy on MNIST: dense, spike_and_slab")
    parser.add_argument("--hidden", type=int, nargs="*", default=[], help="widths, for --mnist")
    parser.add_argument("--prior-sd", type=float, default=1.0, help="of the weights, for --mnist; the paper has 1")
    parser.add_argument("--epochs", type=int, default=9)
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        who, case = options.worker
        work(who, MAKERS[who](case), STEPS[case])
    elif options.mnist is not None:
        mnist(options.epochs, options.mnist or ["dense", "spike_and_slab"], tuple(options.hidden), options.prior_sd)
    else:
        print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {options.rounds} rounds")
        for case in [options.case] if options.case else SIZES:
            peers, pythons = () if options.no_peer else PEERS[case], {"torch": options.peer_python}
            race(case, RACES[case], peers, pythons, options.rounds, options.peer_threads)


if __name__ == "__main__":
    main()
