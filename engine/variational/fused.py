"""Single-precision building blocks of the variational networks: functions, random numbers and step rules, written so that a
loop over weights becomes vector instructions.

A large network has a million weights with three variational parameters each, and every training step touches all of
them: it is bound by memory, so one pass over a weight does everything (the gradient of the Kullback-Leibler
divergence, Adam, and the draw for the next step). What belongs to a weight lies together: parameters and Adam's
averages stand in *blocks*, an array (blocks, rows, `ROW`) with `BLOCK` weights to a row. The distance of rows is a
constant, so that the compiler can see that they do not overlap.

Random numbers are counted, not carried: number i of step t is a hash of (seed, t, i). Training in pieces of any size
therefore gives the same bytes, and nothing depends on the width of the vectors. The hash is two rounds of the
xor-shift-multiply kind (multipliers found by C. Wellons' search for low bias); normal numbers are Box and Muller's,
their tail ends at 5.8.

Errors (single precision, in units of 6e-8): exp 2 relative on [-87, 87], log 1 absolute + 1 relative.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import extending, types
from numpy.typing import NDArray

from engine.networks.passes import moved, pointer
from engine.variational.optimisers import Decaying

intrinsic: Any = extending.intrinsic  # its own type says that calls take the typing context

Single = NDArray[np.float32]

BLOCK = 256  # weights to a row
ROW = BLOCK + 16  # one cache line more: rows a power of two apart would compete for the same places in the cache
HALF = BLOCK // 2
ALL = slice(None)  # blocks
SAMPLED, LOCAL, FLIPOUT = range(3)  # ways of weights with a distribution through a layer, see `engine.variational.minibatch`

# Adam, as in Kingma and Ba (2015). The gradient is that of the whole ELBO, hundreds of times larger than 1e-8.
# So epsilon may stand under the root.
BETA1, BETA2, EPSILON = np.float32(0.9), np.float32(0.999), np.float32(1e-16)
_REST1, _REST2 = np.float32(1) - BETA1, np.float32(1) - BETA2
_TAU = np.float32(Decaying.tau)

ZERO, ONE, TWO, FOUR = np.float32(0), np.float32(1), np.float32(2), np.float32(4)
A_HALF, THREE_HALVES = np.float32(0.5), np.float32(1.5)
_LOG2E = np.float32(1.44269504088896341)
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_LIMIT = np.float32(87.0)
_SHIFT = np.float32(12582912.0 + 127.0)  # 1.5 * 2^23 and the exponent's offset, see `engine.vectormath`
_SQRT_HALF_BITS = np.int32(0x3F3504F3)
_ROUND = np.float32(12582912.0)
_ROUND_BITS = np.int32(0x4B400000)
_QUARTER_PI = np.float32(0.785398163397448)
_SIGN = np.int32(-(2**31))

# Of the fastmath flags only those that keep rounding tricks, NaN and infinity.
_OPTIONS: Any = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "nsz"}}
_INLINED: Any = {"forceinline": True, **_OPTIONS}


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a helper that becomes part of the loop that calls it."""
    return numba.njit(cache=True, **_INLINED)(function)


def single_kernel(function: Callable[..., Any]) -> Any:
    """Compile a kernel over single-precision arrays: releases the GIL, kept in the cache."""
    return numba.njit(cache=True, **_OPTIONS)(function)


@intrinsic
def _bits(typingctx, x):
    """The 32 bits of a float32 as int32."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], ir.IntType(32))

    return types.int32(types.float32), codegen


@intrinsic
def _from_bits(typingctx, i):
    """The float32 that has the 32 bits of an int32."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.int32), codegen


def _on_int32(build: Callable[..., Any]) -> Any:
    """An intrinsic of two int32 with result int32: numba itself computes with 64 bits, half as many to a vector."""

    def typed(typingctx, a, b):
        def codegen(context, builder, signature, args):
            return build(builder, *args)

        return types.int32(types.int32, types.int32), codegen

    return intrinsic(typed)


_add = _on_int32(lambda builder, a, b: builder.add(a, b))
_subtract = _on_int32(lambda builder, a, b: builder.sub(a, b))
_and = _on_int32(lambda builder, a, b: builder.and_(a, b))
_xor = _on_int32(lambda builder, a, b: builder.xor(a, b))
_left = _on_int32(lambda builder, a, b: builder.shl(a, b))
_arithmetic_right = _on_int32(lambda builder, a, b: builder.ashr(a, b))


