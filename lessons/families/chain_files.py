"""Files of chains that readers give, for every page that has a place for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.kit import files, share, story
from app.kit.controls import Controls
from app.kit.visit import Elsewhere
from datasets import chains
from datasets.chains import Chains
from engine.kept import kept

FORMATS = ("csv", "txt", "tsv", "nc", "h5", "npy", "npz", "json", "zip")
PAGE = Path(__file__).parents[1] / "own_chain" / "page.py"  # where they are judged


def elsewhere(fields: dict[str, object]) -> Elsewhere:
    """The judging page, at the end of its story: what that asks before is asked of its examples."""
    return Elsewhere(PAGE, {**fields, share.STORY: len(story.read(PAGE.with_name("story.md")))})


def place(panel: Controls[Any], take: Callable[[dict[str, object]], Any]) -> None:
    """Where chains are dropped. `take` says what becomes of them: it gets the fields of the judging page that name them."""
    panel.files(
        "your_chains", lambda given: take(_fields(given)), types=FORMATS, most_bytes=chains.MOST_BYTES, most_files=chains.MOST_MEMBERS
    )


def _fields(given: dict[str, bytes]) -> dict[str, object]:
    """Raises SpecError where the files cannot be read."""
    reference = files.hold(*chains.pack(given))
    read(reference)  # the picture finds them read
    return {"source": "file", "file": reference}


@kept
def read(reference: str) -> Chains:
    """The chains of a file that is held. Raises SpecError."""
    return chains.read({reference.partition(" ")[2] or "file": files.held(reference)})
