"""What we use of Streamlit beyond its public interface, all of it: an upgrade is read against this file. Each function
has a test in `tests/kit/test_seams.py`, which names the version that it was last true of.

Public, and new enough to move: `st.App` with routes, middleware and lifespan (`app/main.py`), and `st.components.v2`.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import importlib
import re
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import streamlit as st
from streamlit import delta_generator, runtime
from streamlit.proto.AutoRerun_pb2 import AutoRerun
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.media_file_manager import MediaFileMetadata
from streamlit.runtime.media_file_storage import MediaFileKind
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import ScriptRunner, get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import (
    _TRIGGER_PROTO_FIELDS,
    RerunData,
    ScriptRequests,
    ScriptRequestType,
    _coalesce_widget_states,
    _has_active_trigger_value,
)
from streamlit.runtime.state.query_params import EMBED_QUERY_PARAMS_KEYS
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager

VERSION = "1.67.0"  # that the tests of this module were last run with
SCRIPT_THREAD = "ScriptRunner.scriptThread"  # the name of the threads that run scripts


def running() -> bool:
    """Whether a script runs in this thread."""
    return get_script_run_ctx(suppress_warning=True) is not None


def in_fragment() -> bool:
    """Whether only fragments run, not the whole page."""
    context = get_script_run_ctx(suppress_warning=True)
    return context is not None and bool(context.fragment_ids_this_run)


def went_back() -> bool:
    """Whether this run comes from the browser's back or forward button."""
    return bool(getattr(get_script_run_ctx(suppress_warning=True), "is_history_navigation", False))


def query() -> dict[str, list[str]]:
    """The query of this thread's run as it came, repeated and empty parameters included. `st.query_params` is the session's:
    a run that this one has replaced may have written it.
    """
    context = get_script_run_ctx(suppress_warning=True)
    came = parse_qs("" if context is None else context.query_string, keep_blank_values=True)
    return {name: values for name, values in came.items() if name.lower() not in EMBED_QUERY_PARAMS_KEYS}


def session_id() -> str | None:
    """Streamlit's name for the session whose script runs in this thread; None outside of one."""
    context = get_script_run_ctx(suppress_warning=True)
    return None if context is None else context.session_id


def scripts_run() -> bool:
    """Whether a script of any session runs, of a page or of a fragment alone. From any thread."""
    return any(thread.name == SCRIPT_THREAD for thread in threading.enumerate())


def connected(session: str) -> bool:
    """Whether a browser is connected to this session, by Streamlit's name for it and what may follow a slash. From any
    thread.
    """
    return not runtime.exists() or runtime.get_instance().is_active_session(session.partition("/")[0])


