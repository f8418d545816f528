"""What is kept: weighed in bytes, the least recently used thrown out, made once for all who ask together."""

from __future__ import annotations

import gc
import logging
import pickle
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from engine import kept, ticket, turns
from engine.kept import LATER, MEGABYTE, Store, Weight
from engine.targets import banana
from engine.turns import FIRST, Claim, Turns

KB = 1000


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store of 1 MB in place of the process'."""
    made = Store(MEGABYTE)
    monkeypatch.setattr(kept, "store", made)
    yield made


def block(kilobytes: int) -> np.ndarray:
    return np.zeros(kilobytes * KB, dtype=np.uint8)


class Pair(NamedTuple):
    one: Any
    other: Any


@dataclass(frozen=True, slots=True)
class Slotted:
    one: Any


@dataclass(eq=False)
class Grown:
    """Grows after it was kept."""

    parts: list = field(default_factory=list)


# What a result weighs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda a: a,
        lambda a: Pair(a, [a, {"a": (a,)}]),
        lambda a: Slotted(SimpleNamespace(a=a, again=a)),
        lambda a: (a[:10], a[5:], a.reshape(10, -1).T),
        lambda a: np.broadcast_to(a, (1000, len(a))),
        lambda a: np.lib.stride_tricks.sliding_window_view(a, 300),
        lambda a: np.array([None, a], dtype=object),
        lambda a: np.frombuffer(a.tobytes(), dtype=np.uint8)[3:],
        lambda a: memoryview(a.tobytes()),
        lambda a: (a, [[i] for i in range(10)], list(range(20))),
        lambda a: [threading.Lock(), iter([a]), a.sum, len, Pair],
    ],
)
def test_every_array_counts_once_and_its_views_for_it(wrapped):
    assert 200 * KB <= Weight(wrapped(block(200))).bytes < 205 * KB


def test_what_leads_everywhere_is_not_followed():
    for thing in (banana(), store_of_all(), threading.current_thread(), test_what_leads_everywhere_is_not_followed, np):
        assert Weight(thing).bytes < 50 * KB


def store_of_all() -> Store:
    made = Store(10 * MEGABYTE)
    made.put("a", block(500))
    return made


def test_what_cannot_be_looked_at_weighs_little():
    class Refuses:
        def __sizeof__(self) -> int:
            raise RuntimeError("no")

    assert Weight([Refuses(), block(10)]).bytes > 10 * KB


def test_a_long_list_is_weighed_quickly():
    begin = time.thread_time()
    assert Weight((block(2000), [float(i) for i in range(1_000_000)])).bytes > 40 * MEGABYTE
    assert Weight([[i] for i in range(100_000)]).bytes > 3 * MEGABYTE
    assert time.thread_time() - begin < 1.0


# What stays -----------------------------------------------------------------------------------------------------------


def test_the_least_recently_used_goes_first_and_the_budget_is_kept():
    made = Store(MEGABYTE)
    for name in "abc":
        made.put(name, bytes(300 * KB))
    assert made.get("a") is not None and 900 * KB < made.bytes <= MEGABYTE
    made.put("d", bytes(300 * KB))
    assert made.get("b") is None and all(made.get(name) is not None for name in "acd")
    made.put("a", bytes(10 * KB))
    assert 610 * KB < made.bytes < 615 * KB
    made.put("e", bytes(1001 * KB))
    assert made.get("e") is None and len(made) == 3, "what is heavier than the budget throws nothing out"
    made.forget()
    assert made.bytes == 0 == len(made)


def test_what_several_hold_counts_once():
    made, shared = Store(MEGABYTE), block(600)
    made.put("a", shared)
    made.put("b", Pair(shared[5:], block(100)))
    assert len(made) == 2 and made.bytes < 705 * KB
    made.forget(lambda key: key == "a")
    assert 700 * KB < made.bytes < 705 * KB
    made.forget(lambda key: key == "b")
    assert made.bytes == 0


