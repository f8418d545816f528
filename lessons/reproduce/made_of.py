"""What a part of an experiment hangs on: the code of these experiments, with its settings, that computes it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from engine._sources import Sources
from lessons.reproduce.experiment import Experiment

FOLDER = Path(__file__).parent


@cache
def modules() -> dict[str, bytes]:
    """The sources of the experiments, by name. What the engine computes with the same settings, its own tests hold."""
    return {f"lessons.reproduce.{path.stem}": path.read_bytes() for path in sorted(FOLDER.glob("*.py"))}


def fixed(experiment: Experiment) -> str:
    """What its function was given once and for all."""
    run: Any = experiment.run
    given = run.keywords if isinstance(run, partial) else {}
    inside = getattr(_function(experiment), "__closure__", None) or ()
    return repr((sorted(given.items()), [cell.cell_contents for cell in inside]))


def _function(experiment: Experiment) -> Any:
    run: Any = experiment.run
    return run.func if isinstance(run, partial) else run


def stamp(experiment: Experiment, sources: Mapping[str, bytes] | None = None) -> str:
    """A hash that changes where the settings or the code of its parts do, and not where comments or words do."""
    function = _function(experiment)
    name = function.__qualname__.partition(".")[0]
    place = (function.__module__, "" if name == "<lambda>" else name)
    made_of = _as_it_is(place) if sources is None else Sources(sources).stamp(place)
    return hashlib.sha256(f"{made_of} {fixed(experiment)}".encode()).hexdigest()


@cache
def _as_it_is(place: tuple[str, str]) -> str:
    return Sources(modules()).stamp(place)
