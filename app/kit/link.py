"""The link of the fold *Share*: a small component, as only the browser knows where the player stands."""

from __future__ import annotations

import streamlit as st

from app.kit.assets import loader

_mount = st.components.v2.component("posterior_lab.link", js=loader("link"))


def link(address: str, title: str, *, key: str) -> None:
    """Shows the link `address`, completed in the browser, and what embeds it under a `title`."""
    _mount(data={"address": address, "title": title}, key=key, height="content")
