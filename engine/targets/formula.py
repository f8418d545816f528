"""A target typed as a formula: the log density in `x` and `y`, or in other variables, any additive constant left out.

Grammar, in the order of binding (loosest first):

    target      expression [ "where" condition { ("," | "and") condition } ]
    condition   expression comparison expression { comparison expression }      comparison: < <= > >= (chains: -1 < x <
    1) expression  + and -,  then * and /,  then unary - and +,  then ^ or ** (right-associative, so -x^2 is -(x^2))
    atom        number (2, .5, 1e-3)   x   y   pi   e   function(expression, ...)   (expression)

Unicode is read kindly: − · × ÷ ≤ ≥ π and superscripts (x²). Outside its constraints, and where a function has no
value, the density is 0.

A tokenizer and a precedence-climbing parser emit a postfix program for `engine.targets.machine`; constant parts are
computed once. The text is never evaluated, executed or compiled. Source of the method: Pratt 1973, Top down operator
precedence.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from engine.targets import machine as m
from engine.targets.quadrature import EVALUATIONS, quadrature_truth
from engine.targets.target import Target, TargetError

MAX_LENGTH = 500  # characters
MAX_NESTING = 40  # of parentheses, signs and powers
SECONDS = 0.9  # that its quadrature may take, by the program's own estimate: the same on every machine

FUNCTIONS: dict[str, tuple[int, int, str]] = {
    # name: (opcode, arguments (-2: two or more), description)
    "exp": (m.EXP, 1, "exponential"),
    "log": (m.LOG, 1, "natural logarithm"),
    "ln": (m.LOG, 1, "natural logarithm"),
    "log1p": (m.LOG1P, 1, "log(1 + u)"),
    "sqrt": (m.SQRT, 1, "square root"),
    "sin": (m.SIN, 1, "sine"),
    "cos": (m.COS, 1, "cosine"),
    "tan": (m.TAN, 1, "tangent"),
    "tanh": (m.TANH, 1, "hyperbolic tangent"),
    "abs": (m.ABS, 1, "absolute value"),
    "sigmoid": (m.SIGMOID, 1, "1 / (1 + exp(-u))"),
    "softplus": (m.SOFTPLUS, 1, "log(1 + exp(u))"),
    "lgamma": (m.LGAMMA, 1, "log of the gamma function, u > 0"),
    "pow": (m.POWER, 2, "u ^ v"),
    "min": (m.MIN, -2, "smallest argument"),
    "max": (m.MAX, -2, "largest argument"),
    "logsumexp": (m.LOGADDEXP, -2, "log(exp(u) + exp(v) + ...): a mixture of densities"),
}
CONSTANTS = {"pi": math.pi, "π": math.pi, "e": math.e}
VARIABLES = {"x": m.X, "y": m.Y}

_BINARY = {"+": (10, m.ADD), "-": (10, m.SUBTRACT), "*": (20, m.MULTIPLY), "/": (20, m.DIVIDE), "^": (30, m.POWER)}
_SIGN = 25  # how strongly a sign binds: x * -y ^ 2 is x * (-(y ^ 2))
_COMPARISONS = {"<": m.LESS, "<=": m.LESS_EQUAL, ">": m.GREATER, ">=": m.GREATER_EQUAL}
_SPELLINGS = {"**": "^", "−": "-", "–": "-", "·": "*", "×": "*", "⋅": "*", "÷": "/", "≤": "<=", "≥": ">="}
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n\u00a0]+)
      | (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<name>[A-Za-z_][A-Za-z_0-9]*|π)
      | (?P<superscript>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)
      | (?P<symbol>\*\*|<=|>=|[-+*/^(),<>−–·×⋅÷≤≥])""",
    re.VERBOSE,
)


class FormulaError(TargetError):
    """A formula cannot be read.

    Attributes
    ----------
    message : what is wrong and what would be right
    position : index into the formula where it went wrong, from 0 to its length
    formula : the text
    """

    def __init__(self, message: str, position: int, formula: str = ""):
        super().__init__(f"{message} (at character {position + 1})")
        self.message = message
        self.position = position
        self.formula = formula

    def __reduce__(self) -> tuple[type[FormulaError], tuple[str, int, str]]:
        return FormulaError, (self.message, self.position, self.formula)

    def pointer(self) -> str:
        """Two lines: the formula, and a caret under the place."""
        shown = "".join(c if c.isprintable() else " " for c in self.formula)
        return f"{shown}\n{' ' * self.position}^"


