"""The one page frame of every lesson.

    title · promise                                   badge · share · present
    scenario chips                        | story step · question
    stage (the player)                    | settings · formula · code
    still panels · diagnostics

`show` runs top to bottom on every change: bring the visit in step with the address, draw the picture, then everything that may follow
later. The picture waits for nothing else: checks, panels and diagnostics are jobs that fragments poll while they run.
"""

from __future__ import annotations

import html
import inspect
import logging
import random
import textwrap
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from app.kit import badge, jobs, predict, share, story, theme
from app.kit.charts import Figure, Table
from app.kit.controls import Controls
from app.kit.player import player
from app.kit.predict import Question
from app.kit.text import number, plain
from app.kit.visit import SANDBOX, Visit, fill, visit
from engine.checks import Check
from engine.spec import MAX_SEED, Spec, SpecError

__all__ = ["Check", "Controls", "Figure", "Lesson", "Question", "Scenario", "Table", "show"]

log = logging.getLogger(__name__)

PATIENCE = 1.0  # s the script waits for a picture before it shows that one is being made
POLL = 0.25  # s between looks at a job
OTHER_SEEDS = 3  # that one press of the badge's button adds
PROBLEMS_SHOWN = 5

_STYLE = Path(__file__).parents[1] / "static" / "shell.css"


@dataclass(frozen=True)
class Scenario:
    """A named setting with its story. `failure` marks one where the method goes wrong; then `why` says the reason."""

    id: str
    title: str
    spec: Spec
    story: str
    failure: bool = False
    why: str = ""

    def __post_init__(self) -> None:
        if self.failure and not self.why:
            raise ValueError(f"scenario {self.id} is a failure without a reason")
        if self.id == SANDBOX:
            raise ValueError(f"{SANDBOX} is not free as a scenario's name")


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """What a lesson hands to the frame.

    Attributes
    ----------
    slug, title, promise : its path, its name, one sentence that says what one will see
    spec : class of its spec, defined in a module (not in page.py, which is run anew each time)
    scenarios : three to five; the first is shown when the page is opened bare
    story : Markdown file of the guided steps, see `app.kit.story`
    controls : lays out the widgets
    scene : (spec, window) → scene blob; `window` is a transition whose inside is wanted, or None
    checks : (spec, cancel) → checks of this very run, for the badge
    panels : (spec, cancel) → figures and tables below the stage
    diagnostics : (spec, cancel) → a table: R-hat, ESS, cost
    predict : questions; those that no story step names stand at the story's end
    formula : LaTeX, or Markdown when it holds a `$`
    code : functions whose source is shown
    kernel : which kernel runs, a sentence for the badge, or a function of the spec
    on_event : (spec, event of the player) → changed spec, or None to leave it
    live : spec → body(job) of a long run. The body calls `job.publish(blob)` as the scene grows, `job.report(done, total)`, ends when
        `job.cancelled`, and returns the final blob
    live_label : the button that starts it
    """

    slug: str
    title: str
    promise: str
    spec: type[Spec]
    scenarios: Sequence[Scenario]
    controls: Callable[[Controls], None]
    scene: Callable[[Any, int | None], bytes]
    story: Path = Path("story.md")
    checks: Callable[[Any, Any], Sequence[Check]] | None = None
    panels: Callable[[Any, Any], Sequence[Figure | Table]] | None = None
    diagnostics: Callable[[Any, Any], Table] | None = None
    predict: Sequence[Question] = ()
    formula: str = ""
    code: Sequence[Callable[..., Any]] = ()
    kernel: str | Callable[[Any], str] = ""
    on_event: Callable[[Any, dict], Spec | None] | None = None
    live: Callable[[Any], Callable[[jobs.Job], bytes | None]] | None = None
    live_label: str = "Run"

    def specs(self) -> dict[str, Spec]:
        """The scenarios' specs by id."""
        return {scenario.id: scenario.spec for scenario in self.scenarios}

    def steps(self) -> tuple[story.Step, ...]:
        """The steps of the story; a relative path counts from the lesson's folder."""
        path = self.story if self.story.is_absolute() else Path(self.scene.__code__.co_filename).parent / self.story
        return story.read(path) if path.exists() else ()


