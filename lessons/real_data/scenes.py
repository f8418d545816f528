"""From the training, the posterior draws or a published table to the picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from lessons.real_data.spec import WORDS, RealDataSpec

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


def grow(spec: RealDataSpec, job: Any) -> bytes | None:
    """The same, with a picture of what the network learned ahead of what luck does to the best rule."""
    if spec.show == "place" and not spec.lottery:
        beginning = place_scenes.beginning(spec)
        if beginning is not None:
            job.publish(beginning)
    return None if job.is_set() else scene(spec)


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
        label=WORDS.phrase("stage.training", rows=len(rows.y), test_rows=len(rows.y_test)),
    )
    _guesses(made, spec, rows, fit, None, (0, 0, 11, 2), 380)
    _losses(made, spec, rows, fit, (11, 0, 9, 1))
    _case(made, spec, rows, fit, None, (11, 1, 9, 1))
    epochs = np.linspace(0, spec.epochs, looks)
    made.readout("data", _about(spec, rows))
    what = error_name(rows)
    made.readout("now", WORDS.phrase("stage.epoch_card", what=what, unit=_unit(rows)), epoch=epochs, train=fit.train, test=fit.test)
    made.readout("constant", _constant(spec, rows))
    if spec.training == "early_stopping":
        made.readout("best", WORDS.phrase("stage.stopped_card", look=fit.best + 1, looks=looks))
    for index, note in enumerate(rows.task.notes):
        made.readout(f"note-{index}", note.replace("{", "(").replace("}", ")"))
    made.say(WORDS.phrase("stage.said_training", what=what), epoch=epochs, test=fit.test)
    made.table({"epoch": epochs, f"train {what}": fit.train, f"test {what}": fit.test})
    return made.encode()


def error_name(rows: Problem) -> str:
    """By what guesses are judged."""
    return WORDS.phrase("stage.cross_entropy" if rows.classes else "stage.rmse")


def _scale(rows: Problem) -> str:
    return WORDS.phrase("stage.nats_a_row") if rows.classes else word(rows.task.target)


def _unit(rows: Problem) -> str:
    return _scale(rows) if rows.classes else WORDS.phrase("stage.in_units", target=_scale(rows))


def word(name: str) -> str:
    """A column's name for a template: whatever a stranger typed, without what means something there."""
    return name.replace("{", "(").replace("}", ")")[:24]


def class_one(rows: Problem) -> str:
    """Class 1 in words."""
    name = word(rows.classes[1])
    return name if name[:1].isalpha() else f"{word(rows.task.target)} = {name}"


def _about(spec: RealDataSpec, rows: Problem) -> str:
    if rows.classes:
        kind = WORDS.phrase("stage.two_classes", one=word(rows.classes[1]), other=word(rows.classes[0]))
    else:
        kind = WORDS.phrase("stage.a_number")
    counts = {"columns": len(rows.task.names), "rows": len(rows.task.y), "learned": len(rows.y), "tested": len(rows.y_test)}
    return WORDS.phrase("stage.data_card", name=rows.task.card.name, target=word(rows.task.target), kind=kind, **counts)


def _constant(spec: RealDataSpec, rows: Problem) -> str:
    value = analysis.constant(spec)
    if not rows.classes:
        return WORDS.phrase("stage.always_mean_card", mean=rows.y_units.mean(), error=value)
    return WORDS.phrase("stage.always_rate_card", rate=rows.rate, error=value, entropy=binary_entropy(rows.rate))


def _losses(made: Scene, spec: RealDataSpec, rows: Problem, fit: Fit, place: Place) -> None:
    at = np.linspace(0, spec.epochs, len(fit.test))
    finite = np.concatenate([fit.train[1:], fit.test[1:], [analysis.constant(spec)]])
    finite = finite[np.isfinite(finite)]
    low, high = 0.0, float(1.15 * min(finite.max(), 3.0 * analysis.constant(spec)))
    panel = made.panel(
        "loss",
        title=WORDS.phrase("stage.loss"),
        x=Axis(WORDS.phrase("stage.epoch"), 0, spec.epochs),
        y=Axis(f"{error_name(rows)} ({_scale(rows)})", low, high),
        place=place,
        height=190,
    )
    for values, role, dash, words in ((fit.train, "muted", True, "learned_from"), (fit.test, "proposal", False, "test_rows")):
        panel.line(at, np.minimum(values, high), show="upto", role=role, dash=dash, label=WORDS.phrase(f"stage.{words}"))
    panel.rule(y=analysis.constant(spec), role="reject", dash=True, label=always(bool(rows.classes)))
    if spec.training == "early_stopping":
        panel.rule(x=float(at[fit.best]), role="reject", label=WORDS.phrase("stage.stopped"))