def _mix(builder, x, shifts_and_factors):
    constant = ir.Constant
    for shift, factor in shifts_and_factors:
        x = builder.xor(x, builder.lshr(x, constant(ir.IntType(32), shift)))
        if factor:
            x = builder.mul(x, constant(ir.IntType(32), factor))
    return x


@intrinsic
def _hash(typingctx, index, first, second):
    """32 random bits for (index, key)."""

    def codegen(context, builder, signature, args):
        i, a, b = args
        x = _mix(builder, builder.add(i, a), ((16, 0x21F0AAAD), (15, 0x735A2D97), (15, 0)))
        return _mix(builder, builder.xor(x, b), ((16, 0x7FEB352D), (15, 0x846CA68B), (16, 0)))

    return types.int32(types.int32, types.int32, types.int32), codegen


@intrinsic
def _unit(typingctx, x):
    """The upper 23 of 32 random bits as a number between 0 and 1, both excluded: (k + 1/2) / 2^23."""

    def codegen(context, builder, signature, args):
        int32 = ir.IntType(32)
        mantissa = builder.or_(builder.lshr(args[0], ir.Constant(int32, 9)), ir.Constant(int32, 0x3F800000))
        return builder.fsub(builder.bitcast(mantissa, ir.FloatType()), ir.Constant(ir.FloatType(), 1.0 - 2.0**-24))

    return types.float32(types.int32), codegen


@intrinsic
def square_root(typingctx, x):
    """The root of a float32, as one instruction."""

    def codegen(context, builder, signature, args):
        return builder.call(builder.module.declare_intrinsic("llvm.sqrt", [ir.FloatType()]), args)

    return types.float32(types.float32), codegen


@inlined
def inverse_root(x):
    """1 / sqrt(x) with a relative error of 5e-6, for x >= 0; about 1e19 at 0. A guess from the bits and two steps of
    Newton: a fifth of the time that a root and a division take.
    """
    y = _from_bits(_subtract(np.int32(0x5F375A86), _arithmetic_right(_bits(x), np.int32(1))))
    half = A_HALF * x
    y *= THREE_HALVES - half * y * y
    return y * (THREE_HALVES - half * y * y)


@inlined
def exp(x):
    """e^x, kept within e^-87 and e^87."""
    x = min(max(x, -_LIMIT), _LIMIT)
    rounded = x * _LOG2E + _SHIFT
    k = rounded - _SHIFT
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    p = np.float32(1.9875691500e-4)
    p = p * r + np.float32(1.3981999507e-3)
    p = p * r + np.float32(8.3334519073e-3)
    p = p * r + np.float32(4.1665795894e-2)
    p = p * r + np.float32(1.6666665459e-1)
    p = p * r + np.float32(5.0000001201e-1)
    return (p * r * r + r + ONE) * _from_bits(_left(_bits(rounded), np.int32(23)))


@inlined
def log(x):
    """Natural logarithm of a positive normal number."""
    shifted = _subtract(_bits(x), _SQRT_HALF_BITS)
    exponent = _arithmetic_right(shifted, np.int32(23))
    k = _from_bits(_add(exponent, _ROUND_BITS)) - _ROUND
    f = _from_bits(_subtract(_bits(x), _left(exponent, np.int32(23)))) - ONE
    z = f * f
    p = np.float32(7.0376836292e-2)
    p = p * f - np.float32(1.1514610310e-1)
    p = p * f + np.float32(1.1676998740e-1)
    p = p * f - np.float32(1.2420140846e-1)
    p = p * f + np.float32(1.4249322787e-1)
    p = p * f - np.float32(1.6668057665e-1)
    p = p * f + np.float32(2.0000714765e-1)
    p = p * f - np.float32(2.4999993993e-1)
    p = p * f + np.float32(3.3333331174e-1)
    return (p * f * z - A_HALF * z + f) + k * np.float32(0.69314718)


@inlined
def softplus(x):
    """log(1 + e^x), and its derivative 1 / (1 + e^-x)."""
    small = exp(-abs(x))
    sum_ = ONE + small
    inverse = ONE / sum_
    # what 1 + small has lost by rounding, to first order
    rest = (small - (sum_ - ONE)) * inverse
    return max(x, ZERO) + (log(sum_) + rest), (ONE if x > ZERO else small) * inverse


@inlined
def sigmoid(x):
    """1 / (1 + e^-x)."""
    return ONE / (ONE + exp(-x))


@inlined
def tanh(x):
    """Hyperbolic tangent; absolute error 1e-7."""
    return TWO / (ONE + exp(-(x + x))) - ONE


