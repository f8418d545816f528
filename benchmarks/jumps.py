"""Speed of reversible jump on XOR: jumps per second, with and without kept outputs, and a published experiment whole.

    python -m benchmarks.jumps

One core for the jumps, all cores for the experiment. Each figure is the median of several repeats, after warm-up.
"""

from __future__ import annotations

import os
import platform
import time
from typing import Any

import llvmlite.binding
import numpy as np

import datasets
import engine
from benchmarks.samplers import median_seconds, versions

GOALS = {"kept": 300_000.0, "seconds": 20.0}
PUBLISHED = 3600.0  # seconds at most on 16 cores: Berezowski 2021, section 6


def jumps_per_second(x: Any, y: Any, jumps: int, **settings: Any) -> float:
    """Plain births and deaths at 7 to 9 units, nothing else."""
    network = engine.network(2, 2, width=(7, 9), temper=0.5)

    def run() -> None:
        engine.sample_architecture(
            network, x, y, chains=1, draws=jumps // 1000, jumps=1000, within="none", start_width=8, seed=1, **settings
        )

    return jumps / median_seconds(run, 5)


def experiment(x: Any, y: Any, **settings: Any) -> engine.jumps.ArchitectureRecording:
    """16 chains from 1 to 16 units, 1,000 sweeps of one jump and one NUTS move each."""
    network = engine.network(2, 2, width=(1, 16), temper=0.5)
    return engine.sample_architecture(network, x, y, chains=16, draws=1000, start_width=range(1, 17), seed=1, **settings)


def main() -> None:
    print(f"Python {platform.python_version()}, {versions('numba', 'numpy')}, {llvmlite.binding.get_host_cpu_name()}")
    x, y, _ = datasets.xor(seed=1)
    kept, scratch = jumps_per_second(x, y, 500_000), jumps_per_second(x, y, 100_000, keep_outputs=False)
    print(f"XOR, 200 points, k = 8: jumps/s            {kept:12,.0f}   goal {GOALS['kept']:,.0f}")
    print(f"  every likelihood from scratch            {scratch:12,.0f}   ratio {kept / scratch:.1f}")
    experiment(x, y)
    for jump in ("plain", "as_coded"):
        begin, worked = time.perf_counter(), time.process_time()
        recording = experiment(x, y, jump=jump)
        seconds, worked = time.perf_counter() - begin, time.process_time() - worked
        counts = np.bincount(recording.width.ravel(), minlength=17)
        shares = ", ".join(f"{move} {share:.0%}" for move, share in recording.jump_accept.items())
        print(f"XOR, 16 chains x 1,000 sweeps, {jump:10s}{seconds:11.1f} s goal {GOALS['seconds']:.0f} s on 2 cores")
        print(f"  {worked:.1f} s of processor time; {os.cpu_count()} cores")
        print(f"  published up to {PUBLISHED:,.0f} s on 16 cores, {PUBLISHED / seconds:,.0f} times this")
        print(f"  most frequent k = {counts.argmax()}; accepted: {shares}")


if __name__ == "__main__":
    main()
