"""From the training, the posterior draws or a published table to the picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.pictures import upright
from app.kit.player.scene import Axis, Place, Scene
from app.kit.text import number
from datasets import remote
from engine.networks import NetworkRecording
from engine.scores import binary_entropy
from lessons.families.powerball import RIVALS
from lessons.real_data import analysis, lottery_scenes, place_scenes, protocol
from lessons.real_data.analysis import LEVELS, Fit, Problem, Study
from lessons.real_data.protocol import Model, Result
from lessons.real_data.spec import RealDataSpec

Array = NDArray[np.float64]

RATE = 20.0  # steps a second
FRAMES = 200  # draws that are played
LEAST = 8  # draws before the first picture of the posterior
BINS = 30
TOPS = {"boston": 90.0, "credit": 1.0}  # of the axes of a published table


def scene(spec: RealDataSpec, window: int | None = None) -> bytes:
    """The training, a published table with nothing run yet, or draws of a lottery. `window` is not used."""
    if spec.lottery:
        return lottery_scenes.picture(spec)
    if spec.show == "protocol":
        return protocol_picture(spec, [])
    return place_scenes.training_picture(spec) if spec.show == "place" else training_picture(spec)


def live(spec: RealDataSpec) -> Callable[[Any], bytes] | None:
    """The body of the long run: a download where needed; then the posterior, draw by draw, or model after model. None
    of a lottery, where nothing is sampled."""
    if spec.lottery:
        return None

    def body(job: Any) -> bytes:
        if spec.data in remote.TABLES:
            remote.fetch_table(spec.data, job)
        if spec.show == "protocol":
            blob = scene(spec)
            for found in protocol.run(spec, job):
                blob = protocol_picture(spec, found)
                job.publish(blob)
            return blob
        return _sample(spec, job)

    return body


def _sample(spec: RealDataSpec, job: Any) -> bytes:
    chains, blob, draw = analysis.chains(spec), scene(spec), _drawing(spec)
    shown, others = 0, len(RIVALS) if spec.show == "place" else 0
    total = chains.run.warmup + spec.draws + others
    while chains.step(spec.draws) and not job.is_set():
        done = min(chains.run.completed, spec.draws)
        job.report(chains.run.warmed_up + done, total)
        if done >= max(LEAST, 1.5 * shown):
            shown = done
            blob = draw(chains.run.recording())
            job.publish(blob)
    recording = chains.run.recording()
    if recording.draws.shape[1] < LEAST:
        return blob
    job.report(chains.run.warmup + min(chains.run.completed, spec.draws), total)
    if others and not job.is_set():
        return place_scenes.beside(spec, recording, job, total)
    return draw(recording)


def _drawing(spec: RealDataSpec) -> Callable[[NetworkRecording], bytes]:
    """What makes the picture of the draws so far."""
    if spec.show == "place":
        return lambda recording: place_scenes.posterior_picture(spec, recording)
    return lambda recording: posterior_picture(spec, analysis.study(spec, recording))


# Training -------------------------------------------------------------------------------------------------------------


def training_picture(spec: RealDataSpec) -> bytes:
    """The errors along the training, and what the network says of the test rows at the end."""
    rows, fit = analysis.problem(spec), analysis.fit(spec)
    looks = len(fit.test)
    made = Scene(
        run=repr(spec),
        steps=looks,
        rate=RATE,
        autoplay=True,
        theme=theme.palette(),
        label=f"A network trained on {len(rows.y)} rows: its error along the training, and its guesses of {len(rows.y_test)} test rows.",
    )
    _guesses(made, spec, rows, fit, None, (0, 0, 11, 2), 380)
    _losses(made, spec, rows, fit, (11, 0, 9, 1))
    _case(made, spec, rows, fit, None, (11, 1, 9, 1))
    epochs = np.linspace(0, spec.epochs, looks)
    made.readout("data", _about(spec, rows))
    what, unit = _error_name(rows), _unit(rows)
    made.readout(
        "now",
        f"epoch {{epoch:.0f}}: {what} {{train:.3f}} on the rows learned from, {{test:.3f}} on the test rows ({unit})",
        epoch=epochs,
        train=fit.train,
        test=fit.test,
    )
    made.readout("constant", _constant(spec, rows))
    if spec.training == "early_stopping":
        made.readout("best", f"stopped early: the network of look {fit.best + 1} of {looks} is used")
    for index, note in enumerate(rows.task.notes):
        made.readout(f"note-{index}", note.replace("{", "(").replace("}", ")"))
    made.say(f"Epoch {{epoch:.0f}}: test {what} {{test:.3f}}.", epoch=epochs, test=fit.test)
    made.table({"epoch": epochs, f"train {what}": fit.train, f"test {what}": fit.test})
    return made.encode()


def _error_name(rows: Problem) -> str:
    return "cross-entropy" if rows.classes else "RMSE"


def _scale(rows: Problem) -> str:
    return "nats a row" if rows.classes else word(rows.task.target)


def _unit(rows: Problem) -> str:
    return _scale(rows) if rows.classes else f"in units of {_scale(rows)}"


def word(name: str) -> str:
    """A column's name for a template: whatever a stranger typed, without what means something there."""
    return name.replace("{", "(").replace("}", ")")[:24]


