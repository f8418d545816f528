"""What can be set from outside, all of it: variables of the environment named `POSTERIOR_LAB_…`, in one table.

Whoever needs one asks `value(name)`. A server looks at all of them when it starts (`problems`), so that a misspelt name
or a value that means nothing is told there and then, and not in the middle of a lesson.
"""

from __future__ import annotations

import contextlib
import difflib
import logging
import math
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PREFIX = "POSTERIOR_LAB_"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Setting:
    """One variable: its name without the prefix, what counts where it is not set, and what it means.

    `check` says what is wrong with a value, or nothing.
    """

    name: str
    default: str
    meaning: str
    check: Callable[[str], str] = lambda text: ""

    @property
    def variable(self) -> str:
        """As the environment has it."""
        return PREFIX + self.name


def _megabytes(text: str) -> str:
    return "" if re.fullmatch(r"\d+(\.\d+)?", text) and float(text) > 0 else "is no number of megabytes above 0"


def _folder(text: str) -> str:
    return "is a file, not a folder" if Path(text).exists() and not Path(text).is_dir() else ""


def _there(text: str) -> str:
    return "" if Path(text).is_dir() else "is no folder that is there"


def _address(text: str) -> str:
    good = re.fullmatch(r"(tcp|tls)://[^\s/:]+(:[^\s/:]+)*:\d{1,5}", text)
    return "" if good else "is no address of a scheduler, such as tcp://host:8786"


def _one_of(*words: str) -> Callable[[str], str]:
    return lambda text: "" if text in words else f"is none of {', '.join(words)}"


def _origins(text: str) -> str:
    wrong = [word for word in text.split() if not re.fullmatch(r"\*|none|self|https?://[\w.*-]+(:\d+)?", word)]
    return f"has “{wrong[0]}”, which is none of *, none, self, https://host" if wrong or not text.split() else ""


def _whole(text: str) -> str:
    return "" if re.fullmatch(r"-?\d+", text) else "is no whole number"


SETTINGS = (
    Setting("CACHE", "the user's cache folder", "where compiled kernels are kept, at most 500 MB", _folder),
    # with 300 a server of all pages and thirty readers takes less than 900 MB
    Setting("MEMORY", "300", "megabytes that results may take in memory, for all readers together", _megabytes),
    Setting("DISK", "500", "megabytes that the lessons' trained networks may take on disk, in the folder of STATE", _megabytes),
    Setting("DATA", "none", "a folder with data sets that are not bundled: MNIST, Boston housing, credit default", _there),
    Setting("DOWNLOADS", "the user's cache folder", "where data sets are kept that a reader has asked to be fetched", _folder),
    Setting(
        "STATE",
        "the user's cache folder",
        "where runs of the papers' experiments are kept until they are whole, and the lessons' trained networks",
        _folder,
    ),
    Setting("DASK", "none", "the scheduler of a Dask cluster, tcp://host:8786, that checks and slices of long runs go to", _address),
    Setting("EMBED", "*", "pages that may show this one in a frame: *, none, self, or origins like https://moodle.org", _origins),
    Setting(
        "METRICS", "local", "who may read /metrics: local (from here, not through a proxy), all, none", _one_of("local", "all", "none")
    ),
    Setting("LOG", "text", "how the log is written: text, or json with a line an event", _one_of("text", "json")),
    Setting("SEED_SHIFT", "none", "for the tests: a whole number that gives every run other random numbers", _whole),
)
_BY_NAME = {setting.name: setting for setting in SETTINGS}


def value(name: str, environment: Mapping[str, str] | None = None) -> str | None:
    """What is set for `name`, without spaces around it; None where nothing is. Raises KeyError for a name that is not in
    the table."""
    given = (os.environ if environment is None else environment).get(_BY_NAME[name].variable, "").strip()
    return given or None


def megabytes(name: str) -> float:
    """What is set for `name` in megabytes; its default where nothing is, or where the log says that it is no number."""
    setting, given = _BY_NAME[name], value(name)
    with contextlib.suppress(ValueError):
        if given is not None and 0.0 < (found := float(given)) < math.inf:
            return found
    if given is not None:
        log.warning("%s=%s is no number of megabytes above 0: %s MB count", setting.variable, given, setting.default)
    return float(setting.default)


def problems(environment: Mapping[str, str] | None = None) -> list[str]:
    """What is wrong with the variables of an environment, a sentence each; empty where nothing is."""
    environment = os.environ if environment is None else environment
    found = []
    for variable in sorted(environment):
        if not variable.startswith(PREFIX):
            continue
        setting = _BY_NAME.get(variable.removeprefix(PREFIX))
        if setting is None:
            near = difflib.get_close_matches(variable, [each.variable for each in SETTINGS], 1)
            hint = f"did you mean {near[0]}?" if near else "known are " + ", ".join(each.variable for each in SETTINGS)
            found.append(f"{variable} is no setting of Posterior Lab; {hint}")
        elif (given := value(setting.name, environment)) and (wrong := setting.check(given)):
            found.append(f"{variable}={given} {wrong}: {setting.meaning}")
    return found


def table() -> str:
    """All settings as a table in Markdown."""
    rows = [f"| `{each.variable}` | {each.default} | {each.meaning} |" for each in SETTINGS]
    return "\n".join(["| variable | without it | what it means |", "|---|---|---|", *rows])


def main(arguments: Sequence[str] = ()) -> int:
    """Print all settings, then what is wrong with those that are set; the exit status."""
    print(table())
    wrong = problems()
    print(*(f"{line}." for line in wrong), sep="\n", end="\n" * bool(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
