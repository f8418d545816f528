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

PARTS = {"sandwich": "NUTS around", "landing": "Jumps that land", "thesis": "The thesis"}
SANDWICHES = {"palindromic": "right", "no_kernel_densities": "densities of NUTS left out", "as_coded": "the published code"}
JUMPS = {"plain": "bare", "tempered": "tempered", "annealed": "annealed", "delayed": "second try"}


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
    panel.segmented("part", "Picture", PARTS)
    if panel.spec.part == "thesis":
        panel.segmented("setting", "Experiment")
        panel.slider("sweeps", "Sweeps of the comparison")
        if panel.spec.on_boston:
            panel.files("Your own Boston table (CSV)", own_table, types=["csv", "txt", "tsv"], most_bytes=tables.MOST_BYTES)
            if panel.spec.file:
                panel.button("Take the download instead", {"file": ""})
        else:
            panel.files("Your own OptDigits (CSV)", own_digits, types=["csv"], most_bytes=MOST_BYTES)
            if panel.spec.digits:
                panel.button("Take the bundled digits instead", {optdigits.FIELD: ""})
        return
    panel.segmented("data", "Data", {"xor": "XOR", "noisy": "noisy XOR"})
    if panel.spec.part == "sandwich":
        panel.select("sandwich", "The ratio", SANDWICHES)
    else:
        panel.segmented("jump", "Jump", JUMPS)
        if panel.spec.jump == "annealed":
            panel.slider("bridges", "Bridges T")
        panel.toggle("variant", "Break it", on="wrong")
    panel.slider("shown", "Chain on the stage: the higher, the more units it starts with")
    with panel.more("Data, network and sampler"):
        panel.slider("corner", "Points per corner")
        panel.slider("widest", "Most hidden units")
        prior_controls(panel)
        panel.slider("step_size", "Step size ε")
        panel.slider("sweeps", "Sweeps of the comparison")
        panel.slider("burn", "Sweeps left out")


def runs(spec: LandingSpec) -> str:
    """Which kernel runs."""
    if spec.part == "sandwich":
        name = "NUTS, a jump, and NUTS again, decided at once"
    else:
        name = {
            "plain": "The bare jump",
            "tempered": "A tempered jump",
            "delayed": "A jump with a second try",
            "annealed": f"An annealed jump over {spec.bridges} bridges",
        }[spec.jump]
    wrong = f" Wrong on purpose: {spec.mistake}" if spec.mistake else ""
    return f"{name}; between the jumps NUTS moves the weights.{wrong}"


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
    live_label="Run the comparison",
    ready=lambda spec: spec.is_ready,
)
show(LESSON)