@inlined
def fill_normal(row, index, first, second):
    """Fill `BLOCK` numbers from `row` on with draws of N(0, 1): numbers index * BLOCK ... of the stream of the key."""
    for j in range(HALF):
        at = np.int32(index * BLOCK + j)
        radius = square_root(np.float32(-2) * log(_unit(_hash(at, first, second))))
        turn = _hash(_add(at, np.int32(HALF)), first, second)
        # An angle in [-pi/4, pi/4] from the upper bits; three of the lower ones choose the eighth of the circle.
        angle = (TWO * _unit(turn) - ONE) * _QUARTER_PI
        z = angle * angle
        s = np.float32(-1.9515295891e-4)
        s = s * z + np.float32(8.3321608736e-3)
        s = s * z - np.float32(1.6666654611e-1)
        s = (s * z * angle + angle) * radius
        c = np.float32(2.443315711809948e-5)
        c = c * z - np.float32(1.388731625493765e-3)
        c = c * z + np.float32(4.166664568298827e-2)
        c = (c * z * z - A_HALF * z + ONE) * radius
        swap = _and(turn, np.int32(1)) == np.int32(0)
        a, b = (s, c) if swap else (c, s)
        row[j] = _from_bits(_xor(_bits(a), _and(_left(turn, np.int32(30)), _SIGN)))
        row[j + HALF] = _from_bits(_xor(_bits(b), _and(_left(turn, np.int32(29)), _SIGN)))


@inlined
def fill_uniform(row, index, first, second):
    """Fill `BLOCK` numbers from `row` on with draws between 0 and 1, both excluded."""
    for j in range(BLOCK):
        row[j] = _unit(_hash(np.int32(index * BLOCK + j), first, second))


@inlined
def fill_signs(row, index, first, second):
    """Fill `BLOCK` numbers from `row` on with -1 and 1, equally likely."""
    for j in range(BLOCK):
        row[j] = _from_bits(_xor(_bits(ONE), _and(_hash(np.int32(index * BLOCK + j), first, second), _SIGN)))


@inlined
def adam(block, row, i, gradient, step_size, correction):
    """Move parameter `i` of a block up along its gradient: the parameter stands in `row`, Adam's averages in the two
    rows after it. Returns its new value.

    step_size : Adam's, over 1 - beta1^t
    correction : 1 / (1 - beta2^t)
    """
    at = row * ROW + i
    m = BETA1 * block[at + ROW] + _REST1 * gradient
    v = BETA2 * block[at + 2 * ROW] + _REST2 * gradient * gradient
    block[at + ROW] = m
    block[at + 2 * ROW] = v
    value = block[at] + step_size * m * inverse_root(v * correction + EPSILON)
    block[at] = value
    return value


@inlined
def decaying(block, row, i, gradient, step_size, kept):
    """As `adam`, by the rule of `engine.variational.optimisers.Decaying`, whose average stands where Adam's second does.

    step_size : the rule's, over the root of the step's number
    kept : of the average, 1 - alpha; 0 in the first step
    """
    at = row * ROW + i
    v = kept * block[at + 2 * ROW] + (ONE - kept) * gradient * gradient
    block[at + 2 * ROW] = v
    value = block[at] + step_size * gradient / (_TAU + square_root(v))
    block[at] = value
    return value


class Decay(NamedTuple):
    """How far the decaying rule goes in one step, see `decaying`, and how much the divergence counts in it."""

    step_size: np.float32
    kept: np.float32
    kl_weight: np.float32


def decay(step: int, step_size: float, kl_weight: float) -> Decay:
    """For step number `step`, counted from 1; `kl_weight` as in `pace`."""
    kept = 0.0 if step == 1 else 1.0 - Decaying.alpha
    return Decay(np.float32(step_size / math.sqrt(step)), np.float32(kept), np.float32(kl_weight))


class Pace(NamedTuple):
    """How far Adam goes in one step, see `adam`, and how much the divergence counts in it; as kernels take it."""

    step_size: np.float32
    inclusion_step_size: np.float32
    correction: np.float32
    kl_weight: np.float32 = ONE


def pace(step: int, step_size: float, inclusion_step_size: float = 0.0, kl_weight: float = 1.0) -> Pace:
    """For step number `step`, counted from 1.

    kl_weight : what the divergence's gradient is multiplied by; 1 is the ELBO
    """
    first, second = 1.0 - float(BETA1) ** step, 1.0 - float(BETA2) ** step
    lengths = np.float32(step_size / first), np.float32(inclusion_step_size / first)
    return Pace(*lengths, np.float32(1.0 / second), np.float32(kl_weight))


