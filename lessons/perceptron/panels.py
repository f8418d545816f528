"""What stands below the stage."""

from __future__ import annotations

import math

import numpy as np

from app.kit import charts, theme
from app.kit.charts import Column, Figure, Table
from app.kit.text import number
from engine.networks.passes import ACTIVATIONS
from engine.training import activation, activation_slope, learn, margin
from lessons.perceptron import analysis, held_out
from lessons.perceptron.analysis import ADAPTIVE, GOAL, RUNNERS
from lessons.perceptron.questions import RESTARTS
from lessons.perceptron.spec import PerceptronLesson
from lessons.perceptron.stage_held_out import CHAINS, DASHED
from lessons.perceptron.stage_race import LOOKS

GAPS = (0.4, 0.2, 0.1, 0.05, 0.02, 0.01)
SYMBOLS = ("circle", "diamond", "square", "cross", "triangle-up", "star")


def panels(spec: PerceptronLesson, cancel: object = None) -> list[Figure | Table]:
    """By part."""
    if spec.part == "perceptron":
        return [_gaps(spec)]
    if spec.part == "network":
        return [_restarts(spec), _by_activation(spec), _passes(spec)]
    if spec.part == "nodes":
        return [_differences(spec), _activations(), _slopes()]
    if spec.part == "held_out":
        return [_strengths(spec)] if spec.view == "ways" else [_sizes(spec)]
    return [_ladders(spec)]


def _gaps(spec: PerceptronLesson) -> Figure:
    """Mistakes and the bound as the classes come nearer."""
    gammas, made, bounds = [], [], []
    for gap in GAPS:
        x, y = analysis.separable(spec.count, gap, spec.seed)
        if len(set(y.tolist())) == 2:
            best = margin(x, y)
            if best.gamma in gammas:  # the same points as with a wider gap
                continue
            gammas.append(best.gamma)
            bounds.append(best.bound)
            made.append(learn(x, y, epochs=2000).mistakes)
    figure = charts.blank("margin γ", "mistakes")
    for name, values, role, symbol in (
        ("bound (R/γ)²", bounds, "ink", "diamond-open"),
        ("the perceptron's mistakes", made, "reject", "circle"),
    ):
        figure.add_scatter(
            x=gammas, y=values, mode="lines+markers", name=name, line={"color": theme.colour(role)}, marker={"symbol": symbol, "size": 9}
        )
    figure.update_xaxes(type="log")
    figure.update_yaxes(type="log")
    told = "; ".join(f"γ {g:.3g}: {m} of at most {b:,.0f}" for g, m, b in zip(gammas, made, bounds, strict=True))
    caption = f"Points on both sides of one random line, {spec.count} each time, nearer and nearer to it. {told}."
    return Figure("Mistakes and margin", figure, caption, caption)


def _restarts(spec: PerceptronLesson) -> Figure:
    counts = [analysis.solved(spec, k, RESTARTS)[0] for k in (1, 2, 3, 4)]
    told = "; ".join(f"{k}: {count}" for k, count in zip((1, 2, 3, 4), counts, strict=True))
    caption = f"All points right after 600 Adam steps with η = 0.05, from {RESTARTS} starts. By number of units: {told}."
    return charts.bars(
        "How often the boundary appears",
        ["1", "2", "3", "4"],
        counts,
        alt=caption,
        x="hidden units in a layer",
        y="trainings with all points right",
        caption=caption,
    )


def _by_activation(spec: PerceptronLesson) -> Figure:
    found = {name: analysis.solved(spec.replace(activation=name), spec.units, RESTARTS) for name in ACTIVATIONS}
    told = "; ".join(f"{name} {count}, mean loss {loss:.2f}" for name, (count, loss) in found.items())
    caption = (
        f"The same points and starts, {spec.units} units, 600 Adam steps with η = 0.05. Trainings of {RESTARTS} with all right: {told}."
    )
    return charts.bars(
        "Which activation finds the boundary?",
        list(found),
        [count for count, _ in found.values()],
        alt=caption,
        x="activation of the hidden units",
        y="trainings with all points right",
        caption=caption,
    )


