"""The start page: the catalogue by track, a card a lesson."""

from urllib.parse import urlsplit

import streamlit as st

from app import catalogue
from app.kit import glossary, seams
from app.kit.text import plain


def unknown_page() -> str:
    """The path that was asked for and is no page, or ""."""
    base = seams.base_path()
    path = urlsplit(st.context.url or "").path.strip("/").removeprefix(base).strip("/")
    return path if path not in ("", *(entry.slug for entry in catalogue.LESSONS)) else ""


def card(entry: catalogue.Entry) -> None:
    """One lesson: its link, its promise, links to its scenarios."""
    st.page_link(entry.path, label=f"**{entry.title}**", icon=entry.icon)
    st.markdown(entry.promise)
    if entry.scenarios:
        with st.container(horizontal=True, gap="small"):
            for scenario, title in entry.scenarios:
                st.page_link(entry.path, label=title, query_params={"scenario": scenario})


st.title("Posterior Lab", anchor=False)
st.markdown(
    "Watch real Bayesian inference run, from a coin to neural networks that grow and shrink, "
    "and see the proof that what you watch is right."
)

if path := unknown_page():
    st.warning(f"There is no page “{plain(path[:60])}”. These are the pages there are:", icon="⚠️")
if st.query_params:
    names = ", ".join(f"“{plain(name[:40])}”" for name in list(st.query_params)[:5])
    st.warning(f"The start page takes no parameters; {names} had no effect. Links to a lesson look like /hmc?…", icon="⚠️")

for track, entries in catalogue.TRACKS.items():
    st.header(track, anchor=False)
    grid = st.grid(columns=3, min_column_width=300, border=True)
    for entry in entries:
        with grid.cell():
            card(entry)

st.header("For lecturers", anchor=False)
st.markdown(
    """
- **Present** on a lesson's page, or `p`, is the projector view: the stage and the words of the step in large letters. A
  clicker leads through it.
- **Share** makes a link that holds every value and the seed, so a whole room sees the same run. It can also hide
  controls that would give the answer away.
- Everything runs on this server; nothing is fetched from elsewhere.
"""
)

titles = {entry.slug: entry.title for entry in catalogue.LESSONS}
st.header("Words of the field", anchor=False)
with st.expander("Each in one line, with the lesson that shows it"):
    for term in glossary.terms():
        st.markdown(f"**{term.names[0]}**: {term.means} [{titles[term.lesson]}]({term.lesson})")
