"""How long after chains were given their first picture is there: 200 quantities, 4 chains, 2,000 draws of each.

    python -m benchmarks.own_chain [--quantities 200]

From the files' bytes to the blob of the stage, as the page does it: the files are held, read and judged, and the scene is
made. Every try has other draws, for what was made once is kept. Told is the least of `TRIES`, for other work may share the
machine, with the seconds of the processor beside it. Goal: 2 s.
"""

from __future__ import annotations

import argparse
import io
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.kit import files
from benchmarks.samplers import versions
from datasets import chains
from lessons.families import chain_files
from lessons.own_chain import analysis
from lessons.own_chain.scenes import scene
from lessons.own_chain.spec import OwnChain

CHAINS, DRAWS = 4, 2000
TRIES = 3
GOAL = 2.0  # s

Files = dict[str, bytes]


def npz(x: NDArray[np.float64]) -> Files:
    """One array (chains, draws, quantities)."""
    held = io.BytesIO()
    np.savez(held, theta=x)
    return {"run.npz": held.getvalue()}


def netcdf(x: NDArray[np.float64]) -> Files:
    """As ArviZ writes it."""
    from arviz_base import from_dict

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.nc"
        from_dict({"posterior": {"theta": x}}).to_netcdf(path, engine="h5netcdf")
        return {path.name: path.read_bytes()}


def cmdstan(x: NDArray[np.float64]) -> Files:
    """A file a chain, six digits a number."""
    found = {}
    for c, chain in enumerate(x):
        text = io.StringIO()
        text.write(",".join(["lp__", *(f"theta.{j + 1}" for j in range(chain.shape[1]))]) + "\n")
        np.savetxt(text, np.column_stack([chain[:, 0], chain]), fmt="%.6g", delimiter=",")
        found[f"run-{c + 1}.csv"] = text.getvalue().encode()
    return found


def first_picture(given: Files) -> tuple[float, float, float]:
    """Seconds until the files are read, until the picture is there, and of the processor."""
    begin, spent = time.perf_counter(), time.process_time()
    spec = OwnChain(source="file", file=files.hold(*chains.pack(given)))
    chain_files.read(spec.file)
    read = time.perf_counter() - begin
    analysis.look(spec)
    scene(spec)
    return read, time.perf_counter() - begin, time.process_time() - spent


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quantities", type=int, default=200)
    q = parser.parse_args().quantities
    print(f"Python {platform.python_version()}, {versions('numpy', 'arviz-stats', 'h5netcdf')}")
    print(f"\n{q} quantities, {CHAINS} chains, {DRAWS:,} draws of each; seconds, the least of {TRIES} tries")
    print(f"{'':10} {'MB':>6} {'read':>6} {'picture':>8} {'processor':>10}")
    kinds: dict[str, Callable[[NDArray[np.float64]], Files]] = {"NPZ": npz, "NetCDF": netcdf, "CmdStan": cmdstan}
    for name, written in kinds.items():
        first_picture(written(np.random.default_rng(0).normal(size=(CHAINS, 50, 3))))  # modules are loaded before the clock runs
        tries = []
        for seed in range(TRIES):
            given = written(np.random.default_rng([seed, q]).normal(size=(CHAINS, DRAWS, q)))
            tries.append(first_picture(given))
        read, picture, processor = (min(column) for column in zip(*tries, strict=True))
        size = sum(map(len, given.values())) / 1e6
        told = "" if picture <= GOAL else f"   more than {GOAL:g} s"
        print(f"{name:10} {size:6.1f} {read:6.2f} {picture:8.2f} {processor:10.2f}{told}")


if __name__ == "__main__":
    main()
