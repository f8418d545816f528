"""The page of printed numbers beside ours: a table to filter, an experiment to open and to run again."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from app.kit import follow, frame, jobs, messages, seams, startup, words
from app.kit.visit import session, write_address
from engine import turns
from lessons.reproduce import again, pictures, report, store
from lessons.reproduce.errata.numbers import errata
from lessons.reproduce.experiment import FULL, QUICK, VERDICTS, WORDS, Experiment, Outcome
from lessons.reproduce.registry import BY_ID, missing
from lessons.reproduce.report import Row

ALL = "all"
FIRST = "berezowski-5.6"  # open where the address names none: it is told best
ID = "id"  # of the address: the experiment that is open
RUNNING = "reproduce/running"  # of the session: the experiment that was started here, and its form
MOST = 3_600  # s of a full form that is started on the page; a longer one is for the command
LESSONS = Path(__file__).parents[1]


def show() -> None:
    """The whole page."""
    frame.dress()
    startup.load_charts()
    st.title(WORDS.title, anchor=False)
    st.markdown(WORDS.promise)
    every = list(report.rows())
    counted = Counter(row.verdict.kind for row in every)
    shares = [WORDS.phrase("page.counted", count=counted[kind], verdict=kind) for kind in VERDICTS]
    st.markdown(" · ".join([*shares, WORDS.phrase("page.of", count=len(every))]))
    rows = _filtered(every)
    if not rows:
        st.info(WORDS.phrase("page.empty"))
        return
    opened, look = st.columns([62, 38], gap="large")
    with opened:
        _experiment(rows)
    with look:
        follow.panels(pictures.forest(rows))
    st.header(WORDS.phrase("page.every"), anchor=False)
    for experiment in dict.fromkeys(row.experiment.id for row in rows):
        own = [row for row in rows if row.experiment.id == experiment]
        with st.expander(f"{_named(own[0].experiment)} · {_tally(own)}"):
            st.markdown(WORDS.phrase("page.open", id=experiment))
            follow.panels(pictures.table(own, own[0].experiment.source.place))
    with st.expander(WORDS.phrase("page.conclusions")):
        follow.panels(pictures.concluded())
    with st.expander(WORDS.phrase("page.not_here")):
        follow.panels(pictures.not_here())
    st.markdown(WORDS.phrase("page.document"))


def _tally(rows: Sequence[Row]) -> str:
    counted = Counter(row.verdict.kind for row in rows)
    return ", ".join(f"{counted[kind]} {kind}" for kind in VERDICTS if counted[kind])


def _named(experiment: Experiment) -> str:
    return f"{experiment.source.author} ({experiment.source.year}): {experiment.title}"


def _filtered(rows: Sequence[Row]) -> list[Row]:
    with st.container(horizontal=True, gap="small"):
        author = st.selectbox(
            WORDS.phrase("page.author"), [ALL, *dict.fromkeys(row.experiment.source.author for row in rows)], key="reproduce/author"
        )
        topic = st.selectbox(WORDS.phrase("page.topic"), [ALL, *dict.fromkeys(row.experiment.topic for row in rows)], key="reproduce/topic")
        kind = st.selectbox(WORDS.phrase("page.verdict"), [ALL, *VERDICTS], key="reproduce/verdict")
    wanted = (
        (author, lambda row: row.experiment.source.author),
        (topic, lambda row: row.experiment.topic),
        (kind, lambda row: row.verdict.kind),
    )
    return [row for row in rows if all(choice in (ALL, of(row)) for choice, of in wanted)]


def _experiment(rows: Sequence[Row]) -> None:
    """The one that is open: chosen here or by the address."""
    ids = list(dict.fromkeys(row.experiment.id for row in rows))
    asked = seams.query().get(ID, [None])[-1]
    if asked is not None and asked not in BY_ID:
        st.warning(f"{messages.WARNING} {WORDS.phrase('page.unknown')}")
    first = asked if asked in ids else FIRST
    at = ids.index(first) if first in ids else 0
    id = st.selectbox(
        WORDS.phrase("page.experiment"), ids, at, format_func=lambda id: _named(BY_ID[id]), key=f"reproduce/open/{'/'.join(ids)}"
    )
    if id is None:
        return
    write_address({ID: id})
    experiment = BY_ID[id]
    told = st.container()  # above the buttons, whose press decides which form it tells
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        for form in _forms(experiment):
            said, key = WORDS.phrase("page.run", form=form), f"reproduce/run/{form}/{id}"
            if st.button(said, key=key, disabled=bool(missing(experiment))):
                st.session_state[RUNNING] = id, form
        for link in experiment.links:
            st.markdown(WORDS.phrase("page.see", lesson=lesson_title(link), link=link.removeprefix("/")))
        for erratum in errata():
            if erratum.row == id:
                st.markdown(WORDS.phrase("page.erratum", title=erratum.title, id=erratum.id))
    if lacking := missing(experiment):
        st.markdown(WORDS.phrase("page.lacking", names=", ".join(lacking)))
    else:
        st.markdown(_takes(experiment))
    running, form = st.session_state.get(RUNNING, (None, QUICK))
    here = running == id
    told.markdown(_told(experiment, experiment.choices(form) if here else report.choices(experiment)))
    if here:
        job = jobs.pool().submit((session(), "reproduce"), ("reproduce", id, form), again.run, id, form, rank=turns.AFTER, local=True)
        st.fragment(_watch, run_every=jobs.LOOK if job.active else None)(job, experiment, form, job.active)
        return
    if store.result(id):
        _shown([row for row in report.rows() if row.experiment is experiment], WORDS.phrase("page.kept", ran=report.ran(experiment)))
        if more := report.beside(experiment):
            follow.panels(pictures.besides(more))


def _forms(experiment: Experiment) -> Sequence[str]:
    """Those that can be started here: the full one where it is another than the quick one, and takes no longer than `MOST`."""
    quick, full = experiment.seconds
    other = quick != full or experiment.parts[0] != experiment.parts[1]
    return (QUICK, FULL) if other and full <= MOST else (QUICK,)


def _takes(experiment: Experiment) -> str:
    """How long each form takes, and how it is run by command."""
    quick, full = experiment.seconds
    own, values = experiment.by_form.get(QUICK), {"id": experiment.id, "quick": quick, "full": full, "hours": full / 3600}
    said = [WORDS.phrase("page.takes", **values)]
    if FULL in _forms(experiment):
        said.append(WORDS.phrase("page.takes_full", **values))
    elif full > MOST:
        said.append(WORDS.phrase("page.takes_long", **values))
    if own:
        said.append(WORDS.phrase("page.quick", choices="; ".join(own)))
    return " ".join(said)


def lesson_title(link: str) -> str:
    """What the lesson is called to which a link leads."""
    slug = link.partition("?")[0].strip("/")
    return words.head(LESSONS / slug.replace("-", "_"))["title"]


def _told(experiment: Experiment, chosen: Sequence[str]) -> str:
    """Where it stands in print, its settings, these choices of ours, and how large a gap may be."""
    said = [WORDS.phrase("page.stands", **dataclasses.asdict(experiment.source))]
    if experiment.settings:
        said.append(WORDS.phrase("page.settings", settings="; ".join(experiment.settings)))
    if chosen:
        said.append(WORDS.phrase("page.chosen", chosen="; ".join(chosen)))
    return " ".join([*said, WORDS.phrase("page.tolerance", tolerance=experiment.tolerance)])


def _watch(job: jobs.Job, experiment: Experiment, form: str, polled: bool) -> None:
    """The run as it grows."""
    job.heartbeat()
    if polled and not job.active:
        st.rerun()
    if job.error is not None or job.state == jobs.TURNED_AWAY:
        messages.complain(f"“{experiment.title}”", job.error)
        return
    if job.active:
        st.progress(job.fraction() or 0.0, text=messages.progress(job))
        if st.button(WORDS.phrase("page.stop"), key=f"reproduce/stop/{experiment.id}"):
            job.stop()
            st.session_state.pop(RUNNING, None)
            st.rerun()
    outcome: Outcome | None = job.result or job.latest
    if outcome is not None:
        rows = list(report.rows_of(experiment, outcome))
        _shown(rows, WORDS.phrase("page.growing", form=form) if job.active else WORDS.phrase("page.here", form=form))


def _shown(rows: Sequence[Row], title: str) -> None:
    figure = pictures.beside(rows)
    if figure is not None:
        follow.panels(figure)
    follow.panels(pictures.table(rows, title))


if seams.running():
    with st.container(key="reproduce"):
        show()