def _passes(spec: PerceptronLesson) -> Figure:
    """The same training with the right and with wrong backward passes."""
    figure, ends = charts.blank("step", "loss (nats per point)"), []
    for variant, name, dash, role in (
        ("exact", "right", "solid", "posterior"),
        ("no_slope", "without φ′", "dash", "reject"),
        ("no_bias", "biases forgotten", "dot", "highlight"),
    ):
        found = analysis.training(spec.replace(variant=variant))
        loss = np.minimum(found.loss, 5.0)
        figure.add_scatter(x=found.steps, y=loss, mode="lines", name=name, line={"color": theme.colour(role), "dash": dash})
        ends.append(f"{name} {found.loss[-1]:.3f}, {found.right[-1]} points right")
    caption = f"The same start and rule with three backward passes. At the end: {'; '.join(ends)}."
    return Figure("What a wrong gradient does to the training", figure, caption, caption)


def _differences(spec: PerceptronLesson) -> Figure:
    lengths, errors = analysis.by_step(spec)
    figure = charts.blank("difference h of a weight", "largest error of the derivative")
    figure.add_scatter(
        x=lengths,
        y=np.maximum(errors, 1e-16),
        mode="lines+markers",
        line={"color": theme.colour("posterior")},
        marker={"size": 6},
        showlegend=False,
    )
    figure.update_xaxes(type="log", exponentformat="power")
    figure.update_yaxes(type="log", exponentformat="power")
    best = int(np.argmin(errors))
    caption = (
        "(E(θ + h) − E(θ − h)) / 2h against the backward pass. Long differences miss the bend of the loss (error "
        f"∝ h²), short ones drown in rounding (∝ 1/h). Best here: h = {lengths[best]:.0e}, error {errors[best]:.0e}. "
        "The marks on the stage use four values a derivative, which is better still."
    )
    return Figure("How good is a difference?", figure, caption, caption)


def _activations() -> Figure:
    z = np.linspace(-4.0, 4.0, 161)
    figure = charts.blank("z", "φ(z)")
    for k, name in enumerate(ACTIVATIONS):
        line = {"color": theme.colour(f"chain-{k}"), "dash": theme.DASHES[k]}
        figure.add_scatter(x=z, y=activation(name, z), mode="lines", name=name, line=line)
    step = {"color": theme.colour("muted"), "dash": "dot", "shape": "hv"}
    figure.add_scatter(x=[-4.0, 0.0, 4.0], y=[0.0, 1.0, 1.0], mode="lines", name="step", line=step)
    figure.update_yaxes(range=[-1.6, 3.2])
    caption = (
        "tanh stays within −1 and 1, sigmoid within 0 and 1; relu cuts at 0, elu bends to −1; linear hidden units add nothing. The "
        "perceptron's step has no slope to learn by."
    )
    return Figure("Activations", figure, f"Five activations and a step from z = −4 to 4. {caption}", caption)


def _slopes() -> Figure:
    z = np.linspace(-4.0, 4.0, 161)
    figure = charts.blank("z", "φ′(z)")
    for k, name in enumerate(ACTIVATIONS):
        line = {"color": theme.colour(f"chain-{k}"), "dash": theme.DASHES[k]}
        figure.add_scatter(x=z, y=activation_slope(name, z), mode="lines", name=name, line=line)
    largest = ", ".join(f"{name} {activation_slope(name, z).max():.2f}" for name in ACTIVATIONS)
    caption = f"The factor that δ takes at each unit on its way back. Largest: {largest}."
    return Figure("Slopes of the activations", figure, caption, caption)


def _ladders(spec: PerceptronLesson) -> Figure:
    figure, best = charts.blank("step: multiple of 1/L, or a distance (adagrad, rmsprop, adam)", "steps to arrive"), []
    for k, name in enumerate(RUNNERS):
        multiples, arrived = analysis.ladder(spec, name)
        steps = np.array([math.nan if at is None else float(max(at, 1)) for at in arrived])
        figure.add_scatter(
            x=multiples,
            y=steps,
            mode="lines+markers",
            name=name,
            marker={"symbol": SYMBOLS[k], "size": 7},
            line={"color": theme.colour(f"chain-{LOOKS[name]}")},
        )
        if np.isfinite(steps).any():
            at = int(np.nanargmin(steps))
            best.append(f"{name} {int(steps[at])} steps at {multiples[at]:.2g}")
    figure.update_xaxes(type="log")
    figure.update_yaxes(type="log")
    caption = (
        f"Steps until the height stays below {GOAL:g} nats, 500 at most, by step length; nothing drawn where it never "
        f"does. Best: {'; '.join(best) or 'none arrives'}."
    )
    return Figure("Who needs the right step length?", figure, caption, caption)


