"""A run as a scene, one transition a step: the tries on the map with the ghost of the way back, the ledger of each
try's ratio, the histogram against the truth, and how transitions end.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.kit import pictures, theme
from app.kit.player.scene import Panel, Phase, Scene
from app.kit.preview import of_target
from engine.samplers.delayed_rejection import FIRST_REJECTED, TARGET
from engine.targets.target import Target
from lessons.delayed_rejection import analysis
from lessons.delayed_rejection.analysis import Walk
from lessons.delayed_rejection.spec import DelayedRejectionLesson

Array = NDArray[np.float64]

SUBSCRIPT = ("₁", "₂", "₃")
ORDINAL = ("first", "second", "third")
ROLES = ("proposal", "highlight", "energy")  # of the tries
TRY_SHAPES = ("diamond", "square", "triangle")
ROWS = ("π", "q₁", "q₂", "q₃", "1−α₁", "1−α₂")  # of the ledger, in the order of the engine's factors
LEDGER_LOW, LEDGER_HIGH = -8.0, 4.0
TRAIL = 40  # newest transitions whose path stays visible
SOON = 30  # transitions among which the first picture is chosen
WIDEST = 2.2  # times its own size that the map is widened for a bold proposal

LAYOUT = "plane*4 ledger*3 / plane*4 marginal-0*3 / plane*4 endings*3 / trace*7"
HEIGHTS = (160, 145, 145, 170)


def phases(stages: int) -> tuple[Phase, ...]:
    """The parts of a transition: each further try has its way back before its ratio."""
    found = [Phase("try-1", "first try"), Phase("alpha-1", "α₁"), Phase("u-1", "coin")]
    for stage in range(1, stages):
        n, name = stage + 1, SUBSCRIPT[stage]
        found += [
            Phase(f"try-{n}", f"{ORDINAL[stage]} try"),
            Phase(f"back-{n}", "way back"),
            Phase(f"alpha-{n}", f"α{name}"),
            Phase(f"u-{n}", "coin"),
        ]
    return (*found, Phase("decide", "verdict"))


PREVIEWS = of_target(("scale", "shrink", "pull"))


def scene(spec: DelayedRejectionLesson, window: int | None = None) -> bytes:
    """The picture of `spec`. The inside of all transitions travels at once, so the window does not matter."""
    return picture(analysis.simulate(spec)).encode()


def picture(walk: Walk) -> Scene:
    """The scene of a run."""
    spec, target = walk.spec, walk.target
    x, y = target.labels[:2]
    start = first_shown(walk)
    made = Scene(
        run=repr(spec),
        steps=walk.steps,
        rate=10.0,
        phases=phases(spec.stages),
        start=start,
        theme=theme.palette(),
        label=f"Delayed rejection over the density of {x} and {y}: the tries of each transition and the way back, "
        "the factors of each try's ratio, the histogram of the draws against the truth, and how transitions end.",
    ).layout(LAYOUT, HEIGHTS)
    panel = pictures.density_panel(made, target, title="The tries and the way back", view=view(target, spec.scale))
    pictures.draw_layers(panel, walk.recording.draws)
    _tries(panel, walk)
    _rulers(panel, walk)
    _ledger(made, walk)
    _marginal(made, walk)
    truth = target.truth
    mean = None if truth is None else float(truth.mean[0])
    pictures.trace_panel(made, walk.recording.draws[:, :, 0], x, truth=mean)
    _endings(made, walk)
    _arithmetic(made, walk)
    _words(made, walk)
    return made


def first_shown(walk: Walk) -> int | None:
    """The transition of the first picture: an early one in which the last try was accepted, all of it on the map."""
    soon = np.flatnonzero(on_the_map(walk)[:SOON] & (walk.ending[:SOON] == walk.spec.stages - 1))
    return int(soon[0]) if len(soon) else None


def on_the_map(walk: Walk) -> NDArray[np.bool_]:
    """(steps,) whether all tries of a transition can be seen; a try that was not made hides nothing."""
    sides, tries = np.array(view(walk.target, walk.spec.scale)), walk.inside.proposal
    return np.all(np.isnan(tries) | ((tries > sides[:, 0]) & (tries < sides[:, 1])), axis=(1, 2))


def view(target: Target, scale: float) -> pictures.View:
    """The target's view, wider where the first try is bold, so that its ghosts are seen."""
    sides = []
    for low, high in target.view:
        half = 0.5 * (high - low)
        reach = min(max(half, 1.5 * scale), WIDEST * half)
        sides.append((0.5 * (low + high) - reach, 0.5 * (low + high) + reach))
    return sides[0], sides[1]


