"""Entry point: `streamlit run app/main.py`. Page settings, the raw query, navigation."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:  # Streamlit puts only app/ on the path; this is the one place that adds the root
    sys.path.insert(0, str(ROOT))

import streamlit as st  # noqa: E402

from app import catalogue  # noqa: E402
from app.kit import startup  # noqa: E402

NOTE_AFTER = 1.5  # s of warm-up before the page speaks of it


def main() -> None:
    """One run of the script."""
    st.set_page_config(page_title="Posterior Lab", page_icon="🎲", layout="wide")
    pages = {"": [st.Page(ROOT / "app" / "start.py", title="Start", icon="🎲", default=True)]}
    for track, entries in catalogue.by_track().items():
        pages[track] = [
            st.Page(entry.path, title=entry.title, icon=entry.icon, url_path=entry.slug) for entry in entries
        ]
    page = st.navigation(pages, position="top")
    st.session_state["came from"] = st.session_state.get("page")
    st.session_state["page"] = page.url_path
    top = st.container()
    if page.url_path:  # a lesson
        startup.load()
    page.run()
    warm_up = startup.warm_up()  # after the first picture: they would slow each other down
    if not warm_up.ready:
        with top:
            st.fragment(warm_up_note, run_every=1.0)(warm_up)


def warm_up_note(warm_up: startup.WarmUp) -> None:
    """Says that kernels are being prepared, if it takes long."""
    if warm_up.ready:
        st.rerun()
    if warm_up.seconds() > NOTE_AFTER:
        fraction = warm_up.done / warm_up.total if warm_up.total else 0.0
        st.progress(
            fraction,
            text=f"Preparing the kernels ({warm_up.name or 'starting'}). Until then pictures may take a few seconds.",
        )


main()
