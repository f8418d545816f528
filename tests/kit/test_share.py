"""Links: every spec comes back exactly, and nothing hostile is taken silently."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kit import share
from app.kit.assets import STATIC
from engine.spec import MAX_SEED, Spec, SpecError, choice, integer, number, points, seed_field, text


@dataclass(frozen=True, kw_only=True)
class RunSpec(Spec):
    """A field of every kind."""

    step: float = number(0.1, 1e-6, 1e6, "step", log=True)
    shift: float = number(0.0, -5.0, 5.0, "shift")
    draws: int = integer(1000, 10, 5000, "draws")
    target: str = choice("ring", ("ring", "funnel", "two modes"), "target")
    formula: str = text("", 60, "formula")
    marks: tuple = points(5, "points")
    seed: int = seed_field()

    def check(self) -> None:
        if self.target == "funnel" and self.draws > 2000:
            raise SpecError("draws", "the funnel takes at most 2000")


finite = st.floats(allow_nan=False, allow_infinity=False)
specs = st.builds(
    RunSpec,
    step=st.floats(1e-6, 1e6),
    shift=st.floats(-5, 5),
    draws=st.integers(10, 2000),
    target=st.sampled_from(("ring", "funnel", "two modes")),
    formula=st.text(max_size=60),
    marks=st.lists(st.tuples(finite, finite, st.integers(-10, 10)), max_size=5).map(tuple),
    seed=st.integers(0, MAX_SEED),
)


def through_the_address_bar(query: dict[str, str]) -> dict[str, list[str]]:
    """What comes back from a link."""
    return parse_qs(urlsplit(share.address("http://lab.example/hmc", query)).query, keep_blank_values=True)


@given(specs)
def test_every_spec_comes_back_exactly(spec: RunSpec):
    back, problems = share.decode(RunSpec, through_the_address_bar(share.encode(spec)))
    assert not problems
    assert back == spec
    assert math.copysign(1, back.shift) == math.copysign(1, spec.shift), "minus zero too"


@given(specs)
def test_a_link_does_not_lean_on_defaults(spec: RunSpec):
    assert set(share.encode(spec)) == {"v", *RunSpec.declarations()}


@given(specs, st.sampled_from([None, "first"]), st.booleans(), st.sets(st.sampled_from(["step", "draws", "seed"])))
def test_the_view_comes_back(spec: RunSpec, scenario: str | None, present: bool, hide: set[str]):
    raw = through_the_address_bar(share.write(spec, scenario, present, sorted(hide)))
    link = share.read(RunSpec, raw, {"first": RunSpec(step=3.0)})
    assert link == share.Link(spec, scenario, present, tuple(sorted(hide)))


hostile = st.dictionaries(
    st.one_of(st.sampled_from([*share.RESERVED, *RunSpec.declarations()]), st.text(max_size=50)),
    st.lists(st.text(max_size=300), min_size=1, max_size=3),
    max_size=6,
)


@given(hostile)
def test_nothing_hostile_raises_or_passes_silently(raw: dict[str, list[str]]):
    link = share.read(RunSpec, raw, {"first": RunSpec()})
    named = {problem.parameter for problem in link.problems}
    for name, given_values in raw.items():
        if name not in share.RESERVED and name in RunSpec.declarations() and name not in named:
            assert share.encode(link.spec)[name] == given_values[0] or _same_number(share.encode(link.spec)[name], given_values[0])
    for problem in link.problems:
        assert len(problem.parameter) <= 41 and "\n" not in problem.message


def _same_number(a: str, b: str) -> bool:
    return float(a) == float(b)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("step", "nan", "not a number"),
        ("step", "inf", "not a number"),
        ("step", "-Infinity", "not a number"),
        ("step", "1e400", "not a finite number"),
        ("step", "", "not a number"),
        ("step", " 1", "not a number"),
        ("step", "1_0", "not a number"),
        ("step", "0x10", "not a number"),
        ("step", "１２", "not a number"),
        ("step", "1" * 33, "not a number"),
        ("step", "0", "outside"),
        ("draws", "9", "outside 10 to 5,000"),
        ("draws", "5001", "outside"),
        ("draws", "1e3", "not a whole number"),
        ("draws", "10.0", "not a whole number"),
        ("draws", "１２", "not a whole number"),
        ("draws", "9" * 5000, "not a whole number"),
        ("draws", "9" * 30, "outside"),
        ("seed", "-1", "outside"),
        ("seed", str(MAX_SEED + 1), "4,294,967,296 is outside 0 to 4,294,967,295"),
        ("target", "Ring", "not one of ring, funnel, two modes"),
        ("target", "", "not one of"),
        ("formula", "x" * 61, "61 characters"),
        ("marks", "1,2", "not x,y,class"),
        ("marks", "1,2,3;", "not x,y,class"),
        ("marks", "1,nan,3", "not a number"),
        ("marks", "1,1e999,3", "not finite"),
        ("marks", ";" * 10_000, "points are more than the 5 allowed"),
        ("steps", "3", "not a parameter"),
        ("Step", "3", "not a parameter"),
        ("v", "2", "version 1"),
        ("v", "", "version 1"),
    ],
)
def test_each_fault_gives_one_problem_that_names_it(name: str, value: str, says: str):
    spec, problems = share.decode(RunSpec, {name: [value]})
    assert spec == RunSpec()
    assert [problem.parameter for problem in problems] == [name]
    assert says in problems[0].message


@pytest.mark.parametrize("name", ["", " "])
def test_a_parameter_without_a_name_is_shown_as_one(name: str):
    _, (problem,) = share.decode(RunSpec, {name: ["1"]})
    assert problem.parameter == "“”"


@pytest.mark.parametrize(
    ("query", "frame"),
    [
        ({"frame": "12"}, share.Frame((11, None))),
        ({"frame": "12.3", "speed": "0.25", "slow": "1"}, share.Frame((11, 2), 0.25, True)),
        ({"speed": "512", "slow": "0"}, share.Frame(speed=512.0)),
    ],
)
def test_a_frame_is_read_as_readers_count(query: dict[str, str], frame: share.Frame):
    link = share.read(RunSpec, through_the_address_bar(query), {"first": RunSpec()})
    assert link.frame == frame and not link.problems and link.scenario == "first"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("frame", value) for value in ("", "0", "1.0", "-1", "1.", ".5", "1e3", "１２", "9" * 5000, "1.1.1", "12 ", "nan")),
        *(("speed", value) for value in ("", "3", "0", "-1", "1e400", "nan", "1.0", "1024", "x" * 300)),
        *(("slow", value) for value in ("", "2", "true", "１")),
    ],
)
def test_a_hostile_frame_gives_one_problem_and_the_play_of_the_step(name: str, value: str):
    link = share.read(RunSpec, {name: [value]}, {"first": RunSpec()})
    assert [problem.parameter for problem in link.problems] == [name]
    assert link.frame == share.Frame()
    twice = share.read(RunSpec, {name: ["1", "1"]}, {"first": RunSpec()})
    assert "2 times" in twice.problems[0].message and twice.frame == share.Frame()


def test_the_speeds_are_those_of_the_player():
    told = re.search(r"SPEEDS = \[(.*?)\]", (STATIC / "clock.js").read_text(encoding="utf-8"))
    assert told is not None and tuple(map(float, told[1].split(","))) == share.SPEEDS


def test_a_repeated_parameter_is_not_one_of_them():
    spec, problems = share.decode(RunSpec, {"draws": ["300", "400"]})
    assert spec.draws == 1000
    assert problems == (share.Problem("draws", "was given 2 times; “1000” was used"),)


def test_good_values_survive_bad_neighbours():
    spec, problems = share.decode(RunSpec, {"draws": ["300"], "step": ["x"]})
    assert spec.draws == 300 and len(problems) == 1


def test_rules_between_fields_drop_the_field_they_name():
    spec, problems = share.decode(RunSpec, {"draws": ["3000"], "target": ["funnel"]})
    assert (spec.draws, spec.target) == (1000, "funnel")
    assert "at most 2000" in problems[0].message


def test_a_rule_that_names_an_absent_field_keeps_the_base():
    base = RunSpec(draws=3000)
    spec, problems = share.decode(RunSpec, {"target": ["funnel"], "step": ["2"]}, base)
    assert spec == base and [problem.parameter for problem in problems] == ["draws"]


def test_values_override_the_scenario():
    link = share.read(RunSpec, {"scenario": ["small"], "draws": ["50"]}, {"small": RunSpec(step=0.01)})
    assert (link.spec.step, link.spec.draws, link.scenario) == (0.01, 50, "small")


@pytest.mark.parametrize(
    ("raw", "parameter"),
    [
        ({"scenario": ["nope"]}, "scenario"),
        ({"scenario": ["small", "small"]}, "scenario"),
        ({"present": ["yes"]}, "present"),
        ({"hide": ["draws,colour"]}, "hide"),
    ],
)
def test_a_bad_view_says_so(raw: dict[str, list[str]], parameter: str):
    link = share.read(RunSpec, raw, {"small": RunSpec()})
    assert [problem.parameter for problem in link.problems] == [parameter]
    assert link.spec == RunSpec() and link.scenario == "small" and not link.present


def test_long_and_unprintable_values_are_shown_short_and_clean():
    _, problems = share.decode(RunSpec, {"target": ["\u202e<script>\n" + "y" * 500], "n\x00" * 99: ["1"]})
    for problem in problems:
        assert len(problem.message) < 150 and len(problem.parameter) <= 41
        assert problem.message.isprintable() and problem.parameter.isprintable()


def test_an_address_keeps_the_page_only():
    assert share.address("https://lab.example/base/hmc?old=1#there", {"a": "x y&ü"}) == "https://lab.example/base/hmc?a=x+y%26%C3%BC"


def test_a_number_beyond_any_float_is_refused_with_its_field():
    with pytest.raises(SpecError, match="draws: such a number is outside 10 to 5,000"):
        RunSpec(draws=10**400)


def test_an_authored_spec_is_checked_when_a_reader_changes_it():
    delivered = RunSpec.authored(target="funnel", draws=3000)
    assert delivered.draws == 3000
    with pytest.raises(SpecError, match="at most 2000"):
        delivered.replace(seed=2)
    with pytest.raises(SpecError, match="step"):
        RunSpec.authored(step=0.0)
    with pytest.raises(SpecError, match="at most 2000"):
        RunSpec(target="funnel", draws=3000)
