"""What fills the kernel cache, and that nothing is compiled once it is full."""

from __future__ import annotations

import subprocess
import sys

from engine import _cache, warm
from tests.server import ROOT

COUNT = """
from numba.core import ccallback, event
compiled = []
class Listener(event.Listener):
    def on_start(self, happened): compiled.append(happened.data["dispatcher"].py_func.__qualname__)
    def on_end(self, happened): pass
event.register("numba:compile", Listener())
whole = ccallback.CFunc._compile_uncached
ccallback.CFunc._compile_uncached = lambda self: compiled.append(self._pyfunc.__qualname__) or whole(self)
from engine import warm
warm.warm()
print(compiled)
"""


def test_a_full_cache_compiles_nothing():
    if not _cache.is_full():
        warm.fill(2)
    done = subprocess.run([sys.executable, "-c", COUNT], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_task_does_nothing_before_it_is_called():
    names = [name for name, _ in warm.tasks()]
    assert len(names) == len(set(names))
    assert names.index("posterior mean") < names.index("hmc") < names.index("jumps, nuts")
