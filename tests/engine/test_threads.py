"""How many threads a product of matrices has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TELL = """
import json, {first}, engine, numpy, threadpoolctl
print(json.dumps([pool["num_threads"] for pool in threadpoolctl.threadpool_info()]))
"""


@pytest.mark.parametrize("first", ["numpy", "engine"])
@pytest.mark.parametrize(("wanted", "threads"), [(None, 1), ("2", 2)])
def test_products_of_matrices_have_as_many_threads_whoever_loads_numpy(first: str, wanted: str | None, threads: int):
    """Else the last bits of a page, for which Streamlit loads it, are not those of a script."""
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    if wanted is not None:
        environment["OPENBLAS_NUM_THREADS"] = wanted
    call = [sys.executable, "-c", TELL.format(first=first)]
    done = subprocess.run(call, capture_output=True, text=True, env=environment, cwd=ROOT, check=True)
    assert set(json.loads(done.stdout)) == {min(threads, os.cpu_count() or 1)}