# The map --------------------------------------------------------------------------------------------------------------


def _tries(panel: Panel, walk: Walk) -> None:
    """The newest path, the tries of this transition, and the way back from the last of them."""
    inside, before, draws = walk.inside, walk.before, walk.recording.draws[0]
    panel.path(draws, show="upto", last=TRAIL, fade=True, role="ink", width=1.0, alpha=0.6)
    for stage in range(walk.spec.stages):
        n, y = stage + 1, inside.proposal[:, stage]
        name = f"y{SUBSCRIPT[stage]}"
        accepted = (walk.ending == stage).astype(np.uint8)
        failed = f"{name} rejected" + (": a ghost" if stage == 0 and walk.spec.stages > 1 else "")
        panel.arrows(before, y, since=f"try-{n}", role=ROLES[stage], width=2.6 - 0.6 * (stage == 0))
        panel.points(
            y,
            show="at",
            during=(f"try-{n}", f"alpha-{n}"),
            role=ROLES[stage],
            shape=TRY_SHAPES[stage],
            size=6.5,
            label=f"{name}, {ORDINAL[stage]} try",
        )
        told = [failed, "accepted" if stage == 0 else None]
        panel.points(
            y, show="at", since=f"u-{n}", classes=accepted, role=["reject", "accept"], shape=["cross", "circle"], size=6.5, label=told
        )
    for stage in range(1, walk.spec.stages):
        n, y = stage + 1, inside.proposal[:, stage]
        end = "decide" if n == walk.spec.stages else f"u-{n}"
        for i, tip in enumerate([*(inside.proposal[:, j] for j in range(stage - 1, -1, -1)), before]):
            label = "the way back: the same points fail, then x" if stage == 1 and i == 0 else None
            panel.arrows(y, tip, during=(f"back-{n}", end), width=1.3, label=label)
    panel.points(before, show="at", role="ink", shape="ring", size=7, label="x, the present point")
    panel.points(draws, show="at", since="decide", role="ink", shape="circle", size=4.5, label="the draw")


def _rulers(panel: Panel, walk: Walk) -> None:
    """Rulers as long as the sd of each try, where they fit."""
    spec = walk.spec
    (x_low, x_high), (y_low, y_high) = view(walk.target, spec.scale)
    for stage in range(spec.stages):
        length = spec.scale * spec.shrink**stage
        if length < 0.6 * (x_high - x_low):
            x, y = x_low + 0.04 * (x_high - x_low), y_low + (0.04 + 0.03 * stage) * (y_high - y_low)
            label = "rulers: sd of each try" if stage == 0 else None
            panel.path([(x, y), (x + length, y)], role=ROLES[stage], width=4.0, label=label)


# Beside the map -------------------------------------------------------------------------------------------------------


def rows(stages: int) -> list[int]:
    """The engine's factors that matter with so many tries."""
    return [TARGET, *range(1, stages + 1), *range(FIRST_REJECTED, FIRST_REJECTED + stages - 1)] if stages > 1 else [0]


