"""The one page frame of every lesson.

    title · promise                       badge · share · take home · present
    scenario chips                        | story step · question
    stage (the player)                    | settings · formula · code
    still panels · diagnostics

`show` runs top to bottom on every change: bring the visit in step with the address, draw the picture, then everything
that may follow later. The picture waits for nothing else: checks, panels and diagnostics are jobs that fragments poll
while they run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from app.kit import code, direction, glossary, icons, jobs, messages, predict, seams, share, stage, story, take_home, words
from app.kit.charts import Figure, Table
from app.kit.controls import Controls
from app.kit.follow import Follow
from app.kit.lesson import Lesson
from app.kit.link import link
from app.kit.text import plain
from app.kit.visit import LEADS_TO, PAGE, Visit, arriving, fill, session, visit
from app.kit.words import SANDBOX, Question, Scenario
from engine import turns
from engine.judge import Check

__all__ = ["Check", "Controls", "Figure", "Lesson", "Question", "Scenario", "Table", "show"]

PROBLEMS_SHOWN = 5

_STYLE = (Path(__file__).parents[1] / "static" / "shell.css").read_text(encoding="utf-8")
_PROJECTED = (Path(__file__).parents[1] / "static" / "present.css").read_text(encoding="utf-8")


def dress() -> None:
    """The looks that a lesson has, for a page that is none."""
    with st.container(key="style"):
        st.markdown(f"<style>{_STYLE}</style>", unsafe_allow_html=True)


def show(lesson: Lesson) -> None:
    """Draw the page of `lesson`; nothing where the page is imported and not opened."""
    if not seams.running():
        return
    here = visit(lesson.slug, lesson.spec, lesson.specs(), ("seed",))
    _go_on(here)
    _arrive(lesson, here)
    _follow_scenario(here, lesson.steps())
    work = stage.prepare(lesson, here)
    here.write_address()  # after the picture: for each message that comes before it the browser draws the page anew
    style, head, problems = st.container(key="style"), st.container(), st.container(key="problems")
    picture, side = _layout(here)
    chips, scene, note = (picture.container(key=name) for name in ("chips", "scene", "note"))
    above = _above(lesson, here, head, chips) if arriving() else None  # later it would push a first picture down
    with scene:  # first: the browser draws what comes first, while the rest is still under way
        flushed = stage.draw(lesson, here, work)
    # The rest takes its turn: scripts that run beside each other share one Python, and first pictures would wait for them.
    # While it waits it hears of what its reader does next: a look at the session's state ends a script that is out of date.
    with turns.turn(turns.Claim(turns.machine, turns.PAGE, session()), lambda: st.session_state.get(PAGE)):
        with style:  # st.html comes a second later, with a visible jump
            letters = f".st-key-head {{ --letters: {len(lesson.title)}; }}"
            st.markdown(f"<style>{_STYLE}{letters}{icons.STYLE}{_PROJECTED if here.present else ''}</style>", unsafe_allow_html=True)
        tools = above if above is not None else _above(lesson, here, head, chips)
        with problems:
            _problems(here)
        with note:
            _note(lesson, here)
        with side:
            _story(lesson, here)
            sets = _sets(lesson, here)
            if not sets:
                _farewell(lesson, here)
            with st.expander("Settings", key="settings") if here.present else st.container(key="settings"):
                _settings(lesson, here)
            if sets:
                _farewell(lesson, here)
        follow, held = Follow(lesson, here), direction.held(lesson, here)
        follow.below(held)
        with tools:
            scenario = _scenario(lesson, here)
            if not (held and scenario is not None and scenario.failure):  # a red sign would tell
                follow.badge(held)
            _share(lesson, here)
            take_home.menu(lesson, here)
            _present(here)
        follow.watch()  # last: what stands behind a fragment may lose its place
    stage.settle(flushed)


def _go_on(here: Visit) -> None:
    """To the lesson that shows what was given here; this one is found again as it was left.

    A late event of this page may undo the change of page: then its run goes there again.
    """
    there = here.elsewhere
    if there is not None:
        st.switch_page(there.page, query_params={name: str(value) for name, value in there.fields.items()})


# The parts, in the order of the page --------------------------------------------------------------------------------


def _above(lesson: Lesson, here: Visit, head: Any, chips: Any) -> Any:
    """What stands above the picture; returns the place of the tools."""
    with chips:
        _chips(lesson, here)
    with head:
        return _head(lesson)


def _head(lesson: Lesson) -> Any:
    with st.container(key="head", horizontal=True, gap="medium"):
        with st.container(key="title", width="stretch", gap="xsmall"):
            st.title(lesson.title, anchor=False)
            st.markdown(lesson.promise)
        return st.container(key="tools", horizontal=True, width="content", gap="small")


def _problems(here: Visit) -> None:
    if jobs.pool().is_cut_off():
        st.info(f"{messages.WARNING} The cluster for long work is out of reach. Its work goes on here and takes longer.")
    if not here.problems:
        return
    shown = here.problems[:PROBLEMS_SHOWN]
    told = [f"**{plain(problem.parameter)}** {plain(problem.message)}." for problem in shown]
    if len(here.problems) > len(shown):
        told.append(f"And {len(here.problems) - len(shown)} more.")
    st.warning(f"{messages.WARNING} This link could not be followed in full: " + " ".join(told))  # not a list: the stage stands below


def _layout(here: Visit) -> tuple[Any, Any]:
    left, right = st.columns([68, 32] if here.present else [62, 38], gap="medium")
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
        return scenarios[name].title + (words.WARNING if scenarios[name].failure else "")

    st.pills(
        "Scenario",
        [*scenarios, SANDBOX],
        default=current,
        format_func=named,
        required=True,
        key=key,
        on_change=chosen,
        label_visibility="collapsed",
    )


def _scenario(lesson: Lesson, here: Visit) -> Scenario | None:
    return next((scenario for scenario in lesson.scenarios if scenario.id == here.scenario), None)


def _note(lesson: Lesson, here: Visit) -> None:
    scenario = _scenario(lesson, here)
    if scenario is None:
        st.caption("Sandbox: every setting is yours. The address bar always holds the link to what you see.")
        return
    if direction.open_question(lesson, here) is not None:
        return  # it would tell
    st.markdown(scenario.story)
    if direction.fails(lesson, here):
        st.warning(f"{messages.WARNING} **Why it goes wrong.** {scenario.why}")


def _story(lesson: Lesson, here: Visit) -> None:
    steps = lesson.steps()
    questions = {question.id: question for question in lesson.predict}
    asked = [step.question for step in steps if step.question]
    if steps:
        step = steps[here.step]
        with st.container(key="told"):
            with st.container(key="steps", horizontal=True, vertical_alignment="center", gap="small"):
                st.markdown(f":gray[{story.place(steps, here.step)}]", width="stretch")
                _step_button("◀ Back", -1, lesson, here, steps)
                _step_button("Next ▶", +1, lesson, here, steps)
            if opens := story.opens(steps, here.step):
                st.markdown(f":gray[{opens}]")
            if step.title:
                st.header(step.title, anchor=False)
            st.markdown(glossary.linked(step.text, lesson.slug))
        _tries(lesson, here, step)
        if step.question in questions:
            predict.ask(questions[step.question], here, lesson.slug, direction.specs(lesson, here), direction.another(lesson, here))
        if step.staging.takeaway and (step.question not in questions or here.answered(step.question)):
            with st.container(key="takeaway"):
                st.markdown(step.staging.takeaway)
        if here.present:
            _notes(step, steps[here.step + 1 :], questions)
    if not steps or here.step == len(steps) - 1:
        for question in lesson.predict:
            if question.id not in asked:
                predict.ask(question, here, lesson.slug, lesson.specs())


def _sets(lesson: Lesson, here: Visit) -> bool:
    """Whether the words of the step name something to set, which then comes next."""
    step = direction.present(lesson, here)
    return step is not None and bool(set(step.italics) - {lesson.live_label})


def _notes(step: story.Step, following: Sequence[story.Step], questions: Mapping[str, Question]) -> None:
    """For the presenter's second window alone: what to keep of this step, and the next one."""
    with st.container(key="notes"):
        if step.staging.takeaway:
            st.markdown(f"To keep: {step.staging.takeaway}")
        for after in following[:1]:
            st.markdown(f"**Next: {after.title}**\n\n{after.text}")
            if after.question is not None and after.question in questions:
                st.markdown(f"It asks: {questions[after.question].ask}")


