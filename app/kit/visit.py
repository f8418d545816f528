"""A visit: what one browser session holds for one lesson, and how it stays in step with the address bar.

The spec is the source of truth. Widgets are filled from it, the address is written from it. It lives under a key of
its own in the session state, so it outlasts a change of page (the state of widgets does not).
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import streamlit as st

from app.kit import jobs, seams, share, tally
from app.kit.push import Channel
from engine import turns
from engine.spec import Spec, SpecError

S = TypeVar("S", bound=Spec)  # the spec of the lesson

PATIENCE = 0.5  # s that a run waits for what takes long to try
_REFILL_SECONDS = 8.0  # a slow machine needs some of them to build its first page
_ECHO_SECONDS = 20.0  # after which a busy browser has taken over what it was sent
_REMEMBERED = 64  # values that a widget may have shown in that time
PAGE = "page"  # session key: slug of the page that runs
CAME_FROM = "came from"  # session key: slug of the page that ran before this run
WRITTEN = "written"  # session key: (slug of the page, query) of the address that was last written
LEADS_TO = "leads to"  # session key: (page, title, promise) of the lessons to go on with, kept by main.py


@dataclass
class Visit(Generic[S]):
    """The state of one lesson in one session."""

    spec: S
    scenario: str | None = None  # None: the sandbox
    step: int = 0  # of the guided story
    led: bool = False  # a link has named the step
    told: str | None = None  # scenario that the story was last brought in step with
    told_at: int = 0  # the step to which that scenario leads by itself
    bare: bool = False  # just opened by an address that names neither values nor a scenario
    frame: share.Frame | None = None  # of the link that opened it, until the reader goes on
    framed: str | None = None  # the cue that brought the player there
    present: bool = False
    hide: tuple[str, ...] = ()
    window: int | None = None  # transition whose inside the player asked for
    problems: tuple[share.Problem, ...] = ()
    refused: dict[str, Refusal] = field(default_factory=dict)  # by control
    answers: dict[str, Answer] = field(default_factory=dict)
    guesses: dict[str, int | tuple[float, ...]] = field(default_factory=dict)  # that were last made, by question
    rounds: dict[str, int] = field(default_factory=dict)  # how often a question was asked again with other settings
    seeds: tuple[int, ...] = ()  # other seeds that are checked too
    planted: Any = None  # a mistake that the checks shall be seen to find
    run: jobs.Job | None = None  # the long run of this very spec, if one was started
    following: dict[str, jobs.Job] = field(default_factory=dict)  # what follows its picture: checks and charts, by slot
    shown: bytes | None = None  # the last scene that was ready
    channel: Channel = field(default_factory=Channel)  # to the player
    draft: S | None = None  # while a stroke is being drawn: the stage alone shows it
    address: dict[str, list[str]] = field(default_factory=dict)  # the query as last seen or written
    touched: bool = False  # changed since the address was last written
    left: deque = field(default_factory=lambda: deque(maxlen=16))  # addresses that we have written over
    unheard: bool = False  # the browser has asked for this run from one of them
    moves: list = field(default_factory=list)  # what the reader did, to be carried out by the next run
    carrying: threading.RLock = field(default_factory=threading.RLock)  # held by the run that does
    trials: dict[str, Trial] = field(default_factory=dict)  # control → what was given to it, while it is tried
    drops: dict[str, int] = field(default_factory=dict)  # place for files → how often what lay there was refused
    elsewhere: Elsewhere | None = None  # where what was given to a control is to be shown

    def moved(self, act: Callable[[], object], key: str | None = None) -> None:
        """Note what the reader did: for the callbacks of widgets outside fragments. `key` is the widget's, if `fill`
        fills it.

        Until the browser has taken a filled value over, whatever it sends still carries an old one, and Streamlit
        takes that for a change. Such an echo comes with the fragment run of a timer, or beside a real move:
        `carry_out` tells them apart. A move that overtakes its own message comes with the run of a timer too, which
        then asks for a run of the page.
        """
        repeats = key is not None and _repeats(key)
        if seams.in_fragment():
            if key is None or repeats:
                return
            self.touched = True
        self.moves.append((key, repeats, act))

    def looked(self) -> None:
        """Note what changes nothing: a tab, a fold. What browsers echo beside it is known for an echo, as beside every
        move.
        """
        self.moved(lambda: None)

    def given(self, act: Callable[[], object]) -> None:
        """Note that the reader gave something that no browser echoes: files. They may arrive with the run of a timer,
        which then asks for a run of the page.
        """
        self.moves.append((None, False, act))
        self.touched = True

    def carry_out(self) -> None:
        """Do what the reader did since the last run: all of it, also where a newer run has taken the place of this one, whose
        moves it may have found. That one waits, and finds them done.
        """
        with self.carrying, seams.undisturbed():
            moves, self.moves = self.moves, []
            real = [move for move in moves if not move[1]]
            if not real and not seams.came_back():
                real = moves  # the reader chose again what had been shown before
            for key, _, act in real:
                _moved_by_reader(key)
                act()
            self._take_over()

    def try_out(self, control: str, make: Callable[[], dict[str, Any] | Elsewhere], given: Any = None) -> None:
        """Change the fields that `make` returns, or go where it says, from `control`: for what takes long to read or to
        check.

        It runs as a job; a later run takes over what comes of it. A SpecError of `make` is kept as the reason why not,
        with `given`, what the reader typed.
        """
        job = _tried("trial of " + control, make)
        self.trials[control] = Trial(job, given)
        self.refused.pop(control, None)
        job.wait(PATIENCE)
        self._take_over()

    def _take_over(self) -> None:
        """Change what the trials that have ended return, or keep why it cannot be."""
        ended = {control: trial for control, trial in self.trials.items() if not trial.job.active}
        for control, trial in ended.items():
            del self.trials[control]
            job = trial.job
            if job.state == jobs.DONE and isinstance(job.result, Elsewhere):
                self.elsewhere = job.result
            elif job.state == jobs.DONE:
                self._change(control, job.result)
            elif isinstance(job.error, SpecError):
                self._refuse(control, job.error, trial.given)
            else:
                reason = {jobs.STOPPED: "stopped", jobs.TURNED_AWAY: "the lab is busy: try again in a moment"}
                words = reason.get(job.state, "this could not be used; the server's log has the reason")
                self.refused[control] = Refusal(trial.given, words)

    def refuse(self, control: str, reason: str, given: Any = None) -> None:
        """Keep why what was given to a control is not taken, with what the reader typed."""
        self.refused[control] = Refusal(given, reason)
        tally.count("refusals", control)

    def _refuse(self, control: str, error: SpecError, given: Any) -> None:
        name = "" if error.parameter == control else f"{error.parameter}: "
        self.refuse(control, name + error.reason, given)

    def change(self, control: str, **values: Any) -> bool:
        """Change fields of the spec, from `control`; whether that was done at once.

        What does not fit is kept with its reason; the spec stays as it was. What takes long to check is tried out.
        """
        if self.spec.slow_fields & values.keys():
            spec = self.spec

            def checked() -> dict[str, Any]:
                spec.replace(**values)
                return values

            self.try_out(control, checked, values.get(control))
            return control not in self.refused and control not in self.trials
        return self._change(control, values)

    def _change(self, control: str, values: dict[str, Any]) -> bool:
        try:
            spec = self.spec.replace(**values)
        except SpecError as error:
            self._refuse(control, error, values.get(control))
            return False
        self.refused = {of: refusal for of, refusal in self.refused.items() if of != control and not refusal.has_been_read()}
        if spec != self.spec:
            self._show(spec, self.scenario if self.shows(spec) else None)
        return True

    def shows(self, spec: S) -> bool:
        """Whether `spec` is what is shown, the seed aside."""
        return spec == self.spec or _same_but_for_the_seed(spec, self.spec)

    def load(self, spec: S, scenario: str | None) -> None:
        """Show `spec`, which belongs to `scenario` (None: the sandbox): all controls may show something else, or go."""
        _expect_echoes()
        self.refused.clear()
        self._show(spec, scenario)

    def _show(self, spec: S, scenario: str | None) -> None:
        self.gives_way(spec)
        self.spec, self.scenario = spec, scenario
        self.draft = self.frame = None
        self.seeds, self.planted = (), None
        if self.run is not None:
            self.run.stop()
            self.run = None
        self.problems = ()
        self.touched = True

    def gives_way(self, spec: S) -> None:
        """What follows the picture of another spec than `spec` stops: it would slow the new one, and its own is gone. So is
        the transition whose inside was asked for; of the same run it stays, since the player may wait for it.
        """
        if spec != self.spec:
            self.window = None
            for job in self.following.values():
                job.stop()

    def answered(self, question: str) -> bool:
        """Whether the answer to this question is locked."""
        answer = self.answers.get(question)
        return answer is not None and answer.right is not None

    def query(self, hide: Sequence[str] | None = None) -> dict[str, str]:
        """The query of this page as it stands, or with other controls hidden."""
        step = None if self.step == self.told_at else self.step
        return share.write(self.spec, self.scenario, self.present, self.hide if hide is None else hide, step)

    def write_address(self) -> None:
        """Put the query into the address bar if something has changed, and again while the browser shows an older one: what
        a run says after a newer one has taken its place never gets there. A browser that has it already takes no notice.
        """
        if not (self.touched or self.unheard):
            return
        query = self.query()
        address = {name: [value] for name, value in query.items()}
        if address != self.address or self.unheard:
            write_address(query)  # may end this run before anything is sent: then the next run writes
        if address != self.address:
            self.left.append(self.address)
            self.address = address
        self.touched = self.unheard = False


def write_address(query: Mapping[str, str]) -> None:
    """Put a query into the address bar of the page that runs."""
    st.query_params.from_dict(query)
    st.session_state[WRITTEN] = st.session_state.get(PAGE), {name: [value] for name, value in query.items()}


def _written_elsewhere(slug: str) -> share.Query | None:
    """The query that another page wrote last: it may reach the browser after that of this one."""
    page, query = st.session_state.get(WRITTEN, (slug, {}))
    return None if page == slug else query


@dataclass(frozen=True)
class Elsewhere:
    """Another lesson that shows what was given: the file of its page, and what its link says of that: the fields of its spec."""

    page: Path
    fields: Mapping[str, object]


@dataclass(frozen=True)
class Trial:
    """What was given to a control, and the job that tries it."""

    job: jobs.Job
    given: Any = None


READ = 3.0  # s after which a reader has read why something is not taken


@dataclass(frozen=True)
class Refusal:
    """Why what was given to a control is not taken. It goes with the next thing that is given to the same control; with a
    change of another only when there was time to read it: of what a file lacks nothing else on the page tells.

    given : what was typed
    when : on the clock of this process
    """

    given: Any
    reason: str
    when: float = field(default_factory=time.monotonic)

    def has_been_read(self) -> bool:
        """Whether there was time for it."""
        return time.monotonic() - self.when > READ


def _tried(slot: str, make: Callable[[], Any]) -> jobs.Job:
    """The job that makes what a reader gave."""
    rank, now = turns.GIVEN, time.monotonic()
    return jobs.pool().submit((session(), slot), now, _made, make, rank=rank, keep=False, local=True)


def _made(make: Callable[[], Any], ticket: jobs.Job) -> Any:
    return make()


@dataclass
class Answer:
    """A prediction that is locked.

    choice : the option chosen, or what was drawn
    right : the right one; None while it is being worked out, -1 if it cannot be
    asked : the settings whose run answers
    answering : the job that has worked out what is right, and works out why
    """

    choice: int | tuple[float, ...]
    right: int | tuple[float, ...] | None = None
    asked: Any = None
    answering: Any = None


def fill(key: str, value: Any) -> str:
    """Make the widget `key` show `value`; call before the widget is made. Returns the key.

    Streamlit sends a value set by the program once, and a rerun that follows at once can overtake that message. So it
    is sent again by the runs of the next seconds, until the browser says that it shows it or the reader moves the widget:
    sent to a slider that a hand holds, it would take it back.
    """
    filled = _filled().get(key, Filled())
    before = st.session_state.get(key)
    if key not in st.session_state or before != value:
        st.session_state[key] = value
        _filled()[key] = filled.showing(before, value)
    elif filled.again and filled.may_be_unheard(_REFILL_SECONDS) and seams.reported(key) != value:
        st.session_state[key] = value
    return key


@dataclass(frozen=True)
class Filled:
    """What a widget was made to show.

    when : on the clock of this process
    shown : values that it has shown of late, the last one included: any of them may still be on its way
    again : whether to send the last one again
    """

    when: float = float("-inf")
    shown: tuple[Any, ...] = ()
    again: bool = False

    def may_be_unheard(self, seconds: float) -> bool:
        """Whether its browser may not know of it: for so many seconds, and when it comes back from a lost connection."""
        return time.monotonic() - self.when < seconds or seams.came_back()

    def showing(self, *values: Any, again: bool = True) -> Filled:
        """The same with further values, shown now."""
        before = self.shown if self.may_be_unheard(_ECHO_SECONDS) else ()
        return Filled(time.monotonic(), (*before, *values)[-_REMEMBERED:], again)


def _repeats(key: str) -> bool:
    """Whether the widget `key` says what it showed of late: several fillings may be on their way to the browser."""
    filled = _filled().get(key, Filled())
    return st.session_state[key] in filled.shown and filled.may_be_unheard(_ECHO_SECONDS)


def _moved_by_reader(key: str | None) -> None:
    """From now on the widget `key` is the reader's: sent again, its value would undo the next move. What was sent before
    may still arrive after the move, and come back as an echo.
    """
    if key in _filled():
        _filled()[key] = _filled()[key].showing(again=False)


def _expect_echoes() -> None:
    """What any widget shows now may still come back, however long it has shown it. No filling tells that of those which
    the new settings take away.
    """
    for key, filled in _filled().items():
        if key is not None and key in st.session_state:
            again = filled.again and filled.may_be_unheard(_REFILL_SECONDS)
            _filled()[key] = filled.showing(st.session_state[key], again=again)


def _filled() -> dict[str | None, Filled]:
    """What each widget was made to show."""
    return st.session_state.setdefault("filled", {})


def _same_but_for_the_seed(a: Spec, b: Spec) -> bool:
    return "seed" in b.declarations() and a.replace(seed=b.seed) == b  # type: ignore[attr-defined]


def arriving() -> bool:
    """Whether this is the first run of a lesson in this session: its browser still loads the page's parts."""
    return not st.session_state.get("seen")


