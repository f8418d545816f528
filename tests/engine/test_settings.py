"""Variables of the environment are told apart from what only looks like them, before a reader comes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from engine import settings

ROOT = Path(__file__).resolve().parents[2]


def test_an_environment_of_good_settings_has_no_problems(tmp_path: Path):
    good = {"CACHE": str(tmp_path), "MEMORY": "800", "DATA": str(tmp_path), "DASK": "tcp://10.0.0.1:8786", "EMBED": "self https://a.org"}
    environment = {settings.PREFIX + name: value for name, value in good.items()}
    assert settings.problems({**environment, "METRICS": "own", "HOME": "/"}) == []
    assert settings.value("MEMORY", environment) == "800" and settings.value("LOG", environment) is None


WRONG = {
    "MEMORY": ("0", "much"),
    "DATA": ("/nowhere",),
    "CACHE": (__file__,),
    "DOWNLOADS": (__file__,),
    "DASK": ("cluster",),
    "EMBED": ("all; script-src *",),
    "METRICS": ("yes",),
    "LOG": ("xml",),
    "SEED_SHIFT": ("half",),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_a_value_that_means_nothing_is_named(name: str, value: str):
    (said,) = settings.problems({settings.PREFIX + name: value})
    assert said.startswith(f"POSTERIOR_LAB_{name}={value} ")


def test_a_misspelt_name_is_told_with_the_right_one():
    (said,) = settings.problems({"POSTERIOR_LAB_MEMROY": "3"})
    assert "did you mean POSTERIOR_LAB_MEMORY?" in said


def test_every_variable_that_the_code_asks_for_is_in_the_table():
    known = {setting.variable for setting in settings.SETTINGS}
    asked = {
        name
        for room in ("app", "engine", "lessons", "datasets")
        for path in (ROOT / room).rglob("*.py")
        for name in re.findall(r"POSTERIOR_LAB_[A-Z]+(?:_[A-Z]+)*", path.read_text(encoding="utf-8"))
    }
    assert asked <= known


def test_readme_has_the_table():
    assert settings.table() in (ROOT / "README.md").read_text(encoding="utf-8")


def test_a_server_with_a_wrong_setting_does_not_start():
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "POSTERIOR_LAB_DASK": "nonsense"}
    call = [sys.executable, "-m", "streamlit", "run", "app/main.py", "--server.port", "0", "--server.address", "127.0.0.1"]
    ended = subprocess.run(call, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert "POSTERIOR_LAB_DASK=nonsense is no address of a scheduler" in ended.stderr
