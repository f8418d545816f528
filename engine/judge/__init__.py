"""One place that judges: kernels, runs and numbers, for pages, tests and users alike.

`engine.judge(recording)` judges what a recording holds; its parts are `kernel_check` (see `engine.judge.trial`), the
audits of decisions (`engine.judge.audit`), the checks of runs (`engine.judge.run`) and of numbers
(`engine.judge.numbers`), and `engine.calibrate` for a model of one's own.
"""

import sys as _sys
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from engine.judge.calibrate import Calibration, calibrate
    from engine.judge.check import KINDS, Bars, Check, Curve, Judgement, Kind, Verdict, overall, unknown, worst
    from engine.judge.growing import JumpKernel
    from engine.judge.looks import FIRST, MORE, SECOND, two_looks
    from engine.judge.models import Known, Simulated
    from engine.judge.nested import NestedKernel
    from engine.judge.network_models import OfNetwork, joint_model
    from engine.judge.numbers import (
        ALONE,
        MAX_RHAT,
        MIN_ESS,
        Z_LIMIT,
        Average,
        acceptance_check,
        averages_check,
        family,
        gradient_check,
        mean_check,
        reversibility_check,
        truth_check,
    )
    from engine.judge.recordings import chains_checks, judge, kernel_of, numbers_check, run_checks
    from engine.judge.run import (
        agreement_check,
        depth_check,
        dispersed_starts,
        divergence_check,
        energy_check,
        modes_check,
        sampled_apart,
        trips_check,
    )
    from engine.judge.selection import SelectionKernel
    from engine.judge.sweeps import SweepKernel
    from engine.judge.transitions import TransitionKernel, books
    from engine.judge.trial import Kernel, kernel_check, proofs
    from engine.judge.walk import WalkKernel

__all__ = [
    "ALONE",
    "FIRST",
    "KINDS",
    "MAX_RHAT",
    "MIN_ESS",
    "MORE",
    "SECOND",
    "Z_LIMIT",
    "Average",
    "Bars",
    "Calibration",
    "Check",
    "Curve",
    "Judgement",
    "JumpKernel",
    "Kernel",
    "Kind",
    "Known",
    "NestedKernel",
    "OfNetwork",
    "SelectionKernel",
    "Simulated",
    "SweepKernel",
    "TransitionKernel",
    "Verdict",
    "WalkKernel",
    "acceptance_check",
    "agreement_check",
    "averages_check",
    "books",
    "calibrate",
    "chains_checks",
    "depth_check",
    "dispersed_starts",
    "divergence_check",
    "energy_check",
    "family",
    "gradient_check",
    "joint_model",
    "judge",
    "kernel_check",
    "kernel_of",
    "mean_check",
    "modes_check",
    "numbers_check",
    "overall",
    "proofs",
    "reversibility_check",
    "run_checks",
    "sampled_apart",
    "trips_check",
    "truth_check",
    "two_looks",
    "unknown",
    "worst",
]

# Where each name lives, imported when it is first asked for: who judges a chain in the plane need not wait for networks.
_HOMES = {
    "calibrate": ("Calibration", "calibrate"),
    "check": ("KINDS", "Bars", "Check", "Curve", "Judgement", "Kind", "Verdict", "overall", "unknown", "worst"),
    "growing": ("JumpKernel",),
    "looks": ("FIRST", "MORE", "SECOND", "two_looks"),
    "models": ("Known", "Simulated"),
    "nested": ("NestedKernel",),
    "network_models": ("OfNetwork", "joint_model"),
    "numbers": (
        "ALONE",
        "MAX_RHAT",
        "MIN_ESS",
        "Z_LIMIT",
        "Average",
        "acceptance_check",
        "averages_check",
        "family",
        "gradient_check",
        "mean_check",
        "reversibility_check",
        "truth_check",
    ),
    "recordings": ("chains_checks", "judge", "kernel_of", "numbers_check", "run_checks"),
    "run": (
        "agreement_check",
        "depth_check",
        "dispersed_starts",
        "divergence_check",
        "energy_check",
        "modes_check",
        "sampled_apart",
        "trips_check",
    ),
    "selection": ("SelectionKernel",),
    "sweeps": ("SweepKernel",),
    "transitions": ("TransitionKernel", "books"),
    "trial": ("Kernel", "kernel_check", "proofs"),
    "walk": ("WalkKernel",),
}
_WHERE = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted(_WHERE)


def __getattr__(name: str) -> _Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


class _Judge(_ModuleType):
    """The room is called what it does: `engine.judge(recording)`, beside `engine.judge.kernel_check` and the rest."""

    def __call__(self, recording: _Any, **settings: _Any) -> _Any:
        return __getattr__("judge")(recording, **settings)


_sys.modules[__name__].__class__ = _Judge
