"""The prediction, with its answer computed from the run."""

from __future__ import annotations

import numpy as np

from app.kit.words import Said, say
from lessons.own_chain import analysis
from lessons.own_chain.spec import WORDS, OwnChain


def places(spec: OwnChain) -> int:
    """Decimals that the mean on stage may have: an option for each of 0, 1, 2, 3 and more."""
    j, _ = analysis.on_stage(spec)
    found = float(analysis.look(spec).decimals[j])
    return int(np.clip(found if np.isfinite(found) else 0.0, 0, 3))


def _told(spec: OwnChain) -> Said:
    j, _ = analysis.on_stage(spec)
    found = analysis.look(spec)
    mcse = float(found.summary.mcse_mean[j])
    return say(
        name=found.run.names[j],
        mcse=mcse,
        twice=2.0 * mcse,
        sd=float(found.summary.sd[j]),
        ess=float((found.summary.sd[j] / mcse) ** 2),
        told=analysis.said(float(found.summary.mean[j]), float(found.decimals[j])),
        draws=found.run.draws.shape[0] * found.run.draws.shape[1],
    )


QUESTIONS = [WORDS.question("digits", places, _told, scenario="healthy")]
