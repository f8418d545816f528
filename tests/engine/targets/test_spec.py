"""The registry: every family is reachable by name, with declared parameters and no second table that could disagree."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.spec import SpecError
from engine.targets import FAMILIES, FormulaError, TargetError, TargetSpec, build, parameters_of

DECLARATIONS = TargetSpec.declarations()


@pytest.mark.parametrize("name", FAMILIES)
def test_parameters_of_a_family_are_declared_with_the_builder_s_default(name: str) -> None:
    for parameter in inspect.signature(FAMILIES[name]).parameters.values():
        assert parameter.name in DECLARATIONS
        assert parameter.default == TargetSpec.default(parameter.name)
    assert parameters_of(name) == tuple(inspect.signature(FAMILIES[name]).parameters)


def test_every_declared_parameter_belongs_to_a_family() -> None:
    used = {parameter for name in FAMILIES for parameter in parameters_of(name)}
    assert used == set(DECLARATIONS) - {"target"}


@pytest.mark.parametrize("name", FAMILIES)
def test_spec_builds_the_target(name: str) -> None:
    target = TargetSpec(target=name).build_target()
    assert target.name == name
    assert target.truth is not None
    assert target.log_density(target.truth.mean) < 50.0


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "formula"])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_every_allowed_value_builds(name: str, data: st.DataObject) -> None:
    """Also at the ends of the ranges, where a builder could refuse or overflow."""
    values: dict[str, object] = {}
    for parameter in parameters_of(name):
        declaration = DECLARATIONS[parameter]
        ends = st.sampled_from([declaration.low, declaration.high])
        if declaration.kind == "integer":
            values[parameter] = data.draw(st.integers(int(declaration.low), 20) | ends)
        else:
            values[parameter] = data.draw(st.floats(declaration.low, declaration.high) | ends)
    target = TargetSpec(target=name, **values).build_target()  # type: ignore[arg-type]
    assert target.truth is not None
    value, gradient = target.log_density_and_gradient([0.1] * target.dim)
    assert np.isfinite(value) and np.all(np.isfinite(gradient))
    assert gradient.shape == (target.dim,)


def test_targets_are_built_once_per_relevant_parameters() -> None:
    first = TargetSpec(target="banana", width=2.0)
    assert first.build_target() is first.replace(radius=7.0).build_target()
    assert first.build_target() is build("banana", curvature=0.5, width=2.0)
    assert first.build_target() is not first.replace(width=2.5).build_target()


def test_subclass_adds_its_own_fields() -> None:
    from dataclasses import dataclass

    from engine.spec import number

    @dataclass(frozen=True, kw_only=True)
    class Lesson(TargetSpec):
        step: float = number(0.5, 0.1, 1.0, "a setting of the lesson")

    spec = Lesson(target="ring", step=0.7)
    assert spec.build_target().name == "ring"
    assert next(iter(Lesson.declarations())) == "target" and "step" in Lesson.declarations()


@pytest.mark.parametrize(
    ("values", "parameter"),
    [
        ({"target": "bananas"}, "target"),
        ({"correlation": 1.0}, "correlation"),
        ({"dimension": 1}, "dimension"),
        ({"dimension": 2.5}, "dimension"),
        ({"formula": "x" * 501}, "formula"),
        ({"target": "formula", "formula": "x +"}, "formula"),
    ],
)
def test_wrong_values_name_the_parameter(values: dict[str, object], parameter: str) -> None:
    with pytest.raises(SpecError) as caught:
        TargetSpec(**values)  # type: ignore[arg-type]
    assert caught.value.parameter == parameter


def test_formula_of_another_target_is_not_read() -> None:
    assert TargetSpec(target="ring", formula="x +").build_target().name == "ring"


def test_build_names_what_is_wrong() -> None:
    with pytest.raises(SpecError, match="pear"):
        build("pear")
    with pytest.raises(SpecError, match="radius: the target banana has width, curvature"):
        build("banana", radius=1.0)
    with pytest.raises(SpecError, match="width"):
        build("banana", width=1e9)
    with pytest.raises(FormulaError):
        build("formula", formula="x +")
    with pytest.raises(TargetError, match="integrate"):
        TargetSpec(target="formula", formula="0").build_target()
