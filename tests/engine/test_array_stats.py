"""The functions of arviz-stats on arrays, alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

ALONE = """
import sys
from engine.array_stats import array_stats
array_stats = array_stats()
print([name for name in ("arviz_stats", "arviz_stats.base", "xarray", "pandas") if name in sys.modules])
import arviz_stats
print(arviz_stats.base.array_stats is array_stats, callable(arviz_stats.summary), "xarray" in sys.modules)
"""


def test_they_load_nothing_for_labelled_arrays_and_leave_the_package_whole():
    said = subprocess.run([sys.executable, "-c", ALONE], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["[]", "True True True"]


def test_they_are_those_of_a_package_that_is_there():
    order = "import arviz_stats.base\nfrom engine.array_stats import array_stats\nassert array_stats() is arviz_stats.base.array_stats"
    subprocess.run([sys.executable, "-c", order], cwd=ROOT, check=True)


AT_ONCE = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from engine.array_stats import array_stats
sys.setswitchinterval(1e-6)
begin = Barrier(8)
with ThreadPoolExecutor(8) as pool:
    found = list(pool.map(lambda _: (begin.wait(), array_stats())[1], range(8)))
print(len(set(map(id, found))), "arviz_stats" in sys.modules)
"""


def test_jobs_that_ask_at_once_all_get_them():
    said = subprocess.run([sys.executable, "-c", AT_ONCE], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert said.split() == ["1", "False"]
