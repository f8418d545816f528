"""The kernel cache: what is compiled after which edit, and what is never trusted."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from engine import _cache
from tests.server import ROOT, no_power_over_files

# A small engine: the real cache and kernels, and three modules of its own.
CALLEE = """
from engine.kernels import kernel

STEP = 1.0

@kernel
def step(x):
    return x + STEP
"""
CALLER = """
from engine.callee import step
from engine.kernels import kernel, target_kernel

@kernel
def twice(x):
    return step(step(x))

@target_kernel
def density(q, grad, dim, data, ints, scratch):
    grad[0] = step(q[0])
    return -q[0]
"""
ALONE = """
from typing import NamedTuple

from engine.kernels import kernel

class State(NamedTuple):
    left: float
    right: float

@kernel
def left(state):
    return state.left
"""
# Says what each kernel gives, and at the end how many were compiled: those of numba's events, and C functions.
RUN = """
import sys
from numba.core import ccallback, event
compiled = []
class Listener(event.Listener):
    def on_start(self, happened): compiled.append(happened.data["dispatcher"].py_func.__name__)
    def on_end(self, happened): pass
event.register("numba:compile", Listener())
whole = ccallback.CFunc._compile_uncached
ccallback.CFunc._compile_uncached = lambda self: compiled.append(self._pyfunc.__name__) or whole(self)
import engine
from engine import alone, caller
assert not compiled, 'before they are called'
caller.density.address
print(caller.twice(1.0), alone.left(alone.State(1.0, 2.0)), *sorted(set(compiled)))
"""
ALL = {"step", "twice", "density", "left"}


class House:
    """A copy of the engine, a cache of its own, and what a process says that runs the kernels."""

    def __init__(self, root: Path) -> None:
        self.engine = root / "engine"
        self.cache = root / "cache"
        self.engine.mkdir()
        for name in ("__init__.py", "_cache.py", "_sources.py", "kernels.py"):
            shutil.copy(ROOT / "engine" / name, self.engine)
        for name, text in (("callee", CALLEE), ("caller", CALLER), ("alone", ALONE)):
            (self.engine / f"{name}.py").write_text(text)

    @property
    def kernels(self) -> Path:
        return self.cache / "kernels"

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.engine / f"{name}.py"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    def start(self, script: str = RUN, before: Callable[[], None] | None = None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-B", "-c", script],
            cwd=self.engine.parent,
            env={**os.environ, "POSTERIOR_LAB_CACHE": str(self.cache)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=before,
        )

    def run(self, before: Callable[[], None] | None = None) -> tuple[list[float], set[str], str]:
        """The results, the kernels that were compiled, and what was logged."""
        process = self.start(before=before)
        said, logged = process.communicate()
        assert process.returncode == 0, logged
        twice, left, *compiled = said.split()
        return [float(twice), float(left)], set(compiled), logged


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.fixture
def full(house: House) -> House:
    """With a filled cache."""
    assert house.run() == ([3.0, 1.0], ALL, "")
    return house


def test_a_filled_cache_compiles_nothing(full: House):
    assert full.run() == ([3.0, 1.0], set(), "")


def test_an_edit_compiles_what_it_can_change_and_nothing_else(full: House):
    full.edit("callee", "x + STEP", "x + 2.0 * STEP")
    assert full.run() == ([5.0, 1.0], {"step", "twice", "density"}, "")
    full.edit("callee", "STEP = 1.0", "STEP = 2.0")
    assert full.run() == ([9.0, 1.0], {"step", "twice", "density"}, "")
    full.edit("caller", "step(step(x))", "step(step(step(x)))")
    assert full.run() == ([13.0, 1.0], {"twice"}, "")
    full.edit("caller", "step(step(step(x)))", "step(step(x))")
    assert full.run() == ([9.0, 1.0], set(), ""), "what was compiled before is still there"


def test_comments_and_python_beside_a_kernel_compile_nothing(full: House):
    full.edit("callee", "@kernel", '"""A text."""\n# and a comment\ndef plain():\n    return step(1.0)\n\n\n@kernel')
    full.edit("alone", "    return state.left", '    "Left."\n    return state.left')
    (full.engine / "another.py").write_text("from engine.callee import step\n")
    assert full.run() == ([3.0, 1.0], set(), "")


def test_a_named_tuple_with_its_fields_in_another_order_is_another(full: House):
    full.edit("alone", "    left: float\n    right: float", "    right: float\n    left: float")
    assert full.run() == ([3.0, 2.0], {"left"}, "")


def test_other_versions_have_kernels_of_their_own(full: House):
    full.edit("_cache", 'return f"{sys.version_info[:2]} ', 'return f"{sys.version_info[:2]}.1 ')
    assert full.run()[1] == ALL


def test_what_was_edited_while_a_process_ran_is_not_kept(full: House):
    edit = """
