"""A place to drop files: what they change, and what is said of those that do not fit."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


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


def test_files_change_the_spec_or_are_refused_by_name():
    at = AppTest.from_function(page).run()
    at.file_uploader[0].set_value([("a.idx", b"1", "x/y"), ("b.idx", b"2", "x/y")])
    at.run()
    assert at.session_state["here"].spec.files == "a.idx,b.idx" and not at.error
    at.file_uploader[0].set_value([("c.idx", b"", "x/y")])
    at.run()
    assert at.session_state["here"].spec.files == "a.idx,b.idx" and "one is empty" in at.error[0].value
