"""Recordings in ArviZ's schema: a tree of labelled arrays that ArviZ, xarray and whatever reads NetCDF understand.

Source: the InferenceData schema of ArviZ, version 0.4: groups `posterior`, `sample_stats` and so on, with dimensions
`chain` and `draw` first; statistics by their standard names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from xarray import DataTree

    from engine.recording import Recording

Arrays = dict[str, NDArray[Any]]

STATISTICS = {  # field of a recording: its name in the schema, and what it is
    "log_density": ("lp", "log density at the draw, up to a constant where the target is not normalised"),
    "accept_prob": ("acceptance_rate", "Metropolis acceptance probability of the transition, 0 to 1"),
    "accepted": ("accepted", "whether the state moved to the proposal"),
    "divergent": ("diverging", "energy error above 1000 or not finite"),
    "gradient_evaluations": ("evaluations", "calls of the target in the transition; a call gives density and gradient"),
    "energy": ("energy", "H of the draw with the momentum it came with"),
    "tree_depth": ("tree_depth", "doublings that joined the trajectory"),
    "step_size": ("step_size", "time that one leapfrog step simulates"),
    "log_likelihood": ("log_likelihood", "log likelihood of all data at the draw"),
    "proposed": ("jumps_proposed", "jumps proposed in the sweep, by move"),
    "jumped": ("jumps_accepted", "jumps accepted in the sweep, by move"),
}
UNKNOWNS = {  # what a recording may have beside its draws
    "width": ("k", "units in each hidden layer"),
    "depth": ("L", "hidden layers"),
    "precisions": ("precision", "1 / variance of the prior of each group of parameters"),
    "noise_sd": ("noise_sd", "standard deviation of y around the output"),
}


def to_datatree(
    recording: Recording,
    *,
    log_likelihood: ArrayLike | None = None,
    posterior_predictive: ArrayLike | None = None,
    observed_data: Mapping[str, ArrayLike] | None = None,
    attributes: Mapping[str, Any] | None = None,
) -> DataTree:
    """The tree of a recording; write it with `.to_netcdf(path)`.

    log_likelihood, posterior_predictive : (chains, draws, n), of each datum at each draw
    observed_data : (n, …) each, by name; `y` is what the other two are about
    attributes : numbers and texts to write into the root beside seed, warm-up and seconds

    Groups: `posterior` (x; of networks that change size also k, L and precision, and x is NaN beyond the parameters that
    a draw has), `sample_stats`, `ledger` (chain, draw, jump, …) where jumps were recorded one by one, `warmup_posterior`
    and `warmup_sample_stats` where the warm-up was kept, and those of the arguments given. Booleans are stored as 0 and
    1, which NetCDF asks for.
    """
    from arviz_base import from_dict

    groups: dict[str, Arrays] = {"posterior": {"x": recording.draws, **_named(recording, UNKNOWNS)}, "sample_stats": _statistics(recording)}
    if recording.warmup is not None:
        groups["warmup_posterior"] = {"x": recording.warmup.draws}
        groups["warmup_sample_stats"] = _statistics(recording.warmup)
    for name, values in (("log_likelihood", log_likelihood), ("posterior_predictive", posterior_predictive)):
        if values is not None:
            groups[name] = {"y": np.asarray(values)}
    if observed_data is not None:
        groups["observed_data"] = {name: np.asarray(values) for name, values in observed_data.items()}
    dims = {"x": ["parameter"], "precision": ["group"], "jumps_proposed": ["move"], "jumps_accepted": ["move"]}
    labels = labels_of(recording)
    coords: dict[str, Any] = {"parameter": list(labels) or np.arange(recording.dim)}
    if hasattr(recording, "groups"):
        coords["group"] = list(recording.groups.names)
    tree = from_dict(groups, dims=dims, coords=coords, save_warmup=True, check_conventions=False)
    if hasattr(recording, "jumped") and recording.transitions is not None:
        tree["ledger"] = _ledger(recording.transitions)
    told = {name: words for name, words in (*STATISTICS.values(), *UNKNOWNS.values())}
    for group in tree.children.values():
        group.attrs.pop("created_at", None)  # the same run gives the same file
        for label, variable in dict(group.data_vars).items():
            if str(label) in told:
                variable.attrs["description"] = told[str(label)]
            if variable.dtype == bool:
                group[str(label)] = variable.astype(np.int8)
    run = recording.run
    settings = getattr(run, "settings", None) or getattr(run, "spec", run)
    about: dict[str, Any] = {
        "seed": settings.seed,
        "warmup": run.warmup,
        "seconds": recording.seconds,
        "inference_library": "posterior_lab",
    }
    method = getattr(run, "method", None)
    if method is not None:
        about["method"] = method.name
    tree.attrs.update({**about, **(attributes or {})})
    return tree


def labels_of(recording: Recording) -> tuple[str, ...]:
    """Names of the coordinates; none where they have none, or where they change from draw to draw."""
    for about in (getattr(recording, "network", None), getattr(recording.run, "target", None)):
        labels = tuple(getattr(about, "labels", ()))
        if len(labels) == recording.dim == len(set(labels)):
            return labels
    return ()


def _named(recording: Any, names: Mapping[str, tuple[str, str]]) -> Arrays:
    found = {name: getattr(recording, field, None) for field, (name, _) in names.items()}
    return {name: np.asarray(values) for name, values in found.items() if values is not None}


def _statistics(recording: Any) -> Arrays:
    found = _named(recording, STATISTICS)
    if "step_size" in found:  # of Hamiltonian samplers, which make one call a leapfrog step
        found["n_steps"] = found["evaluations"]
    return found


def _ledger(ledger: Any) -> Any:
    """Each jump one by one: dimensions (chain, draw, jump), and the factors by their names."""
    from xarray import Dataset, DataTree

    from engine.jumps.sweep import FACTORS, MOVES

    data = {}
    for name, values in ledger._asdict().items():
        if not values.size:  # of another kind of jump
            continue
        more = ["factor"] if name == "factors" else [f"{name}_{i}" for i in range(values.ndim - 3)]
        data[name] = (["chain", "draw", "jump", *more], values)
    return DataTree(Dataset(data, coords={"factor": list(FACTORS)}, attrs={"moves": list(MOVES)}))
