"""What the page says when something goes wrong, or takes its time. Never a traceback: that goes to the log."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from app.kit import jobs, tally
from app.kit.icons import sign
from app.kit.text import number, plain
from engine.spec import SpecError

log = logging.getLogger(__name__)

WARNING, STOP, WAITING = sign("warning"), sign("block"), sign("hourglass_empty")


@contextmanager
def guard(what: str) -> Iterator[None]:
    """A lesson's mistake costs its part of the page, not the page."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, SpecError):
            log.exception("%s could not be made", what)
            tally.count("errors", what)
        complain(what, error)


def complain(what: str, error: BaseException | None) -> None:
    """Say that `what` could not be made. No error: there was no room for it."""
    if isinstance(error, SpecError):
        st.error(f"{STOP} **{plain(error.parameter)}** {plain(error.reason)}.")
    elif error is None:
        st.info(f"{WAITING} The lab is busy: {plain(what)} has to wait. Change a setting or reload the page in a moment.")
    else:
        advice = "Try other settings; the server's log has the reason."
        st.error(f"{STOP} Sorry, {plain(what)} could not be made for these settings. {advice}")


def progress(job: jobs.Job) -> str:
    """How far a job is, in words."""
    if job.state == jobs.WAITING:
        return f"The lab is busy, you are number {max(jobs.pool().position(job), 1)} in the queue."
    if not job.total:
        return "Running …"
    left = job.time_left()
    rest = "" if left is None else f" · {left:.0f} s left" if left < 90 else f" · {left / 60:.0f} min left"
    return f"{number(job.done)} of {number(job.total)} · {number(job.rate())}/s{rest}"
