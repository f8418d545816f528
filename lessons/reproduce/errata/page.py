"""The page of errata."""

from __future__ import annotations

import streamlit as st

from app.kit import frame, seams
from app.kit.canvas import player
from lessons.reproduce.errata.blank import WORDS
from lessons.reproduce.errata.numbers import CODE, Erratum, errata, ours
from lessons.reproduce.errata.stages import lacking, stage


def show() -> None:
    """The whole page."""
    frame.dress()
    st.title(WORDS.title, anchor=False)
    st.markdown(WORDS.promise)
    st.markdown(WORDS.phrase("page.thanks"))
    numbered = list(enumerate(errata(), start=1))
    with st.expander(WORDS.phrase("page.contents", count=len(numbered))):
        st.markdown("\n".join(WORDS.phrase("page.content", number=number, title=each.title, id=each.id) for number, each in numbered))
    for number, each in numbered:
        with st.container(border=True):
            st.header(WORDS.phrase("page.heading", number=number, title=each.title), anchor=each.id)
            st.markdown(" · ".join([each.where, *([WORDS.phrase("page.code_only")] if each.known == CODE else [])]))
            left, right = st.columns(2, gap="large")
            left.markdown(WORDS.phrase("page.printed", text=each.printed))
            left.markdown(WORDS.phrase("page.right", text=each.right))
            right.markdown(WORDS.phrase("page.why", text=each.proof))
            left.markdown(WORDS.phrase("page.effect", text=each.effect))
            left.markdown(" · ".join(f"[{said}]({link})" for said, link in _links(each)))
            if st.toggle(WORDS.phrase("page.show"), key=f"errata/show/{each.id}"):
                _stage(each.id)
    st.header(WORDS.phrase("page.ours"), anchor=False)
    st.markdown(WORDS.phrase("page.of_ours"))
    for own in ours():
        st.markdown("- " + WORDS.phrase("page.own", page=own.page, link=own.page.removeprefix("/"), was=own.was, now=own.now))


def _links(each: Erratum) -> list[tuple[str, str]]:
    """Where it is taught, and its numbers beside ours."""
    found = [(each.see, each.link.removeprefix("/"))]
    return [*found, (WORDS.phrase("page.row"), f"reproduce?id={each.row}")] if each.row else found


def _stage(id: str) -> None:
    if names := lacking(id):
        st.info(WORDS.phrase("page.needs", names=", ".join(names)))
    else:
        player(stage(id), key=f"errata/stage/{id}")


if seams.running():
    show()
