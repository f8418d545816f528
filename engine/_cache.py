"""Where compiled kernels are kept between processes."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from pathlib import Path

import llvmlite
import llvmlite.binding
import numba

SOURCES = Path(__file__).parent


def source_hash() -> str:
    """Hash of every engine source, the compiler's versions and the CPU: 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for path in sorted(SOURCES.rglob("*.py")):
        digest.update(path.relative_to(SOURCES).as_posix().encode())
        digest.update(path.read_bytes())
    cpu = os.environ.get("NUMBA_CPU_NAME") or llvmlite.binding.get_host_cpu_name()
    digest.update(f"{sys.version_info[:2]} {numba.__version__} {llvmlite.__version__} {cpu}".encode())
    return digest.hexdigest()[:16]


def prepare() -> Path:
    """Point numba at this build's cache directory and return it.

    The parent is `POSTERIOR_LAB_CACHE`, else the user's cache folder, else (neither can be written) the temporary
    folder.
    """
    name = f"kernels-{source_hash()}"
    wanted = os.environ.get("POSTERIOR_LAB_CACHE")
    home = (
        Path(wanted) if wanted else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "posterior-lab"
    )
    for parent in (home, Path(tempfile.gettempdir()) / f"posterior-lab-{os.getuid()}"):
        directory = parent / name
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(directory, os.W_OK):
            numba.config.CACHE_DIR = str(directory)  # type: ignore[attr-defined]
            return directory
    raise OSError(
        f"No folder to keep compiled kernels in: set POSTERIOR_LAB_CACHE to one that can be written (tried {home})."
    )
