"""Small files as PyMC and NumPyro write them through ArviZ: eight schools, a minute by each.

    python3 -m venv elsewhere && elsewhere/bin/pip install pymc==5.28.5 numpyro==0.22.0 arviz==0.23.4 h5netcdf==1.8.2
    elsewhere/bin/python tests/datasets/written/make.py

Source of the data: Rubin 1981, as in `engine.targets`.
"""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path

import arviz as az
import numpy as np

HERE = Path(__file__).parent
SCHOOLS = ["Choate", "Deerfield", "Phillips Andover", "Phillips Exeter", "Hotchkiss", "Lawrenceville", "St. Paul's", "Mt. Hermon"]
EFFECT = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERROR = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
CHAINS, DRAWS, WARMUP = 2, 50, 200


def pymc() -> az.InferenceData:
    """By PyMC, with log likelihoods, data and the posterior predictive."""
    import pymc as pm

    with pm.Model(coords={"school": SCHOOLS}):
        mu, tau = pm.Normal("mu", 0.0, 5.0), pm.HalfCauchy("tau", 5.0)
        theta = pm.Deterministic("theta", mu + tau * pm.Normal("z", 0.0, 1.0, dims="school"), dims="school")
        pm.Normal("effect", theta, ERROR, observed=EFFECT, dims="school")
        settings = {"draws": DRAWS, "tune": WARMUP, "chains": CHAINS, "cores": 1, "random_seed": 1, "progressbar": False}
        found = pm.sample(**settings, idata_kwargs={"log_likelihood": True})
        found.extend(pm.sample_posterior_predictive(found, random_seed=1, progressbar=False))
    return found


def numpyro() -> az.InferenceData:
    """By NumPyro, through ArviZ's converter."""
    import jax
    import numpyro
    import numpyro.distributions as dist

    numpyro.set_host_device_count(CHAINS)

    def model(effect: np.ndarray | None = None) -> None:
        mu, tau = numpyro.sample("mu", dist.Normal(0.0, 5.0)), numpyro.sample("tau", dist.HalfCauchy(5.0))
        with numpyro.plate("school", len(ERROR)):
            theta = numpyro.deterministic("theta", mu + tau * numpyro.sample("z", dist.Normal(0.0, 1.0)))
            numpyro.sample("effect", dist.Normal(theta, ERROR), obs=effect)

    run = numpyro.infer.MCMC(numpyro.infer.NUTS(model), num_warmup=WARMUP, num_samples=DRAWS, num_chains=CHAINS, progress_bar=False)
    run.run(jax.random.PRNGKey(1), effect=EFFECT, extra_fields=("diverging", "energy", "num_steps", "accept_prob", "potential_energy"))
    return az.from_numpyro(run, coords={"school": SCHOOLS}, dims={"theta": ["school"], "z": ["school"]})


if __name__ == "__main__":
    for name, made in (("pymc", pymc), ("numpyro", numpyro)):
        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(HERE / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            file = Path(folder) / f"{name}.nc"
            made().to_netcdf(str(file), engine="h5netcdf", compress=False)
            archive.write(file, file.name)
