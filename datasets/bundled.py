"""Files that come with scikit-learn, read by themselves: to import the library takes a second."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from engine.spec import SpecError


def bundled_file(name: str) -> bytes:
    """The content of a file in scikit-learn's folder of data sets. Raises SpecError where it is not to be had."""
    found = importlib.util.find_spec("sklearn")
    folder = Path(found.origin).parent if found is not None and found.origin else Path()
    try:
        return (folder / "datasets" / "data" / name).read_bytes()
    except OSError:
        raise SpecError("data", "the bundled data come with scikit-learn, which is not installed as usual") from None
