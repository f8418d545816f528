"""Data sets that are not bundled: from the folder that POSTERIOR_LAB_DATA names, else as the app downloaded them."""

from __future__ import annotations

from functools import cache
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
    return _folder(name) is not None or (name in (*remote.REMOTE, *remote.TABLES) and remote.available(name))


@cache
def table(name: str) -> Task:
    """ "boston" or "credit", with its usual target. Raises SpecError where it is not here."""
    folder = _folder(name)
    return tables.choose(tables.read_csv((folder / FILES[name][0]).read_bytes()) if folder else remote.kept_table(name))


@cache
def images(name: str) -> Images:
    """ "optdigits", "mnist" or "fashion". Raises SpecError where it is not here."""
    folder = _folder(name)
    if folder and name in remote.REMOTE:
        return remote.mapped({Path(file).name: folder / file for file in FILES[name]}, remote.REMOTE[name].card)
    if folder:
        return from_files({Path(file).name: (folder / file).read_bytes() for file in FILES[name]})
    if not here(name):
        raise SpecError("data", f"{name} is not on this machine: name its folder in {VARIABLE}")
    return remote.download(name)


def _folder(name: str) -> Path | None:
    named = settings.value("DATA")
    whole = named and all((Path(named) / file).is_file() for file in FILES[name])
    return Path(named) if named and whole else None
