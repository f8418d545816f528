"""The named settings of this lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.tuning.spec import TuningLesson

ONE = TuningLesson(correlation=0.5, mass="identity", warmup=200, draws=200, seed=1)
SCALES = TuningLesson(correlation=0.0, scale_ratio=100.0, seed=3)
TILTED = TuningLesson(correlation=0.99, mass="dense", seed=4)
BENT = TuningLesson(
    target="banana", curvature=1.0, width=3.0, warmup=1000, draws=2000, view="pair", third="estimate", seed=4
)
FOR_EVER = TuningLesson(target="banana", after="adapting", third="estimate", draws=2000, seed=2)

SCENARIOS = [
    Scenario(
        "step",
        "one step size",
        ONE,
        "Left of the solid rule the sampler tunes itself. After each transition it compares its acceptance with the "
        "target δ and makes ε longer or shorter. **Press play**, or *slow motion* to do the sum of each update.",
    ),
    Scenario(
        "deltas",
        "δ 0.6 / 0.8 / 0.95",
        ONE.replace(view="three"),
        "Three samplers side by side, each with its own target δ. The more acceptance one asks for, the shorter the "
        "steps, and the more gradients a draw costs.",
    ),
    Scenario(
        "scales",
        "mass windows",
        SCALES,
        "x₁ is 100 times as wide as x₂, and the map is stretched to show both. At first the sampler believes in a "
        "round world: an ellipse so tall that only its sides are on this map. Watch it shrink to the true one at the "
        "first dashed rule, and the cost fall.",
    ),
    Scenario(
        "dense",
        "dense mass",
        TILTED,
        "Equal widths, correlation 0.99. Widths alone do not help here; a **dense** mass learns the tilt too, and the "
        "ellipse turns. Set *Mass* to diagonal to see the difference.",
    ),
    Scenario(
        "banana",
        "δ = 0.8 fails",
        BENT,
        "A strongly bent banana, δ = 0.8 against 0.99. Both samplers are exact. But 0.8 picks a step that is too long "
        "for the narrow arms: its average of x₂² is mostly far from the exact one after thousands of draws. Try other "
        "seeds: too low, now and then far too high, seldom right.",
        failure=True,
        why="δ is an average over the whole path. Steps that are accepted well in the wide middle diverge in the arms, "
        "where the curvature is strongest, and the arms are what x₂² is made of. When such a chain does get in, it "
        "stays for a long time. A mass matrix cannot help: it is one matrix for all places.",
    ),
    Scenario(
        "none",
        "no warm-up",
        ONE.replace(mass="diagonal", warmup=0, draws=300, third="estimate", seed=3),
        "No warm-up at all, on the mild Gaussian of *one step size*. Every chain keeps its first guess of ε, and the "
        "four guesses lie far apart (pale lines): some chains crawl, others are refused nearly every time.",
        failure=True,
        why="The first guess is a power of two: it doubles or halves until a single step, with one random momentum, "
        "crosses acceptance 0.8. One lucky momentum is enough to be several times off. The draws are still right in "
        "the long run, but each chain pays for its guess, and no mass is learnt.",
    ),
    Scenario(
        "for-ever",
        "never stops tuning",
        FOR_EVER,
        "The same update, but it never ends. The draws look fine. Watch the lowest panel: where do the averages of "
        "the four chains go?",
        failure=True,
        why="ε then depends on where the chain has just been: it grows in the wide middle and is too long when the "
        "chain comes to an arm, so it is turned away there. Each step alone is exact for its ε; the sequence is not. "
        "Tuning must stop before the draws that count, or fade away fast enough.",
    ),
]
