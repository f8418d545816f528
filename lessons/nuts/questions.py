"""The predictions, with answers computed from runs."""

from __future__ import annotations

import numpy as np

from app.kit.frame import Question
from engine.diagnostics import rhat
from engine.samplers.nuts import ENDINGS
from lessons.nuts import analysis
from lessons.nuts.scenarios import SHALLOW
from lessons.nuts.spec import NutsLesson

DEEP = 10
ALIKE = 0.15  # relative difference that four chains of this length cannot be sure of


def nearest(value: float, choices: tuple[float, ...]) -> int:
    """Index of the choice nearest to `value`."""
    return int(np.argmin([abs(value - choice) for choice in choices]))


def _explain_waste(spec: NutsLesson) -> str:
    walk = analysis.simulate(spec)
    thrown = int((walk.wasted > 0).sum())
    return (
        f"{walk.wasted.sum():,} of {walk.leapfrogs.sum():,} leapfrog steps, {100 * walk.waste:.0f} %, in {thrown} of "
        f"{walk.steps} transitions. When a subtree of an extension turns, the trajectory could not have been grown the "
        "same way from every one of its states. Keeping the extension would break detailed balance, so all of it goes."
    )


def candidates(spec: NutsLesson) -> tuple[int, int, str]:
    """States computed in the first transition, states the draw could be, and how it ended."""
    inside = analysis.simulate(spec).inside(0, 1)
    return int(inside.leaves[0]), 2 ** int(analysis.simulate(spec).depth[0]), ENDINGS[int(inside.ending[0])]


def _explain_candidates(spec: NutsLesson) -> str:
    made, left, ending = candidates(spec)
    return (
        f"{made} states were computed, {left} of them are candidates; the transition ended because it "
        f"{ending}. Berezowski (2021) prints neither data, ε nor random numbers: ours are a posterior "
        "with standard deviations 1 and correlation 0.6, ε = 0.25, and a seed found so that the iteration ends as the "
        "caption there says."
    )


def form_gain(spec: NutsLesson) -> float:
    """Effective draws per gradient of multinomial sampling over those of the slice."""
    here, other = analysis.form(spec), analysis.form(spec.other_form())
    ratio = here.ess_per_1000 / other.ess_per_1000
    return ratio if spec.sampling == "multinomial" else 1.0 / ratio


def _which_form(spec: NutsLesson) -> int:
    gain = form_gain(spec)
    return 0 if gain < 1 - ALIKE else 2 if gain > 1 / (1 - ALIKE) else 1


def _explain_form(spec: NutsLesson) -> str:
    pair = {s.sampling: analysis.form(s) for s in (spec, spec.other_form())}
    many, few = pair["multinomial"], pair["slice"]
    return (
        f"Multinomial: {many.ess_per_1000:.3g} effective draws per 1 000 gradients, {many.leapfrogs:.2f} steps a draw. "
        f"Slice: {few.ess_per_1000:.3g}, with {few.leapfrogs:.2f}. Four chains of {analysis.FORM_DRAWS:,} draws leave "
        "several per cent of noise in such a ratio. Both forms take most draws from the last doubling, and that is "
        "what carries them far. They are two exact answers to the same question."
    )


def depth_gain(spec: NutsLesson) -> float:
    """Effective draws per gradient of the run with 10 doublings allowed over those of the run."""
    return analysis.form(spec.replace(max_depth=DEEP)).ess_per_1000 / analysis.form(spec).ess_per_1000


def _explain_depth(spec: NutsLesson) -> str:
    shallow, deep = analysis.form(spec), analysis.form(spec.replace(max_depth=DEEP))
    walk = analysis.simulate(spec)
    return (
        f"{shallow.ess_per_1000:.2g} effective draws per 1 000 gradients with at most {spec.max_depth} doublings, "
        f"{deep.ess_per_1000:.2g} with {DEEP}: {depth_gain(spec):.0f} times as many. "
        f"{100 * walk.saturated.mean():.0f} % of the transitions on screen were cut short there."
    )


