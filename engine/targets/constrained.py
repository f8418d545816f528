"""A density of one's own in up to 20 named parameters, some of them constrained.

A sampler moves on all of R^n. So each constrained parameter is a function of free coordinates u, and the density of u
is that of the parameters times |det dx/du|: its logarithm, the log Jacobian, is added. Without it the draws follow
another distribution; the variant `jacobian=False` leaves it out on purpose.

The declarations are read from a text, "mu, sigma positive, theta unit, p simplex 3, c ordered 2", of which a vector's
values are called p1, p2, p3 in the formula. Source of the transforms: Stan Reference Manual, "Constraint transforms".
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.kernels import kernel, part, target_kernel
from engine.targets import machine
from engine.targets.formula import CONSTANTS, FUNCTIONS, FormulaError, parse
from engine.targets.target import Target, TargetError

Array = NDArray[np.float64]

MOST_VALUES = 20
REAL, POSITIVE, UNIT, ORDERED, SIMPLEX = range(5)
CONSTRAINTS = {"real": REAL, "positive": POSITIVE, "unit": UNIT, "ordered": ORDERED, "simplex": SIMPLEX}
TRANSFORMS = {  # the parameter of its free coordinates, and the log Jacobian
    REAL: ("x = u", "0"),
    POSITIVE: ("x = exp(u)", "u"),
    UNIT: ("x = 1 / (1 + exp(−u))", "log x + log(1 − x)"),
    ORDERED: ("x₁ = u₁, then xₖ = xₖ₋₁ + exp(uₖ)", "u₂ + … + u_K"),
    SIMPLEX: ("xₖ = zₖ · (what is left), zₖ = 1 / (1 + (K − k) exp(−uₖ))", "the sum of log zₖ + log(1 − zₖ) + log(what is left)"),
}
_DECLARATION = re.compile(r"([A-Za-z][A-Za-z_0-9]*)(?:\s+([a-z]+))?(?:\s+([0-9]{1,3}))?")


class Block(NamedTuple):
    """A parameter: its name, its constraint (`REAL` ... `SIMPLEX`) and the names of its values."""

    name: str
    constraint: int
    values: tuple[str, ...]

    @property
    def free(self) -> int:
        """How many free coordinates stand behind it: of a simplex one less than it has values."""
        return len(self.values) - (self.constraint == SIMPLEX)


class Density(NamedTuple):
    """A density in named parameters, and the target that samplers run.

    blocks : the parameters ; names : (values,) of all their values, in order
    target : the log density of the free coordinates, with the log Jacobian
    """

    blocks: tuple[Block, ...]
    names: tuple[str, ...]
    target: Target

    def constrain(self, u: ArrayLike) -> tuple[Array, Array]:
        """Parameters (..., values) and log Jacobians (...) of free coordinates (..., dim)."""
        points = np.asarray(u, dtype=np.float64)
        flat = np.ascontiguousarray(points.reshape(-1, self.target.dim))
        x, logs = np.empty((len(flat), len(self.names))), np.empty(len(flat))
        _constrain_many(flat, _head(self.blocks, True), x, logs)
        return x.reshape(*points.shape[:-1], -1), logs.reshape(points.shape[:-1])


def declared(text: str) -> tuple[Block, ...]:
    """The parameters that a text declares. Raises TargetError naming the declaration."""
    blocks: list[Block] = []
    seen: dict[str, str] = {}
    for piece in re.split(r"[,;\n]", text):
        if not piece.strip():
            continue
        shown = f"“{piece.strip()[:40]}”"
        match = _DECLARATION.fullmatch(piece.strip())
        if match is None:
            raise TargetError(f"{shown} is not a name, a constraint and a size, such as: p simplex 3")
        name, constraint, size = match[1], match[2] or "real", match[3]
        if constraint not in CONSTRAINTS:
            raise TargetError(f"{shown}: “{constraint}” is not one of {', '.join(CONSTRAINTS)}")
        if constraint in ("ordered", "simplex") and (size is None or int(size) < 2):
            raise TargetError(f"{shown}: an {constraint} vector needs its size, at least 2".replace("an simplex", "a simplex"))
        if size is not None and not 1 <= int(size) <= MOST_VALUES:
            raise TargetError(f"{shown}: a vector has 1 to {MOST_VALUES} values")
        values = (name,) if size is None else tuple(f"{name}{i + 1}" for i in range(int(size)))
        for value in values:
            if value in CONSTANTS or value in FUNCTIONS or value in ("where", "and"):
                raise TargetError(f"{shown}: “{value}” has a meaning of its own in formulas, take another name")
            if value in seen:
                raise TargetError(f"{shown}: “{value}” is a value of “{seen[value]}” already")
            seen[value] = name
        blocks.append(Block(name, CONSTRAINTS[constraint], values))
    if not blocks:
        raise TargetError("no parameter is declared: write names with commas between, such as: mu, sigma positive")
    if len(seen) > MOST_VALUES:
        raise TargetError(f"{len(seen)} values are more than the {MOST_VALUES} allowed")
    return tuple(blocks)


def density(parameters: str, formula: str, *, jacobian: bool = True) -> Density:
    """The density whose log, in the declared `parameters`, is `formula`.

    jacobian : False leaves the log Jacobian out, on purpose

    Raises TargetError for declarations, FormulaError for a formula that cannot be read.
    """
    blocks = declared(parameters)
    names = tuple(value for block in blocks for value in block.values)
    program = parse(formula, {name: machine.variable(j) for j, name in enumerate(names)})
    used = {opcode for opcode in program.opcodes if opcode <= machine.Y and opcode != machine.CONST}
    for block in blocks:
        if block.constraint == REAL:
            for j, name in enumerate(names):
                if name in block.values and machine.variable(j) not in used:
                    raise FormulaError(f"{name} does not stand in it, so nothing holds it: add a term, such as -{name}^2/2", 0, formula)
    labels = tuple(name if block.constraint == REAL else f"u of {name}" for block in blocks for name in block.values[: block.free])
    target = Target(
        "density",
        sum(block.free for block in blocks),
        constrained_machine,
        program.data,
        np.concatenate([program.ints, [program.scratch_size], _head(blocks, jacobian)]),
        scratch_size=program.scratch_size + 2 * len(names),
        labels=labels,
    )
    return Density(blocks, names, target)


def _head(blocks: tuple[Block, ...], jacobian: bool) -> NDArray[np.int64]:
    """What the kernels are told: whether the Jacobian counts, values, blocks, and constraint and values of each."""
    told = [int(jacobian), sum(len(block.values) for block in blocks), len(blocks)]
    return np.array([*told, *(number for block in blocks for number in (block.constraint, len(block.values)))], dtype=np.int64)


@part
def _log_sigmoid(u):
    """log of 1 / (1 + exp(-u)), for any u."""
    return min(u, 0.0) - math.log1p(math.exp(-abs(u)))


@part
def _constrain(q, x, at, ints, head):
    """Write the values at x[at], x[at + 1], ... and return the log Jacobian."""
    log_jacobian = 0.0
    i = 0
    for block in range(ints[head + 2]):
        constraint, size = ints[head + 3 + 2 * block], ints[head + 4 + 2 * block]
        if constraint == SIMPLEX:
            left = 0.0  # log of what is left of the stick
            for k in range(size - 1):
                u = q[i] - math.log(size - 1.0 - k)
                z, rest = _log_sigmoid(u), _log_sigmoid(-u)
                x[at] = math.exp(left + z)
                log_jacobian += z + rest + left
                left += rest
                at += 1
                i += 1
            x[at] = math.exp(left)
            at += 1
            continue
        for k in range(size):
            u = q[i]
            if constraint == POSITIVE:
                x[at] = math.exp(u)
                log_jacobian += u
            elif constraint == UNIT:
                x[at] = math.exp(_log_sigmoid(u))
                log_jacobian += _log_sigmoid(u) + _log_sigmoid(-u)
            elif constraint == ORDERED and k > 0:
                x[at] = x[at - 1] + math.exp(u)
                log_jacobian += u
            else:
                x[at] = u
            at += 1
            i += 1
    return log_jacobian


@part
def _pull_back(q, x, at, slope, ints, head, grad):
    """The gradient by the free coordinates, of slopes by the values (scratch from `slope`), log Jacobian included."""
    counts = 1.0 * ints[head]
    i = 0
    for block in range(ints[head + 2]):
        constraint, size = ints[head + 3 + 2 * block], ints[head + 4 + 2 * block]
        free = size - 1 if constraint == SIMPLEX else size
        later = 0.0  # slope by what the later values hang on: the value before them, or the log of what is left
        if constraint == SIMPLEX:
            later = x[slope + free] * x[at + free]
        for k in range(free - 1, -1, -1):
            u, g = q[i + k], x[slope + k]
            if constraint == SIMPLEX:
                z = math.exp(_log_sigmoid(u - math.log(size - 1.0 - k)))
                moved = g * x[at + k]
                grad[i + k] = moved * (1.0 - z) - later * z + counts * (1.0 - 2.0 * z)
                later += moved + counts
            elif constraint == POSITIVE:
                grad[i + k] = g * x[at + k] + counts
            elif constraint == UNIT:
                grad[i + k] = g * x[at + k] * (1.0 - x[at + k]) + counts * (1.0 - 2.0 * x[at + k])
            elif constraint == ORDERED:
                later += g
                grad[i + k] = later * math.exp(u) + counts if k > 0 else later
            else:
                grad[i + k] = g
        at += size
        slope += size
        i += free


@target_kernel
def constrained_machine(q, grad, dim, data, ints, scratch):
    """ints: a program (see `machine.formula_machine`), the size of its stack, then `_head`. scratch: the stack, the
    values, and the slopes by them.
    """
    at = ints[ints[0] + 1]
    head = ints[0] + 2
    values = ints[head + 1]
    for i in range(dim):
        grad[i] = 0.0
    log_jacobian = _constrain(q, scratch, at, ints, head)
    value = -math.inf
    for first in range(0, values, 2):
        value, a, b = machine.run_program(scratch, at, first, data, ints, scratch)
        if value == -math.inf:
            return value
        scratch[at + values + first] = a
        if first + 1 < values:
            scratch[at + values + first + 1] = b
    _pull_back(q, scratch, at, at + values, ints, head, grad)
    total = value + log_jacobian if ints[head] == 1 else value
    return total if math.isfinite(total) else -math.inf


@kernel
def _constrain_many(points, head, x, logs):
    for n in range(len(points)):
        logs[n] = _constrain(points[n], x[n], 0, head, 0)