def class_one(rows: Problem) -> str:
    """Class 1 in words."""
    name = word(rows.classes[1])
    return name if name[:1].isalpha() else f"{word(rows.task.target)} = {name}"


def _about(spec: RealDataSpec, rows: Problem) -> str:
    kind = f"“{word(rows.classes[1])}” or “{word(rows.classes[0])}”" if rows.classes else "a number"
    return (
        f"{rows.task.card.name}: {word(rows.task.target)} ({kind}) from {len(rows.task.names)} columns. Of "
        f"{len(rows.task.y):,} rows {len(rows.y):,} to learn from and {len(rows.y_test):,} to test on"
    )


def _constant(spec: RealDataSpec, rows: Problem) -> str:
    value = analysis.constant(spec)
    if not rows.classes:
        return f"always the mean {rows.y_units.mean():.4g}: RMSE {value:.4g}"
    return (
        f"always the base rate {rows.rate:.3g}: {value:.3f} nats on the test rows; H({rows.rate:.3g}) = "
        f"{binary_entropy(rows.rate):.3f} where they have the same share"
    )


def _losses(made: Scene, spec: RealDataSpec, rows: Problem, fit: Fit, place: Place) -> None:
    at = np.linspace(0, spec.epochs, len(fit.test))
    finite = np.concatenate([fit.train[1:], fit.test[1:], [analysis.constant(spec)]])
    finite = finite[np.isfinite(finite)]
    low, high = 0.0, float(1.15 * min(finite.max(), 3.0 * analysis.constant(spec)))
    panel = made.panel(
        "loss",
        title="Error while it learns",
        x=Axis("epoch", 0, spec.epochs),
        y=Axis(f"{_error_name(rows)} ({_scale(rows)})", low, high),
        place=place,
        height=190,
    )
    for values, role, dash, words in ((fit.train, "muted", True, "rows learned from"), (fit.test, "proposal", False, "test rows")):
        panel.line(at, np.minimum(values, high), show="upto", role=role, dash=dash, label=words)
    panel.rule(y=analysis.constant(spec), role="reject", dash=True, label="always the " + _always(rows))
    if spec.training == "early_stopping":
        panel.rule(x=float(at[fit.best]), role="reject", label="stopped")


def _always(rows: Problem) -> str:
    return "base rate" if rows.classes else "mean"


# Guesses of the test rows ---------------------------------------------------------------------------------------------


def _guesses(made: Scene, spec: RealDataSpec, rows: Problem, fit: Fit, found: Study | None, place: Place, height: int) -> None:
    """Test rows with the network's guess and the posterior's interval."""
    if rows.classes:
        _probabilities(made, spec, rows, fit, found, place, height)
        return
    y = rows.y_test
    every = [y, fit.guess] if found is None else [y, found.low, found.high]
    low, high = min(float(v.min()) for v in every), max(float(v.max()) for v in every)
    pad = 0.04 * (high - low)
    name = word(rows.task.target)
    title = "What is guessed, and what was" if found is None else f"Intervals of {100 * spec.level:.0f} %"
    panel = made.panel(
        "guesses",
        title=title,
        x=Axis(f"true {name}", float(y.min()) - pad, float(y.max()) + pad),
        y=Axis(f"guessed {name}", low - pad, high + pad),
        place=place,
        height=height,
    )
    ends = [float(y.min()), float(y.max())]
    panel.line(ends, ends, role="truth", dash=True, label="guess = truth")
    if found is not None:
        for mask, role, words in ((found.held, "posterior", "interval holds the truth"), (~found.held, "reject", "misses it")):
            if mask.any():
                panel.path(upright(y[mask], found.low[mask], found.high[mask]), role=role, width=1.4, alpha=0.7)
                shape = "circle" if role == "posterior" else "cross"
                size = 2.6 if role == "posterior" else 4.0
                panel.points(np.column_stack([y[mask], found.guess[mask]]), role=role, shape=shape, size=size, label=words)
    panel.points(
        np.column_stack([y, fit.guess]),
        role="proposal",
        shape="ring" if found is not None else "circle",
        size=2.6,
        alpha=0.8,
        label="trained network",
    )
    at = analysis.case(spec)
    guess = fit.guess[at] if found is None else found.guess[at]
    panel.points([[y[at], guess]], role="highlight", shape="diamond", size=6.0, label=f"case {spec.case}")


