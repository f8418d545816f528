"""Results kept in memory: one store for the process, weighed in bytes, the least recently used thrown out first.

`@kept` before a function keeps what it returns, by its arguments. Several who want the same at the same time wait for
one of them. What is small and hot, such as a text, a colour or the target of a spec, is not for it but for
`functools.cache`: a look into the store takes microseconds.

`POSTERIOR_LAB_MEMORY` says how many megabytes the store may hold.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import mmap
import sys
import threading
import time
import types
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from engine import settings, turns
from engine.ticket import Lock

MEGABYTE = 1_000_000
AGAIN = 1.0  # s after which what is used is weighed again, for it may have grown
SHARED = 4096  # bytes from which a buffer is known by itself: several results that hold it count it once
MOST = 20_000  # objects that are looked at to weigh one result; of what is left each counts as an atom
ATOM = 32  # bytes
FEW = 1000  # objects, weighed in about a millisecond
LATER = 30  # results at most that are kept unweighed, while somebody waits for a picture
TURNOVER = 32 * MEGABYTE  # kept and thrown out, after which freed memory is given back to the system

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

_MISSING = object()
_ATOMS = frozenset({int, float, complex, bool, type(None), np.float64, np.int64, np.bool_})
_NOT_OURS = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, threading.Thread)
_STRANGERS = frozenset({"numba", "llvmlite", "threading", "_thread", "concurrent", "logging"})  # they lead everywhere


class Weight:
    """What a result takes: `small` bytes of its own, and `buffers` {id: bytes}, each of which others may hold too.
    `looked` is at how many objects. Without a value it is nothing.
    """

    __slots__ = ("buffers", "looked", "small")

    def __init__(self, value: Any = _MISSING):
        self.small = 0
        self.buffers: dict[int, int] = {}
        seen: set[int] = set()
        todo = [] if value is _MISSING else [value]
        while todo and len(seen) < MOST:
            with contextlib.suppress(Exception):  # anything may refuse to be looked at: on with the next
                self._look(todo, seen)
        self.small += ATOM * len(todo)
        self.looked = len(seen)

    @property
    def bytes(self) -> int:
        """All together."""
        return self.small + sum(self.buffers.values())

    def _look(self, todo: list[Any], seen: set[int]) -> None:
        while todo and len(seen) < MOST:
            item = todo.pop()
            if id(item) not in seen:
                seen.add(id(item))
                todo += self._add(item)

    def _add(self, item: Any) -> list[Any]:
        """Weigh one object; returns those it holds."""
        if isinstance(item, np.ndarray):
            return self._add_array(item)
        if _not_ours(type(item)):
            return []
        if isinstance(item, memoryview):
            return [item.obj]
        self._add_buffer(item, sys.getsizeof(item, 0))
        held = gc.get_referents(item)
        more = [each for each in held if type(each) not in _ATOMS]
        self.small += ATOM * (len(held) - len(more))
        return more

    def _add_array(self, array: np.ndarray) -> list[Any]:
        owner: Any = array
        while hasattr(owner.base, "base"):  # an array, or the stranger that stands between some views and theirs
            owner = owner.base
        if isinstance(owner.base, (bytes, bytearray, memoryview)):
            return [owner.base]
        if not isinstance(owner.base, mmap.mmap):
            self._add_buffer(owner, owner.nbytes)
        return owner.ravel().tolist() if owner.dtype.hasobject else []

    def _add_buffer(self, owner: Any, size: int) -> None:
        if size < SHARED:
            self.small += size
        else:
            self.buffers[id(owner)] = size


_known: dict[type, bool] = {}  # kinds of objects that were met: whether they are not ours


def _not_ours(kind: type) -> bool:
    if kind not in _known:
        _known[kind] = issubclass(kind, (*_NOT_OURS, Store)) or kind.__module__.partition(".")[0] in _STRANGERS
    return _known[kind]


LARGE = 65_536  # bytes from which memory is had from the system by itself and goes back to it as soon as it is free
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt, from malloc.h


def _give_back() -> Callable[[], object]:
    """Gives freed memory back to the system, which glibc by itself hardly does where many threads compute.

    Trimming: after all scenarios of all pages, twice with other seeds, the process had 1,250 MB without it and 830 MB
    with it. It takes a few milliseconds. And glibc takes more and more from its heaps once something large was freed,
    unless it is told where large begins: after a class of thirty 1,095 MB without that and 950 with it, as fast.
    With another C library this does nothing.
    """
    try:
        library = ctypes.CDLL(None)
        trim, option = library.malloc_trim, library.mallopt
    except (AttributeError, OSError, TypeError):
        return lambda: None
    option(_MMAP_THRESHOLD, LARGE)
    option(_TRIM_THRESHOLD, LARGE)
    return functools.partial(trim, ctypes.c_size_t(0))


_trim = _give_back()


_UNKNOWN = Weight()  # of what has not been weighed yet


class _Entry:
    __slots__ = ("used", "value", "weighed", "weight")

    def __init__(self, value: Any):
        self.value, self.weight = value, _UNKNOWN
        self.weighed = time.monotonic()
        self.used = self.weighed + AGAIN  # whoever had it made goes on with it


class _Making:
    """A value that somebody makes and others may wait for."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.wanted = 0
        self.value: Any = _MISSING


