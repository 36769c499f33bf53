"""Prepares real suites: for each, a git repository with one commit and a virtual environment with packages of its time.

    python3 bench/cases/prepare.py --out DIR [--list FILE]... [--expect FILE] [--only NAME]... [--jobs N]

`--list` names JSON files like suites.json beside this script. A suite comes from a source distribution on PyPI or from a git
repository that is on this machine. `--expect` names a page that lists the tests known to depend on order. What was prepared is
written to DIR/manifest.json, one entry a suite; each is checked by one plain run of pytest in the default order.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Dict

HERE = Path(__file__).resolve().parent
Suite = Dict[str, Any]


class Failed(Exception):
    """A suite could not be prepared; the text says why."""


def call(command: list[str], cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **(env or {})}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        raise Failed(f"`{' '.join(command)}` ended with {done.returncode}:\n{done.stdout[-2000:]}")
    return done.stdout


def interpreter(version: str) -> str:
    candidates = [str(path) for path in sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python3"))]
    on_path = shutil.which(f"python{version}")
    for candidate in candidates + ([on_path] if on_path else []) + [sys.executable]:
        probe = subprocess.run([candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True)
        if probe.stdout.strip() == version:
            return candidate
    raise Failed(f"no Python {version} on this machine")


def git(folder: Path, *arguments: str) -> str:
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for role in ("AUTHOR", "COMMITTER"):
        settings.update({f"GIT_{role}_NAME": "bench", f"GIT_{role}_EMAIL": "bench@localhost"})
    return call(["git", "-C", str(folder), *arguments], env=settings)


def unpack(suite: Suite, to: Path) -> None:
    source = suite["source"]
    if "git" in source:
        call(["git", "clone", "--quiet", "--no-hardlinks", source["git"], str(to)])
        git(to, "checkout", "--quiet", "-B", "case", source["commit"])
        return
    fetched = to.parent / "sdist"
    call([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(fetched), source["pypi"]])
    archives = list(fetched.iterdir())
    if len(archives) != 1:
        raise Failed(f"expected one source distribution in `{fetched}`, found {len(archives)}")
    inside = fetched / "unpacked"
    if archives[0].suffix == ".zip":
        with zipfile.ZipFile(archives[0]) as zipped:
            zipped.extractall(inside)
    else:
        with tarfile.open(archives[0]) as tarred:
            for member in tarred.getmembers():
                # As root, tar would restore the packager's ids, and git refuses a tree that belongs to another.
                member.uid, member.gid, member.uname, member.gname = os.getuid(), os.getgid(), "", ""
                tarred.extract(member, inside)
    (top,) = inside.iterdir()
    top.rename(to)
    shutil.rmtree(fetched)
    call(["git", "init", "--quiet", "--initial-branch", "main", str(to)])
    git(to, "add", "--all", "--force", "--", ".", ":(exclude)*.egg-info/*")
    git(to, "commit", "--quiet", "--message", source["pypi"])


def install(suite: Suite, uv: str, source: Path, venv: Path) -> None:
    call([uv, "venv", "--quiet", "--clear", "--python", interpreter(suite["python"]), str(venv)])
    python = str(venv / "bin" / "python")
    dated = [uv, "pip", "install", "--quiet", "--python", python]
    if suite.get("as_of"):
        dated += ["--exclude-newer", suite["as_of"]]
    if suite.get("requires"):
        call([*dated, *suite["requires"]])
    if suite.get("editable", True):
        # The build itself is of today: setuptools of that time could not install editable through PEP 660.
        call([uv, "pip", "install", "--quiet", "--python", python, "--no-deps", "--editable", str(source)])
    if suite.get("then"):
        # A newer pytest than the suite's time had: what is measured supports 7 and newer.
        call([uv, "pip", "install", "--quiet", "--python", python, *suite["then"]])


def exclude_products(source: Path) -> None:
    """Build products stay untracked without making the tree look dirty."""
    exclude = source / ".git" / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text("*.egg-info/\n*.pyc\n__pycache__/\n.pytest_cache/\n*.so\nbuild/\n.anyorder/\n", encoding="utf-8")


def activated(venv: Path) -> dict[str, str]:
    """The environment of a user who activated it. Suites look for `.pyc` files and for commands on PATH."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**env, "VIRTUAL_ENV": str(venv), "PATH": f"{venv / 'bin'}{os.pathsep}{env.get('PATH', os.defpath)}"}


