"""Tables and JSON lines as commands print them."""

from __future__ import annotations

import datetime
import json
import uuid
from dataclasses import dataclass

import pytest

from selectq.cli.output import print_json, print_table, printable


@dataclass(frozen=True)
class Claim:
    key: tuple[str, int]
    token: uuid.UUID
    at: datetime.datetime


def test_json_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    token = uuid.UUID(int=7)
    print_json([Claim(("dég\n", 1), token, datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC))])
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert json.loads(out) == [{"key": ["dég\n", 1], "token": str(token), "at": "2026-01-02T00:00:00+00:00"}]


def test_json_refuses_what_it_does_not_know() -> None:
    with pytest.raises(TypeError, match="object has no JSON form"):
        print_json({"x": object()})


def test_a_table_in_a_pipe(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    long = "x" * 300
    rows = [["a", 5, "never"], ["日本", None, "1"], [long, 12, "2"]]
    print_table(["task", "used", "first"], rows, "Pools", right=["first"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Pools"
    assert lines[1] == f"{'task':300}  used  first"
    assert lines[2] == f"{'a':300}     5  never"
    assert lines[3] == f"{'日本'}{'':296}     -      1"
    assert lines[4] == f"{long}    12      2"


def test_a_table_in_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    print_table(["task", "used"], [["[red]a[/red]", 5]])
    out = capsys.readouterr().out
    assert "[red]a[/red]" in out
    assert "\x1b[1m" in out


def test_an_id_cannot_steer_the_terminal() -> None:
    assert printable("a\x1b[31mb\nc") == "a\\x1b[31mb\\nc"
    assert printable("Ünïcode ok") == "Ünïcode ok"
    assert printable(None) == "-"
