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
from lessons.reproduce.experiment import FULL, QUICK, WORDS
from lessons.reproduce.registry import BY_ID, EXPERIMENTS, missing


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog=WORDS.phrase("command.program"), description=WORDS.phrase("command.about"))
    parser.add_argument("ids", nargs="*", metavar="ID")
    parser.add_argument("--list", action="store_true", help=WORDS.phrase("command.list"))
    parser.add_argument("--all", action="store_true", help=WORDS.phrase("command.all"))
    parser.add_argument("--cores", type=int, default=2, help=WORDS.phrase("command.cores"))
    parser.add_argument("--dask", metavar="ADDRESS", help=WORDS.phrase("command.dask"))
    parser.add_argument("--quick", action="store_true", help=WORDS.phrase("command.quick"))
    parser.add_argument("--parts", type=int, help=WORDS.phrase("command.parts"))
    parser.add_argument("--fresh", action="store_true", help=WORDS.phrase("command.fresh"))
    asked = parser.parse_args(arguments)
    if unknown := [id for id in asked.ids if id not in BY_ID]:
        parser.error(WORDS.phrase("command.unknown", ids=", ".join(unknown)))
    if asked.cores < 1:
        parser.error(WORDS.phrase("command.least_cores"))
    if asked.parts is not None and asked.parts < 1:
        parser.error(WORDS.phrase("command.least_parts"))
    if asked.list:
        for e in EXPERIMENTS:
            quick, full = e.seconds
            print(WORDS.phrase("command.listed", id=e.id, numbers=len(e.cells), quick=quick, full=full, title=e.title))
        return 0
    chosen = [e for e in EXPERIMENTS if asked.all or e.id in asked.ids]
    if not chosen:
        parser.error(WORDS.phrase("command.none"))
    cluster = None
    if asked.dask:
        if wrong := check(asked.dask):
            print(*wrong, sep="\n", file=sys.stderr)
            return 1
        cluster = There(Cluster(asked.dask))
    for e in chosen:
        if lacking := missing(e):
            print(WORDS.phrase("command.lacking", id=e.id, names=", ".join(lacking)), flush=True)
        elif asked.fresh:
            store.forget(e.id)
    running.run([e for e in chosen if not missing(e)], QUICK if asked.quick else FULL, asked.cores, cluster, asked.parts)
    report.write()
    figure.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
