"""The overlay at the project's own path, as the superuser and as an ordinary user, and what stands in its way."""

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Iterator

import pytest
from engine import Engine

if not sys.platform.startswith("linux"):
    pytest.skip("overlays are Linux's", allow_module_level=True)

NOBODY = 65534
NEWNS, NEWUSER = 0x00020000, 0x10000000
LIBC = ctypes.CDLL(None, use_errno=True)

SUITE = """
    import os, pathlib
    HERE = pathlib.Path(__file__).parent
    def test_writes():
        assert sorted(p.name for p in HERE.iterdir() if p.name != "test_it.py") == NAMES, os.listdir(HERE)
        assert (HERE / "tracked").read_text() == TRACKED
        (HERE / "left").write_text("x")
        (HERE / "tracked").write_text("changed")
        (HERE / "product").unlink()
        (HERE / "folder" / "in_it").unlink()
        (HERE / "folder").rmdir()
        (HERE / "folder").mkdir()
        assert os.listdir(HERE / "folder") == []
        os.rename(HERE / "left", HERE / "moved")
        assert os.getcwd() == str(HERE)
"""


def works() -> bool:
    """Whether namespaces and overlays can be had here at all."""
    command = [sys.executable, "-c", "import ctypes,sys; sys.exit(ctypes.CDLL(None).unshare(%d))" % (NEWNS | NEWUSER)]
    return subprocess.run(command).returncode == 0


needs_namespaces = pytest.mark.skipif(not works(), reason="no user namespaces here")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs the superuser")


def fill(engine: Engine, tracked: str = "as it is", names: "tuple[str, ...]" = ("folder", "product", "tracked")) -> None:
    engine.write("test_it.py", SUITE.replace("NAMES", repr(list(names))).replace("TRACKED", repr(tracked)))
    engine.write("tracked", "as it is")
    engine.write("product", "built")
    engine.write("folder/in_it", "x")


def content(root: Path) -> "dict[str, str]":
    return {str(p.relative_to(root)): p.read_text() for p in root.rglob("*") if p.is_file()}


def check(engine: Engine) -> None:
    """Runs twice in children and once in the main process; nothing may be left."""
    before = content(engine.root)
    engine.sandbox("overlay", required=True)
    engine.collect()
    assert engine.first("environment")["sandbox"] == {"mode": "overlay", "why": None}
    for run in (engine.fork(), engine.fork()):
        assert run.letters == "P", run.lines
        assert run.hello["sandbox"] == {"mode": "overlay", "why": None}
    run = engine.fork(peeks=[(0, 0), (0, 0)])
    assert (run.letters, run.peeked) == ("P", "PP"), [peek.lines for peek in run.peeks.values()]
    assert all(peek.hello["sandbox"] == {"mode": "overlay", "why": None} for peek in run.peeks.values())
    assert engine.here().letters == "P"
    assert content(engine.root) == before


@needs_namespaces
def test_what_runs_write_into_the_tree_vanishes(engine: Engine) -> None:
    fill(engine)
    check(engine)


@needs_namespaces
def test_another_version_can_lie_above_the_tree(engine: Engine) -> None:
    fill(engine, "base", ("folder", "more", "product", "tracked"))
    base, top = engine.folder / "base", engine.folder / "top"
    for folder, text in ((base, "hidden"), (top, "base")):
        folder.mkdir()
        (folder / "tracked").write_text(text)
    (base / "more").write_text("x")
    engine.config["sandbox"]["lower"] = [str(top), str(base)]
    check(engine)


@needs_namespaces
@pytest.mark.parametrize("name", ["with,comma", "with:colon", "back\\slash", "sp ace", "\u00fc\u00df", 'qu"ote', "x" * 200])
def test_paths_of_any_kind_can_be_covered(tmp_path: Path, name: str) -> None:
    engine = Engine(tmp_path / name)
    try:
        fill(engine)
        check(engine)
    finally:
        engine.close()


def private_mounts(flags: int = NEWNS) -> None:
    uid, gid = os.getuid(), os.getgid()
    assert LIBC.unshare(flags) == 0
    if flags & NEWUSER:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text("%d %d 1" % (uid, uid))
        Path("/proc/self/gid_map").write_text("%d %d 1" % (gid, gid))
    assert LIBC.mount(b"none", b"/", None, 0x44000, None) == 0


