"""What was given on a page for another one: a late event of the page that is left does not lose it."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def page() -> None:
    from pathlib import Path

    import streamlit as st

    from app.kit.visit import CAME_FROM, Elsewhere, visit
    from tests.kit.demo.lesson import WalkSpec

    st.session_state[CAME_FROM] = st.session_state.get("before")
    here = visit("first", WalkSpec, {})
    if st.session_state.pop("given", False):
        here.elsewhere = Elsewhere(Path("second"), {"source": "file"})
    st.session_state["before"] = "first"
    st.session_state["seen"] = here.elsewhere is not None
    st.session_state["problems"] = here.problems


def test_a_late_run_of_the_page_that_is_left_goes_there_again_and_a_later_one_does_not():
    app = AppTest.from_function(page)
    app.session_state["given"] = True
    assert app.run().session_state["seen"]
    app.query_params["source"] = "file"  # the address of the other lesson, with an event of this one
    late = app.run()
    assert late.session_state["seen"] and not late.session_state["problems"]
    app.session_state["before"] = ""  # another page has run: the front page, where nothing is visited
    app.query_params.clear()
    assert not app.run().session_state["seen"]
