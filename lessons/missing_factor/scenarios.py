"""The named settings of the lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.missing_factor.spec import MissingSpec

SCENARIOS = [
    Scenario(
        "slot",
        "Slot counted once",
        MissingSpec(),
        "Above, births carry the factor 1/(k + 1) for the slot, and deaths do not give it back. Below, the right "
        "scheme with the same budget. **Press “Run both schemes”.**",
        failure=True,
        why="A birth chooses one of k + 1 slots, and the death that undoes it chooses one of k + 1 units. The two "
        "factors 1/(k + 1) cancel. Written down only once, the factor makes every birth k + 1 times less welcome, and "
        "large networks rare. It looks like a preference for small networks; nobody chose it.",
    ),
    Scenario(
        "no-data",
        "Without data",
        MissingSpec(data="none"),
        "No data: the posterior is the prior, and every k is equally probable. The scheme finds small networks all the "
        "same.",
        failure=True,
        why="Without data every birth and death has likelihood ratio 1, so what the chain prefers is what the scheme "
        "adds by itself: here 1/k!, and twice that at the largest k. A razor that cuts before it has seen data is "
        "not Occam's.",
    ),
    Scenario(
        "ends",
        "End points forgotten",
        MissingSpec(variant="no_end_points"),
        "With one unit only a birth is possible, so it is certain; from two units the death back has probability ½. "
        "The ratio ½ is left out, and the 2 at the other end.",
        failure=True,
        why="Relative to the others, the end sizes come out half as probable as they are. On XOR the largest k is the "
        "most probable one, so much of its share goes to the others.",
    ),
    Scenario(
        "jacobian",
        "Jacobian forgotten",
        MissingSpec(variant="no_jacobian", jump="rescaled"),
        "Here a birth also multiplies the kept output weights by √(k/(k + 1)), so that the network's output stays of "
        "the same size. The volume that this shrinks belongs into the ratio.",
        failure=True,
        why="Every birth seems to come from a larger volume than it does. p(k) is multiplied by kᵏ/k!, nearly a factor "
        "e a unit: the opposite of a razor.",
    ),
    Scenario(
        "densities",
        "Kernel densities dropped",
        MissingSpec(variant="no_kernel_densities", sweeps=400, burn=40),
        "A short NUTS before and after each jump, as a helper. The densities of those moves are left out of the ratio. "
        "Slow: each jump costs two NUTS runs.",
        failure=True,
        why="The ratio compares the network before with one that NUTS has had time to improve, and pretends that the "
        "improvement was luck. Both k and the weights come out wrong: without data, the weights come out too small.",
    ),
    Scenario(
        "as-coded",
        "As coded",
        MissingSpec(variant="as_coded"),
        "All three together, as we read the thesis's public code: slot counted once, no end points, no kernel "
        "densities. 16 chains from k = 1 to 16, 1,000 sweeps, as in its XOR experiment. Takes a minute or two.",
        failure=True,
        why="The slot factor pulls towards small k. The dropped densities make the ratio swing by many nats, both "
        "ways, and beside that a factor 1/(k + 1) counts for less. Together: a broad histogram that is neither the "
        "posterior nor the one that the thesis prints (mode 7).",
    ),
    Scenario(
        "noisy",
        "As coded, noisy XOR",
        MissingSpec(variant="as_coded", data="noisy"),
        "The second experiment of the thesis: clouds of variance 0.1, printed mode 8.",
        failure=True,
        why="As on XOR: a factor that is left over, and densities that are missing. A mode that moves from 7 to 8 "
        "cannot be read as a need for capacity before the scheme is right.",
    ),
    Scenario(
        "right",
        "All factors in place",
        MissingSpec(variant="exact"),
        "The right scheme alone. Run it: the diamonds that appear at the end come from annealing, which never jumps.",
    ),
]
