"""Files of readers: held by content, and a place to drop them: what they change, what is said of those that do not
fit.
"""

from __future__ import annotations

import time

import pytest
from streamlit.testing.v1 import AppTest

from app.kit import files, visit
from engine.kept import Store
from engine.spec import SpecError


def test_the_same_content_is_the_same_file_under_any_name(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "_held", Store(1200))
    first, second = files.hold("a.csv", b"1,2"), files.hold("b\n.csv", b"1,2")
    assert first.split()[0] == second.split()[0] and first != second and "\n" not in second
    assert files.held(first) == files.held(second) == b"1,2" and files.is_held(first)
    assert len(files.hold("long" * 50 + ".csv", b"")) <= files.LENGTH
    with pytest.raises(SpecError, match=r"needs the file “gone\.csv” with the fingerprint 0123"):
        files.held("0123456789abcdef gone.csv", "file")
    with pytest.raises(SpecError, match="no file has been given yet"):
        files.held("")
    files.hold("large", bytes(999))
    assert not files.is_held(first)


def page() -> None:
    import time
    from dataclasses import dataclass

    import streamlit as st

    from app.kit.controls import Controls
    from app.kit.visit import Visit
    from engine import ticket
    from engine.spec import Spec, SpecError, text
    from tests.kit.demo.lesson import WORDS

    @dataclass(frozen=True, kw_only=True)
    class Named(Spec):
        files: str = text("", 40, "names")

    def take(files: dict[str, bytes]) -> dict[str, str]:
        if any(not content for content in files.values()):
            raise SpecError("files", "one is empty")
        if "slow" in files:
            for i in range(10_000):
                ticket.report(i, 20_000)
                time.sleep(0.001)
        return {"files": ",".join(sorted(files))}

    here = st.session_state.setdefault("here", Visit(Named()))
    here.carry_out()
    Controls(here, "demo", WORDS).files("Your files", take, most_bytes=2_000_000, most_files=3)
    Controls(here, "demo", WORDS).files("One file", take, types=["idx"], most_bytes=2_000_000)


def test_files_change_the_spec_or_are_refused_by_name():
    at = AppTest.from_function(page).run()
    at.file_uploader[0].set_value([("a.idx", b"1", "x/y"), ("b.idx", b"2", "x/y")])
    at.run()
    assert at.session_state["here"].spec.files == "a.idx,b.idx" and not at.error
    at.file_uploader[0].set_value([("c.idx", b"", "x/y")])
    at.run()
    assert at.session_state["here"].spec.files == "a.idx,b.idx" and "one is empty" in at.error[0].value
    at.file_uploader[0].set_value([]).run()
    at.file_uploader[1].set_value(("one.idx", b"1", "x/y")).run()
    assert not at.exception and at.session_state["here"].spec.files == "one.idx"


def test_why_a_file_is_not_taken_stands_until_there_was_time_to_read_it(monkeypatch: pytest.MonkeyPatch):
    at = AppTest.from_function(page).run()
    here = at.session_state["here"]
    at.file_uploader[0].set_value([("c.idx", b"", "x/y")])
    at.run()
    here.moved(lambda: here.change("seed of another control", files="moved"))  # at once, in the run of the file perhaps
    assert "one is empty" in at.run().error[0].value and here.spec.files == "moved"
    monkeypatch.setattr(visit, "READ", 0.0)
    here.moved(lambda: here.change("another control", files="moved again"))
    assert not at.run().error


def test_what_is_too_much_is_refused_before_it_is_read():
    at = AppTest.from_function(page).run()
    at.file_uploader[0].set_value([(f"{i}.idx", b"1", "x/y") for i in range(4)])
    at.run()
    assert "4 files are more than the 3" in at.error[0].value and not at.session_state["here"].trials
    at.file_uploader[0].set_value([(f"{i}.idx", bytes(700_000), "x/y") for i in range(3)])
    at.run()
    assert "1 MB are more than the 2 MB" in at.error[0].value and not at.session_state["here"].spec.files
    at.file_uploader[0].set_value([("a.idx", b"1", "x/y"), ("a.idx", b"2", "x/y")])
    at.run()
    assert "two files are called a" in at.error[0].value and not at.session_state["here"].spec.files


def test_a_long_reading_shows_how_far_it_is_and_can_be_stopped():
    at = AppTest.from_function(page).run()
    at.file_uploader[0].set_value([("slow", b"1", "x/y")])
    begin = time.monotonic()
    at.run()
    assert time.monotonic() - begin < 3.0  # the page does not wait for it
    job = at.session_state["here"].trials["Your files"].job
    assert job.active and 0 < job.fraction() < 1 and not at.error
    (stop,) = (button for button in at.button if button.label == "Stop")
    stop.click().run()
    assert job.wait(5.0)
    at.run()
    assert not at.session_state["here"].trials and at.error[0].value == "stopped"


def test_what_is_typed_stays_in_its_box_while_it_is_tried():
    def formulas() -> None:
        from dataclasses import dataclass

        import streamlit as st

        from app.kit.controls import Controls
        from app.kit.visit import Visit
        from engine.spec import SpecError
        from engine.targets import TargetError, TargetSpec
        from tests.kit.demo.lesson import WORDS

        @dataclass(frozen=True, kw_only=True)
        class Checked(TargetSpec):
            def check(self) -> None:
                super().check()
                try:
                    self.build_target()
                except TargetError as error:
                    raise SpecError("formula", str(error)) from error

        here = st.session_state.setdefault("here", Visit(Checked(target="formula")))
        here.carry_out()
        Controls(here, "demo", WORDS).text("formula")

    at = AppTest.from_function(formulas, default_timeout=60).run()
    for typed, reason in (("x + y", "no probability density"), ("-x^2 -", "ends too early")):
        at.text_input[0].set_value(typed).run()
        visit = at.session_state["here"]
        while visit.trials:  # a slow machine
            at.run()
        assert at.text_input[0].value == typed and reason in at.error[0].value
        assert visit.spec.formula == visit.spec.default("formula")
    at.text_input[0].set_value("-x^2 - y^2").run()
    while visit.trials:
        at.run()
    assert visit.spec.formula == "-x^2 - y^2" and not at.error