def test_a_key_weighs_too():
    made = Store(MEGABYTE)
    made.put(bytes(100 * KB), 1)
    assert made.bytes > 100 * KB


def test_what_grows_is_weighed_again(monkeypatch: pytest.MonkeyPatch):
    made, grown = Store(MEGABYTE), Grown()
    made.put("other", bytes(500 * KB))
    made.put("grown", grown)
    grown.parts.append(block(300))
    assert made.get("grown") is grown and made.bytes < 510 * KB, "not at every look"
    monkeypatch.setattr(kept, "AGAIN", -1.0)
    assert made.get("grown") is grown and 800 * KB < made.bytes < 810 * KB
    grown.parts.append(block(300))
    assert made.get("grown") is grown and made.get("other") is None and 600 * KB < made.bytes < 610 * KB


def test_what_a_first_picture_keeps_is_weighed_once_it_is_there():
    made = Store(MEGABYTE)
    with turns.turn(Claim(Turns(1), FIRST)):
        made.put("a", block(300))
        made.put("too heavy", bytes(1001 * KB))
        assert made.get("a") is not None and made.bytes == 0
    made.settle()
    assert made.get("a") is not None and made.get("too heavy") is None and 300 * KB < made.bytes < 305 * KB
    with turns.turn(Claim(Turns(1), FIRST)):
        for number in range(LATER + 1):
            made.put(number, bytes(20 * KB))
        assert made.bytes > LATER * 20 * KB, "not any number of them"
        made.put("b", block(500))
    made.put("c", 1)  # whoever comes next
    assert len(made) < LATER + 3 and made.bytes <= MEGABYTE
    made.forget()
    assert made.bytes == 0 == len(made)


def test_what_its_maker_goes_on_with_is_weighed_again_too(monkeypatch: pytest.MonkeyPatch):
    """Nobody asks for it a second time, and it has grown since."""
    monkeypatch.setattr(kept, "AGAIN", 0.01)
    monkeypatch.setattr(kept, "TURNOVER", 1000)
    store, growing = Store(10**9), [np.zeros(1000)]
    store.put("grows", growing)
    growing.append(np.zeros(100_000))
    time.sleep(0.02)
    before = store.bytes
    store.put("another", np.zeros(1000))
    assert store.bytes > before + 8 * 100_000


def test_what_was_thrown_out_is_found_while_somebody_holds_it():
    made, grown = Store(MEGABYTE), Grown([block(600)])
    made.put("grown", grown)
    made.put("other", bytes(600 * KB))
    assert len(made) == 1 and made.get("grown") is grown, "a run goes on; nobody begins it anew"
    made.put("other", bytes(600 * KB))
    del grown
    gc.collect()
    assert made.get("grown") is None


# Functions ------------------------------------------------------------------------------------------------------------


def test_a_function_is_asked_once_for_each_argument(store: Store):
    asked = []

    @kept.kept
    def doubled(x: int, *, twice: bool = False) -> int:
        """Says what it does."""
        asked.append(x)
        return 4 * x if twice else 2 * x

    assert doubled.peek(1) is None
    assert [doubled(1), doubled(1), doubled(1, twice=True), doubled(2), doubled.peek(2)] == [2, 2, 4, 4, 4]
    assert asked == [1, 1, 2] and len(store) == 3
    doubled.forget()
    assert doubled.peek(2) is None and doubled(2) == 4 and asked == [1, 1, 2, 2]
    assert doubled.__doc__ == "Says what it does." and doubled.__name__ == "doubled"


@kept.kept
def _named() -> bytes:
    return b"at module level"


def test_a_kept_function_travels_by_name():
    assert pickle.loads(pickle.dumps(_named)) is _named


def test_together_they_make_it_once(store: Store):
    asked, all_there = [], threading.Barrier(9)

    @kept.kept
    def made(x: int) -> object:
        asked.append(x)
        time.sleep(0.2)
        return object()

    def ask() -> object:
        all_there.wait(10)
        return made(1)

    with ThreadPoolExecutor(8) as pool:
        found = [pool.submit(ask) for _ in range(8)]
        all_there.wait(10)
        assert len({id(future.result(10)) for future in found}) == 1 and asked == [1]


