"""The suites that the benchmark measures: generated ones, and one from PyPI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

CONFTEST = """\
import time

time.sleep({seconds})
BALLAST = bytearray({megabytes} * 1024 * 1024)
for page in range(0, len(BALLAST), 4096):
    BALLAST[page] = 1
"""


def generated(folder: Path, tests: int, *, conftest_seconds: float = 0.0, megabytes: int = 0, per_file: int = 50) -> Path:
    """A suite of trivial tests, `per_file` a file, whose conftest takes some time and some memory."""
    if folder.exists():
        shutil.rmtree(folder)
    (folder / "tests").mkdir(parents=True)
    (folder / "pytest.ini").write_text("[pytest]\ntestpaths = tests\n", encoding="utf-8")
    (folder / "tests" / "conftest.py").write_text(CONFTEST.format(seconds=conftest_seconds, megabytes=megabytes), encoding="utf-8")
    for start in range(0, tests, per_file):
        body = "".join(f"def test_{n}():\n    assert {n} + 1 == {n + 1}\n\n\n" for n in range(start, min(start + per_file, tests)))
        (folder / "tests" / f"test_part_{start // per_file:04}.py").write_text(body, encoding="utf-8")
    as_repository(folder)
    return folder


def source_distribution(folder: Path, requirement: str) -> Path:
    """Unpacks a source distribution; pip fetches it by name."""
    if (folder / ".git").exists():
        return folder
    fetched = folder.parent / f"{folder.name}-sdist"
    for stale in (folder, fetched):
        if stale.exists():
            shutil.rmtree(stale)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(fetched), requirement]
    subprocess.run(command, check=True)
    (archive,) = fetched.iterdir()
    with tarfile.open(archive) as tarred:
        for member in tarred.getmembers():
            member.uid, member.gid, member.uname, member.gname = os.getuid(), os.getgid(), "", ""
            tarred.extract(member, fetched)
    (top,) = (each for each in fetched.iterdir() if each.is_dir())
    top.rename(folder)
    shutil.rmtree(fetched)
    as_repository(folder)
    return folder


def as_repository(folder: Path) -> None:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for role in ("AUTHOR", "COMMITTER"):
        env.update({f"GIT_{role}_NAME": "bench", f"GIT_{role}_EMAIL": "bench@localhost"})
    (folder / ".gitignore").write_text(".anyorder/\n__pycache__/\n.pytest_cache/\n*.egg-info/\n", encoding="utf-8")
    for arguments in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "as measured"]):
        subprocess.run(["git", *arguments], cwd=folder, env=env, check=True)


def virtual_environment(folder: Path, requirements: list[str]) -> Path:
    """The interpreter of an environment with these packages."""
    python = folder / "bin" / "python"
    stamp = folder / ".made-from"
    wanted = "\n".join(requirements)
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        if folder.exists():
            shutil.rmtree(folder)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *requirements], check=True)
        stamp.write_text(wanted, encoding="utf-8")
    return python
