"""exp, log, tanh and sigmoid without branches, for loops that the compiler turns into vector instructions.

libm's functions are opaque calls, so a loop around one runs one number at a time: 3 to 8 ns each. These are polynomials
between bit operations: LLVM inlines and vectorises them, and in a loop they take 0.55 to 0.8 ns each (Zen 4, AVX-512).

| function  | argument          | error at most                | outside                                         |
|-----------|-------------------|------------------------------|-------------------------------------------------|
| `exp`     | [-708, 708]       | 3e-16 relative               | stays at exp(-708) = 3.3e-308, exp(708) = 3e307 |
| `log`     | positive normal   | 3e-16 relative               | 0 gives -inf, negative NaN, inf gives inf       |
| `tanh`    | any               | 4e-16 relative               |                                                 |
| `sigmoid` | [-708, inf]       | 4e-16 relative               | below -708 stays at 3.3e-308                    |

NaN in gives NaN out. `tanh(-x) == -tanh(x)` to the bit. Subnormal arguments of `log` count as 0.

Sources: W. J. Cody and W. Waite, Software Manual for the Elementary Functions (1980), for the reduction; the rational
form of exp and the form of log are those of FDLIBM (`e_exp.c`, `e_log.c`, Sun Microsystems 1993). The coefficients of
`exp` are interpolated at Chebyshev nodes in 60-digit arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import extending, types

from engine.kernels import inlined

intrinsic: Any = extending.intrinsic  # its own type says that calls take the typing context


def _inlined(function: Callable[..., Any]) -> Any:
    # Only `contract` (a*b + c in one instruction) of the fastmath flags: `reassoc` would cancel the rounding trick of
    # `_reduce`. Flags belong to instructions, so these stay as they are when inlined into a loop that is compiled
    # with more.
    return inlined(function, {"contract"})


@intrinsic
def _bits(typingctx, x):
    """The 64 bits of a float64 as int64."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), codegen


@intrinsic
def _from_bits(typingctx, i):
    """The float64 that has the 64 bits of an int64."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), codegen


# 1.5 * 2^52 + 1023: adding it to a number below 2^51 leaves the nearest whole number k in the low bits, here with the
# exponent's offset, so that a shift alone makes 2^k of them. A conversion to int64 would do too, but AVX2 has none
# for vectors and that of a NaN is undefined.
_ROUND = 6755399441055744.0 + 1023.0
_ROUND_BITS = 0x4338000000000000 + 1023
_INVERSE_LN2 = 1.44269504088896338700e00
_LN2_HIGH = 6.93147180369123816490e-01  # 32 bits, so that k * _LN2_HIGH is exact
_LN2_LOW = 1.90821492927058770002e-10
_HALF_LN2 = 3.46573590279972654709e-01
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
_SIGN_BIT = -(2**63)


@_inlined
def _reduce(x):
    """x = k ln 2 + r with abs(r) <= ln(2)/2: returns r and 2^k. For abs(x) < 709."""
    rounded = x * _INVERSE_LN2 + _ROUND
    k = rounded - _ROUND
    return (x - k * _LN2_HIGH) - k * _LN2_LOW, _from_bits(_bits(rounded) << 52)


@_inlined
def _denominator(r):
    """w such that exp(2r) = (w + 2r) / w, for abs(r) <= ln(2)/4.

    Half the terms of a polynomial for exp, good where a division follows anyway.
    """
    t = r * r
    even = 2.118726040093306e-05
    even = even * t - 2.1163394822995522e-04
    even = even * t + 2.116402022860139e-03
    even = even * t - 2.2222222221612475e-02
    even = even * t + 3.3333333333333204e-01
    return even * t + (1.0 - r)


@_inlined
def _with_sign_of(x, size):
    return _from_bits(_bits(size) | (_bits(x) & _SIGN_BIT))


@_inlined
def _within(x, limit):
    """x kept in [-limit, limit]; a NaN stays. One comparison and two bit operations, cheaper than two comparisons."""
    size = abs(x)
    return _with_sign_of(x, min(size, limit))


@_inlined
def exp(x):
    """e^x, kept within [3.3e-308, 3.1e307]."""
    x = _within(x, 708.0)
    r, scale = _reduce(x)
    # even and odd powers apart: the same number of operations, but two chains of dependent ones of half the length
    r2 = r * r
    odd = 2.51003758422237e-08
    odd = odd * r2 + 2.7557268480289716e-06
    odd = odd * r2 + 0.00019841269863040559
    odd = odd * r2 + 0.008333333333330065
    odd = odd * r2 + 0.16666666666666669
    even = 2.7620075892548164e-07
    even = even * r2 + 2.480152132234228e-05
    even = even * r2 + 0.0013888888917196736
    even = even * r2 + 0.041666666666624164
    even = even * r2 + 0.5000000000000001
    return ((odd * r + even) * r2 + r) * scale + scale


@_inlined
def tanh(x):
    """Hyperbolic tangent."""
    size = abs(x)
    size = min(size, 20.0)  # 1 to the last bit from 19.1 on
    rounded = size * (2.0 * _INVERSE_LN2) + _ROUND
    scale = _from_bits(_bits(rounded) << 52)
    r = size - (rounded - _ROUND) * _HALF_LN2  # one step is enough: where k is large, tanh is flat
    w = _denominator(r)
    twice = (r + r) * scale
    # (e - 1) / (e + 1) with e = scale (w + 2r) / w; nothing cancels near 0, where scale - 1 is 0
    return _with_sign_of(x, (w * (scale - 1.0) + twice) / (w * (scale + 1.0) + twice))


@_inlined
def sigmoid(x):
    """1 / (1 + e^-x)."""
    r, scale = _reduce(_within(x, 708.0))
    w = _denominator(0.5 * r)
    growth = (w + r) * scale  # e^x = growth / w
    return growth / (w + growth)


@_inlined
def log(x):
    """Natural logarithm."""
    shifted = _bits(x) - _SQRT_HALF_BITS
    exponent = shifted >> 52
    k = _from_bits(exponent + _ROUND_BITS) - _ROUND
    f = _from_bits(_bits(x) - (exponent << 52)) - 1.0  # 1 + f in [sqrt(1/2), sqrt(2))
    s = f / (2.0 + f)
    z = s * s
    p = 1.479819860511658591e-01
    p = p * z + 1.531383769920937332e-01
    p = p * z + 1.818357216161805012e-01
    p = p * z + 2.222219843214978396e-01
    p = p * z + 2.857142874366239149e-01
    p = p * z + 3.999999999940941908e-01
    p = p * z + 6.666666666666735130e-01
    half = 0.5 * f * f
    value = k * _LN2_HIGH - ((half - (s * (half + p * z) + k * _LN2_LOW)) - f)
    value = value if x < float("inf") else x
    value = -float("inf") if x < 2.2250738585072014e-308 else value
    return value if x >= 0.0 else float("nan")
