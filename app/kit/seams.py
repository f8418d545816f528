"""What we use of Streamlit beyond its public interface."""

from __future__ import annotations

from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx


def session_id() -> str | None:
    """Streamlit's name for the session whose script runs in this thread; None outside of one."""
    context = get_script_run_ctx(suppress_warning=True)
    return None if context is None else context.session_id


def connected(session: str) -> bool:
    """Whether a browser is connected to this session. From any thread."""
    return not runtime.exists() or runtime.get_instance().is_active_session(session)