def verify(suite: Suite, source: Path, venv: Path) -> dict[str, Any]:
    command = [str(venv / "bin" / "python"), "-m", "pytest", "-q", "--color=no", "-p", "no:cacheprovider", *suite["pytest_args"]]
    began = time.monotonic()
    done = subprocess.run(
        command,
        cwd=source,
        env=activated(venv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    seconds = time.monotonic() - began
    lines = [line for line in done.stdout.splitlines() if re.search(r"\d+ (passed|failed|error)", line)]
    if not lines:
        raise Failed(f"pytest printed no count:\n{done.stdout[-2000:]}")
    counts = {word.rstrip("s"): int(number) for number, word in re.findall(r"(\d+) (\w+)", lines[-1])}
    failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    return {"exit": done.returncode, "counts": counts, "seconds": round(seconds, 2), "failed": failed, "summary": lines[-1].strip("= ")}


def expectations(page: Path) -> dict[str, dict[str, Any]]:
    """Parses the page of known cases: one section a suite, one line a test."""
    found: dict[str, dict[str, Any]] = {}
    for section in re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        name, _, body = section.partition("\n")
        entry: dict[str, Any] = {"tests": {}, "varied": []}
        stated = re.search(r"· (\d+) tests ·", body)
        entry["test_count"] = int(stated.group(1)) if stated else None
        for role, test, rest in re.findall(r"^- (victim|brittle) `(.+?)`: (.*)$", body, re.MULTILINE):
            before, _, cleaners = rest.partition("; cleaners ")
            ids = [unescaped(each) for each in re.findall(r"`(.+?)`", before)]
            together = before.startswith("needs, in this order")
            entry["tests"][unescaped(test)] = {
                "role": role,
                "by": [ids] if together else [[each] for each in ids],
                "cleaners": [unescaped(each) for each in re.findall(r"`(.+?)`", cleaners)],
            }
        for listed in re.findall(r"^- outcome varied, not resolved: (.*)$", body, re.MULTILINE):
            entry["varied"] += [unescaped(each) for each in re.findall(r"`(.+?)`", listed)]
        found[name.strip()] = entry
    return found


def unescaped(test: str) -> str:
    return test.replace("::()::", "::")


def prepare(suite: Suite, out: Path, uv: str, known: dict[str, dict[str, Any]], again: bool) -> dict[str, Any]:
    top = out / suite["name"]
    source, venv = top / "src", top / "venv"
    if again and top.exists():
        shutil.rmtree(top)
    top.mkdir(parents=True, exist_ok=True)
    if not (top / "unpacked").exists():
        if source.exists():
            shutil.rmtree(source)
        unpack(suite, source)
        if not suite.get("repository", True):
            # A suite that asks git about the folder it stands in would see ours.
            shutil.rmtree(source / ".git")
        (top / "unpacked").touch()
    if suite.get("repository", True):
        exclude_products(source)
    ready = top / "ready"
    wanted = json.dumps(suite, sort_keys=True)
    if not ready.exists() or ready.read_text(encoding="utf-8") != wanted:
        install(suite, uv, source, venv)
        ready.write_text(wanted, encoding="utf-8")
    verified = verify(suite, source, venv)
    dirty = git(source, "status", "--porcelain").strip() if suite.get("repository", True) else ""
    expected = known.get(suite["name"], {"tests": {}, "varied": [], "test_count": None})
    return {
        "name": suite["name"],
        "dir": str(source),
        "python": str(venv / "bin" / "python"),
        "pytest_args": suite["pytest_args"],
        "large": bool(suite.get("large")),
        "clean": not expected["tests"] and not expected["varied"],
        "expected": expected["tests"],
        "varied": expected["varied"],
        "stated_tests": expected["test_count"],
        "default_order": verified,
        "dirty": dirty.splitlines(),
    }


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--out", type=Path, required=True)
    arguments.add_argument("--list", type=Path, action="append", default=[])
    arguments.add_argument("--expect", type=Path)
    arguments.add_argument("--only", action="append", default=[])
    arguments.add_argument("--again", action="store_true", help="from nothing, also where it is there already")
    arguments.add_argument("--jobs", type=int, default=2)
    options = arguments.parse_args()

    out: Path = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    tools = out / ".tools"
    uv = tools / "bin" / "uv"
    if not uv.exists():
        call([sys.executable, "-m", "venv", str(tools)])
        call([str(tools / "bin" / "python"), "-m", "pip", "install", "--quiet", "uv"])
    suites: list[Suite] = []
    for listed in options.list or [HERE / "suites.json"]:
        suites += json.loads(listed.read_text(encoding="utf-8"))
    if options.only:
        suites = [suite for suite in suites if suite["name"] in options.only]
    known = expectations(options.expect) if options.expect else {}

    manifest_path = out / "manifest.json"
    manifest = {entry["name"]: entry for entry in json.loads(manifest_path.read_text(encoding="utf-8"))} if manifest_path.exists() else {}
    bad = 0

    def attempt(suite: Suite) -> Any:
        try:
            return prepare(suite, out, str(uv), known, options.again)
        except (Failed, OSError) as error:
            return error

    with ThreadPoolExecutor(options.jobs) as pool:
        for suite, result in zip(suites, pool.map(attempt, suites)):
            if isinstance(result, Exception):
                bad += 1
                manifest.pop(suite["name"], None)
                print(f"{suite['name']}: not ready: {result}", flush=True)
                continue
            manifest[suite["name"]] = result
            print(f"{suite['name']}: {result['default_order']['summary']} (stated: {result['stated_tests']})", flush=True)
            manifest_path.write_text(json.dumps(sorted(manifest.values(), key=lambda each: each["name"]), indent=1), encoding="utf-8")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
