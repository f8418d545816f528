"""Reads the draws of an ArviZ NetCDF file (InferenceData or DataTree) from standard input, in a process of its own.

Writes an NPZ to standard output: arrays (chains, draws, ...) under "array/name", and what else is to be told. A file
that is refused ends with status 3 and the reason. Nothing of the file is followed out of it: HDF5 can point to other
files on the disk.
"""

from __future__ import annotations

import io
import json
import sys
from typing import Any

CPU_SECONDS, MEMORY = 4, 2 * 2**30
STATS = ("lp", "diverging", "energy", "step_size", "tree_depth", "acceptance_rate")
REFUSED = 3


class Refused(Exception):
    """The file is not read; the reason."""


def main(limits: dict[str, int]) -> None:
    """Read, and write what was found."""
    import h5netcdf
    import h5py
    import numpy as np

    content = sys.stdin.buffer.read()
    with h5py.File(io.BytesIO(content), "r") as raw:
        _vet(raw, limits)
    arrays, labels = {}, {}
    with h5netcdf.File(io.BytesIO(content), "r", decode_vlen_strings=True) as file:
        if "posterior" not in file.groups:
            raise Refused(f"has no group “posterior”; its groups are {', '.join(file.groups) or 'none'}")
        group = file.groups["posterior"]
        for name, variable in group.variables.items():
            if variable.dimensions[:2] == ("chain", "draw"):
                arrays[name] = np.asarray(variable[...])
                labels[name] = _labels(name, variable, group)
            elif set(variable.dimensions) >= {"chain", "draw"}:
                raise Refused(f"{name} has the dimensions {variable.dimensions}: chain and draw must come first")
        if not arrays:
            raise Refused("its group “posterior” has no variable with the dimensions chain and draw")
        odd = next((name for name, array in arrays.items() if array.dtype.kind not in "fiub"), None)
        if odd is not None:
            raise Refused(f"{odd} holds values of type {arrays[odd].dtype}, not numbers")
        for name, variable in file.groups["sample_stats"].variables.items() if "sample_stats" in file.groups else ():
            if name in STATS and variable.dimensions == ("chain", "draw"):
                arrays[name] = np.asarray(variable[...])
        warm = file.groups.get("warmup_posterior")
        told = {
            "labels": labels,
            "by": " ".join(str(group.attrs[key]) for key in ("inference_library", "inference_library_version") if key in group.attrs),
            "warmup": warm.dimensions["draw"].size if warm is not None and "draw" in warm.dimensions else 0,
        }
    packed: dict[str, Any] = {"told": json.dumps(told), **{f"array/{name}": array for name, array in arrays.items()}}
    np.savez(sys.stdout.buffer, **packed)


def _vet(raw: Any, limits: dict[str, int]) -> None:
    """Refuse links to other files, and more values than are read, before any is."""
    import h5py
    import numpy as np

    total = 0
    groups = [raw]
    seen = 0
    while groups:
        group = groups.pop()
        for name in group:
            seen += 1
            if seen > 20 * limits["names"]:
                raise Refused(f"holds more than {20 * limits['names']:,} variables")
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise Refused(f"{name} is a link to another place, which is not followed")
            part = group[name]
            if isinstance(part, h5py.Group):
                groups.append(part)
                continue
            if not isinstance(part, h5py.Dataset):
                continue
            if part.is_virtual or part.external:
                raise Refused(f"{name} keeps its values in another file, which is not read")
            if part.chunks and int(np.prod(part.chunks, dtype=object)) * part.dtype.itemsize > 4 * limits["bytes"]:
                raise Refused(f"{name} is packed in pieces larger than are unpacked")
            if group.name in ("/posterior", "/sample_stats"):
                total += int(part.size or 0)
                if total > limits["values"]:
                    raise Refused(f"holds more than the {limits['values']:,} numbers that are read")
                if part.nbytes > 4 * limits["bytes"]:  # what was never written takes no room in the file
                    raise Refused(f"{name} holds {part.nbytes / 1e6:,.0f} MB, more than are read")


def _labels(name: str, variable: Any, group: Any) -> list[str]:
    """theta[Choate], with the coordinates that the file has, or counted from 1 as the other formats are."""
    import numpy as np

    axes = []
    for dimension, size in zip(variable.dimensions[2:], variable.shape[2:], strict=True):
        found = group.variables.get(dimension)
        values = np.asarray(found[...]) if found is not None and found.shape == (size,) else np.arange(size)
        if values.dtype.kind in "iu" and list(values) == list(range(size)):
            values = values + 1
        axes.append([value.decode() if isinstance(value, bytes) else str(value) for value in values.tolist()])
    if not axes:
        return [name]
    return [f"{name}[{','.join(axis[i] for axis, i in zip(axes, at, strict=True))}]" for at in np.ndindex(*map(len, axes))]


if __name__ == "__main__":
    sys.path.pop(0)  # the folder of this file: its modules have the names of others
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    except ImportError:  # not on Windows
        pass
    try:
        main(json.loads(sys.argv[1]))
    except Refused as refusal:
        sys.stderr.write(str(refusal))
        sys.exit(REFUSED)
