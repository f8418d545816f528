"""The page of errata."""

from __future__ import annotations

import streamlit as st

from app.kit import seams
from app.kit.canvas import player
from app.kit.words import Words
from lessons.reproduce.errata.numbers import CODE, errata, ours
from lessons.reproduce.errata.stages import STAGES, stage


def show() -> None:
    """The whole page."""
    words = Words(__file__)
    st.title(words.title, anchor=False)
    st.markdown(words.promise)
    st.markdown(
        "Every one of these works taught us something, and their authors made their code or their settings public, "
        "without which nobody could check. Ordered by consequence. Numbers come from the runs of "
        "[The papers, reproduced](reproduce)."
    )
    for number, each in enumerate(errata(), start=1):
        with st.container(border=True):
            st.header(f"{number}. {each.title}", anchor=False)
            st.markdown(f"{each.where}" + (" · known from the public code only" if each.known == CODE else ""))
            left, right = st.columns(2, gap="large")
            left.markdown(f"**Printed.** {each.printed}")
            left.markdown(f"**Right.** {each.right}")
            right.markdown(f"**Why.**\n\n{each.proof}")
            left.markdown(f"**What it changes.** {each.effect}")
            left.markdown(f"[{each.see}]({each.link.removeprefix('/')})")
            if each.id in STAGES and st.toggle("Show it", key=f"errata/show/{each.id}"):
                player(stage(each.id), key=f"errata/stage/{each.id}")
    st.header("Ours", anchor=False)
    st.markdown("Mistakes of this lab that reached readers.")
    for own in ours():
        st.markdown(f"- **[{own.page}]({own.page.removeprefix('/')})** {own.was} *Now:* {own.now}")


if seams.running():
    show()
