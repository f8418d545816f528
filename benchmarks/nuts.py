"""NUTS side by side with blackjax, nutpie and numpyro: 1,000 warm-up and 1,000 kept transitions of one chain, float64.

    python -m benchmarks.nuts                      all cells, a few minutes
    python -m benchmarks.nuts --targets banana xor --engines here blackjax

Every cell (engine, target) is a process of its own. Cold: from the start of the interpreter to the first result, ours
with a filled kernel cache. Warm: the best of several further runs in that process, seeds differing. Memory: the peak of
the process. All engines sample the same density (checked), by their default tuning to acceptance 0.8. Peers
differentiate a JAX function; nutpie calls it through its interface for Python functions. ESS is of the last warm run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks import peak_memory

WARMUP = DRAWS = 1000
PEERS = ("blackjax", "nutpie", "numpyro")
GOALS = {"banana": 12, "gaussian": 2, "logistic": 4, "xor": 8, "digits": 3}
IDENTIFIED = ("banana", "gaussian", "logistic")  # network weights are label-switched: no ESS for them


def classes(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and labels of the three data sets."""
    if name == "xor":
        import datasets

        x, y, _ = datasets.xor(seed=1)
        return np.asarray(x), np.asarray(y)
    from sklearn.datasets import load_breast_cancer, load_digits

    bunch = load_breast_cancer() if name == "logistic" else load_digits()
    x, y = bunch.data, bunch.target
    if name == "logistic":
        return (x - x.mean(0)) / x.std(0), y
    x = x / 16.0
    _, _, axes = np.linalg.svd(x - x.mean(0), full_matrices=False)
    return ((x - x.mean(0)) @ axes[:20].T)[:100], y[:100]


def precision_matrix() -> np.ndarray:
    """Of the 100-d Gaussian: correlation 0.9 ** |i - j|, dense on purpose."""
    index = np.arange(100)
    return np.linalg.inv(0.9 ** np.abs(index[:, None] - index))


def target_here(name: str) -> Any:
    import engine
    from engine import targets

    if name == "banana":
        return targets.banana()
    if name == "gaussian":
        return targets.dense_gaussian(np.zeros(100), np.linalg.inv(precision_matrix()))
    x, y = classes(name)
    if name == "digits":
        return engine.network(20, 10, width=5, depth=1, activation="tanh", likelihood="softmax").posterior(x, y)
    width, depth = (4, 1) if name == "xor" else (1, 0)
    network = engine.network(x.shape[1], 1, width=width, depth=depth, activation="tanh", likelihood="bernoulli")
    return network.posterior(x, y)


def density_jax(name: str) -> tuple[Callable[[Any], Any], int]:
    """The same log density, constants aside, as a JAX function, and its dimension."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    if name == "banana":
        return lambda q: -0.5 * ((q[0] / 1.5) ** 2 + (q[1] - 0.5 * (q[0] ** 2 - 2.25)) ** 2), 2
    if name == "gaussian":
        precision = jnp.asarray(precision_matrix())
        return lambda q: -0.5 * q @ (precision @ q), 100
    inputs, labels = (jnp.asarray(a) for a in classes(name))

    def bernoulli(z: Any, theta: Any) -> Any:
        return jnp.sum(labels * z - jnp.logaddexp(0.0, z)) - 0.5 * jnp.sum(theta**2)

    def logistic(theta: Any) -> Any:
        return bernoulli(inputs @ theta[:30] + theta[30], theta)

    def xor(theta: Any) -> Any:
        hidden = jnp.tanh(inputs @ theta[:8].reshape(4, 2).T + theta[8:12])
        return bernoulli(hidden @ theta[12:16] + theta[16], theta)

    def digits(theta: Any) -> Any:
        hidden = jnp.tanh(inputs @ theta[:100].reshape(5, 20).T + theta[100:105])
        z = hidden @ theta[105:155].reshape(10, 5).T + theta[155:]
        likelihood = jnp.take_along_axis(jax.nn.log_softmax(z), labels[:, None], axis=1).sum()
        return likelihood - 0.5 * jnp.sum(theta**2)

    return {"logistic": (logistic, 31), "xor": (xor, 17), "digits": (digits, 165)}[name]


Sampler = Callable[[int], tuple[np.ndarray, int]]  # seed -> draws (DRAWS, dim), gradient evaluations


def here(name: str) -> Sampler:
    import engine

    target = target_here(name)

    def run(seed: int) -> tuple[np.ndarray, int]:
        recording = engine.sample(target, "nuts", chains=1, draws=DRAWS, warmup=WARMUP, seed=seed)
        gradients = recording.gradient_evaluations.sum() + recording.warmup_gradient_evaluations.sum()
        return recording.draws[0], int(gradients)

    return run


def blackjax(name: str) -> Sampler:
    density, dim = density_jax(name)
    import blackjax
    import jax
    import jax.numpy as jnp

    adaptation = blackjax.window_adaptation(blackjax.nuts, density)

    def whole(key: Any) -> Any:
        first, second, third = jax.random.split(key, 3)
        start = jax.random.uniform(third, (dim,), minval=-2.0, maxval=2.0)
        (state, parameters), warm = adaptation.run(first, start, WARMUP)
        kernel = blackjax.nuts(density, **parameters)

        def step(state: Any, key: Any) -> Any:
            state, info = kernel.step(key, state)
            return state, (state.position, info.num_integration_steps)

        _, (draws, steps) = jax.lax.scan(step, state, jax.random.split(second, DRAWS))
        return draws, jnp.sum(steps) + jnp.sum(warm.info.num_integration_steps)

    compiled = jax.jit(whole)

    def run(seed: int) -> tuple[np.ndarray, int]:
        draws, gradients = compiled(jax.random.key(seed))
        return np.asarray(draws), int(gradients)

    return run


def nutpie(name: str) -> Sampler:
    density, dim = density_jax(name)
    import jax
    import nutpie
    from nutpie.compiled_pyfunc import from_pyfunc

    gradient = jax.jit(jax.value_and_grad(density))

    def log_density() -> Callable[..., Any]:
        def evaluate(q: np.ndarray) -> tuple[float, np.ndarray]:
            value, slope = gradient(q)
            return float(value), np.asarray(slope)

        return evaluate

    def expand(*_: Any) -> Callable[..., Any]:
        return lambda q: {"q": q}

    model = from_pyfunc(dim, log_density, expand, [np.dtype("float64")], [(dim,)], ["q"])

    def run(seed: int) -> tuple[np.ndarray, int]:
        trace = nutpie.sample(model, draws=DRAWS, tune=WARMUP, chains=1, cores=1, seed=seed, progress_bar=False)
        steps = sum(int(group["n_steps"].sum()) for group in (trace.sample_stats, trace.warmup_sample_stats))
        return np.asarray(trace.posterior["q"])[0], steps

    return run


def numpyro(name: str) -> Sampler:
    density, dim = density_jax(name)
    import jax
    from numpyro.infer import MCMC, NUTS

    kernel = NUTS(potential_fn=lambda q: -density(q))
    chain = MCMC(kernel, num_warmup=WARMUP, num_samples=DRAWS, progress_bar=False)

    def run(seed: int) -> tuple[np.ndarray, int]:
        first, second = jax.random.split(jax.random.key(seed))
        start = jax.random.uniform(first, (dim,), minval=-2.0, maxval=2.0)
        chain.run(second, init_params=start, extra_fields=("num_steps",))
        # the warm-up's steps are not returned: those of the kept draws stand for them
        return np.asarray(chain.get_samples()), 2 * int(chain.get_extra_fields()["num_steps"].sum())

    return run


ENGINES: dict[str, Callable[[str], Sampler]] = {"here": here, "blackjax": blackjax, "nutpie": nutpie, "numpyro": numpyro}


def check_same_density(name: str) -> None:
    """The engine's target and the JAX function differ by a constant, and by nothing else."""
    density, dim = density_jax(name)
    target = target_here(name)
    points = np.random.default_rng(1).normal(size=(4, dim)) * 0.5
    gap = target.log_density_many(points) - np.array([float(density(point)) for point in points])
    if np.ptp(gap) > 1e-8 * max(1.0, np.abs(gap).max()):
        raise SystemExit(f"{name}: the densities differ by {gap}")


