"""The functions of arviz-stats on arrays, without what the packages around them load for labelled ones: xarray and pandas
would be half a second of a first picture.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
import types
from functools import cache
from typing import Any

PACKAGES = ("arviz_stats", "arviz_stats.base")
MODULE = "arviz_stats.base.array"  # it needs numpy and scipy, of which it loads what takes half a second

_lock = threading.Lock()  # two that ask at once would find each other's empty packages


@cache
def array_stats() -> Any:
    """arviz-stats' functions on arrays. The packages are left for whoever imports them next."""
    with _lock:
        return _alone()


def _alone() -> Any:
    shells = {name: types.ModuleType(name) for name in PACKAGES if name not in sys.modules}
    for name, shell in shells.items():
        found = importlib.util.find_spec(name)
        if found is None:
            raise ModuleNotFoundError(f"{name} is not installed", name=name)
        shell.__path__ = list(found.submodule_search_locations or ())
        sys.modules[name] = shell
    try:
        return importlib.import_module(MODULE).array_stats
    finally:
        for name in shells:
            sys.modules.pop(name, None)
