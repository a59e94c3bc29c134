"""YAML to plain Python values, safely: no objects, no doubled keys, no depth without bound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from selectq.errors import ScenarioError

DEEPEST = 50

try:
    from yaml import CSafeLoader as Loader
except ImportError:  # PyYAML was built without libyaml
    from yaml import SafeLoader as Loader  # type: ignore[assignment]


def read_yaml(path: Path) -> Any:
    """The content of a YAML file of one document.

    Raises:
        ScenarioError: the file can't be read, is not UTF-8, is not YAML, or uses a key twice; says the line.
    """
    try:
        content = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ScenarioError(f"{path}: expected a scenario file, found none to read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: expected UTF-8 text, found other bytes at offset {error.start}") from error
    return parse_yaml(content, str(path))


def parse_yaml(content: str, file: str) -> Any:
    """The value of a YAML text of one document; ``file`` is named in errors.

    Raises:
        ScenarioError: as ``read_yaml``.
    """
    loader = None
    try:
        loader = Loader(content)
        node = loader.get_single_node()
        if node is None:
            return None
        check_nodes(node, file)
        return loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        raise not_yaml(file, mark, problem) from error
    except yaml.YAMLError as error:
        raise not_yaml(file, None, " ".join(str(error).split())) from error
    except RecursionError as error:
        raise not_yaml(file, None, "values nested too deep") from error
    except ValueError as error:
        # From a date such as 2026-02-31, or a number of more digits than Python takes.
        raise not_yaml(file, None, str(error)) from error
    finally:
        if loader is not None:
            loader.dispose()


def check_nodes(root: yaml.Node, file: str) -> None:
    """Refuse doubled keys, of which YAML readers silently keep the last, and values nested too deep to construct."""
    seen: set[int] = set()
    level = [root]
    for _ in range(DEEPEST):
        below: list[yaml.Node] = []
        for node in level:
            if isinstance(node, yaml.ScalarNode) or id(node) in seen:
                continue
            seen.add(id(node))
            if isinstance(node, yaml.MappingNode):
                check_keys(node, file)
                below.extend(part for pair in node.value for part in pair)
            else:
                below.extend(node.value)
        if not below:
            return
        level = below
    raise not_yaml(file, level[0].start_mark, f"values nested more than {DEEPEST} deep")


def check_keys(node: yaml.MappingNode, file: str) -> None:
    keys: set[tuple[str, str]] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        if (key.tag, key.value) in keys:
            raise not_yaml(file, key.start_mark, f"the field {key.value[:60]!r} stands twice in one mapping")
        keys.add((key.tag, key.value))


def not_yaml(file: str, mark: yaml.Mark | None, problem: str) -> ScenarioError:
    where = f"{file}: line {mark.line + 1}, column {mark.column + 1}" if mark is not None else file
    return ScenarioError(f"{where}: expected valid YAML, found a mistake: {problem}")