def always(classes: bool) -> str:
    """The constant guess that all others are held against."""
    return WORDS.phrase("stage.always_rate" if classes else "stage.always_mean")


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
    title = WORDS.phrase("stage.guesses") if found is None else WORDS.phrase("stage.intervals", level=100 * spec.level)
    panel = made.panel(
        "guesses",
        title=title,
        x=Axis(WORDS.phrase("stage.true", name=name), float(y.min()) - pad, float(y.max()) + pad),
        y=Axis(WORDS.phrase("stage.guessed", name=name), low - pad, high + pad),
        place=place,
        height=height,
    )
    ends = [float(y.min()), float(y.max())]
    panel.line(ends, ends, role="truth", dash=True, label=WORDS.phrase("stage.guess_is_truth"))
    if found is not None:
        for mask, role, words in ((found.held, "posterior", "stage.holds"), (~found.held, "reject", "stage.misses")):
            if mask.any():
                panel.path(upright(y[mask], found.low[mask], found.high[mask]), role=role, width=1.4, alpha=0.7)
                shape = "circle" if role == "posterior" else "cross"
                size = 2.6 if role == "posterior" else 4.0
                panel.points(np.column_stack([y[mask], found.guess[mask]]), role=role, shape=shape, size=size, label=WORDS.phrase(words))
    panel.points(
        np.column_stack([y, fit.guess]),
        role="proposal",
        shape="ring" if found is not None else "circle",
        size=2.6,
        alpha=0.8,
        label=WORDS.phrase("stage.trained"),
    )
    at = analysis.case(spec)
    guess = fit.guess[at] if found is None else found.guess[at]
    panel.points([[y[at], guess]], role="highlight", shape="diamond", size=6.0, label=WORDS.phrase("stage.case", case=spec.case))


