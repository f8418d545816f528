"""The stage: the player with the scene of the present spec, or of a long run that grows.

It is a fragment of its own, so what the player asks for while playing, or the pad while a stroke is drawn, reruns
nothing else. A scene is made in a worker
thread and shown in the same run if that takes less than `PATIENCE`; otherwise the last picture stays, marked as such,
until the new one is there.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from concurrent.futures import Future, wait
from typing import Any

import streamlit as st

from app.kit import direction, ghosts, jobs, messages, predict, preview, push, seams, share, story
from app.kit.canvas import player
from app.kit.lesson import Lesson
from app.kit.moments import MomentError
from app.kit.pad import pad
from app.kit.preview import Asked
from app.kit.text import number
from app.kit.visit import Visit, arriving, session
from engine import turns
from engine.spec import Spec, SpecError
from engine.ticket import Ticket, holding

log = logging.getLogger(__name__)

PATIENCE = 1.0  # s that a run waits for a picture
HEAD_START = 0.06  # s that a new picture has before the rest of the page, which keeps the browser busier than it does
LONGEST_PREVIEW = 3.0  # s of work for the pictures around a setting, whatever else the machine does; the rest is left out
EARLY_PREVIEW = 0.3  # s of it after which what there is of them is shown, and then each time it has taken twice as long
FIRST_HEAD_START = 0.35  # s, when the browser still has to load the player; React shows what it loads at once together


def prepare(lesson: Lesson, here: Visit) -> jobs.Job:
    """The job that the stage shows, of a picture mostly finished. Called before anything is sent: the browser draws the
    page anew for whatever comes while a picture is made, and the picture would have to wait for that."""
    work = here.run or _picture(lesson, here)
    blob = work.result or work.latest
    if blob is not None and here.channel.send(blob, _cue(lesson, here, blob)):
        time.sleep(HEAD_START)
    seams.announce(here.channel.listens)
    return work


def draw(lesson: Lesson, here: Visit, work: jobs.Job) -> Future[None] | None:
    """Draw the stage; poll while `work`, a picture or a long run, is under way. Returns what `settle` waits for."""
    before, polled = here.shown, work.active
    st.fragment(_stage, run_every=jobs.LOOK if polled else None)(lesson, here, polled)
    if here.shown is not before and here.shown is not here.channel.sent:
        time.sleep(FIRST_HEAD_START if arriving() else HEAD_START)
    return here.channel.flushed()


def _cue(lesson: Lesson, here: Visit, blob: bytes) -> bytes:
    wanted = direction.cue(lesson, here, blob)
    return b"" if wanted is None else wanted.encode()


def settle(flushed: Future[None] | None) -> None:
    """Let the run of a page end only when its stage has been sent.

    An event of the stage that waits for that end starts a run of its fragment alone, and with it Streamlit drops what
    the fragment has not sent yet. The page's run still counts as whole, so the browser would take player and pad away
    as things that the page no longer has, and a stroke with them.
    """
    if flushed is not None:
        wait([flushed], timeout=PATIENCE)


def _stage(lesson: Lesson, here: Visit, polled: bool) -> None:
    if here.touched:  # an event of the player changed the spec: the whole page follows
        st.rerun()
    work = here.run or _picture(lesson, here)
    work.heartbeat()
    active = work.active  # looked at before its results
    if active != polled:
        st.rerun()  # a full run sets the timer, or removes it
    blob = work.result or work.latest
    if blob is not None:
        here.shown = blob
    _show(lesson, here, stale=blob is None and active and here.run is None)
    if blob is None and not active and here.run is None:  # of a run the row below says it
        messages.complain("the picture", work.error)
    if lesson.live is not None and lesson.live(here.spec) is not None:
        _live_row(lesson, here)


def _show(lesson: Lesson, here: Visit, stale: bool) -> None:
    strokes = lesson.pad(here.spec) if lesson.pad is not None else None  # the pad itself knows what is under the pen
    if strokes is not None:
        pad(strokes, key=f"{lesson.slug}/pad", on_event=lambda event: _event(lesson, here, event))
    if here.shown is None:
        if stale:
            st.skeleton(height=420)
        return
    with messages.guard("the picture"):
        player(
            here.shown,
            key=f"{lesson.slug}/player",
            channel=here.channel,
            cue=b"" if stale else _cue(lesson, here, here.shown),
            on_event=lambda event: _event(lesson, here, event),
        )
    if stale:
        st.caption("The picture for the new settings is being made …")


def _picture(lesson: Lesson, here: Visit) -> jobs.Job:
    """The job of the present scene; mostly finished when it returns."""
    spec = here.draft or here.spec
    kept = direction.kept(lesson, here)
    key = (lesson.slug, "scene", spec, lesson.ready(spec), here.window, kept)
    made = lesson, spec, here.window, kept
    job = jobs.pool().submit((session(), "scene"), key, _scene, *made, rank=turns.FIRST, local=True)
    job.wait_for_a_look(PATIENCE)
    if job.state == jobs.FAILED and here.window is not None:
        here.window = None  # the inside of that transition cannot be had: show the run without it
        return _picture(lesson, here)
    return job


def _scene(lesson: Lesson, spec: Any, window: int | None, kept: tuple[Spec, story.Keep] | None, ticket: jobs.Job) -> bytes | None:
    blob = lesson.grow(spec, ticket) if lesson.grow is not None and window is None else lesson.scene(spec, window)
    if blob is None or kept is None:
        return blob
    try:
        return with_ghosts(lesson, blob, *kept)
    except MomentError as problem:  # of other settings, whose run never meets it
        log.info("%s: %s", lesson.slug, problem)
        return blob


def with_ghosts(lesson: Lesson, blob: bytes, own: Spec, keep: story.Keep) -> bytes:
    """The picture with the marks that stay of the step's own run."""
    old = lesson.scene(own, None)
    t = ghosts.place(old, keep.at)
    if not ghosts.has_inside(old, t):
        old = lesson.scene(own, t)
    return ghosts.laid_over(blob, old, keep.marks, keep.words, keep.at)


