"""The reference of the command line is complete and current, and what other pages say of commands is true."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from tests.docs.cli_reference import commands, reference
from tests.docs.markdown import ROOT, anchors, documents, inline_code, name

REFERENCE = ROOT / "docs" / "reference" / "cli.md"
COMMANDS = dict(commands())
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


def test_the_reference_is_current() -> None:
    assert REFERENCE.read_text(encoding="utf-8") == reference(), (
        "regenerate it: .venv/bin/python -m tests.docs.cli_reference > docs/reference/cli.md"
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_option_is_documented(command: str) -> None:
    assert command.replace(" ", "-") in anchors(REFERENCE)
    _, _, rest = REFERENCE.read_text(encoding="utf-8").partition(f"\n## {command}\n")
    text, _, _ = rest.partition("\n## ")
    for parameter in COMMANDS[command].params:
        for option in parameter.opts if isinstance(parameter, click.Option) else [parameter.human_readable_name]:
            assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text), f"{command}: {option}"


@pytest.mark.parametrize("path", documents(), ids=name)
def test_commands_in_sentences_exist(path: Path) -> None:
    for code in inline_code(path):
        if code.startswith("selectq "):
            check_command(code)
        elif target := re.match(r"make ([a-z-]+)", code):
            assert target[1] in TARGETS, code


def check_command(code: str) -> None:
    """The longest name of a command that the text begins with must have the options that the text names."""
    text = code.replace("\\|", "|")
    found = [command for command in COMMANDS if f"{text} ".startswith(f"{command} ")]
    if not found:
        groups = {command.rpartition(" ")[0] for command in COMMANDS}
        assert text in groups or text.startswith("selectq --"), f"{code}: no such command"
        return
    known = {option for parameter in COMMANDS[found[0]].params for option in parameter.opts} | {"--help"}
    used = set(re.findall(r"(?<![\w-])--[a-z-]+", text))
    assert used <= known, f"{code}: {sorted(used - known)}"
