"""The run that opens the lab: a real one, live on the start page, with another seed for each visitor."""

from __future__ import annotations

import importlib
import random

import streamlit as st

from app import catalogue
from app.kit import jobs, startup
from app.kit.canvas import player
from app.kit.direction import Cue
from app.kit.push import Channel
from app.kit.visit import session
from engine import turns
from engine.spec import Spec

LESSON = "nuts"
SETTINGS = {"view": "draws", "draws": 400, "target_accept": 0.95}
CUE = Cue("start", panels=("plane", "marginal-0"), plain=True).encode()
PATIENCE = 1.0  # s that the page waits for the run
HEIGHT = 420  # px that are kept free for it
SEEDS = 1000


def show(entry: catalogue.Entry) -> None:
    """The run of the lesson `LESSON`. On a server that has just begun: the place where it will be."""
    if not startup.warm_up().loaded.is_set():  # `main.note` runs the page again when it is
        st.skeleton(height=HEIGHT)
        return
    startup.load_page(entry.package)
    window = st.session_state.get("exhibit window")
    seed = st.session_state.setdefault("exhibit seed", random.randrange(SEEDS))
    spec = importlib.import_module(f"{entry.package}.spec").NutsLesson(**SETTINGS, seed=seed)
    owner, key = (session(), "exhibit"), ("exhibit", spec, window)
    job = jobs.pool().submit(owner, key, _scene, entry.package, spec, window, rank=turns.FIRST, local=True)
    job.wait(PATIENCE)
    if job.active:
        st.skeleton(height=HEIGHT)
        st.fragment(_watch, run_every=jobs.LOOK)(job)
    elif job.result is not None:
        channel = st.session_state.setdefault("exhibit channel", Channel())
        player(job.result, key="exhibit", channel=channel, cue=CUE, on_event=lambda event: _event(event, channel))


def _watch(job: jobs.Job) -> None:
    job.heartbeat()
    if not job.active:
        st.rerun()


def _event(event: dict, channel: Channel) -> None:
    """The reader looks inside a transition, or a picture was lost."""
    if event.get("kind") == "window" and isinstance(event.get("t"), (int, float)) and 0 <= event["t"] < SETTINGS["draws"]:
        st.session_state["exhibit window"] = int(event["t"])
    else:
        channel.lost()


def _scene(package: str, spec: Spec, window: int | None, ticket: jobs.Job) -> bytes:
    return importlib.import_module(f"{package}.scenes").scene(spec, window)
