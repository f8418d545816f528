"""Words and numbers on screen."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

_THIN = "\u202f"  # narrow no-break space between thousands


def plain(text: str) -> str:
    """`text` as Markdown that shows exactly its characters. For everything that a stranger may have typed."""
    return "".join(f"\\{c}" if c.isascii() and c.isprintable() and not c.isalnum() and c != " " else c for c in text).replace("\n", " ")


def anchor(title: str) -> str:
    """The name of the place of a header on a page."""
    return title.lower().replace(" ", "-")


def minus(text: str) -> str:
    """A number as text, with a minus in place of a hyphen."""
    return text.replace("-", "−")


def number(value: Any, digits: int = 3) -> str:
    """A value for people: numbers with `digits` significant digits, NaN as a dash, other things as they are."""
    if isinstance(value, bool) or type(value).__name__ == "bool":  # numpy's too
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return minus(f"{int(value):,}".replace(",", _THIN))
    if isinstance(value, Real):
        value = float(value)
        if not math.isfinite(value):
            return "–" if math.isnan(value) else ("∞" if value > 0 else "−∞")
        text = f"{value:.{digits}g}"
        if abs(float(text)) >= 10 ** min(digits, 3):  # 'g' would write a power of ten
            text = f"{value:,.0f}".replace(",", _THIN)
        return minus(text)
    return str(value)


def chains(count: int) -> str:
    """How many chains a table of diagnostics is about."""
    return "1 chain, R-hat between its halves" if count == 1 else f"{count} chains"
