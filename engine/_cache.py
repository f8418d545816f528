"""Where compiled kernels are kept between processes, and when one that is kept still holds.

A kernel is kept under a stamp of what it is made of (`engine._sources`), the versions of the compiler and the CPU, in a
file of its own for each signature. So an edit compiles what it can change and nothing else, and processes that fill
the folder at the same time do not disturb each other.

What is kept is code that will run. It is read only from files that nobody but this user (or root) can have written, and
only if they are whole; anything else is thrown away and compiled anew.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import hashlib
import json
import logging
import os
import pickle
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from uuid import uuid4

import llvmlite
import llvmlite.binding
import numba
import numpy as np
from numba import types
from numba.core import caching
from numba.core.serialize import dumps
from numba.core.typing import Signature

from engine._sources import Sources

log = logging.getLogger(__name__)

SOURCES = Path(__file__).parent
BUDGET = 500e6  # bytes kept on disk; those that were not used for longest go first
LARGE = 2_000_000  # bytes of a large kernel
DAY = 86400.0  # s
SUM = hashlib.sha256().digest_size


# What a kernel is made of.


class Snapshot:
    """The engine's sources as they were when this process began."""

    def __init__(self) -> None:
        self._states: dict[Path, tuple[int, int]] = {}
        self.modules: dict[str, bytes] = {}
        self._whole = True
        for path in sorted(SOURCES.rglob("*.py")):
            name = ".".join(path.relative_to(SOURCES.parent).with_suffix("").parts).removesuffix(".__init__")
            self._states[path] = _state(path)
            self.modules[name] = path.read_bytes()

    def holds(self, *paths: Path) -> bool:
        """Whether these files (none named: all) are what they were. Once they were not, they never are again: what is
        in memory is then a mixture."""
        self._whole = self._whole and all(_state(p) == self._states.get(p) for p in paths or self._states)
        return self._whole

    def stamp(self, module: str, name: str, path: Path) -> str:
        """What the function `name` is made of, as a hash. A file that is not the engine's counts as a whole."""
        if module in self.modules:
            if not self.holds(path):
                return uuid4().hex
            return self.known.get(f"{module}:{name}") or Sources(self.modules).stamp((module, ""))
        return Sources({**self.modules, "": path.read_bytes()}).stamp(("", ""))

    @cached_property
    def known(self) -> dict[str, str]:
        """The stamps of this state of the sources. To search for them takes most of a second, so they are kept."""
        digest = hashlib.sha256(versions().encode())
        for name, text in self.modules.items():
            digest.update(f"\n{name} {len(text)}\n".encode() + text)
        path = CACHE_DIR / f"stamps-{digest.hexdigest()[:32]}.json"
        kept = read(path)
        if kept is not None:
            return json.loads(kept)
        stamps = Sources(self.modules).stamps()
        write(path, json.dumps(stamps).encode())
        return stamps


@contextlib.contextmanager
def filling() -> Iterator[None]:
    """One process at a time fills the cache: who comes second waits, and finds it full."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # nothing can be written: nothing will be kept either
            lock = stack.enter_context((CACHE_DIR.parent / "filling").open("ab"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def is_full() -> bool:
    """Whether all kernels, as they are made now, have been compiled here."""
    return read(_note()) is not None


def note_full() -> None:
    """Note that all kernels have been compiled."""
    if SNAPSHOT.holds():
        write(_note(), b"full")


def _note() -> Path:
    made_of = {**SNAPSHOT.known, "all": SNAPSHOT.modules["engine.warm"].decode()}
    digest = hashlib.sha256(f"{versions()} {sorted(made_of.items())}".encode())
    return CACHE_DIR / f"full-{digest.hexdigest()[:32]}"


def _state(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


@cache
def cpu() -> str:
    """The kind of CPU that kernels are compiled for."""
    return os.environ.get("NUMBA_CPU_NAME") or llvmlite.binding.get_host_cpu_name()


def versions() -> str:
    """What compiles: the versions and the CPU."""
    return f"{sys.version_info[:2]} {numba.__version__} {llvmlite.__version__} {np.__version__} {cpu()}"


class Locator(caching._CacheLocator):
    """Tells numba where a function is kept and what it is made of."""

    def __init__(self, function: Callable[..., Any], path: Path) -> None:
        self._py_file = str(path)  # numba names it in a warning
        module, name = function.__module__, function.__qualname__.split(".")[0]
        self._stamp = SNAPSHOT.stamp(module, name, path)
        self._name = hashlib.sha256(module.encode()).hexdigest()[:8]

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> Locator | None:
        """A locator for a function of a file, None for one that was typed at a prompt."""
        return cls(py_func, Path(py_file)) if os.path.isfile(py_file) else None

    def get_cache_path(self) -> str:
        """The folder."""
        return str(CACHE_DIR)

    def get_source_stamp(self) -> str:
        """A hash of what the function is made of and of what compiles it."""
        return f"{self._stamp} {versions()}"

    def get_disambiguator(self) -> str:
        """Tells apart functions of one name in files of one name. Not the line: that changes when nothing does."""
        return self._name

    def ensure_cache_path(self) -> None:
        """Nothing: a folder that cannot be written is no error."""


def _layout(kind: Any) -> str:
    """A type as text. Of a named tuple its fields, too: kernels find them by place, numba tells only types apart."""
    if isinstance(kind, Signature):
        return f"{_layout(kind.args)} -> {_layout(kind.return_type)}"
    if isinstance(kind, (types.NamedTuple, types.NamedUniTuple)):
        home = kind.instance_class
        return f"{home.__module__}.{home.__qualname__} {kind.fields} {_layout(tuple(kind))}"
    if isinstance(kind, (types.Tuple, types.UniTuple)):
        return _layout(tuple(kind))
    return f"({', '.join(map(_layout, kind))})" if isinstance(kind, tuple) else str(kind)


class Files:
    """The kept versions of one function: what numba asks of its own index and data files."""

    def __init__(self, cache_path: str, filename_base: str, source_stamp: str) -> None:
        self._folder = Path(cache_path)
        self._base = filename_base
        self._stamp = source_stamp

    def load(self, key: tuple[Any, ...]) -> Any:
        """The version for `key`, None if there is none."""
        kept = read(self._path(key))
        return None if kept is None else pickle.loads(kept)

    def save(self, key: tuple[Any, ...], data: Any) -> None:
        """Keep a version, if the sources are still what its stamp says."""
        if SNAPSHOT.holds():
            write(self._path(key), dumps(data))

    def flush(self) -> None:
        """Throw all versions away, those of other stamps too."""
        for path in self._folder.glob(f"{self._base}-*"):
            path.unlink(missing_ok=True)

    def _path(self, key: tuple[Any, ...]) -> Path:
        signature, *rest = key
        text = f"{_layout(signature)} {rest} {self._stamp}"
        return self._folder / f"{self._base}-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


# Files that can be trusted.


def read(path: Path) -> bytes | None:
    """What was kept at `path`, None if nothing is. What is not whole or could be another's is thrown away."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            found = os.fstat(file.fileno())
            content = file.read() if _ours(found) else b""
    except FileNotFoundError:
        return None
    except OSError:
        found, content = None, b""
    if hashlib.sha256(content[SUM:]).digest() != content[:SUM]:
        with contextlib.suppress(OSError):
            path.unlink()
        return None
    if found is not None and abs(time.time() - found.st_mtime) > DAY:  # ahead, too: the clock may have been wrong
        with contextlib.suppress(OSError):
            os.utime(path)  # for `prune`
    return content[SUM:]


