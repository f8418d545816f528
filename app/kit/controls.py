"""Controls: widgets made from a spec's declarations.

A lesson lays them out, `panel.slider("step_size")`, and names nothing twice: range, unit and help come from the
declaration, what they are called from its words. Before each run every widget is filled from the spec, by its state and
by its default: a browser that builds its page slowly may miss the state, and then shows, and sends back, the default. A
change goes through `Visit.change`, so a value that does not fit stays in its box with the reason under it while the
picture keeps the last good spec.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Generic, TypeVar

import streamlit as st

from app.kit import jobs, messages, seams
from app.kit.stops import STEPS, log_stops, round_step, slider_step
from app.kit.text import number, plain
from app.kit.visit import Elsewhere, Refusal, Visit, fill, session
from app.kit.words import Words
from engine.spec import Declaration, Spec, SpecError

PREVIEWED = "preview-"  # before a field, key of what holds its slider, if the stage follows that: app/static/player/preview.js
_BOX_WIDTH = 118  # px: seven digits and the two step buttons

S_co = TypeVar("S_co", bound=Spec, covariant=True)  # the spec of the lesson


class Controls(Generic[S_co]):
    """The panel a lesson's `controls` function fills."""

    def __init__(self, visit: Visit[S_co], slug: str, words: Words, previewed: Collection[str] = ()):
        self._visit = visit
        self._slug = slug
        self._words = words
        self._previewed = previewed

    @property
    def spec(self) -> S_co:
        """The spec as it stands, for controls that depend on others."""
        return self._visit.spec

    def slider(self, name: str, label: str | None = None) -> None:
        """A slider with a number box beside it for exact values (numbers and whole numbers)."""
        declaration = self._declaration(name, "number", "integer")
        if self._hidden(name):
            return
        key = f"{PREVIEWED}{name}" if name in self._previewed else None  # by which the player knows it
        with st.container(key=key, horizontal=True, vertical_alignment="bottom", wrap=False, gap="small"):
            self._slide(name, label, declaration)
            self._box(name, label, declaration, width=_BOX_WIDTH, label_visibility="collapsed")
        self._refusal(name)

    def number(self, name: str, label: str | None = None) -> None:
        """A number box alone."""
        declaration = self._declaration(name, "number", "integer")
        if self._hidden(name):
            return
        self._box(name, label, declaration)
        self._refusal(name)

    def select(self, name: str, label: str | None = None, names: dict[str, str] | None = None) -> None:
        """A list to choose from. `names`: the options' names for people, where the words have none."""
        declaration = self._declaration(name, "choice")
        if self._hidden(name):
            return
        value = getattr(self.spec, name)
        key = self._fill(name, "select", value)
        st.selectbox(
            self._label(name, label, declaration),
            declaration.options,
            declaration.options.index(value),
            format_func=self._naming(name, names),
            help=self._help(name, declaration),
            key=key,
            on_change=self._changed,
            args=(name, key),
        )
        self._refusal(name)

    def target(self, parameters: Sequence[str], names: dict[str, str] | None = None, label: str | None = None) -> None:
        """The field `target` and what its choice leaves open: a slider a parameter, a box for a formula."""
        self.select("target", label, names)
        for name in parameters:
            if name == "formula":
                self.text("formula", placeholder="-x^2/2 - (y - x^2)^2")
                self.remark("formula")
            else:
                self.slider(name)

    def start(self) -> None:
        """The field `start`, and the two numbers of a point to start at."""
        self.segmented("start")
        if self.spec.start == "at":  # type: ignore[attr-defined]
            self.number("start_x")
            self.number("start_y")

    def segmented(
        self, name: str, label: str | None = None, names: dict[str, str] | None = None, only: Sequence[str] | None = None
    ) -> None:
        """A few options side by side; `only` those, where settings leave no others. The present one is always there."""
        declaration = self._declaration(name, "choice")
        if self._hidden(name):
            return
        value = getattr(self.spec, name)
        key = self._fill(name, "segmented", value)
        offered = [option for option in declaration.options if only is None or option in only or option == value]
        st.segmented_control(
            self._label(name, label, declaration),
            offered,
            default=value,
            format_func=self._naming(name, names),
            help=self._help(name, declaration),
            required=True,
            key=key,
            on_change=self._changed,
            args=(name, key),
        )
        self._refusal(name)

    def toggle(self, name: str, label: str | None = None, *, on: str | None = None) -> None:
        """A switch for a choice of two options; `on` is the one that the switch turns on (default: the second)."""
        declaration = self._declaration(name, "choice")
        if len(declaration.options) != 2:
            raise ValueError(f"{name} has {len(declaration.options)} options; a toggle takes 2")
        if self._hidden(name):
            return
        on = declaration.options[1] if on is None else on
        off = next(option for option in declaration.options if option != on)
        value = getattr(self.spec, name) == on
        key = self._fill(name, "toggle", value)
        st.toggle(
            self._label(name, label, declaration),
            value,
            help=self._help(name, declaration),
            key=key,
            on_change=self._changed,
            args=(name, key, lambda flag: on if flag else off),
        )
        self._refusal(name)

    def text(self, name: str, label: str | None = None, placeholder: str | None = None) -> None:
        """A line of text (a formula). A text that is tried out, or that the spec refuses, stays in its box."""
        declaration = self._declaration(name, "text")
        if self._hidden(name):
            return
        refused, trial = self._visit.refused.get(name), self._visit.trials.get(name)
        typed = trial.given if trial else refused.given if refused else None
        value = typed if isinstance(typed, str) else getattr(self.spec, name)
        key = self._fill(name, "text", value)
        st.text_input(
            self._label(name, label, declaration),
            value,
            max_chars=int(declaration.high),
            help=self._help(name, declaration),
            placeholder=placeholder,
            key=key,
            on_change=self._changed,
            args=(name, key),
        )
        self._trial(name, "Integrating the density …")
        self._refusal(name)

    def points(self, name: str, classes: Sequence[str] = (), label: str | None = None) -> None:
        """Points as lines of text, `x, y, class`: for the keyboard, and to paste a table.

        `classes` names the classes.
        """
        declaration = self._declaration(name, "points")
        if self._hidden(name):
            return
        refused = self._visit.refused.get(name)
        text = refused.given if refused and isinstance(refused.given, str) else point_lines(getattr(self.spec, name))
        key = self._fill(name, "points", text)
        named = ", ".join(f"{number} is {words}" for number, words in enumerate(classes))
        st.text_area(
            self._label(name, label, declaration),
            text,
            help=f"{self._help(name, declaration)}. One point a line: x, y, class" + (f" ({named})" if named else ""),
            key=key,
            on_change=lambda: self._pasted(name, key),
        )
        self._refusal(name)

    def files(
        self,
        label: str,
        take: Callable[[dict[str, bytes]], dict[str, Any] | Elsewhere],
        *,
        most_bytes: int,
        types: Sequence[str] | None = None,
        most_files: int = 1,
    ) -> None:
        """A place to drop files. `take` reads them, by name, as a job, and says which fields change, or which lesson
        shows them; a SpecError is shown.

        label : what stands over it, by its name in [buttons] of the words
        most_bytes : of all together; types : endings of their names, "csv"
        """
        drop = self._visit.drops.get(label, 0)
        if label in self._visit.refused and st.session_state.get(f"{self._slug}/{label}/files/{drop}"):
            drop = self._visit.drops[label] = drop + 1  # an empty place: what was refused is not to come again with what is given next
        key = f"{self._slug}/{label}/files/{drop}"
        several = most_files > 1

        def taken() -> None:
            found = st.session_state.get(key)
            chosen = [] if not found else list(found) if several else [found]
            if not chosen:
                return
            size = sum(file.size for file in chosen)
            twice = [name for name, times in Counter(file.name for file in chosen).items() if times > 1]
            if len(chosen) > most_files:
                reason = f"{len(chosen)} files are more than the {most_files} that belong together"
            elif size > most_bytes:
                reason = f"{size / 1e6:,.1f} MB are more than the {most_bytes / 1e6:.0f} MB allowed"
            elif twice:
                reason = f"two files are called {twice[0]}: give each a name of its own"
            else:
                given = {file.name: file.getvalue() for file in chosen}
                self._visit.try_out(label, lambda: take(given))
                return
            self._visit.refuse(label, reason)

        st.file_uploader(
            self._named("buttons", label) or label,
            list(types) if types else None,
            accept_multiple_files=several,
            key=key,
            on_change=self._visit.given,
            args=(taken,),
            max_upload_size=max(1, most_bytes // 1_000_000),
        )
        self._trial(label, "Reading …")
        self._refusal(label)

    def download(self, label: str, name: str, make: Callable[[Any], bytes], *, help: str | None = None) -> None:
        """A button `label`, by its name in the words, that gives the file `name`, which `make` makes of the spec as a job once
        it is pressed.
        """
        owner, key = (session(), label), (self._slug, label, self.spec)

        def made() -> bytes:
            job = jobs.pool().submit(owner, key, _made, make, key[2], keep=False, local=True)
            while job.active:
                job.heartbeat()
                job.wait(jobs.LOOK)
            if job.state != jobs.DONE:
                raise job.error or InterruptedError(f"{label} was stopped")
            return bytes(job.result)

        key_of, said = f"{self._slug}/{label}/download", help or self._named("help", label)
        st.download_button(self._named("buttons", label) or label, made, name, key=key_of, on_click="ignore", help=said)

    def seed(self) -> None:
        """The seed with a button for a new one. The frame adds it below a lesson's own controls."""
        if "seed" not in self.spec.declarations() or self._hidden("seed"):
            return
        declaration = self._declaration("seed", "integer")
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            self._box("seed", "Seed", declaration, step=1, width=150)
            st.button(
                "New seed", key=f"{self._slug}/seed/new", on_click=self._new_seed, help="Run the same settings with other random numbers"
            )
        self._refusal("seed")

    def button(self, label: str, changes: Callable[[S_co], Mapping[str, Any]] | Mapping[str, Any], *, help: str | None = None) -> None:
        """A button that changes fields: `changes` is a dictionary, or a function that makes one from the spec.

        label : what stands on it, by its name in [buttons] of the words
        """

        def change() -> None:
            self._visit.change(label, **(changes(self.spec) if callable(changes) else changes))

        said = help or self._named("help", label)
        st.button(
            self._named("buttons", label) or label, key=f"{self._slug}/{label}", on_click=self._visit.moved, args=(change,), help=said
        )
        self._refusal(label)

    def more(self, label: str = "more") -> Any:
        """A fold for what few need, by its name in [folds] of the words: `with panel.more("break"): …`"""
        return st.expander(self._named("folds", label) or label, key=f"{self._slug}/{label}")

    def remark(self, name: str, /, **values: Any) -> None:
        """A small remark between controls: that of [notes] in the words, with these values."""
        text = self._words.named("notes", name, **values)
        if text is None:
            raise ValueError(f"{self._slug} has no note {name!r}")
        self.note(text)

    def note(self, markdown: str) -> None:
        """A remark that was computed."""
        st.caption(markdown)

    # parts

    def _declaration(self, name: str, *kinds: str) -> Declaration:
        declarations = self.spec.declarations()
        if name not in declarations:
            raise ValueError(f"{type(self.spec).__name__} has no field {name!r}")
        if declarations[name].kind not in kinds:
            raise ValueError(f"{name} is a {declarations[name].kind}; this control takes {' or '.join(kinds)}")
        return declarations[name]

    def _named(self, table: str, name: str) -> str | None:
        return self._words.named(table, name)

    def _label(self, name: str, label: str | None, declaration: Declaration) -> str:
        text = label or self._named("controls", name) or name.replace("_", " ").capitalize()
        return f"{text} ({declaration.unit})" if declaration.unit else text

    def _help(self, name: str, declaration: Declaration) -> str:
        return self._named("help", name) or declaration.doc

    def _naming(self, name: str, names: Mapping[str, str] | None) -> Callable[[str], str]:
        called = {**self._words.options(name), **(names or {})}
        return lambda option: called.get(option, option.replace("_", " "))

    def _trial(self, name: str, words: str) -> None:
        """How far the trial of what was given to a control is."""
        if name in self._visit.trials:
            with st.container():
                st.fragment(self._watch, run_every=jobs.LOOK)(name, words)

    def _watch(self, name: str, words: str) -> None:
        trial = self._visit.trials.get(name)
        if trial is None or not trial.job.active:
            if seams.in_fragment():  # the run of the page takes over what came of it
                self._visit.touched = True
                st.rerun()
            return
        trial.job.heartbeat()
        with st.container(horizontal=True, vertical_alignment="center"):
            st.progress(trial.job.fraction() or 0.0, text=words)
            st.button("Stop", key=f"{self._slug}/{name}/stop", on_click=trial.job.stop)

    def _hidden(self, name: str) -> bool:
        return name in self._visit.hide

    def _fill(self, name: str, part: str, value: Any) -> str:
        """Put the spec's value into the widget before it is made; returns its key."""
        return fill(f"{self._slug}/{name}/{part}", value)

    def _slide(self, name: str, label: str | None, declaration: Declaration) -> None:
        value = getattr(self.spec, name)
        key = self._fill(name, "slider", value)
        common: dict[str, Any] = {"help": self._help(name, declaration), "key": key, "on_change": self._changed, "args": (name, key)}
        text = self._label(name, label, declaration)
        if declaration.log:
            stops = log_stops(declaration.low, declaration.high, value, whole=declaration.kind == "integer")
            st.select_slider(text, stops, value, format_func=lambda stop: number(stop, 4), **common)
        else:
            kind = int if declaration.kind == "integer" else float
            low, high = kind(declaration.low), kind(declaration.high)
            step = slider_step(declaration)
            st.slider(text, low, high, kind(value), step=step, format=_format(declaration, step), **common)

    def _box(self, name: str, label: str | None, declaration: Declaration, step: float | None = None, **layout: Any) -> None:
        kind = int if declaration.kind == "integer" else float
        low, high = kind(declaration.low), kind(declaration.high)
        span = getattr(self.spec, name) * 10 if declaration.log else high - low  # a log box steps by a tenth of what it holds
        step = kind(step or declaration.step or round_step(span / STEPS, whole=kind is int))
        value = getattr(self.spec, name)
        key = self._fill(name, "box", value)
        text = self._label(name, label, declaration)
        text = f"{text}, exact value" if layout.get("label_visibility") == "collapsed" else text
        shown = "%d" if kind is int else "%.6g"
        help = None if "label_visibility" in layout else self._help(name, declaration)
        st.number_input(
            text, low, high, kind(value), step=step, format=shown, help=help, key=key, on_change=self._changed, args=(name, key), **layout
        )

    def _changed(self, name: str, key: str, meaning: Callable[[Any], Any] | None = None) -> None:
        value = st.session_state[key]
        if meaning is not None:
            value = meaning(value)
        if value is None:
            return
        if self.spec.declarations()[name].kind == "integer":
            value = int(value)
        self._visit.moved(lambda: self._visit.change(name, **{name: value}), key)

    def _pasted(self, name: str, key: str) -> None:
        text = st.session_state[key]

        def take() -> None:
            try:
                rows = read_points(name, text)
            except SpecError as error:
                self._visit.refuse(name, error.reason, text)
                return
            if not self._visit.change(name, **{name: rows}):
                self._visit.refused[name] = Refusal(text, self._visit.refused[name].reason)

        self._visit.moved(take, key)

    def _new_seed(self) -> None:
        seed = random.randint(0, 9_999)  # four digits can be read out in class
        self._visit.moved(lambda: self._visit.change("seed", seed=seed))

    def _refusal(self, name: str) -> None:
        if name in self._visit.refused:
            st.error(f"{messages.STOP} {plain(self._visit.refused[name].reason)}")


def _made(make: Callable[[Any], bytes], spec: Spec, ticket: Any) -> bytes:
    return make(spec)


def point_lines(points: Sequence[tuple[float, float, int]]) -> str:
    """Points as text, one a line."""
    return "\n".join(f"{x:g}, {y:g}, {label}" for x, y, label in points)


def read_points(name: str, text: str) -> tuple[tuple[float, float, int], ...]:
    """The points in `text`, one a line, split by commas, semicolons or blanks. Raises SpecError that names the line."""
    rows = []
    for index, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            x, y, label = re.split(r"[\s,;]+", line.strip())
            rows.append((float(x), float(y), int(label)))
        except ValueError:
            raise SpecError(name, f"line {index}, “{line.strip()[:40]}”, is not x, y, class") from None
    return tuple(rows)


def _format(declaration: Declaration, step: float) -> str:
    if declaration.kind == "integer":
        return "%d"
    return f"%.{max(0, -math.floor(math.log10(step) + 1e-9))}f"
