"""What is imported when: what a page needs before it runs, the rest of the engine after the first picture."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import threading

import numba
import pytest
from numba.core import event
from streamlit.testing.v1 import AppTest

from app.kit import collector, startup
from engine import _cache
from tests.server import ROOT

STAGES = """
import json, sys
from app.kit import collector, startup
ours = lambda: sorted(name for name in sys.modules if name.split(".")[0] in ("app", "engine", "lessons", "datasets"))
startup.load()
startup.load_page(sys.argv[1])
ready = ours()
import importlib
try:
    importlib.import_module(sys.argv[1] + ".page")
except Exception:  # a page is a script of Streamlit's; only its imports matter here
    pass
run = ours()
startup.load_rest()
print(json.dumps([ready, run, ours()]))
"""


@pytest.mark.parametrize("package", ["lessons.metropolis", "lessons.xor"])
def test_a_page_finds_its_modules_loaded_and_waits_for_no_others(package: str):
    command = [sys.executable, "-c", STAGES, package]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    ready, run, rest = map(set, json.loads(said.splitlines()[-1]))
    assert run - ready <= {f"{package}.page"}, "a second visitor's page could meet these half made"
    engine = {".".join(path.with_suffix("").parts) for path in (p.relative_to(ROOT) for p in ROOT.glob("engine/**/*.py"))}
    engine = {name.removesuffix(".__init__") for name in engine}
    assert len(engine & ready) < 0.7 * len(engine), "the first picture waits for what it does without"
    assert engine <= rest | {"engine.warm"}
    if package == "lessons.metropolis":
        assert not {name for name in ready if name.startswith(("engine.networks", "engine.jumps"))}


ALL_PAGES = """
from app import catalogue
from app.kit import startup
from engine.targets import formula
integrated = []
formula.quadrature_truth = lambda *density, **named: integrated.append(1)
for entry in catalogue.PAGES:
    startup.load_page(entry.package)
print(len(catalogue.PAGES), len(integrated))
"""


def test_no_page_integrates_a_formula_before_it_is_shown():
    said = subprocess.run([sys.executable, "-c", ALL_PAGES], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    pages, integrated = map(int, said.split())
    assert pages > 30 and integrated == 0, "`Spec.authored` leaves that to the tests"


AHEAD = """
import sys
from app.kit import seams, startup
startup.load()
seams.scripts_run = lambda: sys.argv[2] in sys.modules
if sys.argv[1]:
    startup.expect(sys.argv[1])
startup.load_ahead()
of_interest = ("engine.samplers", "arviz_stats.base.array", "lessons.own_chain", "lessons.metropolis", "scipy.optimize")
print([name for name in of_interest if name in sys.modules])
"""


@pytest.mark.parametrize(
    ("expected", "until", "loaded"),
    [
        ("lessons.own_chain", "", "['engine.samplers', 'arviz_stats.base.array', 'lessons.own_chain', 'scipy.optimize']"),
        ("lessons.metropolis", "lessons.metropolis", "['engine.samplers', 'lessons.metropolis']"),
        ("", "engine.samplers", "['engine.samplers']"),
        ("lessons.own_chain", "engine", "[]"),
    ],
    ids=["nobody comes", "its reader comes", "another comes", "there is no time"],
)
def test_what_the_expected_page_needs_is_loaded_while_its_readers_browser_gets_ready(expected: str, until: str, loaded: str):
    said = subprocess.run([sys.executable, "-c", AHEAD, expected, until], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout.splitlines()[-1] == loaded


def test_a_page_that_was_loaded_ahead_waits_for_what_is_under_way():
    """Else its first picture imports beside it, and either may find the other's modules half made."""
    package = "lessons.conjugate"
    startup._import_page(package)
    startup.load_page.cache_clear()
    there = threading.Event()
    page = threading.Thread(target=lambda: (startup.load_page(package), there.set()))
    with startup._lock:
        page.start()
        assert not there.wait(0.2)
    page.join(10)
    assert there.is_set()


