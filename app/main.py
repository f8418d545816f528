"""Entry point: `streamlit run app/main.py`. Page settings, the raw query, navigation."""

import os
import sys
from pathlib import Path

ROOT = Path(os.path.abspath(__file__)).parents[1]  # `resolve` would look at the disk in every run
if str(ROOT) not in sys.path:  # Streamlit puts only app/ on the path; this is the one place that adds the root
    sys.path.insert(0, str(ROOT))

import streamlit as st  # noqa: E402

from app import catalogue, pages  # noqa: E402
from app.kit import startup, visit  # noqa: E402

NOTE_AFTER = 1.5  # s of warm-up before the page speaks of it
OVER = """<style>
[data-testid="stLayoutWrapper"]:has(> .st-key-warming) {
  position: fixed; z-index: 1000000; bottom: 0.5rem; left: 50%; translate: -50%; width: min(34rem, 94vw); pointer-events: none;
}
.st-key-warming [data-testid="stProgress"] { padding: 0.4rem 0.75rem; border-radius: 0.5rem; background: #1f2430; color: #fff; }
.st-key-warming p { font-size: 0.875rem; }
</style>"""  # over the page: a note that came and went above it moved what the reader had a finger on


def main() -> None:
    """One run of the script."""
    page = st.navigation(pages.by_track(), position="top")
    title = f"{page.title} · Posterior Lab" if page.url_path else "Posterior Lab"
    st.set_page_config(page_title=title, page_icon=pages.ICON, layout="wide")
    visit.enter(page.url_path)
    top = st.container(key="warming")  # before the page: what stands behind it loses its place when the page changes
    warm_up = startup.warm_up()
    lesson = next((entry for entry in catalogue.PAGES if entry.slug == page.url_path), None)
    following = catalogue.next_after(lesson.slug) if lesson in catalogue.LESSONS else []
    st.session_state[visit.LEADS_TO] = [(entry.path, entry.title, entry.promise) for entry in following]
    if not lesson or warm_up.loaded.wait(NOTE_AFTER):
        if lesson:
            startup.load_page(lesson.package)
        page.run()
        warm_up.picture_drawn.set()
    if not warm_up.ready.is_set():
        with top:
            st.fragment(note, run_every=1.0)(warm_up, warm_up.loaded.is_set())


def note(warm_up: startup.WarmUp, drawn: bool) -> None:
    """Says that the kernels are being prepared, if it takes long. `drawn`: the page is there already."""
    if warm_up.ready.is_set() or (warm_up.loaded.is_set() and not drawn):
        st.rerun()
    st.markdown(OVER, unsafe_allow_html=True)
    compiling = warm_up.compiling[:1]
    if warm_up.seconds() < NOTE_AFTER and not compiling:
        return
    fraction = warm_up.done / warm_up.total if warm_up.total else 0.0
    if compiling:
        text = f"Compiling {compiling[0]} for this page: once on a new machine, it takes some seconds."
    elif drawn:
        text = f"Preparing the kernels ({warm_up.name or 'starting'}). Until then pictures may take a few seconds."
    else:
        text = "Loading the engine."
    st.progress(fraction, text=text)


if __name__ == "__main__":  # Streamlit runs the script for a page
    main()
else:  # `streamlit run` finds `app`, imports it and serves it
    import asyncio
    from collections.abc import AsyncIterator
    from contextlib import asynccontextmanager

    from app.server import application

    @asynccontextmanager
    async def lifespan(_app: st.App) -> AsyncIterator[None]:
        """The engine is loaded before the first reader comes, but not before the server listens: the reader's browser
        has enough to do with Streamlit's own scripts meanwhile."""
        asyncio.get_running_loop().call_soon(startup.warm_up)
        yield

    packages = {entry.slug: entry.package for entry in catalogue.PAGES}
    app = st.App(__file__, lifespan=lifespan, **application.parts(packages))  # Streamlit looks for this very call