def _probabilities(made: Scene, spec: RealDataSpec, rows: Problem, fit: Fit, found: Study | None, place: Place, height: int) -> None:
    guess = fit.guess if found is None else found.guess
    rank = np.empty(len(guess))
    rank[np.argsort(guess, kind="stable")] = np.arange(1, len(guess) + 1)
    panel = made.panel(
        "guesses",
        title=WORDS.phrase("stage.probabilities"),
        x=Axis(WORDS.phrase("stage.rank"), 0, len(guess) + 1),
        y=Axis(f"P({class_one(rows)})", -0.03, 1.03),
        place=place,
        height=height,
    )
    if found is not None:
        panel.path(upright(rank, found.low, found.high), role="posterior", width=1.4, alpha=0.5)
        trained = np.column_stack([rank, fit.guess])
        panel.points(trained, role="proposal", shape="ring", size=2.2, alpha=0.7, label=WORDS.phrase("stage.trained"))
    for value, shape in ((0, "circle"), (1, "square")):
        mask = rows.y_test == value
        if mask.any():
            label = WORDS.phrase("stage.was_class", name=word(rows.classes[value]))
            panel.points(np.column_stack([rank[mask], guess[mask]]), role=f"class-{value}", shape=shape, size=3.0, label=label)
    panel.rule(y=analysis.best_threshold(spec), role="reject", dash=True, label=WORDS.phrase("stage.threshold"))
    panel.rule(y=rows.rate, role="truth", dash=True, label=WORDS.phrase("stage.base_rate"))
    at = analysis.case(spec)
    panel.points([[rank[at], guess[at]]], role="highlight", shape="diamond", size=6.0, label=WORDS.phrase("stage.case", case=spec.case))


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
        title=WORDS.phrase("stage.one_case", case=spec.case),
        x=Axis(name, low, high),
        y=Axis(WORDS.phrase("stage.density"), 0.0, None if found else 1.0),
        place=place,
        height=190,
    )
    if values is not None:
        label = WORDS.phrase("stage.draws_so_far" if rows.classes else "stage.new_values")
        chosen = np.linspace(0, len(values) - 1, made.steps).astype(int)
        panel.histogram(values[chosen], bins=(low, high, BINS), role="posterior", label=label)
        if rows.classes:
            panel.rule(x=analysis.best_threshold(spec), role="reject", dash=True)
    panel.rule(x=guess, role="proposal", label=WORDS.phrase("stage.was_guessed"))
    panel.rule(x=true, role="truth", dash=True, label=WORDS.phrase("stage.was"))


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
        label=WORDS.phrase("stage.posterior", test_rows=len(rows.y_test)),
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
    what, chains = error_name(rows), found.values.shape[0]
    made.readout("data", _about(spec, rows))
    told = {"what": what, "unit": _unit(rows), "all": found.error, "trained": fit.test[fit.best]}
    made.readout("error", WORDS.phrase("stage.error_card", chains=chains, draws=number(chains * count), **told), error=error)
    made.readout("constant", _constant(spec, rows))
    if rows.classes:
        cut = analysis.best_threshold(spec)
        ours, theirs = (float(analysis.costs(spec, p, rows.y_test, np.array([cut]))[0]) for p in (found.guess, fit.guess))
        half = float(analysis.costs(spec, found.guess, rows.y_test, np.array([0.5]))[0])
        costs = {"alarm": spec.alarm_cost, "miss": spec.miss_cost, "ours": ours, "theirs": theirs, "half": half}
        made.readout("cost", WORDS.phrase("stage.cost_card", cut=cut, **costs))
    else:
        sd = float(np.sqrt(np.mean(found.noise_sd**2)))
        held = {"held": int(found.held.sum()), "values": len(found.held), "share": 100 * found.held.mean()}
        made.readout("held", WORDS.phrase("stage.held_card", level=100 * spec.level, sd=sd, error=found.error, **held))
    index = analysis.case(spec)
    spread = float(found.pooled[:, index].std())
    guesses = {"mean": found.guess[index], "sd": spread, "trained": fit.guess[index]}
    made.readout("case", WORDS.phrase("stage.case_card", case=spec.case, **guesses))
    for number_of, note in enumerate(rows.task.notes):
        made.readout(f"note-{number_of}", note.replace("{", "(").replace("}", ")"))
    made.say(WORDS.phrase("stage.said_posterior", what=what), error=error)
    made.table({"draw of each chain": drawn, f"test {what}, mean so far": error})
    return made.encode()


def _coverage(made: Scene, spec: RealDataSpec, rows: Problem, found: Study, place: Place) -> None:
    panel = made.panel(
        "coverage",
        title=WORDS.phrase("stage.coverage"),
        x=Axis(WORDS.phrase("stage.should_hold"), 0.0, 1.0),
        y=Axis(WORDS.phrase("stage.held"), 0.0, 1.03),
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
        label=WORDS.phrase("stage.right"),
    )
    panel.line(LEVELS, found.rates, role="posterior", label=WORDS.phrase("stage.by_posterior"))
    panel.points(np.column_stack([LEVELS, found.rates]), role="posterior", size=2.6)
    rates = analysis.trained_rates(spec)
    panel.line(LEVELS, rates, role="proposal", dash=True, label=WORDS.phrase("stage.residuals"))
    panel.rule(x=spec.level, role="muted", dash=True)


def _cost(made: Scene, spec: RealDataSpec, rows: Problem, fit: Fit, found: Study, place: Place) -> None:
    cuts = analysis.THRESHOLDS
    panel = made.panel(
        "cost",
        title=WORDS.phrase("stage.cost"),
        x=Axis(WORDS.phrase("stage.flag_above"), 0.0, 1.0),
        y=Axis(WORDS.phrase("stage.cost_a_row"), 0.0),
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
        title=WORDS.phrase("stage.running"),
        x=Axis(WORDS.phrase("stage.draw"), 0.0, float(drawn[-1])),
        y=Axis(WORDS.phrase("stage.test_error", what=error_name(rows)), 0.9 * min(every), high),
        place=place,
        height=170,
    )
    panel.line(drawn, error, show="upto", role="posterior", label=WORDS.phrase("stage.mean_so_far"))
    panel.rule(y=float(fit.test[fit.best]), role="proposal")
    if level <= high:
        panel.rule(y=level, role="reject", dash=True, label=always(bool(rows.classes)))


