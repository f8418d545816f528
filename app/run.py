"""Make the run of a link again and write it to a file: `posterior-lab run LINK --out run.nc`.

The ending of the file says its kind: .nc (NetCDF, for ArviZ), .csv.zip, .parquet.zip, .ipynb, .py or .bib. What was run,
its hash and where it went stand in one line of JSON. Exit status 2 if the link is not valid or the file cannot be made.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from app import catalogue
from app.kit.formats import FORMATS, made
from app.kit.taken import Taken
from app.verdict import NOT_VALID, PASSED, LinkError, opened
from engine.spec import Spec, SpecError


def again(slug: str, spec: Spec) -> Taken:
    """The run that the page `slug` shows for `spec`."""
    folders = {entry.slug: entry.package for entry in catalogue.LESSONS}
    return Taken.of(importlib.import_module(f"{folders[slug]}.page").LESSON, spec)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the file."""
    endings = ", ".join(f".{kind.ending}" for kind in FORMATS.values())
    parser = argparse.ArgumentParser(prog="posterior-lab run", description=__doc__.splitlines()[0])
    parser.add_argument("link", metavar="LINK", help="path and query, as in the address bar")
    parser.add_argument("--out", required=True, type=Path, metavar="FILE", help=f"ends in {endings}")
    asked = parser.parse_args(arguments)
    name = next((name for name, kind in FORMATS.items() if asked.out.name.endswith(f".{kind.ending}")), None)
    if name is None:
        parser.error(f"{asked.out.name}: the ending says the kind of file; there are {endings}")
    begun = time.perf_counter()
    try:
        lesson, spec = opened(asked.link)
        taken = Taken.of(lesson, spec)
        content = made(taken, name)
        asked.out.write_bytes(content)
    except (LinkError, SpecError, OSError) as error:
        print(json.dumps({"link": asked.link, "error": str(error)}, ensure_ascii=False))
        return NOT_VALID
    seconds = round(time.perf_counter() - begun, 2)
    told = {"link": taken.link, "file": str(asked.out), "bytes": len(content), "sha256": taken.digest, "seconds": seconds}
    print(json.dumps(told, ensure_ascii=False))
    return PASSED


if __name__ == "__main__":
    sys.exit(main())
