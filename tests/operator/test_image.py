"""Image, compose file, lock, dashboard and threat model say what is so. No container is run: what the image's build does is
done in a folder."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from app.server import metrics
from engine import settings
from tests import licences
from tests.load.user import play, visiting

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def steps(word: str) -> list[str]:
    """The arguments of each instruction of this kind."""
    lines = DOCKERFILE.replace("\\\n", " ").splitlines()
    return [line.removeprefix(word).strip() for line in lines if line.startswith(word + " ")]


def environment(text: list[str]) -> dict[str, str]:
    """What ENV instructions set."""
    return dict(pair.split("=", 1) for line in text for pair in shlex.split(line))


def test_the_image_copies_what_is_there_and_no_more_than_is_let_in():
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {name for line in steps("COPY") if not line.startswith("--from") for name in line.split()[:-1]}
    assert copied == let_in and all((ROOT / name).exists() for name in copied)


def test_the_linter_has_nothing_to_say_of_the_image(tmp_path: Path):
    lint = [str(Path(sys.executable).with_name("hadolint")), "--no-color"]
    said = subprocess.run([*lint, str(ROOT / "Dockerfile")], capture_output=True, text=True)
    assert said.returncode == 0 and not said.stdout, said.stdout + said.stderr
    (tmp_path / "Dockerfile").write_text(DOCKERFILE.replace("USER 10001", "USER root"))
    assert "DL3002" in subprocess.run([*lint, str(tmp_path / "Dockerfile")], capture_output=True, text=True).stdout


def test_the_image_s_user_is_not_root_and_its_health_is_looked_at():
    user = steps("USER")[-1]
    assert f"useradd --uid {user} " in DOCKERFILE and DOCKERFILE.rindex(f"USER {user}") < DOCKERFILE.rindex("\nCMD ")
    (volume,) = steps("VOLUME")
    assert DOCKERFILE.index(f"install -d -o lab {volume}") < DOCKERFILE.index("VOLUME"), "who mounts it there may write"
    written = {name: folder for name, folder in environment(steps("ENV")).items() if name.endswith(("_DOWNLOADS", "_STATE"))}
    assert len(written) == 2 and all(f"{folder}/".startswith(f"{volume}/") for folder in written.values())
    assert "/readyz" in DOCKERFILE.partition("HEALTHCHECK")[2]
    assert settings.problems({**environment(steps("ENV")), "POSTERIOR_LAB_CACHE": str(ROOT)}) == []


def test_services_are_set_to_what_is_known_and_cannot_write():
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    assert {"nginx", "app0", "app1", "scheduler", "worker"} == services.keys()
    for name, service in services.items():
        assert service["read_only"], name
        assert settings.problems(service.get("environment", {})) == [], name
    for name in ("app0", "app1", "scheduler", "worker"):
        assert services[name]["cap_drop"] == ["ALL"], name


def test_services_find_one_another():
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())
    services = compose["services"]
    for name, service in services.items():
        assert set(service.get("depends_on", [])) <= services.keys(), name
        named = {volume.partition(":")[0] for volume in service.get("volumes", []) if not volume.startswith(".")}
        assert named <= compose["volumes"].keys(), name
    address = services["app0"]["environment"]["POSTERIOR_LAB_DASK"]
    assert address.startswith("tcp://scheduler:") and address in services["worker"]["command"]
    (line,) = re.findall(r"^ +(python -m app.server.front --print .*) > nginx.conf$", (ROOT / "docs" / "DEPLOY.md").read_text(), re.M)
    called = [sys.executable, *shlex.split(line)[1:]]
    conf = subprocess.run(called, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert "./nginx.conf:/etc/nginx/lab.conf:ro" in services["nginx"]["volumes"] and "/etc/nginx/lab.conf" in services["nginx"]["command"]
    assert set(re.findall(r"server (\w+):8501 ", conf)) == {"app0", "app1"} <= services.keys()
    assert services["nginx"]["ports"] == ["8501:8501"] and "listen 8501;" in conf
    places = set(re.findall(r"(?:path|pid|error_log) (/[^\s;]+)", conf))
    assert places and all(place.startswith("/tmp/") for place in places), "a root that cannot be written is enough"


def test_the_lock_has_every_package_that_is_required_with_its_hash():
    locked = dict(re.findall(r"^([\w.-]+)==(\S+) --hash=sha256:[0-9a-f]{64}$", (ROOT / "requirements.lock").read_text(), re.M))
    assert len(locked) == len((ROOT / "requirements.lock").read_text().splitlines()) - 1
    wanted = re.findall(r"^([\w-]+)(~=|==)([\d.]+)", (ROOT / "requirements.txt").read_text(), re.M)
    for name, how, version in wanted:
        series = version if how == "==" else version.rpartition(".")[0]
        assert locked[name.lower()].startswith(series), name


def test_licences_are_those_of_the_lock_and_none_asks_for_our_source():
    found = licences.locked()
    assert licences.not_allowed(found) == {}
    assert licences.not_allowed({"theirs": "GPL-3.0-only", "both": "MIT AND AGPL-3.0"}).keys() == {"theirs", "both"}
    assert re.findall(r"^\| ([\w.-]+) \| ", licences.PAGE.read_text(encoding="utf-8"), re.M)[1:] == list(found)


def test_the_dashboard_asks_for_figures_that_there_are():
    families = set(re.findall(r"^# TYPE (\w+)", metrics.text(), re.M))
    for panel in json.loads((ROOT / "docs" / "grafana.json").read_text())["panels"]:
        for target in panel["targets"]:
            asked = set(re.findall(r"(?:posterior_lab|process)_\w+", target["expr"]))
            assert asked and {name.removesuffix("_bucket") for name in asked} <= families, panel["title"]


def test_each_test_that_the_threat_model_names_is_there():
    rows = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", (ROOT / "SECURITY.md").read_text())
    assert len(rows) > 15
    for path, name in rows:
        text = (ROOT / path).read_text(encoding="utf-8")
        assert not name or re.search(rf"def {name}\(", text), f"{path}::{name}"


@pytest.mark.long
def test_what_the_image_s_build_does_works_in_a_folder(tmp_path: Path):
    lab, venv, kernels = tmp_path / "lab", tmp_path / "venv", tmp_path / "kernels"
    lab.mkdir()
    for line in steps("COPY"):
        if not line.startswith("--from"):
            for name in line.split()[:-1]:
                copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
                copy(ROOT / name, lab / name)
    places = {"/venv": str(venv), "/kernels": str(kernels)}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "POSTERIOR_LAB_"))}
    there = {**inherited, **environment(steps("ENV")), "POSTERIOR_LAB_CACHE": str(kernels), "POSTERIOR_LAB_DOWNLOADS": str(tmp_path)}
    there["PATH"] = f"{venv / 'bin'}:{os.environ['PATH']}"
    for command in steps("RUN")[:2]:
        for short, place in places.items():
            command = command.replace(short, place)
        subprocess.run(re.sub(r"(?<![\w/])python -m", f"{sys.executable} -m", command), shell=True, check=True, cwd=lab, env=there)
    python = str(venv / "bin" / "python")
    asked = [python, "-c", "from engine import _cache; print(_cache.is_full(), _cache.cpu())"]
    assert subprocess.run(asked, check=True, cwd=lab, env=there, capture_output=True, text=True).stdout.split() == ["True", "x86-64-v3"]
    size = sum(path.lstat().st_size for folder in (lab, venv, kernels) for path in folder.rglob("*") if not path.is_dir())
    print(f"{size / 1e6:.0f} MB")
    assert size < 775e6, f"{size / 1e6:.0f} MB, and the base image has about 125"
    before = everything(lab, venv, kernels)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    call = [
        python if word == "python" else word.replace("8501", port).replace("0.0.0.0", "127.0.0.1") for word in json.loads(steps("CMD")[-1])
    ]
    healthy = [
        word.replace("8501", port) for word in json.loads(DOCKERFILE.partition("HEALTHCHECK")[2].partition("CMD ")[2].splitlines()[0])
    ]
    with (tmp_path / "log.txt").open("wb") as log:
        bare = {**there, "PYTHONDONTWRITEBYTECODE": "1"}  # below a root that cannot be written it does not, either
        process = subprocess.Popen(call, cwd=lab, env=bare, stdout=log, stderr=log)
    try:
        end = time.monotonic() + 60.0
        while subprocess.run([python, *healthy[1:]], capture_output=True, env=there).returncode:
            assert time.monotonic() < end and process.poll() is None, (tmp_path / "log.txt").read_text()
            time.sleep(0.5)
        for page in ("hmc", "own-chain", "digits"):
            assert play(seen(f"http://127.0.0.1:{port}", page)), page
    finally:
        process.terminate()
        process.wait(10)
    assert "Traceback" not in (tmp_path / "log.txt").read_text()
    assert everything(lab, venv, kernels) == before, "a root that cannot be written is enough"


def everything(*folders: Path) -> set[Path]:
    """All that is in them."""
    return {path for folder in folders for path in folder.rglob("*")}


async def seen(url: str, page: str) -> bool:
    """Whether a reader of the page sees its picture, and no mistake."""
    async with visiting(url, page) as user:
        await user.open()
        return await user.see() and not user.faults
