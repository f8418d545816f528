"""The page of the lesson: controls → spec → picture."""

from collections.abc import Callable
from typing import Any

from app.kit import files
from app.kit.frame import Controls, Lesson, show
from datasets import tables
from datasets.files import MOST_BYTES
from engine.evidence import architecture_evidence
from engine.jumps import bridges, delayed, run, sweep
from engine.readable.bridges import bridges as readable_bridges
from engine.readable.delayed_jump import delayed_jump
from engine.readable.layers import layers
from engine.readable.neurons import neurons
from engine.readable.palindrome import palindrome
from lessons.families.growing.controls import prior_controls
from lessons.landing import analysis, boston, optdigits, panels, scenes
from lessons.landing.questions import QUESTIONS
from lessons.landing.spec import SCENARIOS, WORDS, LandingSpec


def own_table(given: dict[str, bytes]) -> dict[str, str]:
    """The fields that change when a file is given. Raises SpecError where it is not the Boston table."""
    ((name, content),) = given.items()
    reference = files.hold(name, content)
    boston.own_table(reference)
    return {"file": reference}


def own_digits(given: dict[str, bytes]) -> dict[str, str]:
    """The fields that change when a file is given. Raises SpecError where it is not OptDigits."""
    ((name, content),) = given.items()
    reference = files.hold(name, content)
    optdigits.own_images(reference)
    return {optdigits.FIELD: reference}


def controls(panel: Controls[LandingSpec]) -> None:
    """The widgets of the part that is shown."""
    panel.segmented("part")
    if panel.spec.part == "thesis":
        panel.segmented("setting")
        panel.slider("sweeps")
        if panel.spec.on_boston:
            panel.files("own_table", own_table, types=["csv", "txt", "tsv"], most_bytes=tables.MOST_BYTES)
            if panel.spec.file:
                panel.button("download", {"file": ""})
        else:
            panel.files("own_digits", own_digits, types=["csv"], most_bytes=MOST_BYTES)
            if panel.spec.digits:
                panel.button("bundled", {optdigits.FIELD: ""})
        return
    panel.segmented("data")
    if panel.spec.part == "sandwich":
        panel.select("sandwich")
    else:
        panel.segmented("jump")
        if panel.spec.jump == "annealed":
            panel.slider("bridges")
        panel.toggle("variant", on="wrong")
    panel.slider("shown")
    with panel.more("network"):
        panel.slider("corner")
        panel.slider("widest")
        prior_controls(panel)
        panel.slider("step_size")
        panel.slider("sweeps")
        panel.slider("burn")


def runs(spec: LandingSpec) -> str:
    """Which kernel runs."""
    jump = WORDS.phrase(f"runs.{'sandwich' if spec.part == 'sandwich' else spec.jump}", bridges=spec.bridges)
    run = WORDS.phrase("runs.between", jump=jump)
    return f"{run} {WORDS.phrase('runs.wrong', mistake=spec.mistake)}" if spec.mistake else run


def twins(spec: LandingSpec) -> list[Callable[..., Any]]:
    """Those of the jump on the stage: over bridges or with a second try it is built on the bare one."""
    bare: Callable[..., Any] = layers if spec.on_boston else neurons
    if spec.part == "sandwich":
        return [palindrome, bare]
    crossing: dict[str, Callable[..., Any]] = {"annealed": readable_bridges, "tempered": readable_bridges, "delayed": delayed_jump}
    return [crossing[spec.jump], bare] if spec.jump in crossing else [bare]


LESSON = Lesson(
    slug="landing",
    words=WORDS,
    spec=LandingSpec,
    scenarios=SCENARIOS,
    controls=controls,
    scene=scenes.scene,
    grow=scenes.grow,
    kernels=analysis.kernels,
    audit=analysis.audit,
    checks=analysis.checks,
    panels=panels.panels,
    diagnostics=panels.diagnostics,
    predict=QUESTIONS,
    twins=twins,
    wrong=lambda spec: {spec.settings().get("variant", spec.settings()["jump"])},
    code=[bridges.bridged_sweeps, delayed.delayed_sweeps, sweep.jump_sweeps, run.ArchitectureRun._surrounded_jumps, architecture_evidence],
    runs=runs,
    live=scenes.live,
    live_label=WORDS.phrase("buttons.run"),
    ready=lambda spec: spec.is_ready,
)
show(LESSON)
