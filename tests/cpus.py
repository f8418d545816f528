"""Do the tests hold for a reason? `python -m tests.cpus`, the body of `make test-cpus`.

Engine, kit and lessons on two other kinds of CPU (numba compiles for them; the last bits of a chain differ, so every
chain is another one), then with ten shifts of all seeds. Everything must be green: a verdict's test that hangs on the
luck of one chain is red here. Tests of one recorded picture (marked `one_seed`) are left out where seeds are shifted.
"""

from __future__ import annotations

import os
import subprocess
import sys

CPUS = ("haswell", "x86-64")
SHIFTS = range(1, 11)
ROOMS = ("tests/engine", "tests/exactness", "tests/kit", "tests/lessons")
PYTEST = [sys.executable, "-m", "pytest", "-q", "-n", "auto"]


def main() -> int:
    """Run all; the number of runs that failed."""
    runs = [(f"CPU {name}", {"NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": ""}, "not long") for name in CPUS]
    one = "not long and not one_seed"
    runs += [(f"seeds shifted by {k}", {"POSTERIOR_LAB_SEED_SHIFT": str(k)}, one) for k in SHIFTS]
    failed = []
    for name, variables, marks in runs:
        print(f"\n== {name}", flush=True)
        if subprocess.call([*PYTEST, "-m", marks, *ROOMS], env={**os.environ, **variables}):
            failed.append(name)
    print(f"\n{len(runs) - len(failed)} of {len(runs)} runs green" + (f"; not: {', '.join(failed)}" if failed else ""))
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
