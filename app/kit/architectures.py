"""What lessons on growing networks share: the exact probabilities of widths or depths, computed once and kept; the
shares of sizes among draws beside them; and the ledger of a jump, as bars and as arithmetic.

A *size* is a width or a depth. `low` is the smallest one, and K sizes run from there.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from app.kit import charts, theme
from app.kit.charts import Figure
from app.kit.player.scene import Axis, Panel, Place, Scene, Show
from engine import kept, ticket
from engine.diagnostics import ess_mean, rhat
from engine.evidence import (
    ArchitectureEvidence,
    ArchitectureEvidenceRun,
    EvidenceSpec,
    ModelProbabilities,
    group_probabilities,
    model_probabilities,
)
from engine.evidence.run import CORES
from engine.judge import (
    ALONE,
    FIRST,
    MAX_RHAT,
    SECOND,
    Z_LIMIT,
    Average,
    Check,
    averages_check,
    run_checks,
    two_looks,
    unknown,
)
from engine.jumps import FACTORS, MOVES, ArchitectureRecording, ArchitectureRun
from engine.networks import Network
from engine.spec import MAX_SEED
from engine.ticket import Lock

Array = NDArray[np.float64]

BARE_JUMPS = ("plain", "rescaled")  # without moves or bridges inside them
# What lessons can break, in the order of their menus.
SCHEMES = ("exact", "no_jacobian", "no_end_points", "slot_once", "no_kernel_densities", "as_coded")

EVIDENCE = EvidenceSpec(particles=128, islands=8)  # errors of 0.05 to 0.1 nats on XOR
QUICK = EVIDENCE.replace(particles=48, islands=6)  # of 0.3, a quarter of the work: for an answer at once
DEEP_MOVES = 20  # with more than one hidden layer particles move less in a level: fewer would miss what is hard to find
LEAST_MASS = 0.005  # sizes with less probability are not judged …
LEAST_VISITS = 25.0  # … nor those of fewer effective draws: their number is not normal
SURE = 0.05  # an exact probability with a larger error judges nothing
RESOLVED = 0.25  # of a share: a check that would not see it off by so much passes nothing
LATER = 1_000_003  # added to a seed for a second look
HELD = 2.0  # standard errors that an error bar reaches each way

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


# The exact answer -----------------------------------------------------------------------------------------------------


class _Evidence:
    """A run, advanced by whoever needs it."""

    def __init__(self, run: ArchitectureEvidenceRun):
        self.run, self.lock = run, Lock()


def evidence(
    network: Network,
    x: ArrayLike,
    y: ArrayLike,
    *,
    scale_by_width: bool = False,
    spec: EvidenceSpec = EVIDENCE,
    cancel: threading.Event | None = None,
    report: Callable[[int, int], None] | None = None,
) -> ArchitectureEvidence:
    """log p(y | x, architecture) for every width and depth of `network`, as `engine.evidence.architecture_evidence`.

    Of `spec`, the moves are `DEEP_MOVES` at least where there can be more than one hidden layer.

    Computed once in a process and kept; callers who want the same at the same time share the work, and one that stops
    leaves what is done to the next.

    cancel : once set, InterruptedError is raised; report : called with (pieces done, pieces in all)
    Raises SpecError or TargetError as the engine does.
    """
    shared = kept.store.make(
        _key(network, x, y, scale_by_width, spec),
        lambda: _Evidence(
            ArchitectureEvidenceRun(network, x, y, _deep_enough(network, spec), scale_by_width=scale_by_width)
        ),
    )
    while True:
        if cancel is not None and cancel.is_set():
            raise InterruptedError
        with shared.lock:
            if shared.run.done:
                return shared.run.result()
            shared.run.advance(CORES)
        if report is not None:
            report(shared.run.completed, shared.run.total)


def finished_evidence(
    network: Network, x: ArrayLike, y: ArrayLike, *, scale_by_width: bool = False, spec: EvidenceSpec = EVIDENCE
) -> ArchitectureEvidence | None:
    """What `evidence` would give, if it is there already; computes nothing."""
    shared = kept.store.get(_key(network, x, y, scale_by_width, spec))
    return shared.run.result() if shared is not None and shared.run.done else None


def quick_evidence(
    network: Network, x: ArrayLike, y: ArrayLike, *, spec: EvidenceSpec = EVIDENCE
) -> ArchitectureEvidence:
    """What `evidence` of `spec` has found, if it is there; else a rougher estimate, whose error says how rough."""
    return finished_evidence(network, x, y, spec=spec) or evidence(network, x, y, spec=QUICK)


def _key(network: Network, x: ArrayLike, y: ArrayLike, scale_by_width: bool, spec: EvidenceSpec) -> tuple:
    return _Evidence, network, np.asarray(x).tobytes(), np.asarray(y).tobytes(), scale_by_width, spec


def _deep_enough(network: Network, spec: EvidenceSpec) -> EvidenceSpec:
    return spec if _highest(network.depth) < 2 else spec.replace(moves=max(spec.moves, DEEP_MOVES))


def exact_shares(found: ArchitectureEvidence, log_prior: ArrayLike | None = None) -> ModelProbabilities:
    """p(size | y) and its standard error, both (K,), of architectures that differ in one size.

    log_prior : (K,), as `engine.jumps.settings.log_size_prior` makes it; default all the same
    """
    return model_probabilities(found.log_evidence, found.error, log_prior)


def group_shares(
    found: ArchitectureEvidence, groups: ArrayLike, log_prior: ArrayLike | None = None
) -> ModelProbabilities:
    """Probability of groups of sizes and its standard error, both (G,).

    groups : (K,), the group of each size, from 0
    """
    return group_probabilities(groups, found.log_evidence, found.error, log_prior)


UNSURE = -1  # the answer to a question that cannot be told yet


def leader(values: ArrayLike, errors: ArrayLike) -> int:
    """The place of the largest of `values` (G,), if it leads every other by `Z_LIMIT` standard errors; else UNSURE.
    The values may depend on each other: errors are added, not squared first.
    """
    v, e = np.asarray(values, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    first = int(v.argmax())
    others = np.arange(len(v)) != first
    return first if np.all(v[first] - v[others] > Z_LIMIT * (e[first] + e[others])) else UNSURE


def mode_band(exact: ModelProbabilities, low: int, bands: Sequence[tuple[int, int]]) -> int:
    """Which of `bands`, each (first size, last size), holds the most probable size, if that is sure; else UNSURE."""
    sizes = low + np.arange(len(exact.probability))
    inside = [(sizes >= first) & (sizes <= last) for first, last in bands]
    tops = [int(np.where(here, exact.probability, -1.0).argmax()) for here in inside]
    held = [band for band, here in enumerate(inside) if here.any()]
    first = leader(*([values[tops[band]] for band in held] for values in exact))
    return UNSURE if first == UNSURE else held[first]


def jackknife(estimate: Callable[[NDArray[np.int64]], float], chains: int) -> tuple[float, float]:
    """What `estimate` says of all independent chains (it takes their numbers), and its standard error from leaving out
    one chain at a time.
    """
    every = np.arange(chains)
    each = np.array([estimate(every[every != c]) for c in range(chains)])
    return estimate(every), float(np.sqrt((chains - 1) * each.var()))


def side(difference: float, error: float, close: float) -> int:
    """0 where a difference is above `close`, 1 within ± `close`, 2 below, if its error leaves no doubt; else UNSURE."""
    if not abs(abs(difference) - close) >= Z_LIMIT * error:  # nor if either is no number
        return UNSURE
    return 1 if abs(difference) < close else 0 if difference > 0 else 2


# The draws ------------------------------------------------------------------------------------------------------------


class Shares(NamedTuple):
    """Shares of K sizes among draws. mean, mcse, ess : (K,); rhat : of the sizes themselves.

    mcse and ess are NaN for a size never visited.
    """

    mean: Array
    mcse: Array
    ess: Array
    rhat: float


def shares(sizes: ArrayLike, low: int, count: int) -> Shares:
    """How often each of low..low + count - 1 occurs in `sizes` (chains, draws), and how sure that is."""
    drawn = np.asarray(sizes)
    mean, ess = np.zeros(count), np.full(count, np.nan)
    for k in range(count):
        seen = (drawn == low + k).astype(np.float64)
        mean[k] = seen.mean()
        if 0.0 < mean[k] < 1.0:
            ess[k] = ess_mean(seen)
    return Shares(mean, np.sqrt(mean * (1.0 - mean) / ess), ess, rhat(drawn.astype(np.float64)))


def running_shares(sizes: ArrayLike, low: int, count: int, burn: int = 0) -> Array:
    """Shares of the sizes among all chains' draws so far, (draws, count): row t counts draws burn..t of `sizes`
    (chains, draws), and before the burn-in ends draw t alone.
    """
    drawn = np.asarray(sizes)
    each = (drawn[:, :, None] == np.arange(low, low + count)).mean(axis=0)
    result = each.copy()
    if burn < len(each):
        n = np.arange(1, len(each) - burn + 1)
        result[burn:] = np.cumsum(each[burn:], axis=0) / n[:, None]
    return result


def after(recording: ArchitectureRecording, burn: int) -> ArchitectureRecording:
    """The same draws without the first `burn` of each chain, and without the ledger."""
    shape = recording.width.shape
    cut = {
        name: each[:, burn:]
        for name, each in vars(recording).items()
        if isinstance(each, np.ndarray) and each.shape[:2] == shape and not name.startswith("start")
    }
    return dataclasses.replace(recording, transitions=None, **cut)


def advanced(run: ArchitectureRun, cancel: Any = None, at_once: int = 10) -> ArchitectureRecording:
    """The run at its end. Raises InterruptedError when cancelled, and as `engine.ticket.look`."""
    while not run.done:
        ticket.look()
        if cancel is not None and cancel.is_set():
            raise InterruptedError
        run.advance(at_once)
    return run.recording()


def shares_looks(
    chains: Callable[[int, int, int], ArchitectureRecording],
    seed: int,
    low: int,
    exact: Callable[[int], ModelProbabilities],
    name: str = "k",
) -> list[Check]:
    """What chains say of themselves, and `two_looks` at the shares of their sizes, each with chains and exact answer of
    its own.

    chains : `f(seed, number, work)`, draws after the burn-in, for look `number`, `work` times as long as the first
    exact : `f(number)`, the exact probabilities, by random numbers that differ by `number`
    """
    first = chains(seed, 1, 1)

    def look(number: int, work: int) -> Check:
        found = first if number == 1 else chains((seed + LATER) % (MAX_SEED + 1), number, work)
        varied = found.width if isinstance(found.run.network.width, tuple) else found.depth
        return shares_check(varied, low, lambda: exact(number), name, FIRST if number == 1 else SECOND)

    return [*run_checks(first), two_looks(look)]


def shares_check(
    sizes: ArrayLike, low: int, exact: Callable[[], ModelProbabilities], name: str = "k", level: float = ALONE
) -> Check:
    """Do the sizes of the draws (chains, draws) have their exact probabilities, within both errors? Judged for each
    size of at least `LEAST_MASS` and `LEAST_VISITS`.

    exact : gives them; not asked where the chains disagree, for it may take long. name : of the size. level : p-value
    below which it fails. The error of annealing is known from few islands, so its tails are Student's; it counts as
    much more as they ask for at that level.
    """
    drawn = np.asarray(sizes)
    title, disagreement = f"p({name} | data)", rhat(drawn.astype(np.float64))
    if not disagreement <= MAX_RHAT:
        words = f"The chains do not agree on {name} yet (R-hat {disagreement:.2f}): their shares are no answer."
        return unknown(title, words, kind="numbers", unit="MCSE")
    known = exact()
    p, found = known.probability, shares(drawn, low, len(known.probability))
    likely = np.maximum(p, found.mean)
    slowest = ess_mean(drawn.astype(np.float64))  # a size seldom visited seems to mix better than it does
    judged = np.flatnonzero((likely >= LEAST_MASS) & (likely * slowest >= LEAST_VISITS))
    vague = [low + k for k in judged if not known.error[k] <= SURE]
    if vague:
        words = f"Annealing does not know the probability of {name} = {vague[0]} well enough itself."
        return unknown(title, words, kind="numbers", unit="MCSE")
    heavier = _heavier(level / max(1, len(judged)), EVIDENCE.islands - 1)
    averages = [
        Average(
            f"the share of {name} = {low + k}",
            (drawn == low + k).astype(np.float64),
            float(p[k]),
            float(np.sqrt(likely[k] * (1.0 - likely[k]))),
            slowest,
            error=heavier * float(known.error[k]),
        )
        for k in judged
    ]
    check = averages_check(title, averages, level=level)
    if check.verdict == "unknown" or not known.error.any():
        return check
    seen = [abs(check.limit) * np.hypot(a.sd / np.sqrt(slowest), a.error) for a in averages]  # type: ignore[operator]
    if check.verdict == "pass" and max(seen) > RESOLVED:
        words = f"Annealing and chains are too rough to see a share of {name} that is off by {RESOLVED:.0%}."
        return unknown(title, words, kind="numbers", unit="MCSE")
    return dataclasses.replace(check, sentence=f"{check.sentence} The true share is by annealing; its error counts.")


def _heavier(p: float, freedom: int) -> float:
    """By how much more Student's errors are surpassed than normal ones with the probability p."""
    from scipy.special import ndtri, stdtrit

    return float(stdtrit(freedom, 0.5 * p) / ndtri(0.5 * p))


