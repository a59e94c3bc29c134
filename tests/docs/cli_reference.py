"""Writes ``docs/reference/cli.md`` to stdout from the commands themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from selectq.cli import main

INTRODUCTION = """\
# Command line

Generated from the commands by `python -m tests.docs.cli_reference`; a test holds the two together.

Every command prints its own help and an example with `--help`. Where `--json` exists, its output is for programs and
everything else on stdout is for people. Errors go to stderr in one line.

| exit code | meaning |
| --- | --- |
| 0 | done |
| 1 | `replay`: some answers differ; `sql check`: something was found; `sql generate --check`: a file is out of date; \
`explain --check`: a plan differs |
| 2 | wrong usage, a wrong file, a database that can't be used; the message says which |
| 130 | interrupted |

## Shell completion

For bash; `zsh_source` and `fish_source` are for the other two:

```sh
eval "$(_SELECTQ_COMPLETE=bash_source selectq)"
```
"""


def commands(command: click.Command = main, name: str = "selectq") -> Iterator[tuple[str, click.Command]]:
    """(full name, command) of everything below the group."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for word in command.list_commands(context):
            found = command.get_command(context, word)
            assert found is not None
            yield from commands(found, f"{name} {word}")
    else:
        yield name, command


def reference() -> str:
    return "\n".join([INTRODUCTION, *(section(name, command) for name, command in commands())])


def section(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=name)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    text, examples = parts_of_help(command)
    rows = [option_row(option, context) for option in command.params if isinstance(option, click.Option)]
    return "\n".join(
        [
            f"## {name}\n",
            f"`{usage}`\n",
            *(f"{paragraph}\n" for paragraph in text),
            f"```sh\n{examples}\n```\n",
            "| option | meaning |\n| --- | --- |",
            *rows,
            "",
        ]
    )


def parts_of_help(command: click.Command) -> tuple[list[str], str]:
    """Paragraphs, one line each, and the lines of the examples."""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    text = [" ".join(paragraph.split()) for paragraph in paragraphs if not paragraph.startswith("\b")]
    [examples] = [paragraph for paragraph in paragraphs if paragraph.startswith("\b")]
    return text, "\n".join(line.strip() for line in examples.splitlines()[2:])


def option_row(option: click.Option, context: click.Context) -> str:
    names = ", ".join([*option.opts, *option.secondary_opts])
    # click calls a bounded number a range.
    metavar = "" if option.is_flag else f" {option.make_metavar(context).removesuffix(' RANGE')}"
    facts = [(option.help or "").strip()]
    if option.required:
        facts.append("Required.")
    if option.show_default:
        facts.append(f"Default: `{option.default}`.")
    if option.envvar:
        facts.append(f"Also read from `{option.envvar}`.")
    return f"| `{escaped(names + metavar)}` | {escaped(' '.join(facts))} |"


def escaped(text: str) -> str:
    """For a cell of a table, which a bar would end."""
    return text.replace("|", "\\|")


if __name__ == "__main__":
    print(reference(), end="")
