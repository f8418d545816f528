"""Chains that somebody else drew, from the files that samplers write.

Read are CmdStan's CSV (a file a chain), ArviZ's NetCDF (also what PyMC and NumPyro give through it), NumPy's NPY and
NPZ of shape (chains, draws, dim), plain CSV with a column `chain`, draws as posteriordb keeps them (JSON, a dictionary
a chain), and a ZIP of several. Limits are counted before anything is read; what does not fit raises SpecError, which
says where.
"""

from __future__ import annotations

import io
import json
import math
import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from datasets import chains_text
from datasets.card import Card
from engine.spec import SpecError

Array = NDArray[np.float64]

MOST_BYTES = 40_000_000  # of a file, and of all members of an archive once unpacked
MOST_MEMBERS = 64
MOST_CHAINS = 64
MOST_DRAWS = 100_000  # of each chain
MOST_NAMES = 1_000  # quantities
MOST_VALUES = 4_000_000
MOST_JSON = 15_000_000  # bytes: what a second reads
FEWEST_DRAWS = 20  # of each chain
SECONDS = 10  # of the clock, that a NetCDF file may take; its reader allows itself less of the processor

_ZIP, _NPY, _HDF5 = b"PK\x03\x04", b"\x93NUMPY", b"\x89HDF\r\n\x1a\n"


@dataclass(frozen=True, eq=False)
class Chains:
    """Draws of several chains, and what the sampler said of them.

    names : (q,) ; draws : (chains, draws, q), may hold NaN and infinities
    stats : (chains, draws) by name, those of `chains_text.STATS` that the file has
    warmup : draws of each chain that the file calls warm-up; they are left out
    notes : sentences: what was left out, what looks odd
    where : (chains,) of each chain the file, and of each draw its line: empty where there are no lines
    """

    names: tuple[str, ...]
    draws: Array
    stats: Mapping[str, Array]
    warmup: int
    notes: tuple[str, ...]
    card: Card
    where: tuple[tuple[str, NDArray[np.int64]], ...] = ()

    def place(self, chain: int, draw: int) -> str:
        """Where a draw stands, in words; both counted from 0."""
        words = f"chain {chain + 1}, draw {draw + 1}"
        if self.where and len(self.where[chain][1]):
            words += f" ({self.where[chain][0]}, line {self.where[chain][1][draw]})"
        return words

    def missing(self) -> list[str]:
        """Of each quantity that holds NaN or an infinity: how many, and where the first of them stands."""
        bad = ~np.isfinite(self.draws)
        found = []
        for j in np.flatnonzero(bad.any(axis=(0, 1))):
            chain, draw = (int(i) for i in np.argwhere(bad[:, :, j])[0])
            value = self.draws[chain, draw, j]
            found.append(
                f"{self.names[j]} is {'NaN' if np.isnan(value) else 'infinite'} in {int(bad[:, :, j].sum()):,} draws, "
                f"first in {self.place(chain, draw)}."
            )
        return found


def read(files: Mapping[str, bytes]) -> Chains:
    """The chains in some files, by name. Several files are chains of one run, in the order of their names.

    Raises SpecError naming what is wrong, where, and what would be right.
    """
    files = unpacked(files)
    parts = [(name, files[name]) for name in sorted(files, key=_natural)]
    kinds = {kind_of(name, content) for name, content in parts}
    if len(kinds) > 1:
        raise SpecError("file", f"the files are of several kinds ({', '.join(sorted(kinds))}): give those of one run")
    kind = kinds.pop()
    if kind == "text":
        found = _from_text(parts)
    elif len(parts) > 1 and kind != "NumPy":
        raise SpecError("file", f"{len(parts)} {kind} files were given, and each is a run of its own: give one")
    else:
        reader = {"NumPy": _from_npy, "NPZ": _from_npz, "NetCDF": _from_netcdf, "JSON": _from_json}[kind]
        found = reader(parts)
    return _checked(found)


def pack(files: Mapping[str, bytes]) -> tuple[str, bytes]:
    """One file of several, to be held as one: itself, or a ZIP of them; (name, content). Same files, same bytes."""
    if len(files) == 1:
        return next(iter(files.items()))
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files, key=_natural):
            archive.writestr(zipfile.ZipInfo(name), files[name])
    return f"{len(files)} files.zip", held.getvalue()


