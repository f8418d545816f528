"""Turns: who computes when more wants to be computed than there are cores."""

from __future__ import annotations

import contextlib
import gc
import itertools
import threading
import time
import weakref
from collections.abc import Callable

import pytest

from engine import ticket, turns
from engine.turns import AFTER, FIRST, GROWING, Claim, Turns


def busy(seconds: float) -> None:
    """Use so much of a core."""
    begin = time.thread_time()
    while time.thread_time() - begin < seconds:
        pass


class Work(threading.Thread):
    """Computes pieces of 5 ms, with a look after each, until told to stop."""

    def __init__(self, cores: Turns, rank: int = AFTER, reader: str = "ann", most: float = 1e9):
        super().__init__(daemon=True)
        self.claim, self.spent, self.began, self.most = Claim(cores, rank, reader), 0.0, 0.0, most
        self.enough = threading.Event()
        self.start()

    def run(self) -> None:
        with turns.turn(self.claim):
            self.began = time.monotonic()
            while not self.enough.is_set() and self.spent < self.most:
                busy(0.005)
                self.spent += 0.005
                turns.look()

    def end(self) -> float:
        self.enough.set()
        self.join(100)
        assert not self.is_alive()
        return self.spent


def until(true: Callable[[], bool], seconds: float = 100.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.002)


def test_a_first_picture_does_not_wait_for_what_comes_after():
    cores = Turns(1)
    long = Work(cores, AFTER)
    until(lambda: long.spent > 0.02)
    asked = time.monotonic()
    picture = Work(cores, FIRST, "bob", most=0.3)
    until(lambda: picture.began > 0)
    assert picture.began - asked < turns.PATIENCE, "it begins beside the long work"
    until(lambda: len(cores._running) == 1)
    stood = long.spent
    picture.join(100)
    assert long.spent - stood < 0.02, "which stands still meanwhile"
    until(lambda: long.spent > stood + 0.02)
    long.end()


