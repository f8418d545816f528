"""The errata, ordered by consequence, with their numbers from what was run and from what is exact."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

from datasets import powerball
from datasets.xor import NOISY_VARIANCE
from lessons.reproduce import store
from lessons.reproduce.berezowski import NOISE_OF_TEST, bayes_accuracy
from lessons.reproduce.errata.blank import WORDS
from lessons.reproduce.experiment import Estimate
from lessons.reproduce.steyn import flattened

CODE, PRINT = "code", "print"
NOTHING = Estimate(math.nan, math.nan)


@dataclass(frozen=True, kw_only=True)
class Erratum:
    """One error.

    printed, right, proof, effect : Markdown, numbers filled in; known : `PRINT` or `CODE`
    link : a lesson that teaches it; see : what is seen there
    row : the experiment that has its numbers, if any
    """

    id: str
    title: str
    where: str
    known: str
    printed: str
    right: str
    proof: str
    effect: str
    link: str
    see: str
    row: str = ""


@dataclass(frozen=True, kw_only=True)
class Own:
    """A mistake of ours that reached readers."""

    page: str
    was: str
    now: str


# what the words call the numbers that were run, by experiment and key; with "_error" behind it, their standard error
KEPT = {
    "berezowski-5.6": {
        "mode": "exact_mode",
        "mean": "exact_mean",
        "mode, slot factor": "slot_mode",
        "mean, slot factor": "slot_mean",
        "mean, as coded": "coded_mean",
    },
    "berezowski-5.8": {"accuracy": "noisy_ours"},
    "berezowski-6.2.2": {"five": "test_5", "ten": "test_10"},
    "berezowski-digits-5a": {
        "mean": "moving_mean",
        "across": "moving_across",
        "mean, frozen": "still_mean",
        "across, frozen": "still_across",
        "mean, slot factor": "once_mean",
        "across, slot factor": "once_across",
        "mean, frozen and slot factor": "frozen_mean",
        "across, frozen and slot factor": "frozen_across",
    },
    "berezowski-digits-10a": {"across, frozen and slot factor": "frozen_across_10"},
    "berezowski-digits-10b": {"recall at 0.4": "moving_recall", "recall at 0.4, frozen and slot factor": "frozen_recall"},
    "berezowski-boston-2a": {"rmse": "rmse_ours", "tuned, as coded": "tuned", "within, as coded": "changed"},
    "andersen-4.1": {"told": "six_told", "coded": "six_coded"},
    "andersen-5.6": {
        "base rate, train": "base_train",
        "base rate, test": "base_test",
        "units, train": "units_train",
        "units, test": "units_test",
        "linear, pairs, train": "pairs_train",
        "linear, pairs, test": "pairs_test",
    },
    "steyn-4.1": {"steps": "newton", "right, wide": "newton_wide"},
    "steyn-6.7": {"dropout": "dropout"},
    "steyn-7.1": {"ga": "ga_gap"},
    "hubin-density": {"mnist": "density_printed", "mnist, coded": "density_coded"},
    "hubin-never-inked": {"union": "union"},
    "mullachery-confusion": {"called, 14": "called_14", "not called, 14": "not_called_14"},
}
EXACT = {"andersen-5.6": {"linear, train": "linear_train", "linear, test": "linear_test"}}  # the same of what is known without sampling


@cache
def numbers() -> dict[str, float]:
    """All numbers that the words name; NaN where nothing has been run."""
    wide, narrow = 1.0 / 25.0 + 100.0 / 100.0, 1.0 + 100.0 / 100.0  # posterior precisions: prior sd 5 and 1, noise sd 10
    found: dict[str, float] = {}
    for id, names in KEPT.items():
        outcome = store.outcome(id)
        for key, name in names.items():
            value, error, _ = outcome.estimates.get(key, NOTHING) if outcome else NOTHING
            found |= {name: value, f"{name}_error": error}
    for id, names in EXACT.items():
        outcome = store.outcome(id)
        found |= {name: outcome.exact.get(key, math.nan) if outcome else math.nan for key, name in names.items()}
    return found | {
        "root_253": math.sqrt(253.0),
        "rmse_printed": 0.236 * math.sqrt(253.0),
        "best": 100.0 * powerball.best_rule().accuracy,
        "cut_14": 100.0 * powerball.rule(14).accuracy,
        "crossing": powerball.crossing(),
        "flat": float(flattened(28, 32, 5, 2)),
        "flat_3": float(flattened(28, 32, 5, 3)),
        "narrow_10": 5.0 * (100.0 / 100.0) / narrow,
        "narrow_10_sd": narrow**-0.5,
        "narrow_1": 5.0 * 100.0 / 101.0,
        "narrow_1_sd": 101.0**-0.5,
        "wide_10": 5.0 / wide,
        "noisy_same": bayes_accuracy(NOISY_VARIANCE),
        "noisy_test": bayes_accuracy(NOISE_OF_TEST),
    }


def errata() -> list[Erratum]:
    """All errors found in the sources, those of most consequence first, with their numbers."""
    filled = numbers()
    found = []
    for id, told in WORDS.tables("errata").items():
        words = {name: (text.format(**filled) if name in ("printed", "right", "effect") else text) for name, text in told.items()}
        found.append(Erratum(id=id, **words))
    return found


def ours() -> list[Own]:
    """Our own."""
    return [Own(**told) for told in WORDS.tables("ours").values()]