def _event(lesson: Lesson, here: Visit, event: dict) -> None:
    """What the player asks for. The event comes from the browser: nothing in it is trusted."""
    if event.get("kind") == "window":
        t = event.get("t")
        if isinstance(t, (int, float)) and 0 <= t < 2**31:
            here.window = int(t)
        return
    if event.get("kind") in ("choice", "draw"):
        question = direction.open_question(lesson, here)
        if question is not None and event["kind"] == "choice":
            here.given(lambda: predict.choose(question, here, event.get("option")))
        elif question is not None:
            here.given(lambda: predict.draw(question, here, event.get("values")))
        return
    if event.get("kind") == "preview":
        _preview(lesson, here, Asked.of(event))
        return
    if event.get("kind") == push.LOST:
        here.channel.lost()
        return
    if lesson.on_event is None:
        return
    try:
        spec = lesson.on_event(here.draft or here.spec, event)
    except SpecError as error:
        here.problems = (share.Problem(error.parameter, error.reason),)
        here.touched = True
    except Exception:  # a lesson's mistake, or a forged event
        log.exception("%s: event %r", lesson.slug, event.get("kind"))
    else:
        here.draft = spec if event.get("final") is False else None
        if here.draft is None and spec is not None and spec != here.spec:
            here.load(spec, None)


# While a slider is dragged --------------------------------------------------------------------------------------------


def _preview(lesson: Lesson, here: Visit, asked: Asked | None) -> None:
    """Have the table of a field made and sent. Not while a question is open: what other settings show may answer it."""
    if asked is None or asked.field not in lesson.previews or here.run is not None or here.draft is not None:
        return
    if direction.open_question(lesson, here) is not None or lesson.previews[asked.field].slow(here.spec):
        return
    if _picture(lesson, here).state != jobs.DONE:
        return
    key = (lesson.slug, "preview", here.spec, lesson.ready(here.spec), asked)
    made = lesson, here.spec, asked, here.channel
    jobs.pool().submit((session(), "preview"), key, _tabled, *made, rank=turns.GIVEN, keep=False, local=True)


class _Limited:
    """The ticket of a job whose own thread may compute for LONGEST_PREVIEW."""

    def __init__(self, job: Ticket):
        self._job, self._thread, self._began = job, threading.get_ident(), time.thread_time()
        self._shown = EARLY_PREVIEW

    def is_set(self) -> bool:
        late = threading.get_ident() == self._thread and self._taken() > LONGEST_PREVIEW
        return late or self._job.is_set()

    def report(self, done: int, total: int) -> None:
        """Nobody waits for it."""

    def due(self) -> bool:
        """Whether it is time to show what there is."""
        late = self._taken() > self._shown
        if late:
            self._shown = 2 * self._taken()
        return late

    def _taken(self) -> float:
        return time.thread_time() - self._began


def _tabled(lesson: Lesson, spec: Any, asked: Asked, channel: push.Channel, ticket: Ticket) -> None:
    limited = _Limited(ticket)
    with contextlib.suppress(InterruptedError), holding(limited):  # the present picture may take all of it
        for table in preview.tables(lesson.previews[asked.field], lesson.scene, spec, asked, limited.is_set, limited.due):
            if not ticket.is_set():
                channel.tell(table)


# Long runs ----------------------------------------------------------------------------------------------------------


def _live_row(lesson: Lesson, here: Visit) -> None:
    run, step = here.run, direction.present(lesson, here)
    named = step is not None and lesson.live_label in step.italics  # then it stands above the stage: shell.css
    with st.container(key="live-named" if named else "live", horizontal=True, vertical_alignment="center"):
        if run is not None and run.active:
            st.progress(run.fraction() or 0.0, text=messages.progress(run))
            st.button("Stop", key=f"{lesson.slug}/stop", on_click=run.stop)
            return
        label = lesson.live_label if run is None else f"{lesson.live_label} again"
        st.button(label, key=f"{lesson.slug}/run", on_click=_start, args=(lesson, here), type="primary")
        if run is not None and run.state in (jobs.FAILED, jobs.TURNED_AWAY):
            messages.complain("the run", run.error)
        elif run is not None and run.total:
            how = "Stopped after" if run.state == jobs.STOPPED else "Finished:"
            st.caption(f"{how} {number(run.done)} of {number(run.total)}.")


def _start(lesson: Lesson, here: Visit) -> None:
    """Begin the long run: the callback of its button, which stands in a fragment."""
    body = None if lesson.live is None else lesson.live(here.spec)
    assert body is not None
    key = (lesson.slug, "live", here.spec, time.monotonic())  # each press is a run of its own
    rank = turns.GROWING
    here.run = jobs.pool().submit((session(), "live"), key, body, rank=rank, keep=False, local=True)
    here.touched = True
