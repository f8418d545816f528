"""Formulas: what is read, how it is computed, what is refused. Values are compared with Python's own arithmetic."""

from __future__ import annotations

import math
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from scipy import special

from engine.targets import FormulaError, TargetError, formula_target
from engine.targets.formula import CONSTANTS, FUNCTIONS, MAX_LENGTH, MAX_NESTING, VARIABLES, parse, unchecked_target
from tests.engine.targets.checks import central_difference

# An independent evaluator: trees with their own rendering and their own arithmetic ------------------------------------

UNARY = {
    "exp": math.exp,
    "log": math.log,
    "ln": math.log,
    "log1p": math.log1p,
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "tanh": math.tanh,
    "abs": abs,
    "sigmoid": special.expit,
    "softplus": lambda u: np.logaddexp(0.0, u),
    "lgamma": lambda u: math.lgamma(u) if u > 0 else math.nan,
}
BINARY = {
    "+": (10, lambda u, v: u + v),
    "-": (10, lambda u, v: u - v),
    "*": (20, lambda u, v: u * v),
    "/": (20, lambda u, v: u / v),
    "^": (30, lambda u, v: math.pow(u, v)),
}
SEVERAL = {"min": min, "max": max, "logsumexp": lambda *a: special.logsumexp(a)}


@dataclass(frozen=True)
class Tree:
    """A node: `kind` is "number", "name", "sign", "call" or an operator; `args` its children."""

    kind: str
    text: str
    args: tuple[Tree, ...] = ()

    def value(self, x: float, y: float) -> float:
        if self.kind == "number":
            return float(self.text)
        if self.kind == "name":
            return {"x": x, "y": y, "pi": math.pi, "e": math.e}[self.text]
        values = [a.value(x, y) for a in self.args]
        if any(math.isnan(v) for v in values):
            return math.nan
        if self.kind == "sign":
            return -values[0]
        try:
            if self.kind == "call":
                return float((UNARY.get(self.text) or SEVERAL.get(self.text) or math.pow)(*values))
            return float(BINARY[self.text][1](*values))
        except (ValueError, ZeroDivisionError, OverflowError):
            return math.nan

    def strength(self) -> int:
        return {"operator": BINARY.get(self.text, (0,))[0], "sign": 25}.get(self.kind, 100)

    def render(self, gap: str = " ") -> str:
        """With as few parentheses as the grammar allows, so that precedence and associativity are put to the test."""
        if self.kind in ("number", "name"):
            return self.text
        if self.kind == "call":
            return f"{self.text}({gap}{f',{gap}'.join(a.render(gap) for a in self.args)}{gap})"
        if self.kind == "sign":
            (inner,) = self.args
            return f"-{inner.render(gap) if inner.strength() >= 25 else f'({inner.render(gap)})'}"
        left, right = self.args
        mine, to_the_right = self.strength(), self.text == "^"
        bare_left = left.strength() > mine or (left.strength() == mine and not to_the_right)
        bare_right = right.strength() > mine or (right.strength() == mine and to_the_right) or right.kind == "sign"
        first = left.render(gap) if bare_left else f"({left.render(gap)})"
        second = right.render(gap) if bare_right else f"({right.render(gap)})"
        return f"{first}{gap}{self.text}{gap}{second}"