def unpacked(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files themselves, those of archives in the place of archives. Raises SpecError."""
    if not files:
        raise SpecError("file", "none was given")
    found: dict[str, bytes] = {}
    for name, content in files.items():
        if not content:
            raise SpecError("file", f"{name} is empty")
        found |= _members(name, content) if kind_of(name, content) == "ZIP" else {name: content}
    if not found:
        raise SpecError("file", f"{', '.join(files)} holds no files")
    if len(found) > MOST_MEMBERS:
        raise SpecError("file", f"{len(found)} files are more than the {MOST_MEMBERS} allowed")
    if sum(map(len, found.values())) > MOST_BYTES:
        raise SpecError("file", f"larger than {MOST_BYTES / 1e6:.0f} MB together, once unpacked")
    return found


def kind_of(name: str, content: bytes) -> str:
    """What a file is, by how it begins."""
    if content.startswith(_HDF5):
        return "NetCDF"
    if content.startswith(_NPY):
        return "NumPy"
    if content.startswith(_ZIP):
        return "NPZ" if name.lower().endswith(".npz") else "ZIP"
    if content.startswith((b"CDF\x01", b"CDF\x02", b"CDF\x05")):
        raise SpecError("file", f"{name} is NetCDF of an older form without groups: write it with ArviZ, as NetCDF 4")
    return "JSON" if content[:64].lstrip()[:1] in (b"[", b"{") else "text"


def _natural(name: str) -> list[tuple[int, str]]:
    """Order of names in which 10 comes after 9."""
    parts = [part.lstrip("0") if part.isdecimal() else part for part in re.split(r"(\d+)", name)]
    return [(len(part) if j % 2 else -1, part) for j, part in enumerate(parts)]  # every second one is a number


def _archive(name: str, content: bytes) -> tuple[zipfile.ZipFile, list[zipfile.ZipInfo]]:
    """An archive whose members may be read: their number and sizes fit. Raises SpecError."""
    if content.count(b"PK\x01\x02") > MOST_MEMBERS:  # each entry of the directory begins so
        raise SpecError("file", f"{name} holds more than the {MOST_MEMBERS} files allowed")
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, ValueError, OSError):
        raise SpecError("file", f"{name} is not a whole ZIP file: broken or cut off") from None
    members = [member for member in archive.infolist() if not member.is_dir()]
    held = sum(member.file_size for member in members)
    if held > MOST_BYTES:
        raise SpecError("file", f"{name} holds {held / 1e6:,.0f} MB once unpacked, more than {MOST_BYTES / 1e6:.0f} MB")
    if any(member.flag_bits & 1 for member in members):
        raise SpecError("file", f"{name} is locked with a password: pack it again without")
    if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in members):
        raise SpecError("file", f"{name} is packed in an unusual way: pack it again as plain ZIP")
    return archive, members


def _members(name: str, content: bytes) -> dict[str, bytes]:
    archive, members = _archive(name, content)
    found = {}
    for member in members:
        base = member.filename.rsplit("/", 1)[-1]
        if member.filename.startswith("__MACOSX/") or base.startswith("."):
            continue  # what a Mac adds
        try:
            found[member.filename] = archive.read(member)
        except Exception:  # a forged member fails in many ways
            raise SpecError("file", f"{member.filename} in {name} cannot be unpacked: broken or cut off") from None
        if kind_of(base, found[member.filename]) in ("ZIP", "NPZ") and base.lower().endswith(".zip"):
            raise SpecError("file", f"{name} holds another archive, {base}: give the files themselves")
    return found


# Each kind of file ----------------------------------------------------------------------------------------------------


def _from_text(parts: Sequence[tuple[str, bytes]]) -> Chains:
    """CmdStan's CSV, or plain CSV."""
    _counted([(name, content.count(b"\n"), content.count(b",")) for name, content in parts])
    read_files = [chains_text.read(name, content) for name, content in parts]
    chains = [chain for file in read_files for chain in chains_text.split(file, MOST_CHAINS)]
    first = read_files[0]
    for file in read_files[1:]:
        if file.names != first.names:
            wrong = next(iter(set(file.names) ^ set(first.names)), "their order")
            raise SpecError("file", f"{file.file} and {first.file} have different columns (“{wrong}”): give the files of one run")
    notes = [note for file in read_files for note in file.notes]
    shortest = min(len(chain.values) for chain in chains)
    if any(len(chain.values) != shortest for chain in chains):
        longest = max(len(chain.values) for chain in chains)
        notes.append(f"The chains have {shortest:,} to {longest:,} draws: the first {shortest:,} of each are used.")
    values = np.stack([chain.values[:shortest] for chain in chains])
    stats = {name: values[:, :, j] for name, j in first.stats.items()}
    kept = [j for j in range(len(first.names)) if j not in first.stats.values() and j not in first.counters]
    names = tuple(first.names[j] for j in kept)
    where = tuple((chain.file, chain.lines[:shortest]) for chain in chains)
    card = _card(first.kind, parts, f"{first.note}" if first.note else "")
    return Chains(names, np.ascontiguousarray(values[:, :, kept]), stats, first.warmup, tuple(notes), card, where)


def _from_npy(parts: Sequence[tuple[str, bytes]]) -> Chains:
    arrays = {name: _npy(name, content) for name, content in parts}
    if len(arrays) == 1:
        (array,) = arrays.values()
        return _arrays("NumPy", parts, {"x": array})
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) > 1 or any(array.ndim > 2 for array in arrays.values()):
        raise SpecError("file", f"several NPY files are chains of one run, each (draws, dim); their shapes are {sorted(shapes)}")
    return _arrays("NumPy", parts, {"x": np.stack(list(arrays.values()))})


