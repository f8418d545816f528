"""The ticket of the job that computes: whether its result is still wanted, and how far it is.

Whoever runs jobs gives each its ticket, `with holding(ticket): ...`; long work deep inside looks at it here, so that it
need not be handed through every signature. Work that nobody gave a ticket is never stopped. A ticket holds for one
thread; those that it starts look at none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Ticket(Protocol):
    """What a job offers: see `app.kit.jobs.Job`."""

    def is_set(self) -> bool:
        """True once the result is not wanted any more."""

    def report(self, done: int, total: int) -> None:
        """`done` of `total` units are finished."""


_held: ContextVar[Ticket | None] = ContextVar("ticket", default=None)


@contextmanager
def holding(ticket: Ticket | None) -> Iterator[None]:
    """The ticket of what is computed inside."""
    token = _held.set(ticket)
    try:
        yield
    finally:
        _held.reset(token)


def look() -> None:
    """Raise InterruptedError if the result is not wanted any more."""
    ticket = _held.get()
    if ticket is not None and ticket.is_set():
        raise InterruptedError


def report(done: int, total: int) -> None:
    """Look, and say that `done` of `total` units are finished."""
    look()
    ticket = _held.get()
    if ticket is not None and hasattr(ticket, "report"):  # on a cluster nobody hears it
        ticket.report(done, total)
