"""The predictions, with answers computed from runs."""

from __future__ import annotations

from app.kit.words import Said, say
from engine.diagnostics import rhat
from engine.judge.answers import nearest
from engine.samplers.nuts import ENDINGS
from lessons.nuts import analysis
from lessons.nuts.spec import SHALLOW, WORDS, NutsLesson

DEEP = 10
ALIKE = 0.15  # relative difference that four chains of this length cannot be sure of


def _explain_waste(spec: NutsLesson) -> Said:
    walk = analysis.simulate(spec)
    return say(
        wasted_steps=walk.wasted.sum(),
        steps=walk.leapfrogs.sum(),
        waste=100 * walk.waste,
        affected=int((walk.wasted > 0).sum()),
        transitions=walk.steps,
    )


def candidates(spec: NutsLesson) -> tuple[int, int, str]:
    """States computed in the first transition, states the draw could be, and how it ended."""
    inside = analysis.simulate(spec).inside(0, 1)
    return int(inside.leaves[0]), 2 ** int(analysis.simulate(spec).depth[0]), ENDINGS[int(inside.ending[0])]


def _explain_candidates(spec: NutsLesson) -> Said:
    computed, left, ending = candidates(spec)
    return say(computed=computed, candidates=left, ending=ending)


def form_gain(spec: NutsLesson) -> float:
    """Effective draws per gradient of multinomial sampling over those of the slice."""
    here, other = analysis.form(spec), analysis.form(spec.other_form())
    ratio = here.ess_per_1000 / other.ess_per_1000
    return ratio if spec.sampling == "multinomial" else 1.0 / ratio


def _which_form(spec: NutsLesson) -> int:
    gain = form_gain(spec)
    return 0 if gain < 1 - ALIKE else 2 if gain > 1 / (1 - ALIKE) else 1


def _explain_form(spec: NutsLesson) -> Said:
    pair = {s.sampling: analysis.form(s) for s in (spec, spec.other_form())}
    return say(
        with_multinomial=pair["multinomial"].ess_per_1000,
        multinomial_steps=pair["multinomial"].leapfrogs,
        with_slice=pair["slice"].ess_per_1000,
        slice_steps=pair["slice"].leapfrogs,
        draws=analysis.FORM_DRAWS,
    )


def depth_gain(spec: NutsLesson) -> float:
    """Effective draws per gradient of the run with 10 doublings allowed over those of the run."""
    return analysis.form(spec.replace(max_depth=DEEP)).ess_per_1000 / analysis.form(spec).ess_per_1000


def _explain_depth(spec: NutsLesson) -> Said:
    shallow, deep = analysis.form(spec), analysis.form(spec.replace(max_depth=DEEP))
    walk = analysis.simulate(spec)
    return say(
        with_shallow=shallow.ess_per_1000,
        max_depth=spec.max_depth,
        with_deep=deep.ess_per_1000,
        gain=depth_gain(spec),
        saturated=100 * walk.saturated.mean(),
    )


def divergent_shares(spec: NutsLesson) -> tuple[float, float]:
    """Shares of divergent transitions of the run, and of the same run in the funnel's own coordinates."""
    return tuple(float(analysis.simulate(s).recording.divergent.mean()) for s in (spec, _centred(spec)))  # type: ignore[return-value]


def _centred(spec: NutsLesson) -> NutsLesson:
    return spec.replace(target="funnel")


def _explain_cure(spec: NutsLesson) -> Said:
    divergent, centred = divergent_shares(spec)
    lowest, centred_lowest = (analysis.simulate(s).recording.draws[:, :, 0].min() for s in (spec, _centred(spec)))
    return say(divergent=100 * divergent, centred_divergent=100 * centred, lowest=lowest, centred_lowest=centred_lowest)


def variance(spec: NutsLesson) -> tuple[float, float, float]:
    """Variance of the first coordinate over four longer chains, the exact one, and R-hat of those chains."""
    first = analysis.longer(spec, 10_000).draws[:, :, 0]
    truth = spec.build_target().truth
    return float(first.var()), float(truth.covariance[0, 0]) if truth else float("nan"), rhat(first)


def _which_way(spec: NutsLesson) -> int:
    found, true, _ = variance(spec)
    return 0 if found < 0.95 * true else 2 if found > 1.05 * true else 1


def _explain_variance(spec: NutsLesson) -> Said:
    found, true, rhat = variance(spec)
    without_bug, _, _ = variance(spec.replace(variant="exact"))
    return say(found=found, true=true, without_bug=without_bug, rhat=rhat)


QUESTIONS = [
    WORDS.question(
        "waste", lambda spec: nearest(analysis.simulate(spec).waste, (0.02, 0.25, 0.75), log=False), _explain_waste, scenario="waste"
    ),
    WORDS.question("candidates", lambda spec: nearest(candidates(spec)[1], (16, 8, 1), log=False), _explain_candidates, scenario="figure"),
    WORDS.question("form", _which_form, _explain_form, scenario="forms"),
    WORDS.question(
        "depth",
        lambda spec: 0 if depth_gain(spec) < 0.8 else 1 if depth_gain(spec) < 1.6 else 2,
        _explain_depth,
        scenario="shallow",
        deep=DEEP,
        shallow=SHALLOW.max_depth,
    ),
    WORDS.question(
        "cure",
        lambda spec: nearest(divergent_shares(spec)[0] / max(divergent_shares(spec)[1], 1e-9), (1.0, 0.5, 0.0), log=False),
        _explain_cure,
        scenario="cure",
    ),
    WORDS.question("aliased", _which_way, _explain_variance, scenario="aliased"),
]
