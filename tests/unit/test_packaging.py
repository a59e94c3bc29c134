"""What is shipped: built, installed where nothing of the project is, and asked for its files there."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("sql", "migrations")


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel built from that sdist."""
    folder = tmp_path_factory.mktemp("built")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return folder


def shipped() -> set[str]:
    """Files of sql/ and migrations/ that belong into a release, as paths under the package."""
    return {
        path.relative_to(ROOT).as_posix()
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }


def test_wheel_holds_real_query_files_and_migrations(built: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
        assert shipped() <= {name.removeprefix("selectq/") for name in names if name.startswith("selectq/")}
        assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {"selectq"}
        for name in shipped():
            assert wheel.read(f"selectq/{name}") == (ROOT / name).read_bytes()


def test_sdist_holds_the_package_with_real_files(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        members = {member.name.partition("/")[2]: member for member in sdist.getmembers()}
    assert {f"selectq/{name}" for name in shipped()} <= set(members)
    assert all(member.isfile() for member in members.values())


def test_editable_install_sees_the_live_files() -> None:
    for folder in FOLDERS:
        assert (ROOT / "selectq" / folder).is_symlink()
        assert (ROOT / "selectq" / folder).resolve() == ROOT / folder


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel in it and the dependencies of this one, but not the project's folder."""
    home = tmp_path_factory.mktemp("installed")
    venv.create(home, symlinks=True, with_pip=False)
    python = home / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index")
    run(*pip, next(built.glob("*.whl")), cwd=home)
    # A path in a .pth file does not bring the .pth files that lie there: this project's editable install stays out.
    packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=home).strip())
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home


def test_installed_wheel_finds_its_queries(installed: Path) -> None:
    script = """
from importlib.resources import files
import selectq
root = files(selectq)
print(root)
for query in sorted(root.joinpath("sql").rglob("*.sql")):
    assert query.read_text()
    print(query.relative_to(root).as_posix())
"""
    root, *queries = run(installed / "bin" / "python", "-c", script, cwd=installed).splitlines()
    assert Path(root).is_relative_to(installed)
    assert queries
    assert set(queries) == {name for name in shipped() if name.endswith(".sql")}


def test_installed_wheel_finds_its_migrations(installed: Path) -> None:
    script = "from selectq import migrate; print(migrate.render_sql('mysql'))"
    assert "CREATE TABLE task_instance" in run(installed / "bin" / "python", "-c", script, cwd=installed)


def test_installed_wheel_brings_the_command(installed: Path) -> None:
    assert "migrate" in run(installed / "bin" / "selectq", "--help", cwd=installed)


def test_installed_wheel_checks_its_queries_and_leaves_them_alone(installed: Path) -> None:
    assert run(installed / "bin" / "selectq", "sql", "check", cwd=installed).endswith("nothing found.\n")
    script = (
        "from click.testing import CliRunner; from selectq.cli import main; "
        "print(CliRunner().invoke(main, ['sql', 'generate']).stderr)"
    )
    assert "belongs to an installed selectq" in run(installed / "bin" / "python", "-c", script, cwd=installed)
