"""What a reader drops is taken, whatever else is under way."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import PATIENT, Lab
from tests.datasets.test_chains import stan


def test_a_file_that_is_dropped_as_a_run_of_the_page_begins_is_taken(lab: Lab):
    page = lab.open("/diagnostics?scenario=healthy&burn=30")
    drop = page.get_by_test_id("stFileUploaderDropzone").first.locator("input[type=file]")
    seed = page.get_by_role("spinbutton", name="Seed", exact=True)
    for trial in range(6):
        lab.settled()
        seed.fill(str(100 + trial))
        drop.set_input_files([{"name": f"bad{trial}.csv", "mimeType": "text/csv", "buffer": stan(200, bad="oops")}])
        seed.press("Enter")
        refused = page.get_by_text(re.compile(f"bad{trial}.csv, line 21, column “theta.2”: “oops” is not a number"))
        expect(refused).to_be_visible(timeout=PATIENT)
        expect(page).to_have_url(re.compile(f"seed={100 + trial}"))
