"""The start page: a run, the way through the lessons by track, a search, the words of the field."""

import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

import streamlit as st

from app import catalogue, exhibit, stills
from app.kit import glossary, icons, seams, story
from app.kit.text import anchor, plain

FOUND = 12  # steps that a search shows at most
BY_SLUG = {entry.slug: entry for entry in catalogue.LESSONS}
TITLES = {entry.slug: entry.title for entry in catalogue.LESSONS}
ABOUT = {
    "Beginnings": "belief, data, and what follows",
    "Samplers": "draws from any density",
    "Networks": "functions with uncertain weights",
    "Growing networks": "the number of units is a draw, too",
    "Approximations": "faster, and how wrong",
    "Uncertainty": "what a network does not know",
}


def unknown_page() -> str:
    """The path that was asked for and is no page, or ""."""
    base = seams.base_path()
    path = urlsplit(st.context.url or "").path.strip("/").removeprefix(base).strip("/")
    return path if path not in ("", *(entry.slug for entry in catalogue.PAGES)) else ""


def found(asked: str) -> Iterator[tuple[catalogue.Entry, int, str]]:
    """The steps that speak of what is asked, those first that have it in their title: lesson, number, title."""
    words = [word.lower() for word in asked.split()]
    steps = [
        (entry, number, step) for entry in catalogue.LESSONS for number, step in enumerate(story.read(entry.path.with_name("story.md")), 1)
    ]
    steps.sort(key=lambda each: not all(word in f"{each[0].title} {each[2].title}".lower() for word in words))
    for entry, number, step in steps:
        told = re.sub(r"\]\([^)]*\)", "]", f"{entry.title} {entry.promise} {step.title} {step.text}").lower()
        if all(word in told for word in words):
            yield entry, number, step.title


def search() -> None:
    """A word, and the steps of stories that speak of it."""
    asked = st.text_input("Find a step of a lesson", placeholder="divergence, dropout, evidence …", max_chars=60, key="search")
    if not (asked or "").strip():
        return
    hits = list(found(asked or ""))
    for entry, number, title in hits[:FOUND]:
        st.page_link(entry.path, label=f"{entry.title}: {title}", query_params={"story": str(number)})
    if len(hits) > FOUND:
        st.caption(f"and {len(hits) - FOUND} more")
    if not hits:
        st.caption("No story speaks of that. The words of the field stand at the end of this page.")


def way(tracks: Mapping[str, Sequence[catalogue.Entry]]) -> str:
    """The tracks in their order, each a link to its lessons, as HTML."""
    stations = []
    for track, entries in tracks.items():
        long = f"{len(entries)} lessons, {sum(entry.minutes for entry in entries)} minutes"
        told = f"<b>{icons.html(anchor(track))} {track}</b><span>{ABOUT[track]}</span><span>{long}</span>"
        stations.append(f'<li><a href="#{anchor(track)}">{told}</a></li>')
    return f'<ol class="way">{"".join(stations)}</ol>'


def card(entry: catalogue.Entry, theme: str) -> None:
    """One lesson: its stage, its link, its promise, what it needs, what the reader has seen, links to its scenarios."""
    steps = len(story.read(entry.path.with_name("story.md")))
    seen = f'<a class="progress of-{entry.slug}-{steps}" href="{entry.slug}"></a>'  # app/static/player/progress.js
    st.markdown(stills.image(entry, theme), unsafe_allow_html=True)
    st.page_link(entry.path, label=f"**{entry.title}**")
    st.markdown(entry.promise)
    after = " and ".join(TITLES[slug] for slug in entry.after)
    st.caption(f"{entry.minutes} minutes" + (f" · after {after}" if after else "") + f" {seen}", unsafe_allow_html=True)
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
    st.warning(f"There is no page “{plain(path[:60])}”. These are the pages there are:")
if given := seams.query():
    names = ", ".join(f"“{plain(name[:40])}”" for name in list(given)[:5])
    st.warning(f"The start page takes no parameters; {names} had no effect. Links to a lesson look like /hmc?…")

first = catalogue.LESSONS[0]
picture, words = st.columns([62, 38], gap="large")
if shown := BY_SLUG.get(exhibit.LESSON):
    with picture:
        exhibit.show(shown)
    with words:
        st.markdown(
            "A ball without friction, pushed anew for each draw, wanders over a bent density. Where it may stop decides whether "
            "the histogram fills the exact curve. You are watching the **No-U-Turn sampler**, just run on this server."
        )
        st.page_link(shown.path, label="How does it know where to turn?")
with words:
    st.page_link(first.path, label=f"**Start here**: {first.title}")
    search()

st.markdown(f"<style>{stills.STYLE}{icons.STYLE}</style>{way(catalogue.TRACKS)}", unsafe_allow_html=True)
theme = st.context.theme.type or stills.THEMES[0]
for track, entries in catalogue.TRACKS.items():
    st.header(track, anchor=anchor(track))
    grid = st.grid(columns=3, min_column_width=300, border=True)
    for entry in entries:
        with grid.cell():
            card(entry, theme)

st.header("Papers", anchor=False)
for entry in catalogue.PAPERS:
    st.page_link(entry.path, label=f"**{entry.title}**: {entry.promise}")

st.header("For lecturers", anchor=False)
st.markdown(
    """
- **Present** on a lesson's page, or `p`, is the projector view: the stage and the words of the step in large letters. A
  clicker leads through it. **Notes** there opens a second window for you: the words, the next step, the time.
- **Share** makes a link that holds every value, the seed, the step and the frame, so a whole room sees the same
  picture. It can also hide controls that would give the answer away.
- Everything runs on this server; nothing is fetched from elsewhere.
"""
)

st.header("Words of the field", anchor=False)
with st.expander("Each in one line, with the lesson that shows it"):
    for term in glossary.terms():
        shown_by = f" [{TITLES[term.lesson]}]({term.lesson})" if term.lesson in TITLES else ""
        st.markdown(f"**{term.names[0]}**: {term.means}{shown_by}")