def _from_npz(parts: Sequence[tuple[str, bytes]]) -> Chains:
    ((name, content),) = parts
    arrays = {}
    archive, members = _archive(name, content)
    for member in members:
        key = member.filename.removesuffix(".npy")
        try:
            arrays[key] = _npy(f"{key} in {name}", archive.read(member))
        except SpecError:
            raise
        except Exception:
            raise SpecError("file", f"{key} in {name} cannot be unpacked: broken or cut off") from None
    return _arrays("NPZ", parts, arrays)


def _npy(name: str, content: bytes) -> NDArray:
    """A plain array of numbers, whose size is looked at before it is read."""
    held = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(held)
        head = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = head(held)
    except Exception:
        raise SpecError("file", f"{name} is not an array that NumPy wrote: broken or cut off") from None
    if dtype.hasobject or dtype.kind not in "fiub":
        raise SpecError("file", f"{name} holds values of type {dtype}, not plain numbers")
    size = int(np.prod([int(n) for n in shape], dtype=object))
    if size > MOST_VALUES:
        raise SpecError("file", f"{name} holds {size:,} numbers: at most {MOST_VALUES:,} are read")
    try:
        return np.load(io.BytesIO(content), allow_pickle=False)
    except Exception:
        raise SpecError("file", f"{name} promises the shape {shape} and is cut off") from None


_STAT_KEYS: dict[str, tuple[str, ...]] = {
    "log density": ("lp", "lp__", "log_density"),
    "divergent": ("diverging", "divergent", "divergent__"),
}
_STAT_KEYS |= {"energy": ("energy", "energy__"), "step size": ("step_size", "stepsize__")}
_STAT_KEYS |= {"tree depth": ("tree_depth", "treedepth__"), "acceptance": ("acceptance_rate", "accept_stat__")}


def _arrays(
    kind: str, parts: Sequence[tuple[str, bytes]], arrays: Mapping[str, NDArray], labels: Mapping[str, Sequence[str]] = {}
) -> Chains:
    """Arrays (chains, draws, ...) by name; those named as statistics of a sampler are taken for them."""
    if not arrays:
        raise SpecError("file", f"{parts[0][0]} holds no arrays")
    shapes = {name: array.shape for name, array in arrays.items()}
    for name, shape in shapes.items():
        if len(shape) < 2:
            raise SpecError("file", f"{name} has the shape {shape}: (chains, draws) or (chains, draws, dim) is read")
    first = next(iter(shapes.values()))[:2]
    odd = next((name for name, shape in shapes.items() if shape[:2] != first), None)
    if odd is not None:
        raise SpecError("file", f"{odd} begins with {shapes[odd][:2]}, not with {first}: chains and draws must be those of the others")
    stats: dict[str, NDArray] = {}
    names: list[str] = []
    columns: list[NDArray] = []
    for name, array in arrays.items():
        if name.lower() in chains_text.COUNTERS and array.ndim == 2:
            continue
        known = next((stat for stat, keys in _STAT_KEYS.items() if name in keys), None)
        if known is not None and array.ndim == 2:
            stats[known] = array.astype(np.float64)
            continue
        flat = array.reshape(*first, math.prod(array.shape[2:])).astype(np.float64)
        columns.append(flat)
        names += (labels or {}).get(name) or [
            f"{name}[{','.join(str(i + 1) for i in at)}]" if at else name for at in np.ndindex(array.shape[2:])
        ]
    if not columns:
        raise SpecError("file", f"{parts[0][0]} holds statistics of a sampler, and no draws")
    return Chains(tuple(names), np.concatenate(columns, axis=2), stats, 0, (), _card(kind, parts, ""))


