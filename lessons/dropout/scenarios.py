"""The named settings of the lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.dropout.spec import DropoutSpec

FIRST_POINTS = ((-2.0, -1.0, 0), (-1.6, -0.4, 0), (-1.3, 0.3, 0), (1.0, 1.0, 0), (1.4, 0.4, 0), (1.9, -0.6, 0))

SCENARIOS = [
    Scenario(
        "passes",
        "Pass by pass",
        DropoutSpec(),
        "Twenty points with a gap between them. Training switched hidden units off at random; here that goes on "
        "**afterwards**: every pass drops other units, and draws another function.",
    ),
    Scenario(
        "unscaled",
        "1/p forgotten",
        DropoutSpec(scaling="none", keep=0.6),
        "Trained and sampled as before, only the units that are kept are not scaled up by 1/p. Look at the dashed line "
        "of the network with dropout **switched off**.",
        failure=True,
        why="In training the next layer hears each unit in a share p of the passes only, and sets its weights for that "
        "level. Switched off, all units speak at once: without the bias, the sum is 1/p times the average. Passes "
        "with masks are still right among themselves; the mean network, which most people use, is not.",
    ),
    Scenario(
        "more-data",
        "More data, no surer",
        DropoutSpec(rows=80),
        "Four times the points, p as before. A posterior's sd at the data falls about like 1/√n. Dropout's?",
        failure=True,
        why="The band is made of masks, and how masks are drawn does not depend on n. Its sd has a floor, "
        "|f̄(x) − b| √((1 − p)/(p k)), in which neither n nor the distance from the data stands. The panel *More data* "
        "draws both against n.",
    ),
    Scenario(
        "few-masks",
        "Eight masks",
        DropoutSpec(units=3, activation="relu", keep=0.6, probe=1.5),
        "Three units, now ReLUs, make eight masks, so f(x*) can take eight values at most, **wherever** x* is. The "
        "histogram is a few spikes in two heaps with nothing between, and no smooth density.",
        failure=True,
        why="A unit that carries the function on its side is in or out, and the two heaps are its two states. The "
        "average lies between them, where no single network goes. The posterior is one hump around the lower heap: "
        "half of its probability lies in the gap that the masks leave empty, and hardly any at dropout's average. See "
        "*One place, two distributions* below. More units blur the spikes; they do not make them a posterior.",
    ),
    Scenario(
        "xor",
        "XOR",
        DropoutSpec(data="xor", rows=100, units=8, keep=0.8, probe=0.0),
        "Four clouds in two classes, now as maps: the average of the passes, this pass's network, and the sd of "
        "P(class 1). Press *Sample the posterior* to put its map beside them, on one scale.",
    ),
    Scenario(
        "concrete",
        "Let it learn p",
        DropoutSpec(method="concrete_dropout"),
        "Concrete dropout learns a p for the inputs and one for the units, with the weights. See the card for what it "
        "settles on.",
    ),
    Scenario(
        "own-points",
        "Your own points",
        DropoutSpec(data="points", points=FIRST_POINTS),
        "**Click** into the large picture to add a point, **drag** one, double-click or *Delete* removes it. The "
        "network is trained anew each time. By keyboard: the list in the settings.",
    ),
]
