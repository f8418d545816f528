"""What the reader does to the data and the prior: draw, click, drag."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from engine.spec import SpecError
from lessons.conjugate.analysis import SHARES
from lessons.conjugate.scenes import placed
from lessons.conjugate.spec import DATA, MAX_DATA, ConjugateLesson, moved, moved_rival, written

MAKERS = {
    "bernoulli": ("p_true",),
    "poisson": ("rate_true",),
    "exponential": ("rate_true",),
    "precision": ("mean_true", "sd_true"),
    "mean": ("mean_true", "sd_true"),
    "both": ("mean_true", "sd_true"),
    "categorical": (),
}  # the fields that the draw buttons use


def added(spec: ConjugateLesson, more: ArrayLike) -> dict[str, str]:
    """The field that holds the data with `more` at its end."""
    return {DATA[spec.pair]: written(np.concatenate([spec.observations(), np.asarray(more)]))}


def more(spec: ConjugateLesson, number: int) -> dict[str, str]:
    """The data with `number` further observations from what makes them. Their random numbers follow from the seed and
    how many there are already, so a link can be followed by the same buttons.
    """
    x = spec.observations()
    if len(x) + number > MAX_DATA:
        raise SpecError(DATA[spec.pair], f"{len(x) + number} observations are more than the {MAX_DATA} allowed here")
    rng = np.random.Generator(np.random.SFC64([spec.seed, len(x)]))
    if spec.pair == "bernoulli":
        drawn = (rng.random(number) < spec.p_true).astype(float)
    elif spec.pair == "poisson":
        drawn = rng.poisson(spec.rate_true, number).astype(float)
    elif spec.pair == "exponential":
        drawn = rng.standard_exponential(number) / spec.rate_true
    elif spec.pair == "categorical":
        drawn = 1.0 + np.searchsorted(np.cumsum(SHARES)[:-1], rng.random(number), side="right")
    else:
        drawn = rng.normal(spec.mean_true, spec.sd_true, number)
    return added(spec, drawn)


def on_event(spec: ConjugateLesson, event: dict) -> ConjugateLesson | None:
    """The prior or rival dragged, or data clicked, in the stage."""
    found = placed(spec, event)
    if found is None:
        return None
    if "data" in found:
        return spec.replace(**{DATA[spec.pair]: written(found["data"])})
    changes: dict[str, float] = {}
    if 0 in found["plane"]:
        changes |= moved(spec, found["plane"][0])
    if 1 in found["plane"]:
        changes |= moved_rival(spec, found["plane"][1])
    return spec.replace(**changes)
