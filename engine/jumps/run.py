"""Running chains over architectures: start, advance in chunks, record, replay."""

from __future__ import annotations

import copy
import dataclasses
import math
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine import ticket
from engine.jumps.bridges import bridged_sweeps
from engine.jumps.delayed import delayed_sweeps
from engine.jumps.growth import log_prior
from engine.jumps.likelihood import whole
from engine.jumps.recording import ArchitectureRecording, architecture_of
from engine.jumps.settings import BRIDGED, JumpSettings, size_range
from engine.jumps.sweep import (
    ARCHITECTURE,
    FACTORS,
    LIKELIHOOD,
    NO_KERNEL_DENSITIES,
    SHORT_WITHIN,
    WEIGHTS,
    Ledger,
    State,
    SweepTrace,
    architecture,
    jump_sweeps,
    move_to,
    note_jump,
    prior_of,
    propose,
    set_architecture,
    take_stock,
    total_of,
)
from engine.jumps.within import Moved, Tuning, WithinMove
from engine.networks import Network
from engine.networks.mlp import TWO_CLASSES, likelihood_code, network_target
from engine.networks.passes import BLOCK, ROW
from engine.resumable import Resumable
from engine.samplers.run import MAX_BYTES
from engine.spec import SpecError

Array = NDArray[np.float64]

START_DRAWS = 1000  # of the prior, the best of which is the start "best"


@dataclass
class JumpChain:
    """A chain over architectures: plain arrays and one generator, so it pickles.

    Advancing in chunks of 1 or of 10,000, on any thread, before or after pickling, gives the same bytes.

    state, tuning : see `engine.jumps.sweep.State` and `engine.jumps.within.Tuning`
    rng : SFC64, the only source of randomness
    sweeps : done so far, warm-up included
    """

    state: State
    tuning: Tuning
    rng: np.random.Generator
    sweeps: int = 0


