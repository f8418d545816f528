"""The kinds of file in which a run can be taken home."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from app.kit.notebook import notebook, script
from app.kit.taken import FORMAT, MOST_BYTES, Taken, bibtex, csv, netcdf, parquet
from engine.spec import SpecError


@dataclass(frozen=True)
class Format:
    """A kind of file: what readers call it, its ending and media type, and what makes it."""

    label: str
    ending: str
    media: str
    make: Callable[[Taken], bytes]


FORMATS = {
    "notebook": Format("Notebook that makes it again (Jupyter)", "ipynb", "application/x-ipynb+json", notebook),
    "script": Format("Script that makes it again (Python)", "py", "text/x-python", script),
    "netcdf": Format("Draws and statistics for ArviZ (NetCDF)", "nc", "application/x-netcdf", netcdf),
    "csv": Format("Tables of draws, jumps, diagnostics (CSV, zipped)", "csv.zip", "application/zip", csv),
    "parquet": Format("Tables of draws, jumps, diagnostics (Parquet, zipped)", "parquet.zip", "application/zip", parquet),
    "bibtex": Format("Citation of the page and its works (BibTeX)", "bib", "application/x-bibtex", bibtex),
}


def made(taken: Taken, name: str) -> bytes:
    """The file of one format. Raises SpecError where the run is too large for it."""
    size = sum(values.nbytes for values in taken.arrays.values())
    if size > MOST_BYTES:
        raise SpecError(FORMAT, f"would hold {size / 1e6:,.0f} MB, allowed are {MOST_BYTES / 1e6:.0f}: take fewer draws or chains")
    return FORMATS[name].make(taken)
