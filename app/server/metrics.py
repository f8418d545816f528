"""`/metrics`, as Prometheus reads it: readers, pictures and their seconds by lesson, work by kind, memory, kernels,
verdicts by colour, refusals, errors; of a cluster its threads, slices and bytes. Who may read it:
`POSTERIOR_LAB_METRICS`.
"""

from __future__ import annotations

import contextlib
import importlib
import ipaddress
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from app.kit import jobs, seams, tally
from engine import kept, settings

PROXIED = ("x-forwarded-for", "x-real-ip", "forwarded")  # a proxy on this machine speaks for somebody else
COUNTS = {
    "jobs_ended": ("Work that has ended, by kind and how", ("kind", "state")),
    "verdicts": ("Signs that readers were shown, by kind and verdict", ("kind", "verdict")),
    "kernels_compiled": ("Kernels compiled by this process", ("kernel",)),
    "refusals": ("What readers typed or uploaded and could not be used, by control", ("control",)),
    "errors": ("Mistakes of ours, by the part of the page that was lost", ("part",)),
}
CLUSTER = {
    "jobs": "Work that came back from the cluster as a whole",
    "slices": "Slices of long work that came back from the cluster",
    "seconds": "Seconds that both took its workers",
    "bytes sent": "Of slices, and of what they share",
    "bytes received": "Of what slices came to",
}


def route() -> Route:
    """Below the base path."""
    return Route(seams.below_base("/metrics"), answer)


async def answer(request: Request) -> Response:
    """All figures, or 404 for whoever may not read them."""
    allowed = settings.value("METRICS") or "local"
    if allowed == "none" or (allowed == "local" and not _local(request)):
        return PlainTextResponse("not here\n", status_code=404)
    return PlainTextResponse(text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _local(request: Request) -> bool:
    # a browser on this machine asks for whatever page it shows: by the name of that, or with its origin
    asked = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
    here = request.client is not None and _loopback(request.client.host) and (asked == "localhost" or _loopback(asked))
    return here and not any(name in request.headers for name in (*PROXIED, "origin"))


def _loopback(host: str) -> bool:
    """Whether this address is this machine's own; a socket for both kinds writes 127.0.0.1 as ::ffff:127.0.0.1."""
    with contextlib.suppress(ValueError):
        address = ipaddress.ip_address(host)
        return (getattr(address, "ipv4_mapped", None) or address).is_loopback
    return False


def text() -> str:
    """All figures."""
    exposition = importlib.import_module("prometheus_client")  # nobody else needs it
    registry = exposition.CollectorRegistry()
    for collector in (_Ours(), exposition.ProcessCollector(registry=None)):
        registry.register(collector)
    return exposition.generate_latest(registry).decode()


class _Ours:
    """A collector: looks when it is asked."""

    def collect(self) -> Iterator[Any]:
        core = importlib.import_module("prometheus_client.core")

        def gauge(name: str, help: str, value: float) -> Any:
            return core.GaugeMetricFamily(f"posterior_lab_{name}", help, value=value)

        yield gauge("readers", "Browsers connected", seams.readers())
        yield gauge("cache_bytes", "Results kept in memory", kept.store.bytes)
        waiting = core.GaugeMetricFamily("posterior_lab_jobs", "Work under way, by kind and state", labels=("kind", "state"))
        for kind_and_state, number in Counter(jobs.pool().under_way()).items():
            waiting.add_metric(kind_and_state, number)
        yield waiting
        cluster = jobs.pool().cluster
        threads = cluster.threads if cluster is not None and cluster.is_up() else 0
        yield gauge("cluster_threads", "Of the cluster's workers; 0 without one and while it is out of reach", threads)
        for name, help in CLUSTER.items():
            value = 0.0 if cluster is None else cluster.counts[name]
            yield core.CounterMetricFamily(f"posterior_lab_cluster_{name.replace(' ', '_')}", help, value=value)
        for name, (help, labels) in COUNTS.items():
            family = core.CounterMetricFamily(f"posterior_lab_{name}", help, labels=labels)
            for values, number in tally.events(name).items():
                family.add_metric(values, number)
            yield family
        pictures = core.HistogramMetricFamily(
            "posterior_lab_picture_seconds", "From a control to the new run's picture, by page", labels=("page",)
        )
        bounds = [*map(str, tally.BOUNDS), "+Inf"]
        for values, (within, total) in tally.times("picture").items():
            pictures.add_metric(values, list(zip(bounds, within, strict=True)), total)
        yield pictures