def _from_netcdf(parts: Sequence[tuple[str, bytes]]) -> Chains:
    """Through a process of its own: a forged file can bring the HDF5 library down."""
    ((name, content),) = parts
    limits = {"values": MOST_VALUES, "names": MOST_NAMES, "bytes": MOST_BYTES}
    reader = [sys.executable, str(Path(__file__).with_name("netcdf.py")), json.dumps(limits)]
    try:
        done = subprocess.run(reader, input=content, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise SpecError("file", f"reading {name} takes more than {SECONDS} s") from None
    if done.returncode == 3:
        raise SpecError("file", f"{name}: {done.stderr.decode('utf-8', 'replace').strip()}")
    if done.returncode:
        raise SpecError("file", f"{name} cannot be read as NetCDF: broken or cut off")
    with np.load(io.BytesIO(done.stdout), allow_pickle=False) as found:
        arrays = {key.removeprefix("array/"): found[key] for key in found.files if key.startswith("array/")}
        told = json.loads(str(found["told"]))
    made = _arrays("ArviZ NetCDF", parts, arrays, told["labels"])
    card = replace(made.card, source=f"{made.card.source}; written by {told['by']}") if told["by"] else made.card
    return replace(made, card=card, warmup=int(told["warmup"]))


def _from_json(parts: Sequence[tuple[str, bytes]]) -> Chains:
    """posteriordb's reference draws: a list with a dictionary a chain, of each quantity the list of its draws."""
    ((name, content),) = parts
    rows = parse_json(name, content)
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise SpecError("file", f"{name} is no list of chains, each with a list of draws a quantity")
    keys = list(rows[0])
    try:
        arrays = {str(key): np.array([np.asarray(row[key], dtype=np.float64) for row in rows]) for key in keys}
    except (KeyError, TypeError, ValueError, OverflowError):
        raise SpecError("file", f"{name}: its chains do not hold the same quantities and as many numbers of each") from None
    return _arrays("posteriordb JSON", parts, arrays)


def parse_json(name: str, content: bytes) -> object:
    """What a JSON file says. Raises SpecError naming line and column."""
    if len(content) > MOST_JSON:
        raise SpecError("file", f"{name} is larger than the {MOST_JSON / 1e6:.0f} MB that are read of a JSON file")
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:
        raise SpecError("file", f"{name}, line {error.lineno}, column {error.colno}: {error.msg}") from None
    except (UnicodeDecodeError, RecursionError, ValueError):
        raise SpecError("file", f"{name} is not JSON that can be read") from None


# Limits ---------------------------------------------------------------------------------------------------------------


def _counted(files: Sequence[tuple[str, int, int]]) -> None:
    """Refuse texts with too much in them, (name, lines, commas) of each, before they are read."""
    if sum(commas for _, _, commas in files) > MOST_VALUES:
        raise SpecError("file", f"more than {MOST_VALUES:,} numbers: leave quantities out, or thin the chains")
    for name, lines, _ in files:
        if lines > MOST_DRAWS * 2:
            raise SpecError("file", f"{name} has {lines:,} lines: at most {MOST_DRAWS:,} draws of a chain are read")


def _card(kind: str, parts: Sequence[tuple[str, bytes]], note: str) -> Card:
    files = parts[0][0] if len(parts) == 1 else f"{parts[0][0]} and {len(parts) - 1} more"
    return Card(files, f"{kind}{f', {note}' if note else ''}", "yours", "as the sampler wrote them")


def _checked(found: Chains) -> Chains:
    """The same chains, if they can be looked at. Raises SpecError."""
    chains, draws, q = found.draws.shape
    for count, most, what in ((chains, MOST_CHAINS, "chains"), (draws, MOST_DRAWS, "draws of each chain"), (q, MOST_NAMES, "quantities")):
        if count > most:
            raise SpecError("file", f"{count:,} {what} are more than the {most:,} allowed")
    if chains * draws * q > MOST_VALUES:
        raise SpecError("file", f"{chains * draws * q:,} numbers are more than the {MOST_VALUES:,} allowed")
    if not chains or not q:
        raise SpecError("file", f"{found.card.name} holds no {'column of draws' if chains else 'chain'}")
    if not all(name.strip() for name in found.names):
        raise SpecError("file", f"{found.card.name} holds a quantity without a name")
    if draws < FEWEST_DRAWS:
        raise SpecError("file", f"{draws} draws of each chain are too few: at least {FEWEST_DRAWS}")
    twice = next((name for name in found.names if found.names.count(name) > 1), None) if len(set(found.names)) < q else None
    if twice is not None:
        raise SpecError("file", f"two quantities are called “{twice}”")
    if chains > draws and not found.where:
        note = f"The array is read as {chains} chains of {draws} draws. If that is the wrong way round, swap its first two axes."
        return replace(found, notes=(*found.notes, note))
    return found
