"""What if the machine fails it? `python -m tests.chaos`, the body of `make chaos`.

The server is killed and started again under its readers; kernels that are kept are cut short, deleted or cannot be
written; the disk is full; a thread's work ends by an exception that nobody expects; the clock jumps; readers leave in
the middle of what takes long. Each trial asserts what must hold and returns what it measured. Exit status 0 if all
hold, else 1.
"""

from __future__ import annotations

import asyncio
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, Page, expect, sync_playwright

import engine
from app import catalogue
from tests.browser import chrome
from tests.load.user import User, play, visiting
from tests.server import ROOT, Server, demo_script, no_power_over_files
from tests.soak import counting

APP = ROOT / "app" / "main.py"
PATIENCE = 120.0  # s for a picture whose kernels must be compiled
SORRY = "could not be made"  # what the page says of work that failed
NOT_KEPT = "Compiled kernels"  # how the log's line begins that says where kernels are not kept


async def sees(url: str, slug: str, query: str = "") -> None:
    """A reader comes to a page and has a picture without a word of complaint."""
    async with visiting(url, slug, query) as user:
        await user.open()
        assert await user.see(PATIENCE), f"no picture on /{slug}"
        assert not user.faults, user.faults
        assert not _sorry(user)


def _sorry(user: User) -> list[str]:
    return [text for text in user.texts if SORRY in text]


@contextmanager
def serving(script: Path, log: Path, **options: Any) -> Iterator[Server]:
    """A server, ended in the end."""
    server = Server(script, log, **options)
    try:
        yield server
    finally:
        server.stop()


# The server is killed -------------------------------------------------------------------------------------------------


def restart(browser: Browser, script: Path, folder: Path, paths: Sequence[str]) -> str:
    """Under a tab at each of `paths` the server is killed and started again: each comes back by itself to its run."""
    server = Server(script, folder / "killed.txt")
    tabs = [Tab(browser.new_page()) for _ in paths]
    try:
        for tab, path in zip(tabs, paths, strict=True):
            tab.page.goto(server.url + path)
            tab.settled(sessions=1)
        before = [tab.at() for tab in tabs]
        assert len(set(before)) == len(paths)
        server.kill()
        server = Server(script, folder / "again.txt", port=server.port)
        begin = time.monotonic()
        for tab in tabs:
            tab.settled(sessions=2)
        seconds = time.monotonic() - begin
        assert [tab.at() for tab in tabs] == before
        for tab, (_, shown) in zip(tabs, before, strict=True):
            tab.page.get_by_role("button", name="New seed").click()
            expect(tab.player).not_to_have_attribute("data-run", shown or "")
        assert "Traceback" not in server.said(), server.said()
    finally:
        for tab in tabs:
            tab.page.close()
        server.stop()
    return f"{len(tabs)} tabs are back at their run {seconds:.1f} s after the new server"


class Tab:
    """A tab of a browser, and the sockets for pictures that it has called: another one for each session."""

    def __init__(self, page: Page):
        self.page = page
        self.player = page.get_by_test_id("player")
        self._sockets: set[str] = set()
        page.on("websocket", lambda socket: self._sockets.add(socket.url) if "/picture/" in socket.url else None)

    @property
    def sessions(self) -> int:
        """How many it has had."""
        return len(self._sockets)

    def at(self) -> tuple[str, str | None]:
        """The address and the run that it shows."""
        return self.page.url, self.player.get_attribute("data-run")

    def settled(self, sessions: int, most: float = 60.0) -> None:
        """Wait until it has a picture of its first session, or of so many, and no script runs."""
        end = time.monotonic() + most
        while self.sessions < sessions:
            assert time.monotonic() < end, f"{self.page.url} has not called the server"
            self.page.wait_for_timeout(50)
        expect(self.player).to_be_visible()
        self.page.wait_for_selector("[data-test-script-state='notRunning']")


# Kernels that are kept ------------------------------------------------------------------------------------------------


