"""How kernels are compiled and how they call a target.

A *target kernel* is a C function `double f(double* q, double* grad, int64 dim, double* data, int64* ints, double*
scratch)` that returns the log
density at `q` and fills `grad` with its gradient. Samplers get its address as an argument, so that each sampler is
compiled once for
all targets.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload
from numba.np import arrayobj

from engine import _cache

_cache.install()

# error_model="numpy": the default model puts a zero-division branch into every loop with a `/`, and such loops do not
# vectorise.
# The fastmath subset keeps NaN and infinity, which divergence checks and constrained targets need.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}

_double_pointer = types.CPointer(types.float64)
_int_pointer = types.CPointer(types.int64)
TARGET_SIGNATURE = types.float64(_double_pointer, _double_pointer, types.int64, _double_pointer, _int_pointer, _double_pointer)


def _other_shape(source, place):
    """Called by compiled code that would write an array over one of another shape."""
    raise NotImplementedError


@overload(_other_shape)
def _raise_other_shape(source, place):
    def other_shape(source, place):
        raise ValueError("cannot assign an array to a slice of another shape")

    return other_shape


# numba's own puts the shapes into its message. To compile that (strings, joined and counted) took two seconds of every
# first picture, and it went into every kernel. Read while compiling only, and no result hangs on it.
arrayobj.raise_with_shape_context = _other_shape


# A kernel counts references. That is said to it, since one that a part calls would else be compiled like the part.
_WHOLE: dict[str, Any] = {"_nrt": True}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a sampler kernel: releases the GIL, kept in the cache, NaN and rounding as written."""
    return numba.njit(nogil=True, cache=True, error_model="numpy", **_WHOLE)(function)


def fast_kernel(function: Callable[..., Any]) -> Any:
    """Compile a numeric helper with the fastmath subset. Never for code that relies on rounding, NaN or infinity."""
    return numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=FASTMATH, **_WHOLE)(function)


def inlined(function: Callable[..., Any], fastmath: set[str] = FASTMATH) -> Any:
    """Compile a helper that becomes code of its caller, parameters of any kind.

    One that stays a function of its own exists twice in the process that compiles it, optimised in two ways, and once in
    a process that finds its caller in the cache: with `reassoc` the last bits of a sum then differ.
    """
    return numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=fastmath, forceinline=True)(function)


# Never called from Python: without wrappers, which take long to compile where arguments are records of many arrays.
_PART: dict[str, Any] = {"forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}


def part(function: Callable[..., Any]) -> Any:
    """Compile a passage of a kernel that has a name of its own: it becomes code of its caller, and costs no call.

    The kernel holds all arrays, so its parts count no references to them: with counting, and also when numba inlines
    them instead of LLVM, a transition of NUTS on a small target takes ten times as long. Hence a part allocates
    nothing, which numba sees to, and returns numbers. `_nrt` is shown with numba's `register_jitable`.
    """
    return numba.njit(nogil=True, cache=True, error_model="numpy", **_PART)(function)


def fast_part(function: Callable[..., Any]) -> Any:
    """A part with the fastmath subset, see `fast_kernel`."""
    return numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=FASTMATH, **_PART)(function)


class TargetKernel:
    """A target kernel that is compiled, or taken from the cache, when its address is first asked for: a page that shows
    one target does not wait for the others, which stand in modules that it imports."""

    def __init__(self, function: Callable[..., float]) -> None:
        self.py_func = function  # under numba's name, for those who show the source
        self.__module__ = function.__module__
        self._lock = threading.Lock()
        self._compiled: Any = None

    @property
    def address(self) -> int:
        """Where it is in this process; it stays there as long as this object."""
        with self._lock:
            if self._compiled is None:
                compiler = numba.cfunc(TARGET_SIGNATURE, cache=True, error_model="numpy", fastmath=FASTMATH)
                self._compiled = compiler(self.py_func)
        return int(self._compiled.address)

    def __reduce__(self) -> str:
        return self.py_func.__qualname__  # pickled by name, as a function is


def target_kernel(function: Callable[..., float]) -> TargetKernel:
    """Compile a module-level function of six pointers `(q, grad, dim, data, ints, scratch)` to a cached target kernel.

    Pointers are indexed like arrays. One that adds up and writes in the same loop begins with `arguments_apart()`.
    Report an impossible point by returning NaN or -inf: an exception would be swallowed.
    """
    return TargetKernel(function)


def native_call(function: Callable[..., Any]) -> Any:
    """numba's `intrinsic` for type checkers: callers leave the typing context out."""
    return intrinsic(function)


@native_call
def arguments_apart(typingctx):
    """Promise the compiler that the pointers among this function's arguments lead to memory of their own.

    Without it LLVM tests at run time whether two ranges might meet, wider ranges than a loop walks through, and takes
    the loop without vectors where they might: with `reassoc` the last bits of a sum then hang on where the arrays
    happen to lie, and the same seed does not give the same bytes.
    """

    def codegen(context, builder, signature, args):
        for argument in builder.function.args:
            if isinstance(argument.type, ir.PointerType):
                argument.add_attribute("noalias")
        return context.get_dummy_value()

    return types.void(), codegen


@native_call
def log_density_at(typingctx, address, q, grad, data, ints, scratch):
    """Call the target kernel at `address` on contiguous arrays: returns log density, fills `grad`. dim is `q.size`."""
    signature = types.float64(types.int64, q, grad, data, ints, scratch)

    def codegen(context, builder, signature, args):
        double, int64 = ir.DoubleType(), ir.IntType(64)
        arrays = [context.make_array(t)(context, builder, value=v) for t, v in zip(signature.args[1:], args[1:], strict=True)]
        at, out, numbers, integers, scratch_ = (a.data for a in arrays)
        kinds = [double.as_pointer(), double.as_pointer(), int64, double.as_pointer(), int64.as_pointer(), double.as_pointer()]
        function = builder.inttoptr(args[0], ir.FunctionType(double, kinds).as_pointer())
        return builder.call(function, [at, out, arrays[0].nitems, numbers, integers, scratch_])

    return signature, codegen