def show(lesson: Lesson) -> None:
    """Draw the page of `lesson`."""
    here = visit(lesson.slug, lesson.spec, lesson.specs(), ("seed",))
    here.write_address()
    st.html(_STYLE)
    tools = _head(lesson)
    _problems(here)
    picture, side = _layout(here)
    with picture:
        with st.container(key="chips"):
            _chips(lesson, here)
        _stage(lesson, here)
        with st.container(key="note"):
            _note(lesson, here)
    with side:
        _story(lesson, here)
        _settings(lesson, here)
    follow = _Follow(lesson, here)
    follow.below()
    with tools:
        follow.badge()
        _share(lesson, here)
        _present(here)


# The parts, in the order of the page ------------------------------------------------------------------------------------------


def _head(lesson: Lesson) -> Any:
    with st.container(key="head", horizontal=True, gap="medium"):
        with st.container(key="title", width="stretch", gap="xsmall"):
            st.title(lesson.title, anchor=False)
            st.markdown(lesson.promise)
        return st.container(key="tools", horizontal=True, width="content", gap="small")


def _problems(here: Visit) -> None:
    if not here.problems:
        return
    shown = here.problems[:PROBLEMS_SHOWN]
    lines = [f"- **{plain(problem.parameter)}** {plain(problem.message)}." for problem in shown]
    if len(here.problems) > len(shown):
        lines.append(f"- and {len(here.problems) - len(shown)} more")
    st.warning("This link could not be followed in full:\n\n" + "\n".join(lines), icon="⚠️")


def _layout(here: Visit) -> tuple[Any, Any]:
    if here.present:
        st.html("<style>html { font-size: 20px; }</style>")
        return st.container(key="picture"), st.expander("Story and settings", key="side")
    left, right = st.columns([62, 38], gap="medium")
    return left.container(key="picture"), right.container(key="side")


def _chips(lesson: Lesson, here: Visit) -> None:
    scenarios = {scenario.id: scenario for scenario in lesson.scenarios}
    key = f"{lesson.slug}/scenario"
    current = here.scenario if here.scenario in scenarios else SANDBOX
    fill(key, current)

    def choose(scenario: Scenario | None) -> None:
        if scenario is None:
            here.scenario, here.touched = None, True
        else:
            here.load(scenario.spec, scenario.id)

    def chosen() -> None:
        scenario = scenarios.get(st.session_state[key])
        here.moved(lambda: choose(scenario), key)

    def named(name: str) -> str:
        if name == SANDBOX:
            return "sandbox"
        return scenarios[name].title + (" ⚠" if scenarios[name].failure else "")

    st.pills(
        "Scenario",
        [*scenarios, SANDBOX],
        format_func=named,
        required=True,
        key=key,
        on_change=chosen,
        label_visibility="collapsed",
    )


def _note(lesson: Lesson, here: Visit) -> None:
    scenario = next((s for s in lesson.scenarios if s.id == here.scenario), None)
    if scenario is None:
        st.caption("Sandbox: every setting is yours. The address bar always holds the link to what you see.")
        return
    st.markdown(scenario.story)
    if scenario.failure:
        st.warning(f"**Why it goes wrong.** {scenario.why}", icon="⚠️")


