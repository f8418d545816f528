"""The named settings of this lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.regression.spec import RegressionLesson

STANDARD = RegressionLesson()
NOISY = STANDARD.replace(data_noise=0.6, observations=30)
LINE = STANDARD.replace(data="line", model="line", data_noise=0.4, noise_sd=0.4, observations=12)
OWN = (
    (-2.0, -0.6, 0), (-1.6, -0.9, 0), (-1.2, -1.2, 0), (-0.9, -1.4, 0),
    (0.9, 1.3, 0), (1.2, 1.2, 0), (1.6, 0.9, 0), (2.0, 0.4, 0),
)  # fmt: skip

SCENARIOS = [
    Scenario(
        "gap",
        "A gap in the data",
        STANDARD,
        "24 measurements, none around x = 0.7. **Press ▶**: every purple curve is one network drawn from the posterior "
        "by NUTS, a hypothetical truth. Where nothing was measured they part.",
    ),
    Scenario(
        "one-network",
        "One network",
        STANDARD.replace(method="map"),
        "The most probable network alone, as ordinary training gives it. It draws one curve, through the gap as well.",
        failure=True,
        why="One network has no second opinion: its band is the noise alone, as wide in the gap as on the data, and "
        "the true curve leaves it there. Nothing about this network says where it has not looked.",
    ),
    Scenario(
        "compare",
        "Five methods",
        STANDARD.replace(play="compare"),
        "One network, an ensemble, MC dropout, Laplace and NUTS: the same measurements, network and seed. "
        "Watch the gap and the two ends.",
    ),
    Scenario(
        "wrong-noise",
        "σ three times too small",
        NOISY,
        "The measurements scatter by 0.6, the model is told σ = 0.2. Andersen and Roed-Sørensen (2021) fixed "
        "σ = 1 for house prices in the same way, while their predictions were off by 3.",
        failure=True,
        why="The sampler is right, and the sign *kernel* says so; the *model* is wrong. Told that noise is small, it "
        "takes scatter for shape, bends after it, and draws a band far too narrow. No R-hat notices. Counting does: of "
        "fresh measurements the 90 % band holds far fewer.",
    ),
    Scenario(
        "learned-noise",
        "Noise learned",
        NOISY.replace(noise="learned"),
        "The same measurements, and σ is one unknown more. 0.2 is now only a guess worth two observations; NUTS and "
        "Gibbs take turns.",
    ),
    Scenario(
        "repeat",
        "Many data sets",
        STANDARD.replace(play="repeat", observations=16),
        "One data set can be lucky. The same experiment again and again, each time with new measurements: how often "
        "does the band hold the truth? *Repeat on new data* adds more.",
    ),
    Scenario(
        "line",
        "A straight line, exactly",
        LINE,
        "No hidden layer: Bayesian linear regression, whose posterior is known in closed form. The dashed lines are "
        "exact, and NUTS knows nothing of them.",
    ),
    Scenario(
        "broken",
        "A sampler with a bug",
        LINE.replace(variant="final_accept"),
        "The same line. NUTS with one accept step too many, as a published listing has it.",
        failure=True,
        why="The draws look as lively as before and R-hat is content. But the extra accept step keeps the chain too "
        "long in the middle, so the band is too narrow. Only the exact answer, and the judge of the kernel, tell.",
    ),
    Scenario(
        "own",
        "Your own points",
        STANDARD.replace(data="points", points=OWN, at=0.0),
        "**Click** to add a measurement, **drag** to move it, double-click to remove it; or write them in the list. "
        "Close the gap with one point and see what it takes.",
    ),
]
