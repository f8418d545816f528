"""Tests that the lessons on neurons and on layers share: what the family makes of a lesson's spec."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from app.kit.player.scene import MAX_FRAMES, decode
from engine import jumps
from engine.judge.shares import shares_check
from lessons.families.growing.chains import BEGINNING, Growth, begin, checkpoints, exact_now, first_look, study, timeline
from lessons.families.growing.checks import ledger_check
from lessons.families.growing.controls import on_event, own_copy
from lessons.families.growing.evidence import EVIDENCE, shared_evidence
from lessons.families.growing.panels import accepts, diagnostics, panels
from lessons.families.growing.plane import LN2, plane
from lessons.families.growing.scenes import FEWEST, grow, picture
from lessons.families.growing.spec import CHAINS, MAX_SWEEPS, GrowingSpec
from tests.lessons.pages import MOST_BYTES, Job


def panel_of(header: dict, id: str) -> dict:
    return next(panel for panel in header["panels"] if panel["id"] == id)


def growing_in_pieces_gives_the_same_bytes(spec: GrowingSpec) -> None:
    whole, pieces = Growth(spec).advance(10**9), Growth(spec)
    for sweeps in (1, 2, 9, 33, 10**9):
        pieces.advance(sweeps)
    assert whole.done and picture(whole) == picture(pieces)


def maps_average_all_networks_of_all_sizes(spec: GrowingSpec) -> None:
    done = Growth(spec).advance(10**9)
    again = begin(spec.replace(burn=0), spec.sweeps)  # type: ignore[arg-type]
    again.advance(again.total)
    recording = again.recording()
    kept = {name: getattr(recording, name)[:, done.burn :] for name in ("width", "depth", "draws")}
    late = type(recording)(**{**vars(recording), **kept})
    right = jumps.uncertainty(late, plane())
    maps = done.maps()
    assert maps.counts[-1] == CHAINS * (spec.sweeps - done.burn)
    for cells, values, high in ((maps.mean, right.mean[:, 1], 1.0), (maps.epistemic, right.epistemic, LN2)):
        assert np.abs(cells[-1].ravel().astype(int) - np.round(255 * values / high)).max() <= 1
    header, arrays = decode(picture(done))
    [drawn] = [layer for layer in panel_of(header, "epistemic")["layers"] if layer["kind"] == "heatmap"]
    cells = arrays[drawn["frames"]].reshape(maps.epistemic.shape)
    assert cells.max() > 255 / 2 or drawn["high"] == LN2 / 4, "the scale fits what it shows"
    assert cells[-1] * drawn["high"] == pytest.approx(maps.epistemic[-1] * LN2)


def traces_are_those_of_the_average(spec: GrowingSpec) -> None:
    """Points right and loss of all networks so far, on their points and on others of the same clouds, from the draws."""
    growth = Growth(spec).advance(10**9)
    scores, recording, others = growth.scores(), growth.run.recording(), spec.held_out()
    assert others is not None and len(others[1]) == 200 and not np.isin(others[0], growth.x).any()
    for whose, (x, y) in {"average": spec.data_set(), "held": others}.items():
        right = jumps.uncertainty(recording.after(growth.burn), x).mean
        assert scores[whose].right[-1] == pytest.approx(100 * (right.argmax(axis=1) == y).mean())
        assert scores[whose].loss[-1] == pytest.approx(-np.log(right[np.arange(len(y)), y]).mean())
        first = jumps.uncertainty(recording.after(spec.sweeps - 1), x).mean  # the last sweep alone is not what is told
        assert scores[whose].loss[-1] != pytest.approx(-np.log(first[np.arange(len(y)), y]).mean())
    header, arrays = decode(picture(growth))
    drawn = [arrays[layer["ys"]][-1] for layer in panel_of(header, "right")["layers"] if layer["kind"] == "line"]
    assert drawn == pytest.approx([scores[whose].right[-1] for whose in ("average", "held")], rel=1e-5)
    own = spec.replace(data="points", points=((-0.5, -0.5, 0), (0.5, -0.5, 1)))
    assert set(Growth(own).advance(5).scores()) == {"average"}  # type: ignore[arg-type]


def timeline_and_maps_are_few() -> None:
    for sweeps in (50, 200, 1000, MAX_SWEEPS):
        times = timeline(sweeps)
        assert times[0] == 1 and times[-1] == sweeps and (np.diff(times) > 0).all() and len(times) <= 450
        for burn in (0, 10, sweeps // 2):
            at = checkpoints(burn, sweeps)
            assert at[0] == 1 and at[-1] == sweeps and (np.diff(at) > 0).all() and len(at) <= MAX_FRAMES


def the_picture_says_what_happened(spec: GrowingSpec) -> None:
    growth = first_look(spec)
    blob = picture(growth)
    assert len(blob) <= MOST_BYTES
    header, arrays = decode(blob)
    recording = growth.run.recording()
    sizes = getattr(recording, spec.grows)
    assert header["steps"] == growth.sweeps
    layer = panel_of(header, "network")["layers"][0]
    hidden = slice(2, sum(layer["sizes"]) - 2)
    chain = spec.shown - 1
    units = recording.width[chain].astype(int) * recording.depth[chain]
    assert np.array_equal(arrays[layer["active"]][:, hidden].sum(axis=1), units)
    bars = arrays[panel_of(header, "ledger")["layers"][0]["values"]]
    total = bars[:, -1]
    ratio = recording.ledger.log_ratio[chain, :, -1]
    inside = np.abs(bars).max(axis=1) < panel_of(header, "ledger")["y"]["high"]
    assert inside.any() and total[inside] == pytest.approx(ratio[inside], abs=1e-3)
    assert bars[inside, :-1].sum(axis=1) == pytest.approx(total[inside], abs=1e-3)
    shares = arrays[panel_of(header, "sizes")["layers"][0]["values"]]
    assert shares.shape == (growth.sweeps, spec.count) and shares.sum(axis=1) == pytest.approx(1.0, abs=1e-5)
    traces = panel_of(header, "size-traces")["layers"]
    assert arrays[traces[CHAINS - 1]["ys"]] == pytest.approx(sizes[chain]), "the chain on the stage"
    table = {column["name"]: arrays[column["values"]] for column in header["table"]}
    assert np.array_equal(table[f"{spec.symbol} after"], sizes[chain])
    assert np.array_equal(table["accepted"] != 0, recording.ledger.accepted[chain, :, -1])


def the_picture_grows_and_ends_beside_the_exact_answer(spec: GrowingSpec) -> None:
    job = Job()
    final = grow(spec, job)
    assert final is not None and len(job.blobs) > 2
    assert max(map(len, [*job.blobs, final])) <= MOST_BYTES
    first, last = (decode(job.blobs[i])[0] for i in (0, -1))
    assert first["run"] == last["run"] and first["total"] > first["steps"] and last["total"] is None
    header, arrays = decode(final)
    exact = exact_now(spec)
    diamonds = next(layer for layer in panel_of(header, "sizes")["layers"] if layer["kind"] == "points")
    assert exact is not None and arrays[diamonds["points"]][:, 1] == pytest.approx(exact.probability, rel=1e-5)
    (few, begun), (before, began), (after, ended) = decode(job.blobs[0]), decode(job.blobs[1]), decode(final)
    assert few["steps"] == before["steps"] == BEGINNING == 1, "it waits for no more"
    traces = [panel_of(each, "size-traces")["layers"] for each in (few, after)]
    lines, later = ([layer for layer in layers if layer["kind"] == "line"] for layers in traces)
    assert len(lines) == max(FEWEST, spec.shown) < CHAINS == len(later) and f"jumps of {len(lines)} chains" in str(few), (
        "nor for all chains"
    )
    goes_on = {(line["role"], line["dash"]): ended[line["ys"]] for line in later}
    for line in lines:
        np.testing.assert_array_equal(begun[line["ys"]], goes_on[line["role"], line["dash"]][:BEGINNING], err_msg=line["role"])
    for old, new in zip(before["table"], after["table"], strict=True):
        np.testing.assert_array_equal(began[old["values"]], ended[new["values"]][:BEGINNING], err_msg=old["name"])


def chains_that_disagree_are_not_held_against_the_exact_answer(spec: GrowingSpec) -> None:
    job = Job()
    final = grow(spec, job)
    assert final is not None and not Growth(spec).advance(spec.sweeps).agree() and exact_now(spec) is None
    assert [layer["kind"] for layer in panel_of(decode(final)[0], "sizes")["layers"]] == ["bars"]


def a_picture_that_nobody_wants_is_not_made(spec: GrowingSpec) -> None:
    job = Job()
    job.cancelled = True
    assert grow(spec, job) is None and job.blobs == []


def what_was_made_before_is_there_at_once(spec: GrowingSpec) -> None:
    class Leaves(Job):
        def __init__(self, after: int) -> None:
            super().__init__()
            self.after = after

        def publish(self, blob: bytes) -> None:
            super().publish(blob)
            self.cancelled = len(self.blobs) == self.after

    before, again = Leaves(after=3), Leaves(after=1)
    grow(spec, before)
    grow(spec, again)
    assert again.blobs == before.blobs[-1:] and decode(again.blobs[0])[0]["steps"] > BEGINNING


def what_is_tried_and_what_lands_is_counted(spec: GrowingSpec) -> None:
    """After the burn-in, of all chains: from the ledger of every jump."""
    growth = Growth(spec).advance(spec.sweeps)
    header, arrays = decode(picture(growth))
    tried, landed = (arrays[layer["values"]][-1] for layer in panel_of(header, "tally")["layers"])
    ledger = growth.run.recording().ledger
    birth, accepted = ledger.move[:, growth.burn :] % 2 == 0, ledger.accepted[:, growth.burn :]
    assert birth.size * tried == pytest.approx([birth.sum(), (~birth).sum()], rel=1e-5)
    assert birth.size * landed == pytest.approx([(birth & accepted).sum(), (~birth & accepted).sum()], rel=1e-5)
    grown = (growth.sizes[:, -1] - growth.sizes[:, growth.burn - 1]).sum()
    assert birth.size * (landed[0] - landed[1]) == pytest.approx(grown, abs=0.1), "what goes up must come down"


def a_long_run_is_small_enough_to_send(spec: GrowingSpec) -> None:
    """The longest run allowed, its size taken from a short one: bytes grow with the steps alone."""
    short, long = (Growth(spec.replace(sweeps=s)).advance(10**9) for s in (100, 200))  # type: ignore[arg-type]
    a, b = (len(picture(growth)) for growth in (short, long))
    steps = len(timeline(MAX_SWEEPS))
    assert b + (steps - 200) * (b - a) / 100 <= MOST_BYTES


def jumps_agree_with_annealing(spec: GrowingSpec) -> None:
    x, y = spec.data_set()
    exact = shared_evidence(spec.network(), x, y).probabilities(spec.log_prior())
    growth = Growth(spec).advance(10**9)
    check = shares_check(growth.sizes[:, growth.burn :], spec.low, lambda: exact, EVIDENCE.islands, spec.symbol)
    assert check.verdict == "pass", check.sentence


def panels_and_tables_say_what_they_show(spec: GrowingSpec) -> None:
    growth = study(spec)
    shares, accepted, fit, *card = panels(spec, None)
    assert "Which points decide?" in [item.title for item in card]
    found = accepts(growth)
    ledger = growth.run.recording().ledger
    late = slice(growth.burn, None)
    births = ledger.move[:, late] % 2 == 0
    assert found.births.sum() == births.sum() and found.deaths.sum() == (~births).sum()
    prob = np.exp(np.minimum(ledger.log_ratio[:, late], 0.0))
    assert np.nansum(found.birth * found.births) == pytest.approx(prob[births].sum())
    assert all(figure.alt and figure.caption for figure in (shares, accepted, fit))
    agree, moves = diagnostics(spec, None)
    assert agree.columns["mean"][0] == pytest.approx(growth.sizes[:, late].mean())
    assert sum(moves.columns["proposed"]) == CHAINS * (growth.total - growth.burn)


def a_stopped_study_is_not_kept(spec: GrowingSpec) -> None:
    stop = threading.Event()
    stop.set()
    fresh = spec.replace(seed=4711)
    with pytest.raises(InterruptedError):
        study(fresh, stop)  # type: ignore[arg-type]
    assert study(fresh).done  # type: ignore[arg-type]


def points_placed_in_the_stage_become_the_data(spec: GrowingSpec) -> None:
    event = {"kind": "points", "panel": "mean", "points": [[0.1234567, -0.5, 1], [0.0, 0.25, 0]]}
    changed = on_event(spec, event)
    assert changed is not None and changed.data == "points" and changed.points == ((0.123, -0.5, 1), (0.0, 0.25, 0))
    assert on_event(spec, {"kind": "click", "panel": "mean"}) is None
    copy = spec.replace(**own_copy(spec))
    x, y = copy.data_set()  # type: ignore[attr-defined]
    assert x == pytest.approx(spec.data_set()[0], abs=6e-4) and np.array_equal(y, spec.data_set()[1])


def the_ledger_is_checked_against_the_run(spec: GrowingSpec) -> None:
    growth = Growth(spec).advance(20)
    assert ledger_check(growth).verdict == "pass"
    recording = growth.run.recording()
    landed = np.flatnonzero(recording.ledger.accepted[spec.shown - 1, :20, -1])
    recording.log_likelihood[spec.shown - 1, landed[-1]] += 1e-6  # a view: the run's own books
    assert ledger_check(growth).verdict == "fail", "a likelihood that is not that of the draw"
    recording.log_likelihood[spec.shown - 1, landed[-1]] -= 1e-6
    recording.ledger.factors[spec.shown - 1, 3, -1, 0] += 1e-6
    assert ledger_check(growth).verdict == "fail", "factors that do not add up"
