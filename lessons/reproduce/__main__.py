"""Run experiments of five papers again: python -m lessons.reproduce --list | --all | ID... [--cores N] [--quick] [--parts N]
[--fresh] [--dask tcp://HOST:PORT]

A killed run goes on where it was: each finished part is on disk. Results are written to lessons/reproduce/results,
docs/REPRODUCED.md and docs/reproduced.svg from them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from app.kit.cluster import Cluster, check
from app.kit.elsewhere import There
from lessons.reproduce import figure, report, running, store
from lessons.reproduce.experiment import FULL, QUICK
from lessons.reproduce.registry import BY_ID, EXPERIMENTS, missing


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m lessons.reproduce", description=__doc__.splitlines()[0])
    parser.add_argument("ids", nargs="*", metavar="ID")
    parser.add_argument("--list", action="store_true", help="name the experiments")
    parser.add_argument("--all", action="store_true", help="run all of them")
    parser.add_argument("--cores", type=int, default=2, help="processes; 2 by default")
    parser.add_argument("--dask", metavar="ADDRESS", help="a cluster's scheduler, tcp://host:port, whose workers compute the parts")
    parser.add_argument("--quick", action="store_true", help="the quick form")
    parser.add_argument("--parts", type=int, help="the first N parts of each only; the rest may follow by another command")
    parser.add_argument("--fresh", action="store_true", help="forget what was computed before")
    asked = parser.parse_args(arguments)
    if unknown := [id for id in asked.ids if id not in BY_ID]:
        parser.error(f"no experiment is called {', '.join(unknown)}; --list names them")
    if asked.cores < 1:
        parser.error("--cores must be at least 1")
    if asked.parts is not None and asked.parts < 1:
        parser.error("--parts must be at least 1")
    if asked.list:
        for e in EXPERIMENTS:
            print(f"{e.id:26} {len(e.cells):3} numbers  {e.seconds[0]:5} s quick {e.seconds[1]:6} s full  {e.title}")
        return 0
    chosen = [e for e in EXPERIMENTS if asked.all or e.id in asked.ids]
    if not chosen:
        parser.error("name experiments, or --all")
    cluster = None
    if asked.dask:
        if wrong := check(asked.dask):
            print(*wrong, sep="\n", file=sys.stderr)
            return 1
        cluster = There(Cluster(asked.dask))
    for e in chosen:
        if lacking := missing(e):
            print(f"{e.id}: not run, data: {', '.join(lacking)}", flush=True)
        elif asked.fresh:
            store.forget(e.id)
    running.run([e for e in chosen if not missing(e)], QUICK if asked.quick else FULL, asked.cores, cluster, asked.parts)
    report.write()
    figure.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
