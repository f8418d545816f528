"""From the two runs to the picture: two histograms of k as they grow, the ledger of a jump, and the traces."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.kit import theme
from app.kit.player.scene import Axis, Panel, Scene, Show
from engine.evidence import ModelProbabilities
from engine.jumps.shares import running_shares
from engine.jumps.sweep import ARCHITECTURE, CHOICE, JACOBIAN, LIKELIHOOD, PROPOSAL, SLOT_BIRTH, SLOT_DEATH, WEIGHTS
from lessons.families.growing.ledger import Jumps, jumps_of, ledger_words
from lessons.families.growing.sizes import size_panel, size_traces
from lessons.missing_factor.analysis import (
    BEGINNING,
    GROWS,
    SHOWN,
    Growing,
    Limit,
    first_look,
    known_now,
    limit,
    put_right,
    roughly,
    sizes_of,
    times,
    way_back,
)
from lessons.missing_factor.spec import WORDS, MissingSpec

Array = NDArray[np.float64]

RATE = 12.0  # frames a second
CHUNK, CHUNK_SLOW = 25, 4  # sweeps between two pictures
BARS = {
    "fit": (LIKELIHOOD,),
    "u": (ARCHITECTURE, WEIGHTS, PROPOSAL),
    "slots": (SLOT_BIRTH, SLOT_DEATH),
    "d/b": (CHOICE,),
    "|J|": (JACOBIAN,),
}  # the ledger's factors as bars, those that should cancel in one
REACH = 6.0  # of the ledger's axis, in nats


def scene(spec: MissingSpec, window: int | None) -> bytes:
    """The first sweeps. `window` is not used: a step has no inside here."""
    return picture(first_look(spec), known_now(spec), None)


def grow(spec: MissingSpec, job: Any) -> bytes | None:
    """Both schemes to their last sweep, from a picture of some of their chains on; then the evidence of every k by
    annealing.
    """
    if not job.is_set():  # up to the one that is on the stage: of all of them the picture would take twice as long
        job.publish(picture(Growing(spec, chains=SHOWN + 1).advance(BEGINNING), known_now(spec), None, more=True))
    growing = Growing(spec)
    chunk = CHUNK_SLOW if spec.slow else CHUNK
    while not growing.done and not job.is_set():
        growing.advance(growing.sweeps + (min(chunk, (GROWS - 1) * growing.sweeps) or BEGINNING))
        job.publish(picture(growing, known_now(spec), None, more=not growing.done))
    if job.is_set():
        return None
    known = roughly(spec, job)
    return picture(growing, known, limit(spec, known, job))


def picture(growing: Growing, known: ModelProbabilities | None, tends: Limit | None, *, more: bool = False) -> bytes:
    """The scene of the two runs as far as they have come."""
    return _made(growing, known, tends, more).encode()


def _made(growing: Growing, known: ModelProbabilities | None, tends: Limit | None, more: bool) -> Scene:
    spec, at = growing.spec, times(growing.spec, growing.sweeps)
    scheme, right = growing.scheme.recording(), growing.right.recording()
    rows = {name: running_shares(run.width, 1, spec.highest, spec.burn)[at] for name, run in (("scheme", scheme), ("right", right))}
    jumps = jumps_of(scheme, SHOWN, at)
    wrong = spec.variant != "exact"
    made = Scene(
        run=hashlib.blake2b(repr(spec).encode(), digest_size=12).hexdigest(),
        steps=len(at),
        label=_label(spec, growing.scheme.chains),
        rate=RATE,
        autoplay=True,
        total=len(times(spec, spec.sweeps)) if more else None,
        theme=theme.palette(),
    )
    title = WORDS.phrase("stage.shares_of", scheme=WORDS["titles"][spec.variant]) if wrong else WORDS.phrase("stage.shares")
    place, height = (0, 0, 11, 1 if wrong else 2), 250 if wrong else 420
    beside = None if wrong and spec.data != "none" else known  # where the right one is, may be asked beside this panel
    panel = histogram(made, spec, rows["scheme"], beside, id="sizes", title=title, place=place, height=height, chains=growing.scheme.chains)
    if tends is not None and wrong:
        marks = np.full((len(at), 2), np.nan)
        marks[-spec.highest :] = np.stack([sizes_of(spec), tends.shares], axis=1)  # at the end: it may be asked for
        panel.points(marks, show="upto", shape="ring", role="reject", size=5, label=WORDS.phrase("stage.tends"))
    if wrong:
        title = WORDS.phrase("stage.right")
        histogram(made, spec, rows["right"], known, id="right", title=title, place=(0, 1, 11, 1), height=250, chains=growing.scheme.chains)
    ledger(made, spec, jumps)
    size_traces(
        made,
        at + 1.0,
        scheme.width[:, at].astype(float),
        id="traces",
        title=WORDS.phrase("stage.traces", chains=growing.scheme.chains),
        x=Axis(WORDS.phrase("stage.sweep"), 1, spec.sweeps),
        y=Axis("k", 0.5, spec.highest + 0.5),
        shown=SHOWN,
        place=(11, 1, 9, 1),
        height=250,
    )
    words(made, spec, jumps, at, rows)
    return made


def histogram(
    made: Scene,
    spec: MissingSpec,
    rows: Array,
    known: ModelProbabilities | None,
    *,
    id: str,
    title: str,
    place: tuple[int, int, int, int],
    height: int,
    chains: int,
) -> Panel:
    """Running shares of k (steps, K) of so many chains, and the exact ones: from annealing, or without data the prior."""
    annealed = None if spec.data == "none" else known
    label = WORDS.phrase("stage.bars", chains=chains, burn=spec.burn)
    panel = size_panel(made, rows, 1, exact=annealed, id=id, title=title, label=label, place=place, height=height)
    if spec.data == "none" and known is not None:
        marks = np.stack([sizes_of(spec), known.probability], axis=1)
        panel.points(marks, role="ink", shape="diamond", size=4.5, label=WORDS.phrase("stage.prior"))
    return panel


def ledger(made: Scene, spec: MissingSpec, jumps: Jumps) -> Panel:
    """The factors of the shown chain's jump as coded, and as they should be where that can be computed."""
    panel = made.panel(
        "ledger",
        title=WORDS.phrase("stage.ledger", chain=SHOWN + 1),
        y=Axis(WORDS.phrase("stage.nats"), -REACH, REACH),
        place=(11, 0, 9, 1),
        height=250,
    )
    names = [*BARS, "log r"]
    panel.bars(bars_of(jumps.factors), labels=names, role="likelihood", show="at", label=WORDS.phrase("stage.as_coded"))
    if spec.variant not in ("exact", "no_kernel_densities"):
        label = WORDS.phrase("stage.partly_right") if spec.slow else WORDS.phrase("stage.put_right")
        panel.bars(bars_of(put_right(spec, jumps)), labels=names, role="accept", show="at", label=label)
    return panel


