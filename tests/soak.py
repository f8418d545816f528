"""Does it last? `python -m tests.soak [--minutes 30] [--users 10] [--seed N]`, the body of `make soak`.

Readers do at random what readers can do, on a server of the app: new seeds, numbers in boxes, scenarios, steps of the
story, long runs started and stopped, other pages, leaving in the middle of anything and coming back. A line a minute
says what the server takes. Some times, and in the end, all leave: a few seconds later nothing of them may be left. Over
the last half of the time memory may not have grown: neither what is resident while they are there (half an hour of ten
readers gives this slope with an error of 1 or 2 MB a minute), nor what is in use beyond kept results from one such rest to
the next. What is resident at a rest is said only: it was seen to move by 60 MB while as much was in use, so that three
rests say nothing of its slope. Before the clock starts one reader has seen every scenario and begun every long run: kernels
and libraries that are loaded once do not pass for what grows. Exit status 0 if all holds, else 1.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from streamlit.proto.Common_pb2 import StringArray

from app import catalogue
from tests.load.user import User, visiting
from tests.server import Server, app_script

GROWTH = 1.0  # MB a minute
RESTS = 6
REST = 5.0  # s after the last reader
COUNTED = 60.0  # s at most that the server takes to look for garbage
IDLE, WATCHED = 0.05, 3.0  # share of a core, over so many seconds
LOOKS = 5.0  # s between two
SEEN, BEGUN = 1.0, 4.0  # s that who sees all stays with a scenario, and with a long run
NEAR = 3.0  # times what it holds, that a reader types into a box at most
SLUGS = [entry.slug for entry in catalogue.LESSONS]

# The fields of mallinfo2, from malloc.h
MALLINFO2 = ["arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"]
BLOCK = 91  # bytes of a block of Python's own allocator here, on average, within 1 %

# The server writes into a file how many jobs it has. Where a file asks for it, it forgets readers who could still come
# back, which Streamlit does two minutes later (each takes a MB or so), and looks for garbage that refers to itself, which
# Python else does once enough is made anew: what is left then is what is kept. It writes what that is: results in MB, and
# what is in use beyond them; and where the threads of jobs stand, if any.
COUNT_JOBS = """
import ctypes, gc, os, sys, threading, time, traceback
from streamlit import runtime
from app.kit import jobs
from engine import kept
def standing():
    names = {{thread.ident: thread.name for thread in threading.enumerate()}}
    for ident, frame in sys._current_frames().items():
        if names.get(ident, "").startswith(("job", "helper")):
            yield f"{{names[ident]}}:\\n" + "".join(traceback.format_stack(frame))
class Allocated(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in {mallinfo2}]
library = ctypes.CDLL(None)
library.mallinfo2.restype = Allocated
def in_use():
    found = library.mallinfo2()
    return found.uordblks + found.hblkhd + {block} * sys.getallocatedblocks()
def count():
    while True:
        if os.path.exists({path!r} + ".collect"):
            left = [job for job in list(jobs.pool()._slots.values()) if job.active]
            with open({path!r} + ".left", "w") as file:
                file.write("\\n".join(f"{{job.kind}} of {{job.key!r}}: {{job.state}}" for job in left) + "\\n\\n")
                file.writelines(standing() if left else ())
            stored = runtime.get_instance()._session_mgr._session_storage
            for name in [info.session.id for info in stored.list()]:
                stored.delete(name)
            gc.collect()
            kept._trim()
            with open({path!r} + ".kept", "w") as file:
                file.write(f"{{kept.store.bytes / 1e6}} {{(in_use() - kept.store.bytes) / 1e6}}")
            os.remove({path!r} + ".collect")
        with open({path!r} + ".new", "w") as file:
            file.write(str(sum(job.active for job in list(jobs.pool()._slots.values()))))
        os.replace({path!r} + ".new", {path!r})
        time.sleep(0.5)
threading.Thread(target=count, daemon=True).start()
"""


def counting(path: Path) -> str:
    """The same for a server's script; the numbers go to `path`."""
    return COUNT_JOBS.format(path=str(path), mallinfo2=MALLINFO2, block=BLOCK)


@dataclass
class Tally:
    """What the readers did, and what they should not have seen."""

    actions: int = 0
    visits: int = 0
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Look:
    """What the server takes: `minute` since the beginning, memory in MB, and numbers of the rest."""

    minute: float
    memory: float
    threads: int
    files: int
    readers: int
    jobs: int

    def __str__(self) -> str:
        return (
            f"{self.minute:5.1f} min: {self.memory:6.0f} MB, {self.threads} threads, {self.files} files, "
            f"{self.readers} sockets of readers, {self.jobs} jobs"
        )


