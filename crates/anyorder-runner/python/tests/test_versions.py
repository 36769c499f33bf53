"""The agent on other interpreters and with older versions of pytest.

``ANYORDER_TEST_PYTHONS`` names plain interpreters, separated by ``:``. Each is tried with the newest pytest that it can
have, the oldest and the newest of them also with pytest 7; with ``ANYORDER_TEST_MATRIX=full`` each with pytest 7, 8 and
9. What has to be installed for that goes into ``.test-env`` at the top of the repository, or ``ANYORDER_TEST_CACHE``.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import List, Tuple

import pytest
from engine import Engine
from test_protocol import LETTERS, SUITE

OLDEST = {7: (3, 7), 8: (3, 8), 9: (3, 10)}
MORE = ["pytest-xdist", "pytest-rerunfailures", "pytest-randomly", "pytest-order", "freezegun"]


def interpreters() -> List[Tuple[str, Tuple[int, int]]]:
    found = []
    for path in filter(None, os.environ.get("ANYORDER_TEST_PYTHONS", "").split(":")):
        told = subprocess.run([path, "-c", "import sys; print(*sys.version_info[:2])"], stdout=subprocess.PIPE, check=True)
        major, minor = map(int, told.stdout.split())
        found.append((path, (major, minor)))
    return sorted(found, key=lambda pair: pair[1])


def combinations() -> List[Tuple[str, Tuple[int, int], int]]:
    pythons = interpreters()
    wanted = []
    for path, version in pythons:
        possible = [major for major, oldest in OLDEST.items() if version >= oldest]
        at_an_end = path in (pythons[0][0], pythons[-1][0])
        if os.environ.get("ANYORDER_TEST_MATRIX") != "full":
            possible = sorted({possible[-1], *possible[: 1 if at_an_end else 0]})
        wanted += [(path, version, major) for major in possible]
    return wanted


def installed(python: str, version: Tuple[int, int], major: int) -> Path:
    """A folder with this pytest and some plugins, for this interpreter."""
    cache = Path(os.environ.get("ANYORDER_TEST_CACHE") or Path(__file__).parents[4] / ".test-env")
    folder = cache / ("packages-%d.%d-pytest%d" % (version[0], version[1], major))
    if not (folder / "done").exists():
        command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", str(folder)]
        subprocess.run([*command, "pytest>=%d,<%d" % (major, major + 1), *MORE], check=True)
        (folder / "done").write_text("")
    return folder


@pytest.mark.skipif(sys.version_info < (3, 9), reason="the run on a newer interpreter tries them")
@pytest.mark.parametrize("python, version, major", combinations(), ids=lambda v: ".".join(map(str, v)) if isinstance(v, tuple) else None)
def test_each_version_tells_the_same(tmp_path: Path, python: str, version: Tuple[int, int], major: int) -> None:
    packages = str(installed(python, version, major))
    engine = Engine(tmp_path / "a", python)
    other = Engine(tmp_path / "b", python)
    try:
        engine.variables["PYTHONPATH"] = other.variables["PYTHONPATH"] = packages
        engine.sandbox("overlay")
        engine.write("pytest.ini", "[pytest]\naddopts = -n auto --reruns 2 -x -p randomly --strict-markers\n")
        engine.write("test_it.py", SUITE + "\n    @pytest.mark.flaky(reruns=2)\n    def test_last(): pass\n")
        engine.collect()
        told = engine.first("environment")
        assert told["python"].startswith("%d.%d." % version) and told["pytest"].startswith("%d." % major)
        assert {what for what, _, _ in engine.off} >= {"pytest-xdist", "pytest-rerunfailures", "pytest", "pytest-randomly"}
        assert engine.first("collected")["fork"] == {"safe": True, "why": []}
        assert all(len(item["src"]) == 16 for item in engine.items)
        for run in engine.both():
            letters = dict(zip((engine.items[i]["id"].split("::")[-1] for i in run.order), run.letters))
            assert letters.pop("test_last") == "P"
            assert "".join(letters.values()) == LETTERS.replace("PF", "PF", 1), letters
            assert (
                run.end is not None and run.failure(1)["sig"] == "AssertionError @ test_it.py:def test_needs_none(self): assert not state"
            )
        other.write(
            "test_it.py",
            """
            import freezegun, os, pytest
            freezer = freezegun.freeze_time("2020-01-01")
            def test_a(): freezer.start()
            def test_b(): os.closerange(200, 256)
            def test_c(): pytest.exit("enough")
            """,
        )
        other.collect("--capture=no")
        for run in (other.fork([0, 1]), other.here([0, 1, 2])):
            assert run.letters == "PP" and bool(run.end) is (len(run.order) == 2)
            assert run.end or "enough" in run.internal
    finally:
        engine.close()
        other.close()
