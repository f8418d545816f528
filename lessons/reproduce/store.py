"""Results on disk: parts while an experiment runs, so that a killed run goes on; then its estimates, as JSON."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import tempfile
from pathlib import Path
from typing import Any

from datasets.remote import cache_folder
from engine import settings
from engine.spec import SpecError
from lessons.reproduce import made_of
from lessons.reproduce.experiment import FULL, WORDS, Estimate, Experiment, Outcome, Part

RESULTS = Path(__file__).with_name("results")


def state_folder() -> Path:
    """Where parts are kept: `POSTERIOR_LAB_STATE`, else beside the downloads."""
    named = settings.value("STATE")
    return Path(named) if named else cache_folder().parent / "reproduce"


def part_path(id: str, form: str, number: int) -> Path:
    """Of one part."""
    return state_folder() / id / f"{form}-{number}.json"


def write(path: Path, content: Any) -> None:
    """At once or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, ensure_ascii=False, indent=1 if path.parent == RESULTS else None)
            file.write("\n")
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def keep_part(experiment: Experiment, form: str, number: int, part: Part, seconds: float) -> None:
    """Put a part on disk, with what it hangs on and the sum of its numbers."""
    kept = {"part": part, "seconds": seconds, "made_of": made_of.stamp(experiment), "sum": _sum(part)}
    write(part_path(experiment.id, form, number), kept)


def read_part(experiment: Experiment, form: str, number: int) -> tuple[Part, float] | None:
    """A part and its seconds; None where it is not there. One that is not whole, or of other settings, is thrown away."""
    path = part_path(experiment.id, form, number)
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if (kept["made_of"], kept["sum"]) == (made_of.stamp(experiment), _sum(kept["part"])):
            return kept["part"], kept["seconds"]
    except OSError:
        return None
    except (ValueError, LookupError, TypeError):
        pass  # damaged
    path.unlink(missing_ok=True)
    return None


def _sum(part: Part) -> str:
    return hashlib.sha256(json.dumps(part).encode()).hexdigest()


def forget(id: str) -> None:
    """Throw the parts of an experiment away."""
    for path in (p for kind in ("*.json", "*.run") for p in (state_folder() / id).glob(kind)):
        path.unlink(missing_ok=True)


def versions() -> dict[str, str]:
    """Of what computes."""
    from importlib.metadata import version

    return {"python": platform.python_version(), **{name: version(name) for name in ("numpy", "numba", "scipy", "scikit-learn")}}


def keep(experiment: Experiment, form: str, outcome: Outcome, seconds: float, parts: int) -> None:
    """Write the result of an experiment, of so many parts."""
    content = {
        "id": experiment.id,
        "form": form,
        "parts": parts,
        "seeds": WORDS.phrase("command.seeds"),
        "seconds": round(seconds, 1),
        "link": experiment.link,
        "versions": versions(),
        "estimates": {key: [float(f"{number:.8g}") for number in estimate] for key, estimate in sorted(outcome.estimates.items())},
        "exact": {key: float(f"{value:.10g}") for key, value in sorted(outcome.exact.items())},
    }
    write(RESULTS / f"{experiment.id}.json", content)


def result(id: str) -> dict[str, Any] | None:
    """What is kept of an experiment, None where it has not run."""
    path = RESULTS / f"{id}.json"
    if not path.is_file():
        return None
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if content.get("form") not in ("quick", FULL):
        raise SpecError("results", f"{path.name} has no form")
    return content


def outcome(id: str) -> Outcome | None:
    """What an experiment came to when it was run."""
    content = result(id)
    if content is None:
        return None
    return Outcome({key: Estimate(*numbers) for key, numbers in content["estimates"].items()}, content["exact"])


def with_variants(experiment: Experiment, found: Outcome) -> Outcome:
    """What it came to, here or when it was run, beside what its variants came to that have run."""
    estimates = dict(found.estimates)
    for name, id in experiment.variants.items():
        other = outcome(id)
        if other is not None:
            estimates |= {f"{key}, {name}": estimate for key, estimate in other.estimates.items()}
    return found._replace(estimates=estimates)