def _farewell(lesson: Lesson, here: Visit) -> None:
    """At the last step: what to keep of the lesson, and where to go on."""
    steps = lesson.steps()
    if steps and here.step < len(steps) - 1:
        return
    kept, following = story.essence(tuple(steps)), st.session_state.get(LEADS_TO, ())
    with st.container(key="farewell", gap="small"):
        if kept:
            st.markdown("**To keep**\n\n" + "\n".join(f"- {glossary.linked(line, lesson.slug)}" for line in kept))
        if following:
            st.markdown("**Go on with**")
        for path, title, promise in following:
            st.page_link(path, label=f"**{title}**: {promise}")


def _tries(lesson: Lesson, here: Visit, step: story.Step) -> None:
    """What the reader may try at once, and the way back from what was tried or set."""
    base = direction.staged(lesson, step, here)
    if base is None:
        return
    tries = step.staging.tries if direction.open_question(lesson, here) is None else ()
    buttons = [(one.words, base.replace(**one.set)) for one in tries]
    if direction.left(lesson, here):
        buttons.append((f"Back to step {story.number(lesson.steps(), here.step)}", base))
    if not buttons:
        return
    with st.container(key="tries", horizontal=True, gap="small"):
        for number, (label, spec) in enumerate(buttons):
            st.button(
                label,
                key=f"{lesson.slug}/try{number}",
                on_click=here.moved,
                args=(partial(here.load, spec, step.scenario),),
                disabled=here.shows(spec),
            )


