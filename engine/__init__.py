"""The numerics of Posterior Lab: targets, samplers, networks, diagnostics. No user interface, no network, no files but
the kernel cache.

Nothing heavy is loaded by it: a server listens before its kernels, and numba with them, are there.
"""

import os as _os
import sys as _sys
from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

# Before BLAS is loaded: on small matrices more threads only wait for each other (a climb to a mode took 1.5 s instead
# of 0.02 s on a busy machine), and the last bits of a product hang on their number. Chains run in threads of their own.
_threads = _os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
if "numpy" in _sys.modules and _threads.isdecimal():  # Streamlit loads numpy first, whose BLAS then has read another number
    _import_module("threadpoolctl").threadpool_limits(int(_threads), user_api="blas")  # scikit-learn brings it

if _TYPE_CHECKING:
    from engine import judge
    from engine._cache import CACHE_DIR
    from engine.judge.calibrate import calibrate
    from engine.jumps import sample_architecture
    from engine.networks import Network, network, sample_network
    from engine.recording import Recording
    from engine.samplers import record, replay, sample
    from engine.spec import Spec, SpecError
    from engine.targets.target import Target, TargetError, target

__all__ = [
    "CACHE_DIR",
    "Network",
    "Recording",
    "Spec",
    "SpecError",
    "Target",
    "TargetError",
    "calibrate",
    "judge",
    "network",
    "record",
    "replay",
    "sample",
    "sample_architecture",
    "sample_network",
    "target",
]

# Where each name lives. It is imported when it is first asked for: a page of two dimensions need not wait for networks.
_HOMES = {
    "CACHE_DIR": "_cache",
    "Network": "networks",
    "Recording": "recording",
    "Spec": "spec",
    "SpecError": "spec",
    "Target": "targets.target",
    "TargetError": "targets.target",
    "calibrate": "judge.calibrate",
    "network": "networks",
    "record": "samplers",
    "replay": "samplers",
    "sample": "samplers",
    "sample_architecture": "jumps",
    "sample_network": "networks",
    "target": "targets.target",
}


def __getattr__(name: str) -> _Any:
    if name == "judge":  # a room that can be called
        return _import_module(f"{__name__}.judge")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
