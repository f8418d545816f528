"""The command `posterior-lab`: `COMMANDS` below, each a module with `main(arguments) -> exit status`."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

PROGRAM = "posterior-lab"
COMMANDS = {  # name: its module, imported when it is called, and what it does
    "open": ("app.open", "start the app and open it, or one link of it, in the browser"),
    "run": ("app.run", "make the run of a link again and write it to a file"),
    "reproduce": ("lessons.reproduce.__main__", "run the experiments of the papers again, beside what they printed"),
    "verdict": ("app.verdict", "what the three signs say of links"),
    "serve": ("app.server.front", "serve by several processes behind nginx"),
    "cluster": ("app.kit.cluster", "check: say what is wrong with a Dask cluster"),
    "settings": ("engine.settings", "the variables that can be set, and what is wrong with those that are"),
}
ENOUGH, NOT_VALID = 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command named first; its exit status, or 2 where there is none of that name."""
    name, *rest = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if name in COMMANDS:
        try:
            status = int(importlib.import_module(COMMANDS[name][0]).main(rest))
            sys.stdout.flush()
            return status
        except BrokenPipeError:  # whoever reads has had enough, as `head` has; nothing more is to be said at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return ENOUGH
    lines = [f"usage: {PROGRAM} COMMAND …", "", *(f"  {each:10} {words}" for each, (_, words) in COMMANDS.items())]
    asked = name in ("-h", "--help")
    if not asked:
        lines.insert(0, f"“{name}” is no command of {PROGRAM}.")
    print("\n".join(lines), file=sys.stdout if asked else sys.stderr)
    return 0 if asked else NOT_VALID


if __name__ == "__main__":
    sys.exit(main())
