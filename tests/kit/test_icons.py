"""Icons are drawn here: no page needs a font of emoji."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app import catalogue
from app.kit import icons, messages, words
from app.kit.text import anchor

ROOT = Path(__file__).parents[2]
# Pictures among the characters: emoji, dingbats, symbols, and what turns a character into one. The font of the pages, which
# comes with them, has ✓ and ✗.
PICTURE = re.compile("[\U0001f000-\U0001faff\u2600-\u2712\u2714-\u2716\u2718-\u27bf\u231a-\u23ff\u2b00-\u2bff\ufe0f]")
TEXTS = [
    path
    for room in ("app", "lessons")
    for kind in ("py", "js", "css", "json", "toml", "md")
    for path in sorted((ROOT / room).rglob(f"*.{kind}"))
]


def test_no_emoji_stands_in_the_words_of_a_page():
    assert len(TEXTS) > 300
    found = [(path.relative_to(ROOT), sign) for path in TEXTS for sign in PICTURE.findall(path.read_text(encoding="utf-8"))]
    assert not found


@pytest.mark.parametrize("planted", ["\U0001f6b6 A walk", "It breaks \u26a0", "Play \u25b6\ufe0f", "\u274c wrong", "\u2b50"])
def test_an_emoji_would_be_found(planted: str):
    assert PICTURE.search(planted) and not PICTURE.search("◀ Back ✓ ✗ → − √ ● ■")


def test_what_the_pages_use_is_drawn():
    used = {re.sub(r".*/(\w+):$", r"\1", text) for text in (messages.WARNING, messages.STOP, messages.WAITING, words.WARNING)}
    assert used | {anchor(track) for track in catalogue.TRACKS} == set(icons.DRAWINGS)


@pytest.mark.parametrize("name", icons.DRAWINGS)
def test_a_drawing_has_one_colour_and_one_size(name: str):
    svg = icons.DRAWINGS[name]
    assert 'viewBox="0 0 24 24"' in svg
    assert set(re.findall(r'(?:fill|stroke)="([^"]*)"', svg)) == {"none", "#000"}, "the page gives the colour"


def test_the_style_passes_the_sanitiser():
    assert not re.search(r"<\w", icons.STYLE) and icons.STYLE.count("data:image/svg+xml,") == len(icons.DRAWINGS)