def trees() -> st.SearchStrategy[Tree]:
    numbers = st.sampled_from(["0", "1", "2", "3", "0.5", ".25", "1e-3", "2.5E+1", "7.", "12"]).map(lambda t: Tree("number", t))
    names = st.sampled_from(["x", "y", "x", "y", "pi", "e"]).map(lambda t: Tree("name", t))

    def grow(children: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        return st.one_of(
            st.tuples(st.sampled_from(sorted(BINARY)), children, children).map(lambda t: Tree("operator", t[0], t[1:])),
            children.map(lambda c: Tree("sign", "-", (c,))),
            st.tuples(st.sampled_from(sorted(UNARY)), children).map(lambda t: Tree("call", t[0], (t[1],))),
            st.tuples(st.sampled_from(sorted(SEVERAL)), st.lists(children, min_size=2, max_size=4)).map(
                lambda t: Tree("call", t[0], tuple(t[1]))
            ),
            st.tuples(children, children).map(lambda t: Tree("call", "pow", t)),
        )

    return st.recursive(numbers | names, grow, max_leaves=12)


POINTS = [(0.3, -0.7), (1.5, 2.5), (-2.2, 0.4), (0.0, 1.0), (3.0, -3.0)]


@settings(max_examples=400, deadline=None)
@given(tree=trees(), gap=st.sampled_from(["", " ", "\t\n"]))
@example(Tree("sign", "-", (Tree("operator", "^", (Tree("name", "x"), Tree("number", "2"))),)), "")
@example(Tree("operator", "^", (Tree("sign", "-", (Tree("name", "x"),)), Tree("number", "2"))), "")
def test_formula_means_what_the_tree_means(tree: Tree, gap: str) -> None:
    text = tree.render(gap)
    assume(len(text) <= MAX_LENGTH)
    try:
        target = unchecked_target(text)
    except FormulaError as error:  # only a part without a variable may be refused, for having no finite value
        assert "no finite value" in error.message or f"more than {MAX_NESTING}" in error.message
        assert any(not math.isfinite(part.value(0.0, 0.0)) for part in constant_parts(tree)) or "deep" in error.message
        return
    for x, y in POINTS:
        expected, got = tree.value(x, y), target.log_density([x, y])
        if not math.isfinite(expected):
            assert got == -math.inf or math.isfinite(got)  # where the order of rounding decides between overflow and not
        elif abs(expected) < 1e10:
            assert got == pytest.approx(expected, rel=1e-8, abs=1e-8) or rounding_decides(tree, x, y)


def constant_parts(tree: Tree) -> list[Tree]:
    def depends(t: Tree) -> bool:
        return t.text in ("x", "y") or any(depends(a) for a in t.args)

    parts = [p for a in tree.args for p in constant_parts(a)]
    return parts if depends(tree) else [*parts, tree]


def rounding_decides(tree: Tree, x: float, y: float) -> bool:
    """Whether the value changes much within a few rounding errors of the point: cancellation, a border, a pole."""
    values = [tree.value(x * (1 + a * 1e-12) + a * 1e-13, y * (1 + b * 1e-12) + b * 1e-13) for a in (-1, 0, 1) for b in (-1, 0, 1)]
    return not all(math.isfinite(v) and abs(v - values[4]) < 1e-9 * (1 + abs(values[4])) for v in values) or ill_conditioned(tree, x, y)


def ill_conditioned(tree: Tree, x: float, y: float) -> bool:
    """Whether an intermediate result is so large that its rounding error is felt in the end (as in sin(1e25))."""
    value = tree.value(x, y)
    return math.isfinite(value) and (abs(value) > 1e6 or any(ill_conditioned(a, x, y) for a in tree.args))


LARGER = Tree("call", "max", (Tree("name", "x"), Tree("name", "y")))
CUBE_OF_THE_LARGER = Tree("call", "pow", (LARGER, Tree("number", "3")))  # its kink at x = y is too flat there to be noticed


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(tree=trees(), thousandths=st.tuples(st.integers(-3000, 3000), st.integers(-3000, 3000)))
@example(tree=CUBE_OF_THE_LARGER, thousandths=(9, 9))
def test_gradient_is_that_of_the_value(tree: Tree, thousandths: tuple[int, int]) -> None:
    try:
        target = unchecked_target(tree.render())
    except FormulaError:
        assume(False)
    point = np.array(thousandths) / 1000.0 + [1.7e-4, 4.7e-4]  # on no kink, as max(x, y) has: the derivative there is a convention
    around = [target.log_density(point + 2e-4 * np.array([a, b])) for a in (-1, 0, 1) for b in (-1, 0, 1)]
    assume(all(math.isfinite(v) and abs(v) < 1e5 for v in around))
    slope, error = central_difference(target.log_density, point)
    again, _ = central_difference(target.log_density, point, step=3e-5)
    # finite differences must agree with themselves: kinks, steep places and ill-conditioned formulas are not judged
    assume(np.all(np.abs(slope - again) < 1e-5 * (1 + np.abs(slope))) and np.all(error < 1e-3 * (1 + np.abs(slope))))
    # and so must the slopes on both sides: a kink at the point itself fools every central difference
    left_x, right_x, left_y, right_y = around[1], around[7], around[3], around[5]
    bend = np.abs([left_x + right_x - 2 * around[4], left_y + right_y - 2 * around[4]]) / 2e-4
    assume(np.all(bend < 0.02 * (1 + np.abs(slope))))
    gradient = target.log_density_and_gradient(point)[1]
    assert np.all(np.abs(gradient - slope) < 1e-4 * (1.0 + np.abs(slope)) + 10.0 * error)


# Every function and operator by itself --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_function(name: str) -> None:
    arity = FUNCTIONS[name][1]
    formula = {1: f"{name}(x)", 2: f"{name}(x, y)", -2: f"{name}(x, y, 0.4)"}[arity]
    reference = UNARY.get(name) or SEVERAL.get(name) or math.pow
    target = unchecked_target(formula)
    for x in np.linspace(0.07, 5.3, 23):
        arguments = {1: (x,), 2: (x, 1.7), -2: (x, 1.7, 0.4)}[arity]
        assert target.log_density([x, 1.7]) == pytest.approx(reference(*arguments), rel=1e-13, abs=1e-14)
        slope, error = central_difference(target.log_density, np.array([x, 1.7]))
        gradient = target.log_density_and_gradient([x, 1.7])[1]
        assert np.all(np.abs(gradient - slope) < 1e-8 * (1 + np.abs(slope)) + error)


def test_digamma_to_full_precision() -> None:
    target = unchecked_target("lgamma(x)")
    for x in (1e-5, 0.1, 0.5, 1.0, 1.4616, 2.5, 7.99, 8.0, 20.0, 1e6, 1e12):
        assert target.log_density_and_gradient([x, 0.0])[1][0] == pytest.approx(special.digamma(x), rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 17, 32, 33, 0, -1, -3])