def _probabilities(made: Scene, spec: RealDataSpec, rows: Problem, fit: Fit, found: Study | None, place: Place, height: int) -> None:
    guess = fit.guess if found is None else found.guess
    rank = np.empty(len(guess))
    rank[np.argsort(guess, kind="stable")] = np.arange(1, len(guess) + 1)
    title = "Test rows in order of their probability"
    panel = made.panel(
        "guesses",
        title=title,
        x=Axis("rank of the test row", 0, len(guess) + 1),
        y=Axis(f"P({class_one(rows)})", -0.03, 1.03),
        place=place,
        height=height,
    )
    if found is not None:
        panel.path(upright(rank, found.low, found.high), role="posterior", width=1.4, alpha=0.5)
        panel.points(np.column_stack([rank, fit.guess]), role="proposal", shape="ring", size=2.2, alpha=0.7, label="trained network")
    for value, shape in ((0, "circle"), (1, "square")):
        mask = rows.y_test == value
        if mask.any():
            panel.points(
                np.column_stack([rank[mask], guess[mask]]),
                role=f"class-{value}",
                shape=shape,
                size=3.0,
                label=f"was {word(rows.classes[value])}",
            )
    panel.rule(y=analysis.best_threshold(spec), role="reject", dash=True, label="threshold of the costs")
    panel.rule(y=rows.rate, role="truth", dash=True, label="base rate")
    at = analysis.case(spec)
    panel.points([[rank[at], guess[at]]], role="highlight", shape="diamond", size=6.0, label=f"case {spec.case}")


# One case -------------------------------------------------------------------------------------------------------------


def _case(made: Scene, spec: RealDataSpec, rows: Problem, fit: Fit, found: Study | None, place: Place) -> None:
    """One test row: the network's single guess, the histogram of the draws so far, the truth."""
    at = analysis.case(spec)
    guess, true = float(fit.guess[at]), float(rows.y_test[at])
    name = f"P({class_one(rows)})" if rows.classes else word(rows.task.target)
    values = None if found is None else case_values(spec, rows, found)
    if rows.classes:
        low, high = 0.0, 1.0
    else:
        reach = [guess, true] if values is None else [guess, true, *np.quantile(values, (0.001, 0.999))]
        pad = 0.1 * (max(reach) - min(reach)) + 1e-9 + (fit.residual_sd if values is None else 0.0)
        low, high = min(reach) - pad, max(reach) + pad
    panel = made.panel(
        "case",
        title=f"Case {spec.case}: one row",
        x=Axis(name, low, high),
        y=Axis("density", 0.0, None if found else 1.0),
        place=place,
        height=190,
    )
    if values is not None:
        label = "draws so far" if rows.classes else "new values, draws so far"
        chosen = np.linspace(0, len(values) - 1, made.steps).astype(int)
        panel.histogram(values[chosen], bins=(low, high, BINS), role="posterior", label=label)
        if rows.classes:
            panel.rule(x=analysis.best_threshold(spec), role="reject", dash=True)
    panel.rule(x=guess, role="proposal", label="what was guessed")
    panel.rule(x=true, role="truth", dash=True, label="what was")


def case_values(spec: RealDataSpec, rows: Problem, found: Study) -> Array:
    """(draws * chains,) what the posterior says of the case, chains in turns: new values, or P(class 1)."""
    at = analysis.case(spec)
    values = found.values[:, :, at].T.reshape(-1)
    if rows.classes:
        return values
    noise = found.noise_sd.T.reshape(-1)
    return analysis.new_values(values[:, None], noise)[:, 0]


# Posterior ------------------------------------------------------------------------------------------------------------


