"""What a process does once: import the frame and what the first page needs, then warm up (import the rest of the engine
and the slow libraries, load every kernel).

On a new machine the kernels must be compiled first. No page waits for all of them: it compiles those that it needs when
it needs them, in this process, while another one, which gives way to this, fills the cache with the rest.
"""

from __future__ import annotations

import ast
import functools
import gc
import importlib
import importlib.util
import logging
import pkgutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.kit import collector, tally

log = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[2]
WAIT_FOR_PICTURE = 5.0  # s
FILL = (sys.executable, "-m", "engine.warm", "--gently")
GRACE = 4.0  # s in which the first reader's browser loads the page's own parts, from the same process

_lock = threading.Lock()


# All import one thread at a time: Python lets a second thread into a package whose import is under way; in a class
# that opens the app at once, some would find modules half made.


@functools.cache
def load() -> None:
    """Import what every page needs: the frame, and with it the heart of the engine."""
    with _lock:
        importlib.import_module("app.kit.frame")


@functools.cache
def load_page(package: str) -> None:
    """Import what the page of `package` (a lesson's folder) needs: each of its modules, what the page imports, which is a
    script, and what its `analysis` names as `FIRST_PICTURE`: calls that load slow libraries, which it else loads where it uses them."""
    with _lock:  # also where it was loaded ahead: something else may be under way
        _import_page(package)


@functools.cache
def _import_page(package: str) -> None:
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
        if module.name != f"{package}.page":
            importlib.import_module(module.name)
        elif (spec := importlib.util.find_spec(module.name)) is not None and spec.origin:
            script = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
            script.body = [line for line in script.body if isinstance(line, (ast.Import, ast.ImportFrom))]
            exec(compile(script, spec.origin, "exec"), {})
    for library in getattr(sys.modules.get(f"{package}.analysis"), "FIRST_PICTURE", ()):
        library()


@functools.cache
def load_rest() -> None:
    """Import what no page has asked for yet of the engine. Between two modules a page may load its own."""
    for module in pkgutil.walk_packages(importlib.import_module("engine").__path__, "engine."):
        with _lock:
            importlib.import_module(module.name)


AHEAD = ("PIL.Image", "engine.samplers", "engine.judge.ledger", "scipy.linalg", "scipy.special", "scipy.optimize")

_expected: list[str] = []  # package of the page whose reader's browser is under way


def expect(package: str) -> None:
    """A browser asks for the page of `package`: it will be a second until it has loaded Streamlit's scripts, and the page is
    run.
    """
    _expected[:] = [package]


def load_ahead() -> None:
    """Import what first pictures need, the expected page's before that of most others, until a page is run."""
    seams = importlib.import_module("app.kit.seams")
    seams.prime()
    steps: list[Callable[[], object]] = [functools.partial(importlib.import_module, name) for name in AHEAD]
    steps[2:2] = [functools.partial(_import_page, package) for package in [*_expected]]
    for step in (*steps, _first_kernel):
        with _lock:
            if seams.scripts_run():
                return
            step()


def _first_kernel() -> None:
    """Load one from the cache: what numba loads with its first takes a tenth of a second."""
    if importlib.import_module("engine._cache").is_full():
        importlib.import_module("engine.targets").gaussian().log_density((0.0, 0.0))


@functools.cache
def load_charts() -> None:
    """Import what charts need, which follow the picture."""
    with _lock:
        for name in ("pandas", "plotly.graph_objects"):  # Plotly looks at pandas while it is half made
            importlib.import_module(name)


def _keep() -> None:
    """Let the collector work, but not on what is there now: nothing of it goes away again."""
    gc.freeze()
    gc.enable()


class WarmUp:
    """A thread that loads the engine and then warms up.

    `loaded` is set once a lesson can run. The rest waits for `picture_drawn` and a while longer, since both would slow
    each other down.
    `ready` is set at the end, also after a failure: the kernels then compile when they are first needed.
    `name` is the kernel that is being prepared, `compiling` the one that this process compiles because a page waits,
    and behind it what that one calls.
    """

    def __init__(self) -> None:
        self.loaded = threading.Event()
        self.picture_drawn = threading.Event()
        self.ready = threading.Event()
        self.done = 0
        self.total = 0
        self.name = ""
        self.compiling: list[str] = []
        self._started: float | None = time.monotonic()  # None while it waits
        threading.Thread(target=self._run, daemon=True, name="warm-up").start()

    def seconds(self) -> float:
        """Seconds at work on the present part."""
        started = self._started
        return 0.0 if started is None else time.monotonic() - started

    def _run(self) -> None:
        gc.disable()  # what is imported stays; to look it over again and again took 0.2 s of the start
        for part in (self._load, self._warm):
            try:
                part()
            except Exception:
                log.exception("warm-up")
        gc.collect()
        _keep()
        collector.start()
        self.ready.set()

    def _load(self) -> None:
        try:
            load()
            self._listen()
        finally:
            self.loaded.set()

    def _listen(self) -> None:
        event: Any = importlib.import_module("numba.core.event")
        compiling = self.compiling

        class Listener(event.Listener):
            def on_start(self, event) -> None:
                compiling.append(event.data["dispatcher"].py_func.__name__)

            def on_end(self, event) -> None:
                tally.count("kernels_compiled", compiling.pop())

        event.register("numba:compile", Listener())

    def _warm(self) -> None:
        self._started = None
        load_ahead()
        drawn = self.picture_drawn.wait(WAIT_FOR_PICTURE)
        _keep()
        if drawn:
            time.sleep(GRACE)
        load_rest()
        load_charts()
        self._started = time.monotonic()
        cache = importlib.import_module("engine._cache")
        if not cache.is_full():
            self._fill()
        if cache.is_full():  # else nothing can be kept, and what no page asks for is not compiled
            importlib.import_module("engine.warm").warm(self._report)
        importlib.import_module("engine.array_stats").array_stats()

    def _fill(self) -> None:
        """Compile what is missing. In a process of its own, for that holds the interpreter's lock; it ends with this
        one, when nobody reads what it says."""
        # A session of its own: Ctrl-C is for the server.
        with subprocess.Popen(FILL, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                done, total, name = line.rstrip("\n").split(" ", 2)
                self._report(int(done), int(total), name)
        if process.returncode:
            raise RuntimeError(f"filling the kernel cache ended with status {process.returncode}")

    def _report(self, done: int, total: int, name: str) -> None:
        self.done, self.total, self.name = done, total, name


_warm_up: WarmUp | None = None
_warm_up_lock = threading.Lock()


def warm_up() -> WarmUp:
    """The warm-up of this process, started on the first call."""
    global _warm_up
    with _warm_up_lock:
        if _warm_up is None:
            _warm_up = WarmUp()
        return _warm_up
