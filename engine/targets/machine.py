"""The machine that runs formulas: one cached target kernel for all of them.

A formula is a postfix program: opcodes in `ints`, constants in `data` in the order in which they are pushed.
The kernel runs it on dual numbers (value, d/dx, d/dy), so that the gradient comes with the value; of more than two
variables two derivatives at a time. Nothing is ever compiled from a user's text.

Where the machine meets a domain error (log of a negative number, 0/0), an overflow or an unmet constraint, the log
density is -inf and the gradient 0. A log density of +inf (a pole) counts as a domain error. At kinks the derivative is
0 for `abs` at 0, that of the first of equal arguments for `min` and `max`, and 0 for each component that is not finite
(sqrt at 0).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from engine.kernels import fast_kernel, part, target_kernel

# Opcodes, grouped by what they do to the stack; the kernel relies on the order of the groups.
CONST, X, Y = 0, 1, 2  # push
NEGATE, SQUARE, POWER_INT, EXP, LOG, LOG1P, SQRT, SIN, COS, TAN, TANH, ABS, SIGMOID, SOFTPLUS, LGAMMA = range(3, 18)  # one operand
ADD, SUBTRACT, MULTIPLY, DIVIDE, POWER, MIN, MAX, LOGADDEXP = range(18, 26)  # two operands
LESS, LESS_EQUAL, GREATER, GREATER_EQUAL = range(26, 30)  # two operands, no result: the program ends with -inf unless it holds

LARGEST_INT_POWER = 32


def variable(j: int) -> int:
    """The opcode that pushes variable j, counted from 0: X, Y, then the negative numbers."""
    return X + j if j < 2 else 1 - j


_NANOSECONDS = dict.fromkeys((EXP, LOG, LOG1P, SIN, COS, SIGMOID), 11.0)
_NANOSECONDS |= dict.fromkeys((TAN, TANH, SOFTPLUS, LOGADDEXP), 18.0) | {LGAMMA: 25.0, POWER: 30.0}


class Program(NamedTuple):
    """A postfix program: opcodes, the constants they push or use in order, and the deepest stack."""

    opcodes: tuple[int, ...]
    constants: tuple[float, ...]
    depth: int

    @property
    def ints(self) -> np.ndarray:
        return np.array([len(self.opcodes), *self.opcodes], dtype=np.int64)

    @property
    def data(self) -> np.ndarray:
        return np.array(self.constants, dtype=np.float64)

    @property
    def nanoseconds(self) -> float:
        """What one evaluation takes on a core of 2024, from the operations; within a third of it."""
        return 15.0 + sum(_NANOSECONDS.get(opcode, 1.7) for opcode in self.opcodes)

    @property
    def scratch_size(self) -> int:
        return 3 * (self.depth + 1)


def assemble(code: list[tuple[int, float]]) -> Program:
    """The program of a list of (opcode, constant); the constant counts for CONST and POWER_INT only."""
    depth = deepest = 0
    for opcode, _ in code:
        depth += 1 if opcode <= Y else 0 if opcode <= LGAMMA else -1 if opcode <= LOGADDEXP else -2
        deepest = max(deepest, depth)
    constants = tuple(constant for opcode, constant in code if opcode in (CONST, POWER_INT))
    return Program(tuple(opcode for opcode, _ in code), constants, deepest)


@fast_kernel
def _times(u, v):
    """u * v, and 0 if one is 0: what is constant stays so under an infinite slope, and what is flat stays flat."""
    return u * v if u != 0.0 and v != 0.0 else 0.0


@fast_kernel
def _digamma(x):
    """Derivative of lgamma for x > 0: recurrence up to 10, then the asymptotic series (error below 1e-14)."""
    value = 0.0
    while x < 10.0:
        value -= 1.0 / x
        x += 1.0
    r = 1.0 / (x * x)
    series = r * (1.0 / 12.0 - r * (1.0 / 120.0 - r * (1.0 / 252.0 - r * (1.0 / 240.0 - r * (1.0 / 132.0 - r * (691.0 / 32760.0))))))
    return value + math.log(x) - 0.5 / x - series


@part
def run_program(q, begin, first, data, ints, scratch):
    """The value of a program at the variables q[begin], q[begin + 1], ..., and its derivatives by those numbered
    `first` and `first + 1`. ints: number of opcodes, opcodes. data: constants. scratch: stack of (value, derivative,
    derivative), whose top lives in v, a, b.
    """
    v, a, b = 0.0, 0.0, 0.0
    top, constant = 0, 0
    for i in range(1, ints[0] + 1):
        op = ints[i]
        if op <= Y:
            scratch[top], scratch[top + 1], scratch[top + 2] = v, a, b
            top += 3
            v, a, b = 0.0, 0.0, 0.0
            if op == CONST:
                v = data[constant]
                constant += 1
            else:
                j = op - X if op > 0 else 1 - op
                v = q[begin + j]
                if j == first:
                    a = 1.0
                elif j == first + 1:
                    b = 1.0
        elif op <= LGAMMA:
            u, slope = v, 0.0  # v becomes f(u), and slope f'(u)
            if op == NEGATE:
                v, slope = -u, -1.0
            elif op == SQUARE:
                v, slope = u * u, 2.0 * u
            elif op == POWER_INT:
                n = int(data[constant])
                constant += 1
                below, factor, k = 1.0, u, n - 1  # below = u**(n - 1)
                while k > 0:
                    if k & 1:
                        below *= factor
                    factor *= factor
                    k >>= 1
                v, slope = below * u, n * below
            elif op == EXP:
                v = math.exp(u)
                slope = v
            elif op == LOG:
                v, slope = (math.log(u) if u >= 0.0 else math.nan), 1.0 / u
            elif op == LOG1P:
                v, slope = (math.log1p(u) if u >= -1.0 else math.nan), 1.0 / (1.0 + u)
            elif op == SQRT:
                v = math.sqrt(u) if u >= 0.0 else math.nan
                slope = 0.5 / v
            elif op == SIN:
                v, slope = math.sin(u), math.cos(u)
            elif op == COS:
                v, slope = math.cos(u), -math.sin(u)
            elif op == TAN:
                v = math.tan(u)
                slope = 1.0 + v * v
            elif op == TANH:
                v = math.tanh(u)
                slope = 1.0 - v * v
            elif op == ABS:
                v = abs(u)
                slope = 1.0 if u > 0.0 else (-1.0 if u < 0.0 else 0.0)
            elif op == SIGMOID:
                small = math.exp(-abs(u))
                v = (1.0 if u >= 0.0 else small) / (1.0 + small)
                slope = small / ((1.0 + small) * (1.0 + small))
            elif op == SOFTPLUS:
                small = math.exp(-abs(u))
                # not max(u, 0): it would turn NaN into 0
                v = (0.0 if u < 0.0 else u) + math.log1p(small)
                slope = (1.0 if u >= 0.0 else small) / (1.0 + small)
            elif u > 0.0:
                v, slope = math.lgamma(u), (_digamma(u) if u < 1e300 else math.nan)
            else:
                v = math.nan
            a, b = _times(a, slope), _times(b, slope)
        else:
            top -= 3
            u, c, d = scratch[top], scratch[top + 1], scratch[top + 2]  # left operand
            if op == ADD:
                v, a, b = u + v, c + a, d + b
            elif op == SUBTRACT:
                v, a, b = u - v, c - a, d - b
            elif op == MULTIPLY:
                product = u * v
                if abs(product) < math.inf:
                    a, b = c * v + u * a, d * v + u * b
                else:
                    a, b = _times(c, v) + _times(u, a), _times(d, v) + _times(u, b)
                v = product
            elif op == DIVIDE:
                inverse = 1.0 / v
                v = u / v
                if 0.0 < abs(inverse) < math.inf:
                    a, b = (c - v * a) * inverse, (d - v * b) * inverse
                else:
                    a, b = _times(c - _times(v, a), inverse), _times(d - _times(v, b), inverse)
            elif op == POWER:
                w = v
                v = math.pow(u, w) if u == u and w == w else math.nan  # pow(nan, 0) and pow(1, nan) are 1
                by_base = 0.0
                if w != 0.0:
                    by_base = w * v / u if u != 0.0 else w * math.pow(u, w - 1.0)
                by_exponent = 0.0
                if a != 0.0 or b != 0.0:
                    by_exponent = v * math.log(u) if u > 0.0 else (0.0 if u == 0.0 and w > 0.0 else math.nan)
                a, b = _times(by_base, c) + _times(by_exponent, a), _times(by_base, d) + _times(by_exponent, b)
            elif op <= MAX:  # MIN or MAX
                if u == v or (u < v) == (op == MIN):
                    if u == u and v == v:
                        v, a, b = u, c, d
                    else:
                        v = math.nan
                elif u != u:
                    v = math.nan
            elif op == LOGADDEXP:
                gap = u - v if u != v else 0.0  # inf - inf would be NaN
                small = math.exp(-abs(gap))
                left = (1.0 if gap >= 0.0 else small) / (1.0 + small)
                v = (u if gap >= 0.0 else v) + math.log1p(small)
                if left == 1.0:
                    a, b = c, d
                elif left > 0.0:  # else the right operand alone: the left one may be log(0), without a slope
                    a, b = left * c + (1.0 - left) * a, left * d + (1.0 - left) * b
                if gap != gap:
                    v = math.nan
            else:
                if op == LESS:
                    holds = u < v
                elif op == LESS_EQUAL:
                    holds = u <= v
                elif op == GREATER:
                    holds = u > v
                else:
                    holds = u >= v
                if not holds:
                    return -math.inf, 0.0, 0.0
                top -= 3
                v, a, b = scratch[top], scratch[top + 1], scratch[top + 2]
    if not math.isfinite(v):
        return -math.inf, 0.0, 0.0
    return v, (a if math.isfinite(a) else 0.0), (b if math.isfinite(b) else 0.0)


@target_kernel
def formula_machine(q, grad, dim, data, ints, scratch):
    """A program in x and y."""
    value, grad[0], grad[1] = run_program(q, 0, 0, data, ints, scratch)
    return value