# Pictures of sizes ----------------------------------------------------------------------------------------------------


def size_panel(
    scene: Scene,
    rows: Array,
    low: int,
    *,
    exact: ModelProbabilities | None = None,
    name: str = "hidden units k",
    id: str = "sizes",
    title: str = "Share of each k so far",
    label: str = "draws of all chains so far",
    place: Place | None = None,
    height: int = 240,
) -> Panel:
    """Bars of running shares `rows` (steps, K), and the exact probabilities with their error bars once known."""
    count = rows.shape[1]
    sizes = np.arange(low, low + count)
    top = max(float(rows[len(rows) // 2 :].max(initial=0.1)), 0.0 if exact is None else float(exact.probability.max()))
    panel = scene.panel(
        id,
        title=title,
        x=Axis(name, low - 0.5, low + count - 0.5),
        y=Axis("probability", 0.0, min(1.25 * top, 1.04)),
        place=place,
        height=height,
    )
    panel.bars(rows, labels=[str(size) for size in sizes], role="posterior", label=label)
    if exact is not None:
        p, (down, up) = exact.probability, _reach(exact)
        bars = np.stack(
            [np.stack([sizes, p - down], 1), np.stack([sizes, p + up], 1), np.full((count, 2), np.nan)], axis=1
        )
        panel.path(bars.reshape(-1, 2), role="ink", width=2.0)
        label = f"exact, by annealing; bars: ± {HELD:g} standard errors"
        panel.points(np.stack([sizes, p], axis=1), show="all", role="ink", shape="diamond", size=4.5, label=label)
    return panel


def _reach(exact: ModelProbabilities) -> tuple[Array, Array]:
    """How far error bars go down and up, (K,) each: no probability is outside [0, 1]."""
    p, e = exact.probability, HELD * exact.error
    return np.minimum(e, p), np.minimum(e, 1.0 - p)


def size_figure(
    title: str,
    drawn: Shares,
    low: int,
    *,
    exact: ModelProbabilities | None = None,
    prior: Array | None = None,
    name: str = "hidden units k",
    caption: str = "",
) -> Figure:
    """Shares of sizes among draws beside the exact probabilities, both with bars of ± 2 standard errors, and the
    prior (K,).
    """
    count = len(drawn.mean)
    sizes = [str(size) for size in range(low, low + count)]
    figure = charts.blank(name, "probability")
    spread = {"type": "data", "color": theme.colour("muted"), "thickness": 1.5}
    figure.add_bar(
        x=sizes, y=drawn.mean, name="jumps", marker={"color": theme.colour("posterior", 0.75)},
        error_y={**spread, "array": HELD * np.nan_to_num(drawn.mcse)},
    )  # fmt: skip
    if prior is not None:
        line = {"color": theme.colour("prior"), "dash": "dot", "width": 2}
        figure.add_scatter(x=sizes, y=prior, mode="lines", line=line, name="prior")
    if exact is not None:
        marker = {"symbol": "diamond-open", "size": 9, "color": theme.colour("ink"), "line": {"width": 2}}
        down, up = _reach(exact)
        figure.add_scatter(
            x=sizes, y=exact.probability, mode="markers", marker=marker, name="exact (annealing)",
            error_y={**spread, "color": theme.colour("ink"), "arrayminus": down, "array": up, "symmetric": False},
        )  # fmt: skip
    listed = [f"{size}: {p:.3f}" for size, p in zip(sizes, drawn.mean, strict=True) if p >= LEAST_MASS]
    alt = f"Share of each number of {name} among the draws. {', '.join(listed)}."
    if exact is not None:
        listed = [f"{size}: {p:.3f}" for size, p in zip(sizes, exact.probability, strict=True) if p >= LEAST_MASS]
        alt += f" Exact: {', '.join(listed)}."
    return Figure(title, figure, alt, caption)


def size_traces(
    scene: Scene,
    at: Array,
    values: Array,
    *,
    id: str,
    title: str,
    y: Axis,
    x: Axis | None = None,
    shown: int | None = None,
    place: Place | None = None,
    height: int = 200,
) -> Panel:
    """One thin line a chain, drawn up to the cursor: `values` (chains, steps) against `at` (steps,). The chain number
    `shown` stands out.
    """
    x = x or Axis("sweep", float(at[0]), float(at[-1]))
    panel = scene.panel(id, title=title, x=x, y=y, place=place, height=height)
    for c, series in enumerate(values):
        if c != shown:
            role = f"chain-{c % len(theme.MARKERS)}"
            panel.line(at, series, show="upto", role=role, width=1.0, alpha=0.55, dash=c >= len(theme.MARKERS))
    if shown is not None:
        panel.line(at, values[shown], show="upto", role="ink", width=2.4, label=f"chain {shown + 1}, on the stage")
    return panel


# The ledger -----------------------------------------------------------------------------------------------------------


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
    title: str = "The ledger: bars that add up to log r",
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
    panel = scene.panel(id, title=title, y=Axis("log factor (nats)", -reach, reach), place=place, height=height)
    return panel.bars(bars, labels=[*names, "log r"], role="likelihood", show=show, label="log of each factor, and sum")


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


def ledger_words(
    scene: Scene, jumps: Jumps, size: str = "k", thing: str = "unit", phases: tuple[str, str, str] | None = None
) -> None:
    """The arithmetic of a jump: what was proposed, the sum of the ledger, and the decision; each from its phase on, if
    the scene has `phases` for them.
    """
    F = {name: jumps.factors[:, i] for i, name in enumerate(FACTORS)}
    shows = [Show("at", phase=(phase, None)) for phase in phases] if phases else [Show("at")] * 3
    place = " at slot {slot:d}" if (jumps.slot >= 0).any() else ""
    scene.readout(
        "move",
        "{birth?birth:death} of a " + thing + place + ": " + size + " = {before:d} → {after:d}",
        birth=jumps.birth, before=jumps.before, after=jumps.after, show=shows[0],
        **({"slot": jumps.slot + 1} if place else {}),
    )  # fmt: skip
    slots = "slots {born:+.2f} {died:+.2f}, " if place else ""
    scene.readout(
        "ledger",
        "log r = likelihood {fit:+.2f}, p(" + size + ") {prior:+.2f}, p(θ) {weights:+.2f}, 1/g(u) {density:+.2f}, "
        + slots + "d/b {choice:+.2f}, |J| {jacobian:+.2f} = {total:+.2f}",
        fit=F["likelihood"], prior=F["architecture prior"], weights=F["weight prior"], density=F["proposal density"],
        choice=F["choice of the move"], jacobian=F["Jacobian"], total=jumps.log_ratio, show=shows[1],
        **({"born": F["slot of the birth"], "died": F["slot of the death"]} if place else {}),
    )  # fmt: skip
    scene.readout(
        "decision",
        "α = min(1, r) = {alpha:.3g}, u = {u:.3f}: {accepted?accepted, u < α:rejected, u ≥ α}",
        alpha=np.exp(np.minimum(jumps.log_ratio, 0.0)), u=jumps.uniform, accepted=jumps.accepted, show=shows[2],
    )  # fmt: skip


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


# The network ----------------------------------------------------------------------------------------------------------


class Drawn(NamedTuple):
    """The larger network of each of n jumps, padded to the largest architecture, as `Panel.network` wants it.

    sizes : units of each layer; weights : (n, W), NaN where there is none
    before, proposed, active : (n, units) bool, the units that were there, would be there, and are there after the jump
    """

    sizes: list[int]
    weights: Array
    before: NDArray[np.bool_]
    proposed: NDArray[np.bool_]
    active: NDArray[np.bool_]


def drawn_networks(recording: ArchitectureRecording, chain: int, sweeps: ArrayLike, jumps: Jumps) -> Drawn:
    """The networks of one chain at the jumps `jumps_of(recording, chain, sweeps)`.

    A jump leaves the weights of the larger network behind: the draw itself, or the draw and what died or was not born.
    """
    network = recording.run.network
    widest, deepest = _highest(network.width), _highest(network.depth)
    sizes = [network.inputs, *[widest] * deepest, network.outputs]
    rows = []
    for i, t in enumerate(np.asarray(sweeps)):
        width, depth = int(recording.width[chain, t]), int(recording.depth[chain, t])
        larger = int(max(jumps.before[i], jumps.after[i]))
        width, depth = (larger, depth) if jumps.move[i] < 2 else (width, larger)
        theta, slot = recording.theta(chain, int(t)), int(jumps.slot[i])
        new = born_unit(recording.network(width, depth), slot)
        if len(theta) < new.size:
            whole = np.empty(new.size)
            whole[new], whole[~new] = jumps.parameters[i, : new.sum()], theta
            theta = whole
        there = _there(sizes, width, depth)
        less = _there(sizes, width, depth - 1) if slot < 0 else there.copy()
        if slot >= 0:
            less[[sum(sizes[:layer]) + slot for layer in range(1, depth + 1)]] = False
        before, proposed = (less, there) if jumps.birth[i] else (there, less)
        weights = padded_weights(recording.network(width, depth), theta, sizes)
        rows.append((weights, before, proposed, proposed if jumps.accepted[i] else before))
    return Drawn(sizes, *(np.stack(column) for column in zip(*rows, strict=True)))


def network_panel(
    scene: Scene,
    drawn: Drawn,
    *,
    labels: Sequence[Sequence[str] | None] | None = None,
    phase: str | None = None,
    id: str = "network",
    title: str = "The network: what is born fades in, what dies fades out",
    place: Place | None = None,
    height: int = 280,
) -> Panel:
    """The network of each step, its units coming and going. `labels` : of each layer, as `Panel.network`; `phase` : of
    the proposal.
    """
    panel = scene.panel(id, title=title, place=place, height=height)
    return panel.network(
        drawn.sizes, drawn.weights, labels=labels, active=drawn.active, before=drawn.before, proposed=drawn.proposed,
        phase=phase,
    )  # fmt: skip


def _highest(size: int | tuple[int, int]) -> int:
    return size if isinstance(size, int) else size[1]


def born_unit(network: Network, slot: int) -> NDArray[np.bool_]:
    """Which parameters (dim,) of one architecture belong to the unit at `slot` of every hidden layer; with a slot of
    -1, to the last hidden layer.
    """
    new = np.zeros(network.dim)
    layers = network.unpack(new)  # views
    if slot < 0:
        for part in layers[-2]:
            part[...] = 1.0
        return new > 0.0
    for weights, biases in layers[:-1]:
        weights[slot], biases[slot] = 1.0, 1.0
    for weights, _ in layers[1:]:
        weights[:, slot] = 1.0
    return new > 0.0


def _there(sizes: list[int], width: int, depth: int) -> NDArray[np.bool_]:
    """The units (units,) of one architecture among those of the largest."""
    layers = [np.arange(size) < (width if 0 < layer <= depth else 0) for layer, size in enumerate(sizes)]
    layers[0][:] = layers[-1][:] = True
    return np.concatenate(layers)


def padded_weights(network: Network, theta: Array, sizes: list[int]) -> Array:
    """The parameters of one architecture at their places in the largest; NaN elsewhere."""
    layers = network.unpack(theta)
    parts = []
    for layer, (n_in, n_out) in enumerate(pairwise(sizes)):
        weights, biases = np.full((n_out, n_in), np.nan), np.full(n_out, np.nan)
        own = len(layers) - 1 if layer == len(sizes) - 2 else layer
        if own == len(layers) - 1 and layer < len(sizes) - 2:
            own = len(layers)  # a hidden layer that this architecture does not have
        if own < len(layers):
            rows, columns = layers[own][0].shape
            weights[:rows, :columns], biases[:rows] = layers[own]
        parts += [weights.ravel(), biases]
    return np.concatenate(parts)
