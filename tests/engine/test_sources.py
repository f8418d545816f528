"""What a kernel is made of: a change to that changes its stamp, a change to anything else does not."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import pytest

from engine._cache import SNAPSHOT
from engine._sources import Sources

CALLER = """
from engine.callee import inner as called, UNUSED
from engine import constants

@kernel
def outer(x):
    return called(x) * constants.SCALE
"""
CALLEE = """
LIMIT = 3.0
UNUSED = 1.0
TABLE = {}
TABLE.update(a=1)

@kernel
def inner(x):
    "Adds."
    return x + LIMIT + lookup()

def lookup():
    from engine.deep import depth
    return TABLE["a"] + depth

def python_only(x: Spec) -> None:
    return inner(x)
"""
MODULES = {
    "engine": "",
    "engine.caller": CALLER,
    "engine.callee": CALLEE,
    "engine.constants": "SCALE = 2.0\n",
    "engine.deep": "depth = 4\nheight = 5\n",
}


def stamp(modules: Mapping[str, str], place: tuple[str, str] = ("engine.caller", "outer")) -> str:
    return Sources({name: text.encode() for name, text in modules.items()}).stamp(place)


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("engine.caller", "called(x) *", "called(x) +"),
        ("engine.callee", "return x +", "return x -"),
        ("engine.callee", "LIMIT = 3.0", "LIMIT = 4.0"),
        ("engine.callee", "update(a=1)", "update(a=2)"),
        ("engine.callee", "import depth", "import height as depth"),
        ("engine.constants", "2.0", "3.0"),
        ("engine.deep", "depth = 4", "depth = 6"),
    ],
)
def test_a_change_to_what_it_is_made_of_changes_the_stamp(module: str, old: str, new: str):
    assert old in MODULES[module]
    assert stamp({**MODULES, module: MODULES[module].replace(old, new)}) != stamp(MODULES)


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("engine.callee", "return inner(x)", "return -inner(x)"),
        ("engine.callee", "UNUSED = 1.0", "UNUSED = 2.0"),
        ("engine.callee", '"Adds."', '"Adds three."\n    # and a comment'),
        ("engine.callee", "\nLIMIT", "\n'''A text.'''\n\nimport math\nLIMIT"),
        ("engine.callee", "def inner(x)", "def inner(x: float) -> float"),
        ("engine.deep", "height = 5", "height = 6"),
    ],
)
def test_a_change_to_anything_else_does_not(module: str, old: str, new: str):
    assert old in MODULES[module]
    assert stamp({**MODULES, module: MODULES[module].replace(old, new)}) == stamp(MODULES)


def engine_with(module: str, old: str, new: str) -> dict[str, str]:
    text = SNAPSHOT.modules[module].decode()
    assert old in text
    return Sources({**SNAPSHOT.modules, module: text.replace(old, new).encode()}).stamps()


def test_an_edit_of_the_jumps_leaves_hmc_alone():
    now = Sources(SNAPSHOT.modules).stamps()
    edited = engine_with("engine.jumps.sweep", "def architecture(ints):", "def architecture(ints):\n    ints[0] += 0\n")
    changed = {name.split(":")[0] for name in now if now[name] != edited[name]}
    assert "engine.jumps.sweep" in changed
    assert "engine.jumps.bridges" in changed
    assert all(module.startswith("engine.jumps.") for module in changed)


def test_an_edit_of_how_kernels_are_made_changes_them_all():
    now = Sources(SNAPSHOT.modules).stamps()
    edited = engine_with("engine.kernels", 'return numba.njit(nogil=True, cache=True, error_model="numpy", **_WHOLE)', "return numba.njit")
    assert now["engine.samplers.hmc:hmc_chunk"] != edited["engine.samplers.hmc:hmc_chunk"]


def test_the_engine_does_without_what_the_search_would_not_see():
    for module, text in SNAPSHOT.modules.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{module}: a relative import"
                assert all(alias.name != "*" for alias in node.names), f"{module}: import *"
                loose = {alias.name for alias in node.names if f"engine.{alias.name}" not in SNAPSHOT.modules}
                assert node.module != "engine" or not loose, f"{module}: {loose} from engine itself"
            if isinstance(node, ast.Name):
                allowed = module == "engine.kernels"  # a message only
                assert allowed or not node.id.startswith("overload"), f"{module}: {node.id}"