@needs_root
@needs_namespaces
def test_a_tree_that_lies_on_an_overlay_already_can_be_covered(engine: Engine) -> None:
    fill(engine)
    below = engine.folder / "below"
    below.mkdir()

    def overlay() -> None:
        private_mounts()
        assert LIBC.mount(b"tmpfs", os.fsencode(below), b"tmpfs", 0, None) == 0
        (below / "u").mkdir()
        (below / "w").mkdir()
        options = "lowerdir=%s,upperdir=%s/u,workdir=%s/w,userxattr" % (engine.root, below, below)
        assert LIBC.mount(b"overlay", os.fsencode(engine.root), b"overlay", 0, options.encode()) == 0
        os.chdir(str(engine.root))

    engine.before = overlay
    check(engine)


def degraded(engine: Engine, *words: str) -> None:
    """The overlay is not to be had: said, and done without; or refused where it was required."""
    engine.sandbox("overlay", required=False)
    engine.collect()
    told = engine.first("environment")["sandbox"]
    assert told["mode"] == "tmp" and all(word in told["why"] for word in words), told
    assert engine.fork().hello["sandbox"] == told


@needs_root
@needs_namespaces
def test_a_mount_inside_the_tree_rules_an_overlay_out(engine: Engine) -> None:
    engine.write("test_it.py", "def test_a(): pass\n")
    engine.write("inner dir/x", "")

    def mount() -> None:
        private_mounts()
        assert LIBC.mount(b"tmpfs", os.fsencode(engine.root / "inner dir"), b"tmpfs", 0, None) == 0

    engine.before = mount
    degraded(engine, "inner dir", "a mount of its own")


def test_a_tree_that_holds_our_own_folder_is_not_covered(engine: Engine) -> None:
    engine.write("test_it.py", "def test_a(): pass\n")
    engine.config["sandbox"]["scratch"] = str(engine.root / "scratch")
    degraded(engine, "lies inside the project")


def test_the_root_of_the_file_system_is_not_covered(engine: Engine) -> None:
    engine.write("test_it.py", "def test_a(): pass\n")
    engine.config["root"] = "/"
    degraded(engine, "root of the file system")


@needs_root
@needs_namespaces
def test_where_namespaces_are_forbidden_it_is_said(engine: Engine) -> None:
    engine.write("test_it.py", "def test_a(): pass\n")

    def forbid() -> None:
        private_mounts(NEWUSER | NEWNS)
        for name in ("user", "mnt"):
            Path("/proc/sys/user/max_%s_namespaces" % name).write_text("0")

    engine.before = forbid
    degraded(engine, "unshare")


def test_a_sandbox_that_is_required_and_not_there_is_refused(engine: Engine) -> None:
    engine.write("test_it.py", "def test_a(): pass\n")
    engine.config["root"] = "/"
    engine.sandbox("overlay", required=True)
    line = engine.start().main[-1]
    assert (line["t"], line["what"]) == ("broken", "sandbox") and "root of the file system" in line["text"]["head"]


@pytest.fixture
def ordinary() -> Iterator[Engine]:
    """An engine whose processes belong to an ordinary user."""
    if os.geteuid() != 0:
        pytest.skip("needs the superuser, to become somebody else")
    folder = Path(tempfile.mkdtemp(prefix="ao-user-"))
    folder.chmod(0o755)
    python = sys.executable
    engine = Engine(folder / "in", python)
    become = drop(engine)
    if subprocess.run(["true"], preexec_fn=become).returncode or not runs(python, become):
        python = "/usr/bin/python3"
        engine.python = python
        engine.variables["PYTHONPATH"] = str(copied_pytest(folder))
        if not runs(python, become, engine.variables["PYTHONPATH"]):
            engine.close()
            pytest.skip("no interpreter with pytest that an ordinary user may run")
    yield engine
    engine.close()
    shutil.rmtree(str(folder), ignore_errors=True)


def drop(engine: Engine) -> Callable[[], None]:
    def become() -> None:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    engine.before = become
    return become


def runs(python: str, become: Callable[[], None], path: str = "") -> bool:
    try:
        environment = dict(os.environ, PYTHONPATH=path)
        done = subprocess.run([python, "-c", "import pytest"], preexec_fn=become, env=environment, stderr=subprocess.DEVNULL)
    except OSError:
        return False
    return done.returncode == 0


def copied_pytest(folder: Path) -> Path:
    target = folder / "packages"
    target.mkdir()
    source = Path(pytest.__file__).parents[1]
    for name in ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "exceptiongroup", "tomli", "py", "typing_extensions"):
        for path in [source / name, source / (name + ".py"), *source.glob(name + "-*.dist-info")]:
            if path.is_dir():
                shutil.copytree(str(path), str(target / path.name))
            elif path.exists():
                shutil.copy(str(path), str(target))
    return target