def test_readers_of_the_same_rank_share_and_who_has_had_least_comes_first(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(turns, "MEMORY", 1e6)  # however slow the machine is
    cores = Turns(1)
    greedy = Work(cores, AFTER, "ann")
    until(lambda: greedy.spent > 0.5)
    had = greedy.spent
    modest = Work(cores, AFTER, "bob")
    until(lambda: modest.spent > 0.25)
    assert greedy.spent - had < 0.1, "she has had half a second more"
    until(lambda: modest.spent > 0.7)
    before = greedy.spent, modest.spent
    until(lambda: greedy.spent > before[0] + 0.2 and modest.spent > before[1] + 0.2)  # then they take turns
    greedy.end(), modest.end()


def test_nothing_starves(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(turns, "PATIENCE", 0.2)
    cores = Turns(1)
    pictures = [Work(cores, FIRST, name) for name in ("ann", "bob")]
    until(lambda: all(picture.spent > 0 for picture in pictures))
    check = Work(cores, AFTER, "cyd")
    until(lambda: check.spent > 0.1)
    for work in (*pictures, check):
        work.end()


def test_turns_that_all_wait_for_one_without_a_turn_are_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    """A lock that is not `ticket.Lock`, of a library, held by one who gave way."""
    monkeypatch.setattr(turns, "PATIENCE", 0.2)
    cores, lock, inside = Turns(1), threading.Lock(), threading.Event()

    def holds() -> None:
        with turns.turn(Claim(cores, AFTER, "ann")), lock:
            inside.set()
            while len(cores._waiting) < 3:
                busy(0.01)
            busy(0.2)
            turns.look()

    def asks(name: str) -> None:
        with turns.turn(Claim(cores, AFTER, name)), lock:
            pass

    threads = [threading.Thread(target=holds, daemon=True)]
    threads[0].start()
    inside.wait(100)
    threads += [threading.Thread(target=asks, args=(name,), daemon=True) for name in ("bob", "cyd", "dan")]
    for thread in threads[1:]:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)


def test_no_more_computes_than_there_are_cores():
    cores = Turns(2)
    works = [Work(cores, GROWING, f"reader {i}") for i in range(6)]
    most = 0
    for _ in range(100):
        most = max(most, len(cores._running))
        time.sleep(0.003)
    assert most <= 2
    for work in works:
        work.end()
    assert not cores._running and not cores._waiting


def test_what_can_wait_leaves_a_core_to_the_scripts_where_several_readers_are():
    cores = Turns(2)
    works = [Work(cores, AFTER, "ann") for _ in range(2)]
    until(lambda: all(work.spent > 0.02 for work in works))
    works.append(Work(cores, AFTER, "bob"))
    until(lambda: len(cores._running) == 1)
    for _ in range(100):
        assert len(cores._running) < 2
        time.sleep(0.002)
    works.append(Work(cores, GROWING, "cyd"))
    until(lambda: len(cores._running) == 2)
    for work in reversed(works):
        work.end()


@pytest.mark.parametrize("rank", [GROWING, AFTER])
def test_what_can_wait_makes_room_for_a_first_picture_of_the_same_reader(rank: int):
    cores = Turns(2)
    works = [Work(cores, rank, "ann") for _ in range(2)]
    until(lambda: all(work.spent > 0.02 for work in works))
    picture = Work(cores, FIRST, "ann")
    until(lambda: cores._running == {picture.claim})
    before = [work.spent for work in works]
    until(lambda: picture.spent > 0.2)
    assert sum(work.spent for work in works) - sum(before) < 0.1, "but for what patience gives"
    for work in (picture, *works):
        work.end()


def test_what_can_wait_makes_room_as_soon_as_a_picture_is_asked_for(monkeypatch: pytest.MonkeyPatch):
    cores = Turns(2)
    works = [Work(cores, AFTER, "ann") for _ in range(2)]
    until(lambda: all(work.spent > 0.02 for work in works))
    monkeypatch.setattr(turns, "PATIENCE", 1000.0)
    monkeypatch.setattr(turns, "HUSH", 1000.0)
    monkeypatch.setattr(turns, "QUICK", 0.0)
    cores.hush()
    until(lambda: not cores._running)
    cores._hushed = time.monotonic()
    until(lambda: len(cores._running) == 2)  # nobody has made one: they need not be woken

    cores.hush()
    until(lambda: not cores._running)
    Work(cores, FIRST, "ann", most=0.02)
    until(lambda: len(cores._running) == 2)  # it has been made

    assert not cores.awaited
    cores.hush("bob")
    assert cores.awaited
    for _ in range(50):
        assert len(cores._running) == 2, "somebody else's picture"
        time.sleep(0.002)

    cores.hush()
    works.append(Work(cores, AFTER, "bob"))
    until(lambda: len(cores._running) == 1)  # of several readers, one goes on: somebody always asks
    before = sum(work.spent for work in works)
    until(lambda: sum(work.spent for work in works) > before + 0.1)
    for work in works:
        work.enough.set()
    cores._hushed = 0.0
    for work in works:
        work.end()


def test_what_comes_after_waits_until_its_reader_looks_for_no_other_picture(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(turns, "PATIENCE", 1000.0)
    monkeypatch.setattr(turns, "HUSH", 0.0)
    cores = Turns(4)
    anns, bobs, growing = Work(cores, AFTER, "ann/1"), Work(cores, AFTER, "bob/1"), Work(cores, GROWING, "ann/2")
    everything = {work.claim for work in (anns, bobs, growing)}
    until(lambda: cores._running == everything)
    cores.hush("ann/")
    time.sleep(0.05)
    assert cores._running == everything, "one picture is one picture"

    monkeypatch.setattr(turns, "QUICK", 1000.0)
    cores.hush("ann/")
    until(lambda: cores._running == everything - {anns.claim})
    late = Claim(cores, AFTER, "ann/1")
    assert not cores.take_spare(late) and cores.take_spare(Claim(cores, FIRST, "ann/1")), "what waits below holds up no picture"

    before = anns.spent
    monkeypatch.setattr(turns, "QUICK", 0.0)
    until(lambda: anns.spent > before)
    for work in (anns, bobs, growing):
        work.end()


def test_what_is_left_of_a_picture_goes_on_once_its_beginning_is_there(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(turns, "PATIENCE", 1000.0)
    monkeypatch.setattr(turns, "HUSH", 1000.0)
    cores = Turns(2)
    before = Work(cores, GROWING, "ann")
    until(lambda: before.spent > 0.02)
    cores.hush()
    until(lambda: not cores._running)
    picture = Work(cores, FIRST, "ann")
    until(lambda: cores._running == {picture.claim})
    cores.move(picture.claim, GROWING)
    until(lambda: cores._running == {picture.claim, before.claim})
    for work in (picture, before):
        work.end()


def test_a_claim_withdrawn_as_it_is_granted_keeps_no_turn():
    turns = Turns(1)
    claim = Claim(turns)

    class Granted(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            assert super().wait(timeout)
            turns.withdraw(claim)  # before the thread that waited has woken up
            return True

    claim.granted = Granted()
    with pytest.raises(InterruptedError):
        turns.take(claim)
    assert turns.take_spare(Claim(turns))


def test_one_who_turns_to_something_else_while_it_waits_leaves_no_claim():
    turns = Turns(1)
    first, looks = Claim(turns), itertools.count()
    turns.take(first)

    def meanwhile() -> None:
        if next(looks) == 1:
            raise KeyError

    with pytest.raises(KeyError):
        turns.take(Claim(turns), meanwhile)
    assert not turns._waiting
    turns.give(first)
    assert turns.take_spare(Claim(turns))


def test_pieces_sum_up_and_take_about_a_slice():
    pace, sizes = ticket.Pace(), []
    for n in ticket.pieces(5000, pace):
        sizes.append(n)
        busy(n * 0.0001)
    assert sum(sizes) == 5000 and sizes[0] == 1 and max(sizes) < 2 * ticket.PIECE / 0.0001
    assert next(ticket.pieces(10**6, pace)) > 50, "the pace is known by now"
    assert list(ticket.pieces(0)) == []


def test_what_goes_on_after_its_first_picture_goes_on_in_short_pieces():
    pace = ticket.Pace()
    with turns.turn(Claim(turns.machine, FIRST)):
        pace.took(1, 0.001)
        pace.took(8, 0.008)
        assert pace.size == 30
    with turns.turn(Claim(turns.machine, GROWING)):
        pace.took(30, 0.03)
        assert pace.size == 5, "a new picture would wait for a long one"


def test_a_slow_unit_is_a_piece_of_its_own():
    sizes = []
    for n in ticket.pieces(12):
        sizes.append(n)
        busy(n * 2 * ticket.PIECE)
    assert sizes == [1] * 12


def test_each_keeps_the_order_and_hands_on_what_fails():
    assert ticket.each(lambda i: i * i, range(40)) == [i * i for i in range(40)]
    assert ticket.each(lambda i: i, []) == []
    with pytest.raises(ZeroDivisionError):
        ticket.each(lambda i: 1 // i, [3, 2, 1, 0, 1])


def test_what_each_computed_does_not_wait_for_the_collector():
    class Item:
        """Could hold a large array."""

        def fails(self) -> None:
            raise ValueError

    def items() -> list[weakref.ref[Item]]:
        worked, failing = Item(), Item()
        assert ticket.each(lambda i: worked, range(3)) == [worked] * 3
        with contextlib.suppress(ValueError):
            ticket.each(lambda i: failing.fails(), range(3))
        return [weakref.ref(worked), weakref.ref(failing)]

    gc.disable()
    try:
        left, end = items(), time.monotonic() + 5.0
        while any(item() for item in left) and time.monotonic() < end:
            time.sleep(0.01)  # a thread that helped may have it in hand for a moment
        assert [item() for item in left] == [None, None]
    finally:
        gc.enable()


def test_each_uses_the_cores_that_nobody_needs_and_no_others():
    seen: set[int] = set()

    def note(i: int) -> None:
        seen.add(threading.get_ident())
        time.sleep(0.01)

    cores = Turns(4)
    with turns.turn(Claim(cores)):
        ticket.each(note, range(20))
    assert len(seen) > 1 or turns.machine.cores == 1
    seen.clear()
    others = [Claim(cores, FIRST, i) for i in range(4)]
    with turns.turn(Claim(cores)):
        for claim in others:
            cores.take(claim)
        ticket.each(note, range(20))
        for claim in others:
            cores.give(claim)
    assert len(seen) == 1


def test_each_hands_out_nothing_that_is_smaller_than_the_handing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ticket, "WORTH", 0.2)
    seen: set[int] = set()

    def note(i: int) -> int:
        seen.add(threading.get_ident())
        return i

    with turns.turn(Claim(Turns(4))):
        for _ in range(200):
            assert ticket.each(note, range(8)) == list(range(8))
        assert seen == {threading.get_ident()}

        def brief(i: int) -> None:
            busy(0.0003)
            note(i)

        ticket.each(brief, range(1000))
    assert seen == {threading.get_ident()}


def test_each_keeps_its_turn_where_nobody_helps():
    """A picture that calls it many times would queue behind all other work as often."""
    cores, order = Turns(1), list[str]()

    def other() -> None:
        with turns.turn(Claim(cores, FIRST, "bob")):
            order.append("other")

    with turns.turn(Claim(cores, FIRST, "ann")):
        waiting = threading.Thread(target=other)
        waiting.start()
        until(lambda: bool(cores._waiting))
        ticket.each(lambda i: i, range(3))
        order.append("mine")
    waiting.join(100)
    assert order == ["mine", "other"]


class Stopped:
    """A ticket whose result nobody wants."""

    def is_set(self) -> bool:
        return True

    def report(self, done: int, total: int) -> None:
        raise AssertionError


def test_the_ticket_stops_helpers_too():
    def look(i: int) -> None:
        time.sleep(0.002)
        ticket.look()

    with ticket.holding(Stopped()), pytest.raises(InterruptedError):
        ticket.each(look, range(100))


def test_work_that_is_handed_no_ticket_keeps_the_one_it_is_done_for():
    with ticket.holding(Stopped()), ticket.holding(None), pytest.raises(InterruptedError):
        ticket.look()
    with ticket.holding(None):
        assert ticket.held() is ticket.NEVER
        ticket.look()


def test_who_waits_for_a_lock_hands_its_turn_to_the_holder():
    """One core: a picture waits for what a check holds, and the check would never get a turn beside it."""
    cores, lock = Turns(1), ticket.Lock()
    inside, done = threading.Event(), []

    def check() -> None:
        with turns.turn(Claim(cores, AFTER, "ann")), lock:
            inside.set()
            for _ in range(60):
                busy(0.005)
                turns.look()
            done.append("check")

    def picture() -> None:
        with turns.turn(Claim(cores, FIRST, "bob")), lock:
            done.append("picture")

    threads = [threading.Thread(target=check, daemon=True)]
    threads[0].start()
    assert inside.wait(5)
    other = Work(cores, GROWING, "cyd")  # stands between the two in rank
    threads.append(threading.Thread(target=picture, daemon=True))
    threads[1].start()
    for thread in threads:
        thread.join(100)
        assert not thread.is_alive()
    assert done == ["check", "picture"]
    other.end()


def test_one_who_waits_for_a_lock_can_be_stopped():
    lock = ticket.Lock()
    with lock, ticket.holding(Stopped()), pytest.raises(InterruptedError), lock:
        raise AssertionError("nobody gets in")


def test_one_who_is_stopped_while_it_waits_for_its_turn_leaves_the_lock_open():
    cores, lock = Turns(1), ticket.Lock()
    claim, ended = Claim(cores, AFTER, "ann"), threading.Event()

    def waits() -> None:
        with pytest.raises(InterruptedError), turns.turn(claim), lock:
            raise AssertionError("nobody gets in")
        ended.set()

    with lock:
        threading.Thread(target=waits, daemon=True).start()
        until(lambda: claim.granted.is_set())
        other = Work(cores, FIRST, "bob")  # has the only turn from now on
        until(lambda: other.began > 0)
    until(lambda: lock._lock.locked())  # the waiter has the lock, and waits for its turn
    cores.withdraw(claim)
    assert ended.wait(5)
    assert not lock._lock.locked()
    other.end()


def test_a_look_while_others_are_waited_for_takes_no_turn():
    """One core, two others who want it: a look of one who rests is no reason to line up between them."""
    cores = Turns(1)
    ann = Claim(cores, AFTER, "ann")
    with turns.turn(ann):
        busy(0.2)  # so that anybody else has a better claim
        with turns.resting():
            others = [Work(cores, AFTER, name) for name in ("bob", "cyd")]
            until(lambda: len(cores._running) == 1 and len(cores._waiting) == 1)
            before = time.monotonic()
            turns.look()
            assert time.monotonic() - before < 1.0
            assert ann not in cores._running and ann not in cores._waiting
            for other in others:
                other.end()
        assert turns.held() is ann and ann in cores._running