def divergent_shares(spec: NutsLesson) -> tuple[float, float]:
    """Shares of divergent transitions of the run, and of the same run in the funnel's own coordinates."""
    return tuple(float(analysis.simulate(s).recording.divergent.mean()) for s in (spec, _centred(spec)))  # type: ignore[return-value]


def _centred(spec: NutsLesson) -> NutsLesson:
    return spec.replace(target="funnel")


def _explain_cure(spec: NutsLesson) -> str:
    here, centred = divergent_shares(spec)
    lowest = [float(analysis.simulate(s).recording.draws[:, :, 0].min()) for s in (spec, _centred(spec))]
    return (
        f"{100 * here:.1f} % against {100 * centred:.1f} % in the funnel's own coordinates. The lowest v reached is "
        f"{lowest[0]:.1f} against {lowest[1]:.1f}. Nothing about the sampler has changed: the curvature is the same "
        "everywhere now, so one ε suits all."
    )


def variance(spec: NutsLesson) -> tuple[float, float, float]:
    """Variance of the first coordinate over four longer chains, the exact one, and R-hat of those chains."""
    first = analysis.longer(spec, 10_000).draws[:, :, 0]
    truth = spec.build_target().truth
    return float(first.var()), float(truth.covariance[0, 0]) if truth else float("nan"), rhat(first)


def _which_way(spec: NutsLesson) -> int:
    found, true, _ = variance(spec)
    return 0 if found < 0.95 * true else 2 if found > 1.05 * true else 1


def _explain_variance(spec: NutsLesson) -> str:
    found, true, agreement = variance(spec)
    right, _, _ = variance(spec.replace(variant="exact"))
    return (
        f"Measured variance {found:.3f}, true {true:.3f}; without the bug {right:.3f}. R-hat is {agreement:.3f}: it "
        "compares chains with each other, and they agree on the same wrong density. Only the exact answer tells."
    )


QUESTIONS = [
    Question(
        "waste",
        "An extension in which any subtree turns is thrown away. What share of all leapfrog steps of this run went "
        "that way?",
        ["Hardly any (about 2 %)", "About a quarter", "About three quarters"],
        lambda spec: nearest(analysis.simulate(spec).waste, (0.02, 0.25, 0.75)),
        _explain_waste,
        scenario="waste",
    ),
    Question(
        "candidates",
        "Four doublings were begun in the first transition, and 16 states computed. The last extension turns inside. "
        "From how many states is the draw taken?",
        ["16", "8", "1"],
        lambda spec: nearest(candidates(spec)[1], (16, 8, 1)),
        _explain_candidates,
        scenario="figure",
    ),
    Question(
        "form",
        "Same ε, same seed. Which way of sampling gives more effective draws per gradient?",
        [
            "The slice, by more than 15 %",
            "About the same, within 15 %",
            "Multinomial, by more than 15 %",
        ],
        _which_form,
        _explain_form,
        scenario="forms",
    ),
    Question(
        "depth",
        f"Allow {DEEP} doublings instead of {SHALLOW.max_depth}. Each transition becomes more expensive. Effective "
        "draws per gradient?",
        ["Fewer", "About the same", "At least twice as many"],
        lambda spec: 0 if depth_gain(spec) < 0.8 else 1 if depth_gain(spec) < 1.6 else 2,
        _explain_depth,
        scenario="shallow",
    ),
    Question(
        "cure",
        "What becomes of the share of divergent transitions when v and z are sampled in place of v and x?",
        ["About the same", "About half", "Practically none are left"],
        lambda spec: nearest(divergent_shares(spec)[0] / max(divergent_shares(spec)[1], 1e-9), (1.0, 0.5, 0.0)),
        _explain_cure,
        scenario="cure",
    ),
    Question(
        "aliased",
        "Both ends of each subtree share one momentum. What happens to the variance of the draws?",
        ["Too small", "Right", "Too large"],
        _which_way,
        _explain_variance,
        scenario="aliased",
    ),
]
