"""The real data lesson in a browser: a first-time reader samples, then gives a table of their own."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab, player

LIGHT = "rows=60&test_rows=40&hidden=2&chains=2&warmup=40&draws=50&max_depth=5&epochs=40"


def test_a_first_visit(lab: Lab):
    page = lab.open(f"/real-data?{LIGHT}")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    card = stage.get_by_role("list", name="Arithmetic of this step")
    expect(card.get_by_text(re.compile("Of 442 rows 60 to learn from"))).to_be_visible()
    page.get_by_role("button", name="Sample the posterior", exact=True).click()
    expect(page.get_by_text("Finished:")).to_be_visible(timeout=PATIENT)
    expect(card.get_by_text(re.compile(r"intervals of 90 % hold \d+ of 40"))).to_be_visible()

    rows = "".join(f"{i % 37},red,{i % 37 + i % 3}\n" for i in range(200))
    table = {"name": "mine.csv", "mimeType": "text/csv", "buffer": f"a,colour,y\n{rows}".encode()}
    page.locator("input[type=file]").set_input_files(table)
    expect(card.get_by_text(re.compile("Of 200 rows 60 to learn from"))).to_be_visible(timeout=PATIENT)
    expect(card.get_by_text(re.compile("“colour” holds words"))).to_be_visible()
    expect(page).to_have_url(re.compile("data=own&file=[0-9a-f]{16}"))


def test_draws_of_a_real_lottery_are_looked_at(lab: Lab):
    page = lab.open("/real-data?scenario=draw")
    stage = player(page)
    expect(stage.locator("canvas").first).to_be_visible(timeout=PATIENT)
    expect(page.get_by_role("button", name="Sample the posterior", exact=True)).to_have_count(0)
    rows = "".join(f"01/{1 + i % 28:02}/2020,{' '.join(f'{1 + (7 * i + 13 * j) % 69:02}' for j in range(5))} 07,2\n" for i in range(200))
    table = {"name": "powerball.csv", "mimeType": "text/csv", "buffer": f"Draw Date,Winning Numbers,Multiplier\n{rows}".encode()}
    page.locator("input[type=file]").set_input_files(table)
    card = stage.get_by_role("list", name="Arithmetic of this step")
    expect(card.get_by_text(re.compile("your file: 200 draws of 5 from 69"))).to_be_visible(timeout=PATIENT)
    expect(page).to_have_url(re.compile("data=own&file=[0-9a-f]{16}"))
    expect(page.get_by_text("How many draws does it take?")).to_be_visible(timeout=PATIENT)