def test_whole_powers(n: int) -> None:
    target = unchecked_target(f"x^{n}")
    for x in (-1.3, 0.6, 2.1):
        value, gradient = target.log_density_and_gradient([x, 0.0])
        assert value == pytest.approx(x**n, rel=1e-13)
        assert gradient[0] == pytest.approx(n * x ** (n - 1), rel=1e-12)


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("-x^2", -9.0),
        ("(-x)^2", 9.0),
        ("2^3^2", 512.0),
        ("2^-x", 0.125),
        ("2^-x^2", 2.0**-9),
        ("-2^2", -4.0),
        ("x - 1 - 1", 1.0),
        ("12 / 2 / 3", 2.0),
        ("x * -y", 6.0),
        ("x--y", 1.0),
        ("+x", 3.0),
        ("6/x*2", 4.0),
        ("x**2", 9.0),
        ("x² · 2 − y³", 26.0),
        ("2^x²", 512.0),
        ("-x²", -9.0),
        ("x⁻¹²", 3.0**-12),
        ("π × x ÷ 3", math.pi),
        ("1e-3*x + .5 + 2.", 2.503),
        ("min(x, y, 1)", -2.0),
        ("max(x, max(y, 5))", 5.0),
        ("e", math.e),
        ("2*pi", 2 * math.pi),
        ("x where x > 0, y < 0", 3.0),
        ("x where x > 0 and y < 0", 3.0),
        ("x where -5 < y < x < 4", 3.0),
        ("x where 4 >= x ≥ 3 and y ≤ -2", 3.0),
    ],
)
def test_reading(formula: str, value: float) -> None:
    assert unchecked_target(formula).log_density([3.0, -2.0]) == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize(
    "formula",
    [
        "x where x < 0",
        "x where x > 3",
        "x where x >= 3.0001",
        "x where 0 < x < 3",
        "x where x > 0, y > 0",
        "x where log(y) < 5",
        "log(y)",
        "sqrt(y)",
        "log1p(y)",
        "lgamma(y)",
        "y^0.5",
        "log(y)^0",
        "pow(1, log(y))",
        "0*log(y)",
        "max(0, log(y))",
        "min(log(y), 0)",
        "max(log(y), 0)",
        "softplus(log(y))",
        "logsumexp(log(y), 1)",
        "sigmoid(sqrt(y))",
        "x/(y+2)",
        "1/(y+2)^2",
        "-log(y+2)",
        "exp(1000*x)",
        "-exp(1000*x)",
        "abs(log(y))",
        "0 / (y + 2)",
        "tanh(log(y))",
        "x^1e300",
        "lgamma(y + 2)",
    ],
)
def test_impossible_points_have_density_zero(formula: str) -> None:
    """Constraints, domain errors, poles and overflow at (3, -2): -inf with gradient 0, whatever stands around them."""
    value, gradient = unchecked_target(formula).log_density_and_gradient([3.0, -2.0])
    assert value == -math.inf
    assert np.all(gradient == 0.0)


