"""Checks of chains on neurons or on layers: their kernel, their books, their shares."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.evidence import ModelProbabilities
from engine.judge import Check, JumpKernel, Kernel, Verdict
from engine.judge.shares import shares_looks
from engine.jumps import ArchitectureRecording
from lessons.families.growing.chains import STUDY_COSTLY, Growth, advanced, begin, first_look
from lessons.families.growing.evidence import EVIDENCE, shared_evidence
from lessons.families.growing.ledger import jumps_of
from lessons.families.growing.spec import COSTLY, WORDS, GrowingSpec

CHECKED = 1000  # sweeps that are judged at most
LEDGER_LIMIT = 1e-8


def kernels(spec: GrowingSpec) -> list[Kernel]:
    """The sweep of the chains on the stage."""
    return [JumpKernel(first_look(spec).run, spec.mistake)]


def audit(spec: GrowingSpec, cancel: Any = None) -> list[Check]:
    """The books of the jumps on the stage."""
    return [ledger_check(first_look(spec))]


def checks(spec: GrowingSpec, cancel: Any = None) -> list[Check]:
    """The chains: do they agree, and are their shares of the size those that annealing finds?"""
    sweeps = min(spec.sweeps, STUDY_COSTLY if spec.variant in COSTLY else CHECKED)  # type: ignore[attr-defined]

    def chains(seed: int, number: int, work: int) -> ArchitectureRecording:
        run = begin(spec, work * sweeps, detail="draws", seed=seed)
        return advanced(run, cancel).after(min(spec.burn, sweeps // 2))

    def exact(number: int) -> ModelProbabilities:
        how = EVIDENCE.replace(seed=EVIDENCE.seed + number - 1)
        found = shared_evidence(spec.network(), *spec.data_set(), spec=how, cancel=cancel)
        return found.probabilities(spec.log_prior())

    return shares_looks(chains, spec.seed, spec.low, exact, EVIDENCE.islands, spec.symbol)


def ledger_check(growth: Growth) -> Check:
    """Do the factors add up to log r, and is the likelihood after each accepted jump that computed from scratch?"""
    spec, recording = growth.spec, growth.run.recording()
    chain, sweeps = spec.shown - 1, np.arange(growth.sweeps)
    jumps = jumps_of(recording, chain, sweeps)
    errors = [*np.abs(jumps.factors.sum(axis=1) - jumps.log_ratio)]
    for t in sweeps[jumps.accepted]:
        after = recording.theta(chain, int(t))
        sizes = int(recording.width[chain, t]), int(recording.depth[chain, t])
        scratch = recording.network(*sizes).log_likelihood(growth.x, growth.y).log_density_many(after[None])[0]
        errors.append(abs(scratch - recording.log_likelihood[chain, t]))
    worst = float(np.nan_to_num(errors, nan=np.inf).max())
    verdict: Verdict = "pass" if worst < LEDGER_LIMIT else "fail"
    sentence = WORDS.phrase("checks.ledger", jumps=len(sweeps), chain=spec.shown, accepted=int(jumps.accepted.sum()), worst=worst)
    return Check("ledger", verdict, worst, LEDGER_LIMIT, sentence, "nats", kind="kernel")