TRIED = {"weight decay": (0.0005, 0.002, 0.005, 0.01, 0.02), "dropout": (0.95, 0.9, 0.8, 0.6, 0.4), "early stopping": (1, 3, 5, 10, 20)}
FIELDS = {"weight decay": "decay", "dropout": "keep", "early stopping": "patience"}
MEASURES = {"weight decay": "λ", "dropout": "p kept", "early stopping": "patience"}


def _strengths(spec: PerceptronLesson) -> Figure:
    """Held-out loss of each way at five strengths."""
    figure, best = charts.blank("strength, weak to strong (early stopping: patience, short to long)", "held-out loss (nats a point)"), []
    for k, (name, strengths) in enumerate(TRIED.items()):
        courses = [held_out.course(spec.replace(**{FIELDS[name]: strength}), name) for strength in strengths]
        ends = [held_out.mean_and_error(course.held[:, -1]) for course in courses]
        means, errors = ([float(pair[i]) for pair in ends] for i in (0, 1))
        figure.add_scatter(
            x=[f"{place}" for place in range(1, len(strengths) + 1)],
            y=means,
            error_y={"type": "data", "array": [2 * error for error in errors]},
            mode="lines+markers",
            name=name,
            text=[f"{MEASURES[name]} = {strength:g}" for strength in strengths],
            marker={"symbol": SYMBOLS[k], "size": 8},
            line={"color": theme.colour(f"chain-{CHAINS[name]}"), "dash": "dash" if name in DASHED else "solid"},
        )
        at = int(np.argmin(means))
        best.append(f"{name} {means[at]:.3f} ± {2 * errors[at]:.3f} at {MEASURES[name]} = {strengths[at]:g}")
    caption = (
        f"Mean of {held_out.SETS} sets, bars of two standard errors. Lowest of each: {'; '.join(best)}. The best of five is chosen on the "
        "points it is then judged on, so it is told a little too well."
    )
    return Figure("How strong?", figure, caption, caption)


def _sizes(spec: PerceptronLesson) -> Figure:
    found = held_out.ladder(spec)
    size = np.sqrt((found.path**2).sum(axis=1))
    figure = charts.blank("weight decay λ", "length of all weights and biases |θ|")
    figure.add_scatter(
        x=held_out.LADDER, y=np.maximum(size, 1e-6), mode="lines+markers", name="|θ|", line={"color": theme.colour("posterior")}
    )
    figure.update_xaxes(type="log")
    figure.update_yaxes(type="log", exponentformat="power")
    gone = held_out.LADDER[size < 1e-3]
    caption = f"First set of points. It shrinks from {size[0]:.3g} to {size[found.best]:.3g} where the loss on new points is lowest"
    caption += f", and is gone from λ = {gone[0]:.2g} on." if len(gone) else "."
    return Figure("What the decay does to the weights", figure, caption, caption)


# The table ------------------------------------------------------------------------------------------------------------


def diagnostics(spec: PerceptronLesson, cancel: object = None) -> Table:
    """What it cost and what came out. Nothing is sampled here, so there is no R-hat and no ESS."""
    if spec.part == "perceptron":
        return _perceptron_table(spec)
    if spec.part == "network":
        return _training_table(spec)
    if spec.part == "held_out":
        return _ways_table(spec) if spec.view == "ways" else _curve_table(spec)
    return _pass_table(spec) if spec.part == "nodes" else _race_table(spec)


