"""The frame with a whole small lesson, without a browser."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.runtime.scriptrunner import add_script_run_ctx, get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.exceptions import RerunException, StopException
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.testing.v1 import AppTest

from app.kit import badge, jobs, seams, stage, story, visit
from app.kit.badge import face, overall
from app.kit.charts import Figure, Table
from app.kit.code import source
from app.kit.frame import Scenario, _follow_scenario
from app.kit.visit import Filled, Visit
from engine import turns
from engine.judge import Check
from tests.kit.demo.lesson import DEMO, WalkSpec, walk

PAGE = Path(__file__).with_name("demo") / "page.py"


def opened(**query: str | list[str]) -> AppTest:
    """The demo page, run once with these query parameters."""
    at = AppTest.from_file(str(PAGE), default_timeout=30)
    for name, value in query.items():
        at.query_params[name] = value
    return at.run()


def visited(at: AppTest) -> Visit:
    """The visit of the session."""
    return at.session_state["visit/demo"]


def texts(at: AppTest) -> str:
    """All prose on the page."""
    return "\n".join(str(e.value) for kind in ("markdown", "warning", "error", "info", "caption") for e in getattr(at, kind))


def until(at: AppTest, words: str, seconds: float = 20.0) -> AppTest:
    """Run the page again, as its timers would, until `words` are on it."""
    end = time.monotonic() + seconds
    while words not in texts(at) + "".join(_popovers(at)):
        assert time.monotonic() < end, f"{words!r} did not appear in:\n{texts(at)}\n{_popovers(at)}"
        time.sleep(0.05)
        at.run()
    return at


def _popovers(at: AppTest) -> list[str]:
    found = []

    def walk_blocks(block) -> None:
        for child in getattr(block, "children", {}).values():
            proto = getattr(child, "proto", None)
            if proto is not None and proto.__class__.__name__ == "Block" and proto.HasField("popover"):
                found.append(proto.popover.label)
            walk_blocks(child)

    walk_blocks(at.main)
    return found


def scene_bytes(at: AppTest) -> bytes:
    """What the player was given."""
    return at.get("bidi_component")[0].proto.bytes


def set_box(at: AppTest, name: str, value: float) -> AppTest:
    """Type into a number box."""
    return at.number_input(key=f"demo/{name}/box").set_value(value).run()


def test_the_bare_page_shows_the_first_scenario_at_once():
    at = opened()
    assert not at.exception and not at.error and not at.warning
    assert visited(at).scenario == "short" and at.button_group[0].value == "short"
    assert len(scene_bytes(at)) > 1000
    assert "Step 1 of 3" in texts(at) and "A drunkard leaves the inn." in texts(at)


def test_slider_and_box_move_together_and_leave_the_scenario():
    at = opened()
    before = scene_bytes(at)
    set_box(at, "drift", 0.25)
    assert at.slider(key="demo/drift/slider").value == 0.25
    assert visited(at).spec.drift == 0.25 and visited(at).scenario is None
    assert scene_bytes(at) != before
    at.slider(key="demo/drift/slider").set_value(-0.5).run()
    assert at.number_input(key="demo/drift/box").value == -0.5
    at.select_slider(key="demo/step_size/slider").set_value(2.5).run()
    assert at.number_input(key="demo/step_size/box").value == 2.5


def test_a_slider_on_the_move_wins_over_older_values_that_its_box_still_sends():
    """A browser that is behind sends with each move of the slider what the box showed some moves ago."""
    at = opened()
    for drift in (0.1, 0.2, 0.3):
        at.slider(key="demo/drift/slider").set_value(drift).run()
    at.slider(key="demo/drift/slider").set_value(0.4)
    at.number_input(key="demo/drift/box").set_value(0.1).run()
    assert visited(at).spec.drift == 0.4
    assert at.slider(key="demo/drift/slider").value == at.number_input(key="demo/drift/box").value == 0.4
    set_box(at, "drift", 0.1)
    assert visited(at).spec.drift == 0.1, "typed alone it is the reader's wish"


def test_an_echo_beside_an_answer_leaves_the_scenario():
    """A browser that is behind sends with a press of any widget what a control showed before the scenario changed."""
    at = opened()
    at.button(key="demo/step+1").click().run()
    before = visited(at).spec.step_size
    at.button_group[0].set_value("short").run()
    assert visited(at).spec.step_size != before
    at.radio(key="demo/predict/far/choice").set_value(1)
    at.number_input(key="demo/step_size/box").set_value(before).run()
    assert visited(at).scenario == "short"


def test_a_move_that_comes_with_the_run_of_a_timer_is_kept_and_an_echo_is_not(monkeypatch: pytest.MonkeyPatch):
    state = {"box": 5.0, "filled": {"box": Filled(time.monotonic(), (3.0, 4.0), again=True)}}
    monkeypatch.setattr(visit.st, "session_state", state)
    monkeypatch.setattr(seams, "in_fragment", lambda: True)
    here, done = Visit(WalkSpec()), []
    state["box"] = 3.0
    here.moved(lambda: done.append("echo"), "box")
    here.moved(lambda: done.append("a button, which no timer presses"))
    assert not here.moves and not here.touched
    state["box"] = 5.0
    here.moved(lambda: done.append("move"), "box")
    assert here.touched, "the timer's run asks for one of the page"
    here.carry_out()
    assert done == ["move"]
    state["box"] = 4.0
    here.moved(lambda: done.append("a filling that was on its way before the move"), "box")
    here.carry_out()
    assert done == ["move"]
    assert not state["filled"]["box"].again, "sent again it would undo the reader's next move"


def replaced(here: Visit) -> None:
    """A run that a newer one has replaced does what the reader did: it found that in the visit, which both have."""

    def ends() -> None:
        raise StopException

    def run() -> None:
        held: Any = {"filled": {}}
        state, pages = SafeSessionState(held, ends), SimpleNamespace(main_script_hash="demo")
        own: Any = SimpleNamespace(session_state=state, pages_manager=pages, cached_message_hashes=())
        add_script_run_ctx(threading.current_thread(), own)
        with suppress(StopException):
            here.carry_out()
        with pytest.raises(StopException):
            state["of the next look it hears"] = 1

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


def test_a_run_that_is_replaced_loses_nothing_of_what_the_reader_did():
    here, done = Visit(WalkSpec()), []
    here.given(lambda: done.append("a file"))
    replaced(here)
    assert done == ["a file"] and not here.moves
    here.carry_out()
    assert done == ["a file"], "once"


def test_a_run_waits_until_the_one_it_replaces_has_done_what_it_found():
    here, done, begun, may_end = Visit(WalkSpec()), [], threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        assert may_end.wait(10.0)
        done.append("a file")

    here.given(slow)
    older, newer = (threading.Thread(target=replaced, args=(here,)), threading.Thread(target=here.carry_out))
    older.start()
    assert begun.wait(10.0)
    newer.start()
    newer.join(0.2)
    assert newer.is_alive() and not done
    may_end.set()
    newer.join(10.0)
    assert done == ["a file"] and not newer.is_alive()
    older.join()


def test_what_a_control_showed_for_long_is_an_echo_once_a_step_has_taken_it_away(monkeypatch: pytest.MonkeyPatch):
    state = {"box": 1.0, "filled": {"box": Filled(time.monotonic() - 60.0, (6.0, 1.0), again=True)}}
    monkeypatch.setattr(visit.st, "session_state", state)
    monkeypatch.setattr(seams, "in_fragment", lambda: True)
    here, done = Visit(WalkSpec()), []
    here.load(WalkSpec(step_size=0.5), "short")
    here.moved(lambda: done.append("echo"), "box")
    state["box"] = 2.0
    here.moved(lambda: done.append("move"), "box")
    here.carry_out()
    assert done == ["move"]
    assert not state["filled"]["box"].again, "what was not sent again for long is not sent again now"


def test_what_a_control_showed_for_long_is_an_echo_once_a_link_has_taken_it_away(monkeypatch: pytest.MonkeyPatch):
    known = Visit(WalkSpec(), address={})
    filled = {"box": Filled(time.monotonic() - 60.0, (6.0, 1.0))}
    monkeypatch.setattr(visit.st, "session_state", {"box": 1.0, "filled": filled, "visit/demo": known, visit.CAME_FROM: "demo"})
    monkeypatch.setattr(seams, "query", lambda: {"v": ["1"], "step_size": ["0.5"]})
    monkeypatch.setattr(seams, "in_fragment", lambda: True)
    here = visit.visit("demo", WalkSpec, {})
    assert here is not known and here.spec.step_size == 0.5
    here.moved(lambda: here.change("step_size", step_size=1.0), "box")
    here.carry_out()
    assert here.spec.step_size == 0.5


@pytest.mark.parametrize("step_size,window", [("0.5", 7), ("0.25", None)], ids=["the same run", "another"])
def test_an_inside_that_was_asked_for_comes_with_the_run_that_it_is_of(monkeypatch: pytest.MonkeyPatch, step_size: str, window: int | None):
    """The player waits for it, by whatever way the reader came to the run again: a step, or an address."""
    known = Visit(WalkSpec(step_size=0.5), address={}, window=7)
    monkeypatch.setattr(visit.st, "session_state", {"visit/demo": known, visit.CAME_FROM: "demo"})
    monkeypatch.setattr(seams, "query", lambda: {"v": ["1"], "step_size": [step_size]})
    assert visit.visit("demo", WalkSpec, {}).window == window
    known.load(WalkSpec(step_size=float(step_size)), None)
    assert known.window == window


def test_who_asks_for_a_picture_makes_room_among_their_own_work_alone(monkeypatch: pytest.MonkeyPatch):
    hushed: list[str] = []
    monkeypatch.setattr(visit.turns.machine, "hush", hushed.append)
    visit.make_room(visit.session().partition("/")[0])
    assert [turns._asks(hushed[0], reader) for reader in (visit.session(), "somebody/else", None)] == [True, False, False]


def test_an_address_of_the_page_before_is_no_link_to_this_one_unless_the_reader_went_there(monkeypatch: pytest.MonkeyPatch):
    theirs = {"v": ["1"], "step_size": ["0.5"]}
    known = Visit(WalkSpec(), address={"v": ["1"], "steps": ["77"]})
    state = {"visit/demo": known, visit.PAGE: "demo", visit.CAME_FROM: "demo", visit.WRITTEN: ("other", theirs)}
    monkeypatch.setattr(visit.st, "session_state", state)
    monkeypatch.setattr(seams, "query", lambda: theirs)
    assert visit.visit("demo", WalkSpec, {}) is known and known.unheard, "and the browser hears what it should be"
    state[visit.WRITTEN] = "demo", known.address
    assert visit.visit("demo", WalkSpec, {}) is known, "so it is once this page has written its own"
    monkeypatch.setattr(seams, "went_back", lambda: True)
    assert visit.visit("demo", WalkSpec, {}).spec.step_size == 0.5
    monkeypatch.undo()
    monkeypatch.setattr(visit.st, "session_state", {**state, "visit/demo": known, visit.CAME_FROM: "other"})
    monkeypatch.setattr(seams, "query", lambda: theirs)
    assert visit.visit("demo", WalkSpec, {}).spec.step_size == 0.5, "a link on the other page"


def test_a_browser_that_comes_back_undoes_nothing_that_it_may_not_have_heard_of(monkeypatch: pytest.MonkeyPatch):
    state = {"box": 3.0, "filled": {"box": Filled(time.monotonic() - 60.0, (3.0, 4.0), again=True)}}
    monkeypatch.setattr(visit.st, "session_state", state)
    here, done = Visit(WalkSpec()), []
    here.moved(lambda: done.append("old"), "box")
    here.carry_out()
    assert done == ["old"], "a minute later the reader may wish for what was shown before"
    for back, value in ((False, 4.0), (True, 3.0)):
        monkeypatch.setattr(seams, "came_back", lambda back=back: back)
        state.update(box=value, filled={"box": Filled(time.monotonic() - 60.0, (3.0, 4.0), again=True)})
        here.moved(lambda value=value: done.append(value), "box")
        here.carry_out()
    assert done == ["old", 4.0], "it did not hear that 3 had become 4"
    state.update(box=4.0, filled={"box": Filled(time.monotonic() - 60.0, (3.0, 4.0), again=True)})
    sent: list[str] = []
    monkeypatch.setattr(seams, "reported", lambda key: sent.append(key) or 3.0)
    visit.fill("box", 4.0)
    assert sent == ["box"], "so that is said again, however long ago it was said"


def test_the_address_is_a_share_link_after_a_change():
    at = opened(v="1", scenario="long")
    set_box(at, "steps", 77)
    query = dict(at.query_params)
    again = opened(**query)
    assert visited(again).spec == visited(at).spec == WalkSpec(step_size=4.0, steps=77)


def test_an_address_that_could_not_be_sent_is_written_by_the_next_run(monkeypatch: pytest.MonkeyPatch):
    class Bar:
        def __init__(self) -> None:
            self.shows: dict[str, str] = {}
            self.calls = 0

        def from_dict(self, query: dict[str, str]) -> None:
            self.calls += 1
            if self.calls == 1:  # the reader's next move was there first: Streamlit ends the run unsent
                raise RerunException(RerunData())
            self.shows = query

    bar = Bar()
    monkeypatch.setattr(visit.st, "query_params", bar)
    here = Visit(WalkSpec())
    here.change("steps", steps=77)
    with pytest.raises(RerunException):
        here.write_address()
    here.write_address()
    assert bar.shows["steps"] == "77"
    here.write_address()
    assert bar.calls == 2


def test_an_address_that_never_reached_the_browser_is_written_again():
    """What a run says once a newer one has taken its place is not sent, and the run does not hear of that."""
    at = opened(v="1", scenario="long")
    before = dict(at.query_params)
    set_box(at, "steps", 77)
    written = dict(at.query_params)
    assert written != before
    at.query_params.clear()
    at.query_params.update(before)
    at.run()
    assert visited(at).spec.steps == 77 and dict(at.query_params) == written


def test_a_link_s_values_reach_the_widgets():
    at = opened(step_size="0.123", steps="55", kind="reflected", formula="x*x", broken="on", seed="9")
    assert at.number_input(key="demo/step_size/box").value == 0.123
    assert at.slider(key="demo/steps/slider").value == 55
    assert at.text_input(key="demo/formula/text").value == "x*x"
    assert at.toggle(key="demo/broken/toggle").value is True
    assert at.button_group[1].value == "reflected"
    assert not at.warning


def test_a_browser_that_misses_a_state_shows_the_same_value_by_default():
    at = opened(step_size="0.123", steps="55", kind="reflected", formula="x*x", broken="on", seed="9")
    assert at.number_input(key="demo/step_size/box").proto.default == 0.123
    assert list(at.slider(key="demo/steps/slider").proto.default) == [55]
    stops = at.select_slider(key="demo/step_size/slider").proto
    assert [stops.options[int(index)] for index in stops.default] == ["0.123"]
    assert at.text_input(key="demo/formula/text").proto.default == "x*x"
    assert at.toggle(key="demo/broken/toggle").proto.default is True
    assert list(at.button_group[1].proto.default) == [1]
    long = opened(v="1", scenario="long")
    assert list(long.button_group[0].proto.default) == [list(DEMO.specs()).index("long")]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"steps": "99999"}, ["steps", "2\\,000"]),
        ({"steps": "abc"}, ["steps", "abc"]),
        ({"steps": ["20", "30"]}, ["steps", "2 times"]),
        ({"stepps": "20"}, ["stepps", "not a parameter"]),
        ({"scenario": "nope"}, ["scenario", "nope"]),
        ({"v": "99"}, ["v", "99"]),
        ({"hide": "nothing"}, ["hide", "nothing"]),
        ({"kind": "reflected", "step_size": "9"}, ["step", "at most 5"]),
    ],
)
def test_a_bad_link_gives_a_message_and_a_working_page(query: dict, names: list[str]):
    at = opened(**query)
    assert not at.exception and len(at.warning) == 1
    for name in names:
        assert name in at.warning[0].value
    assert len(scene_bytes(at)) > 1000
    set_box(at, "drift", 0.1)
    assert not at.warning, "the message goes with the next change"


def test_what_a_stranger_typed_is_shown_as_text():
    at = opened(**{"[x](http://evil)": "1", "kind": "**bold**<b>"})
    assert "\\[x\\]\\(http" in at.warning[0].value and "\\*\\*bold" in at.warning[0].value


def test_refused_values_stay_with_their_reason():
    at = opened()
    at.text_input(key="demo/formula/text").set_value("y").run()
    assert "neither x nor x\\*x" in at.error[0].value
    assert at.text_input(key="demo/formula/text").value == "y" and visited(at).spec.formula == "x"
    at.text_input(key="demo/formula/text").set_value("x*x").run()
    assert not at.error and visited(at).spec.formula == "x*x"


def test_a_rule_between_fields_speaks_under_the_control_that_was_moved():
    at = opened(step_size="8")
    at.button_group[1].set_value("reflected").run()
    assert "at most 5" in at.error[0].value and "step" in at.error[0].value
    assert visited(at).spec.kind == "plain" and at.button_group[1].value == "plain"


def test_chips_load_scenarios_and_a_new_seed_stays_in_them():
    at = opened()
    at.button_group[0].set_value("broken").run()
    assert visited(at).spec == DEMO.specs()["broken"]
    assert "Why it goes wrong." in texts(at)
    at.button(key="demo/seed/new").click().run()
    assert visited(at).scenario == "broken" and visited(at).spec.seed != 1
    at.button_group[0].set_value("sandbox").run()
    assert visited(at).scenario is None and visited(at).spec.broken == "on"


def test_buttons_of_a_panel_change_fields():
    at = opened(marks="1,2,0;3,4,1")
    assert len(visited(at).spec.marks) == 2
    at.button(key="demo/clear").click().run()
    assert visited(at).spec.marks == ()


def test_predict_lock_run_explain():
    at = opened()
    at.button(key="demo/step+1").click().run()
    assert visited(at).scenario == "long" and "Step 2 of 3" in texts(at)
    at.button_group[0].set_value("short").run()
    lock = at.button(key="demo/predict/far/lock")
    assert lock.disabled and "grows like $t$" not in texts(at)
    at.radio(key="demo/predict/far/choice").set_value(1).run()
    assert visited(at).scenario == "short", "nothing is run before the lock"
    at.button(key="demo/predict/far/lock").click().run()
    assert visited(at).scenario == "long", "the lock runs the answer"
    assert "You were right" in texts(at) and "grows like $t$" in texts(at)
    at.button(key="demo/step+1").click().run()
    assert "Is the end right of 0?" in texts(at), "questions that no step names come last"
    at.radio(key="demo/predict/last/choice").set_value(0).run()
    at.button(key="demo/predict/last/lock").click().run()
    right = walk(visited(at).spec)[-1] > 0
    assert ("Not this time" in texts(at)) == right
    at.button(key="demo/predict/last/again").click().run()
    assert at.button(key="demo/predict/last/lock").disabled


def test_badge_panels_and_diagnostics_follow():
    at = opened()
    assert "Updating" not in texts(at) and at.get("skeleton"), "nothing is there yet that would be updated"
    until(at, "R\\-hat")
    signs = {"kernel ✓": "green", "this run": "gray", "numbers ✓": "green"}
    until_sign(at, "numbers ✓")
    until_sign(at, "kernel ✓")
    assert all(any(sign in each and colour in each for each in _popovers(at)) for sign, colour in signs.items())
    for _ in range(100):  # they come by themselves, before or after the signs
        if at.get("plotly_chart"):
            break
        time.sleep(0.1)
        at.run()
    assert len(at.get("plotly_chart")) == 2
    set_box(at, "drift", 0.3721)
    assert "Updating for the new settings" in texts(at) and len(at.get("plotly_chart")) == 2, "the last ones stay"
    at.button_group[0].set_value("broken").run()
    until_sign(at, "kernel ✗")
    assert any("red" in label for label in _popovers(at))


def test_what_follows_a_picture_stops_when_another_spec_is_shown():
    at = opened()
    at.run()
    here = visited(at)
    assert here.following.keys() == {"checks", "kernel", "panels", "diagnostics"}

    def long(ticket: jobs.Job) -> None:
        while not ticket.is_set():
            time.sleep(0.005)

    checks = here.following["checks"] = jobs.pool().submit(("me", "checks"), "long", long)
    here.load(here.spec, None)
    assert not checks.wait(0.05), "nothing has changed for it"
    set_box(at, "drift", 0.3721)
    assert checks.wait(5) and checks.state == jobs.STOPPED


def until_sign(at: AppTest, sign: str) -> None:
    """Run until one of the three signs says this."""
    for _ in range(100):
        if any(sign in label for label in _popovers(at)):
            return
        time.sleep(0.1)
        at.run()
    raise AssertionError(f"no sign says {sign}: {_popovers(at)}")


def test_a_long_run_grows_stops_and_ends():
    at = opened(steps="2000")
    first = scene_bytes(at)
    at.button(key="demo/run").click().run()
    assert visited(at).run is not None and visited(at).run.active
    until(at, "")
    at.button(key="demo/stop").click().run()
    assert visited(at).run.wait(5) and visited(at).run.state == jobs.STOPPED
    at.run()
    assert "Stopped after" in texts(at)
    at.button(key="demo/run").click().run()
    at.number_input(key="demo/steps/box").set_value(100).run()
    assert visited(at).run is None, "another spec ends the run"
    assert scene_bytes(at) != first


def test_hidden_controls_are_left_out():
    at = opened(hide="drift,seed")
    keys = {widget.key for widget in at.number_input}
    assert "demo/steps/box" in keys and not {"demo/drift/box", "demo/seed/box"} & keys


def test_a_view_alone_shows_the_first_scenario():
    at = opened(present="1")
    assert visited(at).scenario == "short" and visited(at).present


def test_present_and_leave():
    at = opened()
    at.button(key="present").click().run()
    assert at.query_params["present"] == "1" and at.button(key="present").label == "Leave"
    at.button(key="present").click().run()
    assert "present" not in at.query_params


def test_a_lesson_s_mistakes_cost_only_their_part(monkeypatch: pytest.MonkeyPatch):
    def breaks(*arguments: object) -> None:
        raise ZeroDivisionError("secret detail")

    for part in ("scene", "checks", "panels", "controls", "runs"):
        object.__setattr__(DEMO, f"_{part}", getattr(DEMO, part))
    try:
        for part in ("scene", "checks", "panels", "controls"):
            object.__setattr__(DEMO, part, breaks)
        at = opened(seed="4321")
        at.run()
        until(at, "the panels could not be made")
        assert not at.exception and "secret detail" not in texts(at)
        assert "the picture could not be made" in texts(at) and "the settings could not be made" in texts(at)
    finally:
        for part in ("scene", "checks", "panels", "controls", "runs"):
            object.__setattr__(DEMO, part, getattr(DEMO, f"_{part}"))


# Without a page


def _check(verdict, statistic: float = 0.5) -> Check:
    return Check("mean", verdict, statistic, 4.0, "compared", "MCSE")


@pytest.mark.parametrize(
    ("verdicts", "result"), [([], "unknown"), (["pass"], "pass"), (["pass", "unknown"], "unknown"), (["unknown", "fail", "pass"], "fail")]
)
def test_the_worst_verdict_counts(verdicts: list, result: str):
    checks = [_check(verdict) for verdict in verdicts]
    shown = face("numbers", checks)
    assert overall(checks) == result
    assert badge.SIGNS[result] in shown.label and badge.COLOURS[result] in shown.label


def test_unknown_is_grey_with_a_question_mark():
    shown = face("numbers", [_check("unknown", float("nan"))])
    assert "gray" in shown.label and "?" in shown.label and "green" not in shown.label and "nan" not in shown.label


def test_a_run_that_has_not_converged_is_not_called_wrong():
    apart = Check("agree", "fail", 4.87, 1.01, "They disagree.", "R-hat", kind="run")
    assert "not converged" in face("run", [apart]).spoken and "wrong" not in face("run", [apart]).spoken


def test_story_headings_say_what_a_step_does():
    steps = story.parse("# T\n\nIntro.\n\n## One\ntext\n\n## Two {scenario=a question=b}\nmore $x$\n### sub\nstill\n")
    assert [step.title for step in steps] == ["One", "Two"]
    assert steps[0].text == "Intro.\n\ntext" and (steps[1].scenario, steps[1].question) == ("a", "b")
    assert "### sub" in steps[1].text
    with pytest.raises(story.StoryError, match="colour=red"):
        story.parse("## One {colour=red}")
    assert story.parse("") == () and story.parse("only text")[0].text == "only text"


def test_a_long_story_is_counted_in_its_parts():
    steps = story.parse("# T\n\n# Walking\n\n## One\na\n\n## Two\nb\n\n# Running fast\n\n## Three\nc\n")
    assert [step.text for step in steps] == ["a", "b", "c"], "their headings are no words of a step"
    assert [story.place(steps, k) for k in range(3)] == ["Step 1 of 2", "Part 1 · Step 2 of 2", "Step 1 of 1"]
    assert [story.opens(steps, k) for k in range(3)] == ["Part 1 of 2: Walking", "", "Part 2 of 2: Running fast"]
    whole = story.parse("# T\n\n## One\n```stage\n# why\ntakeaway = 'a'\n```\na\n\n## Two\nb\n")
    assert story.place(whole, 1) == "Step 2 of 2" and story.opens(whole, 0) == "", "a remark of a stage opens no part"


def test_source_of_plain_and_compiled_functions():
    assert source(walk).startswith("def walk(")

    class Compiled:
        py_func = staticmethod(walk)

    assert source(Compiled()) == source(walk)


@contextmanager
def held_up(rank: int) -> Iterator[None]:
    """Somebody else computes meanwhile with this rank, on all cores."""
    claims = [turns.Claim(turns.machine, rank, "another") for _ in range(turns.machine.cores)]
    for claim in claims:
        turns.machine.take(claim)
    try:
        yield
    finally:
        for claim in claims:
            turns.machine.give(claim)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> queue.Queue:
    """The contexts of the scripts that have shown their picture, of a page that is opened in another thread."""
    monkeypatch.setattr(turns, "PATIENCE", 60.0)
    shown: queue.Queue = queue.Queue()
    draw = stage.draw

    def drawing(*given: Any) -> Any:
        flushed = draw(*given)
        shown.put(get_script_run_ctx())
        return flushed

    monkeypatch.setattr(stage, "draw", drawing)
    return shown


@pytest.mark.parametrize("rank,waits", [(turns.PAGE, True), (turns.GIVEN, False)])
def test_the_rest_of_a_page_takes_its_turn_among_pages(drawn: queue.Queue, rank: int, waits: bool):
    """Its picture is shown at once, and what a reader gave does not hold it up."""
    thread = threading.Thread(target=opened)
    with held_up(rank):
        thread.start()
        drawn.get(timeout=20)
        thread.join(1.0 if waits else 20.0)
        assert thread.is_alive() is waits
    thread.join(20)
    assert not thread.is_alive()


def test_a_page_that_waits_for_its_turn_hears_of_what_its_reader_does_next(drawn: queue.Queue):
    thread = threading.Thread(target=opened)
    with held_up(turns.PAGE):
        thread.start()
        script = drawn.get(timeout=20)
        end = time.monotonic() + 20
        while not turns.machine._waiting:
            assert time.monotonic() < end, "it does not wait"
            time.sleep(0.01)
        script.script_requests.request_rerun(RerunData())
        drawn.get(timeout=20)
    thread.join(20)
    assert not thread.is_alive()


def test_figures_need_words_and_tables_equal_columns():
    with pytest.raises(ValueError, match="alt"):
        Figure("title", None, " ")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="differ"):
        Table("t", {"a": [1], "b": [1, 2]})
    table = Table("t", {"a|b": ["x*y"], "n": [0.12345]}).markdown()
    assert table.splitlines() == ["| a\\|b | n |", "| --- | --- |", "| x\\*y | 0\\.123 |"]


def test_a_failure_scenario_needs_its_reason():
    with pytest.raises(ValueError, match="reason"):
        Scenario("a", "A", WalkSpec(), "text", failure=True)


def test_a_scenario_opens_the_story_where_it_is_told():
    steps = [story.Step("a", "", "walk"), story.Step("b", ""), story.Step("c", "", "long"), story.Step("d", "", "long")]
    here = Visit(WalkSpec(), "long")
    _follow_scenario(here, steps)
    assert here.step == 2, "a link to a scenario"
    here.step = 1
    _follow_scenario(here, steps)
    assert here.step == 1, "leafing back within the same scenario"
    here.scenario = "walk"
    _follow_scenario(here, steps)
    assert here.step == 0, "another chip"
    here.step, here.scenario = 3, None
    _follow_scenario(here, steps)
    assert here.step == 3, "the sandbox leaves the story alone"
