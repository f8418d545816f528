"""The named settings of this lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.perceptron.spec import PerceptronLesson

FIRST = PerceptronLesson(gap=0.03, seed=4)
CLOUDS = PerceptronLesson(part="network", data="clouds", units=2, seed=4)
NODES = PerceptronLesson(part="nodes", data="xor", seed=1)
RACE = PerceptronLesson(part="race", correlation=0.8, scale_ratio=3.0, length=1.2, start_x=-2.5, start_y=0.3)
OWN_POINTS = (
    (-0.9, 0.8, 0), (-0.2, 0.9, 0), (0.7, 0.9, 0), (0.9, -0.2, 0), (0.6, -0.9, 0), (-0.5, -0.9, 0), (-1.0, -0.1, 0),
    (0.0, 0.1, 1), (0.2, -0.2, 1), (-0.2, 0.2, 1), (-0.1, -0.2, 1), (0.3, 0.2, 1),
)  # fmt: skip

SCENARIOS = [
    Scenario(
        "separable",
        "one unit, one line",
        FIRST,
        "The perceptron looks at one point after another. A point on the wrong side (cross) moves the line, the others "
        "do nothing. **Press play.** It stops when a whole round is right: the dashed bound says how many mistakes it "
        "can make at most.",
    ),
    Scenario(
        "xor",
        "XOR: for ever",
        PerceptronLesson(data="xor"),
        "Four points, the classes across. Watch the weights on the right: they walk round and come back to exactly "
        "the same values.",
        failure=True,
        why="No line has both squares on one side and both circles on the other, so every round has a mistake. After "
        "the first round the weights repeat themselves exactly, in whole numbers, and so does everything after: it "
        "does not learn slowly, it never learns.",
    ),
    Scenario(
        "one-unit",
        "one hidden unit",
        CLOUDS.replace(units=1, seed=1),
        "A hidden unit bends: it answers with a number between −1 and 1, and the loss has a slope. But one unit still "
        "has one line (dashed, z = 0).",
        failure=True,
        why="The output can only rise or fall along one direction. Three clouds can be right at best; the fourth has "
        "to be given up, whatever the optimiser.",
    ),
    Scenario(
        "two-units",
        "two hidden units",
        CLOUDS,
        "Two units, two lines: the output can be high between them and low outside. From these first weights the "
        "boundary of XOR appears.",
    ),
    Scenario(
        "stuck",
        "two units, other weights",
        CLOUDS.replace(seed=1),
        "The very same network and points, begun with other random weights.",
        failure=True,
        why="The loss has places where every small step goes up although a better place exists: a local minimum or a "
        "long flat. The figure below counts how often it happens, and how a third or fourth unit opens a way round.",
    ),
    Scenario(
        "three-units",
        "three hidden units",
        CLOUDS.replace(units=3, seed=1),
        "One unit more than needed, and training succeeds from nearly everywhere: spare units are spare ways down.",
    ),
    Scenario(
        "own-points",
        "your own points",
        CLOUDS.replace(data="points", points=OWN_POINTS, units=4, seed=2),
        "**Click** into the plane to add a point of the chosen class, **drag** one to move it, double-click to remove "
        "it. How few units can hold an island? By keyboard: the list of points in the settings.",
    ),
    Scenario(
        "pass",
        "one point, there and back",
        NODES,
        "One point goes through the network node by node, then the error comes back. Step with **→** and read the "
        "line of arithmetic. The diamonds are the same derivatives taken another way: move a weight a little, look "
        "at the loss.",
    ),
    Scenario(
        "forgot",
        "forgot φ′",
        NODES.replace(variant="no_slope"),
        "The most common slip in a backward pass: the error travels back through the weights, and the slope of the "
        "activation is left out. Compare bars and diamonds at the end.",
        failure=True,
        why="δ of a hidden unit is φ′(z) times what arrives. Where the unit is nearly flat the true derivative is "
        "small, and the wrong one is not. Only the output layer, which has no φ, stays right.",
    ),
    Scenario(
        "vanishing",
        "two layers of sigmoid",
        NODES.replace(activation="sigmoid", depth=2, seed=5),
        "A sigmoid's slope is never above 1/4. Each layer on the way back multiplies by it: watch how much "
        "smaller δ is in the first layer than at the output.",
    ),
    Scenario(
        "race",
        "race on a ravine",
        RACE,
        "Five optimisers start at one place of a narrow ravine. Along it the slope is gentle, across it is steep. "
        "**Press play** and see who is at the bottom first.",
    ),
    Scenario(
        "too-long",
        "a step too long",
        RACE.replace(length=2.05, momentum=0.5, racing=60),
        "Steps only a little longer than 2/L.",
        failure=True,
        why="A step η across the ravine multiplies the distance by 1 − ηL. Beyond η = 2/L that is below −1: plain "
        "descent jumps from wall to wall, higher each time. Nesterov's rule leaves even earlier, plain momentum "
        "later.",
    ),
    Scenario(
        "valley",
        "a bent valley",
        RACE.replace(target="banana", start_x=-3.0, start_y=6.0, length=0.2, racing=200, adaptive=0.1),
        "The valley bends, so no single direction is right for long. Choose *your own formula* for a surface of yours.",
    ),
]