def _story(lesson: Lesson, here: Visit) -> None:
    steps = lesson.steps()
    questions = {question.id: question for question in lesson.predict}
    asked = [step.question for step in steps if step.question]
    if steps:
        here.step = min(here.step, len(steps) - 1)
        step = steps[here.step]
        with st.container(key="steps", horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(f":gray[Step {here.step + 1} of {len(steps)}]", width="stretch")
            _step_button("◀ Back", -1, lesson, here, steps)
            _step_button("Next ▶", +1, lesson, here, steps)
        if step.title:
            st.subheader(step.title, anchor=False)
        st.markdown(step.text)
        if step.question in questions:
            predict.ask(questions[step.question], here, lesson.slug, lesson.specs())
    if not steps or here.step == len(steps) - 1:
        for question in lesson.predict:
            if question.id not in asked:
                predict.ask(question, here, lesson.slug, lesson.specs())


def _step_button(words: str, move: int, lesson: Lesson, here: Visit, steps: Sequence[story.Step]) -> None:
    def step() -> None:
        here.step = max(0, min(here.step + move, len(steps) - 1))
        wanted = steps[here.step].scenario
        if wanted in lesson.specs():
            here.load(lesson.specs()[wanted], wanted)

    end = here.step == (0 if move < 0 else len(steps) - 1)
    kind: Any = "primary" if move > 0 and not end else "secondary"
    st.button(words, key=f"{lesson.slug}/step{move:+d}", on_click=here.moved, args=(step,), disabled=end, type=kind)


def _settings(lesson: Lesson, here: Visit) -> None:
    names = ["Settings"] + ["Formula"] * bool(lesson.formula) + ["Code"] * bool(lesson.code)
    tabs = dict(zip(names, st.tabs(names), strict=True))
    with tabs["Settings"], _guard("the settings"):
        panel = Controls(here, lesson.slug)
        lesson.controls(panel)
        panel.seed()
    if lesson.formula:
        with tabs["Formula"]:
            (st.markdown if "$" in lesson.formula else st.latex)(lesson.formula)
    if lesson.code:
        with tabs["Code"]:
            st.caption("The code that made this.")
            for function in lesson.code:
                st.code(source(function), language="python")


def _present(here: Visit) -> None:
    def turn() -> None:
        here.present, here.touched = not here.present, True

    st.button(
        "Leave" if here.present else "Present",
        key="present",
        on_click=here.moved,
        args=(turn,),
        help="Projector view: large text, the stage alone",
        type="tertiary",
    )


def _share(lesson: Lesson, here: Visit) -> None:
    fold = st.popover("Share", key="share", on_change="rerun", type="tertiary", help="A link to exactly this picture")
    if not fold.open:
        return
    with fold:
        page = st.context.url or f"/{lesson.slug}"
        names = list(lesson.spec.declarations())
        hide = st.multiselect(
            "Hide controls from those who open it",
            names,
            default=[n for n in here.hide if n in names],
            key=f"{lesson.slug}/hide",
        )
        query = share.write(here.spec, here.scenario, here.present, hide)
        link = share.address(page, query)
        st.markdown("**Link** with every value and the seed")
        st.code(link, language=None, wrap_lines=True)
        st.markdown("**Embed** in a web page")
        frame = f'<iframe src="{html.escape(link)}&amp;embed=true" title="{html.escape(lesson.title)}" width="100%" height="760"></iframe>'
        st.code(frame, language="html", wrap_lines=True)


# The stage ------------------------------------------------------------------------------------------------------------------


_pictures = jobs.Pool(shelf=jobs.Shelf(128_000_000))  # apart from the long jobs, so that a picture never waits for them


def _stage(lesson: Lesson, here: Visit) -> None:
    """The player, in a fragment of its own: what it asks for while playing reruns nothing else."""
    picture = _picture(lesson, here) if here.run is None else None
    polled = (picture or here.run).active  # type: ignore[union-attr]

    def stage() -> None:
        if here.touched:  # an event of the player changed the spec: the whole page follows
            st.rerun()
        work = here.run or _picture(lesson, here)
        work.heartbeat()
        ended = not work.active  # looked at before its results
        if ended and polled:
            st.rerun()  # a full run removes the timer
        blob = work.result or work.latest
        if blob is None and here.run is not None:
            blob = _picture(lesson, here).result
        if blob is not None:
            with _guard("the picture"):
                player(blob, key=f"{lesson.slug}/player", on_event=lambda event: _event(lesson, here, event))
        elif ended:
            _complain("the picture", work.error)
        else:
            st.skeleton(height=420)
            st.caption("Making the picture …")
        if lesson.live is not None:
            _live_row(lesson, here)

    st.fragment(stage, run_every=POLL if polled else None)()


def _picture(lesson: Lesson, here: Visit) -> jobs.Job:
    """The job of the present scene; mostly finished when it returns."""
    key = (lesson.slug, "scene", here.spec, here.window)
    job = _pictures.submit((_session(), "scene"), key, lambda ticket: lesson.scene(here.spec, here.window))
    job.heartbeat()
    job.wait(PATIENCE)
    if (
        job.state == jobs.FAILED and here.window is not None
    ):  # the inside of that transition cannot be had: show the run without it
        here.window = None
        return _picture(lesson, here)
    return job


def _live_row(lesson: Lesson, here: Visit) -> None:
    run = here.run
    with st.container(key="live", horizontal=True, vertical_alignment="center"):
        if run is not None and run.active:
            st.progress(run.fraction() or 0.0, text=progress_text(run, jobs.pool().position(run)))
            st.button("Stop", key=f"{lesson.slug}/stop", on_click=run.stop)
            return
        label = lesson.live_label if run is None else f"{lesson.live_label} again"
        st.button(label, key=f"{lesson.slug}/run", on_click=_start, args=(lesson, here), type="primary")
        if run is not None and run.state in (jobs.FAILED, jobs.TURNED_AWAY):
            _complain("the run", run.error)
        elif run is not None and run.total:
            st.caption(
                f"{'Stopped after' if run.state == jobs.STOPPED else 'Finished:'} {number(run.done)} of {number(run.total)}."
            )


def _start(lesson: Lesson, here: Visit) -> None:
    """Begin the long run; the callback of its button. A seed gives the same run again, so nothing is kept from the last one."""
    assert lesson.live is not None
    key = (lesson.slug, "live", here.spec, time.monotonic())
    here.run = jobs.pool().submit((_session(), "live"), key, lesson.live(here.spec), keep=False, local=True)
    here.touched = True


def progress_text(job: jobs.Job, position: int = 0) -> str:
    """How far a job is, in words."""
    if job.state == jobs.WAITING:
        return f"The lab is busy, you are number {max(position, 1)} in the queue."
    if not job.total:
        return "Running …"
    left = job.time_left()
    rest = "" if left is None else f" · {left:.0f} s left" if left < 90 else f" · {left / 60:.0f} min left"
    return f"{number(job.done)} of {number(job.total)} · {number(job.rate())}/s{rest}"


def _event(lesson: Lesson, here: Visit, event: dict) -> None:
    """What the player asks for. The event comes from the browser: nothing in it is trusted."""
    if event.get("kind") == "window":
        t = event.get("t")
        if isinstance(t, (int, float)) and 0 <= t < 2**31:
            here.window = int(t)
        return
    if lesson.on_event is None:
        return
    try:
        spec = lesson.on_event(here.spec, event)
    except SpecError as error:
        here.problems = (share.Problem(error.parameter, error.reason),)
        here.touched = True
        return
    except Exception:
        log.exception("%s: event %r", lesson.slug, event.get("kind"))
        return
    if spec is not None and spec != here.spec:
        here.load(spec, None)


# What follows the picture -----------------------------------------------------------------------------------------------------


class _Follow:
    """Checks, panels and diagnostics: jobs that start after the picture, drawn by two fragments that poll while any of them runs.

    A job is submitted on the second sight of its key, a quarter of a second after the picture. So a slider on the move starts none.
    """

    def __init__(self, lesson: Lesson, here: Visit):
        self.lesson, self.here = lesson, here
        self.functions = {
            slot: function
            for slot, function in (
                ("checks", lesson.checks),
                ("panels", lesson.panels),
                ("diagnostics", lesson.diagnostics),
            )
            if function is not None
        }
        self.polled = any(self._pending(slot) for slot in self._slots())

    def badge(self) -> None:
        """The badge and what it stands on."""
        if "checks" in self.functions:
            st.fragment(self._badge, run_every=POLL if self.polled else None)()

    def below(self) -> None:
        """Panels and diagnostics."""
        if {"panels", "diagnostics"} & set(self.functions):
            st.fragment(self._below, run_every=POLL if self.polled else None)()

    def _slots(self) -> list[str]:
        return [*self.functions] + ["seeds"] * bool(self.here.seeds and "checks" in self.functions)

    def _key(self, slot: str) -> tuple:
        return (self.lesson.slug, slot, self.here.spec, self.here.seeds if slot == "seeds" else ())

    def _job(self, slot: str) -> jobs.Job | None:
        """The job of `slot`; None on the first sight of what is wanted."""
        key, pool = self._key(slot), jobs.pool()
        seen = st.session_state.setdefault("seen", {})
        if seen.get(slot) != key and pool.peek(key) is None:
            seen[slot] = key
            return None
        seen[slot] = key
        if slot == "seeds":
            specs = [self.here.spec.replace(seed=seed) for seed in self.here.seeds]
            return pool.submit((_session(), slot), key, _check_each, self.functions["checks"], specs)
        return pool.submit((_session(), slot), key, self.functions[slot], self.here.spec)

    def _pending(self, slot: str) -> bool:
        job = self._job(slot)
        return job is None or job.active

    def _settle(self) -> None:
        """Once nothing is pending, a full run removes the timers."""
        if self.polled and not any(self._pending(slot) for slot in self._slots()):
            self.polled = False
            st.rerun()

    def _badge(self) -> None:
        self._settle()
        job = self._job("checks")
        if job is None or job.active:
            with st.popover(":gray[⋯ checking]", key="badge", type="tertiary"):
                st.markdown(
                    "The check of this very run is under way."
                    if job is None
                    else progress_text(job, jobs.pool().position(job))
                )
            return
        if job.state != jobs.DONE:
            with st.popover(":gray[? no check]", key="badge", type="tertiary"):
                _complain("the check", job.error)
            return
        face = badge.face(job.result)
        with st.popover(face.label, key="badge", type="tertiary", help=face.spoken):
            with st.container(key="checks"):
                self._kernel()
                for check in job.result:
                    st.markdown(badge.line(check))
                self._other_seeds()

    def _kernel(self) -> None:
        kernel = self.lesson.kernel
        with _guard("the kernel's name"):
            text = kernel(self.here.spec) if callable(kernel) else kernel
            if text:
                st.caption(text)

    def _other_seeds(self) -> None:
        if "seed" not in self.lesson.spec.declarations():
            return
        if self.here.seeds:
            job = self._job("seeds")
            if job is None or job.active:
                st.caption("Checking other seeds …")
            elif job.state == jobs.DONE:
                for seed, checks in zip(self.here.seeds, job.result, strict=False):
                    st.markdown(f"Seed {seed}: {badge.face(checks).label}")
            else:
                _complain("the check on other seeds", job.error)
        if st.button("Check other seeds", key="other-seeds", help=f"The same checks on {OTHER_SEEDS} more seeds"):
            self.here.seeds += tuple(random.randint(0, MAX_SEED) for _ in range(OTHER_SEEDS))
            st.rerun()

    def _below(self) -> None:
        self._settle()
        kept = st.session_state.setdefault("panels shown", {})
        for slot in ("panels", "diagnostics"):
            if slot not in self.functions:
                continue
            job = self._job(slot)
            if job is not None and not job.active:
                if job.state == jobs.DONE:
                    kept[self.lesson.slug, slot] = job.result
                    _panels(job.result)
                else:
                    _complain("the panels" if slot == "panels" else "the diagnostics", job.error)
            elif (self.lesson.slug, slot) in kept:
                st.caption("Updating for the new settings …")
                with st.container(key=f"stale-{slot}"):
                    _panels(kept[self.lesson.slug, slot])
            else:
                st.skeleton(height=260 if slot == "panels" else 80)


def _check_each(
    checks: Callable[[Any, Any], Sequence[Check]], specs: Sequence[Spec], ticket: Any
) -> list[Sequence[Check]]:
    results = []
    for spec in specs:
        if ticket.is_set():
            break
        results.append(checks(spec, ticket))
    return results


def _panels(result: Figure | Table | Sequence[Figure | Table]) -> None:
    items = [result] if isinstance(result, (Figure, Table)) else list(result)
    figures = [item for item in items if isinstance(item, Figure)]
    if figures:
        grid = st.grid(columns=min(len(figures), 3), min_column_width=320)
        for item in figures:
            with grid.cell(), _guard(f"“{item.title}”"):
                _figure(item)
    for item in items:
        if isinstance(item, Table):
            st.markdown(f"**{item.title}**")
            st.markdown(item.markdown())
            if item.caption:
                st.caption(item.caption)


def _figure(item: Figure) -> None:
    st.markdown(f"**{item.title}**")
    st.plotly_chart(dressed(item), alt=item.alt, config={"displaylogo": False, "modeBarButtons": [["toImage"]]})
    if item.caption:
        st.caption(item.caption)


def dressed(item: Figure) -> Any:
    """The figure in the colours of the reader's theme."""
    if st.context.theme.type != "dark":
        return item.figure
    import plotly.graph_objects as go

    return go.Figure(theme.in_dark(item.figure.to_dict()), skip_invalid=True)


# Help ---------------------------------------------------------------------------------------------------------------------


@contextmanager
def _guard(what: str) -> Iterator[None]:
    """A lesson's mistake costs its part of the page, not the page."""
    try:
        yield
    except Exception as error:
        log.exception("%s could not be made", what)
        _complain(what, error)


def _complain(what: str, error: BaseException | None) -> None:
    if isinstance(error, SpecError):
        st.error(f"**{plain(error.parameter)}** {plain(error.reason)}.", icon="✋")
    elif error is None:
        st.info(
            f"The lab is busy: {plain(what)} has to wait. Change a setting or reload the page in a moment.", icon="⏳"
        )
    else:
        st.error(
            f"Sorry, {plain(what)} could not be made for these settings. Try other settings; the server's log has the reason.",
            icon="✋",
        )


def _session() -> str:
    return st.session_state.setdefault("session", uuid.uuid4().hex)


def source(function: Callable[..., Any]) -> str:
    """The source of a function, of a compiled one too."""
    return _source(getattr(function, "py_func", function))


@lru_cache(maxsize=256)
def _source(function: Callable[..., Any]) -> str:
    return textwrap.dedent(inspect.getsource(function)).strip()
