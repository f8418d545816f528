"""The numerics of Posterior Lab: targets, samplers, networks, diagnostics. No user interface, no network, no files but the kernel cache.

The cache directory of the compiled kernels is set here, before any kernel is imported: numba does not notice that a function called from
another file has changed, so the directory is keyed by a hash of all engine sources, the versions and the CPU.
"""

from engine._cache import prepare as _prepare

CACHE_DIR = _prepare()

from engine.recording import Recording  # noqa: E402
from engine.samplers import record, replay, sample  # noqa: E402
from engine.spec import Spec, SpecError  # noqa: E402
from engine.targets.target import Target, TargetError, target  # noqa: E402

__all__ = ["CACHE_DIR", "Recording", "Spec", "SpecError", "Target", "TargetError", "record", "replay", "sample", "target"]
