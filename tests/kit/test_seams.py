"""What we use of Streamlit beyond its public interface is still there: read `app/kit/seams.py` against a new version
when one of these fails, then write the version into it."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import streamlit as st
from streamlit import delta_generator
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.Common_pb2 import FileURLsRequest
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.ForwardMsg_pb2 import BackendOperationResponse, ForwardMsg
from streamlit.proto.NewSession_pb2 import NewSession
from streamlit.proto.PageInfo_pb2 import PageInfo as PageInfoMessage
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime import Runtime
from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import RerunData, ScriptRunContext, ScriptRunner
from streamlit.runtime.scriptrunner_utils.exceptions import StopException
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import SessionState
from streamlit.runtime.websocket_session_manager import WebsocketSessionManager
from streamlit.source_util import PageInfo
from streamlit.testing.v1 import AppTest

from app.kit import canvas, pad, seams
from app.pages import ICON

STATIC = Path(st.__file__).parent / "static"


def test_the_version_is_the_one_that_is_installed_and_asked_for():
    asked = Path(seams.__file__).parents[2] / "requirements.txt"
    assert st.__version__ == seams.VERSION
    assert f"streamlit=={seams.VERSION} " in asked.read_text(encoding="utf-8")


def script() -> None:
    """A page that shows what the seams say."""
    import streamlit as st

    from app.kit import seams

    st.text(f"{seams.running()} {seams.scripts_run()} {seams.in_fragment()} {seams.went_back()} {bool(seams.session_id())}")


def test_a_script_knows_that_it_runs_and_for_whom():
    app = AppTest.from_function(script).run()
    assert not app.exception and app.text[0].value == "True True False False True"
    assert not seams.running() and not seams.scripts_run() and not seams.in_fragment() and not seams.went_back()
    assert seams.session_id() is None


def asking() -> None:
    """A page that shows what it was asked for, when another run of its session was asked for something else meanwhile."""
    import streamlit as st
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    from app.kit import seams

    context = get_script_run_ctx()
    assert context is not None
    with context.session_state.query_params() as theirs:
        theirs.populate_from_query_string("seed=5")
    st.json(seams.query())


def test_a_run_reads_its_own_query():
    app = AppTest.from_function(asking)
    app.query_params.update({"seed": ["1", "2"], "view": "", "embed": "true"})
    assert json.loads(app.run().json[0].value) == {"seed": ["1", "2"], "view": [""]}
    assert seams.query() == {}


def reporting() -> None:
    """A widget, and what the browser says that it shows, before the widget is made."""
    import streamlit as st

    from app.kit import seams

    st.text(str(seams.reported("n")))
    st.number_input("n", value=3, key="n")


def test_what_a_browser_says_of_a_widget_is_known_before_the_widget_is_made():
    app = AppTest.from_function(reporting).run()
    assert app.text[0].value == "None", "it has not seen it yet"
    assert app.run().text[0].value == "3"
    app.number_input(key="n").set_value(5)
    assert app.run().text[0].value == "5"
    assert seams.reported("n") is None


def test_the_context_of_a_run_has_what_is_read_off_it():
    fields = ScriptRunContext.__dataclass_fields__
    assert {"session_id", "fragment_ids_this_run", "is_history_navigation"} <= set(fields)


def test_without_a_server_nobody_is_taken_for_gone():
    assert seams.connected("anybody")
    assert callable(Runtime.is_active_session)  # what it says of readers who leave: tests/load


def pages() -> None:
    """A script whose page is run by two sessions in turns."""
    import streamlit as st

    from app.kit import seams

    page = st.Page(lambda: st.text("the page"), title="Page", url_path="page")
    ours, theirs = seams.page_again(page), seams.page_again(page)
    st.navigation([theirs], position="hidden").run()
    st.navigation([ours], position="hidden").run()


def test_a_page_can_be_run_by_several_sessions_at_once():
    app = AppTest.from_function(pages).run()
    assert not app.exception and [text.value for text in app.text] == ["the page", "the page"]


def test_priming_loads_the_large_pattern_and_spares_a_look_at_all_modules(monkeypatch: pytest.MonkeyPatch):
    sys.modules.pop("streamlit.emojis", None)
    monkeypatch.setattr(delta_generator, "_use_warning_has_been_displayed", False)
    looked: list[bool] = []
    monkeypatch.setattr(delta_generator.env_util, "is_repl", lambda: bool(looked.append(True)))
    delta_generator._maybe_print_use_warning()
    assert looked.pop(), "Streamlit looks no more: this can go"
    delta_generator._use_warning_has_been_displayed = False
    seams.prime()
    delta_generator._maybe_print_use_warning()
    assert "streamlit.emojis" in sys.modules and not looked


def test_an_image_of_every_page_is_there_also_after_a_run_that_was_cut_short(monkeypatch: pytest.MonkeyPatch):
    files = MediaFileManager(storage := MemoryMediaFileStorage("/media"))
    monkeypatch.setattr(Runtime, "_instance", SimpleNamespace(media_file_mgr=files))
    seams.keep_image(ICON)
    kept, other = [files.add(image, "image/png", "favicon").rpartition("/")[2] for image in (ICON, b"another")]
    files.clear_session_refs()  # as each run begins
    files.remove_orphaned_files()  # as it ends, wherever that is
    assert storage.get_file(kept).content == ICON
    with pytest.raises(MediaFileStorageError):
        storage.get_file(other)


def test_streamlits_scripts_look_for_the_server_where_the_page_says():
    scripts = (path.read_text(encoding="utf-8") for path in (STATIC / "static" / "js").glob("index.*.js"))
    assert any("__streamlit" in text and "BACKEND_BASE_URL" in text for text in scripts)
    assert b"window.__streamlit" in seams.SERVER_AT_THE_PAGE_S_FOLDER


def test_streamlits_modules_for_components_are_where_the_page_looks_for_them():
    names = seams.component_modules()
    assert len(names) > 3 and all((STATIC / "static" / "js" / name).is_file() for name in names)
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    assert not [name for name in names if name in page], "the page names them itself"


def test_a_session_is_asked_for_runs_where_late_events_are_dropped():
    rerun = AppSession.request_rerun
    try:
        seams.keep_to_the_page()
        once = AppSession.request_rerun
        seams.keep_to_the_page()
        assert AppSession.request_rerun is once is not rerun
    finally:
        AppSession.request_rerun = rerun
    fields = ClientState.DESCRIPTOR.fields_by_name
    assert {"page_script_hash", "fragment_id", "widget_states"} <= set(fields)


def test_a_press_on_the_page_that_is_left_does_not_go_back_to_it(monkeypatch: pytest.MonkeyPatch):
    ran: list[str] = []
    monkeypatch.setattr(AppSession, "request_rerun", lambda session, asked: ran.append(f"{asked.page_script_hash}?{asked.query_string}"))
    monkeypatch.setattr(AppSession, "flush_browser_queue", lambda session: [])
    seams.keep_to_the_page()
    session = AppSession.__new__(AppSession)
    session._state, session._client_state = AppSessionState.SHUTDOWN_REQUESTED, ClientState()
    session._pages_manager = PagesManager(__file__)
    pressed = WidgetStates(widgets=[WidgetState(id="a button", trigger_value=True)])
    session.request_rerun(ClientState(page_script_hash="start"))
    session.request_rerun(ClientState(page_script_hash="start", widget_states=pressed))
    session.request_rerun(ClientState(page_script_hash="hmc", query_string="step_size=1"))
    session.request_rerun(ClientState(page_script_hash="start", fragment_id="timer"))
    session.request_rerun(ClientState(page_script_hash="start", query_string="step_size=1", widget_states=pressed))
    assert ran == ["start?", "start?", "hmc?step_size=1", "hmc?step_size=1"]
    session.request_rerun(ClientState(page_script_hash="hmc", widget_states=pressed))
    session.request_rerun(ClientState(page_script_hash="start"))
    assert ran[4:] == ["hmc?", "start?"], "the reader goes back by a link"
    session._client_state.page_script_hash = session._pages_manager.main_script_hash
    session.request_rerun(ClientState(page_script_hash="start", fragment_id="player"))
    assert ran[6:] == ["start?"], "its first run is still under way: what the reader does on it is not lost"


def test_the_address_of_a_page_that_is_left_is_not_given_to_the_next(monkeypatch: pytest.MonkeyPatch):
    def said(query: str) -> ForwardMsg:
        return ForwardMsg(page_info_changed=PageInfoMessage(query_string=query))

    def begun(page: str) -> ForwardMsg:
        return ForwardMsg(new_session=NewSession(page_script_hash=page))

    queue: list[ForwardMsg] = []
    monkeypatch.setattr(AppSession, "request_rerun", lambda session, asked: None)
    monkeypatch.setattr(AppSession, "flush_browser_queue", lambda session: queue)
    seams.keep_to_the_page()
    session = AppSession.__new__(AppSession)
    session._state, session._client_state = AppSessionState.SHUTDOWN_REQUESTED, ClientState(page_script_hash="start")
    queue[:] = [begun("start"), said("seed=1")]
    assert session.flush_browser_queue() == queue
    session.request_rerun(ClientState(page_script_hash="hmc"))
    queue[:] = [said("seed=2")]
    assert session.flush_browser_queue() == []
    queue[:] = [begun("start"), said("seed=3"), begun("hmc"), said("steps=9")]
    assert session.flush_browser_queue() == [queue[0], queue[2], queue[3]]
    queue[:] = [said("steps=8")]
    assert session.flush_browser_queue() == queue


def test_a_run_shows_the_page_that_it_was_asked_for(monkeypatch: pytest.MonkeyPatch):
    names = ("_intended_page_script_hash", "_intended_page_name", "_current_page_script_hash")
    for name in names:
        monkeypatch.setattr(PagesManager, name, None, raising=False)  # so that they go again
    older = PagesManager(__file__)
    for name in names:
        vars(older)[name] = "before"
    seams.page_of_its_own()
    assert older.current_page_script_hash == "before"
    manager = PagesManager(__file__)
    assert {name for name, value in vars(manager).items() if isinstance(value, seams._Written)} == set(names)
    pages = {page: PageInfo(page_script_hash=page) for page in ("gibbs", "hmc")}

    def run(page: str) -> None:
        manager.set_script_intent(page, page)
        manager.set_current_page_script_hash(page)

    run("hmc")
    with ThreadPoolExecutor(1) as other:
        assert other.submit(lambda: manager.current_page_script_hash).result() == "hmc", "a new run knows the one before"
        other.submit(run, "gibbs").result()
        run("hmc")  # late
        found = other.submit(manager.set_pages_and_resolve, pages).result()
        assert found == pages["gibbs"] and manager.set_pages_and_resolve(pages) == pages["hmc"]
        assert other.submit(lambda: manager.current_page_script_hash).result() == "gibbs"
    assert manager.intended_page_name == "hmc"


def test_a_run_that_is_replaced_makes_no_widget_while_the_next_goes_through_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ScriptRunner, "__init__", ScriptRunner.__init__)
    seams.one_lock_a_session()
    seams.one_lock_a_session()
    state, done = SessionState(), threading.Event()

    def run(session: str, state: SessionState) -> SafeSessionState:
        none: Any = None
        made = ScriptRunner(session, __file__, state, none, none, RerunData(), {}, none, none, none)
        return made._session_state

    replaced, newer, another = run("here", state), run("here", state), run("there", SessionState())

    def make() -> None:
        replaced["widget"] = 1
        done.set()

    with newer.query_params():  # has the lock
        another["widget"] = 1  # of another reader
        newer["widget"] = 0
        maker = threading.Thread(target=make)
        maker.start()
        assert not done.wait(0.2) and newer["widget"] == 0
    assert done.wait(10.0) and newer["widget"] == 1
    maker.join()


def test_a_run_that_is_replaced_may_do_what_is_to_be_done_as_a_whole(monkeypatch: pytest.MonkeyPatch):
    def ends() -> None:
        raise StopException

    held: Any = {"box": 1}
    state = SafeSessionState(held, ends)
    with seams.undisturbed():  # of no run there is nothing to end
        pass
    monkeypatch.setattr(seams, "get_script_run_ctx", lambda **_: SimpleNamespace(session_state=state))
    with pytest.raises(ValueError), seams.undisturbed():
        assert state["box"] == 1
        raise ValueError
    with pytest.raises(StopException):
        state["box"]


def test_a_message_about_something_else_does_not_undo_a_move_whose_run_has_not_begun(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ScriptRequests, "_request_rerun_locked", ScriptRequests._request_rerun_locked)
    seams.one_news_a_message()
    seams.one_news_a_message()

    def says(value: str, press: bool | None = None, event: str = "", state: str = "", **how: Any) -> RerunData:
        states = WidgetStates()
        states.widgets.add(id="scenario", string_value=value)
        if press is not None:
            states.widgets.add(id="button", trigger_value=press)
        if event:
            states.widgets.add(id="stage events", json_trigger_value=event)
        if state:
            states.widgets.add(id="stage", json_value=state)
        return RerunData(widget_states=states, **how)

    def taken(*asked: RerunData) -> list[Any]:
        requests = ScriptRequests()
        for each in asked:
            requests.request_rerun(each)
        widgets = requests.on_scriptrunner_ready().rerun_data.widget_states.widgets
        return [getattr(widget, widget.WhichOneof("value")) for widget in widgets]

    timer = says("where it was", fragment_id="clock", is_auto_rerun=True)
    assert taken(says("moved"), timer) == ["moved"]
    assert taken(says("moved"), timer, says("moved on")) == taken(timer, says("moved on")) == ["moved on"]
    assert taken(timer) == ["where it was"]
    assert taken(says("moved"), says("where it was", press=True)) == ["moved", True]
    assert taken(says("moved"), says("where it was", event="click")) == ["moved", "click"]
    assert taken(says("moved", state="old"), says("where it was", event="click", state="new")) == ["moved", "click", "new"]
    assert taken(says("moved", press=True), says("moved on", press=False)) == ["moved on", True], "a move is news"
    assert taken(says("where it was", press=True)) == ["where it was", True]
    moved_on = says("moved on")
    moved_on.widget_states.widgets.add(id="menu").string_trigger_value.SetInParent()
    assert taken(says("moved"), moved_on)[0] == "moved on", "a menu of which nothing was chosen is no press"


def test_what_waits_for_its_run_goes_on_with_the_next_message(monkeypatch: pytest.MonkeyPatch):
    """Streamlit stops a runner whose thread has not begun, and a press with it."""
    ran: list[ClientState] = []
    monkeypatch.setattr(AppSession, "request_rerun", lambda session, asked: ran.append(asked))
    seams.what_was_not_taken_up_goes_on()
    seams.what_was_not_taken_up_goes_on()

    def says(press: bool, scenario: str, **how: Any) -> ClientState:
        states = WidgetStates()
        states.widgets.add(id="button", trigger_value=press)
        states.widgets.add(id="scenario", string_value=scenario)
        return ClientState(**{"page_script_hash": "hmc", "widget_states": states, **how})

    def waiting(told: ClientState) -> SimpleNamespace:
        requests = ScriptRequests()
        requests.request_rerun(RerunData(widget_states=told.widget_states, page_script_hash=told.page_script_hash))
        return SimpleNamespace(_requests=requests)

    def heard(runner: SimpleNamespace | None, told: ClientState) -> dict[str, Any]:
        session = AppSession.__new__(AppSession)
        session._state, session._scriptrunner = AppSessionState.SHUTDOWN_REQUESTED, runner
        session.request_rerun(told)
        return {widget.id: getattr(widget, widget.WhichOneof("value")) for widget in ran.pop().widget_states.widgets}

    begun = waiting(says(True, "before"))
    begun._requests.on_scriptrunner_ready()
    assert heard(begun, says(False, "after")) == {"button": False, "scenario": "after"}, "its run has begun"
    assert heard(None, says(False, "after")) == {"button": False, "scenario": "after"}
    late = waiting(says(True, "before"))
    assert heard(late, says(False, "after")) == {"button": True, "scenario": "after"}
    assert late._requests.on_scriptrunner_ready().type.name == "STOP", "it is not done twice"
    assert heard(waiting(says(False, "moved")), says(True, "where it was")) == {"button": True, "scenario": "moved"}
    assert heard(waiting(says(False, "moved")), says(False, "where it was", is_auto_rerun=True))["scenario"] == "moved"
    assert heard(waiting(says(True, "before")), says(False, "after", fragment_id="clock"))["button"] is False, (
        "Streamlit puts these together"
    )
    assert heard(waiting(says(True, "before", page_script_hash="nuts")), says(False, "after"))["button"] is False, (
        "a press on a page that is left"
    )


class Queue:
    """Stands for what a session has to say to its browser."""

    def flush(self) -> list[str]:
        return ["a run has begun"]


def test_a_browser_hears_where_to_send_its_file_also_when_a_run_begins(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(AppSession, "_clear_queue", AppSession._clear_queue)
    session = AppSession.__new__(AppSession)
    session._state, session.id = AppSessionState.SHUTDOWN_REQUESTED, "somebody"
    session._browser_queue, session._message_enqueued_callback = ForwardMsgQueue(), None
    session._uploaded_file_mgr = MemoryUploadedFileManager("/upload")

    def told(*fragments: str) -> list[str | None]:
        session._browser_queue.enqueue(ForwardMsg(delta=Delta(fragment_id="player")))
        session._handle_file_urls_request(FileURLsRequest(request_id="file", file_names=["chain.csv"]))
        session._browser_queue.enqueue(ForwardMsg(backend_operation_response=BackendOperationResponse(request_id="report")))
        session._clear_queue(list(fragments) or None)
        return sorted(message.WhichOneof("type") or "" for message in session._browser_queue.flush())

    assert told() == [], "Streamlit keeps them now: this seam can go"
    seams.an_answer_is_no_part_of_a_run()
    seams.an_answer_is_no_part_of_a_run()
    assert told() == sorted(seams.ANSWERS)
    assert told("player") == sorted(seams.ANSWERS), "each once"


def test_a_picture_with_a_way_of_its_own_goes_ahead_of_what_announces_its_run(monkeypatch: pytest.MonkeyPatch):
    now, timers, woken, ran, asked_for = [100.0], [], [], [], []
    for name in ("flush_browser_queue", "request_rerun"):
        monkeypatch.setattr(AppSession, name, getattr(AppSession, name))
    monkeypatch.setattr(AppSession, "request_rerun", lambda session, asked: ran.append(asked))
    monkeypatch.setattr(seams.time, "monotonic", lambda: now[0])
    seams.picture_first(asked_for.append)
    session = AppSession.__new__(AppSession)
    session._state = AppSessionState.SHUTDOWN_REQUESTED
    session._browser_queue, session._client_state = Queue(), ClientState(page_script_hash="hmc")
    session._message_enqueued_callback = lambda: woken.append(now[0])
    session._event_loop = SimpleNamespace(call_later=lambda seconds, act, *given: timers.append((seconds, act, given)))
    session.id = "somebody"
    monkeypatch.setattr(seams, "session_id", lambda: "somebody")

    def moves(**what: str) -> list[str]:
        session.request_rerun(ClientState(**{"page_script_hash": "hmc", **what}))
        return session.flush_browser_queue()

    assert moves() and not timers, "nobody listens yet"
    seams.announce(True)
    assert moves(fragment_id="timer") and not timers
    assert moves(page_script_hash="another") and moves() and not timers, "the page that comes may have no picture"
    seams.announce(True)
    assert moves() == [] and len(timers) == 1 and not woken
    seams.announce(True)
    assert woken and session.flush_browser_queue(), "the picture is on its way"
    assert moves() == []
    now[0] += seams.ANNOUNCED
    (seconds, act, given) = timers[-1]
    act(*given)
    assert seconds == seams.ANNOUNCED and len(woken) == 2 and session.flush_browser_queue(), "it takes long"
    seams.announce(False)
    assert moves() and len(ran) == 7
    assert asked_for == ["somebody", "somebody"], "neither by a timer nor by a page that has no picture"


def test_a_browser_that_comes_back_is_made_to_ask_for_the_whole_page_once(monkeypatch: pytest.MonkeyPatch):
    ran: list[tuple[str, str, bool]] = []
    session = AppSession.__new__(AppSession)
    session._state, session._scriptrunner, session._browser_queue = AppSessionState.SHUTDOWN_REQUESTED, "stopped", ForwardMsgQueue()
    session._message_enqueued_callback = None
    found = SimpleNamespace(session=session)

    def run(session: AppSession, asked: ClientState) -> None:
        monkeypatch.setattr(
            seams, "get_script_run_ctx", lambda **how: SimpleNamespace(cached_message_hashes=frozenset(asked.cached_message_hashes))
        )
        ran.append((asked.fragment_id, asked.query_string, seams.came_back()))

    monkeypatch.setattr(AppSession, "request_rerun", run)
    for name, does in (
        ("_resume_stored_session", lambda manager, session_id, *rest: session_id),
        ("disconnect_session", lambda manager, session_id: None),
        ("get_active_session_info", lambda manager, session_id: found if session_id == "here" else None),
    ):
        monkeypatch.setattr(WebsocketSessionManager, name, does)
    seams.run_again_when_back()
    seams.run_again_when_back()
    manager = WebsocketSessionManager.__new__(WebsocketSessionManager)

    manager.disconnect_session("gone")
    manager.disconnect_session("here")
    assert session._scriptrunner is None, "what it says late is not listened to"
    assert manager._resume_stored_session(None, None, {}) is None
    session._browser_queue.enqueue(ForwardMsg(delta=Delta(fragment_id="half a run")))
    assert manager._resume_stored_session("here", None, {}) == "here"
    (message,) = session._browser_queue.flush()
    assert message.auto_rerun.fragment_id == seams.BACK and message.auto_rerun.interval == pytest.approx(seams.SOON)
    for fragment, query in (("timer", "a"), (seams.BACK, "b"), ("timer", "c")):
        session.request_rerun(ClientState(fragment_id=fragment, query_string=query))
    assert ran == [("", "a", True), ("timer", "c", False)], "whatever comes first is a run of the page"
    manager._resume_stored_session("here", None, {})
    session.request_rerun(ClientState(query_string="d"))
    session.request_rerun(ClientState(fragment_id=seams.BACK))
    assert ran[2:] == [("", "d", True)], "the browser has asked by itself"


@pytest.mark.parametrize(("home", "component"), [(canvas, canvas.player), (pad, pad.pad)], ids=["player", "pad"])
def test_an_event_of_a_component_whose_page_was_left_is_dropped(monkeypatch: pytest.MonkeyPatch, home: ModuleType, component: Callable):
    heard: list[dict] = []
    mounted: dict = {}
    state: dict = {}

    def mount(**what: object) -> SimpleNamespace:
        mounted.update(what)
        return SimpleNamespace(event=None)

    monkeypatch.setattr(home, "_mount", mount)
    monkeypatch.setattr(st, "session_state", state)
    component(b"", key="stage", on_event=heard.append)
    mounted["on_event_change"]()
    assert not heard
    state["stage"] = {"event": {"kind": "picture"}}
    mounted["on_event_change"]()
    assert heard == [{"kind": "picture"}]
