"""Predict → lock → run → explain: the reader commits to an answer before the run gives it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from app.kit import glossary, jobs, messages
from app.kit.visit import Answer, Visit, fill, session
from app.kit.words import Question
from engine import turns
from engine.spec import Spec

ENDED = (jobs.DONE, jobs.FAILED)  # one that was stopped or turned away is tried again
LETTERS = "ABCD"  # of options that are places on the stage, there and here
PATIENCE = 0.5  # s that the lock waits for the answer; then the page goes on, and says that it is being worked out


def ask(question: Question, visit: Visit, slug: str, specs: dict[str, Spec], another: Callable[[], None] | None = None) -> None:
    """Draw the question; after the lock the verdict and the explanation. `another` begins another round of it."""
    with st.container(border=True, key=f"{slug}/predict/{question.id}"):
        st.markdown(f"**Predict.** {question.ask}")
        answer = visit.answers.get(question.id)
        if answer is None:
            _choose(question, visit, slug, specs)
        elif answer.right is None:
            st.markdown(f"You said: {_said(question, answer.choice)}. The run is being worked out …")
            st.fragment(_watch, run_every=jobs.LOOK)(question, visit, slug, specs)
        else:
            with st.container(key=f"revealing-{question.id}"):
                st.caption("The stage plays what comes of it.")
            with st.container(key=f"explained-{question.id}"):
                _explain(question, answer, visit, slug, another)


def _said(question: Question, choice: int | tuple[float, ...]) -> str:
    return question.options[choice] if isinstance(choice, int) else question.draw.said(choice) if question.draw else ""


def _choose(question: Question, visit: Visit, slug: str, specs: dict[str, Spec]) -> None:
    answering = _answering(question, visit, slug, specs)
    (_list if question.draw is None else _say_what_is_drawn)(question, visit, slug)
    st.button(
        "Lock my prediction and run",
        key=f"{slug}/predict/{question.id}/lock",
        type="primary",
        disabled=question.id not in visit.guesses,
        on_click=visit.moved,
        args=(lambda: _lock(question, visit, specs, answering),),
    )


def _list(question: Question, visit: Visit, slug: str) -> None:
    """The options, to choose from."""
    key = fill(f"{slug}/predict/{question.id}/choice", visit.guesses.get(question.id))

    def chosen() -> None:
        option = st.session_state[key]
        visit.moved(lambda: choose(question, visit, option), key)

    st.radio(
        "Your prediction",
        range(len(question.options)),
        index=None,
        format_func=lambda i: (f"**{LETTERS[i]}** " if question.where else "") + question.options[i],
        key=key,
        on_change=chosen,
        label_visibility="collapsed",
    )


def _say_what_is_drawn(question: Question, visit: Visit, slug: str) -> None:
    """What the reader has drawn on the stage, in words."""
    drawn = visit.guesses.get(question.id)
    assert question.draw is not None
    if visit.scenario is None:
        st.caption("It is drawn in the picture of this step: go back to it first.")
    elif isinstance(drawn, tuple):
        st.markdown(f"You drew {question.draw.said(drawn)}.")
    else:
        st.caption("Draw it in the picture: drag, or press Tab to reach the handles and move them with the arrow keys.")


def choose(question: Question, visit: Visit, option: object) -> None:
    """Choose an option, if there is such a one."""
    if isinstance(option, int) and 0 <= option < len(question.options):
        visit.guesses[question.id] = option


def draw(question: Question, visit: Visit, values: object) -> None:
    """Take over what was drawn on the stage, if it can be."""
    row = None if question.draw is None else question.draw.read(values)
    if row is not None:
        visit.guesses[question.id] = row


def _answering(question: Question, visit: Visit, slug: str, specs: dict[str, Spec]) -> jobs.Job:
    """The job that works the answer out while the reader thinks, and sooner than the rest of the run once it is locked."""
    rank = turns.GIVEN if question.id in visit.answers else turns.AFTER
    return _work_out(question, _asked_about(question, visit, specs), slug, rank)


def _work_out(question: Question, spec: Spec, slug: str, rank: int) -> jobs.Job:
    key = (slug, "answer", question.id, spec)
    return jobs.pool().submit((session(), f"answer {question.id}"), key, _answered, question, spec, rank=rank, local=True)


def _asked_about(question: Question, visit: Visit, specs: dict[str, Spec]) -> Spec:
    """The settings whose run answers: the run on stage, with its seed, where the question is about that."""
    wanted = visit.spec if question.scenario is None else specs[question.scenario]
    return visit.spec if visit.shows(wanted) else wanted


def _answered(question: Question, spec: Spec, ticket: jobs.Job | None = None) -> tuple[int | tuple[float, ...], str]:
    """The right option or drawing, told at once, and what explains it, which may take longer."""
    found = question.answer(spec) if callable(question.answer) else question.answer
    right = tuple(map(float, found)) if isinstance(found, Sequence) else int(found)
    if ticket is not None:
        ticket.publish(right)
    return right, question.explain(spec) if callable(question.explain) else question.explain


def _right(answering: jobs.Job) -> int | tuple[float, ...] | None:
    """The right option or drawing; None if it is not known yet, -1 if it cannot be."""
    right: int | tuple[float, ...] | None = answering.result[0] if answering.state == jobs.DONE else answering.latest
    return -1 if right is None and answering.state == jobs.FAILED else right


def _lock(question: Question, visit: Visit, specs: dict[str, Spec], answering: jobs.Job) -> None:
    """Keep the guess, and show what comes of it if that is known by now."""
    if question.id not in visit.guesses:
        return
    visit.answers[question.id] = Answer(visit.guesses[question.id])
    visit.touched = True
    answering.hurry(turns.GIVEN)
    answering.wait_for_a_look(PATIENCE)
    _settle(question, visit, specs, answering)


def _watch(question: Question, visit: Visit, slug: str, specs: dict[str, Spec]) -> None:
    """Look whether the answer to a locked prediction is there, and say how far it is."""
    answering = _answering(question, visit, slug, specs)
    if _right(answering) is not None:
        visit.given(lambda: _settle(question, visit, specs, answering))
        st.rerun()
    if answering.total:
        st.progress(answering.fraction() or 0.0, text=messages.progress(answering))


def _settle(question: Question, visit: Visit, specs: dict[str, Spec], answering: jobs.Job) -> None:
    """Show what comes of a locked prediction, once `answering` knows."""
    answer, right = visit.answers.get(question.id), _right(answering)
    if answer is None or answer.right is not None or right is None:
        return
    answer.right, answer.asked, answer.answering = right, _asked_about(question, visit, specs), answering
    if question.scenario is not None:
        visit.load(answer.asked, question.scenario)
        visit.told = question.scenario  # the story stays here, with the explanation, also if another step tells of it
    if question.reveal is not None:
        visit.load(question.reveal(visit.spec), visit.scenario)


def _why(question: Question, answer: Answer, slug: str) -> None:
    """What explains the answer, once it is known. It is asked for again where its reader had gone to another step."""
    if answer.answering.state not in ENDED:
        answer.answering = _work_out(question, answer.asked, slug, turns.GIVEN)
    if answer.answering.state == jobs.DONE:
        st.markdown(glossary.linked(answer.answering.result[1], slug))
    elif answer.answering.state == jobs.FAILED:  # a lesson's mistake: the page goes on, the log of the job has it
        st.markdown("The run could not be evaluated for these settings.")
    else:
        st.caption("What explains it is being worked out …")


def _await_why(question: Question, answer: Answer, slug: str) -> None:
    _why(question, answer, slug)
    if answer.answering.state in ENDED:
        st.rerun()


def _explain(question: Question, answer: Answer, visit: Visit, slug: str, another: Callable[[], None] | None) -> None:
    if verdict := _verdict(question, answer):
        st.markdown(verdict)
    if answer.answering.state in ENDED:
        _why(question, answer, slug)
    else:
        st.fragment(_await_why, run_every=jobs.LOOK)(question, answer, slug)
    with st.container(key=f"again-{question.id}", horizontal=True, gap="small"):
        if another is not None:
            st.button("Guess again on another run", key=f"{slug}/predict/{question.id}/another", on_click=visit.moved, args=(another,))
        st.button(
            "Ask me again",
            key=f"{slug}/predict/{question.id}/again",
            on_click=visit.moved,
            args=(lambda: forget(question, visit),),
            type="tertiary",
        )


def forget(question: Question, visit: Visit) -> None:
    """Ask as if nothing had been said."""
    visit.answers.pop(question.id, None)
    visit.guesses.pop(question.id, None)


def _verdict(question: Question, answer: Answer) -> str:
    """Whether it was right, or how far off what was drawn is; nothing where the run could not be evaluated."""
    choice, right = answer.choice, answer.right
    if question.draw is not None and isinstance(choice, tuple) and isinstance(right, tuple):
        sign, word = ("✓", "Close") if question.draw.close(choice, right) else ("✗", "Not this time")
        return f"**{sign} {word}.** {question.draw.judged(choice, right)}"
    if isinstance(choice, int) and isinstance(right, int) and 0 <= right < len(question.options):
        sign, word = ("✓", "You were right") if right == choice else ("✗", "Not this time")
        return f"**{sign} {word}.** You said: {question.options[choice]}. The run says: **{question.options[right]}**."
    return ""
