"""Pages run without a browser; they start checks and panels as jobs: none outlives its module. The tests of a lesson run
in one process, where they share the runs that are kept.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from app import catalogue
from app.kit import jobs
from datasets import local, remote
from datasets.images import Images
from engine import kept
from engine.spec import SpecError
from lessons.families.digit_posteriors import sources
from tests.quick import quick_pages

SLUGS = frozenset(entry.slug for entry in catalogue.PAGES)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Name the lesson of each test: for `--dist loadgroup`."""
    for item in items:
        given = getattr(item, "callspec", None)
        own = item.path.stem.removeprefix("test_").replace("_", "-")
        slug = own if given is None or "slug" not in given.params else given.params["slug"]
        if slug in SLUGS:
            item.add_marker(pytest.mark.xdist_group(slug))


without_a_browser = pytest.fixture(scope="session", autouse=True)(quick_pages)


@pytest.fixture(scope="module", autouse=True)
def no_job_outlives_its_test() -> Iterator[None]:
    """Stop what the pages started."""
    yield
    jobs.pool().stop_all()


@pytest.fixture
def few_of_mnist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Images:
    """160 made-up images of 28 × 28 in four IDX files, where MNIST would be: as there, some pixels are never inked. Nothing
    is trained yet, nothing on disk."""
    rng = np.random.default_rng(1)
    y = (np.arange(160) % 10).astype(np.uint8)
    base = rng.random((10, 28, 28))
    x = (255 * np.clip(base[y] + 0.6 * rng.standard_normal((160, 28, 28)), 0.0, 1.0)).astype(np.uint8)
    x[:, 0] = 0  # the top row
    folder = tmp_path / "data" / "mnist"
    folder.mkdir(parents=True)
    for name, values in {
        "train-images-idx3-ubyte": x[:120],
        "train-labels-idx1-ubyte": y[:120],
        "t10k-images-idx3-ubyte": x[120:],
        "t10k-labels-idx1-ubyte": y[120:],
    }.items():
        (folder / f"{name}.gz").write_bytes(gzip.compress(_idx(values)))
    _elsewhere(tmp_path, monkeypatch)
    return local.images("mnist")


@pytest.fixture
def no_mnist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """MNIST is not here and cannot be fetched; what was asked for is in the list."""
    asked: list[str] = []

    def offline(name: str, **_: object) -> Images:
        asked.append(name)
        raise SpecError("data", "MNIST could not be downloaded (no network)")

    (tmp_path / "data").mkdir()
    monkeypatch.setattr(remote, "download", offline)
    monkeypatch.setattr(sources, "_failed", {})
    _elsewhere(tmp_path, monkeypatch)
    return asked


def _elsewhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATA", "DOWNLOADS", "STATE"):
        monkeypatch.setenv(f"POSTERIOR_LAB_{name}", str(folder / name.lower()))
    monkeypatch.setattr(kept, "store", kept.Store(100_000_000))


def _idx(values: np.ndarray) -> bytes:
    return bytes([0, 0, 8, values.ndim]) + b"".join(size.to_bytes(4, "big") for size in values.shape) + values.tobytes()
