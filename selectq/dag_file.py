"""Dags from a YAML file: the fields of ``selectq.dags``, under ``dags``."""

from __future__ import annotations

from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from selectq.dags import Dag, Group, Task
from selectq.errors import SelectqError
from selectq.scenario import fields as f
from selectq.scenario.fields import Field, Place, Reader
from selectq.scenario.yaml_file import parse_yaml

READERS: dict[str, Reader] = {
    "str": f.text(),
    "bool": f.boolean,
    "int": f.integer(),
    "str | None": f.nullable(f.text()),
    "int | None": f.nullable(f.integer()),
    "bool | None": f.nullable(f.boolean),
    "Sequence[str]": f.list_of(f.text()),
}


def fields_of(kind: type, **lists: Reader) -> dict[str, Field]:
    """The fields of a dataclass, each read as its type says."""
    found = {}
    for field in fields(kind):
        default: dict[str, Any] = {} if field.default is MISSING else {"default": field.default}
        found[field.name] = Field(lists.get(field.name) or READERS[str(field.type)], **default)
    return found


read_task = f.mapping(fields_of(Task), Task)
read_group = f.mapping(fields_of(Group), Group)
read_dag = f.mapping(fields_of(Dag, tasks=f.list_of(read_task), groups=f.list_of(read_group)), Dag)
read_file = f.mapping({"dags": Field(f.list_of(read_dag))})


def read_dag_file(path: Path | str) -> list[Dag]:
    """The dags that a file describes; they are not checked beyond the types of their fields.

    Raises:
        SelectqError: it can't be read.
        ScenarioError: it is no YAML, or a field is missing, unknown or of another type; names the file and the field.
    """
    try:
        content = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SelectqError(f"{path}: can't be read as UTF-8 text: {error}") from error
    read: dict[str, Any] = read_file(Place(str(path)), parse_yaml(content, str(path)))
    return list(read["dags"])
