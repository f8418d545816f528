"""The public face: its names are there, and importing it alone loads nothing else."""

from __future__ import annotations

import subprocess
import sys

import pytest

import engine
from tests.server import ROOT


def test_every_public_name_is_found():
    for name in engine.__all__:
        assert getattr(engine, name) is not None
    assert set(engine.__all__) == {"judge", *engine._HOMES}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'sampel'"):
        _ = engine.sampel


def test_the_engine_is_loaded_when_it_is_asked_for():
    script = (
        "import sys, engine\n"
        "assert set(engine.__all__) <= set(dir(engine)), 'names that are not loaded yet are listed all the same'\n"
        "print([name for name in sys.modules if name.startswith('engine.')])"
    )
    said = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"
