"""Stages of what is counted: noise of a test, images that were learned from, sizes, spreads and constants."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from app.kit.player.scene import Axis
from datasets.xor import NOISY_VARIANCE
from engine.targets.densities import normal_density
from lessons.reproduce.berezowski import EACH_TEST, NOISE_OF_TEST, PAIRS, bayes_accuracy
from lessons.reproduce.errata.blank import EXACT, RIGHT, WRONG, blank
from lessons.reproduce.hubin import CODED, MNIST, PRINTED, density

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Milder noise ---------------------------------------------------------------------------------------------------------

POINTS = 2000


def noisy(variance: float) -> tuple[Array, Flags]:
    """(POINTS, 2) noisy XOR, and (POINTS,) whether the signs of both coordinates tell its class."""
    rng = np.random.Generator(np.random.SFC64(5))
    corners = rng.choice([-0.5, 0.5], (POINTS, 2))
    seen = corners + math.sqrt(variance) * rng.standard_normal(corners.shape)
    return seen, np.sign(seen).prod(axis=1) == np.sign(corners).prod(axis=1)


def milder() -> bytes:
    """The best rule on points with the noise of the training, and with that of the test."""
    made = blank("milder", POINTS, "Noisy XOR by the best rule, with two variances: what is right is known for each.", 200.0)
    made.layout("points*5 right*7", 260)
    seen, right = noisy(NOISY_VARIANCE)
    plane = made.panel("points", title=f"Points of variance {NOISY_VARIANCE:g}", x=Axis("x₁", -1.5, 1.5), y=Axis("x₂", -1.5, 1.5))
    plane.points(
        seen,
        show="upto",
        classes=(~right).astype(int),
        role=["class-0", WRONG],
        shape=["circle", "cross"],
        size=2.4,
        label=["told rightly by the best rule", "told wrongly"],
    )
    shares = made.panel("right", title="Right by the best rule", x="points", y=Axis("%", 84.0, 100.0))
    n, said = np.arange(1.0, POINTS + 1.0), {}
    for variance, role, name in ((NOISY_VARIANCE, RIGHT, "as in training"), (NOISE_OF_TEST, WRONG, "as in the test")):
        said[role] = 100.0 * np.cumsum(noisy(variance)[1]) / n
        shares.line(n, said[role], show="upto", role=role, label=f"variance {variance:g}, {name}")
        shares.rule(y=bayes_accuracy(variance), role=EXACT, dash=True, label="exact" if role == RIGHT else None)
    shares.rule(y=92.0, role="muted", label="printed: 92 %")
    made.say("{n:d} points: {a:.1f} % and {b:.1f} %.", n=n.astype(int), a=said[RIGHT], b=said[WRONG])
    return made.encode()


# Images that were learned from ----------------------------------------------------------------------------------------

OF_A_DIGIT, LEARNED, CLASSES, TESTED = 562, 50, 10, 2000


def by_heart(apart: bool) -> Flags:
    """(TESTED,) what is read right by who knows the training images by heart and guesses all others. apart : whether the
    test images are others than those"""
    rng = np.random.Generator(np.random.SFC64(2))
    known = np.zeros(TESTED, dtype=bool) if apart else rng.random(TESTED) < LEARNED / OF_A_DIGIT
    return known | (rng.random(TESTED) < 1.0 / CLASSES)


def by_heart_exactly(apart: bool) -> float:
    """Its expected accuracy, %."""
    known = 0.0 if apart else LEARNED / OF_A_DIGIT
    return 100.0 * (known + (1.0 - known) / CLASSES)


def learned_from() -> bytes:
    """Who has learned nothing but the images themselves."""
    made = blank(
        "shared", TESTED, "A reader who knows the training images by heart, and nothing else, tested on others and on a mixture.", 200.0
    )
    panel = made.panel(
        "right", title="Knows 50 images of each digit by heart, guesses the rest", x="test images", y=Axis("right (%)", 0.0, 40.0)
    )
    n, said = np.arange(1.0, TESTED + 1.0), {}
    for apart, role, name in ((True, RIGHT, "tested on other images"), (False, WRONG, "on any of all 5,620")):
        said[role] = 100.0 * np.cumsum(by_heart(apart)) / n
        panel.line(n, said[role], show="upto", role=role, label=name)
        panel.rule(y=by_heart_exactly(apart), role=EXACT, dash=True, label="exact" if apart else None)
    made.say("{n:d} images: {a:.1f} % and {b:.1f} %.", n=n.astype(int), a=said[RIGHT], b=said[WRONG])
    return made.encode()


# Sizes ----------------------------------------------------------------------------------------------------------------

OUTPUTS = 41  # values of the output layer's inclusion
DENSITY = 0.057  # as printed


def densities() -> tuple[Array, Array, Array]:
    """(OUTPUTS,) mean inclusion of the output layer; with it the density of the printed network, whose third row would be
    its 600 × 600 layer; and of the coded one, which has no fourth."""
    output = np.linspace(0.0, 1.0, OUTPUTS)
    return output, np.array([density(PRINTED, (*MNIST, share)) for share in output]), np.full(OUTPUTS, density(CODED, MNIST))


def size() -> bytes:
    """Whatever the row that is missing says."""
    output, printed, coded = densities()
    made = blank("size", OUTPUTS, "The density of a draw by the rows of the table, for two networks.", 10.0)
    panel = made.panel(
        "density",
        title="Density that the rows of the table give",
        x="inclusion in the output layer, if its row is missing",
        y=Axis("density", 0.0, 0.15),
    )
    panel.line(output, printed, show="upto", role=WRONG, label="784-400-600-600-10, as printed")
    panel.line(output, coded, show="upto", role=RIGHT, label="784-400-600-10, as coded")
    panel.rule(y=DENSITY, role=EXACT, dash=True, label=f"printed: {DENSITY:g}")
    made.say("Output layer {o:.2f}: {a:.4f} as printed, {b:.4f} as coded.", o=output, a=printed, b=coded)
    return made.encode()


# Spread and error -----------------------------------------------------------------------------------------------------

FOLDS, SETS = 10, 300


def fold_means() -> Array:
    """(SETS,) means of ten errors of mean 0 and sd 1."""
    return np.random.Generator(np.random.SFC64(4)).standard_normal((SETS, FOLDS)).mean(axis=1)


def folds() -> bytes:
    """How far the mean of ten errors scatters."""
    means, grid = fold_means(), np.linspace(-2.0, 2.0, 161)
    made = blank("folds", SETS, "Means of ten errors: they scatter by the standard error, and not by the spread of the ten.", 40.0)
    panel = made.panel("means", title="Means of ten errors with sd 1", x=Axis("mean", -2.0, 2.0), y=Axis("density", 0.0, 1.5))
    panel.histogram(means, bins=(-2.0, 2.0, 40), role="muted", label="means so far")
    for sd, role, name in ((1.0 / math.sqrt(FOLDS), RIGHT, "normal with sd 1/√10"), (1.0, WRONG, "normal with sd 1: the bracket")):
        panel.line(grid, normal_density(0.0, sd)(grid), role=role, label=name)
    so_far = np.array([means[: n + 1].std() for n in range(SETS)])
    made.say("{n:d} means: their sd is {sd:.3f}; 1/√10 is 0.316.", n=np.arange(1, SETS + 1), sd=so_far)
    return made.encode()


# A scale that has seen the test ---------------------------------------------------------------------------------------

ROWS, SPLITS = 506, 300


def shifts() -> Array:
    """(SPLITS,) by how much the mean of half of the rows differs from that of all, in sd of all."""
    rng = np.random.Generator(np.random.SFC64(8))
    rows = rng.standard_normal(ROWS)
    rows = (rows - rows.mean()) / rows.std()
    return np.array([rng.permutation(rows)[: ROWS // 2].mean() for _ in range(SPLITS)])


def scales() -> bytes:
    """How far a scale of the training rows is from one of all rows."""
    drawn, grid, sd = shifts(), np.linspace(-0.2, 0.2, 161), math.sqrt(0.5 / (ROWS // 2))
    made = blank("split", SPLITS, "By how much the centre of half of the rows differs from that of all.", 40.0)
    panel = made.panel("shift", title="Mean of 253 rows, less that of all 506", x=Axis("sd", -0.2, 0.2), y=Axis("density", 0.0, 12.0))
    panel.histogram(drawn, bins=(-0.2, 0.2, 20), role=WRONG, label="splits so far")
    panel.line(grid, normal_density(0.0, sd)(grid), role=EXACT, label=f"normal with sd {sd:.3f}")
    so_far = np.sqrt(np.cumsum(drawn**2) / np.arange(1, SPLITS + 1))
    made.say("{n:d} splits: they shift it by {sd:.3f} sd.", n=np.arange(1, SPLITS + 1), sd=so_far)
    return made.encode()


# Whole numbers --------------------------------------------------------------------------------------------------------

ROUNDED = 0.005  # %, half of the last printed digit
AROUND = 0.12  # % that is looked at on either side of a print


def whole_pairs(run: str, at: float) -> Array:
    """(n, 2) precision and recall in % that whole numbers of images give around the printed pair of a run: right and
    confident over confident, and over right."""
    right, precision, recall = PAIRS[run, at]
    found = []
    for confident in range(right + 1):
        if abs(100.0 * confident / right - recall) < AROUND:
            called = np.arange(confident, EACH_TEST[run] + 1)
            shares = 100.0 * confident / called
            found += [(share, 100.0 * confident / right) for share in shares[np.abs(shares - precision) < AROUND]]
    return np.array(found)


def printed_whole(run: str, at: float) -> bool:
    """Whether one of these pairs rounds to what is printed."""
    apart = np.abs(whole_pairs(run, at) - PAIRS[run, at][1:])
    return bool((apart <= ROUNDED).all(axis=1).any())


def whole() -> bytes:
    """Two printed pairs that no images give, beside one that some do."""
    runs = (("5a", 0.4), ("10a", 0.2), ("10b", 0.4))
    found = [whole_pairs(*run) for run in runs]
    steps = max(map(len, found))
    made = blank("whole", steps, "Precision and recall that whole numbers of images give, and the printed pairs.", 8.0)
    made.layout("five*4 ten*4 other*4", 260)
    for id, run, pairs in zip(("five", "ten", "other"), runs, found, strict=True):
        _, x, y = PAIRS[run]
        panel = made.panel(
            id,
            title=f"Run {run[0]}, threshold {run[1]:g}",
            x=Axis("precision (%)", x - AROUND, x + AROUND),
            y=Axis("recall (%)", y - AROUND, y + AROUND),
        )
        one_by_one = np.full((steps, 2), np.nan)
        one_by_one[: len(pairs)] = pairs
        panel.points(one_by_one, show="upto", role=RIGHT, size=3.0, label="whole numbers of images")
        box = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]]) * ROUNDED + [x, y]
        panel.path(box, role=WRONG, width=2.0, label="printed, with its rounding")
    made.say("The first pair is one of whole numbers of images; the others are not.")
    return made.encode()


# e to the γ -----------------------------------------------------------------------------------------------------------

LOG_SD, DRAWS = 0.7, 600


def transformed() -> Array:
    """(DRAWS,) θ = e^γ z, z ~ N(0, 1)."""
    return math.exp(LOG_SD) * np.random.Generator(np.random.SFC64(6)).standard_normal(DRAWS)


def exponents() -> bytes:
    """Draws of q beside the two variances."""
    draws, grid = transformed(), np.linspace(-7.0, 7.0, 181)
    made = blank("variational", DRAWS, "Draws of θ = e^γ z beside normals of variance e^(2γ) and e^γ.", 60.0)
    panel = made.panel("draws", title=f"θ = e^γ z with γ = {LOG_SD:g}", x=Axis("θ", -7.0, 7.0), y=Axis("density", 0.0, 0.35))
    panel.histogram(draws, bins=(-7.0, 7.0, 40), role="muted", label="draws")
    for variance, role, name in ((math.exp(2 * LOG_SD), RIGHT, "variance e^(2γ)"), (math.exp(LOG_SD), WRONG, "variance e^γ, as printed")):
        panel.line(grid, normal_density(0.0, math.sqrt(variance))(grid), role=role, label=name)
    n = np.arange(1, DRAWS + 1)
    made.say(
        "{n:d} draws: variance {v:.2f}; e^(2γ) is {r:.2f}, e^γ {w:.2f}.",
        n=n,
        v=np.cumsum(draws**2) / n,
        r=np.full(DRAWS, math.exp(2 * LOG_SD)),
        w=np.full(DRAWS, math.exp(LOG_SD)),
    )
    return made.encode()


# A constant -----------------------------------------------------------------------------------------------------------

PIECES = 100


def area(height: float) -> Array:
    """(PIECES + 1,) area from 0 to each p under the density height * p."""
    return 0.5 * height * np.linspace(0.0, 1.0, PIECES + 1) ** 2


def constant() -> bytes:
    """The area under 2p and under p."""
    p = np.linspace(0.0, 1.0, PIECES + 1)
    made = blank("coin", PIECES + 1, "Two densities after one head, and the areas below them: only one comes to 1.", 30.0)
    made.layout("density*6 area*6", 220)
    left = made.panel("density", title="After one head", x=Axis("p", 0.0, 1.0), y=Axis("density", 0.0, 2.1))
    right = made.panel("area", title="Area from 0 to p", x=Axis("p", 0.0, 1.0), y=Axis("probability", 0.0, 1.1))
    for height, role, name in ((2.0, RIGHT, "2p"), (1.0, WRONG, "p, as printed")):
        left.line(p, height * p, show="upto", role=role, label=name)
        right.line(p, area(height), show="upto", role=role, label=name)
    right.rule(y=1.0, role=EXACT, dash=True, label="all there is")
    made.say("Up to {p:.2f}: {a:.2f} and {b:.2f}.", p=p, a=area(2.0), b=area(1.0))
    return made.encode()
