"""Gradients of the variational networks at the papers' sizes, against PyTorch's in double precision.

    python -m benchmarks.gradients                        exits with 1 where one is off by more than 1e-5
    python -m benchmarks.gradients --peer-python PATH     another interpreter that has torch

The engine makes one pass in single precision; PyTorch gets the same images, weights, normal numbers and signs in a file,
and differentiates the same log likelihood. Errors are in units of each layer's largest slope.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

MOST = 1e-5
IMAGES = 12  # few enough for one pass: more are cut in two
FLOOR = 1e-12  # of a pre-activation's variance, as in `engine.variational.minibatch`
CASES = ("dense weights", "dense local", "dense flipout", "convolution weights", "convolution local", "convolution flipout")


def passed(case: str) -> dict[str, Any]:
    """One pass of the engine: what PyTorch needs to make it again, and the slopes found."""
    import engine  # noqa: F401  sets the kernel cache and the threads of linear algebra
    from engine.variational import STEYN, convolution_pass, fused, start_convolution, start_network

    kind, estimator = case.split()
    rng = np.random.default_rng(7)
    x, y = rng.random((IMAGES, 784), dtype=np.float32), np.arange(IMAGES) % 10
    settings: dict[str, Any] = {"method": "gaussian", "estimator": estimator, "initial_sd": 0.05, "batch": IMAGES, "epochs": 1}
    if kind == "dense":
        run = start_network(x, y, hidden=(400, 600, 600), **settings)
        stages: list[Any] = []
    else:
        run = start_convolution(x.reshape(-1, 28, 28), y, **settings, **STEYN)
        stages = list(run.shape.stages)  # type: ignore[attr-defined]
    run._pass(np.arange(IMAGES), 1)
    q, n, work = run.posterior, run.shape.weights, run._works[0]
    found: dict[str, Any] = {"x": x, "y": y, "stages": np.array([(s.kernel, s.pool) for s in stages]).reshape(-1, 2), "way": estimator}
    parts = {"w": q.weights, "gradient": q.gradient}
    if estimator != "weights":
        parts |= {"v": q.variances, "second": q.variance_gradient}
    for name, flat in parts.items():
        found |= {f"{name}{l}": part for l, part in enumerate(run.shape.split(flat[:n]))}
    outputs = np.zeros_like(work.spread)
    (fused.signs if estimator == "flipout" else fused.normals)(outputs, *fused.key(run.spec.seed, 1, 2))
    if estimator == "local":
        first, second = fused.key(run.spec.seed, 1, 3)
        index = 0
        for l, s in enumerate(stages):
            size = s.places**2 * s.filters
            draws = np.zeros(IMAGES * size, np.float32)  # whole blocks at these sizes, so groups of images leave no gap
            convolution_pass._normals(draws, index, first, second)
            found[f"noise{l}"] = draws.reshape(IMAGES, s.places, s.places, s.filters)
            index += draws.size // fused.BLOCK
    if estimator == "flipout":
        at = 0
        for l, s in enumerate(stages):
            middle, end = at + IMAGES * s.columns, at + IMAGES * (s.columns + s.filters)
            found |= {f"s{l}": work.turns[at:middle].reshape(IMAGES, -1), f"r{l}": work.turns[middle:end].reshape(IMAGES, -1)}  # type: ignore[attr-defined]
            at = end
        found |= {f"s{l}": part for l, part in enumerate(work.by_layer(work.signs), start=len(stages))}
    for l, width in enumerate(run.shape.sizes[1:], start=len(stages)):
        found[f"{'r' if estimator == 'flipout' else 'noise'}{l}"] = outputs[: IMAGES * width].reshape(IMAGES, width)
        outputs = outputs[IMAGES * width :]
    return found


def differentiated(path: Path) -> None:
    """In the peer's interpreter: the largest errors of every layer, printed, of the pass in this file."""
    import torch
    from torch.nn import functional

    given = np.load(path)
    way, stages = str(given["way"]), given["stages"]
    layers = sum(name.startswith("gradient") for name in given.files)

    def tensor(name: str, learns: bool = False) -> Any:
        return torch.tensor(given[name].astype(np.float64), requires_grad=learns)

    w = [tensor(f"w{l}", True) for l in range(layers)]
    v = [tensor(f"v{l}", True) for l in range(layers)] if way != "weights" else []

    def apply(l: int, h: Any, weights: Any) -> Any:
        if l >= len(stages):
            return h @ weights[:-1] + weights[-1]
        side = int(stages[l, 0])
        kernel = weights[:-1].reshape(side, side, h.shape[1], -1).permute(3, 2, 0, 1)
        return functional.conv2d(h, kernel, weights[-1])

    def layer(l: int, h: Any) -> Any:
        if way == "flipout":
            s, r = tensor(f"s{l}"), tensor(f"r{l}")
            return torch.cat([apply(l, h[i : i + 1], w[l] + v[l] * torch.outer(s[i], r[i])) for i in range(len(h))])
        z = apply(l, h, w[l])
        if way == "local":
            noise = tensor(f"noise{l}")
            z = z + torch.sqrt(apply(l, h**2, v[l]) + FLOOR) * (noise.permute(0, 3, 1, 2) if noise.ndim == 4 else noise)
        return z

    h = tensor("x")
    h = h.reshape(-1, 1, 28, 28) if len(stages) else h
    for l in range(layers):
        if len(stages) and l == len(stages):
            h = h.permute(0, 2, 3, 1).flatten(1)
        h = layer(l, h)
        h = functional.max_pool2d(h, int(stages[l, 1])) if l < len(stages) else h
        h = torch.relu(h) if l < layers - 1 else h
    (-functional.cross_entropy(h, torch.tensor(given["y"]), reduction="sum")).backward()
    errors = []
    for name, tensors in (("gradient", w), ("second", v)):
        for l, each in enumerate(tensors):
            true = each.grad.numpy()
            errors.append(float(np.abs(given[f"{name}{l}"] - true).max() / np.abs(true).max()))
    print(torch.__version__, *errors)


def main() -> int:
    """Print the largest error of every case; 1 where one is too large or PyTorch is not there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer-python", default=sys.executable, help="interpreter that has torch")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        differentiated(options.worker)
        return 0
    bad = False
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            path = Path(folder) / "pass.npz"
            np.savez(path, **passed(case))
            command = [options.peer_python, "-m", "benchmarks.gradients", "--worker", str(path)]
            said = subprocess.run(command, capture_output=True, text=True)
            if said.returncode:
                print(f"{case}: PyTorch did not answer: {said.stderr.strip().splitlines()[-1]}")
                return 1
            version, *errors = said.stdout.split()
            worst = max(map(float, errors))
            bad |= worst > MOST
            print(f"{case:20s} PyTorch {version}: {worst:.1e} of a layer's largest slope at most ({MOST:.0e} is allowed)", flush=True)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
