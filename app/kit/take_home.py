"""The menu *Take home*: the run on the stage as a file, made by a job when it is asked for."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app.kit import charts, jobs, messages, share
from app.kit.formats import FORMATS, made
from app.kit.lesson import Lesson
from app.kit.player.scene import decode
from app.kit.taken import Taken
from app.kit.visit import Visit, session
from engine.spec import Spec

PICTURES = "Pictures (SVG, PDF, PNG) and films of the stage are under *Table and downloads* below it."
CAMERA = "What the camera at the corner of a chart below saves"
LONG = "Of a long run that a button starts, the files hold the part with which the page opens."
WHOLE = "The files hold the long run with all its draws; if it has not been started, it is made for them and takes its time."
AGAIN = "A notebook or script makes the run again and checks that it is the same, byte for byte."


def menu(lesson: Lesson, here: Visit) -> None:
    """The fold beside *Share*."""
    words = "This run as a file: notebook, tables, NetCDF, citation"
    fold = st.popover("Take home", key="take-home", on_change=here.looked, type="tertiary", help=words)
    if not fold.open:
        return
    with fold:
        st.markdown("**This run as a file**")
        st.caption(f"{AGAIN} {PICTURES}{_of_long(lesson)}")
        key = f"{lesson.slug}/format"
        labels = {name: kind.label for name, kind in FORMATS.items()}
        choose: dict[str, Any] = {"index": None, "placeholder": "Choose a kind of file", "on_change": here.looked}
        name = st.selectbox("File", list(labels), format_func=labels.__getitem__, key=key, **choose)
        place = st.container()
        _camera(lesson, here)
        if here.shown is not None:
            st.markdown("**What the picture shows**, for those who do not see it")
            st.code(decode(here.shown)[0]["label"], language=None, wrap_lines=True)
        if name is not None:
            with place:
                _file(lesson, here, name)


def _of_long(lesson: Lesson) -> str:
    return "" if lesson.live is None else f" {WHOLE if lesson.whole else LONG}"


def saved_as() -> str:
    """What the camera of a chart saves: a key of `charts.SAVED_AS`."""
    return st.session_state.get(CAMERA, next(iter(charts.SAVED_AS)))


def _camera(lesson: Lesson, here: Visit) -> None:
    key = f"{lesson.slug}/camera"

    def chosen() -> None:
        st.session_state[CAMERA] = st.session_state[key]
        here.looked()

    st.segmented_control(CAMERA, list(charts.SAVED_AS), default=saved_as(), required=True, key=key, on_change=chosen)


def _file(lesson: Lesson, here: Visit, name: str) -> None:
    page = st.context.url or f"/{lesson.slug}"
    key = (lesson.slug, "take home", here.spec, lesson.ready(here.spec), name, share.address(page, {}))
    job = jobs.pool().submit((session(), "take home"), key, _make, lesson, here.spec, name, page, keep=False, local=True)
    job.wait(0.2)
    if job.active:
        st.caption("The file is being made …")
        st.fragment(_watch, run_every=jobs.pool().pause())(job)
    elif job.state == jobs.DONE:
        file, content = job.result
        size = f"{len(content) / 1e6:.1f} MB" if len(content) > 1e6 else f"{max(1, len(content) // 1000)} kB"
        label, kind = f"Download ({size})", FORMATS[name]
        st.download_button(label, content, file, kind.media, key=f"{lesson.slug}/download", on_click="ignore", type="primary")
    else:
        messages.complain("the file", job.error)


def _watch(job: jobs.Job) -> None:
    """Look until the file is there."""
    job.heartbeat()
    if not job.active:
        st.rerun()


def _make(lesson: Lesson, spec: Spec, name: str, page: str, _: Any) -> tuple[str, bytes]:
    taken = Taken.of(lesson, spec, page)
    return f"{taken.name}.{FORMATS[name].ending}", made(taken, name)
