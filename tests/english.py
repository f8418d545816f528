"""English that stands in Python: what a translator of a lesson would not find in its `words.toml`.

    python -m tests.english [LESSON ...]     counts by lesson and file; of the lessons named, each text

A text is a string of at least two words, or one that stands where a reader's words stand: the label of a mark, a title,
a caption, an axis. What only developers read is none: docstrings, names in a dict and keys, and what is raised; nor is
what programs read: tags and styles of HTML, densities in the engine's own notation. Declarations of a spec, which the API
shows too, and the reasons of a refusal stay where their values are checked.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LESSONS = ROOT / "lessons"

SHOWN = {"alt", "caption", "help", "label", "title", "unit", "x", "y"}  # keywords whose strings are read, a single word, too
IN_FIGURES = {"add_hline", "add_scatter", "add_vline"}  # of Plotly: there a `name` is read, too
PLOTLY_S = {"textposition"}  # keywords there whose values are Plotly's own
TITLED = {"Axis", "Figure", "Table"}  # what is handed to them is read
DECLARED = {"choice", "integer", "number", "points", "seed_field", "text"}  # of `engine.spec`
KEYED = {"key", "no_reason"}  # keywords that hand on names: of widgets, and of the numbers of a result
PARSED = {"log_density", "parameters"}  # fields of a spec whose values the engine reads
REFUSED = {"SpecError", "TargetError", "Refusal"}
MATHS = re.compile(r"\b(?:log|exp|min|max|sin|cos|sd)\b")
MARKUP = re.compile(r"<style>.*?</style>|<[!/]?(?!br>)[a-z][^<>]*>", re.DOTALL)
LAYOUT = re.compile(r"[\w-]+\*\d")
PLACEHOLDER = re.compile(r"\{[^{}?|]*\}")  # one with a choice holds words
WORD = re.compile(r"[A-Za-zÀ-ɏ]{2,}")


def texts(tree: ast.Module) -> Iterator[tuple[ast.expr, str]]:
    """Each text of a module, with its node; of an f-string the fixed parts, {} between them."""
    yield from _texts(tree, "")


def _texts(node: ast.AST, passed: str) -> Iterator[tuple[ast.expr, str]]:
    """`passed`: the name by which the node is handed on."""
    if isinstance(node, (ast.Raise, ast.Assert, ast.Compare)) or (isinstance(node, ast.Call) and _called(node) in DECLARED | REFUSED):
        return
    if isinstance(node, (ast.Constant, ast.JoinedStr)):
        text = "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in getattr(node, "values", [node]) if _is_text(part))
        if passed not in PARSED and _is_read(text, shown=passed in SHOWN):
            yield node, text
        for part in getattr(node, "values", ()):
            if isinstance(part, ast.FormattedValue):
                yield from _texts(part.value, "")
        return
    for name, child in _parts(node):
        yield from _texts(child, name or (passed if isinstance(node, (ast.Tuple, ast.List, ast.IfExp, ast.BinOp)) else ""))


def _parts(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What stands in a node, each with the name by which it is handed on. Without docstrings, annotations, subscripts and
    the names in a dict: those of a picture's lines are looked up, those of its table are the columns of files.
    """
    if isinstance(node, ast.keyword):
        yield from ((node.arg or "", node.value),) if node.arg not in KEYED else ()
    elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("get", "index"):
        yield from (("", child) for child in node.args[1:])
    elif isinstance(node, ast.Call) and (_called(node) in TITLED or getattr(node.func, "attr", "") == "blank"):
        yield from (("title", child) for child in node.args)
        yield from (("", keyword) for keyword in node.keywords)
    elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in IN_FIGURES:
        ours = (keyword for keyword in node.keywords if keyword.arg not in PLOTLY_S)
        yield from (("label" if keyword.arg == "name" else "", keyword.value) for keyword in ours)
    elif isinstance(node, ast.Dict):
        yield from (("", value) for value in node.values)
    elif isinstance(node, ast.DictComp):
        yield from (("", child) for child in (node.value, *node.generators))
    elif isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        first = node.body[0] if node.body else None
        told = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        yield from (("", child) for child in node.body[told:])
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            named, given = node.args.args[len(node.args.args) - len(node.args.defaults) :], node.args.defaults
            yield from ((name.arg, value) for name, value in zip(named, given, strict=True))
            pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            yield from ((name.arg, value) for name, value in pairs if value is not None)
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        yield node.targets[0].id, node.value
    elif isinstance(node, (ast.AnnAssign, ast.Subscript)):
        yield from (("", node.value),) if node.value is not None else ()
    else:
        yield from (("", child) for child in ast.iter_child_nodes(node))


def _called(node: ast.Call) -> str:
    return getattr(node.func, "id", "")


def _is_text(part: ast.AST) -> bool:
    return isinstance(part, ast.FormattedValue) or (isinstance(part, ast.Constant) and isinstance(part.value, str))


def _is_read(text: str, shown: bool) -> bool:
    text = MARKUP.sub("", text)
    words = WORD.findall(MATHS.sub("", PLACEHOLDER.sub(" ", text)))
    return not LAYOUT.match(text) and ((len(words) > 1 and " " in text) or (shown and any(len(word) > 2 for word in words)))


def counts() -> dict[str, Counter[str]]:
    """How many texts each file has, by lesson."""
    found: dict[str, Counter[str]] = {}
    for path in sorted(LESSONS.rglob("*.py")):
        number = sum(1 for _ in texts(ast.parse(path.read_text(encoding="utf-8"))))
        found.setdefault("/".join(path.relative_to(LESSONS).parts[:-1]), Counter())[path.stem] += number
    return found


def main(wanted: Sequence[str]) -> int:
    """Counts; of the lessons wanted their texts."""
    for path in (path for lesson in wanted for path in sorted((LESSONS / lesson).glob("*.py"))):
        for node, text in texts(ast.parse(path.read_text(encoding="utf-8"))):
            print(f"{path.relative_to(ROOT)}:{node.lineno}: {text}")
    found = {} if wanted else counts()
    for lesson, files in sorted(found.items(), key=lambda item: item[1].total()):
        print(f"{files.total():5d}  {lesson:26s}" + "  ".join(f"{name} {n}" for name, n in files.most_common() if n))
    print(f"{sum(files.total() for files in found.values()):5d}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
