"""The product installed as a package, used from a folder that knows nothing of the checkout."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from app import command, open

ROOT = Path(__file__).resolve().parents[1]
ABOUT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DATA = ABOUT["tool"]["setuptools"]["package-data"]["*"]


def test_what_is_installed_is_named_by_its_file():
    assert ABOUT["project"]["scripts"] == {"posterior-lab": "app.command:main"}
    (ours,) = ABOUT["project"]["optional-dependencies"]["cluster"]
    assert f"\n{ours} " in (ROOT / "requirements-cluster.txt").read_text(encoding="utf-8")
    for module, _ in command.COMMANDS.values():
        assert (ROOT / f"{module.replace('.', '/')}.py").is_file(), module
    shown = {path.suffix for room in ("app", "lessons", "engine", "datasets") for path in (ROOT / room).rglob("*.*") if path.is_file()}
    assert shown - {".py", ".pyc"} <= {pattern[1:] for pattern in DATA}, "a kind of file that would be left out"
    assert (ROOT / "app" / ".streamlit" / "config.toml").samefile(ROOT / ".streamlit" / "config.toml")


def test_whoever_reads_what_a_command_says_may_stop():
    told = subprocess.Popen([sys.executable, "-m", "app.command", "settings"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert told.stdout and told.stderr
    told.stdout.close()
    assert told.stderr.read() == b""
    assert told.wait(10) == command.ENOUGH


@pytest.mark.parametrize("link", ["/hmc?seed=3", "http://elsewhere.org:80/hmc?seed=3", "hmc?seed=3"])
def test_a_link_opens_on_this_machine(link: str):
    assert open.address(8501, link) == "http://localhost:8501/hmc?seed=3"


def test_the_server_ends_with_the_command_that_started_it():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-m", "app.open", "--no-browser", "--port", str(port)], cwd=ROOT)
    try:
        assert open._answers(process, f"http://localhost:{port}/_stcore/health")
    finally:
        process.terminate()
        process.wait(10)
    end = time.monotonic() + 10.0
    while True:
        try:
            socket.create_connection(("localhost", port), timeout=1).close()
        except OSError:
            break
        assert time.monotonic() < end, "the server is still there"
        time.sleep(0.1)


@pytest.mark.long
def test_the_package_runs_elsewhere(tmp_path: Path):
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    copy = tmp_path / "checkout"  # what building leaves behind stays there
    without = shutil.ignore_patterns("__pycache__")
    for room in ("app", "lessons", "engine", "datasets", ".streamlit"):
        shutil.copytree(ROOT / room, copy / room, symlinks=True, ignore=without)
    for name in ("pyproject.toml", "requirements.txt", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    subprocess.run([*pip, "wheel", "--no-deps", "-q", "-w", str(tmp_path), str(copy)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    for room in ("app", "lessons", "engine", "datasets"):
        there = {str(path.relative_to(ROOT)) for pattern in ("*.py", *DATA) for path in (ROOT / room).rglob(pattern)}
        assert there <= inside, sorted(there - inside)[:5]
    assert "app/.streamlit/config.toml" in inside
    place = tmp_path / "venv"
    venv.create(place, with_pip=False)
    packages = subprocess.run([sys.executable, "-c", "import numpy; print(numpy.__path__[0])"], capture_output=True, text=True, check=True)
    (site,) = place.glob("lib/python*/site-packages")
    (site / "others.pth").write_text(str(Path(packages.stdout.strip()).parent))  # what it needs, as it is installed here
    target = ["install", "--no-deps", "-q", "--target", str(site), str(wheel)]
    subprocess.run([*pip, *target], check=True)
    python, elsewhere = place / "bin" / "python", tmp_path / "elsewhere"
    elsewhere.mkdir()

    def said(*arguments: str) -> str:
        run = [str(python), "-c", "import sys; from app.command import main; sys.exit(main())", *arguments]
        return subprocess.run(run, cwd=elsewhere, capture_output=True, text=True, check=True, timeout=600).stdout

    told = json.loads(said("run", "/hmc?draws=50", "--out", "run.csv.zip"))
    assert told["bytes"] == (elsewhere / "run.csv.zip").stat().st_size
    assert '"kernel": {"verdict": "pass"' in said("verdict", "/hmc")
    where = "import app.catalogue as c; e = c.LESSONS[0]; print(c.__file__, e.title, e.minutes)"
    found = subprocess.run([str(python), "-c", where], cwd=elsewhere, capture_output=True, text=True, check=True).stdout
    assert found.startswith(str(site)) and "Conjugate" in found, "title and story are read beside the installed page"
