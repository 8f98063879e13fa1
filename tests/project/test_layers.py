"""Imports go one way: a module imports what stands above it in this table, and nothing else of the package."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.project.source import PACKAGE, called_name, module_name, parse, python_files, statements

# One row per layer, from the ground up. Names in one row are neighbours that do not import each other. Below all
# stand errors; above all stands src/nervure/__init__.py, which names everything and is imported by nothing inside.
LAYERS = (
    ("errors",),
    ("support", "flags"),
    ("processes",),
    ("types",),
    ("ir",),
    ("ops",),
    ("front",),
    ("autodiff",),
    ("passes",),
    ("memory",),
    ("kernel",),
    ("transformers",),
    ("computation",),
    ("tensor_storage", "jit", "testing"),
    ("eager", "build", "functions"),
    ("inspection", "nn", "optim", "data", "random", "linalg", "fft", "special"),
    ("files",),
    ("training",),
    ("bridges",),
    ("tools",),
    ("__main__",),
)

# What works on Functions stands above the front but has no use for it: values of the graph have no axes.
STRANGERS = {"passes": "front", "memory": "front", "kernel": "front", "transformers": "front"}

# The two calls upward, each by an import when it happens: what tensors are asked for and is computed, and the method of
# a transformer that people expect beside the function.
CALLS_UPWARD = {("nervure/front/tensor.py", "nervure.eager"),
                ("nervure/transformers/base.py", "nervure.computation")}

# The circles of imports inside of layers, tied by late imports, and why they stay.
CIRCLES = {
    ("nervure.types.axes", "nervure.types.axes_reading", "nervure.types.axis"): "an axis plus an axis is Axes",
}

# What imports modules that a table names: the transformers, each at its first use, and what another thread imports.
TABLES = {"nervure/transformers/__init__.py", "nervure/support/forks.py"}

# The command line is a user of the package like any other and may say "import nervure as nv".
USERS = {"tools"}

LEVEL = {name: level for level, row in enumerate(LAYERS) for name in row}


def layer(module: str) -> str | None:
    """``nervure.types.axis`` is of the layer ``types``; the package itself and foreign modules are of none."""
    package, _, rest = module.partition(".")
    return rest.partition(".")[0] if package == "nervure" and rest else None


class Facts(NamedTuple):
    """A file's imports, the lines below ``if TYPE_CHECKING:``, which never run, and the attributes of names that it
    sets.
    """

    imported: list[tuple[int, str, str]]
    typing_only: set[int]
    attributes: list[tuple[str, str]]


@cache
def facts(path: Path) -> Facts:
    """The facts of a file, which is parsed once for all tests."""
    has_calls = "import_module" in path.read_text(encoding="utf-8")
    nodes = list((ast.walk if has_calls else statements)(parse(path)))
    blocks = [node for node in nodes if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    lines = {line for block in blocks for entry in block.body for line in range(entry.lineno, entry.end_lineno + 1)}
    attributes = [(target.value.id, target.attr) for node in nodes if isinstance(node, ast.Assign)
                  for target in node.targets
                  if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)]
    return Facts(list(_imported(path, nodes)), lines, attributes)


def imported_modules(path: Path) -> list[tuple[int, str, str]]:
    """(line, module, local name) of each import of our own, wherever in the file it stands."""
    return facts(path).imported


def _imported(path: Path, nodes: list[ast.AST]) -> Iterator[tuple[int, str, str]]:
    here = module_name(path).split(".")
    package = here if path.name == "__init__.py" else here[:-1]
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, alias.asname or alias.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom):
            base = package[:len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, node.module] if node.module else base)
            for alias in node.names:
                # "from nervure import types" names a layer; "from nervure.types import Axis" only its parts.
                yield node.lineno, f"{origin}.{alias.name}", alias.asname or alias.name
        elif isinstance(node, ast.Call) and called_name(node).endswith("import_module"):
            name = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else ""
            yield node.lineno, str(name), ""


def allowed(importer: str, imported: str) -> bool:
    """Whether a module of one layer may import one of another."""
    if STRANGERS.get(importer) == imported:
        return False
    return importer == imported or LEVEL[imported] < LEVEL.get(importer, 0)


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE.parent).as_posix()


def inner_files() -> list[Path]:
    return [path for path in python_files("src/nervure") if path != PACKAGE / "__init__.py"]


def test_every_module_has_a_layer():
    assert {layer(module_name(path)) for path in inner_files()} - set(LEVEL) == set()


def test_no_layer_stands_twice():
    assert len(LEVEL) == sum(len(row) for row in LAYERS)


def test_imports_go_one_way():
    offenders = []
    for path in inner_files():
        importer = layer(module_name(path))
        for line, module, _ in imported_modules(path):
            imported = layer(module)
            if imported in LEVEL and not allowed(importer, imported):
                offenders.append((relative(path), line, module))
    upward = [(file, module) for file, _, module in offenders]
    assert len(upward) == len(set(upward)) <= len(CALLS_UPWARD)
    assert [offender for offender, pair in zip(offenders, upward) if pair not in CALLS_UPWARD] == []


def test_imports_are_written_out():
    """A module whose name is put together would be hidden from these tests."""
    computed = {relative(path) for path in inner_files() for _, module, _ in imported_modules(path) if not module}
    assert computed == TABLES


def circles(imports: dict[str, set[str]]) -> list[tuple[str, ...]]:
    """Each set of modules that import each other, directly or by way of others, in alphabetical order."""
    reached = {name: below(name, imports) for name in imports}
    groups = {tuple(sorted({other for other in reached[name] if name in reached[other]})) for name in imports}
    return sorted(group for group in groups if group)


def below(name: str, imports: dict[str, set[str]]) -> set[str]:
    """The modules that a module imports, and those that they import."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        fresh = imports[waiting.pop()] - found
        found |= fresh
        waiting.extend(fresh)
    return found


