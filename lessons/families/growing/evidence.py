"""The exact probabilities of widths or depths: evidence by annealing, computed once and kept."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from engine import kept
from engine.evidence import ArchitectureEvidence, ArchitectureEvidenceRun, EvidenceSpec
from engine.networks import Network
from engine.ticket import Lock

EVIDENCE = EvidenceSpec(particles=128, islands=8)  # errors of 0.05 to 0.1 nats on XOR
QUICK = EVIDENCE.replace(particles=48, islands=6)  # of 0.3, a quarter of the work: for an answer at once
DEEP_MOVES = 20  # with more than one hidden layer particles move less in a level: fewer would miss what is hard to find


class _Evidence:
    """A run, advanced by whoever needs it."""

    def __init__(self, run: ArchitectureEvidenceRun):
        self.run, self.lock = run, Lock()


def shared_evidence(
    network: Network,
    x: ArrayLike,
    y: ArrayLike,
    *,
    scale_by_width: bool = False,
    spec: EvidenceSpec = EVIDENCE,
    cancel: threading.Event | None = None,
    report: Callable[[int, int], None] | None = None,
) -> ArchitectureEvidence:
    """log p(y | x, architecture) for every width and depth of `network`, as `engine.evidence.architecture_evidence`.

    Of `spec`, the moves are `DEEP_MOVES` at least where there can be more than one hidden layer.

    Computed once in a process and kept; callers who want the same at the same time share the work, and one that stops
    leaves what is done to the next.

    cancel : once set, InterruptedError is raised; report : called with (pieces done, pieces in all)
    Raises SpecError or TargetError as the engine does.
    """
    shared = kept.store.make(
        _key(network, x, y, scale_by_width, spec),
        lambda: _Evidence(ArchitectureEvidenceRun(network, x, y, _deep_enough(network, spec), scale_by_width=scale_by_width)),
    )
    while True:
        if cancel is not None and cancel.is_set():
            raise InterruptedError
        with shared.lock:
            if shared.run.done:
                return shared.run.result()
            shared.run.advance(shared.run.at_once)
        if report is not None:
            report(shared.run.completed, shared.run.total)


def finished_evidence(
    network: Network, x: ArrayLike, y: ArrayLike, *, scale_by_width: bool = False, spec: EvidenceSpec = EVIDENCE
) -> ArchitectureEvidence | None:
    """What `shared_evidence` would give, if it is there already; computes nothing."""
    shared = kept.store.get(_key(network, x, y, scale_by_width, spec))
    return shared.run.result() if shared is not None and shared.run.done else None


def quick_evidence(
    network: Network,
    x: ArrayLike,
    y: ArrayLike,
    *,
    spec: EvidenceSpec = EVIDENCE,
    cancel: threading.Event | None = None,
    report: Callable[[int, int], None] | None = None,
) -> ArchitectureEvidence:
    """What `shared_evidence` of `spec` has found, if it has; else a rougher estimate, whose error says how rough."""
    return finished_evidence(network, x, y, spec=spec) or shared_evidence(network, x, y, spec=QUICK, cancel=cancel, report=report)


def _key(network: Network, x: ArrayLike, y: ArrayLike, scale_by_width: bool, spec: EvidenceSpec) -> tuple:
    return _Evidence, network, np.asarray(x).tobytes(), np.asarray(y).tobytes(), scale_by_width, spec


def _deep_enough(network: Network, spec: EvidenceSpec) -> EvidenceSpec:
    return spec if np.max(network.depth) < 2 else spec.replace(moves=max(spec.moves, DEEP_MOVES))
