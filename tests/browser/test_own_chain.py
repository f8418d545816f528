"""Bring your own chain, in a browser: from the diagnostics lesson, with files that are read and one that is not."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import FOLLOW, PATIENT, Lab, player
from tests.datasets.test_chains import stan


def test_chains_of_cmdstan_are_dropped_and_judged_and_a_bad_file_loses_nothing(lab: Lab):
    page = lab.open("/diagnostics?scenario=healthy&burn=30")
    drop = page.get_by_test_id("stFileUploaderDropzone").first.locator("input[type=file]")
    drop.set_input_files([{"name": "bad.csv", "mimeType": "text/csv", "buffer": stan(200, bad="oops")}])
    refused = page.get_by_text(re.compile("bad.csv, line 21, column “theta.2”: “oops” is not a number"))
    expect(refused).to_be_visible(timeout=PATIENT)
    lab.settled()  # files are given to the drop zone of this run, not to one about to be replaced
    drop.set_input_files([{"name": f"run-{c}.csv", "mimeType": "text/csv", "buffer": stan(200, chain=c)} for c in (1, 2)])
    expect(page.get_by_role("heading", name="Bring your own chain", exact=True)).to_be_visible(timeout=PATIENT)
    expect(page.get_by_text(re.compile("2 chains, 200 draws each, 3 quantities"))).to_be_visible(timeout=PATIENT)
    expect(page).to_have_url(re.compile("own-chain.*source=file&.*file=[0-9a-f]{16}"))
    expect(page.get_by_role("heading", name="Now yours")).to_be_visible()
    page.evaluate(FOLLOW, "/diagnostics")
    expect(page).to_have_url(re.compile("diagnostics.*burn=30"), timeout=PATIENT)  # as it was left
    expect(page.get_by_role("heading", name="Can I trust this chain?", exact=True)).to_be_visible(timeout=PATIENT)
    lab.settled()  # or what follows would be found on the page for chains that is being left

    page = lab.open("/own-chain?scenario=stuck")
    card = player(page).get_by_role("list", name="Arithmetic of this step")
    expect(card.get_by_text(re.compile("chains disagree on 1 of 2"))).to_be_visible(timeout=PATIENT)
    judged = page.get_by_text(re.compile("2 chains, 200 draws each, 3 quantities"))
    expect(judged).to_be_hidden(timeout=PATIENT)  # it stays, dimmed, until there is news of the example
    drop = page.get_by_test_id("stFileUploaderDropzone").first.locator("input[type=file]")
    drop.set_input_files([{"name": f"run-{c}.csv", "mimeType": "text/csv", "buffer": stan(200, chain=c)} for c in (1, 2)])
    expect(judged).to_be_visible(timeout=PATIENT)
    lab.settled()
    drop.set_input_files([{"name": "bad.csv", "mimeType": "text/csv", "buffer": stan(200, bad="oops")}])
    expect(page.get_by_text(re.compile("bad.csv, line 21, column “theta.2”: “oops” is not a number"))).to_be_visible(timeout=PATIENT)
    expect(judged).to_be_visible()

    with page.expect_download(timeout=PATIENT) as report:
        page.get_by_role("button", name="Report", exact=True).click()
    fresh = page.context.browser.new_context()
    try:
        outside: list[str] = []
        fresh.on("request", lambda request: outside.append(request.url))
        reading = fresh.new_page()
        reading.set_content(report.value.path().read_text("utf-8"))
        expect(reading.get_by_role("heading", name="Every quantity, by trouble")).to_be_visible(timeout=PATIENT)
        expect(reading.locator(".js-plotly-plot").first).to_be_visible(timeout=PATIENT)
        assert not [url for url in outside if url.startswith("http")]
    finally:
        fresh.close()
