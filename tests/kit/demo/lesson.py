"""A small lesson that exercises every part of the frame: a random walk on the line. No kernel, no compile."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from app.kit import charts, theme
from app.kit import pad as drawing_pad
from app.kit.frame import Check, Lesson
from app.kit.player.scene import Axis, Scene
from app.kit.words import Words, say
from engine.spec import Spec, SpecError, choice, integer, number, points, seed_field, text

WORDS = Words(__file__)


@dataclass(frozen=True, kw_only=True)
class WalkSpec(Spec):
    """A Gaussian random walk."""

    step_size: float = number(1.0, 0.01, 10.0, "standard deviation of one step", log=True)
    drift: float = number(0.0, -1.0, 1.0, "mean of one step", unit="per step", step=0.05)
    steps: int = integer(400, 10, 2000, "length of the walk")
    kind: str = choice("plain", ("plain", "reflected"), "what happens at ±10")
    broken: str = choice("off", ("off", "on"), "count the drift twice")
    formula: str = text("x", 40, "what is plotted: x or x*x")
    marks: tuple = points(20, "points to draw")
    seed: int = seed_field()

    def check(self) -> None:
        if self.formula not in ("x", "x*x"):
            raise SpecError("formula", f"“{self.formula}” is neither x nor x*x")
        if self.kind == "reflected" and self.step_size > 5:
            raise SpecError("step_size", "a reflected walk takes steps of at most 5")


def walk(spec: WalkSpec) -> np.ndarray:
    """The positions after each step."""
    noise = np.random.default_rng(spec.seed).normal(spec.drift * (2 if spec.broken == "on" else 1), spec.step_size, spec.steps)
    x = np.cumsum(noise)
    x = np.abs((x - 10) % 40 - 20) - 10 if spec.kind == "reflected" else x
    return x * x if spec.formula == "x*x" else x


def scene(spec: WalkSpec, window: int | None, so_far: int | None = None) -> bytes:
    """The walk against time; its first steps, while it grows."""
    x = walk(spec)[:so_far]
    total = None if so_far is None else spec.steps
    picture = Scene(run=repr(spec), steps=len(x), total=total, label="A random walk against time.", theme=theme.palette(), rate=40.0)
    panel = picture.panel(
        "walk", title="Position", x=Axis("step", 0, spec.steps), y=Axis("x", float(x.min()) - 1, float(x.max()) + 1), height=380
    )
    panel.line(np.arange(len(x), dtype=float), x, show="upto", role="posterior", label="walk")
    picture.readout("now", "x = {x:.2f}", x=x)
    picture.say("Step {t} of {steps}.")
    picture.table({"x": x})
    return picture.encode()


def checks(spec: WalkSpec, cancel) -> list[Check]:
    """The mean step against the drift."""
    steps = np.diff(np.concatenate([[0.0], walk(spec)]))
    error = abs(steps.mean() - spec.drift) / (spec.step_size / np.sqrt(spec.steps))
    if spec.kind == "reflected" or spec.formula != "x":
        return [Check("mean step", "unknown", float("nan"), 4.0, "the mean of a transformed walk has no simple exact value", "MCSE")]
    verdict = "pass" if error < 4 else "fail"
    return [Check("mean step", verdict, float(error), 4.0, "the mean step was compared with the drift", "MCSE")]


def audit(spec: WalkSpec, cancel) -> list[Check]:
    """The walk's end against the sum of its steps, drawn again."""
    noise = np.random.default_rng(spec.seed).normal(spec.drift, spec.step_size, spec.steps)
    plain = spec.kind == "plain" and spec.formula == "x"
    off = abs(float(walk(spec)[-1] - noise.sum())) if plain else 0.0
    words = "the steps were added up again"
    return [Check("sum of steps", "pass" if off < 1e-9 else "fail", off, 1e-9, words, "", kind="kernel")]


def faults(spec: WalkSpec) -> dict[str, WalkSpec]:
    """The drift counted twice."""
    return {"drift twice": spec.replace(drift=spec.drift or 0.5, broken="on")}


def panels(spec: WalkSpec, cancel) -> list:
    """Two still figures."""
    x = walk(spec)
    return [
        charts.trace(
            "Trace",
            np.stack([x, -x]),
            alt="The walk and its mirror image.",
            y="x",
            truth=0.0,
            caption=r"Two chains: $\text{steps to the right less steps to the left, and the same negated}$.",
        ),
        charts.bars(
            "Sides",
            ["left", "right"],
            [np.mean(x < 0), np.mean(x >= 0)],
            alt="Share of time on each side.",
            x="side",
            y="share",
            truth=[0.5, 0.5],
        ),
    ]


def diagnostics(spec: WalkSpec, cancel) -> charts.Table:
    """A row of numbers, wider than a phone."""
    return charts.Table(
        "Diagnostics", {"quantity": ["steps_right_less_steps_left"], "R-hat": [1.0012], "ESS": [spec.steps // 3], "seconds": [0.0012]}
    )


def live(spec: WalkSpec):
    """The same walk, slowly."""

    def body(job) -> bytes:
        for done in range(0, spec.steps, 20):
            if job.cancelled:
                break
            time.sleep(0.08)
            job.report(done + 20, spec.steps)
            if done % 200 == 0:
                job.publish(scene(spec, None))
        return scene(spec, None)

    return body


def controls(panel) -> None:
    """One widget of every kind."""
    panel.slider("step_size")
    panel.slider("drift")
    panel.slider("steps")
    panel.segmented("kind")
    panel.text("formula")
    with panel.more():
        panel.remark("clear", times="twice")
        panel.toggle("broken")
        panel.button("clear", {"marks": ()})


def strokes(spec: WalkSpec) -> tuple | None:
    """A pad is there if the address brings marks."""
    return spec.marks or None


def on_event(spec: WalkSpec, event: dict) -> WalkSpec | None:
    """What is drawn on the pad."""
    return spec.replace(marks=drawing_pad.strokes(event)) if event.get("kind") == "drawing" else None


DEMO = Lesson(
    slug="demo",
    words=WORDS,
    spec=WalkSpec,
    scenarios=WORDS.scenarios({"short": WalkSpec(), "long": WalkSpec(step_size=4.0), "broken": WalkSpec(drift=0.5, broken="on")}),
    controls=controls,
    scene=scene,
    audit=audit,
    checks=checks,
    faults=faults,
    panels=panels,
    diagnostics=diagnostics,
    predict=[
        WORDS.question("far", 1, scenario="long"),
        WORDS.question("last", lambda spec: int(walk(spec)[-1] > 0), lambda spec: say(end=walk(spec)[-1])),
    ],
    code=[walk],
    runs="numpy's normal generator",
    live=live,
    live_label="Run slowly",
    pad=strokes,
    on_event=on_event,
)