# What readers do ------------------------------------------------------------------------------------------------------


async def number_box(user: User, chance: random.Random) -> None:
    """Another number, of the size of the one that stands there."""
    boxes = [key for key, box in user.widgets.items() if key.endswith("/box") and not box.disabled]
    if not boxes:
        return
    key = chance.choice(boxes)
    box = user.widgets[key]
    holds = box.value if box.set_value else box.default
    reach = max(NEAR * abs(holds), 10 * box.step)
    value = chance.uniform(max(box.min, min(holds, 0.0) - reach), min(box.max, reach))
    value = min(max(value, box.min), box.max)
    await user.set_number(key, float(round(value) if box.data_type == box.INT else float(f"{value:.4g}")))


async def scenario(user: User, chance: random.Random) -> None:
    """Another scenario."""
    chips = user.widgets.get(f"{user.page}/scenario")
    if chips is not None:
        chip = StringArray(data=[chance.choice(chips.options).content])
        await user.set(f"{user.page}/scenario", string_array_value=chip)


async def press(user: User, chance: random.Random) -> None:
    """One of the frame's buttons: a new seed, Run or Stop, a step of the story, the projector view."""
    names = [f"{user.page}/{name}" for name in ("seed/new", "run", "stop", "step+1", "step-1")]
    there = [key for key in (*names, "present") if key in user.widgets and not user.widgets[key].disabled]
    if there:
        await user.press(chance.choice(there))


async def run(user: User, chance: random.Random) -> None:
    """The long run, where there is one."""
    for name in ("run", "stop"):
        if f"{user.page}/{name}" in user.widgets:
            await user.press(f"{user.page}/{name}")
            return


async def another_page(user: User, chance: random.Random) -> None:
    """A link of the navigation."""
    await user.go(chance.choice(SLUGS))


ACTIONS: dict[Callable[[User, random.Random], Awaitable[None]], float] = {  # and how often
    number_box: 5.0,
    scenario: 2.0,
    press: 3.0,
    run: 1.0,
    another_page: 1.0,
}


async def reader(url: str, until: float, chance: random.Random, tally: Tally) -> None:
    """Comes, does this and that, leaves, and comes back to the same address or to another page, until it is time."""
    page, query = chance.choice(SLUGS), ""
    while time.monotonic() < until:
        tally.visits += 1
        async with visiting(url, page, query) as user:
            try:
                await user.open()
                for _ in range(chance.randrange(2, 30)):
                    if time.monotonic() > until:
                        break
                    await user.poll(chance.expovariate(0.5))
                    await chance.choices(list(ACTIONS), list(ACTIONS.values()))[0](user, chance)
                    tally.actions += 1
            except Exception as error:  # the server has hung up, or does not answer
                user.faults.append(repr(error))
            tally.faults += [f"/{user.page}?{user.query}: {fault}" for fault in user.faults]
            page, query = (user.page, user.query) if chance.random() < 0.7 else (chance.choice(SLUGS), "")
        await asyncio.sleep(chance.uniform(0.0, 4.0))


async def tour(url: str, tally: Tally) -> None:
    """One reader sees every scenario of every page, and begins every long run."""
    async with visiting(url, SLUGS[0]) as user:
        await user.open()
        for slug in SLUGS:
            if slug != user.page:
                await user.go(slug)
            chips = f"{slug}/scenario"
            for option in list(user.widgets[chips].options) if chips in user.widgets else []:
                await user.set(chips, string_array_value=StringArray(data=[option.content]))
                await user.poll(SEEN)
            if f"{slug}/run" in user.widgets:
                await user.press(f"{slug}/run")
                await user.poll(BEGUN)
        tally.faults += [f"/{user.page}?{user.query}: {fault}" for fault in user.faults]


# What the server takes ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kept:
    """What is kept at a rest, without garbage, in MB: resident memory, results, and what is in use beyond them."""

    minute: float
    memory: float
    results: float
    beyond: float

    def __str__(self) -> str:
        return f"kept: {self.memory:.0f} MB; results of {self.results:.0f} MB, {self.beyond:.0f} MB in use beyond them"


@dataclass
class Soaked:
    """What the server took while readers were there, while they rested, and then without garbage; what should not be."""

    looks: list[Look] = field(default_factory=list)
    rests: list[Look] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


