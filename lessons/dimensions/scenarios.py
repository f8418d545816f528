"""The named settings of this lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.dimensions.spec import DimensionsLesson

SPLIT = DimensionsLesson(effect=0.4, seed=277)

SCENARIOS = [
    Scenario(
        "split",
        "split and merge",
        SPLIT,
        "Thirty measurements in three groups: have they one mean, two, or three? Each sweep tries to **split** a mean "
        "or to **merge** two. **Press play** and compare the bars; press *slow motion* to see one jump in thirteen "
        "parts.",
    ),
    Scenario(
        "polynomial",
        "polynomial degree",
        DimensionsLesson(family="polynomial", models=4, truth=3, data_seed=3, effect=0.4, seed=144),
        "The same with curves: constant, line, parabola or cubic? A birth **appends** a coefficient, a death **drops** "
        "the last. The new one is s times a normal draw, so the map stretches by s.",
    ),
    Scenario(
        "prior",
        "no data",
        SPLIT.replace(likelihood="off"),
        "Switch the likelihood off. Now every model must be visited as often as its **prior** says, one third here. "
        "The cheapest test of any sampler that jumps: it needs no answer, only the prior.",
    ),
    Scenario(
        "no-jacobian",
        "Jacobian forgotten",
        SPLIT.replace(variant="no_jacobian"),
        "The split spreads a cell of (m₁, u) over an area 2s = 3 times as large. This sampler forgets that factor, in "
        "births and in deaths. Rings show where its bars are going.",
        failure=True,
        why="A density per unit of one area is compared with a density per unit of another. A birth’s ratio comes out "
        "3 times too small, a death’s 3 times too large, so every step up the ladder loses a factor of 3. Nothing "
        "looks wrong: the chain mixes well, and all chains agree.",
    ),
    Scenario(
        "no-end-points",
        "ends forgotten",
        SPLIT.replace(variant="no_end_points"),
        "With one mean only a birth is possible, so it is tried with probability 1, not ½. At the other end the same "
        "holds for deaths. This sampler leaves d/b out of its ratio.",
        failure=True,
        why="At the bottom a birth is tried twice as readily as the death that undoes it; at the top it is the other "
        "way round. The factor d/b (½ at the bottom, 2 at the top) pays for it. Without it the middle gains.",
    ),
    Scenario(
        "no-proposal",
        "density of u forgotten",
        SPLIT.replace(variant="no_proposal"),
        "A birth draws u from N(0, 1) and must pay for having chosen it: its ratio holds 1/q(u), a death’s holds q(u). "
        "This sampler forgets both.",
        failure=True,
        why="1/q(u) is at least √(2π) = 2.5: births lose at least that, and deaths gain it. How much depends on u, so "
        "no closed form says where the bars end; the rings come from a long run.",
    ),
    Scenario(
        "one-sided",
        "paid one way only",
        SPLIT.replace(variant="one_sided"),
        "Births have their factor d/b, but deaths were coded later and somebody forgot b/d. A ratio and its reciprocal "
        "no longer match.",
        failure=True,
        why="A birth and the death that undoes it must have reciprocal ratios. Here they have not, so no distribution "
        "is left in balance by each pair of moves; what the chain settles on is an accident of this bug.",
    ),
]
