"""A run as a reader takes it home: its named arrays, their hash, and the files that are made of them.

A lesson says with `recording` what the run on its stage is. Where it says nothing, the run is what the picture holds:
the columns of its table, one row a step. Nothing is sampled for a file that is not kept already for the stage.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from app.kit import share
from app.kit.player.scene import decode
from engine import ticket
from engine.datatree import labels_of
from engine.diagnostics import summarise
from engine.kept import lazy
from engine.predicted import Predicted
from engine.recording import Recording
from engine.spec import Spec, SpecError

if TYPE_CHECKING:
    from pandas import DataFrame
    from xarray import DataTree

    from app.kit.lesson import Lesson

Arrays = dict[str, NDArray[Any]]

MOST_CELLS = 5_000_000  # of a table as text: about 100 MB
MOST_BYTES = 400_000_000  # of the arrays of one file
FORMAT = "the file"  # what a refusal names


@dataclass(frozen=True, eq=False)
class Taken:
    """A run of one lesson.

    link : path and query that show it, with the host where one is known
    alt : what the picture shows, a sentence
    recording : what the kernel recorded; None where the lesson has no chain of its own for these settings
    arrays : by name; of a recording its draws and what was noted at each
    per : names of the leading dimensions that rows of a table count: ("chain", "draw"), or ("step",)
    """

    lesson: Lesson
    spec: Spec
    link: str
    alt: str
    recording: Recording | None
    arrays: Arrays
    per: tuple[str, ...]

    @classmethod
    def of(cls, lesson: Lesson, spec: Spec, page: str | None = None) -> Taken:
        """The run that `lesson` shows for `spec`. page : address of the page, without its query.

        Raises SpecError where the settings, or data that are not here, allow no run.
        """
        if not lesson.ready(spec):
            raise SpecError("data", "are not on this machine: press the page's button for them, or give the file again")
        found = lesson.recording(spec) if lesson.recording is not None else None
        grown = lesson.grow(spec, _Unseen()) if found is None and lesson.grow is not None else None  # type: ignore[arg-type]
        header, arrays = decode(lesson.scene(spec, None) if grown is None else grown)
        link = share.address(page or f"/{lesson.slug}", share.encode(spec))
        if found is None:
            columns = {column["name"]: arrays[column["values"]] for column in header["table"]}
            return cls(lesson, spec, link, header["label"], None, columns, ("step",))
        recording = found if isinstance(found, Recording) else None
        noted = _noted(found)
        per = ("chain", "draw") if next(iter(noted.values())).ndim > 1 else ("step",)
        return cls(lesson, spec, link, header["label"], recording, noted, per)

    @lazy
    def digest(self) -> str:
        """SHA-256 over the draws, or over all arrays where there are none: names, shapes, bytes."""
        told = hashlib.sha256()
        for name, values in {"draws": self.recording.draws}.items() if self.recording is not None else self.arrays.items():
            told.update(f"{name} {values.dtype.str} {values.shape} ".encode())
            told.update(np.ascontiguousarray(values).tobytes())
        return told.hexdigest()

    @property
    def name(self) -> str:
        """Of its files, without the ending."""
        return f"posterior-lab-{self.lesson.slug}-{self.digest[:8]}"

    def table(self) -> DataFrame:
        """One row a draw of a chain, or a step: numbers counted from 1, then every array that has a value for it."""
        import pandas as pd

        shape = next(iter(self.arrays.values())).shape[: len(self.per)]
        columns: dict[str, Any] = {name: 1 + np.indices(shape)[i].ravel() for i, name in enumerate(self.per)}
        for name, values in self.arrays.items():
            if values.shape[: len(shape)] != shape:
                continue
            flat = values.reshape(int(np.prod(shape)), -1)
            one = values.ndim == len(shape)
            columns |= {name if one else self._label(name, values, j): flat[:, j] for j in range(flat.shape[1])}
        return pd.DataFrame(columns)

    def _label(self, name: str, values: NDArray[Any], j: int) -> str:
        labels = labels_of(self.recording) if self.recording is not None and name == "draws" else ()
        if labels:
            return labels[j]
        place = np.unravel_index(j, values.shape[len(self.per) :])
        return f"{name}[{','.join(str(1 + i) for i in place)}]"

    def jumps(self) -> DataFrame | None:
        """One row a jump between architectures, with the logs of its factors; None where none were recorded."""
        ledger = self.recording.transitions if hasattr(self.recording, "jumped") and self.recording is not None else None
        if ledger is None:
            return None
        import pandas as pd

        from engine.jumps.sweep import FACTORS, MOVES

        at = np.indices(ledger.move.shape).reshape(3, -1)
        columns: dict[str, Any] = {name: 1 + at[i] for i, name in enumerate(("chain", "draw", "jump"))}
        columns["move"] = np.array(MOVES)[ledger.move.ravel()]
        for name in ("slot", "width", "depth", "rejection", "log_ratio", "uniform", "accepted"):
            columns[name] = getattr(ledger, name).ravel()
        factors = ledger.factors.reshape(-1, len(FACTORS))
        columns |= {f"log {name}": factors[:, i] for i, name in enumerate(FACTORS)}
        return pd.DataFrame(columns)

    def diagnostics(self) -> DataFrame | None:
        """R-hat, ESS and errors of each coordinate; None where there are no chains. NaN where a coordinate never moved,
        or was not always there.
        """
        if self.recording is None:
            return None
        import pandas as pd

        found = summarise(self.recording.draws)
        names = labels_of(self.recording) or [f"x[{j + 1}]" for j in range(self.recording.dim)]
        fields = ("mean", "sd", "mcse_mean", "ess_bulk", "ess_tail", "rhat")
        return pd.DataFrame({"parameter": list(names), **{name: getattr(found, name) for name in fields}})

    def datatree(self) -> DataTree:
        """In ArviZ's schema; without a recording one group, `stage`, of the picture's own columns."""
        about = {"link": self.link, "lesson": self.lesson.slug, "version": version(), "sha256": self.digest, "alt": self.alt}
        if self.recording is not None:
            found = self.lesson.predicted(self.spec)
            told = {} if found is None else _groups(found)
            return self.recording.to_datatree(attributes=about, **told)
        from xarray import Dataset, DataTree

        shape = next(iter(self.arrays.values())).shape[: len(self.per)]
        data = {}
        for name, values in self.arrays.items():
            counted = len(self.per) if values.shape[: len(self.per)] == shape else 0
            own = [f"{name}_{i}" for i in range(values.ndim - counted)]
            inside = name.replace("/", "∕")  # in NetCDF a slash parts groups
            data[inside] = ([*self.per[:counted], *own], values.astype(np.int8) if values.dtype == bool else values)
        tree = DataTree.from_dict({"/stage": DataTree(Dataset(data))})
        tree.attrs.update(about)
        return tree


def version() -> str:
    """Of this product; "checkout" where it is not installed."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("posterior-lab")
    except PackageNotFoundError:
        return "checkout"