@pytest.mark.parametrize(
    ("formula", "gradient"),
    [
        ("abs(x - 3)", (0.0, 0.0)),
        ("max(x, 3)", (1.0, 0.0)),
        ("max(3, x)", (0.0, 0.0)),
        ("min(x, 3)", (1.0, 0.0)),
        ("-sqrt((x-3)^2 + (y+2)^2)", (0.0, 0.0)),
        ("y + sqrt(x - 3)", (0.0, 1.0)),
        ("(x - 3)^0 + y", (0.0, 1.0)),
        ("exp(log(max(x - 9, 0))) - y", (0.0, -1.0)),
        ("logsumexp(log(max(y, 0)), x)", (1.0, 0.0)),
        ("logsumexp(pow(max(y, 0), x), x)", (1.0 / (1.0 + math.exp(-3.0)), 0.0)),
        ("y + tanh(exp(exp(3*x)))", (0.0, 1.0)),
        ("y + exp(-exp(exp(3*x)))", (0.0, 1.0)),
        ("x + 1/(1/max(y, 0))", (1.0, 0.0)),
        ("y + tanh(exp(exp(3*x)) * x)", (0.0, 1.0)),
    ],
)
def test_documented_derivatives_where_there_is_none(formula: str, gradient: tuple[float, float]) -> None:
    got = unchecked_target(formula).log_density_and_gradient([3.0, -2.0])[1]
    assert tuple(got) == pytest.approx(gradient)


def test_constants_are_folded() -> None:
    assert len(parse("-x^2 / (2 * 0.5^2)").opcodes) == 5  # x, square, negate, constant, divide
    assert len(parse("sin(pi/4)*x").opcodes) == 3