def cell(engine_name: str, name: str, repeats: int) -> None:
    """Run one cell and print its figures as JSON."""
    sampler = ENGINES[engine_name](name)
    sampler(0)
    finished = time.time()
    memory = peak_memory()
    seconds = []
    for seed in range(1, repeats + 1):
        begin = time.perf_counter()
        draws, gradients = sampler(seed)
        seconds.append(time.perf_counter() - begin)
    from engine.diagnostics import summarise

    ess = float(np.nanmin(summarise(draws[None]).ess_bulk))
    print(
        json.dumps(
            {"finished": finished, "memory": memory, "warm": min(seconds), "gradients": gradients / seconds[-1], "ess": ess / seconds[-1]}
        )
    )


def run_cell(engine_name: str, name: str, repeats: int) -> dict[str, float] | str:
    """Figures of a cell run in a fresh process, or the reason why there are none."""
    if engine_name != "here" and find_spec(engine_name) is None:
        return "not installed"
    begin = time.time()
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.nuts", "--cell", engine_name, name, "--repeats", str(repeats)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}"
    figures = json.loads(done.stdout.strip().splitlines()[-1])
    figures["cold"] = figures.pop("finished") - begin
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", nargs="+", choices=GOALS, default=list(GOALS))
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cell", nargs=2, metavar=("ENGINE", "TARGET"), help="one cell in this process, as JSON")
    options = parser.parse_args()
    if options.cell:
        cell(*options.cell, options.repeats)
        return
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; figures of a busy machine are not worth much")
    columns = ("warm ms", "× here", "cold s", "MiB", "gradients/s", "min ESS/s")
    for name in options.targets:
        if find_spec("jax"):
            check_same_density(name)
        if "here" in options.engines:
            run_cell("here", name, 1)  # fills the kernel cache
        print(f"\n{name:12s}" + "".join(f"{column:>14s}" for column in columns))
        rows: dict[str, dict[str, float]] = {}
        for engine_name in options.engines:
            figures = run_cell(engine_name, name, options.repeats)
            if isinstance(figures, str):
                print(f"{engine_name:12s}  {figures}")
                continue
            rows[engine_name] = figures
            ratio = figures["warm"] / rows["here"]["warm"] if "here" in rows else float("nan")
            ess = f"{figures['ess']:14,.0f}" if name in IDENTIFIED else f"{'-':>14s}"
            times = f"{1e3 * figures['warm']:14.1f}{ratio:14.1f}{figures['cold']:14.2f}"
            print(f"{engine_name:12s}{times}{figures['memory']:14.0f}{figures['gradients']:14,.0f}{ess}")
        peers = [rows[peer] for peer in PEERS if peer in rows]
        if peers and "here" in rows:
            fastest = min(peer["warm"] for peer in peers) / rows["here"]["warm"]
            cold = rows["here"]["cold"] / min(peer["cold"] for peer in peers)
            memory = rows["here"]["memory"] / min(peer["memory"] for peer in peers)
            print(
                f"  against the best peer: {fastest:.1f}× faster (goal {GOALS[name]}×), {cold:.2f} of its cold time "
                f"(goal 0.33), {memory:.2f} of its memory (goal 0.50)"
            )


if __name__ == "__main__":
    main()