def _perceptron_table(spec: PerceptronLesson) -> Table:
    found = analysis.visits(spec)
    run, best = found.run, found.margin
    cycle = "none" if run.cycle is None else f"{run.cycle[1]} epochs long, from epoch {run.cycle[0] + 1} on"
    rows = {
        "epochs run": number(len(run.visited) // max(1, len(analysis.data(spec)[0]))),
        "visits": number(len(run.visited)),
        "mistakes": number(run.mistakes),
        "stopped with all right": "yes" if run.converged else "no",
        "R, longest point with a 1 appended": number(best.radius, 4),
        "margin γ": number(best.gamma, 4) if best.gamma else "no separating line",
        "bound (R/γ)²": number(best.bound, 4),
        "exact cycle": cycle,
    }
    caption = "The perceptron draws nothing at random. The weights are summed exactly, as whole numbers of one small unit."
    return Table("This run", {"quantity": list(rows), "value": list(rows.values())}, caption)


def _training_table(spec: PerceptronLesson) -> Table:
    found, (x, _) = analysis.training(spec), analysis.data(spec)
    steps = int(found.steps[-1])
    rows = {
        "weights and biases": number(found.network.dim),
        "steps": number(steps),
        "gradient evaluations": number(steps),
        "loss at the start (nats per point)": number(float(found.loss[0])),
        "loss at the end": number(float(found.loss[-1])),
        "points right at the end": f"{found.right[-1]} of {len(x)}",
        "time (ms)": number(1000 * found.seconds) if spec.variant == "exact" else "–",
    }
    caption = (
        "Each step looks at all points, so a step is one gradient. Time: in the compiled kernel, looks included. "
        "Nothing is sampled, so there is no R-hat and no ESS." + (" The gradient was not finite." * found.diverged)
    )
    return Table("This training", {"quantity": list(rows), "value": list(rows.values())}, caption)


def _ways_table(spec: PerceptronLesson) -> Table:
    courses = {name: held_out.course(spec, name) for name in held_out.REGULARISERS}
    ends = {name: held_out.mean_and_error(course.held[:, -1]) for name, course in courses.items()}
    nothing = courses["nothing"].held[:, -1]
    less = {name: held_out.mean_and_error(course.held[:, -1] - nothing) for name, course in courses.items()}
    columns: dict[str, Column] = {
        "against overfitting": list(courses),
        "its own points (nats)": [float(course.loss[:, -1].mean()) for course in courses.values()],
        "held out (nats)": [float(mean) for mean, _ in ends.values()],
        "± SE": [float(error) for _, error in ends.values()],
        "against nothing, ± SE": ["–" if name == "nothing" else f"{mean:+.3f} ± {error:.3f}" for name, (mean, error) in less.items()],
        "held out, right (%)": [100.0 * float(course.right.mean()) for course in courses.values()],
        "steps, median": [float(np.median(course.used)) for course in courses.values()],
    }
    caption = (
        f"{held_out.SETS} sets of {4 * spec.corner} points, {4 * held_out.HELD} held out of each. Differences are taken set by set: points "
        "and first weights are the same. Nothing is sampled, so there is no R-hat and no ESS."
    )
    return Table("Four ways", columns, caption)


def _curve_table(spec: PerceptronLesson) -> Table:
    found = held_out.ladder(spec)
    (held, error), (bare, bare_error) = held_out.mean_and_error(found.held), held_out.mean_and_error(found.bare)
    columns: dict[str, Column] = {
        "λ": ["0", *(f"{decay:.2g}" for decay in held_out.LADDER[::3])],
        "held out (nats a point)": [float(bare), *held[::3]],
        "± SE": [float(bare_error), *error[::3]],
    }
    caption = (
        f"Each is a training of its own, {(len(held_out.LADDER) + 1) * held_out.SETS} in all, over {held_out.SETS} sets of points. Lowest "
        f"at λ = {held_out.LADDER[found.best]:.2g}. Nothing is sampled, so there is no R-hat and no ESS."
    )
    return Table("The decay curve", columns, caption)


def _pass_table(spec: PerceptronLesson) -> Table:
    found = analysis.one_pass(spec)
    off = found.nodes.gradient - found.differences
    columns = {
        "parameter": list(found.network.labels),
        "value": list(found.theta),
        "∂E/∂θ, backward pass": list(found.nodes.gradient),
        "by differences": list(found.differences),
        "apart": list(np.abs(off)),
    }
    caption = (
        f"W1[2,1] leads to unit 2 of layer 1 from input 1. One forward and one backward pass gave all "
        f"{found.network.dim} derivatives; the differences took {4 * found.network.dim} forward passes."
    )
    return Table("Every derivative twice", columns, caption)


def _race_table(spec: PerceptronLesson) -> Table:
    found = analysis.race(spec)
    arrived = [found.arrival(name) for name in RUNNERS]
    columns: dict[str, Column] = {
        "optimiser": list(RUNNERS),
        "step": [spec.adaptive if name in ADAPTIVE else found.step for name in RUNNERS],
        f"steps until below {GOAL:g}": ["not yet" if at is None else number(at) for at in arrived],
        "height at the end (nats)": [f"{found.above(name)[-1]:.3g}" for name in RUNNERS],
        "left the numbers at step": [
            "–" if found.descents[name].stopped is None else number(found.descents[name].stopped) for name in RUNNERS
        ],
    }
    caption = f"One gradient a step for each, {spec.racing} steps. Nothing is sampled, so there is no R-hat and no ESS."
    return Table("The race", columns, caption)
