"""What every test shares: the root on the path, and a run report that names what was not run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import numpy as np
import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))
os.environ.setdefault("STREAMLIT_SERVER_HEADLESS", "true")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the engine sets it, for tests that load scipy first

SHIFT_VARIABLE = "POSTERIOR_LAB_SEED_SHIFT"  # a whole number: every seed of the run is another one


def shift_seeds(by: int) -> None:
    """Let every generator of NumPy that is seeded by a number begin elsewhere, but for those of data sets, of which
    lessons tell: a test that holds for one seed only is found by that (`make test-cpus`).
    """
    sequence = np.random.SeedSequence

    def shifted_sequence(entropy: object = None, **arguments: object) -> np.random.SeedSequence:
        given = list(entropy) if isinstance(entropy, (list, tuple, np.ndarray)) else [entropy]
        kept = entropy is None or _of_data_sets(sys._getframe(1))
        return sequence(entropy if kept else [*given, by], **arguments)  # type: ignore[arg-type]

    def shifted(make: type) -> object:
        def begin(seed: object = None) -> object:
            plain = isinstance(seed, (int, np.integer, list, tuple, np.ndarray))
            return make(seed if not plain or _of_data_sets(sys._getframe(1)) else shifted_sequence(seed))

        return begin

    np.random.SeedSequence = shifted_sequence  # type: ignore[misc, assignment]
    for name in ("SFC64", "PCG64", "default_rng"):
        setattr(np.random, name, shifted(getattr(np.random, name)))


def _of_data_sets(caller: FrameType) -> bool:
    return Path(caller.f_code.co_filename).parent == ROOT / "datasets"


if os.environ.get(SHIFT_VARIABLE):
    shift_seeds(int(os.environ[SHIFT_VARIABLE]))

settings.register_profile("lab", deadline=None)  # a busy machine is not a slow program
settings.load_profile("lab")

DATA_VARIABLE = "POSTERIOR_LAB_DATA"


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of the data sets that are not bundled. Absent: the test is skipped, or fails under CI=true."""
    named = os.environ.get(DATA_VARIABLE)
    if named and Path(named).is_dir():
        return Path(named)
    reason = f"{DATA_VARIABLE} names no folder with the data sets that are not bundled"
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(reason)
    pytest.skip(reason)


# Families of tests with a case for each scenario, or each fault, of which the ordinary run takes a sample: the first
# and others evenly spread. The rest counts as long, as do loops over all faults of a page, whose table of power is
# sampled, too. By the name of the test, or with its module before it where tests elsewhere have that name.
SAMPLED = {
    "test_jumps::test_prior_recovery": 4,
    "test_jumps::test_architectures_have_their_posterior_probability": 3,
    "test_landing::test_architectures_have_their_posterior_probability": 6,
    "test_landing::test_prior_recovery": 5,
    "test_landing::test_joint_distribution_of_parameters_and_data": 4,
    "test_landing::test_mutants_are_caught": 3,
    "test_growing_xor::test_every_wrong_scheme_disagrees": 3,
    "test_the_signs": 1,
    "test_the_three_signs": 1,
    "test_the_signs_say": 1,
    "test_the_signs_say_what_is_right": 9,  # each scenario with its own seed
    "test_what_a_question_says": 1,
    "test_learned_scales_of_a_prior": 4,
    "test_the_signs_tell_right_from_wrong": 2,
    "test_planted_faults_turn_their_sign_red": 1,
    "test_planted_faults_turn_the_kernel_red": 2,
    "test_planted_faults_turn_run_and_numbers_red": 2,
    "test_a_fault_in_the_kernel_is_seen": 1,
    "test_a_wrong_kernel_is_red": 2,
    "test_a_wrong_nuts_is_red": 1,
    "test_exact_draws_stay_exact": 2,
    "test_two_samplers_have_the_same_numbers": 1,
    "test_the_jumps_of_layers_are_tried_without_the_table": 1,
    "test_right_jumps_pass_and_their_mistakes_do_not": 1,
    "test_right_jumps_pass_and_each_mistake_is_seen": 15,
    "test_wrong_draws_are_red": 1,
    "test_each_planted_fault_turns_a_proof_red": 8,
}


@pytest.hookimpl(tryfirst=True)  # before marks are asked for
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what the sample leaves out as long."""
    families: dict[tuple[Path, str], list[pytest.Item]] = {}
    for item in items:
        name = getattr(item, "originalname", item.name)
        here = f"{item.path.stem}::{name}"
        if here in SAMPLED or name in SAMPLED:
            families.setdefault((item.path, here if here in SAMPLED else name), []).append(item)
    for (_, name), cases in families.items():
        kept = {round(i * len(cases) / SAMPLED[name]) for i in range(SAMPLED[name])}
        for i, case in enumerate(cases):
            if i not in kept:
                case.add_marker(pytest.mark.long)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Closing lines: every skipped test by name, so that nothing is left out silently."""
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped:
        terminalreporter.write_line(f"NOT RUN: {len(skipped)}")
        for report in skipped:
            reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else ""
            terminalreporter.write_line(f"  {report.nodeid}: {str(reason).removeprefix('Skipped: ')}")


@pytest.fixture(scope="module", autouse=True)
def own_main() -> Iterator[None]:
    """Streamlit's tests of a script leave it in the place of the main module, which processes begin with: those of a
    later test would run that script, and break.
    """
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main
