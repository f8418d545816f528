"""Faults planted in a run or in its numbers, there and then, to see the checks turn red.

Faults of kernels are planted in the kernel (`Kernel.planted`). These two are planted in what the checks are given.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

STUCK = "a chain that stands still"
SHIFTED = "averages that are off"

_present: ContextVar[str] = ContextVar("planted fault", default="")


@contextmanager
def planted(fault: str) -> Iterator[None]:
    """Inside, every check of this thread's context meets the fault."""
    token = _present.set(fault)
    try:
        yield
    finally:
        _present.reset(token)


def is_planted(fault: str) -> bool:
    """Whether the fault is to be made now."""
    return _present.get() == fault