# Errors ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "position", "words"),
    [
        ("", 0, "type a log density"),
        ("   ", 3, "type a log density"),
        ("x +", 3, "too early"),
        ("x + * y", 4, "'\\*' cannot stand here"),
        ("2x", 1, "write \\* to multiply"),
        ("x y", 2, "write \\* to multiply"),
        ("x(y)", 1, "write \\* to multiply"),
        ("x + z", 4, "'z' is not known"),
        ("squrt(x)", 0, "did you mean sqrt"),
        ("Exp(x)", 0, "did you mean exp"),
        ("(x + y", 6, "'\\)' is missing"),
        ("x + y)", 5, "'\\)' cannot stand here"),
        ("()", 1, "cannot stand here"),
        ("exp x", 4, "write exp\\(...\\)"),
        ("exp()", 4, "cannot stand here"),
        ("exp(x, y)", 0, "exp takes 1 argument, not 2"),
        ("pow(x)", 0, "pow takes 2 arguments, not 1"),
        ("pow(x, y, 1)", 0, "pow takes 2 arguments, not 3"),
        ("max(x)", 0, "max takes two or more"),
        ("|x|", 0, "write abs"),
        ("√x", 0, "write sqrt"),
        ("x = 1", 2, "the log density alone"),
        ("x > 0", 2, "where x > 0"),
        ("x if x > 0", 2, "begin with the word where"),
        ("x where", 7, "too early"),
        ("x where x", 9, "needs <"),
        ("x where x > 0,", 14, "too early"),
        ("x where x > 0 y", 14, "write \\* to multiply"),
        ("x where and", 8, "cannot stand here"),
        ("x, y", 1, "',' cannot stand here"),
        ("x + 1e999", 4, "too large"),
        ("x^⁹", 2, "cannot stand here"),
        ("x + log(0-1)", 4, "no finite value"),
        ("x + 1/0", 5, "no finite value"),
        ("x + 10^400", 6, "no finite value"),
        ("__import__('os')", 11, "no meaning"),
        ("__import__", 0, "not known"),
        ("x.real", 1, "no meaning"),
        ("x; y", 1, "comma"),
        ("x\x00", 1, "no meaning"),
        ("x + \u202e", 4, "no meaning"),
        ("x + 🍌", 4, "no meaning"),
        ("x + ٣", 4, "no meaning"),
        ("x + y # comment", 6, "no meaning"),
        ("lambda: x", 6, "no meaning"),
        ("eval(x)", 0, "not known"),
    ],
)
def test_errors_point_at_the_place(formula: str, position: int, words: str) -> None:
    with pytest.raises(FormulaError, match=words) as caught:
        parse(formula)
    error = caught.value
    assert error.position == position
    assert isinstance(error, TargetError) and f"at character {position + 1}" in str(error)
    first, second = error.pointer().split("\n")
    assert len(first) == len(formula) and second == " " * position + "^"
    assert pickle.loads(pickle.dumps(error)).pointer() == error.pointer()


@pytest.mark.parametrize(
    "formula",
    [
        "(" * 250 + "x" + ")" * 250,
        "-" * 499 + "x",
        "x" + "^x" * 249,
        "exp(" * 100 + "x" + ")" * 100,
        "(" * 500,
        "2^" * 200 + "x",
        "x" * 501,
        "x" + "+x" * 300,
    ],
)
def test_deep_and_long_formulas_are_refused(formula: str) -> None:
    with pytest.raises(FormulaError, match=r"deep|characters"):
        parse(formula)


@pytest.mark.parametrize("formula", ["x" + "+x" * 249, "x" + "*y" * 249, "1" * 300 + "*x", "max(" + "x," * 240 + "y)", "x" + "⁹" * 200])
def test_long_formulas_within_the_limit_run(formula: str) -> None:
    try:
        target = unchecked_target(formula)
    except FormulaError as error:
        assert "too large" in error.message
        return
    assert not math.isnan(target.log_density([0.5, 0.5]))


@settings(max_examples=500, deadline=None)
@given(st.text(max_size=60) | st.text(alphabet="xy0123456789.eE+-*/^(),<>= wherandminpoglstq²π−", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        target = unchecked_target(text)
    except FormulaError as error:
        assert 0 <= error.position <= len(text)
        error.pointer()
        return
    for q in ([0.3, -0.7], [0.0, 0.0], [1e300, -1e300], [math.inf, math.nan]):
        value, gradient = target.log_density_and_gradient(q)
        assert value < math.inf and np.all(np.isfinite(gradient))


def test_names_do_not_collide() -> None:
    assert not set(FUNCTIONS) & set(CONSTANTS) and not set(VARIABLES) & (set(FUNCTIONS) | set(CONSTANTS))


# Targets --------------------------------------------------------------------------------------------------------------


def test_formula_target_knows_its_truth() -> None:
    target = formula_target(formula="-x^2/2 - (y - x^2)^2")
    assert target.truth is not None and target.truth.source == "quadrature"
    assert target.labels == ("x", "y")
    assert target.truth.log_normaliser == pytest.approx(math.log(math.sqrt(2 * math.pi) * math.sqrt(math.pi)), abs=1e-9)
    assert target.truth.mean == pytest.approx([0.0, 1.0], abs=1e-9)
    assert target.truth.covariance == pytest.approx(np.diag([1.0, 2.5]), abs=1e-8)


def test_one_kernel_runs_every_formula() -> None:
    assert formula_target(formula="-x^2-y^2").address == formula_target(formula="-abs(x) - abs(y)").address
