"""What follows the picture: the checks of the three signs, panels and diagnostics.

They are jobs, drawn by the full run that finds them ended. While any is under way a fragment without content looks at
them and asks for that run. A job is submitted on the second sight of its key, a quarter of a second after the picture,
so a slider on the move starts none.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import streamlit as st

from app.kit import badge, charts, jobs, messages, seams, startup, take_home, tally
from app.kit.charts import Figure, Quote, Table
from app.kit.lesson import Lesson
from app.kit.text import plain
from app.kit.verdicts import KernelProofs, Planted, plantable
from app.kit.visit import Visit, arriving, session
from engine.judge import KINDS, Check, Kind, overall
from engine.judge.check import SILENT, headline
from engine.spec import MAX_SEED, Spec

ARRIVAL = 2.0  # s before the first jobs of a session: its browser still loads the page, and charts are heavy
FOLD = "@media (max-width: 640px)"  # a screen that has room for one sign
OTHER_SEEDS = 3  # that one press of the badge's button adds
NAMES = {
    "kernel": "the check of the kernel",
    "checks": "the check",
    "planted": "the check with a mistake in it",
    "panels": "the panels",
    "diagnostics": "the diagnostics",
    "seeds": "the check on other seeds",
}


class Follow:
    """The jobs of one lesson for the present spec."""

    def __init__(self, lesson: Lesson, here: Visit):
        self.lesson, self.here = lesson, here
        proofs = KernelProofs(lesson.kernels, lesson.audit) if lesson.kernels or lesson.audit else None
        wanted = {"kernel": proofs, "checks": lesson.checks, "panels": lesson.panels, "diagnostics": lesson.diagnostics}
        self.functions: dict[str, Callable[..., Any]] = {slot: f for slot, f in wanted.items() if f is not None}
        if here.planted:
            parts = lesson.kernels, lesson.audit, lesson.checks, lesson.faults
            self.functions["planted"] = Planted(*parts, here.planted)
        if here.seeds and lesson.checks is not None:
            self.functions["seeds"] = _CheckEach(lesson.checks)
        self.arriving = arriving()
        self.first_sight = self._first_sight()
        self.ended = self._ended()

    def watch(self) -> None:
        """Look at the jobs until all have ended."""
        if self.ended != set(self.functions):
            st.fragment(self._watch, run_every=ARRIVAL if self.arriving else jobs.pool().pause())()

    def _watch(self) -> None:
        if seams.in_fragment() and (self.arriving or self.here.touched or self._ended() != self.ended):
            st.rerun()

    # jobs

    def _key(self, slot: str) -> tuple:
        spec = self.here.spec
        also = {"seeds": self.here.seeds, "planted": self.here.planted}.get(slot, ())
        return (self.lesson.slug, slot, spec, self.lesson.ready(spec), also)

    def _first_sight(self) -> set[str]:
        """The slots whose key no run of this session has asked for before."""
        seen: dict[str, tuple] = st.session_state.setdefault("seen", {})
        new = {slot for slot in self.functions if seen.get(slot) != self._key(slot)}
        seen.update({slot: self._key(slot) for slot in new})
        return new

    def _job(self, slot: str) -> jobs.Job | None:
        """The job of `slot`; None on first sight, even if its result is there already: charts hold the picture up."""
        if slot in self.first_sight and not seams.in_fragment():
            return None
        startup.load_charts()
        job = jobs.pool().submit((session(), slot), self._key(slot), self.functions[slot], self._argument(slot))
        self.here.following[slot] = job
        return job

    def _argument(self, slot: str) -> Spec | list[Spec]:
        spec = self.here.spec
        return [spec.replace(seed=seed) for seed in self.here.seeds] if slot == "seeds" else spec

    def _ended(self) -> set[str]:
        """The slots whose job has ended, one way or another."""
        found = {slot: self._job(slot) for slot in self.functions}
        return {slot for slot, job in found.items() if job is not None and not job.active}

    # the three signs

    def badge(self, held: bool = False) -> None:
        """The three signs and what each stands on; `held`: that of the kernel alone, the others tell of the whole run."""
        if not {"kernel", "checks"} & set(self.functions):
            return
        told = KINDS[:1] if held else KINDS
        found = {kind: self._found(kind) if kind in told else None for kind in KINDS}
        faces = [badge.face(kind, checks) for kind, checks in found.items() if checks is not None]
        shown = badge.worst(faces) if len(faces) == len(KINDS) else KINDS[0]
        hidden = ", ".join(f".st-key-sign-{kind}" for kind in KINDS if kind != shown)
        with st.container(key="style-signs"):
            st.markdown(f"<style>{FOLD} {{ {hidden} {{ display: none; }} }}</style>", unsafe_allow_html=True)
        with st.container(key="signs", horizontal=True, width="content", gap="small"):
            for kind in told:
                self._sign(kind, found)

    def _found(self, kind: Kind) -> list[Check] | None:
        """The finished checks of one kind; None while they are under way."""
        slot = "kernel" if kind == "kernel" else "checks"
        if slot not in self.functions:
            return []
        job = self._job(slot)
        if job is None or job.active:
            return None
        checks = [check for check in job.result if check.kind == kind] if job.state == jobs.DONE else []
        told: dict[str, tuple] = st.session_state.setdefault("verdicts told", {})
        if told.get(kind) != self._key(slot):
            told[kind] = self._key(slot)
            tally.count("verdicts", kind, overall(checks))
        return checks

    def _sign(self, kind: Kind, found: dict[Kind, list[Check] | None]) -> None:
        checks = found[kind]
        sign = badge.face(kind, checks) if checks is not None else None
        label = sign.label if sign else f":gray[{badge.NAMES[kind]} ⋯]"
        spoken = sign.spoken if sign else f"{badge.NAMES[kind].capitalize()}: being checked."
        fold = st.popover(label, key=f"sign-{kind}", type="tertiary", help=spoken, on_change=self.here.looked)
        if not fold.open:
            return
        with fold:
            st.markdown(f"**{badge.QUESTIONS[kind]}**")
            if kind == "kernel":
                with messages.guard("the kernel's name"):
                    runs = self.lesson.runs
                    st.caption(runs(self.here.spec) if callable(runs) else runs)
            self._checks(kind, checks)
            self._plant(kind)
            for other in KINDS:
                if other != kind and found[other] is not None:
                    each = badge.face(other, found[other] or [])
                    st.caption(f"{each.label} {plain(each.spoken)}")
            if kind == "numbers" and "seed" in self.lesson.spec.declarations():
                self._other_seeds()

    def _checks(self, kind: Kind, checks: Sequence[Check] | None) -> None:
        slot = "kernel" if kind == "kernel" else "checks"
        job = self._job(slot) if slot in self.functions else None
        if checks is None:
            st.markdown(messages.progress(job) if job is not None else "The check is about to start.")
        elif job is not None and job.state != jobs.DONE:
            messages.complain(NAMES[slot], job.error)
        else:
            _lines(kind, checks)

    def _plant(self, kind: Kind) -> None:
        """How would this be caught? A fault planted there and then, and the sign that it turns red."""
        with messages.guard("the faults that can be planted"):
            choices = plantable(self.lesson, self.here.spec, kind)
        if not choices:
            return
        st.markdown("**How would a mistake be caught?**")
        key = f"{self.lesson.slug}/plant-{kind}"
        name = st.selectbox("A mistake to plant", list(choices), key=key) if len(choices) > 1 else next(iter(choices))
        words = "Run the same checks with this mistake in it. The picture stays as it is."
        label = "Plant it" if len(choices) > 1 else f"Plant it: {name}"
        plant = partial(self._set_planted, choices[name])
        st.button(label, key=f"plant-it-{kind}", help=words, on_click=self.here.moved, args=(plant,))
        if self.here.planted not in choices.values() or "planted" not in self.functions:
            return
        job = self._job("planted")
        if job is None or job.active:
            st.caption("Checking with the mistake in it …")
        elif job.state == jobs.DONE:
            told = [check for check in job.result if check.kind == kind] or list(job.result)
            st.markdown(badge.face(kind, told).label)
            _lines(kind, told)
        else:
            messages.complain(NAMES["planted"], job.error)

    def _set_planted(self, fault: Any) -> None:
        self.here.planted = fault

    def _other_seeds(self) -> None:
        if "seeds" in self.functions:
            job = self._job("seeds")
            if job is None or job.active:
                st.caption("Checking other seeds …")
            elif job.state == jobs.DONE:
                for seed, checks in zip(self.here.seeds, job.result, strict=False):
                    told = [badge.face(kind, [c for c in checks if c.kind == kind]).label for kind in KINDS[1:]]
                    st.markdown(f"Seed {seed}: {' · '.join(told)}")
            else:
                messages.complain(NAMES["seeds"], job.error)
        words = f"The same checks on {OTHER_SEEDS} more seeds"
        st.button("Check other seeds", key="other-seeds", help=words, on_click=self.here.moved, args=(self._add_seeds,))

    def _add_seeds(self) -> None:
        self.here.seeds += tuple(random.randint(0, MAX_SEED) for _ in range(OTHER_SEEDS))

    # below the stage

    def below(self, held: bool = False) -> None:
        """Panels and diagnostics; `held`: not before the answer that they would give away is locked.

        While new ones are made the last stay where they are, dimmed: a chart that keeps its place and its content costs
        the browser nothing, one that moves is built anew.
        """
        with st.container(key="below"):
            if held:
                if {"panels", "diagnostics"} & set(self.functions):
                    st.caption("Figures and tables come when your prediction is locked.")
                return
            outdated = [self._panel(slot) for slot in ("panels", "diagnostics") if slot in self.functions]
            if any(outdated):
                with st.container(key="updating"):
                    st.caption("Updating for the new settings …")

    def _panel(self, slot: str) -> bool:
        """Draw the newest content of `slot`; whether it is of older settings."""
        kept: dict[tuple[str, str], Any] = st.session_state.setdefault("panels shown", {})
        name = (self.lesson.slug, slot)
        job = self._job(slot)
        waiting = job is None or job.active
        if job is not None and job.state == jobs.DONE:
            kept[name] = job.result
        elif job is not None and not waiting:
            kept.pop(name, None)
            messages.complain(NAMES[slot], job.error)
        if name in kept:
            panels(kept[name])
        elif waiting:
            st.skeleton(height=260 if slot == "panels" else 80)
        return waiting and name in kept


def _lines(kind: Kind, checks: Sequence[Check]) -> None:
    """Each check with its sentence, then the picture of the one that the sign tells of."""
    for check in checks:
        st.markdown(badge.line(check))
    if not checks:
        st.markdown(SILENT[kind])
        return
    figure = charts.of_check(headline(kind, checks))
    if figure is not None:
        with messages.guard("the picture of the check"):
            dark = st.context.theme.type == "dark"
            st.plotly_chart(figure.dark if dark else figure.figure, alt=figure.alt, config={"displayModeBar": False})
            st.caption(figure.caption)


class _CheckEach:
    """A lesson's checks on several specs; a class, since a cluster cannot pickle a closure of this module by name."""

    def __init__(self, checks: Callable[[Any, Any], Sequence[Check]]):
        self.checks = checks

    def __call__(self, specs: Sequence[Spec], ticket: Any) -> list[Sequence[Check]]:
        """The checks of each spec, as far as one gets before the stop."""
        results = []
        for spec in specs:
            if ticket.is_set():
                break
            results.append(self.checks(spec, ticket))
        return results