def give(engine: Engine) -> None:
    """The project and the private folder belong to the ordinary user."""
    for top in (engine.root, engine.private):
        for path in [top, *top.rglob("*")]:
            os.chown(str(path), NOBODY, NOBODY)


@needs_namespaces
def test_an_ordinary_user_gets_the_overlay_and_keeps_an_ordinary_users_rights(ordinary: Engine) -> None:
    fill(ordinary, names=("folder", "product", "test_rights.py", "tracked"))
    ordinary.write(
        "test_rights.py",
        """
        import os, pytest, subprocess
        def test_rights(tmp_path):
            assert os.getuid() == os.geteuid() == 65534
            secret = tmp_path / "secret"
            secret.write_text("x")
            secret.chmod(0)
            with pytest.raises(PermissionError): secret.read_text()
            with pytest.raises(PermissionError): os.listdir("/root")
            with open("/proc/self/status") as handle: status = handle.read()
            assert "CapEff:\\t0000000000000000" in status
            assert subprocess.run(["cat", str(secret)], stderr=subprocess.DEVNULL).returncode != 0
        """,
    )
    give(ordinary)
    os.chmod(ordinary.private, 0o777)  # the test makes the folders of runs
    before = content(ordinary.root)
    ordinary.sandbox("overlay", required=True)
    ordinary.collect("test_it.py", "test_rights.py")
    assert ordinary.first("environment")["sandbox"]["mode"] == "overlay"
    run = ordinary.fork([1], peeks=[(0, 0), (0, 1), (1, 0), (1, 0)])
    assert (run.letters, run.peeked) == ("P", "PPPP"), [peek.lines for peek in run.peeks.values()]
    assert {peek.hello["sandbox"]["mode"] for peek in run.peeks.values()} == {"overlay"}
    for run in (ordinary.fork([1, 0]), ordinary.fork([0, 1]), ordinary.here([1, 0])):
        assert run.letters == "PP", run.lines
    assert content(ordinary.root) == before


@needs_namespaces
def test_a_file_that_could_not_be_copied_up_rules_an_overlay_out(ordinary: Engine) -> None:
    ordinary.write("test_it.py", "def test_a(): pass\n")
    foreign = ordinary.write("deep/er/foreign", "")
    give(ordinary)
    os.chown(str(foreign), NOBODY, 12345)
    os.chmod(ordinary.private, 0o777)
    degraded(ordinary, "foreign", "cannot map")


@needs_namespaces
def test_byte_code_is_written_where_it_vanishes(engine: Engine) -> None:
    engine.write("helping.py", "VALUE = 1\n")
    engine.write(
        "test_it.py",
        """
        import os, sys
        def test_a():
            import helping
            assert not sys.dont_write_bytecode and "PYTHONDONTWRITEBYTECODE" not in os.environ
            assert os.path.exists(helping.__cached__)
        """,
    )
    engine.variables["PYTHONDONTWRITEBYTECODE"] = "anyorder"
    before = content(engine.root)
    engine.sandbox("overlay", required=True)
    engine.collect("test_it.py")
    assert [run.letters for run in engine.both()] == ["P", "P"]
    assert content(engine.root) == before


SOCKET = """
    import os, socket, tempfile
    def test_a_socket_fits(tmp_path):
        assert tempfile.gettempdir() == os.environ["TMPDIR"] == SHORT and str(tmp_path).startswith(SHORT)
        with socket.socket(socket.AF_UNIX) as server: server.bind(str(tmp_path / "socket"))
        left = os.path.join(SHORT, "left")
        assert not os.path.exists(left)
        with open(left, "w") as handle: handle.write("x")
"""


@needs_namespaces
def test_temporary_files_have_short_paths_which_runs_do_not_share(engine: Engine) -> None:
    short = Path(tempfile.mkdtemp(prefix="s", dir="/tmp"))
    try:
        engine.write("test_it.py", SOCKET.replace("SHORT", repr(str(short))))
        engine.sandbox("overlay", required=True, short=str(short))
        engine.collect()
        run = engine.fork([], peeks=[(0, 0), (0, 0)])
        assert run.peeked == "PP", [peek.lines for peek in run.peeks.values()]
        assert [run.letters for run in (engine.fork(), engine.fork(), engine.here())] == ["P", "P", "P"]
        assert list(short.iterdir()) == []
    finally:
        short.rmdir()