def _ledger(made: Scene, walk: Walk) -> None:
    """Bars of the log of each factor, their sum and log u, one bar a try."""
    spec, inside = walk.spec, walk.inside
    kept = rows(spec.stages)
    names = [ROWS[f] + (" ✗" if spec.forgets and f >= FIRST_REJECTED else "") for f in kept]
    panel = made.panel("ledger", title="The ledger: log of each factor", y=("log", LEDGER_LOW, LEDGER_HIGH))
    with np.errstate(divide="ignore"):
        log_u = np.log(inside.uniform)
    for stage in range(spec.stages):
        factors = inside.factors[:, stage][:, kept].copy()
        if stage == 0:
            factors[:, 1:] = np.nan  # the ratio of the first try is that of the densities
        bars = np.column_stack([factors, inside.log_ratio[:, stage], log_u[:, stage]])
        panel.bars(bars, labels=[*names, "sum", "log u"], since=f"alpha-{stage + 1}", role=ROLES[stage], label=f"{ORDINAL[stage]} try")


def _marginal(made: Scene, walk: Walk) -> None:
    """The running histogram of the first coordinate; for a wrong sampler also what it converges to."""
    spec = walk.spec
    label = "chain 1, draws so far" if spec.chains > 1 else "draws so far"
    panel = pictures.marginal_panel(made, walk.target, walk.recording.draws[0, :, 0], 0, bins=36, label=label)
    if spec.forgets:
        panel.line(*analysis.drawn_from(spec, 0), role="divergent", width=2.0, label="what this sampler draws from")


def _endings(made: Scene, walk: Walk) -> None:
    """The share of transitions that each try ended."""
    names = [*("1st", "2nd", "3rd")[: walk.spec.stages], "none"]
    panel = made.panel("endings", title="Try accepted", y=("share", 0, 1))
    panel.counts(walk.ending, walk.spec.stages + 1, names, role="posterior", label="transitions so far")


# Numbers and words ----------------------------------------------------------------------------------------------------


def _arithmetic(made: Scene, walk: Walk) -> None:
    """The card: for each try the proposal, the way back, the ratio and the coin."""
    spec, inside, ending = walk.spec, walk.inside, walk.ending
    made.values(
        x1=walk.before[:, 0],
        x2=walk.before[:, 1],
        old=walk.log_before,
        new=inside.proposal_log_density[:, 0],
        end=ending,
        spent=inside.stages.astype(np.int32),
    )
    for stage in range(spec.stages):
        n, name, made_it = stage + 1, SUBSCRIPT[stage], inside.stages > stage
        y = inside.proposal[:, stage]
        said = np.where(made_it, np.where(ending == stage, 1, 2), 0)
        made.values(
            **{
                f"y{n}1": y[:, 0],
                f"y{n}2": y[:, 1],
                f"made{n}": made_it,
                f"u{n}": inside.uniform[:, stage],
                f"a{n}": inside.accept_prob[:, stage],
                f"ok{n}": ending == stage,
                f"said{n}": said,
            }
        )
        sd = spec.scale * spec.shrink**stage
        there = f"{sd:.3g} z = ({{y{n}1:.2f}}, {{y{n}2:.2f}})"
        again = "reject, try again" if n < spec.stages else "reject"
        coin = f"u{name} = {{u{n}:.3f}}"
        if stage == 0:
            ratio = "α₁ = min(1, π(y₁)/π(x)) = min(1, exp({new:.2f} − ({old:.2f}))) = {a1:.3g}"
            made.line("try-1", f"first try: x = ({{x1:.2f}}, {{x2:.2f}}), y₁ = x + {there}", show="at", since="try-1")
            made.line("alpha-1", ratio, show="at", since="alpha-1")
            coin += f" {{ok1?<:≥}} α₁ = {{a1:.3g}}: {{ok1?accept y₁:{again}}}"
        else:
            centre = "x" if spec.pull == 0 else f"x + {spec.pull:g} (y{SUBSCRIPT[stage - 1]} − x)"
            further = f"{ORDINAL[stage]} try{{made{n}?:, not needed}}: y{name} = {centre} + {there}"
            made.line(f"try-{n}", further, show="at", since=f"try-{n}")
            _way_back(made, walk, stage)
            _ratio(made, walk, stage)
            words = f"no coin needed|u < α, accept y{name}|u ≥ α, {again}"
            coin += f", α{name} = {{a{n}:.3g}}: {{said{n}|{words}}}"
        made.line(f"u-{n}", coin, show="at", since=f"u-{n}")
    verdicts = [*(f"the draw is y{name}" for name in SUBSCRIPT[: spec.stages]), "the draw is x, counted again"]
    verdict = f"verdict: {{end|{'|'.join(verdicts)}}}. Evaluations of the density spent: {{spent}}"
    made.line("decide", verdict, show="at", since="decide")