class _Token(NamedTuple):
    kind: str  # "number", "name", "superscript", "symbol" or "end"
    text: str
    position: int


def _tokens(formula: str) -> list[_Token]:
    tokens, position = [], 0
    while position < len(formula):
        match = _TOKEN.match(formula, position)
        if match is None:
            raise FormulaError(f"{formula[position]!r} has no meaning here{_ADVICE.get(formula[position], '')}", position, formula)
        kind, text = str(match.lastgroup), match.group()
        if kind != "space":
            tokens.append(_Token(kind, _SPELLINGS.get(text, text), position))
        position = match.end()
    return [*tokens, _Token("end", "", len(formula))]


_ADVICE = {
    "|": ": write abs(...)",
    "√": ": write sqrt(...)",
    "=": ": write the log density alone; constraints use <, <=, >, >=",
    "[": ": use round parentheses",
    "{": ": use round parentheses",
    ";": ": separate constraints with a comma",
}


class _Parser:
    """Emits code in postfix order while it reads; `code` holds (opcode, constant)."""

    def __init__(self, formula: str, variables: Mapping[str, int]):
        self.formula, self.variables = formula, variables
        self.tokens = _tokens(formula)
        self.index = 0
        self.nesting = 0
        self.code: list[tuple[int, float]] = []

    def target(self) -> m.Program:
        if self.tokens[0].kind == "end":
            example = " - ".join(f"{name}^2/2" for name in self.variables)
            raise self.error(f"type a log density in {' and '.join(self.variables)}, for example -{example}")
        body = self.operand()
        constraints: list[tuple[int, float]] = []
        if self.take("where"):
            constraints += self.condition()
            while self.take(",") or self.take("and"):
                constraints += self.condition()
        if self.token.kind != "end":
            raise self.error(self.complaint())
        # constraints run first: outside them the body is not even evaluated
        return m.assemble(constraints + body)

    def condition(self) -> list[tuple[int, float]]:
        left = self.operand()
        if self.token.text not in _COMPARISONS:
            raise self.error("a constraint needs <, <=, > or >=")
        code: list[tuple[int, float]] = []
        while self.token.text in _COMPARISONS:
            opcode = _COMPARISONS[self.advance().text]
            right = self.operand()
            code += left + right + [(opcode, 0.0)]
            left = right
        return code

    def operand(self) -> list[tuple[int, float]]:
        """The code of one expression by itself."""
        outer, self.code = self.code, []
        self.expression(0)
        code, self.code = self.code, outer
        return code

    def expression(self, binding: int) -> None:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise self.error(f"nested more than {MAX_NESTING} deep")
        self.prefix()
        while True:
            token = self.token
            if token.kind == "superscript":
                if binding >= _BINARY["^"][0]:
                    break
                self.advance()
                self.emit_number(token.text.translate(_SUPERSCRIPTS), token)
                self.emit_operator(m.POWER, token)
            elif token.text in _BINARY:
                strength, opcode = _BINARY[token.text]
                if strength <= binding:
                    break
                self.advance()
                self.expression(strength - 1 if opcode == m.POWER else strength)
                self.emit_operator(opcode, token)
            else:
                break
        self.nesting -= 1

    def prefix(self) -> None:
        token = self.advance()
        if token.kind == "number":
            self.emit_number(token.text, token)
        elif token.text == "(":
            self.expression(0)
            self.expect(")")
        elif token.text == "-":
            self.expression(_SIGN)
            self.emit_function(m.NEGATE, token)
        elif token.text == "+":
            self.expression(_SIGN)
        elif token.kind == "name" and token.text not in ("where", "and"):
            self.name(token)
        elif token.kind == "end":
            raise self.error(f"the formula ends too early: a number, {self.either} or a function is missing", token)
        else:
            raise self.error(f"{token.text!r} cannot stand here: a number, {self.either} or a function is missing before it", token)

    def name(self, token: _Token) -> None:
        if token.text in self.variables:
            self.code.append((self.variables[token.text], 0.0))
        elif token.text in CONSTANTS:
            self.code.append((m.CONST, CONSTANTS[token.text]))
        elif token.text in FUNCTIONS:
            self.call(token)
        else:
            known = [*self.variables, *CONSTANTS, *FUNCTIONS]
            close = difflib.get_close_matches(token.text.lower(), known, 1)
            hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(k for k in known if k != 'π')}"
            raise self.error(f"{token.text[:30]!r} is not known: {hint}", token)

    def call(self, token: _Token) -> None:
        opcode, arity, _ = FUNCTIONS[token.text]
        if self.token.text != "(":
            raise self.error(f"write {token.text}(...)")
        self.advance()
        arguments = 1
        self.expression(0)
        while self.take(","):
            arguments += 1
            self.expression(0)
            if arity == -2:
                self.emit_operator(opcode, token)  # two by two: min(a, b, c) is min(min(a, b), c)
        self.expect(")")
        if arguments != arity and not (arity == -2 and arguments >= 2):
            wanted = "two or more arguments" if arity == -2 else "1 argument" if arity == 1 else f"{arity} arguments"
            raise self.error(f"{token.text} takes {wanted}, not {arguments}", token)
        if arity == 2:
            self.emit_operator(opcode, token)
        elif arity == 1:
            self.emit_function(opcode, token)

    def emit_number(self, text: str, token: _Token) -> None:
        value = float(text)
        if not math.isfinite(value):
            raise self.error("this number is too large", token)
        self.code.append((m.CONST, value))

    def emit_function(self, opcode: int, token: _Token, constant: float = 0.0) -> None:
        self.code.append((opcode, constant))
        self.fold(2, token)

    def emit_operator(self, opcode: int, token: _Token) -> None:
        last, exponent = self.code[-1]
        if opcode == m.POWER and last == m.CONST and exponent in range(1, m.LARGEST_INT_POWER + 1):
            self.code.pop()
            self.emit_function(m.SQUARE if exponent == 2 else m.POWER_INT, token, exponent)
            return
        self.code.append((opcode, 0.0))
        self.fold(3, token)

    def fold(self, n: int, token: _Token) -> None:
        """Replace the last n entries by their value if all operands are constants."""
        if any(opcode != m.CONST for opcode, _ in self.code[-n:-1]):
            return
        program = m.assemble(self.code[-n:])
        value = _as_target(program).log_density(np.zeros(2))
        if not math.isfinite(value):
            raise self.error("this has no finite value", token)
        self.code[-n:] = [(m.CONST, value)]

    @property
    def either(self) -> str:
        """The variables, in a sentence."""
        return ", ".join(self.variables) if len(self.variables) < 4 else "a parameter"

    @property
    def token(self) -> _Token:
        return self.tokens[self.index]

    def advance(self) -> _Token:
        token = self.token
        if token.kind != "end":
            self.index += 1
        return token

    def take(self, text: str) -> bool:
        if self.token.text != text:
            return False
        self.index += 1
        return True

    def expect(self, text: str) -> None:
        if not self.take(text):
            raise self.error(f"a {text!r} is missing" if self.token.kind == "end" else f"{self.complaint()}, or a {text!r} is missing")

    def complaint(self) -> str:
        token = self.token
        if token.text in _COMPARISONS:
            return "constraints stand after the log density: ... where x > 0"
        if token.text in ("if", "for", "when"):
            return "constraints begin with the word where"
        if token.kind in ("number", "name") or token.text == "(":
            return "an operator is missing: write * to multiply"
        return f"{token.text!r} cannot stand here"

    def error(self, message: str, token: _Token | None = None) -> FormulaError:
        return FormulaError(message, (token or self.token).position, self.formula)


