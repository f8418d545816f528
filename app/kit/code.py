"""The code of a lesson: a readable twin whose running lines are lit with the stage, and the compiled kernel behind it.

A comment `# phase: name` heads the lines of that phase of the scene, up to the next one or to a line further left. What
the stage shows comes from the player in the browser: no run of the script follows a phase.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import streamlit as st

from app.kit.assets import loader
from engine import readable
from engine.kernels import TargetKernel

_mount = st.components.v2.component("posterior_lab.code", js=loader("code"))

_PHASE = re.compile(r"^( *)# phase: (.+)$")
_WRONG = re.compile(r"# wrong: ([\w, ]+)$")


class Line(NamedTuple):
    """One line. phase : of the scene in which it runs; wrong : the variants that it makes, if any."""

    text: str
    phase: str | None
    wrong: tuple[str, ...]


def show(
    twins: Sequence[Callable[..., Any]],
    compiled: Sequence[Callable[..., Any] | TargetKernel],
    running: Collection[str],
    key: str,
    elsewhere: Mapping[str, str] | None = None,
) -> None:
    """The content of a lesson's code tab.

    twins : functions of `engine.readable`, whose files are shown; compiled : functions of the engine
    running : names of variants in force, whose lines are marked
    elsewhere : where variants are made that have no such line, a sentence each
    """
    for name, words in (elsewhere or {}).items():
        if name in running and name not in marked(twins):
            st.warning(words)
    for twin in twins:
        name = twin.__module__
        st.caption(f"In plain NumPy; a test holds it to the kernel's numbers. `python -m {name}` runs both and times them.")
        lines = [[line.text, line.phase, bool(set(line.wrong) & set(running))] for line in read(twin)]
        _mount(data={"name": f"{name.replace('.', '/')}.py", "lines": lines}, key=f"{key}/{name}", height="content")
    if not compiled:
        return
    if not twins:
        st.caption("The code that made this.")
        return _compiled(compiled)
    with st.expander("The compiled kernel"):
        _compiled(compiled)


def marked(twins: Sequence[Callable[..., Any]]) -> set[str]:
    """The wrong variants that have their lines in these files."""
    return {name for twin in twins for line in read(twin) for name in line.wrong}


def _compiled(functions: Sequence[Callable[..., Any] | TargetKernel]) -> None:
    for function in functions:
        st.code(source(function), language="python")


def read(twin: Callable[..., Any]) -> list[Line]:
    """The file of a twin without its command."""
    found: list[Line] = []
    phase, column = None, 0
    for line in (readable.source(twin.__module__.rpartition(".")[2]) or "").splitlines():
        if heading := _PHASE.match(line):
            phase, column = heading[2], len(heading[1])
        elif line.strip() and len(line) - len(line.lstrip()) < column:
            phase = None
        wrong = _WRONG.search(line)
        found.append(Line(line, phase if line.strip() else None, tuple(wrong[1].split(", ")) if wrong else ()))
    return found


def source(function: Callable[..., Any] | TargetKernel) -> str:
    """The source of a function, of a compiled one too."""
    return _source(getattr(function, "py_func", function))


@lru_cache(maxsize=256)
def _source(function: Callable[..., Any]) -> str:
    return textwrap.dedent(inspect.getsource(function)).strip()
