"""A run as a scene, one transition a step: the tries on the map with the ghost of the way back, the ledger of each
try's ratio, the histogram against the truth, and how transitions end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import pictures, theme
from app.kit.player.scene import Panel, Phase, Scene
from app.kit.preview import of_target
from engine.samplers.delayed_rejection import FIRST_REJECTED, TARGET
from engine.targets.target import Target
from lessons.delayed_rejection import analysis
from lessons.delayed_rejection.analysis import Walk
from lessons.delayed_rejection.spec import ORDINAL, WORDS, DelayedRejectionLesson

Array = NDArray[np.float64]

SUBSCRIPT = ("₁", "₂", "₃")
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
    found = [Phase("try-1", WORDS.phrase("stage.first_try")), Phase("alpha-1", "α₁"), Phase("u-1", WORDS.phrase("stage.toss"))]
    for stage in range(1, stages):
        n, name = stage + 1, SUBSCRIPT[stage]
        found += [
            Phase(f"try-{n}", WORDS.phrase("stage.try", ordinal=ORDINAL[stage])),
            Phase(f"back-{n}", WORDS.phrase("stage.way_back")),
            Phase(f"alpha-{n}", f"α{name}"),
            Phase(f"u-{n}", WORDS.phrase("stage.toss")),
        ]
    return (*found, Phase("decide", "verdict"))


PREVIEWS = of_target(("scale", "shrink", "pull"))


def scene(spec: DelayedRejectionLesson, window: int | None = None) -> bytes:
    """The picture of `spec`. The inside of all transitions travels at once, so the window does not matter."""
    return picture(analysis.simulate(spec)).encode()


def grow(spec: DelayedRejectionLesson, job: Any) -> bytes | None:
    """The same; of a wrong sampler first without what it converges to, which takes a long run."""
    if spec.forgets and analysis.drawn_from.peek(spec, 0) is None:
        job.publish(picture(analysis.simulate(spec), whole=False).encode())
    return None if job.is_set() else scene(spec)


def picture(walk: Walk, *, whole: bool = True) -> Scene:
    """The scene of a run; `whole`: with what a wrong sampler converges to."""
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
        label=WORDS.phrase("stage.picture", x=x, y=y),
    ).layout(LAYOUT, HEIGHTS)
    panel = pictures.density_panel(made, target, title=WORDS.phrase("stage.plane"), view=view(target, spec.scale))
    pictures.draw_layers(panel, walk.recording.draws)
    _tries(panel, walk)
    _rulers(panel, walk)
    _ledger(made, walk)
    _marginal(made, walk, converged=whole and spec.forgets)
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
        failed = WORDS.phrase("stage.ghost" if stage == 0 and walk.spec.stages > 1 else "stage.refused", name=name)
        panel.arrows(before, y, since=f"try-{n}", role=ROLES[stage], width=2.6 - 0.6 * (stage == 0))
        panel.points(
            y,
            show="at",
            during=(f"try-{n}", f"alpha-{n}"),
            role=ROLES[stage],
            shape=TRY_SHAPES[stage],
            size=6.5,
            label=WORDS.phrase("stage.scale_of_try", name=name, ordinal=ORDINAL[stage]),
        )
        told = [failed, WORDS.phrase("stage.taken") if stage == 0 else None]
        panel.points(
            y, show="at", since=f"u-{n}", classes=accepted, role=["reject", "accept"], shape=["cross", "circle"], size=6.5, label=told
        )
    for stage in range(1, walk.spec.stages):
        n, y = stage + 1, inside.proposal[:, stage]
        end = "decide" if n == walk.spec.stages else f"u-{n}"
        for i, tip in enumerate([*(inside.proposal[:, j] for j in range(stage - 1, -1, -1)), before]):
            label = WORDS.phrase("stage.same_points") if stage == 1 and i == 0 else None
            panel.arrows(y, tip, during=(f"back-{n}", end), width=1.3, label=label)
    panel.points(before, show="at", role="ink", shape="ring", size=7, label=WORDS.phrase("stage.present"))
    panel.points(draws, show="at", since="decide", role="ink", shape="circle", size=4.5, label=WORDS.phrase("stage.draw"))


def _rulers(panel: Panel, walk: Walk) -> None:
    """Rulers as long as the sd of each try, where they fit."""
    spec = walk.spec
    (x_low, x_high), (y_low, y_high) = view(walk.target, spec.scale)
    for stage in range(spec.stages):
        length = spec.scale * spec.shrink**stage
        if length < 0.6 * (x_high - x_low):
            x, y = x_low + 0.04 * (x_high - x_low), y_low + (0.04 + 0.03 * stage) * (y_high - y_low)
            label = WORDS.phrase("stage.rulers") if stage == 0 else None
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
    panel = made.panel("ledger", title=WORDS.phrase("stage.ledger"), y=("log", LEDGER_LOW, LEDGER_HIGH))
    with np.errstate(divide="ignore"):
        log_u = np.log(inside.uniform)
    for stage in range(spec.stages):
        factors = inside.factors[:, stage][:, kept].copy()
        if stage == 0:
            factors[:, 1:] = np.nan  # the ratio of the first try is that of the densities
        bars = np.column_stack([factors, inside.log_ratio[:, stage], log_u[:, stage]])
        panel.bars(
            bars,
            labels=[*names, WORDS.phrase("stage.sum"), "log u"],
            since=f"alpha-{stage + 1}",
            role=ROLES[stage],
            label=WORDS.phrase("stage.try", ordinal=ORDINAL[stage]),
        )


def _marginal(made: Scene, walk: Walk, *, converged: bool) -> None:
    """The running histogram of the first coordinate; `converged`: also what it converges to."""
    spec = walk.spec
    label = WORDS.phrase("stage.draws_of_chain_1") if spec.chains > 1 else WORDS.phrase("stage.draws_so_far")
    panel = pictures.marginal_panel(made, walk.target, walk.recording.draws[0, :, 0], 0, bins=36, label=label)
    if converged:
        panel.line(*analysis.drawn_from(spec, 0), role="divergent", width=2.0, label=WORDS.phrase("stage.drawn_from"))


def _endings(made: Scene, walk: Walk) -> None:
    """The share of transitions that each try ended."""
    *tries, none = WORDS["endings"].values()
    names = [*tries[: walk.spec.stages], none]
    panel = made.panel("endings", title=WORDS.phrase("stage.tries"), y=(WORDS.phrase("stage.share"), 0, 1))
    panel.counts(walk.ending, walk.spec.stages + 1, names, role="posterior", label=WORDS.phrase("stage.so_far"))


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
        again = WORDS.phrase("stage.again") if n < spec.stages else WORDS.phrase("stage.reject")
        coin = f"u{name} = {{u{n}:.3f}}"
        if stage == 0:
            ratio = "α₁ = min(1, π(y₁)/π(x)) = min(1, exp({new:.2f} − ({old:.2f}))) = {a1:.3g}"
            made.line("try-1", WORDS.phrase("stage.first", there=there), show="at", since="try-1")
            made.line("alpha-1", ratio, show="at", since="alpha-1")
            coin += WORDS.phrase("stage.first_coin", again=again)
        else:
            centre = "x" if spec.pull == 0 else f"x + {spec.pull:g} (y{SUBSCRIPT[stage - 1]} − x)"
            further = WORDS.phrase("stage.further", ordinal=ORDINAL[stage], n=n, name=name, centre=centre, there=there)
            made.line(f"try-{n}", further, show="at", since=f"try-{n}")
            _way_back(made, walk, stage)
            _ratio(made, walk, stage)
            words = WORDS.phrase("stage.coin", name=name, again=again)
            coin += f", α{name} = {{a{n}:.3g}}: {{said{n}|{words}}}"
        made.line(f"u-{n}", coin, show="at", since=f"u-{n}")
    verdicts = [*(WORDS.phrase("stage.draw_is_new", name=name) for name in SUBSCRIPT[: spec.stages]), WORDS.phrase("stage.draw_is_old")]
    verdict = WORDS.phrase("stage.verdict", verdicts="|".join(verdicts))
    made.line("decide", verdict, show="at", since="decide")


def _way_back(made: Scene, walk: Walk, stage: int) -> None:
    """The chances that the same points fail on both ways."""
    n, y = stage + 1, f"y{SUBSCRIPT[stage]}"
    path = ("y₁", "y₂, y₁")[stage - 1]
    for i in range(stage):
        ahead = np.where(walk.inside.stages > stage, walk.inside.accept_prob[:, i], np.nan)
        made.values(**{f"back{n}{i}": walk.inside.back[:, stage, i], f"ahead{n}{i}": ahead})
    text = WORDS.phrase("stage.must_fail", y=y, path=path, first=path[:2], n=n)
    if stage == 2:
        text += WORDS.phrase("stage.must_fail_again")
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
        text += WORDS.phrase("stage.left_out", factors=", ".join(terms[f] for f in forgotten))
    made.line(f"alpha-{n}", text, show="at", since=f"alpha-{n}")


def _words(made: Scene, walk: Walk) -> None:
    spec, inside, draws = walk.spec, walk.inside, walk.recording.draws[0]
    x, y = walk.target.labels[:2]
    words = "|".join([*(WORDS.phrase("stage.accepted", name=name) for name in ORDINAL[: spec.stages]), WORDS.phrase("stage.rejected")])
    made.say(WORDS.phrase("stage.said", endings=words, x=x, y=y), end=walk.ending, x=draws[:, 0], y=draws[:, 1])
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
