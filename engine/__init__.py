"""The numerics of Posterior Lab: targets, samplers, networks, diagnostics. No user interface, no network, no files but
the kernel cache.

The cache directory of the compiled kernels is set here, before any kernel is imported: numba does not notice that a
function called from
another file has changed, so the directory is keyed by a hash of all engine sources, the versions and the CPU.
"""

import os as _os

from engine._cache import prepare as _prepare

# Before scipy loads its BLAS: on small matrices more threads only wait for each other (a climb to a mode took 1.5 s
# instead of 0.02 s on a busy machine). Chains run in threads of their own.
_os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

CACHE_DIR = _prepare()

from engine.jumps import sample_architecture  # noqa: E402
from engine.networks import Network, network, sample_network  # noqa: E402
from engine.recording import Recording  # noqa: E402
from engine.samplers import record, replay, sample  # noqa: E402
from engine.spec import Spec, SpecError  # noqa: E402
from engine.targets.target import Target, TargetError, target  # noqa: E402

__all__ = [
    "CACHE_DIR",
    "Network",
    "Recording",
    "Spec",
    "SpecError",
    "Target",
    "TargetError",
    "network",
    "record",
    "replay",
    "sample",
    "sample_architecture",
    "sample_network",
    "target",
]