class Store:
    """Values by key, the least recently used thrown out beyond `budget` bytes. Safe between threads.

    A value may go on growing: it is weighed again now and then when it is used. One that was thrown out, or is heavier
    than the budget, is found again as long as somebody else holds it: nobody begins anew what others are at.

    To weigh takes a millisecond, to make room and give memory back now and then thirty. A picture that somebody waits
    for does not wait for that: see `settle`.
    """

    def __init__(self, budget: int):
        self.budget = budget
        self.bytes = 0
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._buffers: dict[int, list[int]] = {}  # how many entries hold each, and its bytes
        self._in_use: weakref.WeakValueDictionary[Hashable, Any] = weakref.WeakValueDictionary()
        self._making: dict[Hashable, _Making] = {}
        self._later: deque[tuple[Hashable, _Entry]] = deque()  # to be weighed
        self._turnover = 0
        self._door = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable, default: Any = None) -> Any:
        """The value under `key`; `default` where there is none."""
        with self._door:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
                entry.used = time.monotonic()
                due = entry.used - entry.weighed > AGAIN
                if due:
                    entry.weighed = entry.used
        if entry is not None:
            if due:
                self._weigh(key, entry)
            return entry.value
        value = self._in_use.get(key, _MISSING)
        if value is _MISSING:
            return default
        self.put(key, value)
        return value

    def put(self, key: Hashable, value: Any) -> None:
        """Keep `value`, unless it is heavier than the budget."""
        entry = _Entry(value)
        with self._door:
            dropped = [self._take(key)] if key in self._entries else []
            with contextlib.suppress(TypeError):  # of some kinds nobody can tell whether they are in use
                self._in_use[key] = value
            self._entries[key] = entry
        del dropped  # not behind the door: what goes with it may take a while
        self._weigh(key, entry)

    def settle(self) -> None:
        """Weigh what was put or used for a picture that somebody waited for."""
        while True:
            try:
                key, entry = self._later.popleft()
            except IndexError:
                return
            self._weigh_now(key, entry)

    def make(self, key: Hashable, make: Callable[[], R]) -> R:
        """The value under `key`, made if need be: by one of those who ask for it together, while the others wait. What
        `make` raises is raised, and the next tries again. Raises InterruptedError in one who waits and whose result is
        not wanted any more, see `engine.ticket`.
        """
        found = self.get(key, _MISSING)
        if found is not _MISSING:
            return found
        with self._door:
            making = self._making.setdefault(key, _Making())
            making.wanted += 1
        try:
            with making.lock:
                if making.value is _MISSING:
                    making.value = self.get(key, _MISSING)  # made between the two looks
                if making.value is _MISSING:
                    making.value = make()
                    self.put(key, making.value)
                return making.value
        finally:
            with self._door:
                making.wanted -= 1
                if not making.wanted:
                    del self._making[key]

    def forget(self, which: Callable[[Hashable], bool] = lambda key: True) -> None:
        """Throw out the values whose keys are `which`; all by default."""
        with self._door:
            dropped = [self._take(key) for key in list(self._entries) if which(key)]
            for key in [key for key in list(self._in_use) if which(key)]:
                self._in_use.pop(key, None)
        del dropped

    def _weigh(self, key: Hashable, entry: _Entry) -> None:
        """Now, and what is left from before; or later, in a thread that makes a first picture."""
        claim = turns.held()
        if claim is not None and claim.rank == turns.FIRST and len(self._later) < LATER:
            self._later.append((key, entry))
            return
        self.settle()
        self._weigh_now(key, entry)

    def _weigh_now(self, key: Hashable, entry: _Entry) -> None:
        """Weigh an entry, make room, and now and then give memory back."""
        weight = Weight((key, entry.value))
        with self._door:
            if self._entries.get(key) is not entry:
                return
            if entry.weight is _UNKNOWN:
                self._turnover += weight.bytes
            self._add(weight)
            self._remove(entry.weight)
            entry.weight = weight
            dropped = [self._take(key)] if weight.bytes > self.budget else self._fit()
            due = self._turnover > TURNOVER
            if due:
                self._turnover = 0
        del dropped
        if due:
            self._weigh_used()
            _trim()

    def _weigh_used(self) -> None:
        """Weigh again what was used since it was weighed: what is worked out on demand is not there at first. Only what
        is weighed quickly; arrays are what makes results grow, not the number of their objects.
        """
        now = time.monotonic()
        with self._door:
            used = [
                (key, e) for key, e in self._entries.items() if e.used > e.weighed and now > e.weighed + AGAIN and e.weight.looked < FEW
            ]
        for key, entry in used:
            entry.weighed = now
            self._weigh_now(key, entry)

    def _fit(self) -> list[_Entry]:
        """Throw out until the budget is kept; returns what was thrown out."""
        dropped = []
        while self.bytes > self.budget and self._entries:
            dropped.append(self._take(next(iter(self._entries))))
        return dropped

    def _take(self, key: Hashable) -> _Entry:
        entry = self._entries.pop(key)
        self._remove(entry.weight)
        return entry

    def _add(self, weight: Weight) -> None:
        self.bytes += weight.small
        for name, size in weight.buffers.items():
            held = self._buffers.setdefault(name, [0, size])
            held[0] += 1
            if held[0] == 1:
                self.bytes += size

    def _remove(self, weight: Weight) -> None:
        self.bytes -= weight.small
        for name in weight.buffers:
            held = self._buffers[name]
            held[0] -= 1
            if not held[0]:
                del self._buffers[name]
                self.bytes -= held[1]


