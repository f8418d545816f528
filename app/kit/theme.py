"""Colours: the one place where they are named.

A *role* says what a mark means ("truth", "reject", "chain-2"); `LIGHT` and `DARK` give its colour on either surface.
Scenes carry both (`palette`), still figures are made in the light colours and translated (`in_dark`). Classes and
chains are the Okabe-Ito hues, darkened or lightened where the plain hue would not reach a contrast of 3:1. Colour is
never the only cue: chains also differ by marker and dash (`MARKERS`, `DASHES`), verdicts by shape.
"""

from __future__ import annotations

from typing import Any

LIGHT: dict[str, str] = {
    "ink": "#1f2430",
    "muted": "#5f6875",
    "grid": "#dfe3e8",
    "surface": "#ffffff",
    "truth": "#5b6675",
    "accept": "#008a65",
    "reject": "#d04a02",
    "proposal": "#b87a00",
    "momentum": "#b8578f",
    "energy": "#2b8cc4",
    "divergent": "#b5004b",
    "highlight": "#7a4fd0",
    "prior": "#6d7788",
    "likelihood": "#b47600",
    "posterior": "#0068a8",
    "class-0": "#0072b2",
    "class-1": "#d55e00",
    "class-2": "#009e73",
    "chain-0": "#0072b2",
    "chain-1": "#d55e00",
    "chain-2": "#009e73",
    "chain-3": "#cc6ba1",
    "chain-4": "#b98000",
    "chain-5": "#3496cf",
    "chain-6": "#8f8600",
    "chain-7": "#1f2430",
    "positive": "#0069ab",
    "negative": "#cf5a00",
}

DARK: dict[str, str] = {
    "ink": "#e6e9ee",
    "muted": "#a3acb9",
    "grid": "#2c333d",
    "surface": "#14171c",
    "truth": "#9aa5b4",
    "accept": "#1fb58a",
    "reject": "#f5803e",
    "proposal": "#e69f00",
    "momentum": "#d98cb6",
    "energy": "#56b4e9",
    "divergent": "#ff6b9d",
    "highlight": "#b79bff",
    "prior": "#98a2b2",
    "likelihood": "#e8a51a",
    "posterior": "#4aa8e6",
    "class-0": "#3d9bdc",
    "class-1": "#f0793a",
    "class-2": "#12b386",
    "chain-0": "#3d9bdc",
    "chain-1": "#f0793a",
    "chain-2": "#12b386",
    "chain-3": "#d98cb6",
    "chain-4": "#e69f00",
    "chain-5": "#7cc6f0",
    "chain-6": "#f0e442",
    "chain-7": "#e6e9ee",
    "positive": "#45a3e2",
    "negative": "#f47f42",
}

TEXT_ROLES = ("ink", "muted")  # read as words: 4.5:1
QUIET_ROLES = ("grid", "surface")  # background, meant to be faint

MARKERS = ("circle", "cross", "square", "triangle", "ring", "diamond", "circle", "square")  # one per chain, player's names
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "solid", "dash")  # one per chain, Plotly's names

_TO_DARK = {LIGHT[role]: DARK[role] for role in LIGHT}


def palette() -> dict[str, dict[str, str]]:
    """The colours of every role for both themes, as scenes carry them."""
    return {"light": dict(LIGHT), "dark": dict(DARK)}


def colour(role: str, alpha: float = 1.0) -> str:
    """The light-theme colour of `role` for a still figure, as #rrggbb, or #rrggbbaa when `alpha` < 1.

    `in_dark` translates both.
    """
    code = LIGHT[role]
    return code if alpha >= 1.0 else f"{code}{round(255 * max(alpha, 0.0)):02x}"


def in_dark(value: Any) -> Any:
    """A copy of nested lists, dictionaries and strings with each light-theme colour exchanged for its dark partner."""
    if isinstance(value, str):
        return _TO_DARK.get(value[:7], value[:7]) + value[7:] if value[:1] == "#" else value
    if isinstance(value, dict):
        return {key: in_dark(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [in_dark(item) for item in value]
    return value


def contrast(a: str, b: str) -> float:
    """Contrast ratio of two #rrggbb colours, 1 to 21 (WCAG 2.2)."""
    bright, dim = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def _luminance(code: str) -> float:
    channels = (int(code[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
