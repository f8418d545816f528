"""The named settings of the lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.layers.spec import LayersSpec

FIRST_POINTS = (
    (-0.6, -0.5, 0), (-0.4, -0.6, 0), (0.5, 0.4, 0), (0.6, 0.6, 0),
    (-0.5, 0.6, 1), (-0.6, 0.4, 1), (0.4, -0.5, 1), (0.6, -0.4, 1),
)  # fmt: skip

SCENARIOS = [
    Scenario(
        "few",
        "20 points",
        LayersSpec(),
        "Five points in each cloud, layers of 3 units, 16 chains that start with 1 to 4 hidden layers. Each sweep "
        "moves the weights with NUTS, then proposes to **insert a layer before the output, or to remove the last "
        "one**. **Run the experiment** takes all chains to 1,000 sweeps and then computes the exact answer another "
        "way.",
    ),
    Scenario(
        "many",
        "200 points",
        LayersSpec(corner=50, temper=0.5, step_size=0.03),
        "The same network on the 200 points of the other XOR pages. Watch the traces of L.",
        failure=True,
        why="A new layer mixes all features at random, just before weights that were fitted to the old ones. With 200 "
        "points that costs far too much fit, so nearly every jump is rejected and the chains keep the depth they "
        "started with. The kernel is right: exact draws stay exact. This run is not converged, and the kernel is "
        "useless all the same: see the R-hat of L below. These chains tell next to nothing about depth.",
    ),
    Scenario(
        "noisy",
        "Noisy XOR",
        LayersSpec(data="noisy", temper=0.5),
        "Twenty points of overlapping clouds and a gentle temper: the data say little, so a random layer costs little, "
        "and L moves freely, nearly as its prior has it.",
    ),
    Scenario(
        "shallow",
        "A prior for few layers",
        LayersSpec(prior="geometric", ratio=0.3),
        "Each further layer has 0.3 times the prior probability of the one before: log 0.3 = −1.20 in the ledger of "
        "each birth, +1.20 in that of each death.",
    ),
    Scenario(
        "own-points",
        "Your own points",
        LayersSpec(data="points", points=FIRST_POINTS, step_size=0.1),
        "**Click** into the map of P(class 1) to add a point, **drag** one to move it, double-click or *Delete* to "
        "remove it. Watch the acceptance fall as points are added.",
    ),
    Scenario(
        "end-points",
        "The ends forgotten",
        LayersSpec(variant="no_end_points"),
        "With one layer only a birth is possible, with four only a death: those are chosen with probability 1, "
        "elsewhere with ½. The ratio must say so, by d/b = ½ or 2. Here it does not.",
        failure=True,
        why="The moves into an end are tried half as often as those out of it. Without the factor L = 1 and L = 4 get "
        "half the weight they should have, relative to L = 2 and L = 3. With four depths the ends are half of all "
        "there is.",
    ),
    Scenario(
        "as-coded",
        "The published code",
        LayersSpec(variant="as_coded"),
        "The scheme that Berezowski (2021) published as code, for layers: NUTS runs before and after each jump without "
        "its densities in the ratio, and the ends are forgotten. The long run takes several times as long.",
        failure=True,
        why="NUTS pulls the wild new network towards the posterior before it is judged, so many more jumps are "
        "accepted. That looks like progress. But the ratio leaves out how likely NUTS was to do so: the chain has "
        "another stationary distribution. Without data it does not return its prior.",
    ),
]