def climb(block, row, i, gradient, pace):
    """Move a parameter as `adam` or `decaying` do, whichever `pace` is of. For compiled code."""
    raise NotImplementedError


@extending.overload(climb, jit_options=_INLINED)
def _climb(block, row, i, gradient, pace):
    if pace.instance_class is Decay:
        return lambda block, row, i, gradient, pace: decaying(block, row, i, gradient, pace.step_size, pace.kept)
    return lambda block, row, i, gradient, pace: adam(block, row, i, gradient, pace.step_size, pace.correction)


class Key(NamedTuple):
    """What a stream of random numbers hangs on."""

    first: np.int32
    second: np.int32


def key(seed: int, step: int, stream: int) -> Key:
    """The key of stream `stream` (below 16) in step `step`: 64 bits of SplitMix64."""
    x = (seed * 0x9E3779B97F4A7C15 + (step * 16 + stream) * 0xBF58476D1CE4E5B9 + 0x94D049BB133111EB) % 2**64
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) % 2**64
    x ^= x >> 31
    return Key(np.int32((x & 0xFFFFFFFF) - 2**31), np.int32((x >> 32) - 2**31))


def inverse_softplus(x: Any) -> Any:
    """rho such that log(1 + e^rho) = x > 0."""
    return x + np.log(-np.expm1(-x))


def padded(count: int) -> int:
    """`count` rounded up to whole blocks."""
    return -(-count // BLOCK) * BLOCK


class WeightBlocks:
    """Blocks of weights, and the flat arrays that `train_pass` reads and fills.

    trained : the rows that hold parameters; each is followed by Adam's two averages
    weights : (padded count,) the draw that the next minibatch sees, or the means, unless the way is sampled
    gradient : the same, filled by the pass
    variances, variance_gradient : for local passes; for Flipout deviations of the draw from the means, and their
        gradient; else empty
    """

    trained: tuple[int, ...] = (0,)
    has_mask = False
    noisy = False

    def __init__(self, count: int, rows: int, way: int = SAMPLED):
        self.count, self.way = count, way
        whole = padded(count)
        self.blocks = np.zeros((whole // BLOCK, rows, ROW), dtype=np.float32)
        self.weights, self.gradient = np.zeros(whole, np.float32), np.zeros(whole, np.float32)
        second = 0 if way == SAMPLED else whole
        self.variances, self.variance_gradient = np.zeros(second, np.float32), np.zeros(second, np.float32)

    def flat(self, values: Single, span: slice) -> Single:
        """What belongs to these blocks in a flat array."""
        return values if span == ALL else values[BLOCK * span.start : BLOCK * span.stop]

    def halves(self) -> tuple[slice, slice]:
        """Two spans that hold all blocks."""
        middle = len(self.blocks) // 2
        return slice(0, middle), slice(middle, len(self.blocks))

    def read(self, row: int) -> Single:
        """A copy (count,) of one row of every block, as one array."""
        return np.ascontiguousarray(self.blocks[:, row, :BLOCK]).reshape(-1)[: self.count]

    def write(self, row: int, values: NDArray[Any], rest: float = 0.0) -> None:
        """Set one row of every block from one array (count,); what only fills up the last block becomes `rest`."""
        whole = np.full(len(self.blocks) * BLOCK, rest, dtype=np.float32)
        whole[: self.count] = values
        self.blocks[:, row, :BLOCK] = whole.reshape(-1, BLOCK)

    def forget(self) -> None:
        """Set Adam's averages to zero."""
        for row in self.trained:
            self.blocks[:, row + 1 : row + 3] = 0.0

    def last_gradient(self) -> Single:
        """(trained rows * count,): the gradient that the first step after `forget` went along."""
        return np.asarray(np.concatenate([self.read(row + 1) for row in self.trained]) / _REST1, dtype=np.float32)

    def begin_noise(self, work: Any, key: Key) -> None:
        """Draw the factors of units, where they have any."""


@single_kernel
def normals(out, first, second):
    """Fill `out` (whole blocks,) with draws of N(0, 1)."""
    for block in range(out.size // BLOCK):
        fill_normal(moved(pointer(out), block * BLOCK), block, first, second)


@single_kernel
def uniforms(out, first, second):
    """Fill `out` (whole blocks,) with draws between 0 and 1."""
    for block in range(out.size // BLOCK):
        fill_uniform(moved(pointer(out), block * BLOCK), block, first, second)


@single_kernel
def signs(out, first, second):
    """Fill `out` (whole blocks,) with -1 and 1, equally likely."""
    for block in range(out.size // BLOCK):
        fill_signs(moved(pointer(out), block * BLOCK), block, first, second)
