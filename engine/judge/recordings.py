"""The judgement of a recording: the kernel that made it, the run itself, and its numbers where the answer is known."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from engine import ticket
from engine.judge.check import Check, Judgement, unknown
from engine.judge.growing import JumpKernel
from engine.judge.looks import FIRST, SECOND, two_looks
from engine.judge.models import Known
from engine.judge.network_models import joint_model
from engine.judge.numbers import ALONE, truth_check
from engine.judge.run import agreement_check, depth_check, divergence_check, energy_check, trips_check
from engine.judge.sweeps import SweepKernel
from engine.judge.transitions import TransitionKernel
from engine.judge.trial import Kernel, proofs
from engine.jumps.recording import ArchitectureRecording
from engine.networks import predictive
from engine.networks.sweep import NetworkRecording
from engine.recording import Recording
from engine.samplers.nuts import TOO_DEEP
from engine.samplers.run import Run
from engine.spec import MAX_SEED, SpecError
from engine.targets.target import Target, Truth

Array = NDArray[np.float64]

LATER = 1_000_003  # added to a seed for a second look
SHOWN = 6  # inputs at which the functions of a network are compared


def judge(recording: Recording, *, seed: int = 0) -> Judgement:
    """The three verdicts on a recording of `engine.sample`, `sample_network` or `sample_architecture`.

    The kernel is judged with the settings of its first chain (step size, mass), at data simulated from the model where
    the recording has data. Start the chains far apart for the verdict on the run to mean much. Raises SpecError for
    something that is no such recording.
    """
    kernel = kernel_of(recording)
    found = proofs(kernel, seed) if kernel is not None else []
    return Judgement.of([*found, *run_checks(recording), numbers_check(recording)])


def kernel_of(recording: Recording, mistake: str = "") -> Kernel | None:
    """The kernel that made a recording, or None where there are no exact draws to judge it by."""
    if isinstance(recording, NetworkRecording):
        return SweepKernel(recording.run, mistake)
    if isinstance(recording, ArchitectureRecording):
        return JumpKernel(recording.run, mistake)
    run = getattr(recording, "run", None)
    if not isinstance(run, Run):
        raise SpecError("recording", f"{type(recording).__name__} is not a recording of one of the engine's samplers")
    model = joint_model(run.target) or (Known(run.target) if run.target.truth and run.target.truth.draw else None)
    return None if model is None else TransitionKernel(model, run.method, run.adaptation, mistake)


def run_checks(recording: Recording) -> list[Check]:
    """Agreement of the chains on what they are watched by, divergences, energy, depth, round trips."""
    found = [agreement_check(*watched(recording))]
    if isinstance(recording, ArchitectureRecording):
        for name, sizes in (("width", recording.width), ("depth", recording.depth)):
            if isinstance(getattr(recording.run.network, name), tuple):
                found.append(trips_check(sizes, name))
    if recording.energy is not None:
        found += [divergence_check(recording.divergent), energy_check(recording.energy)]
    elif recording.divergent.any():
        found.append(divergence_check(recording.divergent))
    if recording.tree_ending is not None:
        found.append(depth_check(recording.tree_ending == TOO_DEEP))
    return found


def chains_checks(run: Callable[[int, int], Recording], seed: int, truth: Truth | None = None) -> list[Check]:
    """What chains say of themselves, and their numbers by `two_looks`.

    run : `f(seed, work)`, chains from starts far apart, `work` times as long as a first look needs
    truth : the exact answer where the target's own does not serve (tables in its place); of the first coordinates
    """
    first = run(seed, 1)
    ticket.look()

    def look(number: int, work: int) -> Check:
        recording = first if number == 1 else run((seed + LATER) % (MAX_SEED + 1), work)
        return numbers_check(recording, truth, FIRST if number == 1 else SECOND)

    return [*run_checks(first), two_looks(look)]


def watched(recording: Recording) -> tuple[Array, list[str]]:
    """What chains are compared by, (chains, draws, q), with names: coordinates; of networks functions, since weights
    can trade places; of architectures sizes; always the log density.
    """
    logs = recording.log_density[:, :, None]
    if isinstance(recording, ArchitectureRecording):
        sizes = {"width": recording.width, "depth": recording.depth}
        varied = [name for name in sizes if isinstance(getattr(recording.run.network, name), tuple)]
        columns = [sizes[name][:, :, None].astype(np.float64) for name in varied]
        return np.concatenate([*columns, logs], axis=2), [*varied, "log density"]
    model = recording.run.target.model if isinstance(recording.run, Run) else None
    if isinstance(recording, NetworkRecording) or model is not None:
        x = recording.run.x if isinstance(recording, NetworkRecording) else model.x  # type: ignore[union-attr]
        rows: list[int] = np.unique(np.linspace(0, len(x) - 1, SHOWN).astype(int)).tolist() if len(x) else []
        said = functions(recording, x[rows]) if len(x) else np.zeros((*logs.shape[:2], 0))
        return np.concatenate([said, logs], axis=2), [*(f"output at input {r + 1}" for r in rows), "log density"]
    return np.concatenate([recording.draws, logs], axis=2), [*recording.run.target.labels, "log density"]


def functions(recording: Recording, x: Array) -> Array:
    """Outputs (the last class's probability, for classes) of every draw at inputs x: (chains, draws, len(x))."""
    network = recording.network if isinstance(recording, NetworkRecording) else recording.run.target.model.network
    flat = np.ascontiguousarray(recording.draws).reshape(-1, recording.dim)
    said = predictive.probabilities(network, flat, x) if network.classes else predictive.outputs(network, flat, x)
    return np.asarray(said[:, :, -1].reshape(*recording.draws.shape[:2], -1))


def numbers_check(recording: Recording, truth: Truth | None = None, level: float = ALONE) -> Check:
    """The draws against the exact answer, the target's unless `truth` is given (of the first coordinates).

    Where transitions diverged, averages that are off prove nothing against the numbers: the chains shun a region.
    """
    target: Target | None = getattr(recording.run, "target", None)
    truth = truth or (target.truth if target is not None and target.dim == recording.dim else None)
    if truth is None or target is None:
        return unknown("exact answer", "No exact answer is known for this target.", kind="numbers")
    known = len(truth.mean)
    found = truth_check(recording.draws[:, :, :known], truth, target.labels[:known], level=level)
    broken = int(recording.divergent.sum())
    if found.verdict != "fail" or not broken:
        return found
    words = f"{broken:,} of {recording.divergent.size:,} transitions diverged, so these chains may miss a region."
    return dataclasses.replace(found, verdict="unknown", sentence=f"{found.sentence} {words}", p=math.nan)
