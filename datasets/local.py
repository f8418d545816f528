"""Data sets that are not bundled: from the folder that POSTERIOR_LAB_DATA names, else as the app downloaded them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from datasets import remote, tables
from datasets.files import from_files
from datasets.images import Images
from datasets.tables import Task
from engine import settings
from engine.spec import SpecError

FILES = {
    "boston": ("boston_housing.csv",),
    "credit": ("credit_default.csv",),
    "optdigits": ("optdigits.csv",),
    **{name: tuple(f"{name}/{file}" for file in known.hashes) for name, known in remote.REMOTE.items()},
}
VARIABLE = "POSTERIOR_LAB_DATA"


def here(name: str) -> bool:
    """Whether a data set is on this machine."""
    return bool(_given(name)) or (name in (*remote.REMOTE, *remote.TABLES) and remote.available(name))


def table(name: str) -> Task:
    """ "boston" or "credit", with its usual target. Raises SpecError where it is not here."""
    return _table(name, _marks(_given(name)))


def images(name: str) -> Images:
    """ "optdigits", "mnist" or "fashion"; of the last two the pixels stay on the disk. Raises SpecError where it is not
    here.
    """
    given = _given(name)
    if not given and not here(name):
        raise SpecError("data", f"{name} is not on this machine: name its folder in {VARIABLE}")
    return _images(name, _marks(given or remote.paths(name)), bool(given))


Marks = tuple[tuple[str, str, int], ...]


def _marks(paths: Mapping[str, Path]) -> Marks:
    """Files by name, path and time: another folder, or a file that has changed, is read anew."""
    return tuple((name, str(path), path.stat().st_mtime_ns) for name, path in paths.items())


@lru_cache(maxsize=4)
def _table(name: str, marks: Marks) -> Task:
    return tables.choose(tables.read_csv(Path(marks[0][1]).read_bytes()) if marks else remote.kept_table(name))


@lru_cache(maxsize=4)
def _images(name: str, marks: Marks, given: bool) -> Images:
    if not given:
        return remote.mapped_download(name)
    paths = {file: Path(path) for file, path, _ in marks}
    if name in remote.REMOTE:
        return remote.mapped(paths, remote.REMOTE[name].card)
    return from_files({file: path.read_bytes() for file, path in paths.items()})


def _given(name: str) -> dict[str, Path]:
    """The files in the folder that is named, by name, packed or not; none where one is missing."""
    named = settings.value("DATA")
    if not named:
        return {}
    found = {}
    for file in FILES[name]:
        either = [Path(named) / each for each in (file, file.removesuffix(".gz")) if (Path(named) / each).is_file()]
        if not either:
            return {}
        found[either[0].name] = either[0]
    return found
