"""The errata, ordered by consequence, with their numbers from what was run and from what is exact."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from datasets import powerball
from datasets.xor import NOISY_VARIANCE
from lessons.reproduce import store
from lessons.reproduce.berezowski import NOISE_OF_TEST, bayes_accuracy
from lessons.reproduce.steyn import flattened

CODE, PRINT = "public code only", "print"


@dataclass(frozen=True, kw_only=True)
class Erratum:
    """One error. `printed`, `right`, `proof`, `effect` : Markdown, numbers filled in; known : `PRINT` or `CODE`"""

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


@dataclass(frozen=True, kw_only=True)
class Own:
    """A mistake of ours that reached readers."""

    page: str
    was: str
    now: str


def _kept(id: str, key: str, error: bool = False) -> float:
    """A number that was run, or its standard error."""
    outcome = store.outcome(id)
    return math.nan if outcome is None or key not in outcome.estimates else outcome.estimates[key][int(error)]


def _exact(id: str, key: str) -> float:
    """A number that is known without sampling."""
    outcome = store.outcome(id)
    return math.nan if outcome is None else outcome.exact.get(key, math.nan)


@cache
def numbers() -> dict[str, float]:
    """All numbers that the words name."""
    wide, narrow = 1.0 / 25.0 + 100.0 / 100.0, 1.0 + 100.0 / 100.0  # posterior precisions: prior sd 5 and 1, noise sd 10
    return {
        "slot_mode": _kept("berezowski-5.6", "mode, slot factor"),
        "slot_mean": _kept("berezowski-5.6", "mean, slot factor"),
        "coded_mean": _kept("berezowski-5.6", "mean, as coded"),
        "exact_mode": _kept("berezowski-5.6", "mode"),
        "exact_mean": _kept("berezowski-5.6", "mean"),
        "frozen_across": _kept("berezowski-digits-5a", "across, frozen and slot factor"),
        "frozen_mean": _kept("berezowski-digits-5a", "mean, frozen and slot factor"),
        "still_mean": _kept("berezowski-digits-5a", "mean, frozen"),
        "still_across": _kept("berezowski-digits-5a", "across, frozen"),
        "once_mean": _kept("berezowski-digits-5a", "mean, slot factor"),
        "once_across": _kept("berezowski-digits-5a", "across, slot factor"),
        "moving_mean": _kept("berezowski-digits-5a", "mean"),
        "frozen_across_10": _kept("berezowski-digits-10a", "across, frozen and slot factor"),
        "moving_across": _kept("berezowski-digits-5a", "across"),
        "frozen_recall": _kept("berezowski-digits-10b", "recall at 0.4, frozen and slot factor"),
        "moving_recall": _kept("berezowski-digits-10b", "recall at 0.4"),
        "base_train": _kept("andersen-5.6", "base rate, train"),
        "base_test": _kept("andersen-5.6", "base rate, test"),
        "units_train": _kept("andersen-5.6", "units, train"),
        "units_test": _kept("andersen-5.6", "units, test"),
        **{f"linear_{where}": _exact("andersen-5.6", f"linear, {where}") for where in ("train", "test")},
        **{f"pairs_{where}": _kept("andersen-5.6", f"linear, pairs, {where}") for where in ("train", "test")},
        "root_253": math.sqrt(253.0),
        "rmse_printed": 0.236 * math.sqrt(253.0),
        "rmse_ours": _kept("berezowski-boston-2a", "rmse"),
        "best": 100.0 * powerball.best_rule().accuracy,
        "cut_14": 100.0 * powerball.rule(14).accuracy,
        "crossing": powerball.crossing(),
        "called_14": _kept("mullachery-confusion", "called, 14"),
        "not_called_14": _kept("mullachery-confusion", "not called, 14"),
        "flat": float(flattened(28, 32, 5, 2)),
        "flat_3": float(flattened(28, 32, 5, 3)),
        "density_printed": _kept("hubin-density", "mnist"),
        "density_coded": _kept("hubin-density", "mnist, coded"),
        "union": _kept("hubin-never-inked", "union"),
        "ga_gap": _kept("steyn-7.1", "ga"),
        "narrow_10": 5.0 * (100.0 / 100.0) / narrow,
        "narrow_10_sd": narrow**-0.5,
        "narrow_1": 5.0 * 100.0 / 101.0,
        "narrow_1_sd": 101.0**-0.5,
        "wide_10": 5.0 / wide,
        "test_5": _kept("berezowski-6.2.2", "five"),
        "test_10": _kept("berezowski-6.2.2", "ten"),
        "noisy_same": bayes_accuracy(NOISY_VARIANCE),
        "noisy_test": bayes_accuracy(NOISE_OF_TEST),
        "noisy_ours": _kept("berezowski-5.8", "accuracy"),
        "six_told": _kept("andersen-4.1", "told"),
        "six_coded": _kept("andersen-4.1", "coded"),
        "newton": _kept("steyn-4.1", "steps"),
        "newton_wide": _kept("steyn-4.1", "right, wide"),
        "tuned": _kept("berezowski-boston-2a", "tuned, as coded"),
        "tuned_error": _kept("berezowski-boston-2a", "tuned, as coded", error=True),
        "changed": _kept("berezowski-boston-2a", "within, as coded"),
        "changed_error": _kept("berezowski-boston-2a", "within, as coded", error=True),
    }


@cache
def _words() -> dict:
    return tomllib.loads(Path(__file__).with_name("errata.toml").read_text(encoding="utf-8"))


def errata() -> list[Erratum]:
    """All errors found in the sources, those of most consequence first, with their numbers."""
    filled = numbers()
    found = []
    for id, told in _words()["errata"].items():
        words = {name: (text.format(**filled) if name in ("printed", "right", "effect") else text) for name, text in told.items()}
        found.append(Erratum(id=id, **words))
    return found


def ours() -> list[Own]:
    """Our own."""
    return [Own(**told) for told in _words()["ours"].values()]