def write(path: Path, content: bytes) -> None:
    """Keep `content` at `path`, all of it or nothing. Where that cannot be done it is said once, and work goes on."""
    try:
        prune()
        handle, name = tempfile.mkstemp(prefix="new-", dir=path.parent)
        try:
            with open(handle, "wb") as file:
                file.write(hashlib.sha256(content).digest() + content)
                os.fchmod(file.fileno(), 0o644)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as problem:
        _say(f"Compiled kernels cannot be kept ({problem.strerror}), so every process compiles its own: {path.parent}")


def has_room() -> bool:
    """Whether a kernel could be kept now."""
    try:
        with tempfile.TemporaryFile(dir=CACHE_DIR) as file:
            file.write(bytes(LARGE))
    except OSError:
        return False
    return True


@cache
def prune() -> None:
    """Once a process, when it first keeps something: remove what was not used for longest until `BUDGET` holds."""
    used = 0
    with os.scandir(CACHE_DIR) as entries:
        files = [(entry.stat(follow_symlinks=False), entry.path) for entry in entries]
    for found, path in sorted(files, key=lambda file: -file[0].st_mtime):
        used += found.st_size
        if used > BUDGET:
            with contextlib.suppress(OSError):
                os.unlink(path)


@cache
def _say(text: str) -> None:
    log.warning(text)


def _ours(found: os.stat_result) -> bool:
    """Whether nobody but this user, or root, can have written it."""
    return found.st_uid in (os.getuid(), 0) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


# The folder.


def _objection(home: Path, directory: Path) -> str:
    """Why `directory`, which stands in `home`, is not to be trusted; "" if it is.

    A group may write in `home`, as is usual in some systems: the folder in it is not theirs, nor are the files.
    """
    for path in (home, directory):
        if path.lstat().st_uid not in (os.getuid(), 0):
            return f"{path} belongs to another user"
    found = home.stat()
    if found.st_uid not in (os.getuid(), 0) or (found.st_mode & (stat.S_IWOTH | stat.S_ISVTX)) == stat.S_IWOTH:
        return f"others can write in {home}"
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or not _ours(found):
        return f"{directory} is a link, or others can write in it"
    if not os.access(directory, os.W_OK) and not any(directory.iterdir()):
        return f"{directory} is empty and cannot be written"
    return ""


def prepare() -> Path:
    """The folder in which kernels are kept: in `POSTERIOR_LAB_CACHE`, else in the user's cache folder; a new one, for
    this process and its children, where neither can be used."""
    wanted = os.environ.get("POSTERIOR_LAB_CACHE")
    home = Path(wanted) if wanted else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "posterior-lab"
    directory = home / "kernels"
    try:
        home.mkdir(mode=0o755, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            directory.mkdir(mode=0o755)
        objection = _objection(home, directory)
    except OSError as problem:
        objection = f"{directory} cannot be used ({problem.strerror})"
    if not objection:
        return directory
    try:
        fresh = tempfile.mkdtemp(prefix="posterior-lab-")
    except OSError:
        log.warning("Compiled kernels cannot be kept: %s, nor is there a temporary folder", objection)
        return Path(os.devnull)
    log.warning("Compiled kernels are kept in %s while this process runs: %s", fresh, objection)
    os.environ["POSTERIOR_LAB_CACHE"] = fresh
    atexit.register(shutil.rmtree, fresh, ignore_errors=True)
    return prepare()


def install() -> None:
    """Let numba keep kernels this way, before the first of them is defined: it does not notice that a function called from
    another file has changed, so each is kept by all that it is made of.
    """
    numba.config.CACHE_LOCATOR_CLASSES = f"{__name__}.{Locator.__name__}"  # type: ignore[attr-defined]
    # Beyond the hook, for numba unpickles whatever its own files hold.
    caching.IndexDataCacheFile = Files  # type: ignore[misc, assignment]


CACHE_DIR = prepare()
SNAPSHOT = Snapshot()
