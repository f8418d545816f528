"""What an operator asks a server: is it well, what does it count, what may a browser run, what is in the log."""

from __future__ import annotations

import asyncio
import json
import logging
import threading

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.requests import Request

from app.kit import jobs, startup, tally
from app.server import headers, health, logs, metrics
from engine import turns


def asked(client: str = "127.0.0.1", **more: str) -> Request:
    """A request from `client`."""
    sent = [(name.replace("_", "-").encode(), value.encode()) for name, value in more.items()]
    return Request({"type": "http", "method": "GET", "path": "/", "headers": sent, "client": (client, 50_000), "query_string": b""})


def test_ready_once_the_engine_is_loaded(monkeypatch: pytest.MonkeyPatch):
    class Loading:
        loaded = threading.Event()

    monkeypatch.setattr(startup, "warm_up", Loading)
    assert asyncio.run(health.healthy(asked())).status_code == 200
    assert asyncio.run(health.ready(asked())).status_code == 503
    Loading.loaded.set()
    assert asyncio.run(health.ready(asked())).status_code == 200


HERE, ELSEWHERE = "127.0.0.1", "10.0.0.9"
PROXY, PAGE, REBOUND = {"x_forwarded_for": "10.1.2.3"}, {"origin": "http://evil.example"}, {"host": "evil.example:8501"}
WHO = [
    ("local", HERE, {}, 200),
    ("local", HERE, {"host": "localhost:8501"}, 200),
    ("local", "::ffff:127.0.0.1", {}, 200),
    ("local", "::1", {"host": "[::1]:8501"}, 200),
    ("local", "::ffff:10.0.0.9", {}, 404),
    ("local", HERE, PROXY, 404),
    ("local", HERE, PAGE, 404),
    ("local", HERE, REBOUND, 404),
    ("local", ELSEWHERE, {}, 404),
    ("all", ELSEWHERE, PROXY, 200),
    ("none", HERE, {}, 404),
]


@pytest.mark.parametrize(("setting", "client", "sent", "status"), WHO)
def test_figures_are_for_whom_they_are_meant(monkeypatch: pytest.MonkeyPatch, setting: str, client: str, sent: dict[str, str], status: int):
    monkeypatch.setenv("POSTERIOR_LAB_METRICS", setting)
    answer = asyncio.run(metrics.answer(asked(client, **{"host": "127.0.0.1:8501", **sent})))
    assert answer.status_code == status


def figure(name: str, **labels: str) -> float:
    """One sample of what Prometheus would read."""
    families = text_string_to_metric_families(metrics.text())
    return sum(s.value for family in families for s in family.samples if s.name == name and labels.items() <= s.labels.items())


def test_pictures_and_their_seconds_are_counted_by_page_until_they_are_there():
    pool = jobs.Pool(turns.Turns(1))
    before = {le: figure("posterior_lab_picture_seconds_bucket", page="tallied", le=le) for le in ("0.05", "+Inf")}
    assert pool.submit(("ann", "scene"), ("tallied", "scene", 1), lambda ticket: 1 / 0, rank=turns.FIRST).wait(5)
    pool.submit(("ann", "scene"), ("tallied", "scene", 2), lambda ticket: threading.Event().wait(0.06), rank=turns.FIRST).wait(5)
    pool.close()
    after = {le: figure("posterior_lab_picture_seconds_bucket", page="tallied", le=le) for le in before}
    assert after["+Inf"] == before["+Inf"] + 2 and after["0.05"] == before["0.05"] + 1
    assert figure("posterior_lab_jobs_ended_total", kind="scene", state="failed") >= 1
    assert figure("posterior_lab_errors_total", part="scene") >= 1


def test_the_log_names_the_work_that_failed_and_nothing_of_the_reader(caplog: pytest.LogCaptureFixture):
    pool = jobs.Pool(turns.Turns(1))

    def breaks(ticket: jobs.Job) -> None:
        raise ZeroDivisionError("by what I typed: " + "terces"[::-1])

    pool.submit(("ann", "panels"), ("hmc", "panels", "formula=my-own-secret"), breaks).wait(5)
    pool.close()
    lines = [logs.Json().format(record) for record in caplog.records if record.levelno == logging.ERROR]
    (event,) = [json.loads(line) for line in lines]
    assert event["what"] == "panels of hmc failed" and "ZeroDivisionError" in event["traceback"]
    assert "secret" not in lines[0] and "ann" not in event.get("visit", "")


def test_no_text_is_run_as_code_and_frames_are_as_set():
    assert "unsafe-eval" not in headers.policy() and headers.policy().endswith("frame-ancestors *")
    assert headers.policy("none").endswith("frame-ancestors 'none'")
    assert headers.policy("self https://moodle.example.org").endswith("frame-ancestors 'self' https://moodle.example.org")


def test_counts_within_bounds_add_up():
    for seconds in (0.01, 0.3, 0.3, 99.0):
        tally.took("test", seconds, "here")
    within, total = tally.times("test")["here",]
    assert within == sorted(within) and within[0] == 1 and within[3] == 3 and within[-1] == 4
    assert total == pytest.approx(99.61)
