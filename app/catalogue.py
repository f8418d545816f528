"""The catalogue: every lesson by track, in order. The one table that names lessons, by literal slug and folder.

Slugs are public: links hold them. They never change. What a lesson is called is said in its `words.toml`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from app.kit import words

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Entry:
    """A lesson: its slug, its folder (from the repository root) and ids of scenarios worth a direct link on the start
    page."""

    slug: str
    folder: str
    worth: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The page file."""
        return ROOT / self.folder / "page.py"

    @property
    def package(self) -> str:
        """The folder, as Python names it."""
        return self.folder.replace("/", ".")

    @property
    def title(self) -> str:
        return self._head["title"]

    @property
    def promise(self) -> str:
        return self._head["promise"]

    @property
    def icon(self) -> str:
        return self._head["icon"]

    @property
    def scenarios(self) -> list[tuple[str, str]]:
        """(id, title) of the scenarios worth a link."""
        return [(id, words.chip(ROOT / self.folder, id)) for id in self.worth]

    @property
    def _head(self) -> dict[str, str]:
        return _head(ROOT / self.folder)


_head = cache(words.head)

TRACKS: dict[str, tuple[Entry, ...]] = {
    "Beginnings": (
        Entry("conjugate", "lessons/conjugate", ("narrow", "twice")),
        Entry("monte-carlo", "lessons/monte_carlo", ("pi", "infinite")),
        Entry("prior-predictive", "lessons/prior_predictive", ("unscaled", "six-points")),
        Entry("logistic", "lessons/logistic", ("few", "separated")),
        Entry("model-selection", "lessons/model_selection", ("razor", "vague")),
    ),
    "Samplers": (
        Entry("metropolis", "lessons/metropolis", ("sizes", "hastings")),
        Entry("gibbs", "lessons/gibbs", ("ridge", "groups")),
        Entry("slice-sampling", "lessons/slice_sampling", ("narrow", "no-test")),
        Entry("hmc", "lessons/hmc", ("too-large", "funnel")),
        Entry("nuts", "lessons/nuts", ("figure", "aliased")),
        Entry("tuning", "lessons/tuning", ("scales", "banana", "for-ever")),
        Entry("diagnostics", "lessons/diagnostics", ("patient-1", "biased")),
        Entry("race", "lessons/race", ("rough", "cheat")),
    ),
    "Networks": (
        Entry("perceptron", "lessons/perceptron", ("xor", "pass", "race")),
        Entry("regression", "lessons/regression", ("compare", "wrong-noise")),
        Entry("xor", "lessons/xor", ("map", "one-unit")),
        Entry("weight-space", "lessons/weight_space", ("sorted-badly", "unmixed")),
        Entry("priors", "lessons/priors", ("inputs", "forgot-count")),
        Entry("real-data", "lessons/real_data", ("too-sure", "credit-table")),
    ),
    "Growing networks": (
        Entry("dimensions", "lessons/dimensions", ("split", "no-jacobian")),
        Entry("neurons", "lessons/neurons", ("xor", "slot-once")),
        Entry("layers", "lessons/layers", ("few", "many")),
        Entry("missing-factor", "lessons/missing_factor", ("slot", "no-data")),
        Entry("occam", "lessons/occam", ("scaled", "edge")),
        Entry("delayed-rejection", "lessons/delayed_rejection", ("leap", "forgot")),
        Entry("landing", "lessons/landing", ("annealed", "as-coded")),
    ),
    "Approximations": (
        Entry("variational", "lessons/variational", ("modes", "mean-field", "too-big")),
        Entry("weights", "lessons/weights", ("gap", "gives-up", "light-kl")),
        Entry("spike-and-slab", "lessons/spike_and_slab", ("twins", "digits")),
        Entry("dropout", "lessons/dropout", ("unscaled", "more-data")),
    ),
    "Uncertainty": (
        Entry("digits", "lessons/digits", ("letter", "star", "corner")),
        Entry("scores", "lessons/scores", ("ga", "unanimous", "abstain")),
        Entry("uncertainty-maps", "lessons/uncertainty_maps", ("six", "quarter", "letters")),
        Entry("xor-methods", "lessons/xor_methods", ("far-out", "sure", "never-reject")),
    ),
}
LESSONS: tuple[Entry, ...] = tuple(entry for entries in TRACKS.values() for entry in entries)
