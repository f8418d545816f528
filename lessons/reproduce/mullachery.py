"""Mullachery, Khera and Husain 2018: Powerball, beside the rule that no other beats."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from datasets import powerball
from engine import network, sample_network
from engine.networks.predictive import probabilities
from lessons.families.powerball import CUT, DRAWS, PRINTED, RIVALS, TEST, crossing, error_of, expected
from lessons.reproduce.experiment import A_PART, FULL, Cell, Part, not_run, worded

Array = NDArray[np.float64]

NUMBERS = np.arange(1, powerball.BALLS + 1)
TOLD = {"draws": DRAWS, "rows": TEST}  # numbers that the words name
LINK = "/real-data?scenario=powerball&chains=2&draws=300"


def _bayes(x: Array, y: NDArray[np.int64], balls: int, part: int) -> Array:
    """P(smallest | x) for every number, by a network of 5 tanh units and NUTS."""
    scaled = np.log(x)
    centre, scale = scaled.mean(), scaled.std()
    net = network(1, 1, width=5, activation="tanh", likelihood="bernoulli")
    found = sample_network(net, ((scaled - centre) / scale)[:, None], y, chains=2, warmup=200, draws=300, max_depth=7, seed=part)
    draws = np.ascontiguousarray(found.draws[:, ::3]).reshape(-1, net.dim)
    return probabilities(net, draws, ((np.log(np.arange(1, balls + 1)) - centre) / scale)[:, None])[:, :, 1].mean(axis=0)


MODELS: dict[str, Callable[[Array, NDArray[np.int64], int, int], Array]] = {"network": _bayes, **RIVALS}


def learn(part: int, names: tuple[str, ...]) -> dict[str, Array]:
    """P(smallest | x) by the named models, from three quarters of the rows of an urn."""
    shown = powerball.urn(DRAWS, seed=1000 + part)
    rows = np.random.default_rng(part).permutation(len(shown.y))[TEST:]
    return {name: MODELS[name](shown.x[rows].astype(np.float64), shown.y[rows], powerball.BALLS, part) for name in names}


def _accuracy(part: int, form: str) -> Part:
    found: Part = {}
    for name, p in learn(part, tuple(MODELS)).items():
        found[name], found[f"{name} nats"] = expected(p)
    return found


def _boundary(part: int, form: str) -> Part:
    p = learn(part, ("network",))["network"]
    return {
        "crossing": crossing(p),
        "crossing, 59": powerball.crossing(FEWER),
        **{f"sure {level:g}": float(last_above(p, level)) for level in LEVELS},
    }


LEVELS = (0.9, 0.8)  # that may be called little uncertainty
FEWER = 59  # balls before the rules of autumn 2015


def last_above(p: Array, level: float) -> int:
    """The last number up to which P(smallest | x), p (69,), is above a level."""
    return int(NUMBERS[p > level][-1])


def _shares(said: NDArray[np.bool_]) -> tuple[float, float]:
    """Of those called smallest the share that is the third, and the reverse, in %."""
    third, smallest = powerball.probabilities()
    return (
        100.0 * float(third[said].sum() / (third + smallest)[said].sum()),
        100.0 * float(smallest[~said].sum() / (third + smallest)[~said].sum()),
    )


def _confusion(part: int, form: str) -> Part:
    said = learn(part, ("network",))["network"] > 0.5
    false_positive, false_negative = _shares(said)
    # the same shares with the classes exchanged, by the cut that the print says
    exchanged = _shares(NUMBERS <= CUT)[::-1]
    return {"called": false_positive, "not called": false_negative, "called, 14": exchanged[0], "not called, 14": exchanged[1]}


def _rule(part: int, form: str) -> Part:
    return {"cut": 100.0 * powerball.rule(CUT).accuracy}


ACCURACIES = (81.23, 82.96, 84.93)  # %, as printed


def _rows(number: int, form: str) -> Part:
    """The printed accuracies as shares of 405 rows, cut to two places; and of the fewest rows that give all three."""
    fewest = next(n for n in range(1, 2 * TEST) if all(_cut_share(a, n) == a for a in ACCURACIES))
    return {"fewest": float(fewest), **{f"{a}": _cut_share(a, TEST) for a in ACCURACIES}}


def _cut_share(accuracy: float, n: int) -> float:
    """The share of n rows that comes nearest to an accuracy in % from above, cut to two places."""
    return math.floor(math.ceil(accuracy / 100.0 * n) / n * 10_000 + 1e-9) / 100.0


def _shares_of_truth(number: int, form: str) -> Part:
    """Accuracy, if the two shares of confusion were of the true bins, both as large; and if of those called so by the cut
    at 14 with the bins exchanged."""
    third, smallest = powerball.probabilities()
    called = float((third + smallest)[NUMBERS <= CUT].sum() / 2.0)
    return {"of the true bins": 100.0 - (26.0 + 6.8) / 2.0, "of those called": 100.0 - 6.8 * called - 26.0 * (1.0 - called)}


def _coin(number: int, form: str) -> Part:
    """Density of p = ½ after one head, and its prior: (h + t + 1)! / (h! t!) p^h (1 - p)^t."""

    def density(heads: int, tails: int, p: float) -> float:
        ways = math.factorial(heads + tails + 1) / (math.factorial(heads) * math.factorial(tails))
        return float(ways * p**heads * (1.0 - p) ** tails)

    return {"one head": density(1, 0, 0.5), "without the constant": 0.5}


OF_ROWS = error_of(84.0, TEST)
BEST = 100.0 * powerball.best_rule().accuracy

EXPERIMENTS = (
    worded(
        id="mullachery-accuracy",
        values=TOLD,
        link=LINK,
        parts=(3, 12),
        seconds=(60, 240),
        run=_accuracy,
        cells=(
            Cell(key="network", printed=PRINTED["network"], half=0.005, unit=" %", error=OF_ROWS),
            Cell(key="forest", printed=PRINTED["forest"], half=0.005, unit=" %", error=OF_ROWS),
            Cell(key="boosted", printed=PRINTED["boosted"], half=0.005, unit=" %", error=OF_ROWS),
            Cell(key="process", printed=PRINTED["process"], half=0.005, unit=" %", error=OF_ROWS),
        ),
        exact=lambda: dict.fromkeys(MODELS, BEST),
    ),
    worded(
        id="mullachery-cut-14",
        link=LINK,
        run=_rule,
        exact=lambda: {"cut": 100.0 * powerball.rule(CUT).accuracy},
        cells=(Cell(key="cut", printed=81.23, half=0.005, unit=" %", error=OF_ROWS),),
    ),
    worded(
        id="mullachery-boundary",
        values=TOLD,
        link=LINK,
        parts=(4, 12),
        seconds=(12, 30),
        run=_boundary,
        exact=lambda: {
            "crossing": powerball.crossing(),
            **{f"sure {level:g}": float(last_above(powerball.smallest_given(NUMBERS), level)) for level in LEVELS},
        },
        cells=(
            Cell(key="crossing", printed=14.0, half=1.5, tried={"crossing, 59": ""}),
            Cell(key="sure 0.9", printed=10.0, half=1.5, like=A_PART, tried={"sure 0.8": ""}, no_reason=("sure 0.8",)),
        ),
    ),
    worded(
        id="mullachery-confusion",
        values=TOLD,
        link=LINK,
        parts=(4, 12),
        seconds=(12, 30),
        run=_confusion,
        cells=(
            Cell(
                key="called",
                printed=26.0,
                half=0.5,
                unit=" %",
                error=100.0 * math.sqrt(0.26 * 0.74 / (0.62 * TEST)),
                tried={"called, 14": ""},
            ),
            Cell(
                key="not called",
                printed=6.8,
                half=0.05,
                unit=" %",
                error=100.0 * math.sqrt(0.068 * 0.932 / (0.38 * TEST)),
                tried={"not called, 14": ""},
            ),
        ),
    ),
    worded(
        id="mullachery-rows",
        values=TOLD,
        link=LINK,
        run=_rows,
        exact=lambda: _rows(0, FULL),
        cells=tuple(Cell(key=f"{a}", printed=a, half=0.0005, unit=" %") for a in ACCURACIES),
    ),
    worded(
        id="mullachery-shares",
        link=LINK,
        run=_shares_of_truth,
        exact=lambda: {"of the true bins": _shares_of_truth(0, FULL)["of the true bins"]},
        cells=(
            Cell(
                key="of the true bins",
                printed=81.23,
                half=0.5,  # of shares printed to a whole percent and to a tenth
                unit=" %",
                tried={"of those called": ""},
            ),
        ),
    ),
    worded(
        id="mullachery-coin",
        link="/conjugate?scenario=flat&flips=H",
        run=_coin,
        exact=lambda: {"one head": _coin(0, FULL)["one head"]},
        cells=(Cell(key="one head", printed=0.5, half=0.005, tried={"without the constant": ""}),),
    ),
)

NOT_HERE = not_run("mullachery")
