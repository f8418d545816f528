"""Colours can be told apart and read, and Streamlit's theme speaks of the same ones."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from app.kit import theme
from app.kit.player.scene import ROLES

CONFIG = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
PALETTES = {"light": theme.LIGHT, "dark": theme.DARK}
SIDE = "secondaryBackgroundColor"


@pytest.mark.parametrize("mode", PALETTES)
def test_contrast_reaches_the_reader(mode: str):
    colours = PALETTES[mode]
    backgrounds = {"surface": colours["surface"], "side": CONFIG["theme"][mode][SIDE]}
    for role, code in colours.items():
        if role in theme.QUIET_ROLES:
            continue
        for where, background in backgrounds.items():
            least = 4.5 if role in theme.TEXT_ROLES else 3.0 if where == "surface" else 2.7
            assert theme.contrast(code, background) >= least, f"{role} on the {mode} {where}"


def test_every_role_of_the_player_has_both_colours():
    assert set(theme.LIGHT) == set(theme.DARK) == set(ROLES)


def test_light_colours_translate_in_one_way():
    partners: dict[str, set[str]] = {}
    for role, code in theme.LIGHT.items():
        partners.setdefault(code, set()).add(theme.DARK[role])
    assert all(len(found) == 1 for found in partners.values())


def test_in_dark_translates_nested_colours_and_keeps_their_alpha():
    figure = {"line": {"color": theme.colour("truth", 0.5)}, "list": [theme.LIGHT["ink"], "#123456", "ink", 3]}
    dark = theme.in_dark(figure)
    assert dark == {"line": {"color": theme.DARK["truth"] + "80"}, "list": [theme.DARK["ink"], "#123456", "ink", 3]}


@pytest.mark.parametrize("mode", PALETTES)
def test_streamlit_s_theme_agrees(mode: str):
    colours, told = PALETTES[mode], CONFIG["theme"][mode]
    assert told["backgroundColor"] == colours["surface"]
    assert told["textColor"] == colours["ink"]
    assert told["borderColor"] == colours["grid"]
    assert told["primaryColor"] == colours["posterior"]
    chart = told.get("chartCategoricalColors", CONFIG["theme"]["chartCategoricalColors"])
    assert chart == [colours[f"chain-{chain}"] for chain in range(8)]


def test_chains_differ_without_colour():
    looks = list(zip(theme.MARKERS[:6], theme.DASHES[:6], strict=True))
    assert len(set(looks)) == 6 and len(theme.MARKERS) == len(theme.DASHES) == 8


def test_contrast_of_black_on_white():
    assert theme.contrast("#000000", "#ffffff") == pytest.approx(21)