# A published table ----------------------------------------------------------------------------------------------------


def protocol_picture(spec: RealDataSpec, results: list[Result]) -> bytes:
    """The models of a published table, one a transition: what was printed beside ours, as far as they have been run."""
    which, rows = protocol.identity(spec), protocol.models(spec)
    prices = which == "boston"
    made = Scene(
        run=repr(spec),
        steps=len(rows),
        rate=1.0,
        autoplay=True,
        theme=theme.palette(),
        label=WORDS.phrase("published.picture", models=len(rows), ran=len(results)),
    )
    top, unit = TOPS[which], WORDS.phrase(f"published.error_{which}")
    labels = [model.letter for model in rows]
    to_come = np.triu(np.ones((len(rows), len(rows)), dtype=bool), 1)
    for column, field in enumerate(("test", "train")):
        panel = made.panel(
            field, title=WORDS.phrase(f"published.{field}"), y=Axis(unit, 0.0, top), place=(10 * column, 0, 10, 1), height=320
        )
        for values, role, label in ((_column(rows, field), "muted", "theirs"), (_column(rows, field, results), "posterior", "here")):
            panel.bars(np.where(to_come, np.nan, values), labels=labels, role=role, label=WORDS.phrase(f"published.{label}"))
        level = _base_line(spec, column)
        if level is not None and level <= top:
            panel.rule(y=level, role="reject", dash=True, label=always(not prices))
    made.readout("theirs", WORDS.phrase("published.theirs_card"))
    for index, model in enumerate(rows):
        made.readout(model.letter, line(model, results[index] if index < len(results) else None, top))
    if not prices:
        rate = protocol.BASE_RATE
        made.readout("base", WORDS.phrase("published.base_card", rate=rate, entropy=binary_entropy(rate), percent=100 * rate))
    if analysis.is_here(spec):
        train, test = protocol.constant(protocol.published(spec))
        what = WORDS.phrase("published.the_mean") if prices else f"{100 * protocol.BASE_RATE:.4g} %"
        made.readout("constant", WORDS.phrase("published.constant_card", what=what, test=test, train=train))
    made.say(WORDS.phrase("published.said", ran=len(results), models=len(rows)))
    columns: dict[str, Array] = {}
    for field in ("test", "train", "seconds"):
        columns |= {f"{field}, printed": _column(rows, field), f"{field}, here": _column(rows, field, results)}
    made.table(columns)
    return made.encode()


def _column(rows: Sequence[Model], field: str, results: Sequence[Result] | None = None) -> Array:
    """A number of each model: as printed, or as in the `results`, NaN where there is none yet."""
    found = [getattr(row, field) for row in (rows if results is None else results)]
    return np.array([*found, *[np.nan] * (len(rows) - len(found))])


def _base_line(spec: RealDataSpec, column: int) -> float | None:
    """The error of a constant prediction: of these rows, or of all clients where the rows are not here."""
    if analysis.is_here(spec):
        return protocol.constant(protocol.published(spec))[1 - column]
    return float(binary_entropy(protocol.BASE_RATE)) if protocol.identity(spec) == "credit" else None


def line(model: Model, result: Result | None, top: float) -> str:
    """A model in words: what was printed, and what came out here."""
    theirs = {"letter": model.letter, "name": model.name, "test": model.test, "train": model.train}
    words = WORDS.phrase("published.printed", seconds=number(model.seconds), **theirs)
    if max(model.test, model.train) > top:
        words += " " + WORDS.phrase("published.off")
    if result is None:
        return f"{words}; {WORDS.phrase('published.not_yet')}"
    words += "; " + WORDS.phrase("published.ours", test=result.test, train=result.train, seconds=number(result.seconds))
    if np.isfinite(result.rhat):
        words += ", " + WORDS.phrase("published.sampled", rhat=result.rhat, divergent=100 * result.divergent)
    return words
