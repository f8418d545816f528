"""Stages of what is counted: noise of a test, images that were learned from, sizes, spreads and constants."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from app.kit.player.scene import Axis
from datasets.images import digits, principal_components, stratified
from datasets.xor import NOISY_VARIANCE
from engine.targets.densities import normal_density
from lessons.reproduce.berezowski import EACH_TEST, NOISE_OF_TEST, PAIRS, bayes_accuracy, standardised
from lessons.reproduce.errata.blank import EXACT, RIGHT, WORDS, WRONG, blank, tell
from lessons.reproduce.hubin import CODED, FAMILIES, MNIST, PRINTED, density

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
    made = blank("milder", POINTS, WORDS.phrase("milder.picture"), 200.0)
    made.layout("points*5 right*7", 260)
    seen, right = noisy(NOISY_VARIANCE)
    plane = made.panel(
        "points", title=WORDS.phrase("milder.points", variance=NOISY_VARIANCE), x=Axis("x₁", -1.5, 1.5), y=Axis("x₂", -1.5, 1.5)
    )
    plane.points(
        seen,
        show="upto",
        classes=(~right).astype(int),
        role=["class-0", WRONG],
        shape=["circle", "cross"],
        size=2.4,
        label=[WORDS.phrase("milder.rightly"), WORDS.phrase("milder.wrongly")],
    )
    shares = made.panel("right", title=WORDS.phrase("milder.right"), x=WORDS.phrase("milder.seen"), y=Axis("%", 84.0, 100.0))
    n, said = np.arange(1.0, POINTS + 1.0), {}
    for variance, role, name in (
        (NOISY_VARIANCE, RIGHT, WORDS.phrase("milder.training")),
        (NOISE_OF_TEST, WRONG, WORDS.phrase("milder.test")),
    ):
        said[role] = 100.0 * np.cumsum(noisy(variance)[1]) / n
        shares.line(n, said[role], show="upto", role=role, label=WORDS.phrase("milder.variance", variance=variance, name=name))
        shares.rule(y=bayes_accuracy(variance), role=EXACT, dash=True, label=WORDS.phrase("common.exact") if role == RIGHT else None)
    shares.rule(y=92.0, role="muted", label=WORDS.phrase("milder.printed"))
    tell(made, WORDS.phrase("milder.said"), n=n.astype(int), a=said[RIGHT], b=said[WRONG])
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
    made = blank("shared", TESTED, WORDS.phrase("shared.picture"), 200.0)
    panel = made.panel(
        "right", title=WORDS.phrase("shared.title"), x=WORDS.phrase("shared.images"), y=Axis(WORDS.phrase("shared.right"), 0.0, 40.0)
    )
    n, said = np.arange(1.0, TESTED + 1.0), {}
    for apart, role, name in ((True, RIGHT, WORDS.phrase("shared.apart")), (False, WRONG, WORDS.phrase("shared.any"))):
        said[role] = 100.0 * np.cumsum(by_heart(apart)) / n
        panel.line(n, said[role], show="upto", role=role, label=name)
        panel.rule(y=by_heart_exactly(apart), role=EXACT, dash=True, label=WORDS.phrase("common.exact") if apart else None)
    tell(made, WORDS.phrase("shared.said"), n=n.astype(int), a=said[RIGHT], b=said[WRONG])
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
    made = blank("size", OUTPUTS, WORDS.phrase("size.picture"), 10.0)
    panel = made.panel(
        "density", title=WORDS.phrase("size.title"), x=WORDS.phrase("size.inclusion"), y=Axis(WORDS.phrase("common.density"), 0.0, 0.15)
    )
    panel.line(output, printed, show="upto", role=WRONG, label=WORDS.phrase("size.printed_network"))
    panel.line(output, coded, show="upto", role=RIGHT, label=WORDS.phrase("size.coded_network"))
    panel.rule(y=DENSITY, role=EXACT, dash=True, label=WORDS.phrase("size.printed", density=DENSITY))
    tell(made, WORDS.phrase("size.said"), o=output, a=printed, b=coded)
    return made.encode()


# Spread and error -----------------------------------------------------------------------------------------------------

FOLDS, SETS = 10, 300


def fold_means() -> Array:
    """(SETS,) means of ten errors of mean 0 and sd 1."""
    return np.random.Generator(np.random.SFC64(4)).standard_normal((SETS, FOLDS)).mean(axis=1)


def folds() -> bytes:
    """How far the mean of ten errors scatters."""
    means, grid = fold_means(), np.linspace(-2.0, 2.0, 161)
    made = blank("folds", SETS, WORDS.phrase("folds.picture"), 40.0)
    panel = made.panel(
        "means",
        title=WORDS.phrase("folds.title"),
        x=Axis(WORDS.phrase("folds.mean"), -2.0, 2.0),
        y=Axis(WORDS.phrase("common.density"), 0.0, 1.5),
    )
    panel.histogram(means, bins=(-2.0, 2.0, 40), role="muted", label=WORDS.phrase("folds.so_far"))
    for sd, role, name in ((1.0 / math.sqrt(FOLDS), RIGHT, WORDS.phrase("folds.error")), (1.0, WRONG, WORDS.phrase("folds.spread"))):
        panel.line(grid, normal_density(0.0, sd)(grid), role=role, label=name)
    so_far = np.array([means[: n + 1].std() for n in range(SETS)])
    tell(made, WORDS.phrase("folds.said"), n=np.arange(1, SETS + 1), sd=so_far)
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
    made = blank("split", SPLITS, WORDS.phrase("split.picture"), 40.0)
    panel = made.panel(
        "shift", title=WORDS.phrase("split.title"), x=Axis("sd", -0.2, 0.2), y=Axis(WORDS.phrase("common.density"), 0.0, 12.0)
    )
    panel.histogram(drawn, bins=(-0.2, 0.2, 20), role=WRONG, label=WORDS.phrase("split.so_far"))
    panel.line(grid, normal_density(0.0, sd)(grid), role=EXACT, label=WORDS.phrase("split.normal", sd=sd))
    so_far = np.sqrt(np.cumsum(drawn**2) / np.arange(1, SPLITS + 1))
    tell(made, WORDS.phrase("split.said"), n=np.arange(1, SPLITS + 1), sd=so_far)
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
    made = blank("whole", steps, WORDS.phrase("whole.picture"), 8.0)
    made.layout("five*4 ten*4 other*4", 260)
    for id, run, pairs in zip(("five", "ten", "other"), runs, found, strict=True):
        _, x, y = PAIRS[run]
        panel = made.panel(
            id,
            title=WORDS.phrase("whole.run", run=run[0], at=run[1]),
            x=Axis(WORDS.phrase("whole.precision"), x - AROUND, x + AROUND),
            y=Axis(WORDS.phrase("whole.recall"), y - AROUND, y + AROUND),
        )
        one_by_one = np.full((steps, 2), np.nan)
        one_by_one[: len(pairs)] = pairs
        panel.points(one_by_one, show="upto", role=RIGHT, size=3.0, label=WORDS.phrase("whole.pairs"))
        box = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]]) * ROUNDED + [x, y]
        panel.path(box, role=WRONG, width=2.0, label=WORDS.phrase("whole.printed"))
    tell(made, WORDS.phrase("whole.said"))
    return made.encode()


# e to the γ -----------------------------------------------------------------------------------------------------------

LOG_SD, DRAWS = 0.7, 600


def transformed() -> Array:
    """(DRAWS,) θ = e^γ z, z ~ N(0, 1)."""
    return math.exp(LOG_SD) * np.random.Generator(np.random.SFC64(6)).standard_normal(DRAWS)


def exponents() -> bytes:
    """Draws of q beside the two variances."""
    draws, grid = transformed(), np.linspace(-7.0, 7.0, 181)
    made = blank("variational", DRAWS, WORDS.phrase("variational.picture"), 60.0)
    panel = made.panel(
        "draws",
        title=WORDS.phrase("variational.title", log_sd=LOG_SD),
        x=Axis("θ", -7.0, 7.0),
        y=Axis(WORDS.phrase("common.density"), 0.0, 0.35),
    )
    panel.histogram(draws, bins=(-7.0, 7.0, 40), role="muted", label=WORDS.phrase("common.draws"))
    for variance, role, name in (
        (math.exp(2 * LOG_SD), RIGHT, WORDS.phrase("variational.right")),
        (math.exp(LOG_SD), WRONG, WORDS.phrase("variational.wrong")),
    ):
        panel.line(grid, normal_density(0.0, math.sqrt(variance))(grid), role=role, label=name)
    n = np.arange(1, DRAWS + 1)
    tell(
        made,
        WORDS.phrase("variational.said"),
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
    made = blank("coin", PIECES + 1, WORDS.phrase("coin.picture"), 30.0)
    made.layout("density*6 area*6", 220)
    left = made.panel("density", title=WORDS.phrase("coin.head"), x=Axis("p", 0.0, 1.0), y=Axis(WORDS.phrase("common.density"), 0.0, 2.1))
    right = made.panel("area", title=WORDS.phrase("coin.area"), x=Axis("p", 0.0, 1.0), y=Axis(WORDS.phrase("common.probability"), 0.0, 1.1))
    for height, role, name in ((2.0, RIGHT, "2p"), (1.0, WRONG, WORDS.phrase("coin.printed"))):
        left.line(p, height * p, show="upto", role=role, label=name)
        right.line(p, area(height), show="upto", role=role, label=name)
    right.rule(y=1.0, role=EXACT, dash=True, label=WORDS.phrase("coin.all"))
    tell(made, WORDS.phrase("coin.said"), p=p, a=area(2.0), b=area(1.0))
    return made.encode()


# A median and the largest ---------------------------------------------------------------------------------------------

SIMULATED, OF_EACH, IMAGES = 300, 10, 10_000  # sets of ten accuracies, each of so many images


def printed_rows() -> Array:
    """(rows, 2) printed medians and largest values of table 1."""
    return np.array([(mode.mnist.median, mode.mnist.high) for family in FAMILIES.values() for mode in family.modes])


def simulated() -> Array:
    """(SIMULATED, 2) medians and largest values of ten accuracies, rounded as in print: of networks that are right in
    0.96 to 0.985 of so many images."""
    rng = np.random.Generator(np.random.SFC64(7))
    right = rng.binomial(IMAGES, rng.uniform(0.96, 0.985, (SIMULATED, 1)), (SIMULATED, OF_EACH)) / IMAGES
    return np.column_stack([np.round(np.median(right, axis=1), 3), np.round(right.max(axis=1), 3)])


def median_and_largest() -> bytes:
    """Pairs that ten numbers can have, and the printed ones."""
    drawn, printed = simulated(), printed_rows()
    made = blank("median", SIMULATED, WORDS.phrase("median.picture"), 40.0)
    panel = made.panel(
        "pairs",
        title=WORDS.phrase("median.title"),
        x=Axis(WORDS.phrase("median.largest"), 0.955, 0.99),
        y=Axis(WORDS.phrase("median.median"), 0.955, 0.99),
        height=320,
    )
    panel.points(drawn[:, ::-1], show="upto", role="muted", size=2.4, alpha=0.5, label=WORDS.phrase("median.drawn"))
    above = (printed[:, 0] > printed[:, 1]).astype(int)
    panel.points(
        printed[:, ::-1],
        classes=above,
        role=[RIGHT, WRONG],
        shape=["diamond", "cross"],
        size=5.0,
        label=[WORDS.phrase("median.printed"), WORDS.phrase("median.slip")],
    )
    panel.path([[0.955, 0.955], [0.99, 0.99]], role=EXACT, dash=True, label=WORDS.phrase("median.equal"))
    so_far = np.cumsum(drawn[:, 0] > drawn[:, 1])
    tell(made, WORDS.phrase("median.said"), n=np.arange(1, SIMULATED + 1), above=so_far)
    return made.encode()


# A curve that begins at 0 ---------------------------------------------------------------------------------------------

MARKED, LEAST, MOST = 20, 10, 31  # components: at the line, and shown


@cache
def explained() -> Array:
    """(MOST + 1,) share of the variance, %, that 0, 1, ... components hold of 100 bundled digits, ten of each, each image
    standardised as in the public code."""
    images = digits()
    pixels = standardised(images.images[stratified(images.labels, 10, 10)])
    parts = principal_components(pixels, MOST)(pixels)
    return 100.0 * np.concatenate([[0.0], np.cumsum(parts.var(axis=0))]) / pixels.var(axis=0).sum()


def components() -> bytes:
    """The curve over how many components there are, and as it is drawn, one place to the left. It opens where the figure
    has its line."""
    n = np.arange(LEAST, MOST)
    held, shifted = explained()[n], explained()[n + 1]
    made = blank("slips", len(n), WORDS.phrase("slips.picture"), 6.0, start=MARKED - LEAST)
    x, y = Axis(WORDS.phrase("slips.components"), LEAST, MOST - 1), Axis("%", 75.0, 100.0)
    panel = made.panel("share", title=WORDS.phrase("slips.title"), x=x, y=y, height=300)
    for share, role, name in ((held, RIGHT, "right"), (shifted, WRONG, "shifted")):
        panel.line(n.astype(np.float64), share, role=role, label=WORDS.phrase(f"slips.{name}"))
        panel.points(np.column_stack([n, share]), show="at", role=role, size=4.0)
    panel.rule(x=float(MARKED), role=EXACT, dash=True, label=WORDS.phrase("slips.line"))
    tell(made, WORDS.phrase("slips.said"), n=n, a=held, b=shifted)
    return made.encode()