def truncate(cache: Path) -> None:
    """Every file ends in its middle."""
    for path in cache.iterdir():
        os.truncate(path, path.stat().st_size // 2)


def empty_and_lock(cache: Path) -> None:
    """Nothing is there, and nothing can be written."""
    for path in cache.iterdir():
        path.unlink()
    cache.chmod(0o555)


class Damage(NamedTuple):
    """What happens to the folder of kernels, and what the log says of it: while the server runs, and when it starts."""

    do: Callable[[Path], None]
    running: str
    starting: str


DAMAGES = {
    "cut short": Damage(truncate, "", ""),
    "deleted": Damage(shutil.rmtree, "cannot be kept (No such file or directory)", ""),
    "emptied and locked": Damage(empty_and_lock, "cannot be kept (Permission denied)", "is empty and cannot be written"),
}


def cache(folder: Path, damage: str, first: str = "monte-carlo", second: str = "perceptron") -> str:
    """The kept kernels are damaged between a reader of `first` and one of `second`, then the server is started anew."""
    kept = folder / "kernels"
    shutil.copytree(engine.CACHE_DIR, kept)
    options: dict[str, Any] = {"environment": {"POSTERIOR_LAB_CACHE": str(folder)}, "before": no_power_over_files}
    do, running, starting = DAMAGES[damage]
    seconds = []
    for words, slug in ((running, second), (starting, first)):
        with serving(APP, folder / f"{slug}.txt", **options) as server:
            if words is running:
                play(sees(server.url, first))
                do(kept)
            begin = time.monotonic()
            play(sees(server.url, slug))
            seconds.append(time.monotonic() - begin)
        _says_once(server, words)
    return f"pictures after {seconds[0]:.1f} s while it runs, {seconds[1]:.1f} s when it is started anew"


def _says_once(server: Server, words: str) -> None:
    lines = [line for line in server.said().splitlines() if NOT_KEPT in line]
    assert len(lines) == bool(words) and all(words in line for line in lines), server.said()
    assert "Traceback" not in server.said(), server.said()


# A full disk ----------------------------------------------------------------------------------------------------------

SMALL = 65_536  # bytes


def full_disk(folder: Path) -> str:
    """Nothing can be kept, neither kernels nor temporary files: pages work, and the log says it once.

    The disk is a file system of our own where users may mount one; else no file may grow beyond its size.
    """
    disk = folder / "disk"
    disk.mkdir()
    options: dict[str, Any] = {"environment": {"POSTERIOR_LAB_CACHE": str(disk / "cache"), "TMPDIR": str(disk)}}
    mount = f'mount -t tmpfs -o size={SMALL},mode=755 none "$0" && exec "$@"'
    within = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, str(disk)]
    try:
        subprocess.run([*within, "true"], check=True, capture_output=True)
        options["within"], words = within, "No space left on device"
    except (OSError, subprocess.CalledProcessError):
        options["before"], words = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, SMALL)), "File too large"
    with serving(APP, folder / "log.txt", **options) as server:
        play(sees(server.url, "metropolis"))
        play(sees(server.url, "perceptron"))
        time.sleep(10.0)  # whatever fills the cache meanwhile
        _says_once(server, f"cannot be kept ({words})")
    return f"by a {'file system of our own' if 'within' in options else 'limit to the size of files'}"


# A thread's work ends -------------------------------------------------------------------------------------------------

ENDS = 660, 661  # steps of the demo's walk: the job ends, or one that helps it

DYING = f"""
import threading, time
from app.kit import stage
from engine import ticket, turns
turns.machine.cores = 4  # one to spare for a helper
scene = stage._scene

def end(number):
    time.sleep(0.05)
    if threading.current_thread().name.startswith("helper"):
        raise SystemExit

def dying_scene(lesson, spec, *others):
    if spec.steps == {ENDS[0]}:
        raise SystemExit
    if spec.steps == {ENDS[1]}:
        ticket.each(end, range(40))
    return scene(lesson, spec, *others)

stage._scene = dying_scene
"""


def dying_threads(folder: Path) -> str:
    """A job, and a thread that helps one, ends by SystemExit: its page says so and goes on, as do the other's jobs."""

    async def unlucky(url: str) -> None:
        async with visiting(url, "demo") as user:
            await user.open()
            for steps in ENDS:
                await user.set_number("demo/steps/box", steps)
                end = time.monotonic() + 10.0
                while not _sorry(user):
                    assert time.monotonic() < end, f"{steps} steps: the page does not say that there is no picture"
                    await user.poll(0.1)
                await user.set_number("demo/steps/box", 500)
                await user.new_seed(steps, most=10.0)
                assert not _sorry(user)
                assert user.pictures.pop() < 10.0

    async def both(url: str) -> None:
        async with visiting(url, "demo") as other:
            await other.open()
            await _start(other)
            await unlucky(url)
            await _finish(other)

    with serving(demo_script(folder, DYING), folder / "log.txt") as server:
        play(both(server.url))
    assert server.said().count("SystemExit") >= len(ENDS), "the log has the reason"
    return f"after {len(ENDS)} ends of threads pictures are made and a long run has come to its end"


async def _start(user: User, steps: int = 2000) -> None:
    """Begin a long run of the demo; 2000 steps take 8 s."""
    await user.set_number("demo/steps/box", steps)
    await user.press("demo/run")
    await user.poll(0.5)
    assert "demo/stop" in user.widgets, "the long run goes on"


async def _finish(user: User) -> None:
    """Stay until the long run has come to its end."""
    end = time.monotonic() + 30.0
    while "demo/stop" in user.widgets:
        assert time.monotonic() < end, "the long run has not come to its end"
        await user.poll(0.3)
    assert any(text.startswith("Finished:") for text in user.texts), user.texts
    assert not user.faults, user.faults


# The clock ------------------------------------------------------------------------------------------------------------

HOUR = 3600.0
JUMPS = (6 * HOUR, -30 * HOUR, 400 * 24 * HOUR, 0.0)

JUMPING = """
import time
from pathlib import Path
true = time.time
def jumping():
    try:
        return true() + float(Path({path!r}).read_text())
    except (OSError, ValueError):
        return true()
time.time = jumping
"""


