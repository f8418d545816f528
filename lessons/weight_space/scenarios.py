"""The named settings of this lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.weight_space.spec import WeightSpaceSpec

SWITCH = WeightSpaceSpec(seed=2)  # its four chains settle in four corners
TWO_HUMPS = WeightSpaceSpec(
    view="predictive", data="gap", units=1, prior_sd=4.0, noise_sd=0.15, second="b1", at=0.0, draws=400, warmup=500
)
UNMIXED = WeightSpaceSpec(
    view="predictive", data="uneven", units=1, prior_sd=2.0, noise_sd=0.3, second="b1", at=-1.5, draws=400, seed=12
)

SCENARIOS = [
    Scenario(
        "switch",
        "four chains, one curve",
        SWITCH,
        "Four chains learn the same hump with two tanh units. On the left each sits in a corner of its own (a seed "
        "chosen for it: often two share one), on the right they draw the same curve. Diamonds are the copies of the "
        "present draw: other weights, the same function. **Press play**, or step slowly to see a draw sent to one "
        "of its copies.",
    ),
    Scenario(
        "four-units",
        "384 copies",
        SWITCH.replace(units=4, symmetry="permute", second="v1", draws=200),
        "Four units can stand in 24 orders, and each can flip its sign: $24 \\cdot 2^4 = 384$ copies of every draw. "
        "Spare units make paths between the copies: compare the R-hat of the weights with that of two units.",
    ),
    Scenario(
        "sorted",
        "units sorted",
        SWITCH.replace(order="bend"),
        "Of all copies of a draw take the one with $w_j > 0$ and the units in order of where they bend, $-b_j/w_j$. "
        "The four corners fall onto one cloud, and R-hat of the weights is as good as that of the function.",
    ),
    Scenario(
        "sorted-badly",
        "sorted by the wrong weight",
        SWITCH.replace(order="output"),
        "Now the rule is $v_j > 0$, the largest $v_j$ first. R-hat is as good as before, and yet there are two clouds: "
        "compare the average weights in the figure below.",
        failure=True,
        why="Both units have about the same $v$, so which is larger changes from draw to draw: unit 1 is now the "
        "step up, now the step down. Every chain mixes over this, so R-hat is content, but an average of such "
        "weights belongs to no network. A sorting rule makes the copies one; it gives a unit no identity.",
    ),
    Scenario(
        "forgot-bias",
        "a bias forgotten",
        SWITCH.replace(symmetry="flip", mistake="forget_bias"),
        "Unit 1 flips the signs of $w$ and $v$, and keeps its bias $b$. Step slowly: the copy draws another curve, and "
        "the sign *kernel* is red.",
        failure=True,
        why="$-v \\tanh(-wx + b)$ is $v \\tanh(wx - b)$, not $v \\tanh(wx + b)$. The prior does not notice, since it "
        "does not mind signs; the data do.",
    ),
    Scenario(
        "xor",
        "XOR, two ways",
        WeightSpaceSpec(data="xor", prior_sd=3.0, second="u1", symmetry="permute"),
        "Two units solve XOR in more than one way: one class may be joined across the middle, or the other. The "
        "function is shown along the circle through the four corners. Here R-hat of $f$ is no longer fine: not "
        "every disagreement of the weights is harmless.",
    ),
    Scenario(
        "two-humps",
        "two humps: uncertainty",
        TWO_HUMPS,
        "Nobody has measured between −0.8 and 0.8. One unit makes a step, and it may be anywhere in the gap. So at "
        "$x' = 0$ the curve is most likely high or low, hardly ever between. **Press play**: every chain visits both.",
    ),
    Scenario(
        "unmixed",
        "two humps: unmixed chains",
        UNMIXED,
        "Three levels, but one unit makes one step only: it goes up on the left or down on the right. All chains "
        "together have two humps, as before. Look at the chains one by one, and at the dashed exact density.",
        failure=True,
        why="Each chain stays where its warm-up left it: between the two steps lie curves that fit badly. "
        "How large each hump is tells how many chains started near it, not how probable it is. "
        "With two chains in each, a draw of all looks perfectly uncertain.",
    ),
]
BY_ID = {scenario.id: scenario.spec for scenario in SCENARIOS}
