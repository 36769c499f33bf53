"""A tree in a git worktree: imports of an editable install must come from it, in the process and in those it starts."""

from pathlib import Path

import pytest
from engine import Engine

FINDER = """
import importlib.util, sys
MAPPING = {"shop": %r}
NAMESPACES = {"space": [%r]}
class _EditableFinder:
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if fullname in MAPPING:
            return importlib.util.spec_from_file_location(fullname, MAPPING[fullname] + "/__init__.py")
sys.meta_path.append(_EditableFinder)
"""


def tree(top: Path, version: str) -> None:
    (top / "src" / "shop").mkdir(parents=True)
    (top / "src" / "shop" / "__init__.py").write_text("VERSION = %r\n" % version)
    (top / "plain.py").write_text("VERSION = %r\n" % version)


@pytest.mark.parametrize("way", ["finder", "path"])
def test_an_editable_install_imports_the_worktree(engine: Engine, way: str) -> None:
    project, site = engine.folder / "checkout", engine.folder / "site"
    site.mkdir()
    tree(project, "patched")
    tree(engine.root, "base")
    path = [str(site), str(project)]
    if way == "finder":
        (site / "__editable___shop_finder.py").write_text(FINDER % (str(project / "src" / "shop"), str(project / "space")))
        (site / "sitecustomize.py").write_text("import __editable___shop_finder\n")
    else:
        path.append(str(project / "src"))
    engine.variables["PYTHONPATH"] = ":".join(path)
    engine.config["remap"] = {"from": str(project), "to": str(engine.root)}
    engine.write(
        "test_it.py",
        """
        import os, subprocess, sys
        def test_here():
            import plain, shop
            assert (plain.VERSION, shop.VERSION) == ("base", "base")
            finder = sys.modules.get("__editable___shop_finder")
            assert finder is None or finder.NAMESPACES["space"] == [os.getcwd() + "/space"]
        def test_in_another_process():
            code = "import plain; print(plain.VERSION)"
            assert subprocess.check_output([sys.executable, "-c", code], cwd="/") == b"base\\n"
        """,
    )
    engine.collect()
    for run in engine.both():
        assert run.letters == "PP", run.lines
        assert run.end is not None and run.end[4]["foreign"] == []
