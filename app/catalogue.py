"""The catalogue: every lesson by track, in order. The one table that names lessons, by file and literal slug.

Slugs are public: links hold them. They never change.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

TRACKS = ("Beginnings", "Samplers", "Networks", "Growing networks", "Approximations", "Uncertainty")


@dataclass(frozen=True)
class Entry:
    """A lesson: its slug, title, track, page file (from the repository root), promise and emoji.

    `scenarios` are (id, title) of scenarios worth a direct link on the start page.
    """

    slug: str
    title: str
    track: str
    file: str
    promise: str
    icon: str
    scenarios: tuple[tuple[str, str], ...] = ()

    @property
    def path(self) -> Path:
        """The page file."""
        return ROOT / self.file


LESSONS: tuple[Entry, ...] = (
    Entry(
        slug="prior-predictive",
        title="Functions before data",
        track="Beginnings",
        file="lessons/prior_predictive/page.py",
        promise="What a prior over weights says about functions, and how few of them survive six points.",
        icon="🎲",
        scenarios=(("unscaled", "forgot 1/√k ⚠"), ("six-points", "rejection by six points ⚠")),
    ),
    Entry(
        slug="logistic",
        title="Two-parameter exactness",
        track="Beginnings",
        file="lessons/logistic/page.py",
        promise="A posterior added up exactly on a grid, and how near Newton, Laplace and a Metropolis chain come.",
        icon="🗺️",
        scenarios=(("few", "eight pairs"), ("separated", "nothing to converge to ⚠")),
    ),
    Entry(
        slug="metropolis",
        title="Metropolis",
        track="Samplers",
        file="lessons/metropolis/page.py",
        promise="A blind walk that visits every place as often as it should, and what breaks it.",
        icon="👣",
        scenarios=(("sizes", "three step sizes"), ("hastings", "lost Hastings ratio ⚠")),
    ),
    Entry(
        slug="hmc",
        title="HMC trajectories",
        track="Samplers",
        file="lessons/hmc/page.py",
        promise="A frictionless ball explores a posterior; see each step of its path and why long paths are accepted.",
        icon="🎢",
        scenarios=(("too-large", "ε too large ⚠"), ("funnel", "funnel neck ⚠")),
    ),
    Entry(
        slug="xor",
        title="XOR network",
        track="Networks",
        file="lessons/xor/page.py",
        promise="A small network learns XOR, all its weights at once as a posterior, and shows where it does not know.",
        icon="❎",
        scenarios=(("map", "the MAP beside it"), ("one-unit", "one unit cannot ⚠")),
    ),
)


def by_track() -> dict[str, list[Entry]]:
    """The lessons of each track that has any, in order."""
    tracks = {track: [entry for entry in LESSONS if entry.track == track] for track in TRACKS}
    return {track: entries for track, entries in tracks.items() if entries}