async def soak(
    folder: Path, minutes: float, users: int, seed: int, rests: int = 1, toured: bool = False, say: Callable[[Any], None] = print
) -> Soaked:
    """`users` readers for so many minutes, who rest so many times, at the end last; if `toured`, after one has seen all."""
    counted = folder / "jobs"
    server = Server(app_script(folder, counting(counted)), folder / "log.txt")
    try:
        tally, found = Tally(), Soaked()
        if toured:
            say(f"one reader sees all; before: {server.memory():.0f} MB")
            await tour(server.url, tally)
        begin = time.monotonic()

        def look() -> Look:
            jobs = int(counted.read_text()) if counted.exists() else 0
            minute = (time.monotonic() - begin) / 60.0
            return Look(minute, server.memory(), server.threads(), server.files(), server.readers(), jobs)

        chances = [random.Random(1000 * seed + i) for i in range(users)]
        said = 0.0
        for _ in range(rests):
            until = time.monotonic() + 60.0 * minutes / rests
            tasks = [asyncio.create_task(reader(server.url, until, chance, tally)) for chance in chances]
            while time.monotonic() < until:
                await asyncio.sleep(min(LOOKS, max(until - time.monotonic(), 0.01)))
                found.looks.append(now := look())
                if now.minute >= said + 1.0:
                    said += 1.0
                    say(f"{now}; {tally.visits} visits, {tally.actions} actions, {len(tally.faults)} faults")
            await asyncio.gather(*tasks)
            await asyncio.sleep(REST)
            before = server.cpu()
            await asyncio.sleep(WATCHED)
            share = (server.cpu() - before) / WATCHED
            found.rests.append(now := look())
            asked = counted.with_name(f"{counted.name}.collect")
            asked.touch()
            latest = time.monotonic() + COUNTED
            while asked.exists():
                assert time.monotonic() < latest, f"the server does not count what it keeps:\n{server.said()}"
                await asyncio.sleep(0.1)
            results, beyond = counted.with_name(f"{counted.name}.kept").read_text().split()
            found.kept.append(Kept(now.minute, server.memory(), float(results), float(beyond)))
            say(f"{now}; {share:.1%} of a core, {REST + WATCHED:.0f} s after {tally.visits} visits")
            say(found.kept[-1])
            if now.jobs:
                say(counted.with_name(f"{counted.name}.left").read_text())
            found.wrong += left_behind(now, share)
        found.wrong += [*sorted(set(tally.faults)), *_tracebacks(server.said())]
        return found
    finally:
        server.stop()


def left_behind(rest: Look, share: float) -> list[str]:
    """What is still there after all readers have left, and should not be."""
    found = {
        f"{rest.readers} sockets of readers are still open": rest.readers > 0,
        f"{rest.jobs} jobs still run": rest.jobs > 0,
        f"the server still uses {share:.1%} of a core": share > IDLE,
    }
    return [words for words, wrong in found.items() if wrong]


def growth(looks: list[Look]) -> float:
    """MB a minute over the last half of the time: the slope of a straight line through the least of each minute. What is
    under way takes a hundred MB now and none then; what is kept is there in the least, too.
    """
    *last, _ = looks  # the very last: when all had left
    end = last[-1].minute
    minutes = groupby(last, key=lambda look: int(end - look.minute))
    least = [min(of_minute, key=lambda look: look.memory) for back, of_minute in minutes if back < int(end / 2)]
    return _slope([(look.minute, look.memory) for look in least])


def growth_between_rests(kept: list[Kept]) -> float:
    """MB a minute in use beyond kept results, over the last half of the time, from one rest to the next."""
    return _slope([(rest.minute, rest.beyond) for rest in kept if rest.minute >= kept[-1].minute / 2 - 1.0])


def _slope(points: list[tuple[float, float]]) -> float:
    minutes, memory = np.transpose(points)
    return float(np.polyfit(minutes, memory, 1)[0])


def _tracebacks(said: str) -> list[str]:
    return ["in the log: " + part.strip()[-1500:] for part in said.split("Traceback")[1:]]


def main() -> int:
    """Soak the app; the exit status."""
    arguments = argparse.ArgumentParser(description=main.__doc__)
    arguments.add_argument("--minutes", type=float, default=30.0)
    arguments.add_argument("--users", type=int, default=10)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the server ends with it
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(soak(Path(folder), given.minutes, given.users, given.seed, RESTS, toured=True, say=_say))
    slopes = {"with readers": growth([*found.looks, found.rests[-1]]), "from rest to rest": growth_between_rests(found.kept)}
    for when, slope in slopes.items():
        _say(f"memory over the last half, {when}: {slope:+.2f} MB a minute")
        if slope > GROWTH:
            found.wrong.append(f"memory grows by {slope:.2f} MB a minute {when}, more than {GROWTH:g}")
    _say("\n".join(f"WRONG: {line}" for line in found.wrong) or "all as it should be")
    return 1 if found.wrong else 0


def _say(line: Any) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