def posterior_picture(spec: RealDataSpec, found: Study) -> bytes:
    """The intervals of the test rows, one case draw by draw, coverage or cost, and the error of the growing mean."""
    rows, fit = analysis.problem(spec), analysis.fit(spec)
    count = found.values.shape[1]
    steps = min(FRAMES, found.values.shape[0] * count)
    made = Scene(
        run=repr(spec),
        steps=steps,
        rate=RATE,
        autoplay=True,
        theme=theme.palette(),
        label=f"{len(rows.y_test)} test rows under the posterior of a network, beside the trained network.",
    )
    _guesses(made, spec, rows, fit, found, (0, 0, 11, 2), 380)
    _case(made, spec, rows, fit, found, (11, 0, 9, 1))
    if rows.classes:
        _cost(made, spec, rows, fit, found, (11, 1, 9, 1))
    else:
        _coverage(made, spec, rows, found, (11, 1, 9, 1))
    at = np.linspace(0, count - 1, steps).astype(int)
    drawn = (at + 1.0) * found.stride
    error = found.running[at]
    _running(made, spec, rows, fit, drawn, error, (0, 2, 20, 1))
    what = _error_name(rows)
    kept = f"{found.values.shape[0]} chains, {number(found.values.shape[0] * count)} draws used"
    made.readout("data", _about(spec, rows))
    made.readout(
        "error",
        f"test {what} ({_unit(rows)}): mean of the draws so far {{error:.3f}}, of all {found.error:.3f}, "
        f"trained network {fit.test[fit.best]:.3f} ({kept})",
        error=error,
    )
    made.readout("constant", _constant(spec, rows))
    if rows.classes:
        cut = analysis.best_threshold(spec)
        ours, theirs = (float(analysis.costs(spec, p, rows.y_test, np.array([cut]))[0]) for p in (found.guess, fit.guess))
        half = float(analysis.costs(spec, found.guess, rows.y_test, np.array([0.5]))[0])
        made.readout(
            "cost",
            f"threshold {spec.alarm_cost:g} / ({spec.alarm_cost:g} + {spec.miss_cost:g}) = {cut:.3f}: cost "
            f"{ours:.3f} a row, trained network {theirs:.3f}; at 0.5 it is {half:.3f}",
        )
    else:
        sd = float(np.sqrt(np.mean(found.noise_sd**2)))
        made.readout(
            "held",
            f"intervals of {100 * spec.level:.0f} % hold {int(found.held.sum())} of {len(found.held)} test "
            f"values ({100 * found.held.mean():.0f} %); noise sd {sd:.3g}, RMSE {found.error:.3g}",
        )
    index = analysis.case(spec)
    spread = float(found.pooled[:, index].std())
    made.readout(
        "case", f"case {spec.case}: mean {found.guess[index]:.4g}, sd over networks {spread:.3g}, trained network {fit.guess[index]:.4g}"
    )
    for number_of, note in enumerate(rows.task.notes):
        made.readout(f"note-{number_of}", note.replace("{", "(").replace("}", ")"))
    made.say(f"Test {what} of the mean of the draws so far {{error:.3f}}.", error=error)
    made.table({"draw of each chain": drawn, f"test {what}, mean so far": error})
    return made.encode()


def _coverage(made: Scene, spec: RealDataSpec, rows: Problem, found: Study, place: Place) -> None:
    panel = made.panel(
        "coverage",
        title="How much the intervals hold",
        x=Axis("what they should hold", 0.0, 1.0),
        y=Axis("share of test values held", 0.0, 1.03),
        place=place,
        height=200,
    )
    error = 2.0 * np.sqrt(LEVELS * (1.0 - LEVELS) / len(rows.y_test))
    panel.line(
        LEVELS,
        LEVELS,
        band=(np.maximum(LEVELS - error, 0.0), np.minimum(LEVELS + error, 1.0)),
        role="truth",
        dash=True,
        label="right, ± 2 sd of chance",
    )
    panel.line(LEVELS, found.rates, role="posterior", label="posterior")
    panel.points(np.column_stack([LEVELS, found.rates]), role="posterior", size=2.6)
    rates = analysis.trained_rates(spec)
    panel.line(LEVELS, rates, role="proposal", dash=True, label="network ± its residuals")
    panel.rule(x=spec.level, role="muted", dash=True)


def _cost(made: Scene, spec: RealDataSpec, rows: Problem, fit: Fit, found: Study, place: Place) -> None:
    cuts = analysis.THRESHOLDS
    panel = made.panel(
        "cost",
        title="Cost of a threshold",
        x=Axis("flag above this probability", 0.0, 1.0),
        y=Axis("cost a test row", 0.0),
        place=place,
        height=200,
    )
    panel.line(cuts, analysis.costs(spec, found.guess, rows.y_test), role="posterior")
    panel.line(cuts, analysis.costs(spec, fit.guess, rows.y_test), role="proposal", dash=True)
    panel.rule(x=analysis.best_threshold(spec), role="reject", dash=True)


