"""The kernels of `engine.samplers`, as the trial wants them: any method on any model."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import ticket
from engine.judge import audit
from engine.judge.check import Check
from engine.judge.models import Model
from engine.judge.trial import Worlds
from engine.recording import Recording
from engine.samplers.adaptation import LOG_BAR, mass_of, rows_of
from engine.samplers.chain import Chain, Trace
from engine.samplers.hmc import factor_mass
from engine.spec import SpecError

Array = NDArray[np.float64]

AROUND = ("stale_log_density",)  # what can be planted around a transition, beside the faults of its method
AUDITS = {
    "metropolis": audit.metropolis,
    "delayed_rejection": audit.delayed_rejection,
    "gibbs": audit.gibbs,
    "slice_sampling": audit.slice_sampling,
}
AUDITED, TRANSITIONS_AUDITED = 40, 3  # starts, and transitions of each, that are worked out again
MOST_AUDITED = 400  # starts where a transition decides little, until there are FEW decisions
FEW, ENOUGH = 4_000, 40_000  # decisions; after ENOUGH no further start is taken
WINDOW = 0.1  # spacing of the planted window's grid, of the distance between quartiles
STEPS = {"nuts": (1.0, 2.5, 5.0)}  # factors of the step size, in turn; shorter ones make trees that take long
OTHER_STEPS = (1.0, 2.5, 0.1)  # shorter ones show an integrator whose long paths are all rejected
MISPRINT = (
    "with one sign of its U-turn test reversed, which still asks the same of every state of a trajectory: nothing is "
    "biased, but the trees stop too soon"
)
NOTHING_TO_TEST = "The test after doubling is left out, which changes nothing where no slice has a gap."
OPERATIONS = 6.0  # of one gradient, a number of the data and a parameter; 200 more for the call


@dataclass(frozen=True, eq=False)
class TransitionKernel:
    """A method of `engine.samplers` on the posterior of a model's data.

    adaptation : of the run, frozen: its step size and mass; empty for methods that do not tune themselves
    mistake : what is wrong on purpose already
    fault : what has been planted
    """

    model: Model
    method: Any  # an `engine.samplers.run.Method`, which are frozen dataclasses
    adaptation: Array = dataclasses.field(default_factory=lambda: np.zeros(0))
    mistake: str = ""
    fault: str = ""

    @property
    def name(self) -> str:
        """The method and the model."""
        return f"{self.method.label} on {self.model.name}"

    @property
    def quantities(self) -> tuple[str, ...]:
        """The model's."""
        return self.model.quantities

    @property
    def faults(self) -> tuple[str, ...]:
        """Those of the method, then those of the density."""
        around = AROUND if self.method.name in ("metropolis", "hmc") else ()
        return (*(f for f in self.method.faults if self._changes(f)), *around, *self.model.faults)

    def _changes(self, fault: str) -> bool:
        """Whether a variant differs from the method with these settings."""
        if fault == "no_hastings":
            return bool(np.any(np.asarray(self.method.drift) != 0.0))
        if fault == "no_rejection_terms":
            return self.method.stages > 1
        if fault == "no_test":
            return self.method.interval == "doubling"
        return True

    def planted(self, fault: str) -> TransitionKernel:
        """The kernel with one of its `faults`."""
        if fault not in self.faults:
            raise SpecError("fault", f"{fault!r} is not one of {', '.join(self.faults)}")
        if fault == "euler":
            return dataclasses.replace(self, method=dataclasses.replace(self.method, integrator=fault))
        if fault == "window":  # narrow enough to show: a window over the whole target is nearly right
            theta, _ = self.model.draw(200, np.random.Generator(np.random.SFC64(0)))
            narrow = WINDOW * np.subtract(*np.quantile(theta, [0.75, 0.25], axis=0))
            method = dataclasses.replace(self.method, variant=fault, scale=narrow, block=False)
            return dataclasses.replace(self, method=method)
        if fault in self.method.faults:
            mistake = NOTHING_TO_TEST if fault == "no_test" else self.mistake
            return dataclasses.replace(self, method=dataclasses.replace(self.method, variant=fault), mistake=mistake)
        return dataclasses.replace(self, fault=fault)

    def reference(self, n: int, rng: np.random.Generator) -> Array:
        """What is watched at n exact draws, (n, q)."""
        return self.model.values(*self.model.draw(n, rng))

    def worlds(self, n: int, rng: np.random.Generator) -> Worlds:
        """n exact joint draws."""
        states = self.model.draw(n, rng)
        return Worlds(states, self.model.values(*states))

    def move(self, worlds: Worlds, transitions: int, seeds: list[np.random.SeedSequence]) -> tuple[Array, float]:
        """What is watched after each transition, (n, transitions, q), and the operations spent."""
        theta, data = worlds.states
        n, dim = theta.shape
        method, around = self.method, self.fault in AROUND
        density = "" if around else self.fault
        trace = Trace.empty(1, transitions, dim, method.records).at(0)
        nothing = method.transitions(1, 0, dim)
        inside = type(nothing)(*(array[0] for array in nothing))
        moved, operations, settings = np.empty((n, transitions, dim)), 0.0, None
        for i in ticket.looking(range(n)):
            target = self.model.target(data[i], density)
            settings = method.prepare(target) if settings is None else settings
            chain = self._chain(target, theta[i], seeds[i])
            if around:
                evaluations = self._stale(target, settings, chain, trace, inside, transitions)
            else:
                method.advance(target, settings, chain, transitions, trace, inside)
                evaluations = int(trace.gradient_evaluations.sum())
            moved[i] = trace.draws
            each = 200.0 + OPERATIONS * target.data.size * max(1.0, dim / 8.0)
            operations += evaluations * min(each, getattr(self.model, "gradient", math.inf))
        return self.model.values(moved, data), operations

    def audit(self, seed: int = 0) -> Check | None:
        """Decisions from some exact draws, worked out again. Some starts take longer steps, some shorter ones: where
        hardly a proposal is rejected, or hardly one accepted, a mistake would go unseen. None for draws as a block,
        which decide nothing, and for a method that nothing works out again.
        """
        if getattr(self.method, "block", False) or self.method.name not in ("hmc", "nuts", *AUDITS):
            return None
        worlds_seed, *seeds = np.random.SeedSequence((seed, 3)).spawn(MOST_AUDITED + 1)
        theta, data = self.model.draw(MOST_AUDITED, np.random.Generator(np.random.SFC64(worlds_seed)))
        density = "" if self.fault in AROUND else self.fault
        errors: list[float] = []
        criteria: list[tuple[float, float]] = []
        decisions = 0
        for i, (start, seen, stream) in ticket.looking(enumerate(zip(theta, data, seeds, strict=True))):
            if decisions > (ENOUGH if i < AUDITED else FEW):
                break
            target, right = self.model.target(seen, density), self.model.target(seen)
            factors = STEPS.get(self.method.name, OTHER_STEPS)
            factor = factors[i % len(factors)]
            method = self._with_steps(factor)
            settings, chain = method.prepare(target), self._chain(target, start, stream)
            if chain.adaptation.size:
                chain.adaptation[LOG_BAR] += math.log(factor)
            row = Trace.empty(1, 1, len(start), method.records).at(0)
            old = float(chain.running[0])
            for _ in ticket.looking(range(TRANSITIONS_AUDITED)):
                rows = method.transitions(1, 1, len(start))
                inside = type(rows)(*(array[0] for array in rows))
                before, now = chain.position.copy(), float(chain.running[0])
                if self.fault in AROUND:
                    chain.running[0] = old
                method.advance(target, settings, chain, 1, row, inside)
                if self.fault in AROUND:
                    chain.running[0], old = target.log_density(chain.position), now
                inside = type(rows)(*(array[0] for array in inside))
                if method.name == "nuts":
                    found, products = audit.nuts(right, method, before, row.draws[0], inside, self._inverse_mass(chain))
                    criteria += products
                elif method.name == "hmc":
                    found = audit.hmc(right, method, before, row.draws[0], inside, self._inverse_mass(chain))
                else:
                    found = AUDITS[method.name](right, method, before, row.draws[0], inside)
                if method.name == "metropolis":  # each proposal leaves a draw: one that was refused, another visit
                    found.append(0.0 if row.gradient_evaluations[0] == 1 else math.inf)
                errors += found
                decisions += len(found)
        what = self.name
        if criteria:  # one criterion for all subtrees, or it is none
            right_one, misprint = (max(each) for each in zip(*criteria, strict=True))
            errors.append(min(right_one, misprint))
            decisions += len(criteria)
            if misprint < right_one:
                what = f"{what}, {MISPRINT}"
        return audit.check(errors, decisions, what)

    def _with_steps(self, factor: float) -> Any:
        """The method with steps `factor` times as long, where it has a step size of its own."""
        changes: dict[str, Any] = {}
        if getattr(self.method, "step_size", None) is not None:
            changes["step_size"] = factor * self.method.step_size
        if self.method.name == "nuts":  # all states are recorded: the draw may be any of them
            changes["max_leaves"] = 2**self.method.max_depth - 1
        return dataclasses.replace(self.method, **changes)

    def _inverse_mass(self, chain: Chain) -> Array:
        dim = len(chain.position)
        if self.method.name == "nuts":
            inverse = mass_of(chain.adaptation, rows_of(chain.adaptation, dim), dim)[0]
        else:
            inverse = factor_mass(self.method.mass, dim)[0]
        return np.diag(inverse[0]) if len(inverse) == 1 else inverse

    def _chain(self, target: Any, start: Array, seed: np.random.SeedSequence) -> Chain:
        log_density, gradient = target.log_density_and_gradient(start)
        ints, scratch = target.buffers()
        rng = np.random.Generator(np.random.SFC64(seed))
        return Chain(start.copy(), gradient, np.array([log_density]), ints, scratch, rng, self.adaptation.copy())

    def _stale(self, target: Any, settings: Any, chain: Chain, trace: Trace, inside: Any, transitions: int) -> int:
        """Transitions that decide by the log density of the state before the last one: it was not brought up to
        date.
        """
        evaluations, old = 0, float(chain.running[0])
        row = Trace.empty(1, 1, len(chain.position), self.method.records).at(0)
        for t in range(transitions):
            now = float(chain.running[0])
            chain.running[0] = old
            self.method.advance(target, settings, chain, 1, row, inside)
            trace.draws[t] = row.draws[0]
            evaluations += int(row.gradient_evaluations[0])
            chain.running[0], old = target.log_density(chain.position), now
        return evaluations


def books(recording: Recording, mistake: str = "", most: int = 200) -> Check:
    """The first transitions of a recording with their inside, chain 1, worked out again: one of a method in `AUDITS`.

    mistake : what is wrong on purpose; books that balance all the same cannot tell then
    """
    run, inside, errors = recording.run, recording.transitions, []
    before = np.vstack([recording.start[:1], recording.draws[0, :-1]])
    for t in range(min(most, len(before))):
        row = type(inside)(*(array[0, t] for array in inside))
        errors += AUDITS[run.method.name](run.target, run.method, before[t], recording.draws[0, t], row)
    found = dataclasses.replace(audit.check(errors, len(errors), "Chain 1 of this run"), name="this run worked out again")
    if mistake and found.verdict == "pass":
        found = dataclasses.replace(found, verdict="unknown", sentence=f"{found.sentence} {mistake}")
    return found
