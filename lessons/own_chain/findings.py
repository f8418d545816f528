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
        told.append(f"And {int(found.broken.sum()) - NAMED} more quantities hold numbers that are not finite.")
    walked = journey(found)
    told += [*stuck(found), *(walked or [*apart(found), *slow(found)]), *corner(found), *energy(run)]
    if found.steady.any():
        names = [run.names[j] for j in np.flatnonzero(found.steady)]
        told.append(
            f"{_some(names)} never change{'s' * (len(names) == 1)}: there is nothing to judge in {'it' if len(names) == 1 else 'them'}."
        )
    if len(run.draws) == 1:
        told.append("There is one chain. It cannot disagree with itself: run more, from starts far apart.")
    return told


def _some(names: list[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def stuck(found: Found) -> list[str]:
    """Chains that hardly ever move."""
    values = found.run.draws[:, :, found.moving]
    if not values.shape[2]:
        return []
    moved = 1 + np.any(np.diff(values, axis=1) != 0.0, axis=2).sum(axis=1)
    still = [c for c in range(len(values)) if moved[c] <= max(1, FEW_PLACES * values.shape[1])]
    if not still:
        return []
    names = _some([f"chain {c + 1}" for c in still])
    verb = "moves" if len(still) == 1 else "move"
    return [f"{names[0].upper()}{names[1:]} hardly {verb}: {int(moved[still[0]])} different states in {values.shape[1]:,} draws."]


def journey(found: Found) -> list[str]:
    """A warm-up that was counted: the first draws lie far from the later ones, and the later ones agree better."""
    values = found.run.draws
    first = max(3, int(EARLY * values.shape[1]))
    early, late = np.median(values[:, :first], axis=1), values[:, values.shape[1] // 2 :]
    worst, name = 0.0, ""
    for j in found.moving:
        sd = float(late[:, :, j].std())
        away = float(np.abs(early[:, j] - late[:, :, j].mean()).max()) / sd if sd > 0.0 else 0.0
        if away > max(worst, FAR) and not found.summary.rhat[j] <= MAX_RHAT and rhat(late[:, :, j]) < 0.5 * (1.0 + found.summary.rhat[j]):
            worst, name = away, found.run.names[j]
    if not name:
        return []
    return [
        f"The first draws are a journey: {name} begins {worst:.0f} standard deviations away from the later draws. "
        "Warm-up was counted as draws. Leave out the first draws of each chain."
    ]


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
    name, all_of = found.run.names[j], len(found.run.names)
    sentence = f"The chains disagree on {count} of {all_of} quantities, most on {name} (R-hat {found.summary.rhat[j]:.2f})."
    if gaps[cut] > within:
        sentence += (
            f" There chains {_list(low)} stay around {means[order[: cut + 1]].mean():.3g} and chains {_list(high)} around "
            f"{means[order[cut + 1 :]].mean():.3g}: each has seen only a part."
        )
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
    sentence = f"{int(bad.sum()):,} of {bad.size:,} transitions diverged."
    worst, place, name = 0.0, 0.0, ""
    for j in found.moving:
        values = found.run.draws[:, :, j]
        middle = float(np.mean(values < np.median(values[bad])))
        if abs(middle - 0.5) > worst:
            worst, place, name = abs(middle - 0.5), middle, found.run.names[j]
    if worst > max(CORNER, math.sqrt(math.log(2.0 * max(len(found.moving), 1) / BY_CHANCE) / (2.0 * bad.sum()))):
        sentence += (
            f" They lie in a corner: half of them are {'below' if place < 0.5 else 'above'} the {100 * place:.2g} % point of "
            f"{name}. The chains shun what is beyond. Smaller steps help, or the same model written in other parameters."
        )
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
        f"{len(few)} of {len(found.run.names)} quantities have fewer than {MIN_ESS:.0f} effective draws, {found.run.names[least]} the "
        f"fewest ({ess[least]:.0f}): about {longer} times as many draws are needed."
    ]


def energy(run: Chains) -> list[str]:
    """A low E-BFMI, with the chain that has it."""
    values = run.stats.get("energy")
    if values is None or not np.isfinite(values).all():
        return []
    found = ebfmi(values)
    if not np.nanmin(found) < LOW_ENERGY:
        return []
    return [f"E-BFMI is {np.nanmin(found):.2f} in chain {int(np.nanargmin(found)) + 1}, below {LOW_ENERGY}: heavy tails or a funnel."]
