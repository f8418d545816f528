"""The catalogue: every lesson by track, in order. The one table that names lessons, by literal slug and folder.

Slugs are public: links hold them. They never change. What a lesson is called is said in its `words.toml`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from app.kit import story, words

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Entry:
    """A lesson: its slug, its folder (from the repository root), ids of scenarios worth a direct link on the start page,
    and the slugs of the lessons that it builds on."""

    slug: str
    folder: str
    worth: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

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
    def minutes(self) -> int:
        """That its story takes."""
        return story.minutes(story.read(ROOT / self.folder / "story.md"))

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
        Entry("prior-predictive", "lessons/prior_predictive", ("unscaled", "six-points"), ("conjugate",)),
        Entry("logistic", "lessons/logistic", ("few", "separated"), ("conjugate",)),
        Entry("model-selection", "lessons/model_selection", ("razor", "vague"), ("conjugate",)),
    ),
    "Samplers": (
        Entry("metropolis", "lessons/metropolis", ("sizes", "hastings"), ("monte-carlo",)),
        Entry("gibbs", "lessons/gibbs", ("ridge", "groups"), ("metropolis",)),
        Entry("slice-sampling", "lessons/slice_sampling", ("narrow", "no-test"), ("metropolis",)),
        Entry("hmc", "lessons/hmc", ("too-large", "funnel"), ("metropolis",)),
        Entry("nuts", "lessons/nuts", ("figure", "aliased"), ("hmc",)),
        Entry("tuning", "lessons/tuning", ("scales", "banana", "for-ever"), ("nuts",)),
        Entry("diagnostics", "lessons/diagnostics", ("patient-1", "biased"), ("metropolis",)),
        Entry("own-chain", "lessons/own_chain", ("stuck", "density"), ("diagnostics",)),
        Entry("race", "lessons/race", ("rough", "cheat"), ("gibbs", "nuts")),
    ),
    "Networks": (
        Entry("perceptron", "lessons/perceptron", ("xor", "pass", "race")),
        Entry("regression", "lessons/regression", ("compare", "wrong-noise"), ("perceptron", "hmc")),
        Entry("xor", "lessons/xor", ("map", "one-unit"), ("perceptron", "hmc")),
        Entry("weight-space", "lessons/weight_space", ("sorted-badly", "unmixed"), ("xor",)),
        Entry("priors", "lessons/priors", ("inputs", "forgot-count"), ("regression",)),
        Entry("real-data", "lessons/real_data", ("too-sure", "credit-table"), ("regression",)),
    ),
    "Growing networks": (
        Entry("dimensions", "lessons/dimensions", ("split", "no-jacobian"), ("metropolis",)),
        Entry("neurons", "lessons/neurons", ("xor", "slot-once"), ("dimensions", "xor")),
        Entry("layers", "lessons/layers", ("few", "many"), ("neurons",)),
        Entry("missing-factor", "lessons/missing_factor", ("slot", "no-data"), ("neurons",)),
        Entry("occam", "lessons/occam", ("scaled", "edge"), ("neurons",)),
        Entry("delayed-rejection", "lessons/delayed_rejection", ("leap", "forgot"), ("metropolis",)),
        Entry("landing", "lessons/landing", ("annealed", "as-coded"), ("layers",)),
    ),
    "Approximations": (
        Entry("variational", "lessons/variational", ("modes", "mean-field", "too-big"), ("monte-carlo",)),
        Entry("weights", "lessons/weights", ("gap", "gives-up", "light-kl"), ("variational",)),
        Entry("spike-and-slab", "lessons/spike_and_slab", ("twins", "digits"), ("model-selection", "weights")),
        Entry("dropout", "lessons/dropout", ("unscaled", "more-data"), ("weights",)),
        Entry("convolution", "lessons/convolution", ("moved", "no-pooling", "places"), ("weights",)),
    ),
    "Uncertainty": (
        Entry("digits", "lessons/digits", ("letter", "star", "corner"), ("weights",)),
        Entry("scores", "lessons/scores", ("ga", "unanimous", "abstain"), ("digits",)),
        Entry("uncertainty-maps", "lessons/uncertainty_maps", ("six", "quarter", "letters"), ("xor", "digits")),
        Entry("xor-methods", "lessons/xor_methods", ("far-out", "sure", "never-reject"), ("xor", "dropout")),
    ),
}
PAPERS = (Entry("reproduce", "lessons/reproduce"), Entry("errata", "lessons/reproduce/errata"))  # no lessons: a plain page each
LESSONS: tuple[Entry, ...] = tuple(entry for entries in TRACKS.values() for entry in entries)
PAGES = (*LESSONS, *PAPERS)


def next_after(slug: str) -> list[Entry]:
    """Two lessons to go on with: those that build on this one, then those that follow in the catalogue."""
    here = [entry.slug for entry in LESSONS].index(slug)
    builds = [entry for entry in LESSONS if slug in entry.after]
    return list(dict.fromkeys([*builds, *LESSONS[here + 1 :], *LESSONS[:here]]))[:2]
