"""The browser of the tests: find one, or install one.

    python -m tests.browser.chrome     prints its path; installs a browser if there is none and the rights are there

Looked for in this order: $CHROME, chromium-headless-shell (which takes a sixth less CPU than chromium without a window),
chromium, chromium-browser, google-chrome (each must answer --version), the browser that playwright has installed.
Otherwise, as root or with passwordless sudo: Debian's package, on Ubuntu (whose package is a snap) playwright's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PACKAGES = ("chromium-headless-shell", "chromium")  # Debian has the first since 2024
APT = ["apt-get", "install", "-y", "--no-install-recommends", "fonts-dejavu-core"]
PLAYWRIGHT = [sys.executable, "-m", "playwright", "install", "--with-deps", "chromium"]


def find() -> str | None:
    """The path of a browser that answers, or None."""
    for name in (os.environ.get("CHROME"), *NAMES, _of_playwright()):
        path = shutil.which(name) if name else None
        if path and _answers([path, "--version"]):
            return path
    return None


def install() -> str | None:
    """Install a browser. None if the rights or the packages are missing."""
    rights = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if rights and not _answers([*rights, "true"]):
        return None
    if _distribution() == "debian":
        subprocess.run([*rights, "apt-get", "update", "-q"], stdout=sys.stderr, check=False)
        for package in PACKAGES:
            subprocess.run([*rights, *APT, package], stdout=sys.stderr, check=False)
            if found := find():
                return found
    else:
        subprocess.run(PLAYWRIGHT, stdout=sys.stderr, check=False)
    return find()


def command() -> str:
    """What a person has to type to get a browser."""
    return "sudo apt-get install chromium" if _distribution() == "debian" else " ".join(PLAYWRIGHT)


def needs_no_sandbox(path: str) -> bool:
    """Chromium's sandbox does not run as root, nor where user namespaces are switched off."""
    if os.geteuid() == 0:
        return True
    return not _answers([path, "--headless", "--disable-gpu", "--dump-dom", "about:blank"])


def _of_playwright() -> str | None:
    try:
        from playwright.sync_api import sync_playwright

        with sync_playwright() as driver:
            return driver.chromium.executable_path
    except Exception:  # not installed, or its driver does not start here: there is simply no such browser
        return None


def _distribution() -> str:
    release = Path("/etc/os-release")
    lines = dict(line.split("=", 1) for line in release.read_text().splitlines() if "=" in line) if release.exists() else {}
    return lines.get("ID", "").strip('"')


def _answers(call: list[str]) -> bool:
    try:
        return subprocess.run(call, capture_output=True, timeout=60, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


MISSING = f"No browser, and no rights to install one. Run this, then try again:\n\n    {command()}\n"

if __name__ == "__main__":
    found = find() or install()
    if found is None:
        sys.exit(MISSING)
    print(found)