def _running(made: Scene, spec: RealDataSpec, rows: Problem, fit: Fit, drawn: Array, error: Array, place: Place) -> None:
    level = analysis.constant(spec)
    every = [*error, fit.test[fit.best]]
    high = 1.1 * max(every + ([level] if level < 2.0 * max(every) else []))
    panel = made.panel(
        "running",
        title="The mean of more and more networks",
        x=Axis("draw of each chain", 0.0, float(drawn[-1])),
        y=Axis(f"test {_error_name(rows)}", 0.9 * min(every), high),
        place=place,
        height=170,
    )
    panel.line(drawn, error, show="upto", role="posterior", label="mean of the draws so far")
    panel.rule(y=float(fit.test[fit.best]), role="proposal")
    if level <= high:
        panel.rule(y=level, role="reject", dash=True, label="always the " + _always(rows))


# A published table ----------------------------------------------------------------------------------------------------


def protocol_picture(spec: RealDataSpec, results: list[Result]) -> bytes:
    """The models of a published table: theirs marked, ours as bars as far as they have been run."""
    which, rows = protocol.identity(spec), protocol.models(spec)
    prices = which == "boston"
    made = Scene(
        run=repr(spec),
        steps=1,
        rate=1.0,
        theme=theme.palette(),
        label=f"{len(rows)} models of a published table: the printed errors, and ours for {len(results)} of them.",
    )
    top, unit = TOPS[which], "mean squared error ($1000²)" if prices else "cross-entropy (nats a row)"
    labels = [model.letter for model in rows]
    for column, (name, field) in enumerate((("Test rows", "test"), ("Rows learned from", "train"))):
        ours = np.zeros(len(rows))
        ours[: len(results)] = [min(getattr(result, field), top) for result in results]
        panel = made.panel(field, title=name, y=Axis(unit, 0.0, top), place=(10 * column, 0, 10, 1), height=320)
        printed = np.minimum([getattr(model, field) for model in rows], top)
        panel.bars(ours, labels=labels, truth=printed, role="posterior", label="here (marks: as printed)")
        level = _base_line(spec, column)
        if level is not None and level <= top:
            panel.rule(y=level, role="reject", dash=True, label=f"always the {'mean' if prices else 'base rate'}")
    made.readout("theirs", "Printed in Andersen and Roed-Sørensen 2021, and here: test error, error learned from, time")
    for index, model in enumerate(rows):
        made.readout(model.letter, line(model, results[index] if index < len(results) else None, top))
    if not prices:
        rate = protocol.BASE_RATE
        made.readout("base", f"H({rate}) = {binary_entropy(rate):.4f} nats: always saying {100 * rate:.4g} % to clients like these")
    if analysis.is_here(spec):
        train, test = protocol.constant(protocol.published(spec))
        what = "the mean" if prices else f"{100 * protocol.BASE_RATE:.4g} %"
        made.readout("constant", f"always {what}: {test:.4g} on these test rows, {train:.4g} on those learned from")
    made.say(f"{len(results)} of {len(rows)} models have been run.")
    ran = {
        f"{model.letter} {field}": np.array([getattr(result, field)])
        for model, result in zip(rows, results, strict=False)
        for field in ("test", "train", "seconds")
    }
    made.table({"models run": np.array([len(results)]), **ran})
    return made.encode()


def _base_line(spec: RealDataSpec, column: int) -> float | None:
    """The error of a constant prediction: of these rows, or of all clients where the rows are not here."""
    if analysis.is_here(spec):
        return protocol.constant(protocol.published(spec))[1 - column]
    return float(binary_entropy(protocol.BASE_RATE)) if protocol.identity(spec) == "credit" else None


def line(model: Model, result: Result | None, top: float) -> str:
    """A model in words: what was printed, and what came out here."""
    far = " (off the picture)" if max(model.test, model.train) > top else ""
    words = f"{model.letter}, {model.name}: printed {model.test:.4g} and {model.train:.4g}"
    words += f" in {number(model.seconds)} s{far}"
    if result is None:
        return words + "; not run yet"
    here = f"; here {result.test:.4g} and {result.train:.4g} in {number(result.seconds)} s"
    if np.isfinite(result.rhat):
        here += f", R-hat {result.rhat:.2f}, {100 * result.divergent:.0f} % divergent"
    return words + here
