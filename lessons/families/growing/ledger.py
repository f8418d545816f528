"""The ledger of a jump, as bars that add up and as arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from app.kit.player.scene import Axis, Panel, Place, Scene, Show
from engine.jumps import FACTORS, MOVES, ArchitectureRecording
from lessons.families.growing.spec import WORDS

Array = NDArray[np.float64]

SHORT = {
    "likelihood": "lik",
    "architecture prior": "p(k)",
    "weight prior": "p(θ)",
    "proposal density": "1/g",
    "slot of the birth": "slot+",
    "slot of the death": "slot−",
    "choice of the move": "d/b",
    "Jacobian": "|J|",
}  # of the ledger's factors, as they stand under bars


class Jumps(NamedTuple):
    """Some jumps of one chain, n of them, one to a sweep, as pictures want them.

    move : (n,), index into `engine.jumps.MOVES`; birth : (n,) bool
    slot : (n,), place of the unit from 0, -1 for layers; before, after : (n,), the size before and the one proposed
    factors : (n, 8), logs by `engine.jumps.FACTORS`; log_ratio, uniform : (n,); accepted : (n,) bool
    parameters : (n, P), what was born or would die, NaN beyond
    """

    move: NDArray[np.int64]
    birth: NDArray[np.bool_]
    slot: NDArray[np.int64]
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    factors: Array
    log_ratio: Array
    uniform: Array
    accepted: NDArray[np.bool_]
    parameters: Array


def jumps_of(recording: ArchitectureRecording, chain: int, sweeps: ArrayLike | None = None, jump: int = -1) -> Jumps:
    """The jump number `jump` (default the last) of each of `sweeps` (default all) of one chain.

    Raises ValueError when the jumps were not recorded.
    """
    ledger = recording.ledger
    rows = np.arange(recording.width.shape[1]) if sweeps is None else np.asarray(sweeps)
    move = ledger.move[chain, rows, jump].astype(np.int64)
    birth = move % 2 == 0
    before = np.where(move < 2, ledger.width[chain, rows, jump], ledger.depth[chain, rows, jump]).astype(np.int64)
    return Jumps(
        move,
        birth,
        ledger.slot[chain, rows, jump].astype(np.int64),
        before,
        before + np.where(birth, 1, -1),
        ledger.factors[chain, rows, jump],
        ledger.log_ratio[chain, rows, jump],
        ledger.uniform[chain, rows, jump],
        ledger.accepted[chain, rows, jump],
        ledger.parameters[chain, rows, jump],
    )


def ledger_panel(
    scene: Scene,
    factors: Array,
    *,
    names: Sequence[str] = tuple(SHORT.values()),
    show: Show | None = None,
    id: str = "ledger",
    title: str = WORDS.phrase("ledger.title"),
    place: Place | None = None,
    height: int = 240,
    reach: float | None = None,
) -> Panel:
    """The logs of a jump's factors (steps, F) as bars, and their sum as the last bar.

    reach : of the axis, both ways, in nats; default: what holds nine of ten factors. Longer bars end in an arrow head.
    """
    bars = np.concatenate([factors, factors.sum(axis=1, keepdims=True)], axis=1)
    sizes = np.abs(bars[np.isfinite(bars)])
    reach = reach or float(np.clip(np.quantile(sizes, 0.9) if sizes.size else 1.0, 2.0, 30.0))
    panel = scene.panel(id, title=title, y=Axis(WORDS.phrase("ledger.axis"), -reach, reach), place=place, height=height)
    return panel.bars(bars, labels=[*names, "log r"], role="likelihood", show=show, label=WORDS.phrase("ledger.bars"))


def merged_slots(jumps: Jumps, size: str = "k") -> tuple[Array, list[str]]:
    """The factors with the two slots as one bar, (n, 7), or without it where there are none, (n, 6); and the names:
    for a panel of half the stage.
    """
    i = FACTORS.index("slot of the birth")
    names = [name.replace("k", size) if name == "p(k)" else name for name in SHORT.values()]
    head, both, tail = jumps.factors[:, :i], jumps.factors[:, i : i + 2].sum(axis=1, keepdims=True), names[i + 2 :]
    rest = jumps.factors[:, i + 2 :]
    if (jumps.slot < 0).all():
        return np.concatenate([head, rest], axis=1), [*names[:i], *tail]
    return np.concatenate([head, both, rest], axis=1), [*names[:i], "slots", *tail]


def ledger_words(scene: Scene, jumps: Jumps, size: str = "k", thing: str = "unit", phases: tuple[str, str, str] | None = None) -> None:
    """The arithmetic of a jump: what was proposed, the sum of the ledger, and the decision; each from its phase on, if
    the scene has `phases` for them.
    """
    F = {name: jumps.factors[:, i] for i, name in enumerate(FACTORS)}
    shows = [Show("at", phase=(phase, None)) for phase in phases] if phases else [Show("at")] * 3
    at_slot = bool((jumps.slot >= 0).any())
    slot: dict[str, Any] = {"slot": jumps.slot + 1} if at_slot else {}
    scene.readout(
        "move",
        WORDS.phrase("ledger.move_at_slot" if at_slot else "ledger.move", thing=thing, size=size),
        birth=jumps.birth,
        before=jumps.before,
        after=jumps.after,
        show=shows[0],
        **slot,
    )
    slots = WORDS.phrase("ledger.slots") if at_slot else ""
    both: dict[str, Any] = {"born": F["slot of the birth"], "died": F["slot of the death"]} if at_slot else {}
    scene.readout(
        "ledger",
        WORDS.phrase("ledger.sum", size=size, slots=slots),
        fit=F["likelihood"],
        prior=F["architecture prior"],
        weights=F["weight prior"],
        density=F["proposal density"],
        choice=F["choice of the move"],
        jacobian=F["Jacobian"],
        total=jumps.log_ratio,
        show=shows[1],
        **both,
    )
    scene.readout(
        "decision",
        WORDS.phrase("ledger.decision"),
        alpha=np.exp(np.minimum(jumps.log_ratio, 0.0)),
        u=jumps.uniform,
        accepted=jumps.accepted,
        show=shows[2],
    )


def accept_table(recording: ArchitectureRecording, burn: int = 0) -> dict[str, list]:
    """Columns: move, proposed, accepted, share in %, for the moves that occurred after `burn` sweeps."""
    asked, granted = (each[:, burn:].sum(axis=(0, 1)) for each in (recording.proposed, recording.jumped))
    rows = [m for m in range(len(MOVES)) if asked[m]]
    return {
        "move": [MOVES[m] for m in rows],
        "proposed": [int(asked[m]) for m in rows],
        "accepted": [int(granted[m]) for m in rows],
        "accepted (%)": [100.0 * granted[m] / asked[m] for m in rows],
    }
