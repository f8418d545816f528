"""The house holds: arrows between rooms, the catalogue against files and slugs, links of the README."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
from collections.abc import Container, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from string import Formatter
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.testing.v1 import AppTest, local_script_runner

from app import catalogue
from app.kit import share, startup
from app.kit.words import Words
from tests import english, everything, rooms
from tests.rooms import ROOT, imported, modules

ROOMS = ("app", "lessons", "engine", "datasets", "tests", "benchmarks")
MAY_IMPORT = {
    "engine": {"engine"},
    "datasets": {"datasets", "engine"},
    "app": {"app", "engine"},
    "lessons": {"lessons", "app", "engine", "datasets"},
}
HEAVY = ("scipy", "sklearn", "arviz_stats", "plotly")  # a second each: imported where they are used
LATE = {  # what a function imports of the house itself, and why not its module
    ("engine.datatree", "engine.jumps.sweep"): "compiled jumps, for one group of a file; every recording imports the file",
    ("app.kit.taken", "engine.jumps.sweep"): "the same, for one table of files to take home; every page imports it",
}
NAMED = {"more": "folds", "button": "buttons", "files": "buttons", "download": "buttons", "remark": "notes"}  # by the words' tables
WHOLE = {"WORDS.tables", "WORDS.entry"}  # what asks for all that stands in tables within a table
COUNTED = {  # targets that specs build, and the source of functions: small and hot
    *(f"lessons/{name}/spec.py" for name in ("gibbs", "nuts", "race", "variational")),
    "app/kit/code.py",
}
SLUGS = {
    *("conjugate", "monte-carlo", "prior-predictive", "logistic", "model-selection"),
    *("metropolis", "gibbs", "slice-sampling", "hmc", "nuts", "tuning", "diagnostics", "own-chain", "race"),
    *("perceptron", "regression", "weight-space", "priors", "xor", "real-data"),
    *("dimensions", "neurons", "layers", "missing-factor", "occam", "delayed-rejection", "landing"),
    *("variational", "weights", "spike-and-slab", "dropout", "convolution"),
    *("digits", "uncertainty-maps", "scores", "xor-methods"),
    *("reproduce", "errata"),
}


def module_name(path: Path) -> str:
    """A module as Python names it."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def run_imports(node: ast.AST, files: Container[str], lazy: bool = False) -> Iterator[tuple[str, bool]]:
    """The modules among `files` that this one imports, and whether only when a function is called. What type checkers alone
    import never runs.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        names: set[str] = set()
        if isinstance(child, ast.Import):
            names = {alias.name for alias in child.names}
        elif isinstance(child, ast.ImportFrom) and child.module:
            full = (f"{child.module}.{alias.name}" for alias in child.names)
            names = {name if name in files else child.module for name in full}
        yield from ((name, lazy) for name in names if name in files)
        yield from run_imports(child, files, lazy or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)))


@cache
def imports_of_the_house() -> dict[str, set[tuple[str, bool]]]:
    """Each module of the house with what it imports of it, and whether late."""
    files = {module_name(path): tree for room in MAY_IMPORT for path, tree in modules(room)}
    return {name: set(run_imports(tree, files)) for name, tree in files.items()}


def top(names: set[str]) -> set[str]:
    """The first part of each name."""
    return {name.split(".")[0] for name in names}


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_arrows_point_down(room: str):
    for path, tree in modules(room):
        strangers = (top(imported(tree)) & set(ROOMS)) - MAY_IMPORT[room]
        assert not strangers, f"{path.relative_to(ROOT)} imports {strangers}"


def test_lessons_use_the_kit_and_not_the_entry():
    for path, tree in modules("lessons"):
        from_app = {name for name in imported(tree) if name.split(".")[0] == "app"}
        assert all(name == "app" or name.startswith("app.kit") for name in from_app), path


def test_no_lesson_imports_another():
    """What lessons share stands in a family, which is no lesson and knows none."""
    for path, tree in modules("lessons"):
        first, second, *_ = path.relative_to(ROOT / "lessons").parts
        own = f"lessons.families.{second}" if first == "families" else f"lessons.{first}"
        may = (f"{own}.",) if first == "families" else (f"{own}.", "lessons.families.")
        names = {name for name in imported(tree) if name.split(".")[0] == "lessons"}
        strangers = {name for name in names if not f"{name}.".startswith(may)}
        assert not strangers, f"{path.relative_to(ROOT)} imports {strangers}"


def test_modules_know_each_other_one_way():
    """No circles among the imports that run, in functions, too: there a circle would only be hidden."""
    graph = {name: {other for other, _ in there} - {name} for name, there in imports_of_the_house().items()}
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_what_is_imported_late_has_a_reason():
    assert {(name, other) for name, there in imports_of_the_house().items() for other, lazy in there if lazy} == set(LATE)


def test_entry_and_catalogue_name_lessons_by_file_only():
    for name in ("main.py", "catalogue.py", "start.py"):
        tree = ast.parse((ROOT / "app" / name).read_text(encoding="utf-8"))
        assert not {"lessons", "engine", "datasets"} & top(imported(tree)), name


def test_only_the_app_and_pages_know_streamlit():
    for room in ("engine", "datasets", "lessons", "benchmarks"):
        for path, tree in modules(room):
            if path.name != {"lessons": "page.py", "benchmarks": "bare.py"}.get(room):
                assert "streamlit" not in top(imported(tree)), path.relative_to(ROOT)


def test_engine_draws_nothing_and_calls_nobody():
    outside = {"plotly", "requests", "urllib", "http", "socket", "pandas", "matplotlib"}
    for path, tree in modules("engine"):
        assert not outside & top(imported(tree)), path.relative_to(ROOT)


@pytest.mark.parametrize("room", ["app", "lessons"])
def test_heavy_libraries_are_imported_where_they_are_used(room: str):
    for path, tree in modules(room):
        at_the_top = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
        names = top(set().union(*(imported(node) for node in at_the_top))) if at_the_top else set()
        assert not names & set(HEAVY), f"{path.relative_to(ROOT)}: {names & set(HEAVY)} at module level delays the first picture"


def test_results_are_kept_in_one_store():
    """`engine.kept`, which is weighed: a cache that counts its entries does not know what they take."""
    found = {
        str(path.relative_to(ROOT))
        for room in ("app", "lessons")
        for path, tree in modules(room)
        if {"functools.lru_cache", "collections.OrderedDict"} & imported(tree)
    }
    assert found == COUNTED


def test_nobody_holds_a_lock_that_does_not_give_way():
    """`engine.kept.lazy` in place of functools.cached_property, which on Python 3.11 locks all instances."""
    found = {
        path.name
        for room in ("app", "engine", "datasets", "lessons")
        for path, tree in modules(room)
        if "functools.cached_property" in imported(tree)
        or any(isinstance(node, ast.Attribute) and node.attr == "cached_property" for node in ast.walk(tree))
    }
    assert found == {"_cache.py", "_sources.py"}, "which come before there are turns to wait for"


def test_catalogue_files_and_slugs_agree():
    slugs = [entry.slug for entry in catalogue.PAGES]
    assert len(set(slugs)) == len(slugs) and set(slugs) <= SLUGS, "slugs are public and never change"
    for entry in catalogue.PAGES:
        assert entry.path.is_file(), entry.folder
        assert re.fullmatch(r"[a-z0-9-]+", entry.slug)
        assert entry.promise.endswith(".")
    listed = {entry.path for entry in catalogue.PAGES}
    pages = set((ROOT / "lessons").glob("*/page.py"))
    assert pages <= listed, f"not in the catalogue: {sorted(map(str, pages - listed))}"


@pytest.mark.parametrize("entry", catalogue.LESSONS, ids=lambda entry: entry.slug)
def test_each_page_opens_under_its_slug(entry: catalogue.Entry):
    startup.load()
    at = AppTest.from_file(str(ROOT / "app" / "main.py"), default_timeout=120).run()
    at.switch_page(f"../{entry.folder}/page.py").run()
    assert not at.exception and not at.error
    assert at.title[0].value == entry.title
    spec = at.session_state[f"visit/{entry.slug}"].spec
    assert not set(spec.declarations()) & set(share.RESERVED)


def test_a_fragment_comes_last_in_its_container(monkeypatch: pytest.MonkeyPatch):
    """Streamlit may join what says where a fragment stands with the fragment's next run. The browser has then closed
    the gap, and whatever stood behind it has lost its place."""
    told: list[list[ForwardMsg]] = []
    parse = local_script_runner.parse_tree_from_messages
    monkeypatch.setattr(local_script_runner, "parse_tree_from_messages", lambda m: parse((told.append(list(m)), m)[1]))
    warm_up = startup.warm_up()  # as long as it works, there is a fragment that says so
    monkeypatch.setattr(warm_up, "ready", SimpleNamespace(is_set=lambda: False, set=lambda: None))  # it may end just now
    monkeypatch.setattr(warm_up, "seconds", lambda: 60.0)
    at = AppTest.from_file(str(ROOT / "app" / "main.py"), default_timeout=120).run()
    at.query_params["seed"] = "20011"  # which no other test has run: there are jobs to look at
    at.switch_page("../lessons/metropolis/page.py").run()
    assert not at.exception
    messages = [message for message in told[-1] if message.WhichOneof("type") == "delta"]
    fragments = {tuple(m.metadata.delta_path): m.delta.fragment_id for m in messages}
    places = [path for path, name in fragments.items() if name and not fragments.get(path[:-1])]
    assert len({fragments[path] for path in places}) == 3, "the stage, the look at jobs, the note on the kernels"
    for *parent, index in places:
        assert (*parent, index + 1) not in fragments, f"something stands behind the fragment at {[*parent, index]}"


def test_what_a_lesson_says_stands_in_its_words():
    found = english.counts()
    assert not {lesson for lesson, files in found.items() if files.total()}, "python -m tests.english LESSON"
    for lesson in found.keys() - {"families"}:
        assert not unused(ROOT / "lessons" / lesson), lesson


def test_what_programs_read_is_no_english():
    code = "part(f'<li class=small print>{words}</li>', '<h1>What stands out</h1>', log_density='log(theta) - sigma')"
    assert [text for _, text in english.texts(ast.parse(code))] == ["<h1>What stands out</h1>"]


@pytest.mark.parametrize("folder", sorted({path.parent for path in (ROOT / "lessons").rglob("words.toml")}), ids=lambda path: path.name)
def test_each_word_that_is_asked_for_is_there_with_its_numbers(folder: Path):
    """In branches that no test runs, too."""
    module = ".".join((*folder.relative_to(ROOT).parts, "spec"))
    said = importlib.import_module(module).WORDS if (folder / "spec.py").exists() else Words(folder / "words.toml")
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)):
                continue
            called = ast.unparse(node.func)
            if called.startswith("panel."):
                table = NAMED.get(called.removeprefix("panel."), "controls")
                labelled = table == "controls" and any(keyword.arg == "label" for keyword in node.keywords)
                assert labelled or said.named(table, str(node.args[0].value)), f"{path.name}:{node.lineno}"
            if called != "WORDS.phrase":
                continue
            text, names = said.phrase(str(node.args[0].value)), {keyword.arg for keyword in node.keywords}
            if names and None not in names:
                fields = {re.split(r"[.\[]", field)[0] for _, field, _, _ in Formatter().parse(text) if field}
                assert fields == names, f"{path.name}:{node.lineno}"


def unused(folder: Path) -> list[str]:
    """Words of a lesson that neither its code nor the kit's controls ask for: by name, by path, or as a whole table. Those
    of a family may be asked for by its lessons, too.
    """
    lessons = [
        path.parent for path in (ROOT / "lessons").glob("*/spec.py") if f".families.{folder.name}." in path.read_text(encoding="utf-8")
    ]
    folders = [folder, *(lessons if folder.parent.name == "families" else ())]
    asked: set[str] = set()
    made: list[re.Pattern[str]] = []  # paths with a part that is computed
    for path in (*(path for each in folders for path in each.glob("*.py")), ROOT / "app/kit/controls.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                asked.add(node.value)
            elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "WORDS" and isinstance(node.slice, ast.Constant):
                made.append(re.compile(re.escape(str(node.slice.value)) + r"\.\w+"))
            elif isinstance(node, ast.Call) and ast.unparse(node.func) in WHOLE and isinstance(node.args[0], ast.Constant):
                made.append(re.compile(re.escape(str(node.args[0].value)) + r"\.[\w.-]+"))
            elif isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant) and "." in str(node.values[0].value):
                parts = (re.escape(part.value) if isinstance(part, ast.Constant) else r"\w+" for part in node.values)
                made.append(re.compile("".join(parts)))
    tables = tomllib.loads((folder / "words.toml").read_text(encoding="utf-8"))
    own = tables.keys() - {"title", "promise", "scenarios", "questions", "elsewhere", "options"}
    named = {f"{table}.{name}": name for table in own for name in tables[table]}
    return [path for path, name in named.items() if not {path, name} & asked and not any(one.fullmatch(path) for one in made)]


def test_links_of_the_readme_open_without_a_complaint():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"(?:https?://(?:localhost|127\.0\.0\.1):\d+|\")(/[^\s)>\"`]+)", text)
    assert links
    for link in map(urlsplit, links):
        entry = next((entry for entry in catalogue.PAGES if entry.slug == link.path.strip("/")), None)
        assert entry is not None, f"{link.path} is no page"
        at = AppTest.from_file(str(entry.path), default_timeout=120)
        for name, values in parse_qs(link.query, keep_blank_values=True).items():
            at.query_params[name] = values
        at.run()
        assert not at.exception and not at.error
        assert not [warning.value for warning in at.warning if "could not be followed" in warning.value]


def test_dollars_of_a_long_formula_stand_on_lines_of_their_own():
    """Else the page shows the source of the formula and of all that follows it."""
    for path in sorted((ROOT / "lessons").rglob("*.md")):
        for formula in re.findall(r"\$\$(.*?)\$\$", path.read_text(encoding="utf-8"), re.DOTALL):
            assert "\n" not in formula or (formula[0] == formula[-1] == "\n"), f"{path.parent.name}: {formula[:40]}"


def test_files_that_the_readme_points_to_exist():
    for target in re.findall(r"\]\(([^)#\s]+)\)", (ROOT / "README.md").read_text(encoding="utf-8")):
        if "://" not in target:
            assert (ROOT / target).exists(), target


def test_versions_are_pinned():
    lines = [line.split("#")[0].strip() for line in (ROOT / "requirements.txt").read_text().splitlines()]
    pins = dict(re.split(r"(?:==|~=)", line, maxsplit=1) for line in lines if line)
    assert "streamlit==1.67.0" in lines
    assert {"numba", "numpy", "scipy", "plotly", "scikit-learn", "arviz-stats"} <= set(pins)


def test_the_python_in_the_readme_runs():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        done = subprocess.run([sys.executable, "-c", block], cwd=ROOT, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr


def test_every_test_is_run_by_make_test():
    named = [ROOT / part for call in everything.GROUPS.values() for part in call if part.startswith("tests")]
    left = [path for path in (ROOT / "tests").rglob("test_*.py") if not any(path.is_relative_to(part) for part in named)]
    assert not left


def test_the_commands_in_the_readme_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for target in set(re.findall(r"make ([a-z][a-z-]*)", text)) - {"sure"}:
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE), target
    for file in re.findall(r"requirements[a-z-]*\.txt", text):
        assert (ROOT / file).exists(), file
    for module in re.findall(r"python -m ([a-z.]+)", text):
        assert importlib.util.find_spec(module), module


def test_the_picture_of_the_rooms_is_that_of_the_code():
    assert rooms.drawn(rooms.PAGE.read_text(encoding="utf-8")) == rooms.picture(), "python -m tests.rooms --write"


def test_no_two_rooms_know_each_other():
    assert not [rooms_joined for rooms_joined in rooms.reduced(rooms.arrows()) if ", " in rooms_joined]


def test_what_the_architecture_names_is_there():
    text = rooms.PAGE.read_text(encoding="utf-8")
    for named in re.findall(r"`((?:app|lessons|engine|tests)/[\w/.]+)(?:: (\w+))?", text):
        path, name = named
        assert (ROOT / path).exists(), path
        assert not name or re.search(rf"(def|class) {name}\b", (ROOT / path).read_text(encoding="utf-8")), named