def panels(result: Figure | Table | Quote | Sequence[Figure | Table | Quote]) -> None:
    """Draw figures side by side, then tables and texts."""
    items = [result] if isinstance(result, (Figure, Table, Quote)) else list(result)
    figures = [item for item in items if isinstance(item, Figure)]
    dark = st.context.theme.type == "dark"
    if figures:
        grid = st.grid(columns=min(len(figures), 3), min_column_width=320)
        for figure in figures:
            with grid.cell(), messages.guard(f"“{figure.title}”"):
                st.markdown(f"**{figure.title}**")
                name = re.sub(r"\W+", "-", figure.title).strip("-").lower()
                saved = {**charts.SAVED_SIZE, **charts.SAVED_AS[take_home.saved_as()], "filename": f"posterior-lab-{name}"}
                keep = {"displaylogo": False, "modeBarButtons": [["toImage"]], "toImageButtonOptions": saved}  # the download alone
                st.plotly_chart(figure.dark if dark else figure.figure, alt=figure.alt, config=keep)
                if figure.caption:
                    st.caption(figure.caption)
    for item in items:
        if isinstance(item, Table):
            st.markdown(f"**{item.title}**\n\n{item.markdown()}")
        elif isinstance(item, Quote):
            st.markdown(f"**{item.title}**")
            st.code(item.text, language=None, wrap_lines=True)
        if not isinstance(item, Figure) and item.caption:
            st.caption(item.caption)
