"""The predictions, with answers computed from runs."""

from __future__ import annotations

import numpy as np

from app.kit.words import Said, say
from engine.judge.answers import nearest
from lessons.tuning import analysis
from lessons.tuning.analysis import LONG_CHAINS, LONG_DRAWS, LONG_SETS
from lessons.tuning.spec import SEVERAL, WORDS, TuningLesson


def yields(spec: TuningLesson) -> list[float]:
    """Effective draws per 1,000 gradients of the three target acceptances of the view."""
    found = analysis.sweep(spec)
    assert found is not None  # only a cancelled sweep is None
    return [float(found.efficiency[found.deltas.index(delta)]) for delta in SEVERAL["three"]]


def _explain_delta(spec: TuningLesson) -> Said:
    each = [WORDS.phrase("questions.delta.each", ess=ess, delta=delta) for delta, ess in zip(SEVERAL["three"], yields(spec), strict=True)]
    return say(yields=", ".join(each))


BEFORE = 75  # transitions of the first stretch, in which only the step size is tuned


def gain(spec: TuningLesson) -> tuple[float, float]:
    """Mean gradients of a transition of all chains, with the identity as mass (once ε is found) and after warm-up."""
    gradients = analysis.simulate(spec).gradients
    return float(gradients[:, BEFORE // 3 : BEFORE].mean()), float(gradients[:, spec.warmup :].mean())


def _explain_gain(spec: TuningLesson) -> Said:
    before, after = gain(spec)
    ledger = analysis.simulate(spec)
    return say(
        before=before,
        after=after,
        ratio=before / after,
        step_size_before=ledger.average[BEFORE - 1],
        step_size_after=ledger.step_size[0, -1],
    )


def tilt_gain(spec: TuningLesson) -> tuple[float, float]:
    """Mean gradients of a draw with the diagonal and with the dense mass."""
    masses = ("diagonal", "dense")
    runs = [analysis.simulate(spec.replace(mass=mass)) for mass in masses]
    diagonal, dense = (float(run.gradients[:, run.kept].mean()) for run in runs)
    return diagonal, dense


def _explain_tilt(spec: TuningLesson) -> Said:
    diagonal, dense = tilt_gain(spec)
    return say(diagonal=diagonal, dense=dense, ratio=diagonal / dense)


def _explain_banana(spec: TuningLesson) -> Said:
    low, high = SEVERAL["pair"]
    poor, good = analysis.long_runs(spec, low), analysis.long_runs(spec, high)
    each = [WORDS.phrase("questions.banana.each", low=a, high=b) for a, b in zip(poor.ess, good.ess, strict=True)]
    return say(
        sets=LONG_SETS,
        chains=LONG_CHAINS,
        draws=LONG_DRAWS,
        pairs=", ".join(each),
        ess_ratio=analysis.ess_ratio(spec, high, low),
        delta=high,
        gradient_ratio=good.gradients.mean() / poor.gradients.mean(),
        divergent_low=int(poor.divergent.sum()),
        divergent_high=int(good.divergent.sum()),
    )


def _which_way(spec: TuningLesson) -> int:
    short = analysis.short_runs(spec, "adapting")
    assert short is not None
    return 1 if abs(short.z) < 4.0 else 0 if short.mean < short.exact else 2


def _explain_for_ever(spec: TuningLesson) -> Said:
    never, frozen = analysis.short_runs(spec, "adapting"), analysis.short_runs(spec, "frozen")
    assert never is not None and frozen is not None
    return say(
        runs=never.runs,
        adapting_ratio=never.mean,
        adapting_z=abs(never.z),
        frozen_ratio=frozen.mean,
        frozen_z=abs(frozen.z),
        rhat=analysis.diagnose(spec).summary.rhat[-1],
    )


QUESTIONS = [
    WORDS.question("delta", lambda spec: int(np.argmax(yields(spec))), _explain_delta, scenario="deltas"),
    WORDS.question("scales", lambda spec: nearest(gain(spec)[0] / gain(spec)[1], (2.0, 20.0, 200.0)), _explain_gain, scenario="scales"),
    WORDS.question(
        "dense", lambda spec: nearest(tilt_gain(spec)[0] / tilt_gain(spec)[1], (1.0, 5.0, 25.0)), _explain_tilt, scenario="dense"
    ),
    WORDS.question(
        "banana",
        lambda spec: nearest(analysis.ess_ratio(spec, 0.99, 0.8), (1.0, 10.0, 100.0)),
        _explain_banana,
        scenario="banana",
        set_draws=LONG_CHAINS * LONG_DRAWS,
    ),
    WORDS.question("for-ever", _which_way, _explain_for_ever, scenario="for-ever"),
]
