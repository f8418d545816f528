"""The licences of what is installed: `python -m tests.licences --write` makes docs/LICENCES.md anew, from what the packages
of `requirements.lock` say of themselves.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import metadata
from pathlib import Path

from tests.lock import LOCK, ROOT

PAGE = ROOT / "docs" / "LICENCES.md"
HEAD = """# Licences

Of each package that an image holds, as it says itself. Made by `python -m tests.licences --write`. A test allows only
licences under which the whole may be passed on: none that asks for the source of what uses it. Known weaknesses of
these packages are another matter: `pip-audit` has not been run for this lock, see [SECURITY.md](../SECURITY.md#what-is-installed).

| package | licence |
|---|---|
"""
ALLOWED = r"MIT|BSD|0BSD|Apache|ISC|PSF|Python Software Foundation|Zlib|CC0|Mozilla Public License 2\.0"  # MPL: of its own files alone


def licence(package: str) -> str:
    """What it says of itself."""
    said = metadata(package)
    classified = [line.rpartition(" :: ")[2] for line in said.get_all("Classifier") or [] if line.startswith("License :: ")]
    return said.get("License-Expression") or ", ".join(classified) or (said.get("License") or "not said").splitlines()[0]


def locked() -> dict[str, str]:
    """The licence of each package of the lock."""
    return {name: licence(name) for name in re.findall(r"^([\w.-]+)==", LOCK.read_text(encoding="utf-8"), re.MULTILINE)}


def not_allowed(licences: dict[str, str]) -> dict[str, str]:
    """Those with a licence of which some part is not allowed."""
    parts = {name: re.split(r" AND | OR |, ", said) for name, said in licences.items()}
    return {name: licences[name] for name, said in parts.items() if not all(re.search(ALLOWED, part) for part in said)}


def text() -> str:
    """The page."""
    return HEAD + "".join(f"| {name} | {said} |\n" for name, said in locked().items())


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        Path(PAGE).write_text(text(), encoding="utf-8")
    else:
        print(text(), end="")