class ArchitectureRun(Resumable):
    """Chains over the architectures of one network, advanced as far as asked.

    Chain c of a seed is the same whatever the number of chains, the chunking and the thread. `advance(n)` runs n more
    sweeps of every chain, warm-up first; `recording()` returns what is there. `skip` more sweeps are dropped after the
    warm-up. `target` is the posterior of the largest architecture, as the chains see it: with precisions of their own.
    """

    _carries = ("_chains", "_warmup_evaluations", "_start", "_start_log_density", "_start_sizes")
    _writes = ("_trace", "_ledger")

    def __init__(self, network: Network, x: ArrayLike, y: ArrayLike, settings: JumpSettings, first_chain: int = 0, skip: int = 0):
        self.network, self.x, self.y, self.settings, self.first_chain = network, np.asarray(x), y, settings, first_chain
        self.chains, self.draws, self.warmup = settings.chains, settings.draws, settings.warmup + skip
        self._rules = settings.rules(network)
        (_, widest), (shallowest, deepest) = size_range("width", network.width), size_range("depth", network.depth)
        self._widths = range(self._rules.lowest_width, widest + 1)
        self._largest = architecture_of(network, widest, deepest)
        self._precisions = 2 * (deepest + 1) + 1
        self._prior_precisions = np.full(self._precisions, 1.0 / network.prior_sd**2)
        self._prior_precisions[-1] = 1.0 / network.noise_sd**2
        self._up_to_width, self._up_to_depth = _cumulative(self._rules.log_width_prior), _cumulative(self._rules.log_depth_prior)
        unit = network.inputs + 1 + network.outputs + 2 * widest * (deepest - 1)
        self._parameters = max(unit, (widest + 1) * widest if deepest > shallowest else 0) + (settings.jump == "split")
        if settings.jump == "redraw":
            self._parameters = self._largest.dim
        self._check_memory()
        self.target = network_target(self._largest, "architecture", x, y, 0.0, 0.0, own=self._precisions)

        dim = self._largest.dim
        depths = range(shallowest, deepest + 1)
        self._dims = np.array([architecture_of(network, k, d).dim for d in depths for k in self._widths])
        move = WithinMove(self.target, self._rules, self._dims, settings)
        self._moves = [move] * self.chains
        self._make_room()
        self._warmup_evaluations = np.zeros(self.chains, dtype=np.int64)
        self._chains = self._begin()
        self._start = np.full((self.chains, dim), np.nan)
        self._start_log_density = np.empty(self.chains)
        self._start_sizes = np.empty((self.chains, 2), dtype=np.int16)
        for c in range(self.chains):
            self._note_start(c)
        nothing = _at(SweepTrace.empty(1, 0, dim, self._precisions), 0)
        self._jump(self._chains[0], False, 0, 0, nothing, self._no_ledger())  # compiles or loads the kernel

    def _make_room(self) -> None:
        self._moves = [move.on(self.target) for move in self._moves]
        self._trace = SweepTrace.empty(self.chains, self.draws, self._largest.dim, self._precisions)
        self._ledger = self._empty_ledger(self.chains, self.draws if self.settings.detail == "jumps" else 0)

    def _one_chain(self) -> ArchitectureRun:
        other = super()._one_chain()
        assert isinstance(other, ArchitectureRun)
        other.target = self.target.bare()
        other._moves = [self._moves[0].on(other.target)]
        return other

    def recording(self) -> ArchitectureRecording:
        """The sweeps done so far (views, not copies)."""
        n = self.completed
        trace = {name: array[:, :n] for name, array in self._trace._asdict().items()}
        ledger = _at(self._ledger, slice(None), slice(n)) if self.settings.detail == "jumps" else None
        return ArchitectureRecording(
            **trace,
            start=self._start,
            start_log_density=self._start_log_density,
            start_width=self._start_sizes[:, 0],
            start_depth=self._start_sizes[:, 1],
            warmup_gradient_evaluations=self._warmup_evaluations,
            seconds=self.seconds,
            transitions=ledger,
            run=self,
        )

    def replay(self, chain: int, first: int, count: int) -> ArchitectureRecording:
        """The sweeps first..first+count-1 of one chain again, with their ledger: a recording of 1 chain, the same
        bytes.
        """
        settings = dataclasses.replace(self.settings, chains=1, draws=count, detail="jumps")
        skip = self.warmup - self.settings.warmup + first
        again = ArchitectureRun(self.network, self.x, self.y, settings, self.first_chain + chain, skip)
        again.advance(again.total)
        return again.recording()

    def ahead(self, jumps: int) -> ArchitectureRecording:
        """The first jumps of the first sweep of a run without warm-up, as a recording of that sweep. The run does not move."""
        other = copy.copy(self)
        other.settings = dataclasses.replace(self.settings, draws=1, jumps=jumps)
        other.draws, other._chains = 1, copy.deepcopy(self._chains)
        other._make_room()
        other.advance(1)
        return other.recording()

    def on_other_data(self, x: ArrayLike, y: ArrayLike, draws: int, jumps: int, *, bare: bool = False) -> ArchitectureRun:
        """A run of one chain on data (x, y), with the step sizes that this run's first chain has come to. It wants a
        `restart` before it moves. bare : jumps alone, with their ledger: no move within but those around a palindromic
        jump, no draw of precisions
        """
        other = copy.copy(self)
        other.x, other.y, other.chains, other.draws = np.asarray(x), y, 1, draws
        other.warmup = 0
        other.rewind()
        changes: dict[str, Any] = {}
        if bare and self.settings.jump != "palindromic":
            changes = {"within": "none", "step_size": self.settings.step_size or 1.0}
        changes |= {"chains": 1, "draws": draws, "warmup": 0, "jumps": jumps, "detail": "jumps" if bare else "draws"}
        other.settings = dataclasses.replace(self.settings, **changes)
        if bare:
            other._rules = self._rules._replace(weight_rate=0.0, noise_rate=0.0)
        other.target = network_target(self._largest, "architecture", x, y, 0.0, 0.0, own=self._precisions)
        other._moves = [self._moves[0].on(other.target)]
        other._warmup_evaluations = np.zeros(1, dtype=np.int64)
        other._trace = SweepTrace.empty(1, draws, self._largest.dim, self._precisions)
        other._ledger = other._empty_ledger(1, draws if bare else 0)
        other._start, other._start_log_density = np.full((1, self._largest.dim), np.nan), np.empty(1)
        other._start_sizes = np.empty((1, 2), dtype=np.int16)
        return other

    def restart(self, theta: Array, width: int, depth: int, precisions: Array, rng: np.random.Generator) -> None:
        """Put the one chain of `on_other_data` at a state, with its step sizes frozen."""
        tuning = copy.deepcopy(self._chains[0].tuning)
        if not tuning.frozen[0]:
            self._moves[0].freeze(tuning)
        chain = self._chain(theta, width, depth, precisions.copy(), rng)
        chain.tuning = tuning
        self._chains = [chain]
        self.rewind()

    def _begin(self) -> list[JumpChain]:
        """The chains at their starts."""
        last = self.first_chain + self.chains
        widths, depths = self.settings.start_sizes(self.network, last)
        seeds = np.random.SeedSequence(self.settings.seed).spawn(last)
        chains = []
        for c in ticket.looking(range(self.first_chain, last)):
            start_seed, stream_seed = seeds[c].spawn(2)
            rng = np.random.Generator(np.random.SFC64(start_seed))
            tries = START_DRAWS if self.settings.start == "best" else 1
            drawn = [self._prior_draw(rng, widths[c], depths[c]) for _ in range(tries)]
            best = drawn[0] if tries == 1 else max(zip(self._log_posteriors(drawn), drawn, strict=True), key=itemgetter(0))[1]
            chain = self._chain(*best, np.random.Generator(np.random.SFC64(stream_seed)))
            move = self._moves[c - self.first_chain]
            spent = move.begin(chain.state, chain.rng, chain.tuning, self._index(chain.state))
            self._warmup_evaluations[c - self.first_chain] = spent
            chains.append(chain)
        return chains

    def _prior_draw(self, rng: np.random.Generator, width: int | None, depth: int | None) -> tuple[Array, int, int, Array]:
        """Parameters, width, depth and precisions from the prior, the sizes only where they are not given."""
        rules, network = self._rules, self.network
        if width is None:
            width = rules.lowest_width + int(self._up_to_width.searchsorted(rng.random(), side="right"))  # as `rng.choice`, unchecked
        if depth is None:
            depth = rules.lowest_depth + int(self._up_to_depth.searchsorted(rng.random(), side="right"))
        precisions = self._prior_precisions.copy()
        if rules.weight_rate > 0.0:
            precisions[:-1] = rng.standard_gamma(rules.weight_shape, self._precisions - 1) / rules.weight_rate
        if rules.noise_rate > 0.0:
            precisions[-1] = rng.standard_gamma(rules.noise_shape) / rules.noise_rate
        which, fan_in = _places(architecture_of(network, width, depth))
        variance = precisions[which] * fan_in if rules.scaled else precisions[which]
        return rng.standard_normal(len(which)) / np.sqrt(variance), width, depth, precisions

    def _log_posteriors(self, draws: list[tuple[Array, int, int, Array]]) -> list[float]:
        """Of parameters, width, depth and precisions."""
        (ints, scratch), network, found = self.target.buffers(), self.network, []
        for theta, width, depth, precisions in draws:
            set_architecture(ints, width, depth)
            log_likelihood = whole(theta, self.target.data, ints, scratch, precisions[-1])
            prior = log_prior(theta, network.inputs, width, depth, network.outputs, precisions, self._rules.scaled)
            found.append(log_likelihood + prior)
        return found

    def _chain(self, theta: Array, width: int, depth: int, precisions: Array, rng: np.random.Generator) -> JumpChain:
        rules, target, dim = self._rules, self.target, self._largest.dim
        ints, scratch = target.buffers()
        set_architecture(ints, width, depth)
        widths, depths = len(rules.log_width_prior), len(rules.log_depth_prior)
        blocks, widest = -(-int(ints[0]) // BLOCK), rules.lowest_width + widths - 1
        logits = 1 if likelihood_code(self.network) == TWO_CLASSES else self.network.outputs
        one_layer = rules.lowest_depth == 1 and depths == 1
        one_unit = one_layer and self.settings.jump not in ("split", "redraw")  # else a jump changes more outputs than its own
        kept = blocks if one_unit and self.settings.keep_outputs else 0
        state = State(
            theta=np.zeros(dim),
            gradient=np.zeros(dim),
            running=np.zeros(1),
            log_likelihood=np.zeros(1),
            ints=ints,
            scratch=scratch,
            precisions=precisions,
            hidden=np.zeros((kept, widest + 1, ROW)),
            outputs=np.zeros((kept, logits, ROW)),
            units=np.arange(widest),
            accepted=np.zeros(1, dtype=np.int64),
        )
        state.theta[: len(theta)] = theta
        take_stock(target.data, state)
        return JumpChain(state, Tuning.empty(len(self._dims), dim), rng)

    def _index(self, state: State) -> int:
        """Number of the present architecture, in the order of `_dims`."""
        _, width, depth, _ = architecture(state.ints)
        rules = self._rules
        return int((depth - rules.lowest_depth) * len(self._widths) + width - rules.lowest_width)

    def _note_start(self, c: int) -> None:
        state = self._chains[c].state
        _, width, depth, _ = architecture(state.ints)
        dim = architecture_of(self.network, int(width), int(depth)).dim
        self._start[c, :dim], self._start[c, dim:] = state.theta[:dim], np.nan
        self._start_sizes[c] = width, depth
        self._start_log_density[c] = state.log_likelihood[0] + prior_of(state, self._rules)

    def _warm_up_chain(self, c: int, first: int, n: int) -> None:
        rows = _at(SweepTrace.empty(1, n, self._largest.dim, self._precisions), 0)
        self._sweep(c, 0, n, rows, self._no_ledger())
        self._warmup_evaluations[c] += int(rows.gradient_evaluations.sum())

    def _advance_chain(self, c: int, first: int, n: int) -> None:
        if first == 0:
            self._note_start(c)
        ledger = _at(self._ledger, c) if self.settings.detail == "jumps" else self._no_ledger()
        self._sweep(c, first, n, _at(self._trace, c), ledger)

    def _no_ledger(self) -> Ledger:
        rows: Ledger = _at(self._empty_ledger(1, 0), 0)
        return rows

    def _empty_ledger(self, chains: int, n: int) -> Ledger:
        jumps, rows = self.settings.jumps, self.settings.ledger_rows
        return Ledger.empty(chains, n, jumps, self._parameters, dim=self._largest.dim, **rows)

    def _sweep(self, c: int, first: int, n: int, trace: SweepTrace, ledger: Ledger) -> None:
        """n sweeps of chain c, written from row `first` on."""
        chain, move = self._chains[c], self._moves[c]
        surrounded, short = self.settings.surrounded, bool(self._rules.wrong & SHORT_WITHIN)
        if self.settings.within == "none" and not surrounded:
            # Nothing between the jumps needs Python: all sweeps in one call.
            self._jump(chain, False, first, n, trace, ledger)
            self._note_moves(trace, slice(first, first + n), Moved())
            return
        for i in range(first, first + n):
            if not chain.tuning.frozen[0] and chain.sweeps >= self.settings.warmup:
                move.freeze(chain.tuning)
            chain.sweeps += 1
            moved = self._within(chain, move, short)
            if surrounded:
                self._surrounded_jumps(chain, move, i, trace, ledger)
            else:
                self._jump(chain, True, i, 1, trace, ledger)
            self._note_moves(trace, slice(i, i + 1), moved)

    def _within(self, chain: JumpChain, move: WithinMove, short: bool) -> Moved:
        """A move within the present model, or the short NUTS."""
        transition = move.short if short else move
        return transition(chain.state, chain.rng, chain.tuning, self._index(chain.state))

    @staticmethod
    def _note_moves(trace: SweepTrace, rows: slice, moved: Moved) -> None:
        """Write what a move within did; its evaluations join those of the jumps."""
        trace.gradient_evaluations[rows] += moved.evaluations
        for name in ("accept_prob", "accepted", "divergent", "step_size"):
            getattr(trace, name)[rows] = getattr(moved, name)

    def _jump(self, chain: JumpChain, moved: bool, first: int, n: int, trace: SweepTrace, ledger: Ledger) -> None:
        target, rules, settings = self.target, self._rules, self.settings
        if settings.jump in BRIDGED:
            step_sizes = self._moves[0].step_sizes(chain.tuning, settings.jump_step_size)
            bridged_sweeps(
                target.address,
                target.data,
                chain.rng,
                chain.state,
                rules,
                settings.crossing(),
                step_sizes,
                settings.jumps,
                moved,
                first,
                n,
                trace,
                ledger,
            )
        elif settings.jump == "delayed":
            second = settings.second_draw(self.network)
            delayed_sweeps(target.data, chain.rng, chain.state, rules, second, settings.jumps, moved, first, n, trace, ledger)
        else:
            jump_sweeps(target.data, chain.rng, chain.state, rules, settings.jumps, moved, first, n, trace, ledger)

    def _surrounded_jumps(self, chain: JumpChain, move: WithinMove, i: int, trace: SweepTrace, ledger: Ledger) -> None:
        """The jumps of sweep i, each between moves within the models: theta -> theta~ -> theta' -> theta*.

        By reversible moves their densities cancel against those of the target, and what decides is the bare ratio from
        theta~ to theta'. NO_KERNEL_DENSITIES takes that of the ends, theta and theta*. Around a palindromic jump the
        moves are those of the run, else the short NUTS, which is not reversible.
        """
        state, rng, data, rules = chain.state, chain.rng, self.target.data, self._rules
        short = self.settings.jump != "palindromic"
        dim, moves = self._largest.dim, 1 if short else self.settings.jump_moves
        proposed, born, factors = np.empty(dim), np.empty(dim), np.empty(len(FACTORS))
        counts = np.zeros((2, 4), dtype=np.int32)
        path, accept_prob = np.full((3, dim), np.nan), np.full(3, np.nan)
        spent = 0
        take_stock(data, state)
        for j in range(self.settings.jumps):
            _, old_width, old_depth, _ = architecture(state.ints)
            saved, old_log_likelihood, old = state.theta.copy(), state.log_likelihood[0], prior_of(state, rules)
            for row in (0, 2):
                if row == 2:
                    kind, slot, width, depth, count, _ = propose(rng, state, rules, factors, proposed, born)
                    before = state.log_likelihood[0]
                    move_to(state, proposed, width, depth)
                    take_stock(data, state)
                    factors[LIKELIHOOD] = state.log_likelihood[0] - before
                    self._note_path(path[1], state)
                around = [self._within(chain, move, short) for _ in range(moves)]
                spent += sum(moved.evaluations for moved in around)
                accept_prob[row] = np.mean([moved.accept_prob for moved in around])
                take_stock(data, state)
                self._note_path(path[row], state)
            gained = factors[LIKELIHOOD]
            if rules.wrong & NO_KERNEL_DENSITIES:
                factors[LIKELIHOOD] = state.log_likelihood[0] - old_log_likelihood
                factors[WEIGHTS] = prior_of(state, rules) - old - factors[ARCHITECTURE]
            log_ratio, uniform = total_of(factors), rng.random()
            accepted = uniform < math.exp(min(log_ratio, 0.0))
            if not accepted:
                move_to(state, saved, old_width, old_depth)
                take_stock(data, state)
            counts[0, kind] += 1
            counts[1, kind] += accepted
            if len(ledger.move):
                note_jump(ledger, i, j, kind, slot, old_width, old_depth, factors, 0.0, log_ratio, uniform, accepted, born, count)
                ledger.bridge_level[i, j], ledger.bridge_log_weight[i, j] = np.nan, (0.0, gained, 0.0)
                ledger.bridge_accept_prob[i, j], ledger.bridge_position[i, j] = accept_prob, path
        jump_sweeps(data, rng, state, rules, 0, False, i, 1, trace, ledger)
        trace.proposed[i], trace.jumped[i] = counts
        trace.gradient_evaluations[i] = spent

    def _note_path(self, row: Array, state: State) -> None:
        dim = self._dims[self._index(state)]
        row[:dim], row[dim:] = state.theta[:dim], np.nan

    def _check_memory(self) -> None:
        size = self.chains * self.draws * (8 * self._largest.dim + 8 * self._precisions + 80)
        if self.settings.detail == "jumps":
            row = sum(array.nbytes for array in self._empty_ledger(1, 1))
            size += self.chains * self.draws * row
        if size > MAX_BYTES:
            most = MAX_BYTES / 2**30
            raise SpecError("draws", f"the recording would take {size / 2**30:.1f} GiB, more than the {most:.0f} GiB allowed")


def start_architecture(network: Network, x: ArrayLike, y: ArrayLike, jump: str = "plain", **settings: Any) -> ArchitectureRun:
    """A run over architectures that has not moved yet, for jobs that advance it in chunks. Parameters as
    `sample_architecture`.
    """
    known = [field.name for field in dataclasses.fields(JumpSettings)]
    for name in settings:
        if name not in known:
            raise SpecError(name, f"is not a setting of sample_architecture, which has {', '.join(known)}")
    return ArchitectureRun(network, x, y, JumpSettings(jump=jump, **settings))


def sample_architecture(network: Network, x: ArrayLike, y: ArrayLike, jump: str = "plain", **settings: Any) -> ArchitectureRecording:
    """Sample the joint posterior of a network's architecture and parameters by reversible jump.

    network : from `engine.network` with `width=(low, high)`, `depth=(low, high)` or both; a unit enters or leaves all
        hidden layers at once, so that all have one width
    x, y : as in `Network.posterior`; no samples give the prior
    jump : "plain": the kept parameters stay as they are; "rescaled": the birth of a unit multiplies the kept weights
        that lead out of hidden units by sqrt(k / (k + 1)) and its death divides them, so that the Jacobian is not 1;
        "palindromic": between two moves within the models, whose densities cancel; "tempered" and "annealed": over
        bridges, see `engine.jumps.bridges`; "delayed": with a second try, see `engine.jumps.delayed`; "split": the
        birth of a unit splits another and nearly keeps the function, see `engine.jumps.growth.split_unit` (one hidden
        layer); "redraw": the whole network is drawn anew from the prior; "as_coded": the plain jump with the variant of
        this name

    Settings, by keyword (see `JumpSettings` for the defaults):
    chains, draws, warmup, seed : as in `engine.sample`; a draw is the state after one sweep: a move within the model,
        then jumps, then, where they vary, a Gibbs draw of the precisions
    jumps : jumps in a sweep
    within : "nuts", "hmc" or "none"
    step_size : of HMC and NUTS, the same for all architectures; default: tuned in warm-up for each architecture, then
        frozen. One that saw fewer than 20 moves takes that of the nearest that saw more, times (its dim / this
        dim)^(1/4)
    steps : leapfrog steps of HMC (its step size is jittered by 10 %); max_depth : doublings of NUTS at most
    target_accept : mean acceptance that the step sizes are tuned to
    width_prior, depth_prior : "uniform", ("geometric", ratio) or ("poisson", mean), cut to the network's range
    scale_by_width : prior variance prior_sd^2 / width for the weights that lead out of hidden units
    weight_precision : (shape, rate) of a gamma prior of each layer's weight and bias precisions; default: fixed at
        1 / prior_sd^2
    noise_precision : (shape, rate) of a gamma prior of the noise precision; default: fixed at 1 / noise_sd^2
    start : "prior", one draw of it, or "best", the one of 1,000 with the highest log posterior
    start_width, start_depth : the architecture of the start, for all chains or one for each; default: drawn
    bridges : T of the annealed jump, levels on each side of the tempered one, 1 to 64
    bridge_power : the annealed levels are s_t = (t / T)^power
    tempering : power of the likelihood at which a tempered jump jumps, above 0 to 1; on the way tempering^(t / T)
    jump_moves : HMC transitions at each bridge; moves within on each side of a palindromic jump
    jump_step_size : of the leapfrog at the bridges; default: the step size of the move within, in the larger
        architecture for the annealed jump, in its own for the tempered one; jump_steps : its leapfrog steps
    short_steps, short_energy_error : transitions of the short NUTS, and the error of the energy at which it stops;
        defaults as Berezowski's code has them on XOR
    second : second draw of a delayed jump, "narrow" or "informed" (one hidden layer, kept outputs); second_scale : its
        spread, default 0.5 of the prior's for "narrow", 1 of the normal's for "informed"
    split_scale : sds of what a split draws, in those of the prior
    variant : "exact", or wrong on purpose: "no_jacobian"; "no_end_points" (births at the lowest size and deaths at the
        highest are not weighed against their rarer reverse); "slot_once" (births weighed by 1 / (k + 1), deaths not
        weighed back); "no_kernel_densities" (a short adaptive NUTS before and after the jump, which is decided by the
        ratio of the ends; a palindromic or tempered jump has its own moves there); "as_coded" (the last three together,
        and the short NUTS as the move within, as in Berezowski's code); "old_level" (annealed: moves at the level just
        left); "no_rejection_terms", "no_auxiliary" (delayed: without what makes the second stage reversible);
        "no_proposal" (split, redraw: the density of what was drawn is left out)
    detail : "draws", or "jumps" to record the ledger of every jump
    keep_outputs : False computes every likelihood from scratch: the same chain but for rounding, slower

    Raises SpecError naming a wrong parameter, TargetError when x or y does not fit.
    """
    run = start_architecture(network, x, y, jump, **settings)
    run.advance(run.total)
    return run.recording()


def _cumulative(log_prior: Array) -> Array:
    """Of the sizes, up to 1."""
    sums = np.exp(log_prior).cumsum()
    return np.asarray(sums / sums[-1])


@lru_cache(maxsize=512)
def _places(network: Network) -> tuple[NDArray[np.int64], Array]:
    """Of each parameter (dim,) the place of its precision, and the units that its hidden layer's output comes from."""
    which, fan_in = [], []
    width, depth = network.sizes[1], len(network.sizes) - 2
    for layer, (weights, biases) in enumerate(network.layer_shapes, start=1):
        at = 2 * layer if layer <= depth else 0
        which += [at] * weights + [at + 1] * biases
        fan_in += [width if layer > 1 else 1] * weights + [1] * biases
    return np.array(which), np.array(fan_in, dtype=float)


def _at(arrays: Any, *where: int | slice) -> Any:
    """Views of all arrays of a named tuple at the same place."""
    return type(arrays)(*(array[where] for array in arrays))