def test_the_collector_rests_while_the_engine_loads_and_works_again_after_a_failure(monkeypatch):
    worked: list[bool] = []

    def load(self: startup.WarmUp) -> None:
        worked.append(gc.isenabled())
        raise RuntimeError("as if a library were missing")

    monkeypatch.setattr(startup.WarmUp, "_load", load)
    monkeypatch.setattr(startup.WarmUp, "_warm", load)
    begun: list[bool] = []
    monkeypatch.setattr(collector, "start", lambda: begun.append(gc.isenabled()))
    try:
        assert startup.WarmUp().ready.wait(30)
        assert worked == [False, False]
        assert begun == [True], "nobody took over the long looks"
        assert gc.isenabled()
    finally:
        gc.unfreeze()


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> startup.WarmUp:
    """A warm-up whose thread does nothing."""
    monkeypatch.setattr(startup.WarmUp, "_run", lambda self: None)
    return startup.WarmUp()


def test_what_fills_the_cache_says_how_far_it_is(idle: startup.WarmUp, monkeypatch: pytest.MonkeyPatch):
    said: list[tuple[int, int, str]] = []
    monkeypatch.setattr(idle, "_report", lambda *progress: said.append(progress))
    script = "import os; print(0, 2, 'metropolis'); print(1, 2, f'jumps, {os.getsid(0) == os.getpid()}')"
    monkeypatch.setattr(startup, "FILL", (sys.executable, "-c", script))
    idle._fill()
    assert said == [(0, 2, "metropolis"), (1, 2, "jumps, True")]
    monkeypatch.setattr(startup, "FILL", (sys.executable, "-c", "raise SystemExit(3)"))
    with pytest.raises(RuntimeError, match="status 3"):
        idle._fill()


@pytest.mark.parametrize(
    ("states", "done"),
    [((True, True), ["warm"]), ((False, True), ["fill", "warm"]), ((False, False), ["fill"])],
    ids=["full", "empty", "nothing can be kept"],
)
def test_another_process_compiles_what_no_page_waits_for(
    idle: startup.WarmUp, monkeypatch: pytest.MonkeyPatch, states: tuple[bool, bool], done: list[str]
):
    from engine import warm

    did: list[str] = []
    answers = iter(states)
    monkeypatch.setattr(startup, "WAIT_FOR_PICTURE", 0.0)
    monkeypatch.setattr(startup, "load_ahead", lambda: None)
    monkeypatch.setattr(_cache, "is_full", lambda: next(answers))
    monkeypatch.setattr(idle, "_fill", lambda: did.append("fill"))
    monkeypatch.setattr(warm, "warm", lambda report: did.append("warm"))
    try:
        idle._warm()
    finally:
        gc.unfreeze()
    assert did == done


def test_a_kernel_that_a_page_waits_for_is_named(idle: startup.WarmUp):
    seen: list[list[str]] = []

    class Look(event.Listener):
        def on_start(self, event):
            seen.append([*idle.compiling])

        def on_end(self, event):
            pass

    @numba.njit
    def called(x):
        return x + 1.0

    @numba.njit
    def caller(x):
        return called(x)

    idle._listen()
    with event.install_listener("numba:compile", Look()):
        caller(1.0)
    assert seen == [["caller"], ["caller", "called"]]
    assert idle.compiling == []


def test_the_note_names_it():
    def script() -> None:
        import threading
        from types import SimpleNamespace

        from app.main import note

        warm_up = SimpleNamespace(ready=threading.Event(), loaded=threading.Event(), done=0, total=0, name="")
        warm_up.seconds, warm_up.compiling = (lambda: 0.0), ["hmc_chunk", "velocity"]
        note(warm_up, drawn=False)

    at = AppTest.from_function(script).run()
    assert not at.exception
    assert "Compiling hmc_chunk for this page" in at.get("progress")[0].proto.text