def parse(formula: str, variables: Mapping[str, int] = VARIABLES) -> m.Program:
    """The postfix program of a formula in `variables`, the opcode of each by name. Raises FormulaError, which knows the
    place.
    """
    if len(formula) > MAX_LENGTH:
        raise FormulaError(f"{len(formula)} characters are more than the {MAX_LENGTH} allowed", MAX_LENGTH, formula)
    return _Parser(formula, variables).target()


def _as_target(program: m.Program) -> Target:
    return Target("formula", 2, m.formula_machine, program.data, program.ints, scratch_size=program.scratch_size, labels=("x", "y"))


def unchecked_target(formula: str) -> Target:
    """The target of a formula whether or not it can be normalised: no truth, the default view. Raises FormulaError."""
    return _as_target(parse(formula))


def formula_target(*, formula: str = "-x^2/2 - (y - x^2)^2") -> Target:
    """The target whose log density in x and y is `formula`; truth and view come from quadrature.

    Raises FormulaError where the formula cannot be read, and TargetError where its density does not integrate, or takes
    too long to tell. A density that is too rough or too slow for the quadrature has truth None.
    """
    program = parse(formula)
    evaluations = min(EVALUATIONS, int(1e9 * SECONDS / program.nanoseconds))
    return quadrature_truth(_as_target(program), evaluations=evaluations).attach()
