"""What is the matter with some chains, in sentences: each has a number behind it, and what to do."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from datasets.chains import Chains
from engine.diagnostics import ebfmi, rhat
from engine.judge import MAX_RHAT, MIN_ESS
from engine.judge.run import APART, LOW_ENERGY
from lessons.own_chain.analysis import Found
from lessons.own_chain.spec import WORDS

Array = NDArray[np.float64]

NAMED = 3  # quantities or chains that a sentence names
FEW_PLACES = 0.02  # a chain with less different values than this share of its draws hardly moves
EARLY = 0.02  # the share of a run, three draws at least, that is looked at for a journey: one alone may be far by chance
FAR = 3.0  # sds of the later draws that make it one
CORNER = 0.25  # how far the middle of the divergent draws is from the middle of all, in ranks from 0 to 1
BY_CHANCE = 0.01  # how often draws without a place may seem to have one, in any of the quantities


def sentences(found: Found) -> list[str]:
    """What stands out, the worst first; empty where nothing does."""
    run = found.run
    told = run.missing()[:NAMED]
    if found.broken.sum() > NAMED:
        told.append(WORDS.phrase("findings.more_broken", count=int(found.broken.sum()) - NAMED))
    walked = journey(found)
    told += [*stuck(found), *(walked or [*apart(found), *slow(found)]), *corner(found), *energy(run)]
    if found.steady.any():
        names = [run.names[j] for j in np.flatnonzero(found.steady)]
        told.append(WORDS.phrase("findings.never_changes" if len(names) == 1 else "findings.never_change", names=_some(names)))
    if len(run.draws) == 1:
        told.append(WORDS.phrase("findings.one_chain"))
    return told


def _some(names: list[str]) -> str:
    named = ", ".join(names[:NAMED])
    return WORDS.phrase("findings.and_more", named=named, count=len(names) - NAMED) if len(names) > NAMED else named


def stuck(found: Found) -> list[str]:
    """Chains that hardly ever move."""
    values = found.run.draws[:, :, found.moving]
    if not values.shape[2]:
        return []
    moved = 1 + np.any(np.diff(values, axis=1) != 0.0, axis=2).sum(axis=1)
    still = [c for c in range(len(values)) if moved[c] <= max(1, FEW_PLACES * values.shape[1])]
    if not still:
        return []
    chains = _some([WORDS.phrase("stage.chain", chain=c + 1) for c in still])
    chains = chains[0].upper() + chains[1:]
    which = "findings.hardly_moves" if len(still) == 1 else "findings.hardly_move"
    return [WORDS.phrase(which, chains=chains, states=int(moved[still[0]]), draws=values.shape[1])]


def journey(found: Found) -> list[str]:
    """A warm-up that was counted: the first draws lie far from the later ones, and the later ones agree better."""
    values = found.run.draws
    first = max(3, int(EARLY * values.shape[1]))
    early, late = np.median(values[:, :first], axis=1), values[:, values.shape[1] // 2 :]
    with np.errstate(all="ignore"):
        away = np.abs(early - late.mean(axis=(0, 1))).max(axis=0) / late.std(axis=(0, 1))
    far = [int(j) for j in found.moving[np.argsort(-away[found.moving], kind="stable")] if FAR < away[j] < np.inf]
    for j in far:  # the farthest first: of the others nothing needs to be known
        if not found.summary.rhat[j] <= MAX_RHAT and rhat(late[:, :, j]) < 0.5 * (1.0 + found.summary.rhat[j]):
            return [WORDS.phrase("findings.journey", name=found.run.names[j], sds=float(away[j]))]
    return []


def apart(found: Found) -> list[str]:
    """Chains that stay in different places: who stays with whom."""
    if len(found.run.draws) < 2:
        return []
    j = next((int(j) for j in found.order if j in set(found.moving.tolist())), None)
    if j is None or not found.summary.rhat[j] > APART:
        return []
    values = found.run.draws[:, :, j]
    means, within = values.mean(axis=1), values.std(axis=1).mean()
    order = np.argsort(means)
    gaps = np.diff(means[order])
    cut = int(np.argmax(gaps))
    low, high = sorted(order[: cut + 1] + 1), sorted(order[cut + 1 :] + 1)
    count = int(np.sum(found.summary.rhat[found.moving] > APART))
    sentence = WORDS.phrase(
        "findings.disagree", count=count, quantities=len(found.run.names), name=found.run.names[j], rhat=found.summary.rhat[j]
    )
    if gaps[cut] > within:
        low_mean, high_mean = means[order[: cut + 1]].mean(), means[order[cut + 1 :]].mean()
        stay = WORDS.phrase("findings.stay", low=_list(low), low_mean=low_mean, high=_list(high), high_mean=high_mean)
        sentence = f"{sentence} {stay}"
    return [sentence]


def _list(chains: list[int]) -> str:
    return ", ".join(str(int(c)) for c in chains[:8])


def corner(found: Found) -> list[str]:
    """Where the divergent draws lie: the quantity in which they stand out most, by ranks.

    The median of m uniform ranks is off by more than t with probability 2 exp(-2 m t^2) at most (Hoeffding 1963).
    """
    flags = found.run.stats.get("divergent")
    if flags is None or not (flags > 0).any():
        return []
    bad = flags > 0
    sentence = WORDS.phrase("findings.diverged", divergent=int(bad.sum()), transitions=bad.size)
    worst, place, name = 0.0, 0.0, ""
    for j in found.moving:
        values = found.run.draws[:, :, j]
        middle = float(np.mean(values < np.median(values[bad])))
        if abs(middle - 0.5) > worst:
            worst, place, name = abs(middle - 0.5), middle, found.run.names[j]
    if worst > max(CORNER, math.sqrt(math.log(2.0 * max(len(found.moving), 1) / BY_CHANCE) / (2.0 * bad.sum()))):
        where = WORDS.phrase("findings.below" if place < 0.5 else "findings.above", percent=100 * place, name=name)
        sentence = f"{sentence} {where} {WORDS.phrase('findings.shunned')}"
    return [sentence]


def slow(found: Found) -> list[str]:
    """Too few effective draws, where the chains do not disagree."""
    ess = np.fmin(found.summary.ess_bulk, found.summary.ess_tail)
    few = [int(j) for j in found.order if found.summary.rhat[j] <= APART and ess[j] < MIN_ESS]
    if not few:
        return []
    least = min(few, key=lambda j: ess[j])
    longer = math.ceil(MIN_ESS / max(ess[least], 1.0))
    return [
        WORDS.phrase(
            "findings.slow",
            count=len(few),
            quantities=len(found.run.names),
            least=MIN_ESS,
            name=found.run.names[least],
            ess=ess[least],
            times=longer,
        )
    ]


def energy(run: Chains) -> list[str]:
    """A low E-BFMI, with the chain that has it."""
    values = run.stats.get("energy")
    if values is None or not np.isfinite(values).all():
        return []
    found = ebfmi(values)
    if not np.nanmin(found) < LOW_ENERGY:
        return []
    return [WORDS.phrase("findings.energy", ebfmi=np.nanmin(found), chain=int(np.nanargmin(found)) + 1, limit=LOW_ENERGY)]
