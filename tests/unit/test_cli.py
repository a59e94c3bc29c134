"""The frame of the command line: its list, help, completion, exit codes, and what it does in a pipe."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner
from sqlalchemy import exc

from selectq.cli import main
from selectq.cli.exits import plain_exits
from selectq.errors import SelectqError

PLAIN = {
    name: value
    for name, value in os.environ.items()
    if name not in ("FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "SELECTQ_DB")
}


def selectq(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "selectq", *arguments],
        env=PLAIN | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def walk(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from walk(found, (*path, name))


COMMANDS = dict(walk(main))


def test_commands_are_the_files_that_define_one() -> None:
    assert {"demo", "migrate"} <= set(main.list_commands(click.Context(main)))
    assert not {"options", "output", "lazy", "exits"} & set(main.list_commands(click.Context(main)))
    assert main.get_command(click.Context(main), "options") is None


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_help_has_an_example(path: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(main, [*path, "--help"])
    assert shown.exit_code == 0
    _, heading, examples = shown.output.partition("Example")
    assert heading, f"selectq {' '.join(path)} --help has no example"
    assert " ".join(["selectq", *path]) in examples


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_and_option_is_described(path: tuple[str, ...]) -> None:
    assert (COMMANDS[path].help or "").strip()
    for parameter in COMMANDS[path].params:
        assert isinstance(parameter, click.Argument) or getattr(parameter, "help", None), parameter.name


@pytest.mark.parametrize("path", [path for path in COMMANDS if len(path) == 1], ids=" ".join)
def test_the_list_shows_each_commands_first_line(path: tuple[str]) -> None:
    first_line = (COMMANDS[path].help or "").splitlines()[0]
    assert first_line in CliRunner().invoke(main, ["--help"], terminal_width=200).output


def test_help_imports_no_database_library() -> None:
    script = (
        "import sys\nfrom selectq.cli import main\nmain(['--help'], standalone_mode=False)\n"
        "print('imported', *{'sqlalchemy', 'alembic', 'psycopg', 'sqlglot', 'yaml'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], env=PLAIN, capture_output=True, text=True, check=True)
    assert "  demo" in done.stdout
    assert done.stdout.splitlines()[-1] == "imported"


def test_help_is_plain_in_a_pipe() -> None:
    shown = selectq("demo", "--help", GITHUB_ACTIONS="true")
    assert "--passes" in shown.stdout
    assert "\x1b" not in shown.stdout
    assert shown.stderr == ""


def test_no_color_is_respected() -> None:
    coloured = selectq("--help", FORCE_COLOR="1", TERM="xterm")
    uncoloured = selectq("--help", FORCE_COLOR="1", TERM="xterm", NO_COLOR="1")
    assert "\x1b[33m" in coloured.stdout
    assert "\x1b[33m" not in uncoloured.stdout


def test_version() -> None:
    shown = selectq("--version")
    assert shown.returncode == 0
    assert shown.stdout.startswith("selectq 0.")


def test_unknown_command() -> None:
    refused = selectq("dmeo")
    assert refused.returncode == 2
    assert "dmeo" in refused.stderr
    assert refused.stdout == ""


def test_an_error_is_one_line_and_exit_2() -> None:
    refused = selectq("demo", "--db", "sqlite:///x.db")
    assert refused.returncode == 2
    assert refused.stderr.startswith("Error: db: 'sqlite' is not supported")
    assert refused.stderr.count("\n") == 1
    assert refused.stdout == ""


def exit_of(error: BaseException) -> tuple[int, str]:
    @click.command()
    def command() -> None:
        with plain_exits():
            raise error

    done = CliRunner().invoke(command)
    return done.exit_code, done.stderr


def test_exit_codes() -> None:
    assert exit_of(SelectqError("pool: [bold] stays as it is")) == (2, "Error: pool: [bold] stays as it is\n")
    assert exit_of(KeyboardInterrupt()) == (130, "Interrupted.\n")
    lost = exc.OperationalError("SELECT 1", {}, Exception("server closed the connection"))
    assert exit_of(lost) == (2, "Error: database: server closed the connection\n")


def test_bugs_keep_their_traceback() -> None:
    with pytest.raises(exc.ProgrammingError), plain_exits():
        raise exc.ProgrammingError("SELEC 1", {}, Exception("syntax error"))


def test_a_broken_pipe_is_quiet() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "selectq", "--help"], env=PLAIN, stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert done.stderr == b""


def completions(words: str, word: int) -> list[str]:
    shown = selectq(_SELECTQ_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(word))
    return [line.partition(",")[2] for line in shown.stdout.splitlines()]


def test_completion_of_commands_options_and_values() -> None:
    assert completions("selectq d", 1) == ["demo", "doctor"]
    assert {"--db", "--story", "--passes", "--json"} <= set(completions("selectq demo --", 2))
    assert completions("selectq demo --story ", 3) == ["pools", "mapped", "all"]


def test_completion_script() -> None:
    script = selectq(_SELECTQ_COMPLETE="bash_source")
    assert script.returncode == 0
    assert "_SELECTQ_COMPLETE=bash_complete" in script.stdout
    assert "complete " in script.stdout
