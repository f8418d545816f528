"""What is imported when: what a page needs before it runs, the rest of the engine after the first picture."""

from __future__ import annotations

import gc
import json
import subprocess
import sys

import pytest

from app.kit import startup
from tests.server import ROOT

STAGES = """
import json, sys
from app.kit import startup
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
    engine = {
        ".".join(path.with_suffix("").parts) for path in (p.relative_to(ROOT) for p in ROOT.glob("engine/**/*.py"))
    }
    engine = {name.removesuffix(".__init__") for name in engine}
    assert len(engine & ready) < 0.7 * len(engine), "the first picture waits for what it does without"
    assert engine <= rest | {"engine.warm"}
    if package == "lessons.metropolis":
        assert not {name for name in ready if name.startswith(("engine.networks", "engine.jumps"))}


def test_the_collector_rests_while_the_engine_loads_and_works_again_after_a_failure(monkeypatch):
    worked: list[bool] = []

    def load(self: startup.WarmUp) -> None:
        worked.append(gc.isenabled())
        raise RuntimeError("as if a library were missing")

    monkeypatch.setattr(startup.WarmUp, "_load", load)
    monkeypatch.setattr(startup.WarmUp, "_warm", load)
    try:
        assert startup.WarmUp().ready.wait(30)
        assert worked == [False, False]
        assert gc.isenabled()
    finally:
        gc.unfreeze()
