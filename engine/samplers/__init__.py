"""Samplers: each is a frozen dataclass of settings with `prepare`, `transitions` and `advance`; `Run` drives them."""

from engine.samplers.chain import Chain, Trace
from engine.samplers.delayed_rejection import DelayedRejection, DelayedRejectionTransitions
from engine.samplers.gibbs import Gibbs, GibbsTransitions
from engine.samplers.hmc import Hmc, HmcTransitions, Trajectory, trajectory
from engine.samplers.metropolis import Metropolis, MetropolisTransitions
from engine.samplers.nuts import Nuts, NutsTransitions
from engine.samplers.run import METHODS, Run, begin, record, replay, sample, start
from engine.samplers.slice_sampling import SliceSampling, SliceSamplingTransitions

__all__ = [
    "METHODS",
    "Chain",
    "DelayedRejection",
    "DelayedRejectionTransitions",
    "Gibbs",
    "GibbsTransitions",
    "Hmc",
    "HmcTransitions",
    "Metropolis",
    "MetropolisTransitions",
    "Nuts",
    "NutsTransitions",
    "Run",
    "SliceSampling",
    "SliceSamplingTransitions",
    "Trace",
    "Trajectory",
    "begin",
    "record",
    "replay",
    "sample",
    "start",
    "trajectory",
]