@cache
def imports_in_layers() -> dict[str, set[str]]:
    """For each module those of its own layer that it imports while it runs: at its top, or late, in a function."""
    files = {module_name(path): path for path in inner_files()}
    found = {}
    for name, path in files.items():
        parts = {part for line, module, _ in imported_modules(path) if line not in facts(path).typing_only
                 for part in [module if module in files else module.rpartition(".")[0]]}
        found[name] = {part for part in parts if part in files and part != name and layer(part) == layer(name)}
    return found


def test_no_layer_has_a_circle_of_imports():
    """Late imports count; what type checkers alone read does not."""
    assert len(CIRCLES) <= 1 and set(circles(imports_in_layers())) == set(CIRCLES)


def test_tensors_know_nothing_of_the_functions_that_become_their_methods():
    imports = imports_in_layers()
    assert imports["nervure.front.tensor"] == {"nervure.front.interface"}
    assert "nervure.front.tensor" in below("nervure.front.methods", imports)


def test_steps_know_nothing_of_the_rules_that_lower_them():
    imports = imports_in_layers()
    assert "nervure.kernel.cluster.steps" in imports["nervure.kernel.lower"]
    found = set().union(*[below(name, imports) for name in imports if name.startswith("nervure.kernel.cluster")])
    assert [name for name in sorted(found) if name.startswith("nervure.kernel.lower")] == []


def test_circles_are_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}, "e": {"e"}}) == [("b", "c"), ("e",)]


def test_only_users_import_the_surface():
    """``import nervure as nv`` below the surface would be an import of everything above."""
    offenders = [f"{relative(path)}:{line}" for path in inner_files()
                 if layer(module_name(path)) not in USERS
                 for line, module, _ in imported_modules(path)
                 if module == "nervure" or (module.startswith("nervure.") and layer(module) not in LEVEL)]
    assert offenders == []


def attributes_set(path: Path) -> Iterator[tuple[str, str]]:
    """(declaring module, attribute) for each attribute of another layer's module that this module sets."""
    own = layer(module_name(path))
    modules = {name: module for _, module, name in imported_modules(path)}
    for name, attribute in facts(path).attributes:
        module = modules.get(name, "")
        if layer(module) in LEVEL and layer(module) != own:
            yield module, attribute


def test_no_module_fills_in_what_another_layer_calls():
    """Setting an attribute of a lower module would let that module call upward, unseen by the tests above."""
    assert [(relative(path), *found) for path in inner_files() for found in attributes_set(path)] == []


def test_the_rule_sees_what_it_should(tmp_path, monkeypatch):
    source = "from nervure.front import tensor\nfrom ..ops import Add\ntensor.hook = print\n"
    monkeypatch.setattr("tests.project.source.ROOT", tmp_path)
    path = tmp_path / "src" / "nervure" / "ir" / "planted.py"
    path.parent.mkdir(parents=True)
    path.write_text(source)
    assert [module for _, module, _ in imported_modules(path)] == ["nervure.front.tensor", "nervure.ops.Add"]
    assert not allowed("ir", "ops") and not allowed("front", "transformers") and allowed("ops", "ir")
    assert list(attributes_set(path)) == [("nervure.front.tensor", "hook")]
