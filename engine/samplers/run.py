"""Running chains: start, advance in chunks, record, replay."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from engine.kept import lazy
from engine.recording import Recording, Warmup
from engine.resumable import Resumable
from engine.samplers.adaptation import AdaptationTrace
from engine.samplers.chain import Array, Chain, Trace, start_chain
from engine.samplers.delayed_rejection import DelayedRejection
from engine.samplers.gibbs import Gibbs
from engine.samplers.hmc import Hmc
from engine.samplers.metropolis import Metropolis
from engine.samplers.nuts import Nuts
from engine.samplers.slice_sampling import SliceSampling
from engine.slices import StaysHere
from engine.spec import MAX_SEED, SpecError
from engine.targets.target import Target

METHODS: dict[str, Any] = {
    "metropolis": Metropolis,
    "delayed_rejection": DelayedRejection,
    "hmc": Hmc,
    "nuts": Nuts,
    "gibbs": Gibbs,
    "slice_sampling": SliceSampling,
}
DETAILS = ("draws", "transitions")
OPTIONAL = ("energy", "tree_depth", "tree_ending", "step_size")  # arrays of `Trace` that only some methods write
MAX_BYTES = 4 * 2**30  # of one recording


class Method(Protocol):
    """What a sampler offers: see `Metropolis` and `Hmc`.

    One that tunes itself also has `begin(target, chain, warmup) -> evaluations spent`, called once before the first
    transition, and `advance` writes down what it has learnt where it is told to: see `Nuts`.
    """

    name: ClassVar[str]
    label: ClassVar[str]  # as sentences name it
    faults: ClassVar[tuple[str, ...]]  # its wrong variants, and integrators, which the judge can plant
    records: ClassVar[tuple[str, ...]]  # which optional arrays of `Trace` it fills

    def prepare(self, target: Target) -> tuple[Any, ...]: ...

    def transitions(self, chains: int, n: int, dim: int) -> Any: ...

    def advance(self, target: Target, settings: Any, chain: Chain, n: int, trace: Trace, inside: Any) -> None: ...


class Run(Resumable):
    """Chains of one method on one target, advanced as far as asked.

    Chain c of a seed is the same whatever the number of chains, the chunking and the thread.

    Parameters are those of `engine.sample`. `advance(n)` runs n more transitions of every chain, warm-up first;
    `recording()` returns what is there.
    `keep_warmup` keeps the warm-up transitions and what was learnt in them; `adapt`, default all of `warmup`, is how
    many of them may tune the sampler.
    """

    _carries = ("_chains", "_warmup_evaluations", "_start", "_start_log_density")
    _writes = ("_trace", "_inside")

    def __init__(
        self,
        target: Target,
        method: Method,
        *,
        chains: int,
        draws: int,
        warmup: int = 0,
        seed: int = 0,
        init: ArrayLike | None = None,
        detail: str = "draws",
        first_chain: int = 0,
        keep_warmup: bool = False,
        adapt: int | None = None,
    ):
        self.chains = whole_number("chains", chains, 1)
        self.draws = whole_number("draws", draws, 1)
        self.warmup = whole_number("warmup", warmup, 0)
        self.seed = whole_number("seed", seed, 0, MAX_SEED)
        if detail not in DETAILS:
            raise SpecError("detail", f"{detail!r} is not one of {', '.join(DETAILS)}")
        self.target, self.method, self.detail, self.init, self.first_chain = target, method, detail, init, first_chain
        self.adapt = self.warmup if adapt is None else adapt
        self._settings = method.prepare(target)
        inside_rows = self._inside_rows()
        _check_memory(method, self.chains, self.draws + (self.warmup if keep_warmup else 0), inside_rows, target.dim)

        positions = _initial_positions(init, first_chain + self.chains, target.dim)
        seeds = np.random.SeedSequence(self.seed).spawn(first_chain + self.chains)
        started = [start_chain(target, seeds[c], positions[c]) for c in range(first_chain, first_chain + self.chains)]
        self._chains = [chain for chain, _ in started]
        self._warmup_evaluations = np.array([evaluations for _, evaluations in started])
        begin = getattr(method, "begin", None)
        if begin is not None:
            self._warmup_evaluations += [begin(target, chain, self.adapt) for chain in self._chains]
        self._warm_trace = Trace.empty(self.chains, self.warmup, target.dim, method.records) if keep_warmup else None
        self._adaptation: AdaptationTrace | None = None
        if keep_warmup and begin is not None:
            self._adaptation = AdaptationTrace.empty(self.chains, self.warmup, self._chains[0].adaptation, target.dim)
            for c, chain in enumerate(self._chains):
                self._adaptation.write(c, 0, chain.adaptation)
        self._make_room()
        self._start = np.stack([chain.position.copy() for chain in self._chains])
        self._start_log_density = np.array([chain.running[0] for chain in self._chains])
        self._load_kernel()

    def _inside_rows(self) -> int:
        return self.draws if self.detail == "transitions" else 0

    def _make_room(self) -> None:
        self._trace = Trace.empty(self.chains, self.draws, self.target.dim, self.method.records)
        self._inside = self.method.transitions(self.chains, self._inside_rows(), self.target.dim)

    def _one_chain(self) -> Run:
        if self._warm_trace is not None:
            raise StaysHere("what is learnt in a warm-up is written down here")
        other = super()._one_chain()
        assert isinstance(other, Run)
        other.target, other.init = self.target.bare(), None
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_settings"}  # they hold addresses

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._settings = self.method.prepare(self.target)

    @property
    def adaptation(self) -> Array:
        """What the first chain has learnt in its warm-up, as its kernel reads it; empty for methods that learn
        nothing. A copy.
        """
        return self._chains[0].adaptation.copy()

    def _load_kernel(self) -> None:
        """Compile the kernel, or load it from the cache, before the clock runs: no transition is made."""
        rows = Trace.empty(1, 0, self.target.dim, self.method.records).at(0)
        self.method.advance(self.target, self._settings, self._chains[0], 0, rows, self._no_inside)

    @lazy
    def _no_inside(self) -> Any:
        """Room for the inside of no transition, the same for all that write none."""
        nothing = self.method.transitions(1, 0, self.target.dim)
        return type(nothing)(*(array[0] for array in nothing))

    def _warm_up_chain(self, c: int, first: int, n: int) -> None:
        chain, learnt = self._chains[c], self._adaptation
        ends = [end for end in (() if learnt is None else learnt.windows) if first < end < first + n]
        for at, end in pairwise([first, *ends, first + n]):  # the mass is written down where it is estimated
            if self._warm_trace is None:
                rows = Trace.empty(1, end - at, self.target.dim, self.method.records).at(0)
            else:
                rows = self._warm_trace.at(c, slice(at, end))
            averages = () if learnt is None else (learnt.step_size_average[c, at:end],)
            self.method.advance(self.target, self._settings, chain, end - at, rows, self._no_inside, *averages)
            self._warmup_evaluations[c] += int(rows.gradient_evaluations.sum())
            if learnt is not None:
                learnt.write(c, end, chain.adaptation)

    def _advance_chain(self, c: int, first: int, n: int) -> None:
        chain, rows = self._chains[c], slice(first, first + n)
        if first == 0:
            self._start[c] = chain.position
            self._start_log_density[c] = chain.running[0]
        inside = type(self._inside)(*(array[c, rows] if self.detail == "transitions" else array[c] for array in self._inside))
        self.method.advance(self.target, self._settings, chain, n, self._trace.at(c, rows), inside)

    def recording(self) -> Recording:
        """The transitions done so far (views, not copies)."""
        n = self.completed
        trace = self._trace.at(slice(None), slice(n))
        inside = type(self._inside)(*(array[:, :n] for array in self._inside)) if self.detail == "transitions" else None
        warmup = None
        if self._warm_trace is not None:
            done = self._warm_trace.at(slice(None), slice(self.warmed_up))
            warmup = Warmup(**self._recorded(done), adaptation=self._adaptation)
        return Recording(
            **self._recorded(trace),
            start=self._start,
            start_log_density=self._start_log_density,
            warmup_gradient_evaluations=self._warmup_evaluations,
            seconds=self.seconds,
            transitions=inside,
            run=self,
            warmup=warmup,
        )

    def _recorded(self, trace: Trace) -> dict[str, Any]:
        """The arrays by name, None for those that the method does not write."""
        optional = {name: None for name in OPTIONAL if name not in self.method.records}
        return {**trace._asdict(), **optional}


def start(
    target: Target,
    method: str,
    *,
    chains: int = 4,
    draws: int = 1000,
    warmup: int = 0,
    seed: int = 0,
    init: ArrayLike | None = None,
    detail: str = "draws",
    keep_warmup: bool = False,
    **settings: Any,
) -> Run:
    """A run that has not moved yet: for jobs that advance it in chunks. Parameters as `sample`."""
    if method not in METHODS:
        raise SpecError("method", f"{method!r} is not one of {', '.join(METHODS)}")
    known = [field.name for field in dataclasses.fields(METHODS[method])]
    for name in settings:
        if name not in known:
            raise SpecError(name, f"is not a setting of {method}, which has {', '.join(known)}")
    return Run(
        target,
        METHODS[method](**settings),
        chains=chains,
        draws=draws,
        warmup=warmup,
        seed=seed,
        init=init,
        detail=detail,
        keep_warmup=keep_warmup,
    )


def sample(
    target: Target,
    method: str,
    *,
    chains: int = 4,
    draws: int = 1000,
    warmup: int = 0,
    seed: int = 0,
    init: ArrayLike | None = None,
    detail: str = "draws",
    keep_warmup: bool = False,
    **settings: Any,
) -> Recording:
    """Sample a target.

    target : from `engine.target`, `engine.network(...).posterior(x, y)` or a family in `engine.targets`
    method : one of `engine.samplers.METHODS`; of "gibbs" and "slice_sampling" one draw is a sweep over all coordinates
    chains, draws, warmup : numbers of chains, of transitions kept and of transitions dropped before them, per chain;
        "nuts" tunes itself in the warm-up
    seed : 0 to 2**32 - 1; the same arguments give the same bytes on the same build
    init : (dim,) or (chains, dim) start; default a draw from U(-2, 2) per coordinate, where the density is positive
    detail : "draws", or "transitions" to record the inside of each transition
    keep_warmup : record the warm-up too, with the path of the adaptation
    settings : fields of the method

    Raises SpecError naming a wrong parameter, TargetError for a start outside the support.
    """
    run = start(
        target, method, chains=chains, draws=draws, warmup=warmup, seed=seed, init=init, detail=detail, keep_warmup=keep_warmup, **settings
    )
    run.advance(run.total)
    return run.recording()


def record(spec: Any, *, detail: str | None = None) -> Recording:
    """Run a sampler spec (`engine.samplers.SamplerSpec` or a subclass) to its end."""
    run = begin(spec, detail=detail)
    run.advance(run.total)
    return run.recording()


def begin(spec: Any, *, detail: str | None = None) -> Run:
    """The run of a sampler spec, not moved yet."""
    return start(
        spec.build_target(),
        spec.method,
        chains=spec.chains,
        draws=spec.draws,
        warmup=spec.warmup,
        seed=spec.seed,
        init=spec.init(),
        detail=detail or "draws",
        **spec.settings(),
    )


def replay(recording: Recording, *, chain: int = 0, first: int, count: int) -> Recording:
    """The transitions first..first+count-1 of one chain again, with their inside: a recording of 1 chain.

    The chain is run again from its start, which reproduces the bytes of the recording.
    """
    old: Any = recording.run
    if not 0 <= chain < old.chains:
        raise SpecError("chain", f"{chain} is not one of the {old.chains} chains")
    if first < 0 or count < 1 or first + count > old.draws:
        raise SpecError("first", f"transitions {first} to {first + count - 1} are outside the {old.draws} of the run")
    if not isinstance(old, Run):  # a run over architectures makes its own chains
        return old.replay(chain, first, count)
    again = Run(
        old.target,
        old.method,
        chains=1,
        draws=count,
        warmup=old.warmup + first,
        seed=old.seed,
        init=old.init,
        detail="transitions",
        first_chain=old.first_chain + chain,
        adapt=old.adapt,
    )
    again.advance(again.total)
    return again.recording()


def whole_number(name: str, value: Any, low: int, high: int = 10**9) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not low <= value <= high:
        raise SpecError(name, f"{value!r} is not a whole number from {low:,} to {high:,}")
    return int(value)


def _initial_positions(init: ArrayLike | None, chains: int, dim: int) -> list[Array | None]:
    if init is None:
        return [None] * chains
    points = np.asarray(init, dtype=np.float64)
    if points.shape == (dim,):
        points = np.broadcast_to(points, (chains, dim))
    if points.ndim != 2 or points.shape[1] != dim or points.shape[0] < chains:
        raise SpecError("init", f"must have shape ({dim},) or ({chains}, {dim}), got {points.shape}")
    if not np.all(np.isfinite(points)):
        raise SpecError("init", "has an entry that is not finite")
    return [np.ascontiguousarray(point) for point in points[:chains]]


def _check_memory(method: Method, chains: int, draws: int, inside_rows: int, dim: int) -> None:
    size = chains * draws * (8 * dim + 48)
    if inside_rows:
        size += inside_rows * sum(array.nbytes for array in method.transitions(chains, 1, dim))
    if size > MAX_BYTES:
        raise SpecError("draws", f"the recording would take {size / 2**30:.1f} GiB, more than the {MAX_BYTES / 2**30:.0f} GiB allowed")
