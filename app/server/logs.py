"""The log. With `POSTERIOR_LAB_LOG=json` a line is an event: time, level, where, what, the visit it belongs to, and the
traceback of a mistake. A visit is a name made at random; of what readers set, type or upload nothing is written.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
import traceback

from app.kit import seams
from engine import settings

OURS = ("app", "engine", "lessons", "datasets", "streamlit")
VISIT = 10  # letters of a visit's name


class Json(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        event = {
            "time": f"{seconds}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "where": record.name,
            "what": record.getMessage(),
            "visit": visit(),
        }
        if record.exc_info:
            kind, _, frames = record.exc_info  # its message may quote what a reader gave
            event["traceback"] = "".join(traceback.format_tb(frames)) + (kind.__name__ if kind else "")
        return json.dumps({name: value for name, value in event.items() if value}, ensure_ascii=False)


def visit() -> str:
    """A name for the session whose script or job runs in this thread, by which its lines are found; else nothing."""
    session = seams.session_id()
    return hashlib.sha256(session.encode()).hexdigest()[:VISIT] if session else ""


def install() -> None:
    """Have the log written as the setting says."""
    if settings.value("LOG") != "json":
        return
    handler = logging.StreamHandler()
    handler.setFormatter(Json())
    for name in OURS:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
