"""What follows the picture: the badge's checks, panels and diagnostics.

They are jobs, drawn by the full run that finds them ended. While any is under way a fragment without content looks at
them and asks for that run. A job is submitted on the second sight of its key, a quarter of a second after the picture,
so a slider on the move starts none.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from app.kit import badge, jobs, messages, startup
from app.kit.charts import Figure, Table
from app.kit.lesson import Lesson
from app.kit.stage import POLL
from app.kit.visit import Visit, arriving, in_fragment, session
from engine.checks import Check
from engine.spec import MAX_SEED, Spec

ARRIVAL = 2.0  # s before the first jobs of a session: its browser still loads the page, and charts are heavy
OTHER_SEEDS = 3  # that one press of the badge's button adds
NAMES = {
    "checks": "the check",
    "panels": "the panels",
    "diagnostics": "the diagnostics",
    "seeds": "the check on other seeds",
}


class Follow:
    """The jobs of one lesson for the present spec."""

    def __init__(self, lesson: Lesson, here: Visit):
        self.lesson, self.here = lesson, here
        wanted = {"checks": lesson.checks, "panels": lesson.panels, "diagnostics": lesson.diagnostics}
        self.functions: dict[str, Callable[..., Any]] = {slot: f for slot, f in wanted.items() if f is not None}
        if here.seeds and lesson.checks is not None:
            self.functions["seeds"] = _CheckEach(lesson.checks)
        self.arriving = arriving()
        self.first_sight = self._first_sight()
        self.ended = self._ended()

    def watch(self) -> None:
        """Look at the jobs until all have ended."""
        if self.ended != set(self.functions):
            st.fragment(self._watch, run_every=ARRIVAL if self.arriving else POLL)()

    def _watch(self) -> None:
        if in_fragment() and (self.arriving or self.here.touched or self._ended() != self.ended):
            st.rerun()

    # jobs

    def _key(self, slot: str) -> tuple:
        spec = self.here.spec
        return (self.lesson.slug, slot, spec, self.lesson.ready(spec), self.here.seeds if slot == "seeds" else ())

    def _first_sight(self) -> set[str]:
        """The slots whose key no run of this session has asked for before."""
        seen: dict[str, tuple] = st.session_state.setdefault("seen", {})
        new = {slot for slot in self.functions if seen.get(slot) != self._key(slot)}
        seen.update({slot: self._key(slot) for slot in new})
        return new

    def _job(self, slot: str) -> jobs.Job | None:
        """The job of `slot`; None on first sight, even if its result is there already: charts hold the picture up."""
        if slot in self.first_sight and not in_fragment():
            return None
        startup.load_charts()
        return jobs.pool().submit((session(), slot), self._key(slot), self.functions[slot], self._argument(slot))

    def _argument(self, slot: str) -> Spec | list[Spec]:
        spec = self.here.spec
        return [spec.replace(seed=seed) for seed in self.here.seeds] if slot == "seeds" else spec

    def _ended(self) -> set[str]:
        """The slots whose job has ended, one way or another."""
        found = {slot: self._job(slot) for slot in self.functions}
        return {slot for slot, job in found.items() if job is not None and not job.active}

    # the badge

    def badge(self) -> None:
        """The badge and what it stands on."""
        if "checks" not in self.functions:
            return
        job = self._job("checks")
        label, spoken = ":gray[⋯ checking]", ""
        if job is not None and job.state == jobs.DONE:
            _, label, spoken = badge.face(job.result, self.lesson.claim)
        elif job is not None and not job.active:
            label = ":gray[? no check]"
        with st.popover(label, key="badge", type="tertiary", help=spoken or None):
            if job is None:
                st.markdown("The check of this very run is about to start.")
            elif job.active:
                st.markdown(messages.progress(job))
            elif job.state == jobs.DONE:
                self._checks(job.result)
            else:
                messages.complain(NAMES["checks"], job.error)

    def _checks(self, checks: Sequence[Check]) -> None:
        with messages.guard("the kernel's name"):
            kernel = self.lesson.kernel
            st.caption(kernel(self.here.spec) if callable(kernel) else kernel)
        for check in checks:
            st.markdown(badge.line(check))
        if "seed" in self.lesson.spec.declarations():
            self._other_seeds()

    def _other_seeds(self) -> None:
        if "seeds" in self.functions:
            job = self._job("seeds")
            if job is None or job.active:
                st.caption("Checking other seeds …")
            elif job.state == jobs.DONE:
                for seed, checks in zip(self.here.seeds, job.result, strict=False):
                    st.markdown(f"Seed {seed}: {badge.face(checks, self.lesson.claim).label}")
            else:
                messages.complain(NAMES["seeds"], job.error)
        words = f"The same checks on {OTHER_SEEDS} more seeds"
        st.button("Check other seeds", key="other-seeds", help=words, on_click=self.here.moved, args=(self._add_seeds,))

    def _add_seeds(self) -> None:
        self.here.seeds += tuple(random.randint(0, MAX_SEED) for _ in range(OTHER_SEEDS))

    # below the stage

    def below(self) -> None:
        """Panels and diagnostics. While new ones are made the last stay where they are, dimmed: a chart that keeps its
        place and its content costs the browser nothing, one that moves is built anew."""
        with st.container(key="below"):
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


def panels(result: Figure | Table | Sequence[Figure | Table]) -> None:
    """Draw figures side by side, then tables."""
    items = [result] if isinstance(result, (Figure, Table)) else list(result)
    figures = [item for item in items if isinstance(item, Figure)]
    dark = st.context.theme.type == "dark"
    if figures:
        grid = st.grid(columns=min(len(figures), 3), min_column_width=320)
        for item in figures:
            with grid.cell(), messages.guard(f"“{item.title}”"):
                st.markdown(f"**{item.title}**")
                keep = {"displaylogo": False, "modeBarButtons": [["toImage"]]}  # of Plotly's buttons only the download
                st.plotly_chart(item.dark if dark else item.figure, alt=item.alt, config=keep)
                if item.caption:
                    st.caption(item.caption)
    for item in items:
        if isinstance(item, Table):
            st.markdown(f"**{item.title}**\n\n{item.markdown()}")
            if item.caption:
                st.caption(item.caption)