import engine
from pathlib import Path
path = Path(engine.__file__).with_name("callee.py")
text = path.read_text()
path.write_text(text.replace("STEP = 1.0", "STEP = 50.0"))
"""
    process = full.start(edit + RUN)
    said, logged = process.communicate()
    assert said.startswith("101.0 "), logged
    full.edit("callee", "STEP = 50.0", "STEP = 1.0")
    assert full.run()[0] == [3.0, 1.0]


@pytest.mark.parametrize("length", [0, 10, 31, 32, 33, 200])
def test_a_file_that_is_not_whole_is_compiled_anew(full: House, length: int):
    for path in full.kernels.iterdir():
        path.write_bytes(path.read_bytes()[:length])
    assert full.run() == ([3.0, 1.0], ALL, "")
    assert full.run() == ([3.0, 1.0], set(), "")


def test_a_file_with_another_byte_is_compiled_anew(full: House):
    for path in full.kernels.iterdir():
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    assert full.run() == ([3.0, 1.0], ALL, "")


def test_a_file_that_others_may_have_written_is_compiled_anew(full: House):
    (left,) = full.kernels.glob("*.left-*")
    (twice,) = full.kernels.glob("*.twice-*")
    left.chmod(0o666)
    twice.rename(full.cache / "elsewhere")
    twice.symlink_to(full.cache / "elsewhere")
    assert full.run() == ([3.0, 1.0], {"left", "twice"}, "")
    assert not twice.is_symlink()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_compiled_anew(full: House):
    for path in full.kernels.glob("*.left-*"):
        os.chown(path, 4321, 4321)
    assert full.run() == ([3.0, 1.0], {"left"}, "")


def link(path: Path) -> None:
    path.rename(path.with_name("moved"))
    path.symlink_to(path.with_name("moved"))


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda house: house.kernels.chmod(0o777), "others can write in it"),
        (lambda house: house.kernels.chmod(0o775), "others can write in it"),
        (lambda house: link(house.kernels), "is a link"),
        (lambda house: house.cache.chmod(0o777), "others can write in"),
        (lambda house: os.chown(house.kernels, 4321, 4321), "belongs to another user"),
        (lambda house: os.chown(house.cache, 4321, 4321), "belongs to another user"),
        (lambda house: (shutil.rmtree(house.cache), house.cache.write_text("")), "cannot be used"),
    ],
)
def test_a_folder_that_is_not_safe_is_not_read(full: House, spoil: Callable[[House], object], says: str):
    try:
        spoil(full)
    except PermissionError:
        pytest.skip("only root can give a folder away")
    results, compiled, logged = full.run()
    assert (results, compiled) == ([3.0, 1.0], ALL)
    assert says in logged
    assert logged.count("\n") == 1
    fresh = Path(logged.split("kept in ")[1].split(" while")[0])
    assert not fresh.exists(), "it goes with the process"


def test_a_full_disk_is_said_once_and_nothing_else_is_lost(house: House):
    results, compiled, logged = house.run(lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
    assert (results, compiled) == ([3.0, 1.0], ALL)
    assert "cannot be kept (File too large)" in logged
    assert logged.count("\n") == 1
    assert list(house.kernels.iterdir()) == [], "no half files stay"


def test_a_cache_that_cannot_be_written_is_read(full: House):
    full.edit("alone", "return state.left", "return state.left + 1.0")
    before = sorted(full.kernels.iterdir())
    full.kernels.chmod(0o555)
    results, compiled, logged = full.run(no_power_over_files)
    assert (results, compiled) == ([3.0, 2.0], {"left"})
    assert "cannot be kept (Permission denied)" in logged
    assert logged.count("\n") == 1
    assert sorted(full.kernels.iterdir()) == before


def test_an_empty_cache_that_cannot_be_written_is_replaced(house: House):
    house.kernels.mkdir(parents=True)
    house.kernels.chmod(0o555)
    results, compiled, logged = house.run(no_power_over_files)
    assert (results, compiled) == ([3.0, 1.0], ALL)
    assert "is empty and cannot be written" in logged


def test_two_that_fill_it_at_once_lose_nothing(house: House):
    processes = [house.start() for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    assert house.run() == ([3.0, 1.0], set(), "")


def test_what_was_not_used_for_longest_goes_when_it_grows_too_large(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(_cache, "CACHE_DIR", tmp_path)
    monkeypatch.setattr(_cache, "BUDGET", 2000 + 3 * _cache.SUM)
    names = [tmp_path / name for name in ("old", "middle", "new", "read")]
    for days, path in zip((4, 3, 2, 5), names, strict=True):
        _cache.write(path, b"x" * 900)
        then = path.stat().st_mtime - days * _cache.DAY
        os.utime(path, (then, then))
    assert _cache.read(names[-1]) == b"x" * 900
    _cache.prune.cache_clear()
    _cache.write(tmp_path / "small", b"x")
    assert {path.name for path in tmp_path.iterdir()} == {"new", "read", "small"}


@pytest.mark.parametrize("days", [-400, -2, 2, 400])
def test_what_is_used_after_a_jump_of_the_clock_counts_as_used_now(tmp_path: Path, monkeypatch, days: int):
    """Kept while the clock was wrong, by so many days: it counts as used now, neither long ago nor ever after."""
    monkeypatch.setattr(_cache, "CACHE_DIR", tmp_path)
    path, then = tmp_path / "used", time.time() + days * _cache.DAY
    _cache.write(path, b"x")
    os.utime(path, (then, then))
    assert _cache.read(path) == b"x"
    assert abs(path.stat().st_mtime - time.time()) < 60
