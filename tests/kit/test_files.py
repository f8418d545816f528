"""Files of readers: held by content, and a place to drop them: what they change, what is said of those that do not
fit.
"""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from app.kit import files, jobs
from engine.spec import SpecError


def test_the_same_content_is_the_same_file_under_any_name(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "_held", jobs.Shelf(1000))
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
    from dataclasses import dataclass

    import streamlit as st

    from app.kit.controls import Controls
    from app.kit.visit import Visit
    from engine.spec import Spec, SpecError, text

    @dataclass(frozen=True, kw_only=True)
    class Named(Spec):
        files: str = text("", 40, "names")

    def take(files: dict[str, bytes]) -> dict[str, str]:
        if any(not content for content in files.values()):
            raise SpecError("files", "one is empty")
        return {"files": ",".join(sorted(files))}

    here = st.session_state.setdefault("here", Visit(Named()))
    here.carry_out()
    Controls(here, "demo").files("Your files", take)
    Controls(here, "demo").files("One file", take, types=["idx"], most_bytes=2_000_000, several=False)


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
