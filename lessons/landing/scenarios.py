"""The named settings of the lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.landing.spec import LandingSpec

SCENARIOS = [
    Scenario(
        "plain",
        "The bare jump",
        LandingSpec(jump="plain"),
        "A unit is drawn from the prior and is there at once. Press ▶. Its weights were drawn blindly, and the "
        "likelihood usually pays for it.",
    ),
    Scenario(
        "annealed",
        "Over 16 bridges",
        LandingSpec(),
        "A new unit does not burst in: it **fades in** over 16 bridges, and on each the network may settle. The sum of "
        "the log weights on the way decides. Press ▶ and watch one unit after another cross.",
    ),
    Scenario(
        "noisy",
        "Noisy XOR, 64 bridges",
        LandingSpec(data="noisy", bridges=64, step_size=0.07),
        "Overlapping clouds and very small steps on the way. More bridges bring the weights closer to what no jump "
        "can pass: the odds of the two models.",
    ),
    Scenario(
        "delayed",
        "A second try",
        LandingSpec(jump="delayed"),
        "If the first draw of the unit is rejected, a second, narrower one is tried at the same place. Its ratio "
        "carries how likely the first was to fail, there and on the way back.",
    ),
    Scenario(
        "sandwich",
        "NUTS before and after",
        LandingSpec(part="sandwich"),
        "Let NUTS settle the network before the jump and again after it: surely more jumps land? Press ▶ or step "
        "through one jump, and watch the factors cancel.",
    ),
    Scenario(
        "as-coded",
        "The published code",
        LandingSpec(part="sandwich", sandwich="as_coded"),
        "The scheme that Berezowski (2021) published as code: NUTS on both sides, its densities left out of the ratio, "
        "a slot counted once, the ends forgotten.",
        failure=True,
        why="The ratio judges the state after NUTS against the one before, and forgets how likely NUTS was to go there "
        "and back. Its share of accepted jumps is that of another chain: without data it does not return its prior. "
        "A higher acceptance is worth nothing when the draws come from the wrong distribution.",
    ),
    Scenario(
        "old-level",
        "Moves at the old bridge",
        LandingSpec(variant="wrong", bridges=3, temper=2.0, step_size=0.05),
        "The annealed jump with one mistake: on reaching a bridge, the network settles on the one it has just left.",
        failure=True,
        why="Each weight is then taken at a state that has moved under the wrong density, and the way back no longer "
        "mirrors the way there. Without data all bridges are alike, so the prior comes back; only data show it, "
        "or the books of the moves.",
    ),
    Scenario(
        "thesis",
        "The thesis beside ours",
        LandingSpec(part="thesis"),
        "The acceptance that Berezowski (2021) printed for eight experiments. **Run the comparison** adds ours for the "
        "chosen one, method by method, at a reduced size: on digits 2 chains instead of 16. "
        "The digits are 50 of each class, from those that this app learns from.",
    ),
    Scenario(
        "boston",
        "The thesis on house prices",
        LandingSpec(part="thesis", setting="BH2a", sweeps=200),
        "Here whole **layers** of two units are born and die, on 256 districts of Boston. **Run the comparison** "
        "downloads the table if it is not here, then runs 16 chains of every method, and last the scheme as the thesis "
        "coded it.",
    ),
]
