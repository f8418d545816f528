"""The named settings of this lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.delayed_rejection.spec import DelayedRejectionLesson

SCENARIOS = (
    Scenario(
        "bold",
        "Bold, then timid",
        DelayedRejectionLesson(target="gaussian", correlation=0.8, scale=6.0, shrink=0.2, seed=1),
        "A bold first try mostly lands in the desert and is rejected. Before that counts, a timid second try is made "
        "from the same place. Step through one transition (·›): the thin arrows are the **way back**, on which the "
        "same bold try must fail again.",
    ),
    Scenario(
        "tuned",
        "The scale is right already",
        DelayedRejectionLesson(target="gaussian", correlation=0.8, scale=1.7, shrink=0.2, seed=2),
        "Here plain Metropolis has about its best scale. The second try accepts many more moves, and each costs one "
        "more evaluation of the density. Is it worth it?",
    ),
    Scenario(
        "three",
        "Three tries in a funnel",
        DelayedRejectionLesson(target="funnel", neck=1.5, scale=6.0, stages=3, shrink=0.3, draws=700, seed=3),
        "The mouth wants long steps, the neck short ones, and no single scale suits both. Three tries, each 0.3 times "
        "as long as the one before.",
    ),
    Scenario(
        "leap",
        "Through the failure",
        DelayedRejectionLesson(
            target="two_modes", separation=8.0, weight=0.6, scale=2.0, shrink=0.3, pull=2.0, draws=1000, seed=4
        ),
        "The second try uses where the first failed: it goes on **through** that point, as far again. A failure in "
        "the valley between two modes becomes a bridge. Seen from the other side the way back looks the same, so "
        "nothing is lost in the ratio.",
    ),
    Scenario(
        "away",
        "Away, and no way back",
        DelayedRejectionLesson(target="gaussian", correlation=0.8, scale=3.0, shrink=0.5, pull=-1.0, seed=5),
        "“If it fails to the east, try the west.” It sounds clever and it is exact. But look at the bars $q_1$ and "
        "$q_2$ of the ledger: from the west, the same point in the east is a longer first try, and the opposite of it "
        "is further west, not $x$. The way back hardly exists, so the second try is hardly ever accepted.",
    ),
    Scenario(
        "forgot",
        "Forgot 1 − α",
        DelayedRejectionLesson(
            target="gaussian",
            correlation=0.5,
            scale=0.6,
            shrink=0.5,
            pull=2.0,
            variant="no_rejection_terms",
            draws=1000,
            seed=6,
        ),
        "The second ratio compares densities and proposals, and forgets that on both ways the first try had to "
        "**fail**.",
        failure=True,
        why="Seen from a low point $y_2$ the same $y_1$ looks good and seldom fails, so the path back up is seldom "
        "walked; the factor $1-\\alpha_1$ makes the way down as rare. Without it downhill moves are accepted too "
        "often and the draws spread too wide: see the line marked as what this sampler draws from, a long run of it.",
    ),
    Scenario(
        "subtle",
        "Forgot it, and hardly seen",
        DelayedRejectionLesson(
            target="gaussian", correlation=0.8, scale=6.0, shrink=0.2, variant="no_rejection_terms", seed=1
        ),
        "The same mistake with a bold first and a timid second try. Compare the histogram with the truth.",
        failure=True,
        why="A bold try fails with nearly the same probability from $x$ and from a point near by, so the forgotten "
        "factors almost cancel. What is left is an error of the sd of one per cent or less: no trace, no R-hat and no "
        "short run would tell. The sign *kernel* does, because the judge works out each ratio again. The figure "
        "below the picture shows for which scales the error is larger.",
    ),
)