def bars_of(factors: Array) -> Array:
    """Factors (n, 8) as the bars of the ledger (n, 6)."""
    return np.column_stack([*(factors[:, which].sum(axis=1) for which in BARS.values()), factors.sum(axis=1)])


# Words and numbers ----------------------------------------------------------------------------------------------------


def words(made: Scene, spec: MissingSpec, jumps: Jumps, at: NDArray[np.int64], rows: dict[str, Array]) -> None:
    """The arithmetic card, the spoken sentence and the table."""
    sweep, chain = at + 1, np.full(len(at), SHOWN + 1)
    mean = {name: shares @ sizes_of(spec) for name, shares in rows.items()}
    made.readout("sweep", WORDS.phrase("stage.sweep_card"), n=sweep, c=chain)
    ledger_words(made, jumps)
    back, should = way_back(spec, jumps), put_right(spec, jumps)
    left = jumps.log_ratio + back.sum(axis=1)
    if spec.variant == "no_kernel_densities":
        made.readout("missing", WORDS.phrase("stage.missing"))
    elif spec.variant != "exact":
        made.readout(
            "should",
            WORDS.phrase("stage.should_and_densities" if spec.slow else "stage.should"),
            born=should[:, SLOT_BIRTH],
            died=should[:, SLOT_DEATH],
            choice=should[:, CHOICE],
            jacobian=should[:, JACOBIAN],
            total=should.sum(axis=1),
            show=Show("at"),
        )
    made.readout(
        "undo",
        WORDS.phrase("stage.undo"),
        birth=jumps.birth,
        back=back.sum(axis=1),
        left=np.where(np.abs(left) < 1e-9, 0.0, left),
        factor=np.exp(left),
        one=np.abs(left) < 1e-9,
        show=Show("at"),
    )
    made.say(WORDS.phrase("stage.said"), n=sweep, mean=mean["scheme"])
    made.say(
        WORDS.phrase("stage.said_of_chain"), c=chain, birth=jumps.birth, before=jumps.before, after=jumps.after, accepted=jumps.accepted
    )
    made.table(
        {
            "sweep": sweep,
            "birth": jumps.birth,
            "mean k so far, this scheme": mean["scheme"],
            "mean k so far, right scheme": mean["right"],
            f"k before the jump, chain {SHOWN + 1}": jumps.before,
            "k proposed": jumps.after,
            "log r as coded": jumps.log_ratio,
            "log r, factors put right": should.sum(axis=1),
            "log r of the way back": back.sum(axis=1),
            "u": jumps.uniform,
            "accepted": jumps.accepted,
        }
    )


def _label(spec: MissingSpec, chains: int) -> str:
    data = WORDS.phrase(f"stage.data_{spec.data}")
    return WORDS.phrase("stage.picture" if spec.variant == "exact" else "stage.both", highest=spec.highest, data=data, chains=chains)