def session() -> str:
    """A name for this browser session: Streamlit's, then one of its own, for tests have all the same."""
    own = st.session_state.setdefault("session", uuid.uuid4().hex)
    return f"{seams.session_id()}/{own}"


def make_room(session_id: str) -> None:
    """What can wait of this session gives way to the picture that its reader has asked for. Of nobody else: else who asks
    all the time would hold up the others' verdicts.
    """
    turns.machine.hush(f"{session_id}/")


def enter(slug: str) -> None:
    """A run of this page begins."""
    st.session_state[CAME_FROM] = st.session_state.get(PAGE)
    st.session_state[PAGE] = slug


def visit(slug: str, cls: type[Spec], scenarios: Mapping[str, Spec], controls: Sequence[str] = ()) -> Visit:
    """The visit of this session to `slug`, brought in step with the address.

    A new address (first arrival, another link, back and forward) is read and wins. An address that we have written
    over may still come back with a rerun that was under way, and the last one of the page before with any; it counts
    only when the reader went back to it. Coming from another page finds everything as it was left. A bare address gone
    back to on the page itself starts it afresh.
    """
    whole = seams.query()
    raw = share.unframed(whole)  # where the player stands is no news
    key = f"visit/{slug}"
    known: Visit | None = st.session_state.get(key)
    returned = st.session_state.get(CAME_FROM) != slug
    written = _written_elsewhere(slug)
    if known is not None:
        if returned:
            known.elsewhere = None  # another page has run since
        known.carry_out()
        if known.elsewhere is not None:  # the address may be that of the other lesson already
            return known
        if not raw and returned:
            known.address, known.touched = {}, True
            return known
        if written is not None and written not in known.left:
            known.left.append(written)
        stale = raw in known.left and not (returned or seams.went_back())
        known.unheard = stale and raw != known.address
        if known.touched or raw == known.address or stale:
            return known
    link = _read(cls, whole, scenarios, controls)
    fresh = Visit(link.spec, link.scenario, present=link.present, hide=link.hide, problems=link.problems, address=raw, frame=link.frame)
    fresh.bare = not raw.keys() & {share.SCENARIO, *cls.declarations()}
    if known is not None:
        _expect_echoes()
        known.gives_way(fresh.spec)
        fresh.answers, fresh.guesses, fresh.left = known.answers, known.guesses, known.left
        if link.step is None:
            fresh.step = known.step
        fresh.shown, fresh.channel, fresh.window = known.shown, known.channel, known.window
    if link.step is not None:
        fresh.step, fresh.told, fresh.led = link.step, link.scenario, True
    st.session_state[key] = fresh
    return fresh


def _read(cls: type[Spec], raw: share.Query, scenarios: Mapping[str, Spec], controls: Sequence[str]) -> share.Link:
    """What a link asks for: read in a job where that takes long, with a line that says how far it is."""

    def read() -> share.Link:
        return share.read(cls, raw, scenarios, controls)

    if not cls.slow_fields & raw.keys():
        return read()
    job = _tried("link", read)
    if not job.wait(PATIENCE):
        line = st.empty()
        while not job.wait(jobs.LOOK):
            job.heartbeat()
            line.progress(job.fraction() or 0.0, text="Integrating the density of this link …")
        line.empty()
    return job.result if job.state == jobs.DONE else read()
