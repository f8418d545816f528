"""Icons, drawn for this app: `app/static/icons/NAME.svg`, each in the colour of the words that it stands beside.

In Markdown an icon is `sign(NAME)`, which Streamlit would write in a font of its own; in HTML it is `html(NAME)`. `STYLE` draws
either on the page that holds it.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

FOLDER = Path(__file__).parents[1] / "static" / "icons"
DRAWINGS = {path.stem: path.read_text(encoding="utf-8").strip() for path in sorted(FOLDER.glob("*.svg"))}


def sign(name: str) -> str:
    """Markdown for an icon that says something: it is read aloud as its name."""
    return f":material/{name}:"


def html(name: str) -> str:
    """HTML for an icon that only repeats the words beside it."""
    return f'<i class="icon-{name}" aria-hidden="true"></i>'


def _where(name: str) -> str:
    return f'.icon-{name}, [role="img"][aria-label="{name} icon"]'


def _style() -> str:
    drawings = "\n".join(f'{_where(name)} {{ --drawing: url("data:image/svg+xml,{quote(svg)}"); }}' for name, svg in DRAWINGS.items())
    look = (
        "display: inline-block; width: 1.2em; height: 1.2em; overflow: hidden; vertical-align: -0.22em !important;"
        "background: currentColor; mask: var(--drawing) center / contain no-repeat; forced-color-adjust: none;"
    )
    return f"{', '.join(map(_where, DRAWINGS))} {{ {look} }}\n{drawings}\n"


STYLE = _style()
