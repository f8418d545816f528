"""The named settings of this lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.nuts.spec import NutsLesson

DOUBLING = NutsLesson(target="banana", target_accept=0.9, seed=66)
FIGURE = NutsLesson(
    target="mean",
    correlation=0.6,
    tuning="fixed",
    step_size=0.25,
    warmup=0,
    draws=200,
    sampling="slice",
    start="at",
    start_x=1.5,
    start_y=0.2,
    pace="leapfrogs",
    seed=6,
)
FORMS = NutsLesson(target="gaussian", correlation=0.8, tuning="fixed", step_size=0.4, warmup=0, view="compare", seed=2)
RAVINE = NutsLesson(target="gaussian", correlation=0.95, scale_ratio=3.0, tuning="fixed", step_size=0.1, seed=3)
SHALLOW = RAVINE.replace(step_size=0.02, max_depth=3, view="cost", warmup=0)
FUNNEL = NutsLesson(target="funnel", draws=1000, warmup=500, view="draws", seed=4)
CURE = FUNNEL.replace(target="non_centred", view="tree")
ALIASED = NutsLesson(
    target="gaussian",
    correlation=0.0,
    tuning="fixed",
    step_size=0.1,
    warmup=0,
    draws=1500,
    sampling="slice",
    variant="aliased_momentum",
    view="draws",
    seed=1,
)

SCENARIOS = [
    Scenario(
        "doubling",
        "one doubling at a time",
        DOUBLING,
        "HMC must be told how far to go. NUTS doubles its trajectory, forwards or backwards by a coin, until it turns "
        "back on itself. Press **sub-step** (or *Shift + →*) to see one doubling after the other, and **point at the "
        "tree**: each node is a piece of the orbit.",
    ),
    Scenario(
        "figure",
        "figure 4.1",
        FIGURE,
        "One iteration on the mean of a bivariate normal, with the slice, as in figure 4.1 of Berezowski 2021: four "
        "doublings, the last of which turns. Go back to the first transition and step through it, one leapfrog step at "
        "a time.",
    ),
    Scenario(
        "forms",
        "slice or multinomial",
        FORMS,
        "The same density, start, ε and seed, twice. Left a state counts by its weight exp(H₀ − H); right by a slice: "
        "in or out. The first push is the same; then each goes its own way.",
    ),
    Scenario(
        "waste",
        "wasted leapfrogs",
        DOUBLING.replace(view="cost"),
        "Not every leapfrog step ends up in a trajectory. The dashed line counts those of extensions that were thrown "
        "away: the price for not having to choose a length.",
    ),
    Scenario(
        "shallow",
        "tree too shallow",
        SHALLOW,
        "A tiny ε and at most 3 doublings: nearly every trajectory is cut off after 7 steps, long before any turn.",
        failure=True,
        why="A trajectory of 2³ − 1 = 7 steps of 0.02 covers a time of 0.14. Along the ravine the standard deviation "
        "is about 1, so the chain is a random walk again. The draws stay exact, they only come too slowly. Transitions "
        "at the maximum depth are a warning about cost: ε is too small for the target, or the depth too small.",
    ),
    Scenario(
        "funnel",
        "funnel neck",
        FUNNEL,
        "NUTS chooses how far to go, not how fine to step: one ε for the mouth and for the neck. Crosses mark starts "
        "of **divergent** trajectories. Compare the marginal of v with the dashed truth: its left end is missing.",
        failure=True,
        why="At v the funnel is exp(v/2) wide, and leapfrog needs ε below about twice that. Where it is narrower the "
        "energy explodes, the extension is thrown away, and the chain turns back from the neck. A smaller ε only moves "
        "the border.",
    ),
    Scenario(
        "cure",
        "non-centred cure",
        CURE,
        "The same posterior in other coordinates: sample v and z = x·exp(−v/2), which are independent normals, and "
        "carry each draw back by x = z·exp(v/2). Look into the neck, and for crosses. Point at the tree: the same "
        "orbit in both pictures.",
    ),
    Scenario(
        "aliased",
        "aliased momentum",
        ALIASED,
        "A real bug: in a well-known demo the integrator changes the momentum array of its caller, so that both ends "
        "of a subtree share one momentum. It looks perfect. **Press play** and watch the histograms against the dashed "
        "truth.",
        failure=True,
        why="NUTS is exact because the U-turn test asks the same of a trajectory from whichever of its states it was "
        "begun. With the older end's momentum overwritten the test depends on the direction in which the tree was "
        "built, trajectories end differently there and back, and detailed balance is lost.",
    ),
]