def _arrive(lesson: Lesson, here: Visit) -> None:
    """An address that names nothing opens its step as the story shows it."""
    steps, bare = lesson.steps(), here.bare
    here.bare = False
    if not (bare and steps):
        return
    step, problems, frame = steps[min(here.step, len(steps) - 1)], here.problems, here.frame
    wanted = direction.staged(lesson, step, here)
    if wanted is not None and not (here.shows(wanted) and here.scenario == step.scenario):
        here.load(wanted, step.scenario)
        here.problems, here.frame = problems, frame


def _follow_scenario(here: Visit, steps: Sequence[story.Step]) -> None:
    """A scenario chosen by its chip or a link opens the story where it is told; then the reader leafs freely."""
    if not steps:
        return
    here.step = min(here.step, len(steps) - 1)
    told = next((i for i, step in enumerate(steps) if step.scenario is not None and step.scenario == here.scenario), None)
    if told is not None and here.scenario != here.told and steps[here.step].scenario != here.scenario:
        here.step = told
    here.told, here.told_at = here.scenario, told or 0


def _step_button(words: str, move: int, lesson: Lesson, here: Visit, steps: Sequence[story.Step]) -> None:
    def step() -> None:
        here.step, here.touched = max(0, min(here.step + move, len(steps) - 1)), True
        staged = direction.staged(lesson, steps[here.step], here)
        if staged is not None:
            here.load(staged, steps[here.step].scenario)

    end = here.step == (0 if move < 0 else len(steps) - 1)
    kind: Any = "primary" if move > 0 and not end else "secondary"
    st.button(words, key=f"{lesson.slug}/step{move:+d}", on_click=here.moved, args=(step,), disabled=end, type=kind)


def _settings(lesson: Lesson, here: Visit) -> None:
    twins = lesson.twins(here.spec)
    names = ["Settings"] + ["Formula"] * lesson.has_formula + ["Code"] * bool(twins or lesson.code)
    # a tab's content is made when it is opened: formulas and code cost the browser time on every change of a setting
    tabs = dict(zip(names, st.tabs(names, key=f"{lesson.slug}/tabs", on_change=here.looked), strict=True))
    with tabs["Settings"], messages.guard("the settings"):
        panel = Controls(here, lesson.slug, lesson.words, lesson.previews)
        lesson.controls(panel)
        panel.seed()
    if lesson.has_formula and tabs["Formula"].open:
        with tabs["Formula"]:
            st.markdown(lesson.formula())
            works = lesson.works()
            if works:
                with st.expander("Works named on this page and in its code"):
                    st.markdown("\n".join(f"- {work.line}" for work in works))
    if "Code" in tabs and tabs["Code"].open:
        running = [] if direction.held(lesson, here) else lesson.in_force(here.spec)
        with tabs["Code"]:
            code.show(twins, lesson.code, running, f"{lesson.slug}/code", lesson.words.get("elsewhere"))


def _present(here: Visit) -> None:
    def turn() -> None:
        here.present, here.touched = not here.present, True

    st.button(
        "Leave" if here.present else "Present",
        key="present",
        on_click=here.moved,
        args=(turn,),
        help="Projector view (p): large letters, stage and words. Clickers work: PageDown, PageUp, Space plays, b blanks, Esc leaves",
        type="tertiary",
    )
    if here.present:
        st.markdown("[Notes](#notes)", help="A second window for you: words, notes, the next step, the time")


def _share(lesson: Lesson, here: Visit) -> None:
    words = "A link to exactly this picture"
    fold = st.popover("Share", key="share", on_change=here.looked, type="tertiary", help=words)
    if not fold.open:
        return
    with fold:
        link_here = st.container()
        names = list(lesson.spec.declarations())
        hidden = [name for name in here.hide if name in names]
        key = f"{lesson.slug}/hide"
        asked = "Hide these controls from those who open the link"
        hide = st.multiselect(asked, names, default=hidden, key=key, on_change=here.looked)
        with link_here:
            link(share.address(st.context.url or f"/{lesson.slug}", here.query(hide)), lesson.title, key=f"{lesson.slug}/link")