def _groups(found: Predicted) -> dict[str, Any]:
    """What a run says of its data, as groups of ArviZ's schema."""
    size = found.log_likelihood.nbytes + found.replicated.nbytes
    if size > MOST_BYTES:
        raise SpecError(FORMAT, f"would hold {size / 1e6:,.0f} MB of predictions, allowed are {MOST_BYTES / 1e6:.0f}: take fewer draws")
    return {"log_likelihood": found.log_likelihood, "posterior_predictive": found.replicated, "observed_data": {"y": found.y}}


class _Unseen:
    """A ticket of whom nobody watches: for a picture that grows."""

    def is_set(self) -> bool:
        """Whether the work that holds this was given up."""
        return ticket.stopped()

    def publish(self, blob: bytes) -> None:
        """Nobody looks."""


def _noted(found: Any) -> Arrays:
    """The arrays of a recording, of a mapping, or of an object with fields, in the order in which they stand there."""
    if isinstance(found, Mapping):
        fields = dict(found)
    else:
        fields = {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
    arrays = {name: values for name, values in fields.items() if isinstance(values, np.ndarray) and values.size}
    if isinstance(found, Recording):
        arrays = {name: values for name, values in arrays.items() if values.shape[:2] == found.draws.shape[:2]}
    return arrays


# Files --------------------------------------------------------------------------------------------------------------

UNITS = {  # of the columns whose names do not say them
    "chain": "number, from 1",
    "draw": "number, from 1",
    "step": "number, from 1",
    "log_density": "nats",
    "log_likelihood": "nats",
    "energy": "nats",
    "accept_prob": "probability",
    "accepted": "0 or 1",
    "divergent": "0 or 1",
    "gradient_evaluations": "calls of the target",
    "step_size": "time of one leapfrog step",
    "tree_depth": "doublings",
    "width": "hidden units of a layer",
    "depth": "hidden layers",
    "noise_sd": "units of y",
    "uniform": "0 to 1",
    "log_ratio": "nats",
    "ess_bulk": "draws",
    "ess_tail": "draws",
    "rhat": "ratio",
}


def remarks(taken: Taken, frame: DataFrame) -> list[str]:
    """What stands above a table."""
    units = [f"{name}: {UNITS[name]}" for name in frame.columns if name in UNITS]
    units += [f"{name}: nats" for name in frame.columns if name.startswith("log ")]
    return [
        f"{taken.lesson.title}: {taken.alt}",
        f"link: {taken.link}",
        f"version: {version()}; sha256 of the draws: {taken.digest}",
        "units: " + ("; ".join(units) if units else "as the names say"),
    ]


def _tables(taken: Taken) -> dict[str, DataFrame]:
    made = {"draws" if taken.per[0] == "chain" else "stage": taken.table(), "ledger": taken.jumps(), "diagnostics": taken.diagnostics()}
    return {name: frame for name, frame in made.items() if frame is not None}


def csv(taken: Taken) -> bytes:
    """A ZIP of CSV files, each with its remarks in lines that begin with #."""

    numbers = sum(values.size for values in taken.arrays.values())
    if numbers > MOST_CELLS:
        raise SpecError(FORMAT, f"would hold {numbers:,} numbers, more than a CSV is good for: take NetCDF or Parquet, or fewer draws")

    def written(frame: DataFrame) -> bytes:
        head = "".join(f"# {' '.join(line.split())}\n" for line in remarks(taken, frame))
        frame = frame.rename(columns=lambda name: f"'{name}" if name[:1] in "=+-@" else name)  # no spreadsheet shall run it
        return (head + frame.to_csv(index=False, lineterminator="\n")).encode()

    return _zipped({f"{name}.csv": written(frame) for name, frame in _tables(taken).items()})


def parquet(taken: Taken) -> bytes:
    """A ZIP of Parquet files, each with its remarks in the schema's metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def written(frame: DataFrame) -> bytes:
        table, file = pa.Table.from_pandas(frame, preserve_index=False), io.BytesIO()
        told = {"posterior-lab": "\n".join(remarks(taken, frame)), **(table.schema.metadata or {})}
        pq.write_table(table.replace_schema_metadata(told), file)
        return file.getvalue()

    return _zipped({f"{name}.parquet": written(frame) for name, frame in _tables(taken).items()})


def netcdf(taken: Taken) -> bytes:
    """NetCDF 4, for ArviZ and xarray."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.nc"
        taken.datatree().to_netcdf(path, engine="h5netcdf")
        return path.read_bytes()


def _zipped(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def bibtex(taken: Taken) -> bytes:
    """The product, then the works that the page names."""
    told = {
        "title": f"Posterior Lab: {taken.lesson.title}",
        "author": "{The Posterior Lab authors}",
        "version": version(),
        "note": f"Run sha256:{taken.digest[:16]}",
        "url": taken.link,
    }
    fields = ",\n".join(f"  {name} = {{{words}}}" for name, words in told.items())
    lines = [f"@software{{posteriorlab,\n{fields}\n}}"]
    works: dict[str, str] = {}
    for work in taken.lesson.works():
        key = next(key for letter in " abcdefgh" if (key := f"{work.key}{letter.strip()}") not in works)
        works[key] = work.bibtex(key)
    return "\n".join([*lines, *works.values(), ""]).encode()
