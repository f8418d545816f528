"""Evidence of 2-k-2 networks with k = 1..16 on XOR and noisy XOR, 200 points: time, errors, and p(k | y).

    python -m benchmarks.evidence                  both data sets, about a minute each on 2 cores
    python -m benchmarks.evidence --noise plain

The goal is 60 s on 2 cores at standard errors of log p(y | k) below 0.1. On a machine that does other work, too, only
the processor time says what it costs.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import engine
from datasets.xor import NOISY_VARIANCE, VARIANCE, xor
from engine.evidence import EvidenceSpec, architecture_evidence

GOAL = 60.0
NOISES = {"plain": VARIANCE, "noisy": NOISY_VARIANCE}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--noise", choices=NOISES, nargs="*", default=list(NOISES))
    network = engine.network(2, 2, width=(1, 16), temper=0.5)
    for noise in parser.parse_args().noise:
        x, y, _ = xor(variance=NOISES[noise])
        # Compile or load the kernels first.
        architecture_evidence(engine.network(2, 2, width=1), x, y, EvidenceSpec(particles=16, islands=4, moves=1))
        begin, worked = time.perf_counter(), time.process_time()
        found = architecture_evidence(network, x, y)
        seconds, worked = time.perf_counter() - begin, time.process_time() - worked
        evaluations = sum(each.gradient_evaluations for each in found.evidence if each)
        print(
            f"{noise} XOR: {seconds:.0f} s (goal {GOAL:.0f} on 2 cores), {worked:.0f} s of processor time, "
            f"{evaluations / 1e6:.0f} million gradients, largest error {np.max(found.error):.3f}"
        )
        for row in zip(found.width, found.log_evidence, found.error, *found.probabilities(), strict=True):
            print("  k = {:2d}  log p(y | k) = {:9.3f} ± {:.3f}  p(k | y) = {:.4f} ± {:.4f}".format(*row))


if __name__ == "__main__":
    main()
