"""The named settings of the lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.xor_methods.spec import MethodsSpec

FEW = ((-0.6, -0.5, 0), (0.5, 0.5, 0), (-0.5, 0.6, 1), (0.6, -0.4, 1))
ONE_OUT = (
    (-0.6, -0.5, 0), (-0.4, -0.6, 0), (-0.5, -0.3, 0), (0.5, 0.4, 0), (0.6, 0.6, 0), (0.3, 0.5, 0),
    (-0.5, 0.6, 1), (-0.6, 0.4, 1), (-0.3, 0.5, 1), (0.4, -0.5, 1), (0.6, -0.4, 1), (0.5, -0.3, 1),
    (2.2, 2.2, 1),
)  # fmt: skip

SCENARIOS = [
    Scenario(
        "six",
        "Six answers",
        MethodsSpec(),
        "The same 48 points, the same network, the same prior. NUTS on the left, a trained ensemble on the right, all "
        "six below. The colours near the data agree. **Look away from the data.**",
    ),
    Scenario(
        "noisy",
        "Noisy XOR",
        MethodsSpec(data="noisy", corner=30, step_size=0.06, leapfrog=50, compare="advi"),
        "The clouds overlap, so every method is unsure between them: that part is **aleatoric**, and all six find "
        "it. The epistemic part is where they differ.",
    ),
    Scenario(
        "few",
        "Four points",
        MethodsSpec(data="points", points=FEW, prior_sd=2.0, step_size=0.2, compare="ensemble"),
        "One point a corner and a wide prior. With so little to fit, the most probable network is the flat one: every "
        "member of the ensemble is it, and all agree on a coin. NUTS says that nearly anything is possible. **Click** "
        "into the large left map to add a point, **drag** one: all six learn anew.",
    ),
    Scenario(
        "far-out",
        "A point far out",
        MethodsSpec(data="points", points=ONE_OUT, prior_sd=2.0, compare="advi"),
        "One point of class 1 stands alone beyond the corner of class 0, and turns the average all around it. **Drag** "
        "it about: how far does a single point reach, in each of the maps?",
    ),
    Scenario(
        "sure",
        "Sure far from data",
        MethodsSpec(corner=50, step_size=0.06, leapfrog=50, epochs=3000, method="ensemble", compare="nuts"),
        "Two hundred points and eight trained networks. Compare the two epistemic maps away from the clouds.",
        failure=True,
        why="Training ends at a mode of the posterior, and with these data nearly every start finds the same mode, "
        "up to the order and signs of the hidden units. Such copies are one function. They cannot disagree, near the "
        "data or far away, so the ensemble takes its own extrapolation for knowledge. More members would add little; "
        "the width of the posterior around the mode is what is missing.",
    ),
    Scenario(
        "never-reject",
        "Never reject",
        MethodsSpec(method="hmc", compare="nuts", step_size=0.25, variant="always_accept"),
        "Break it: HMC with a long step, and the end of every path is taken, right or not.",
        failure=True,
        why="Each path gains energy that the Metropolis rule would have refused. The chains drift out to huge "
        "weights, where networks are cliffs that contradict one another, in the clouds as well. They agree with one "
        "another about that, so R-hat sees nothing; the trial of the kernel does, and so does the comparison with "
        "NUTS: the signs *kernel* and *numbers* are red.",
    ),
]