class Kept(Generic[P, R]):
    """A function whose results stay in the store. Its arguments must be hashable."""

    __wrapped__: Callable[P, R]

    def __init__(self, function: Callable[P, R]):
        self._function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return store.make(self._key(args, kwargs), lambda: self._function(*args, **kwargs))

    def peek(self, *args: P.args, **kwargs: P.kwargs) -> R | None:
        """The result, if it is there; else None."""
        return store.get(self._key(args, kwargs))

    def forget(self) -> None:
        """Throw out all results of this function."""
        store.forget(lambda key: isinstance(key, tuple) and key[0] is self._function)

    def __reduce__(self) -> str:
        return self._function.__qualname__  # pickled by name, as a function is

    def _key(self, args: tuple, kwargs: dict[str, Any]) -> Hashable:
        return self._function, args, tuple(sorted(kwargs.items()))


def kept(function: Callable[P, R]) -> Kept[P, R]:
    """Keep what `function` returns, by its arguments."""
    return Kept(function)


class Lazy(Generic[T, R]):
    """An attribute that is worked out when it is first asked for."""

    def __init__(self, function: Callable[[T], R]):
        self._function, self._name = function, function.__name__
        self.__doc__ = function.__doc__

    def __get__(self, instance: T | None, owner: type) -> R:
        if instance is None:
            return self  # type: ignore[return-value]  # of the class, for those who read its documentation
        return instance.__dict__.setdefault(self._name, self._function(instance))


def lazy(function: Callable[[T], R]) -> Lazy[T, R]:
    """`functools.cached_property` without the lock that this takes on Python 3.11 around the work of all instances: who
    holds it may have to wait for a turn at a core that another has, who waits for the lock.
    """
    return Lazy(function)


def budget() -> int:
    """Bytes that the store of this process may hold, from `POSTERIOR_LAB_MEMORY`."""
    return int(settings.megabytes("MEMORY") * MEGABYTE)


store = Store(budget())