def reported(key: str) -> Any:
    """What the browser shows in the widget `key`, as the message said that asked for this run; None if it did not say."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is None:
        return None
    state = context.session_state._state
    try:
        return state._new_widget_state[state._get_widget_id(key)]
    except KeyError:
        return None


def component_event(key: str) -> dict | None:
    """What a component of ours has told, for its callback. None where its reader has left the page: Streamlit may still
    call back when it has forgotten the component's state.
    """
    state = st.session_state.get(key)
    return None if state is None else state.get("event")


_leaving: weakref.WeakKeyDictionary[AppSession, str] = weakref.WeakKeyDictionary()  # for this page, whose run has not begun
_bound_for: weakref.WeakKeyDictionary[AppSession, ClientState] = weakref.WeakKeyDictionary()  # that browsers may not have heard of


def keep_to_the_page() -> None:
    """From now on what was sent before the browser heard of its reader's new page does not take that page away.

    A fragment's event is dropped: Streamlit would announce a run of the page that was left, after that of the new one;
    the browser takes it for another change of the page, empties it, and breaks on the next message. A run of the whole
    page that was left, with its widgets, would go back to it: the new page is run once more in its place, for a browser
    that came back after the connection was lost may never hear of it otherwise. An address that the left page has written
    is not sent on: the browser would give it to the new one.
    """
    rerun, flush = AppSession.request_rerun, AppSession.flush_browser_queue
    if hasattr(rerun, "__wrapped__"):
        return

    @functools.wraps(rerun)
    def rerun_of_the_page(session: AppSession, asked: ClientState | None) -> None:
        if asked is not None and asked.page_script_hash:
            here = session._client_state.page_script_hash
            bound_for = _bound_for.get(session)
            if asked.page_script_hash == here:
                _bound_for.pop(session, None)
            elif asked.fragment_id:
                if here != session._pages_manager.main_script_hash:  # that of a page opened by its name, as long as its run lasts
                    return
            elif bound_for is not None and bound_for.page_script_hash == here and asked.widget_states.widgets:
                asked = bound_for
            else:
                session._client_state.page_script_hash = asked.page_script_hash  # as its run does, when it starts
                _bound_for[session] = asked  # a change of the page comes without widgets
                _leaving[session] = asked.page_script_hash
        rerun(session, asked)

    @functools.wraps(flush)
    def flush_of_the_page(session: AppSession) -> list[Any]:
        messages = flush(session)
        page = _leaving.get(session)
        if page is None:
            return messages
        begins = next((i for i, message in enumerate(messages) if message.new_session.page_script_hash == page), len(messages))
        if begins < len(messages):
            del _leaving[session]
        left = [message for message in messages[:begins] if message.WhichOneof("type") != "page_info_changed"]
        return left + messages[begins:]

    sessions: Any = AppSession
    sessions.request_rerun, sessions.flush_browser_queue = rerun_of_the_page, flush_of_the_page


class _Written:
    """What was written last, and what by each thread."""

    last: Any = None

    def __init__(self) -> None:
        self.own = threading.local()


class _OwnToEachThread:
    """An attribute that a thread reads as it wrote it itself; one that has not, as it was written last."""

    def __init__(self, name: str):
        self._name = name

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        kept = vars(owner)[self._name]
        return getattr(kept.own, "value", kept.last) if isinstance(kept, _Written) else kept  # it may be older than this

    def __set__(self, owner: Any, value: Any) -> None:
        kept = vars(owner).get(self._name)
        if not isinstance(kept, _Written):
            kept = vars(owner)[self._name] = _Written()
        kept.last = kept.own.value = value


def page_of_its_own() -> None:
    """From now on a run shows the page that it was asked for, whatever page another run of its session is at.

    Streamlit keeps that page with the session. The thread of a run that a newer one has replaced may write it once more
    before it hears of its end, a timer's the most often: the newer run then shows the page that its reader has left.
    """
    manager: Any = PagesManager
    for name in ("_intended_page_script_hash", "_intended_page_name", "_current_page_script_hash"):
        setattr(manager, name, _OwnToEachThread(name))


_locks: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()  # by session


def one_lock_a_session() -> None:
    """From now on the runs of a session wait for each other at its state.

    Streamlit gives each a lock of its own. A run that a newer one has replaced may make one more widget while that one
    goes through them for what was pressed: the page shows an error, and the press is lost.
    """
    runner: Any = ScriptRunner
    made = runner.__init__
    if hasattr(made, "__wrapped__"):
        return

    @functools.wraps(made)
    def made_with_the_lock_of_its_session(self: Any, session_id: str, *more: Any, **named: Any) -> None:
        made(self, session_id, *more, **named)
        object.__setattr__(self._session_state, "_lock", _locks.setdefault(session_id, threading.RLock()))

    runner.__init__ = made_with_the_lock_of_its_session


@contextmanager
def undisturbed() -> Iterator[None]:
    """As long as this lasts, the run in this thread may use its session's state although a newer run has taken its place:
    Streamlit ends it at the first look there, in the middle of what was to be done as a whole.
    """
    context = get_script_run_ctx(suppress_warning=True)
    if context is None:
        yield
        return
    state, ends_here = context.session_state, context.session_state._yield_callback
    object.__setattr__(state, "_yield_callback", lambda: None)
    try:
        yield
    finally:
        object.__setattr__(state, "_yield_callback", ends_here)


def one_news_a_message() -> None:
    """From now on what a reader did stands until its run has begun, whatever a message about something else says of the
    widgets: a timer's, or one of a press or of a component's event.

    Streamlit puts requests together that no run has taken up yet, and believes the last. Every move has a message of its
    own, but a value that the program has set may reach the browser just after the move: the next message then says that
    the widget is where it was before, and the move is lost.
    """
    requests: Any = ScriptRequests
    put_together = requests._request_rerun_locked
    if hasattr(put_together, "__wrapped__"):
        return

    @functools.wraps(put_together)
    def put_together_with_what_was_done(self: Any, asked: RerunData) -> bool:
        waiting = self._rerun_data.widget_states if self._state == ScriptRequestType.RERUN else None
        if waiting is not None:
            asked = dataclasses.replace(asked, widget_states=_news(waiting, asked))
        done: bool = put_together(self, asked)
        return done

    requests._request_rerun_locked = put_together_with_what_was_done


def what_was_not_taken_up_goes_on() -> None:
    """From now on a message whose run has not begun is not lost to the next one.

    For a run of the page Streamlit stops the run under way at once, and what that one had not yet looked at stops with it:
    a button that was pressed while the thread of its run was started, an event of the stage that waited for its turn.
    """
    rerun = AppSession.request_rerun
    if hasattr(rerun, "goes_on"):
        return

    @functools.wraps(rerun)
    def rerun_with_what_waits(session: AppSession, asked: ClientState | None) -> None:
        runner: Any = session._scriptrunner
        if asked is not None and not asked.fragment_id and runner is not None:
            waiting = _taken_back(runner._requests, asked.page_script_hash)
            if waiting is not None:
                told = ClientState()
                told.CopyFrom(asked)
                told.widget_states.CopyFrom(_coalesce_widget_states(waiting, _news(waiting, asked)))
                asked = told
        rerun(session, asked)

    rerun_with_what_waits.goes_on = True  # type: ignore[attr-defined]
    sessions: Any = AppSession
    sessions.request_rerun = rerun_with_what_waits


def _taken_back(requests: Any, page: str) -> WidgetStates | None:
    """What waits for its run on this page, which will not begin; None where nothing waits."""
    with requests._lock:
        waits = requests._state == ScriptRequestType.RERUN and requests._rerun_data.page_script_hash == page
        if not waits or requests._rerun_data.widget_states is None:
            return None
        requests._state = ScriptRequestType.STOP
        states: WidgetStates = requests._rerun_data.widget_states
        return states


COMPONENT = "json_value"  # a component may tell its state and an event in one message


def _news(waiting: WidgetStates, asked: RerunData | ClientState) -> WidgetStates | None:
    """What a message says of the widgets, `waiting` being what those before it said: a timer's nothing, one of a press
    nothing of others. (Not so where `st.form` holds values back until its button is pressed: no page has one.)
    """
    told: WidgetStates | None = asked.widget_states
    if asked.is_auto_rerun or told is None:
        return None
    if not any(_has_active_trigger_value(state) for state in told.widgets):
        return told
    kept = {state.id: state for state in waiting.widgets if state.WhichOneof("value") not in _TRIGGER_PROTO_FIELDS | {COMPONENT}}
    found = WidgetStates()
    found.widgets.extend(kept.get(state.id, state) for state in told.widgets)
    return found


ANSWERS = ("file_urls_response", "backend_operation_response")  # to what a browser asks for beside the runs


def an_answer_is_no_part_of_a_run() -> None:
    """From now on a browser hears where to send a file, and where what a button made is to be had, also when a run begins
    just then.

    Streamlit throws away what was to be sent when a run begins, the answers with it. The browser waits for its own for
    ever: the file that was dropped is not sent, the place for it stands empty.
    """
    clear = AppSession._clear_queue
    if hasattr(clear, "__wrapped__"):
        return

    @functools.wraps(clear)
    def clear_but_for_answers(session: AppSession, *asked: Any, **named: Any) -> None:
        answers = [message for message in session._browser_queue._queue if message.WhichOneof("type") in ANSWERS]
        clear(session, *asked, **named)
        kept = {id(message) for message in session._browser_queue._queue}
        for message in answers:
            if id(message) not in kept:
                session._browser_queue.enqueue(message)

    sessions: Any = AppSession
    sessions._clear_queue = clear_but_for_answers


BACK = "back"  # stands where a browser names the fragment that it wants to be run
SOON = 0.1  # s

_back: weakref.WeakSet[AppSession] = weakref.WeakSet()  # whose browsers have come back, and have asked for nothing since


def run_again_when_back() -> None:
    """From now on a browser that comes back after its connection was lost is given the whole page anew, whatever it asks
    for first; it is made to ask, since it may see no reason to.

    Streamlit stops the run under way when the connection is lost, and takes it for whole: the browser would empty the page
    of all that this run had not come to, and break on the next message for a place behind. And what was on the wire when
    the connection was lost never comes.
    """
    managers: Any = WebsocketSessionManager
    sessions: Any = AppSession
    resume, disconnect, rerun = managers._resume_stored_session, managers.disconnect_session, sessions.request_rerun
    if hasattr(resume, "__wrapped__"):
        return

    @functools.wraps(disconnect)
    def disconnect_and_forget_the_run(manager: Any, session_id: str) -> None:
        found = manager.get_active_session_info(session_id)
        disconnect(manager, session_id)
        if found is not None:
            found.session._scriptrunner = None  # what it still says is not listened to, as when a newer run takes its place

    @functools.wraps(resume)
    def resume_anew(manager: Any, *asked: Any, **named: Any) -> str | None:
        resumed: str | None = resume(manager, *asked, **named)
        if resumed is not None:
            session = manager.get_active_session_info(resumed).session
            _back.add(session)
            session._clear_queue()
            session._enqueue_forward_msg(ForwardMsg(auto_rerun=AutoRerun(interval=SOON, fragment_id=BACK)))
        return resumed

    @functools.wraps(rerun)
    def rerun_of_all(session: AppSession, asked: ClientState | None) -> None:
        if asked is not None and session in _back:
            asked.fragment_id, asked.is_auto_rerun = "", False
            _back.discard(session)
            asked.cached_message_hashes.append(BACK)  # no hash of a message: it tells the run, see `came_back`
        elif asked is not None and asked.fragment_id == BACK:
            return
        rerun(session, asked)

    managers._resume_stored_session, managers.disconnect_session = resume_anew, disconnect_and_forget_the_run
    sessions.request_rerun = rerun_of_all


def came_back() -> bool:
    """Whether this run is the first for a browser that came back after its connection was lost: what it was told before
    may not have come.
    """
    return BACK in getattr(get_script_run_ctx(suppress_warning=True), "cached_message_hashes", ())


# A run is announced by messages for which the browser draws its page anew, before the run has anything to show; a picture
# on a way of its own would wait for that.
ANNOUNCED = 0.15  # s after which the browser hears of a run whose picture is not there yet

_sessions: weakref.WeakValueDictionary[str, AppSession] = weakref.WeakValueDictionary()  # whose browsers have asked for a run
_with_pictures: weakref.WeakSet[AppSession] = weakref.WeakSet()  # whose pictures go a way of their own
_silent: weakref.WeakKeyDictionary[AppSession, float] = weakref.WeakKeyDictionary()  # until when messages wait


def picture_first(asked_for: Callable[[str], object]) -> None:
    """From now on messages of a run of the page wait for `announce`, where its picture goes a way of its own. `asked_for`
    is called with the name of a session whose reader asks for such a run.
    """
    flush, rerun = AppSession.flush_browser_queue, AppSession.request_rerun
    if hasattr(flush, "in_turn"):
        return

    @functools.wraps(flush)
    def flush_in_turn(session: AppSession) -> list[Any]:
        if time.monotonic() < _silent.get(session, 0.0):
            return []
        _silent.pop(session, None)
        return flush(session)

    @functools.wraps(rerun)
    def rerun_in_silence(session: AppSession, asked: ClientState | None) -> None:
        _sessions[session.id] = session
        here = asked is not None and asked.page_script_hash == session._client_state.page_script_hash
        if not here:
            _with_pictures.discard(session)  # until the page that comes has one
        if asked is not None and here and not asked.fragment_id and session in _with_pictures and session not in _silent:
            asked_for(session.id)
            _silent[session] = time.monotonic() + ANNOUNCED
            session._event_loop.call_later(ANNOUNCED, _flush_soon, session)
        rerun(session, asked)

    flush_in_turn.in_turn = True  # type: ignore[attr-defined]
    sessions: Any = AppSession
    sessions.flush_browser_queue, sessions.request_rerun = flush_in_turn, rerun_in_silence


def announce(pictures: bool) -> None:
    """Let what the run in this thread says go to its browser. `pictures` : whether those of the next one go ahead of it."""
    session = _sessions.get(session_id() or "")
    if session is None:
        return
    (_with_pictures.add if pictures else _with_pictures.discard)(session)
    if _silent.pop(session, None) is not None:
        _flush_soon(session)


def _flush_soon(session: AppSession) -> None:
    if session._message_enqueued_callback:
        session._message_enqueued_callback()


def page_again(page: Any) -> Any:
    """A page for one more run of the script: Streamlit notes in the object that it has run."""
    return copy.copy(page)


def prime() -> None:
    """Load what Streamlit puts off to the first page, one large pattern, and save it a look at all modules: with its first
    element it would find out, for a warning, whether somebody types at a prompt.
    """
    importlib.import_module("streamlit.emojis")
    delta_generator._use_warning_has_been_displayed = True


def keep_image(image: bytes) -> None:
    """Keep a PNG of every page for as long as the server runs. Streamlit throws it away when a run is cut short before it
    has come to its images, and keeps it anew in the next one: a browser that asked in between found nothing.
    """
    if not runtime.exists():
        return
    files = runtime.get_instance().media_file_mgr
    with files._lock:
        name = files._storage.load_and_get_id(image, "image/png", MediaFileKind.MEDIA)
        files._file_metadata[name] = MediaFileMetadata()
        files._files_by_session_and_coord["kept"][name] = name  # where a session of this name would have put it


def base_path() -> str:
    """Below which path the app is served, without slashes at its ends."""
    return str(st.get_option("server.baseUrlPath")).strip("/")


def below_base(path: str) -> str:
    """A route of ours, "/healthz", below the base path."""
    return f"/{base_path()}{path}" if base_path() else path


def readers() -> int:
    """How many browsers are connected."""
    return runtime.get_instance()._session_mgr.num_active_sessions() if runtime.exists() else 0


# Streamlit's scripts in the browser -----------------------------------------------------------------------------------

# Where they look for the server before they try the folders above the page, one after the other.
SERVER_AT_THE_PAGE_S_FOLDER = (
    b'<script>window.__streamlit ??= {BACKEND_BASE_URL: location.origin + location.pathname.replace(/[^/]+\\/?$/, "")};</script>'
)


def component_modules() -> list[str]:
    """The names of Streamlit's own modules that a page loads with its first component, and not before."""
    static = Path(st.__file__).parent / "static"
    page = (static / "index.html").read_text(encoding="utf-8")
    folder = static / "static" / "js"
    known = set(re.findall(r'static/js/([^"]+)', page))
    names: list[str] = []
    wanted = [path.name for path in folder.glob("BidiComponent.*.js")]
    while wanted:
        name = wanted.pop()
        if name not in known:
            known.add(name)
            names.append(name)
            wanted += re.findall(r'from"\./([^"]+)"', (folder / name).read_text(encoding="utf-8"))
    return names
