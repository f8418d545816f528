"""The predictions, with answers computed from runs."""

from __future__ import annotations

from app.kit.words import Said, nearest, say
from engine.diagnostics import rhat
from engine.samplers.nuts import ENDINGS
from lessons.nuts import analysis
from lessons.nuts.spec import SHALLOW, WORDS, NutsLesson

DEEP = 10
ALIKE = 0.15  # relative difference that four chains of this length cannot be sure of


def _explain_waste(spec: NutsLesson) -> Said:
    walk = analysis.simulate(spec)
    thrown = int((walk.wasted > 0).sum())
    return say(
        wasted=walk.wasted.sum(),
        leapfrogs=walk.leapfrogs.sum(),
        waste=100 * walk.waste,
        thrown=thrown,
        steps=walk.steps,
    )


def candidates(spec: NutsLesson) -> tuple[int, int, str]:
    """States computed in the first transition, states the draw could be, and how it ended."""
    inside = analysis.simulate(spec).inside(0, 1)
    return int(inside.leaves[0]), 2 ** int(analysis.simulate(spec).depth[0]), ENDINGS[int(inside.ending[0])]


def _explain_candidates(spec: NutsLesson) -> Said:
    made, left, ending = candidates(spec)
    return say(made=made, left=left, ending=ending)


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
    many, few = pair["multinomial"], pair["slice"]
    return say(
        ess_per_1000=many.ess_per_1000,
        leapfrogs=many.leapfrogs,
        ess_per_1000_2=few.ess_per_1000,
        leapfrogs_2=few.leapfrogs,
        form_draws=analysis.FORM_DRAWS,
    )


def depth_gain(spec: NutsLesson) -> float:
    """Effective draws per gradient of the run with 10 doublings allowed over those of the run."""
    return analysis.form(spec.replace(max_depth=DEEP)).ess_per_1000 / analysis.form(spec).ess_per_1000


def _explain_depth(spec: NutsLesson) -> Said:
    shallow, deep = analysis.form(spec), analysis.form(spec.replace(max_depth=DEEP))
    walk = analysis.simulate(spec)
    return say(
        ess_per_1000=shallow.ess_per_1000,
        max_depth_2=spec.max_depth,
        ess_per_1000_2=deep.ess_per_1000,
        depth_gain=depth_gain(spec),
        saturated=100 * walk.saturated.mean(),
    )


def divergent_shares(spec: NutsLesson) -> tuple[float, float]:
    """Shares of divergent transitions of the run, and of the same run in the funnel's own coordinates."""
    return tuple(float(analysis.simulate(s).recording.divergent.mean()) for s in (spec, _centred(spec)))  # type: ignore[return-value]


def _centred(spec: NutsLesson) -> NutsLesson:
    return spec.replace(target="funnel")


def _explain_cure(spec: NutsLesson) -> Said:
    here, centred = divergent_shares(spec)
    lowest = [float(analysis.simulate(s).recording.draws[:, :, 0].min()) for s in (spec, _centred(spec))]
    return say(here=100 * here, centred=100 * centred, lowest=lowest[0], lowest_2=lowest[1])


def variance(spec: NutsLesson) -> tuple[float, float, float]:
    """Variance of the first coordinate over four longer chains, the exact one, and R-hat of those chains."""
    first = analysis.longer(spec, 10_000).draws[:, :, 0]
    truth = spec.build_target().truth
    return float(first.var()), float(truth.covariance[0, 0]) if truth else float("nan"), rhat(first)


def _which_way(spec: NutsLesson) -> int:
    found, true, _ = variance(spec)
    return 0 if found < 0.95 * true else 2 if found > 1.05 * true else 1


def _explain_variance(spec: NutsLesson) -> Said:
    found, true, agreement = variance(spec)
    right, _, _ = variance(spec.replace(variant="exact"))
    return say(found=found, true=true, right=right, agreement=agreement)


QUESTIONS = [
    WORDS.question(
        "waste",
        lambda spec: nearest(analysis.simulate(spec).waste, (0.02, 0.25, 0.75), log=False),
        _explain_waste,
        scenario="waste",
    ),
    WORDS.question(
        "candidates",
        lambda spec: nearest(candidates(spec)[1], (16, 8, 1), log=False),
        _explain_candidates,
        scenario="figure",
    ),
    WORDS.question("form", _which_form, _explain_form, scenario="forms"),
    WORDS.question(
        "depth",
        lambda spec: 0 if depth_gain(spec) < 0.8 else 1 if depth_gain(spec) < 1.6 else 2,
        _explain_depth,
        scenario="shallow",
        deep=DEEP,
        max_depth=SHALLOW.max_depth,
    ),
    WORDS.question(
        "cure",
        lambda spec: nearest(
            divergent_shares(spec)[0] / max(divergent_shares(spec)[1], 1e-9), (1.0, 0.5, 0.0), log=False
        ),
        _explain_cure,
        scenario="cure",
    ),
    WORDS.question("aliased", _which_way, _explain_variance, scenario="aliased"),
]
