"""What a kernel is made of: every definition in the engine's sources that its machine code can depend on.

A module is taken apart into its statements. From the one that defines a kernel the search goes on to those that define
the names in it, in the same module or in the one they are imported from, and so forth. Comments, docstrings and the
annotations of a function never reach machine code and are left out, and so is every definition that the kernel does
not mention: a change to it compiles nothing.

What the search would not see, the engine does without (a test looks): `import *`, functions that numba finds by
registration (`overload`), names that a module makes when it is asked for them.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

Place = tuple[str, str]  # a module and a name in it; the name "" stands for the whole module


@dataclass(eq=False)
class Statement:
    """A statement at the top of a module, the names it defines or may change, the places it leads to."""

    node: ast.AST
    names: set[str]
    leads_to: set[Place]

    @cached_property
    def text(self) -> str:
        """All that matters of it, without line numbers."""
        return ast.dump(self.node)


class Sources:
    """Modules as text, by name. What they import from elsewhere is not followed."""

    def __init__(self, modules: Mapping[str, bytes]) -> None:
        self._modules = modules
        self._find = cache(self._look_up)
        self._statements = cache(self._take_apart)

    def stamps(self) -> dict[str, str]:
        """The stamp of every decorated function at the top of a module, by "module:name"."""
        return {
            f"{module}:{node.name}": self.stamp((module, node.name))
            for module in self._modules
            for node in (part.node for part in self._statements(module))
            if isinstance(node, ast.FunctionDef) and node.decorator_list
        }

    def stamp(self, place: Place) -> str:
        """A hash of all that stands at `place` and that it leads to."""
        seen, ahead, texts = {place}, [place], set()
        while ahead:
            module, _ = here = ahead.pop()
            for statement in self._find(here):
                texts.add(f"{module}\n{statement.text}")
                new = statement.leads_to - seen
                seen |= new
                ahead.extend(new)
        return hashlib.sha256("\n\n".join(sorted(texts)).encode()).hexdigest()

    def _look_up(self, place: Place) -> tuple[Statement, ...]:
        module, name = place
        if module not in self._modules:
            return ()
        return tuple(part for part in self._statements(module) if not name or name in part.names)

    def _take_apart(self, module: str) -> tuple[Statement, ...]:
        return tuple(part for node in ast.parse(self._modules[module]).body for part in self._parts(module, node))

    def _parts(self, module: str, node: ast.stmt) -> Iterator[Statement]:
        """The statement without what never reaches machine code; an import as one statement a name."""
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                name = alias.asname or alias.name.split(".")[0]
                single: ast.AST = ast.Import([alias])
                if isinstance(node, ast.ImportFrom):
                    single = ast.ImportFrom(node.module, [alias], node.level)
                yield Statement(single, {name}, set(self._imported(node, alias)))
            return
        if _is_text(node) or (isinstance(node, ast.If) and _name(node.test).endswith("TYPE_CHECKING")):
            return
        leads_to: set[Place] = set()
        mentioned: set[str] = set()
        for inner in ast.walk(_stripped(node)):
            if isinstance(inner, ast.Name):
                mentioned.add(inner.id)
            elif isinstance(inner, (ast.Import, ast.ImportFrom)):
                for alias in inner.names:
                    mentioned.add(alias.asname or alias.name.split(".")[0])
                    leads_to.update(self._imported(inner, alias))
        leads_to.update((module, name) for name in mentioned)
        yield Statement(node, _defined(node) or mentioned, leads_to)

    def _imported(self, node: ast.Import | ast.ImportFrom, alias: ast.alias) -> Iterator[Place]:
        if isinstance(node, ast.Import):
            places = [(alias.name, "")]
        else:
            places = [(f"{node.module}.{alias.name}", ""), (node.module or "", alias.name)]
        yield from (place for place in places if place[0] in self._modules)


def _defined(node: ast.stmt) -> set[str]:
    """The names that a definition or a plain assignment defines; nothing for a statement that may do anything."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {t.id for t in targets if isinstance(t, ast.Name)} if all(isinstance(t, ast.Name) for t in targets) else set()


def _stripped(node: ast.stmt) -> ast.stmt:
    """The statement, with docstrings and the annotations of functions taken out of it."""
    for inner in ast.walk(node):
        if isinstance(inner, (ast.FunctionDef, ast.ClassDef)):
            inner.body = [line for line in inner.body if not _is_text(line)] or [ast.Pass()]
        if isinstance(inner, ast.FunctionDef):
            inner.returns = None
        if isinstance(inner, ast.arg):
            inner.annotation = None
    return node


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
