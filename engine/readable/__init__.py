"""The algorithms in plain NumPy, one file each, to be read in one sitting. Each draws the random numbers of its kernel in
the kernel's order and gives its draws. A line marked `# wrong: name` is all that sets a wrong variant apart. A comment
`# phase: name`, or `# phase: name/part, part`, heads the lines of a part of a transition, for the pages that light it."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

_COMMAND = 'if __name__ == "__main__":'


@cache
def source(name: str) -> str | None:
    """The file of the twin of this name, without its command, which wants the engine; None where there is no such twin."""
    found = find_spec(f"{__name__}.{name}")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).read_text(encoding="utf-8").partition(_COMMAND)[0].rstrip() + "\n"