def _way_back(made: Scene, walk: Walk, stage: int) -> None:
    """The chances that the same points fail on both ways."""
    n, y = stage + 1, f"y{SUBSCRIPT[stage]}"
    path = ("y₁", "y₂, y₁")[stage - 1]
    for i in range(stage):
        ahead = np.where(walk.inside.stages > stage, walk.inside.accept_prob[:, i], np.nan)
        made.values(**{f"back{n}{i}": walk.inside.back[:, stage, i], f"ahead{n}{i}": ahead})
    text = (
        f"way back from {y}: {path} must fail. 1 − α₁({y}, {path[:2]}) = 1 − {{back{n}0:.3g}}; there 1 − α₁(x, y₁) = 1 − {{ahead{n}0:.3g}}"
    )
    if stage == 2:
        text += ". Then 1 − α₂(y₃, y₂, y₁) = 1 − {back31:.3g}; there 1 − α₂(x, y₁, y₂) = 1 − {ahead31:.3g}"
    made.line(f"back-{n}", text, show="at", since=f"back-{n}")


def _ratio(made: Scene, walk: Walk, stage: int) -> None:
    """The sum of the ledger of a further try, with its numbers."""
    spec, n, name = walk.spec, stage + 1, SUBSCRIPT[stage]
    counted = [TARGET, *range(1, n + 1), *range(FIRST_REJECTED, FIRST_REJECTED + stage)]
    forgotten = counted[-stage:] if spec.forgets else []
    made.values(**{f"f{n}{f}": walk.inside.factors[:, stage, f] for f in counted})
    made.values(**{f"r{n}": walk.inside.log_ratio[:, stage]})
    terms = {f: f"{ROWS[f]} ({{f{n}{f}:.2f}})" for f in counted}
    text = f"log r{name}: " + " + ".join(term for f, term in terms.items() if f not in forgotten)
    text += f" = {{r{n}:.2f}}, α{name} = min(1, r{name}) = {{a{n}:.3g}}"
    if forgotten:
        text += "   (left out: " + ", ".join(terms[f] for f in forgotten) + ")"
    made.line(f"alpha-{n}", text, show="at", since=f"alpha-{n}")


def _words(made: Scene, walk: Walk) -> None:
    spec, inside, draws = walk.spec, walk.inside, walk.recording.draws[0]
    x, y = walk.target.labels[:2]
    words = "|".join([*(f"{name} try accepted" for name in ORDINAL[: spec.stages]), "every try rejected"])
    made.say(
        f"Transition {{t}} of {{steps}}, {{phase}}: {{end|{words}}}. {x} is {{x:.2f}}, {y} is {{y:.2f}}.",
        end=walk.ending,
        x=draws[:, 0],
        y=draws[:, 1],
    )
    columns = {
        x: draws[:, 0],
        y: draws[:, 1],
        "tries": inside.stages.astype(np.int32),
        "accepted": walk.accepted,
        "on the map": on_the_map(walk),
    }
    for stage in range(spec.stages):
        name = SUBSCRIPT[stage]
        columns |= {
            f"{x} of y{name}": inside.proposal[:, stage, 0],
            f"{y} of y{name}": inside.proposal[:, stage, 1],
            f"log r{name}": inside.log_ratio[:, stage],
            f"α{name}": inside.accept_prob[:, stage],
            f"u{name}": inside.uniform[:, stage],
        }
    made.table(columns)
