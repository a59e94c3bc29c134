"""Scenario files of the kinds that are supported, each read by the module of its kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from selectq.scenario import fields as f
from selectq.scenario import filequeue_format
from selectq.scenario.fields import Place
from selectq.scenario.filequeue_model import QueueScenario
from selectq.scenario.model import Scenario
from selectq.scenario.readers import KINDS
from selectq.scenario.select_format import build_select
from selectq.scenario.trigger_format import build_trigger
from selectq.scenario.trigger_model import TriggerScenario
from selectq.scenario.yaml_file import parse_yaml, read_yaml

AnyScenario = Scenario | TriggerScenario | QueueScenario

BUILD: Mapping[str, Callable[[Place, dict[str, Any]], AnyScenario]] = {
    "select": build_select,
    "trigger": build_trigger,
    filequeue_format.KIND: filequeue_format.read,
}


def read_scenario_file(path: Path | str) -> AnyScenario:
    """Read and check one scenario file.

    Raises:
        ScenarioError: anything is wrong with it; names the file, the field, what was expected and what was found. Some
            kinds are known but not supported yet.
    """
    return build(str(path), read_yaml(Path(path)))


def parse_scenario(content: str, name: str) -> AnyScenario:
    """As ``read_scenario_file``, from text; ``name`` stands for the file in errors."""
    return build(name, parse_yaml(content, name))


def build(file: str, value: Any) -> AnyScenario:
    top = Place(file)
    if not isinstance(value, dict):
        raise top.wrong("a mapping with the fields id, kind, ...", f.describe(value))
    if "kind" not in value:
        raise top.field("kind").wrong(f"one of {', '.join(KINDS)}", "that it is missing")
    kind = f.one_of(*KINDS)(top.field("kind"), value["kind"])
    if kind not in BUILD:
        *others, last = BUILD
        raise top.field("kind").wrong(f"{', '.join(others)} or {last}", f"{kind}, which is not supported yet")
    return BUILD[kind](top, value)