def test_also_what_is_too_heavy_to_stay(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(kept, "store", Store(0))
    asked, all_there = [], threading.Barrier(4)

    @kept.kept
    def made() -> tuple[np.ndarray]:
        asked.append(1)
        time.sleep(0.2)
        return (block(1),)

    def ask() -> tuple[np.ndarray]:
        all_there.wait(10)
        return made()

    with ThreadPoolExecutor(4) as pool:
        assert len({id(f.result(10)) for f in [pool.submit(ask) for _ in range(4)]}) == 1 and asked == [1]


def test_who_waits_can_be_stopped_and_the_others_have_the_value(store: Store):
    begun, go_on, stop = threading.Event(), threading.Event(), threading.Event()

    @kept.kept
    def made() -> object:
        begun.set()
        assert go_on.wait(10)
        return object()

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(made)
        assert begun.wait(10)
        second = pool.submit(made)
        stop.set()
        with ticket.holding(stop), pytest.raises(InterruptedError):  # type: ignore[arg-type]
            made()
        go_on.set()
        assert first.result(10) is second.result(10)
    assert not store._making


def test_the_next_goes_on_where_the_first_was_stopped(store: Store):
    begun, stop, asked = threading.Event(), threading.Event(), []

    @kept.kept
    def made() -> str:
        asked.append(1)
        begun.set()
        for _ in range(100):
            ticket.look()
            time.sleep(0.005)
        return "made"

    def stopped() -> str:
        with ticket.holding(stop):  # type: ignore[arg-type]
            return made()

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(stopped)
        assert begun.wait(10)
        second = pool.submit(made)
        time.sleep(0.05)
        stop.set()
        with pytest.raises(InterruptedError):
            first.result(10)
        assert second.result(10) == "made" and len(asked) == 2


def test_what_is_raised_is_not_kept(store: Store):
    asked = []

    @kept.kept
    def fails(x: int) -> float:
        asked.append(x)
        return 1 / x if len(asked) > 1 else 1 / 0

    with pytest.raises(ZeroDivisionError):
        fails(2)
    assert fails(2) == fails(2) == 0.5 and asked == [2, 2] and not store._making


def test_a_function_may_ask_itself_for_less(store: Store):
    @kept.kept
    def fibonacci(n: int) -> int:
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    assert fibonacci(60) == 1548008755920


# The budget -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("said", "means"), [("", 300), ("64", 64), (" 0.5 ", 0.5)])
def test_the_environment_says_the_budget(said, means, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("POSTERIOR_LAB_MEMORY", said)
    assert kept.budget() == means * MEGABYTE


@pytest.mark.parametrize("said", ["much", "0", "-5", "nan", "inf", "300 MB"])
def test_a_budget_that_is_none_is_told_of(said, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    monkeypatch.setenv("POSTERIOR_LAB_MEMORY", said)
    with caplog.at_level(logging.WARNING):
        assert kept.budget() == 300 * MEGABYTE
    assert f"POSTERIOR_LAB_MEMORY={said} " in caplog.text


class Slow:
    """Works something out that takes until it is told to go on."""

    def __init__(self) -> None:
        self.asked, self.go_on = threading.Event(), threading.Event()

    @kept.lazy
    def worth(self) -> list[int]:
        """What it is worth."""
        self.asked.set()
        assert self.go_on.wait(20)
        return [1]


def test_what_is_lazy_is_worked_out_once_and_holds_no_other_up():
    one, other = Slow(), Slow()
    thread = threading.Thread(target=lambda: one.worth)
    thread.start()
    assert one.asked.wait(20)
    other.go_on.set()
    assert other.worth is other.worth and Slow.worth.__doc__ == "What it is worth."
    one.go_on.set()
    thread.join(20)
    assert one.worth == [1]
