"""Which jumps land: plain, palindromic, tempered, annealed and delayed jumps beside each other.

    python -m benchmarks.landing                     all, about ten minutes
    python -m benchmarks.landing --only xor noisy    round trips of k between 4 and 12 on XOR and noisy XOR, and the
                                                     error of p(k | D) against the evidence
    python -m benchmarks.landing --only digits       effective draws of k on ten classes of digits (50 bundled ones
                                                     of each, 20 principal components, 20-k-10)

On XOR the posterior of k piles up at 16 under a uniform prior, and no chain of any method comes down to 4: a prior that
falls with every unit by `--ratio` lets both ends be seen; `--ratio 1` is the uniform prior. Even so 3 units hardly fit.

A run is one chain in one thread; seconds are of processor time, so that other work on the machine does not count. Every
method gets the jumps in a sweep that suit it: with few it waits for the moves within, with many it only jumps. Goals:
one method with 3 times the round trips of plain jumps on noisy XOR; 5 times the effective draws of k of the palindromic
scheme on digits.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import engine
from benchmarks.samplers import versions
from datasets.images import digit_components, digits
from datasets.xor import NOISY_VARIANCE, VARIANCE, xor
from engine.diagnostics import ess_mean
from engine.evidence import architecture_evidence
from engine.jumps import start_architecture

HIGH = 12  # a round trip goes from k <= low to k >= HIGH and back
CHUNK = 50  # sweeps between looks at the clock

METHODS: dict[str, dict[str, Any]] = {
    "plain, 1 jump a sweep": {},
    "plain, 10": {"jumps": 10},
    "plain, 100": {"jumps": 100},
    "plain, 1000": {"jumps": 1000},
    "palindromic": {"jump": "palindromic"},
    "tempered": {"jump": "tempered", "bridges": 1, "tempering": 0.3},
    "annealed, T = 4": {"jump": "annealed", "bridges": 4, "jump_steps": 3},
    "annealed, T = 4, 10": {"jump": "annealed", "bridges": 4, "jump_steps": 3, "jumps": 10},
    "annealed, T = 16": {"jump": "annealed", "bridges": 16, "jump_steps": 3},
    "annealed, T = 64": {"jump": "annealed", "bridges": 64, "jump_steps": 3},
    "delayed, narrow, 100": {"jump": "delayed", "jumps": 100},
    "delayed, informed, 10": {"jump": "delayed", "second": "informed", "jumps": 10},
    "delayed, informed, 100": {"jump": "delayed", "second": "informed", "jumps": 100},
}


def timed(network: Any, x: Any, y: Any, seconds: float, **settings: Any) -> tuple[Any, float]:
    """A recording of as many sweeps as fit into so many seconds of processor time, warm-up not counted; and those."""
    most = 10**9 // (8 * engine.jumps.recording.architecture_of(network, network.width[1], 1).dim)
    run = start_architecture(network, x, y, **{"chains": 1, "draws": most, "warmup": 300, "seed": 1, **settings})
    run.advance(run.warmup)
    begin = time.process_time()
    while not run.done and time.process_time() - begin < seconds:
        run.advance(CHUNK)
    return run.recording(), time.process_time() - begin


def round_trips(widths: Any, low: int) -> float:
    """Passages between k <= low and k >= HIGH, two of which are a round trip."""
    ends = widths[(widths <= low) | (widths >= HIGH)] >= HIGH
    return float(np.count_nonzero(ends[1:] != ends[:-1])) / 2


def report(name: str, recording: Any, seconds: float, figures: str) -> None:
    births, deaths = (recording.jump_accept.get(f"neuron {move}", np.nan) for move in ("birth", "death"))
    sweeps = recording.width.size
    print(f"  {name:24s} accepted {births:4.0%} {deaths:4.0%}  {sweeps / seconds:7.1f} sweeps/s  {figures}", flush=True)


def landing_on_xor(variance: float, seconds: float, ratio: float, low: int) -> None:
    x, y, _ = xor(variance=variance, seed=1)
    network = engine.network(2, 2, width=(1, 16), temper=0.5)
    prior = ("geometric", ratio) if ratio < 1 else "uniform"
    exact = architecture_evidence(network, x, y).probabilities(np.log(ratio) * np.arange(16)).probability
    print("  p(k | D) from the evidence: " + " ".join(f"{p:.3f}" for p in exact))
    for name, settings in METHODS.items():
        recording, spent = timed(network, x, y, seconds, start_width=8, width_prior=prior, **settings)
        widths = recording.width[0]
        distance = 0.5 * np.abs(np.bincount(widths, minlength=17)[1:] / widths.size - exact).sum()
        report(
            name,
            recording,
            spent,
            f"{round_trips(widths, low) / spent:7.3f} round trips/s  "
            f"{ess_mean(widths[None].astype(float)) / spent:8.2f} effective k/s  "
            f"distance from p(k | D) {distance:.3f}, x root of seconds {distance * spent**0.5:.2f}",
        )


def landing_on_digits(seconds: float) -> None:
    x, y = digit_components(digits(), 10, 50, 20)
    network = engine.network(20, 10, width=(1, 128), temper=0.5)
    for name, settings in METHODS.items():
        recording, spent = timed(network, x, y, seconds, start_width=64, **settings)
        widths = recording.width[0].astype(float)
        report(name, recording, spent, f"{ess_mean(widths[None]) / spent:9.3f} effective k/s  k = {widths.mean():.1f} ± {widths.std():.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("xor", "noisy", "digits"), nargs="*", default=["xor", "noisy", "digits"])
    parser.add_argument("--ratio", type=float, default=0.4, help="prior p(k + 1) / p(k) on XOR, above 0 to 1")
    parser.add_argument("--low", type=int, default=4, help="the low end of a round trip on XOR; 3 units hardly fit it")
    parser.add_argument("--seconds", type=float, default=15.0, help="processor time of each run")
    options = parser.parse_args()
    print(versions("numba", "numpy"))
    for what in options.only:
        print(what)
        if what == "digits":
            landing_on_digits(options.seconds)
        else:
            landing_on_xor(VARIANCE if what == "xor" else NOISY_VARIANCE, options.seconds, options.ratio, options.low)


if __name__ == "__main__":
    main()