def clock(folder: Path) -> str:
    """While a long run goes on the clock jumps, forth and back: it comes to its end, new readers find all as ever, and
    of one who leaves nothing stays behind."""
    jump, jobs = folder / "jump", folder / "jobs"
    more = JUMPING.format(path=str(jump)) + counting(jobs)

    async def leaves(url: str) -> None:
        async with visiting(url, "demo") as user:
            await user.open()
            await _start(user, 1990)

    async def story(url: str) -> None:
        async with visiting(url, "demo") as user:
            await user.open()
            await _start(user)
            staying = asyncio.create_task(_finish(user))
            for seconds in JUMPS:
                jump.write_text(str(seconds))
                await sees(url, "demo", f"seed={int(abs(seconds))}")
            await staying
            await leaves(url)
            jump.write_text(str(min(JUMPS)))
            await asyncio.sleep(2.5)
            assert jobs.read_text() == "0", "the job of a reader who has left goes on"

    with serving(demo_script(folder, more), folder / "log.txt") as server:
        play(story(server.url))
    assert "Traceback" not in server.said(), server.said()
    return f"{len(JUMPS)} jumps, of {max(JUMPS) / HOUR:.0f} h at most"


# Readers who leave ----------------------------------------------------------------------------------------------------

COSTS = 0.05  # share of a core, at most
AFTER = 2.0  # s after a reader has left


class Stay(NamedTuple):
    """A visit that ends early: the page, a button that is pressed there, and how long the reader stays after that."""

    slug: str
    query: str = ""
    button: str = ""
    seconds: float = 2.0


HEAVY = (
    Stay("digits"),
    Stay("landing", button="landing/run"),
    Stay("xor-methods", seconds=0.5),
    Stay("neurons"),
    Stay("metropolis", "part=plane&variant=drop_rejections&target=two_modes&warmup=100000&scale=30&drift=-3&start_x=-100&start_y=100"),
)


def anywhere(seed: int = 1) -> Iterator[Stay]:
    """Each page, left at some moment."""
    chance = random.Random(seed)
    for entry in catalogue.LESSONS:
        yield Stay(entry.slug, f"seed={chance.randrange(1000)}", seconds=chance.uniform(0.0, 3.0))


def leaving(folder: Path, stays: Sequence[Stay]) -> str:
    """Two seconds after a reader has left in the middle of something, the server is idle."""

    async def leave(server: Server, stay: Stay) -> float:
        async with visiting(server.url, stay.slug, stay.query) as user:
            await user.open()
            if stay.button:
                await user.press(stay.button)
            await user.poll(stay.seconds)
            assert not user.faults, user.faults
        await asyncio.sleep(AFTER)
        before = server.cpu()
        await asyncio.sleep(1.0)
        return server.cpu() - before

    found = {}
    with serving(APP, folder / "log.txt") as server:
        play(sees(server.url, stays[0].slug))
        _warmed(server)
        for stay in stays:
            found[stay] = play(leave(server, stay))
    wrong = [f"/{stay.slug}?{stay.query}: {share:.0%} of a core" for stay, share in found.items() if share > COSTS]
    assert not wrong, "\n".join(wrong)
    assert "Traceback" not in server.said(), server.said()
    return f"{len(stays)} visits, {max(found.values()):.0%} of a core at most {AFTER:.0f} s later"


def _warmed(server: Server, most: float = 120.0) -> None:
    """Wait until the server has done what it does once."""
    end = time.monotonic() + most
    idle = 0
    while idle < 5:  # it waits for a reader's browser first
        before = server.cpu()
        time.sleep(1.0)
        idle = idle + 1 if server.cpu() - before < COSTS else 0
        assert time.monotonic() < end, "the server does not come to rest"


# All of them ----------------------------------------------------------------------------------------------------------


def _browser_restart(folder: Path) -> str:
    path = chrome.find()
    assert path is not None, chrome.MISSING
    sandbox = ["--no-sandbox"] if chrome.needs_no_sandbox(path) else []
    with sync_playwright() as driver, driver.chromium.launch(executable_path=path, args=sandbox) as browser:
        return restart(browser, APP, folder, ["/hmc?scenario=funnel&seed=7", "/nuts?target=banana&seed=3"])


TRIALS: dict[str, Callable[[Path], str]] = {
    "server killed": _browser_restart,
    **{f"kernels {damage}": lambda folder, damage=damage: cache(folder, damage) for damage in DAMAGES},
    "disk full": full_disk,
    "threads that end": dying_threads,
    "clock": clock,
    "readers who leave": lambda folder: leaving(folder, [*HEAVY, *anywhere()]),
}


def main(names: Sequence[str]) -> int:
    """Every trial, or those named; the exit status."""
    failed = []
    for name, trial in TRIALS.items():
        if names and name not in names:
            continue
        begin = time.monotonic()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            try:
                outcome = f"ok      {name}: {trial(Path(folder))}"
            except Exception:
                failed.append(name)
                outcome = f"FAILED  {name}\n{traceback.format_exc()}"
        print(f"{outcome} ({time.monotonic() - begin:.0f} s)", flush=True)
    print(f"{len(failed)} failed: {', '.join(failed)}" if failed else "all hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
