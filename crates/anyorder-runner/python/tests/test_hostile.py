"""Suites that patch, close, fork and die: no record may be lost, forged or made up."""

import subprocess
import sys

import pytest
from engine import Engine, Run

SIX = """
import gc, os, signal, sys, time, random, pytest
def test_a(): pass
def test_b(): pass
{x}
def test_c(): pass
def test_d(): pass
def test_e(): pass
"""


def six(engine: Engine, x: str) -> Engine:
    engine.write("test_it.py", SIX.format(x=x))
    return engine


def assert_whole(run: Run, letters: str = "PPPPPP") -> None:
    assert run.letters == letters and run.order == list(range(6)), (run.letters, run.lines[-3:])
    assert run.end is not None and run.end[3] == 6


PATCHES = {
    "clocks": "time.time = time.time_ns = time.monotonic = time.monotonic_ns = time.perf_counter = time.sleep = lambda *a: 0",
    "json": "import json\n    json.dumps = json.loads = json.JSONEncoder.encode = json.JSONEncoder.iterencode = None",
    "os": "os.write = os.read = os.getpid = os.fstat = os.close = os.mkdir = os._exit = os.kill = None",
    "open": "import builtins, io\n    builtins.open = io.open = None",
    "sockets": "import socket, _socket\n    socket.socket = _socket.socket = None",
    "default timeout": "import socket\n    socket.setdefaulttimeout(0.0001)\n    os.closerange(200, 256)",
    "environment": "os.environ.clear(); os.chdir('/'); os.umask(0o777)",
    "modules": "for m in ('os', 'json', 'time', 'socket', '__main__', 'tempfile', 'random'): sys.modules.pop(m, None)",
    "path": "del sys.path[:]; sys.path_hooks.clear(); sys.meta_path.clear()",
    "limits": "import resource\n    for r in (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE): resource.setrlimit(r, (0, 0))",
    "descriptors": "import resource\n    resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))",
    "sigpipe": "signal.signal(signal.SIGPIPE, signal.SIG_DFL); signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    "output": "os.dup2(os.open('/dev/null', os.O_RDWR), 1); os.dup2(1, 2); sys.stdout = sys.stderr = None",
    "garbage": (
        "\n    for fd in range(3, 256):\n"
        "        try:\n            if os.readlink('/proc/self/fd/%d' % fd).startswith('socket'): os.write(fd, b'{{torn')\n"
        "        except OSError: pass"
    ),
    "shutdown": (
        "import socket\n    for fd in range(200, 256):\n"
        "        try: socket.socket(fileno=os.dup(fd)).shutdown(socket.SHUT_RDWR)\n        except OSError: pass"
    ),
    "replaced": "d = os.open('/dev/null', os.O_RDWR)\n    for fd in range(200, 256): os.dup2(d, fd)",
    "linecache": "import linecache, tokenize, traceback\n    linecache.getline = linecache.getlines = traceback.format_exception = None",
    "warnings": "import warnings\n    warnings.simplefilter('error')",
    "main": "import __main__\n    vars(__main__).clear()",
    "gc": "for o in gc.get_objects():\n        if type(o).__name__ == 'Channel' and hasattr(o, '_inode'): o._inode = -1",
    "interval": "sys.setrecursionlimit(200); sys.setswitchinterval(10); sys.settrace(None)",
}


@pytest.mark.parametrize("name", PATCHES)
def test_records_survive_what_a_test_patches_and_closes(engine: Engine, name: str) -> None:
    six(engine, "def test_x():\n    " + PATCHES[name]).collect("--capture=no")
    for run in engine.both():
        assert_whole(run)


def test_records_survive_a_test_that_closes_every_descriptor(engine: Engine) -> None:
    six(engine, "def test_x(): os.closerange(3, 1024)").collect("--capture=no")
    for run in engine.both():
        assert_whole(run)


def test_what_is_patched_while_the_suite_is_imported_does_not_matter(engine: Engine) -> None:
    engine.variables["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    engine.write(
        "conftest.py",
        """
        import os, sys, json, time, select, signal, gc, tempfile, random, traceback, warnings, resource
        real = os.write
        def no(*a, **k): raise RuntimeError("patched")
        for module, names in [(os, "fork waitpid kill killpg pipe setpgid mkdir makedirs getppid"), (select, "select"),
                              (gc, "collect freeze"), (json, "dumps loads"), (time, "time monotonic monotonic_ns"),
                              (traceback, "format_exception"), (random, "setstate getstate")]:
            for name in names.split(): setattr(module, name, no)
        """,
    )
    six(engine, "def test_x(): pass").collect("-p", "no:cacheprovider", "-p", "no:tmpdir", "-p", "no:terminal")
    for run in engine.both():
        assert run.letters == "PPPPPP", run.lines


def test_a_frozen_clock_is_not_ours(engine: Engine) -> None:
    pytest.importorskip("freezegun")
    x = """
import freezegun
freezer = freezegun.freeze_time("2020-01-01")
def test_x(): freezer.start(); assert time.time() == 1577836800
"""
    six(engine, x).collect()
    for run in engine.both():
        assert_whole(run)
        times = [line[-1] for line in run.lines if isinstance(line, list) and line[1] in ("s", "c", "t")]
        assert times == sorted(times) and len(set(times)) == len(times)


def test_forbidden_sockets_are_not_ours(engine: Engine) -> None:
    pytest.importorskip("pytest_socket")
    x = "import socket\ndef test_x():\n    with pytest.raises(Exception): socket.socket()\n    os.closerange(200, 256)"
    six(engine, x).collect("--disable-socket")
    for run in engine.both():
        assert_whole(run)


def test_a_false_file_system_is_not_ours(engine: Engine) -> None:
    x = """
from unittest import mock
@pytest.fixture
def false():
    with mock.patch("os.lstat", side_effect=OSError), mock.patch("os.stat", side_effect=OSError), mock.patch("builtins.open"):
        yield
def test_x(false): assert False, "text"
"""
    six(engine, x).collect()
    for run in engine.both():
        assert_whole(run, "PPFPPP")


def test_a_test_that_forks_and_returns_is_counted_once(engine: Engine) -> None:
    six(engine, "def test_x(): os.fork()").collect("-p", "no:randomly")
    for run in engine.both():
        assert_whole(run)


DEATHS = {
    "os._exit(0)": ("code", 0),
    "os.kill(os.getpid(), 9)": ("signal", 9),
    "os.abort()": ("signal", 6),
    "os.execv('/bin/true', ['true'])": ("code", 0),
}
PLACES = {
    "setup": "@pytest.fixture\ndef f(): {0}\ndef test_x(f): pass",
    "call": "def test_x(): {0}",
    "teardown": "@pytest.fixture\ndef f():\n    yield\n    {0}\ndef test_x(f): pass",
}


@pytest.mark.parametrize("phase", PLACES)
def test_a_death_leaves_the_test_and_the_phase_in_which_it_happened(engine: Engine, phase: str) -> None:
    text = "".join(PLACES[phase].format(death).replace("f(", "f%d(" % n).replace("(f)", "(f%d)" % n).replace("test_x", "test_%d" % n) + "\n"
                   for n, death in enumerate(DEATHS))  # fmt: skip
    engine.write("test_it.py", "import os, pytest\ndef test_before(): pass\n" + text.replace("(f%d", "(f"))
    engine.collect()
    names = [item["id"].split("::")[1] for item in engine.items]
    for n, death in enumerate(DEATHS):
        run = engine.fork([names.index("test_before"), names.index("test_%d" % n)])
        assert run.letters == "P" and run.end is None, (death, run.lines)
        after = [line[1] for line in run.lines[1:]][4:]
        assert after == {"setup": ["s"], "call": ["s", "c"], "teardown": ["s", "c", "t"]}[phase] or after[1:] == {
            "setup": ["s"], "call": ["s", "c"], "teardown": ["s", "c", "t"]}[phase]  # fmt: skip
        kind, value = DEATHS[death]
        assert run.exit[kind] == value


@pytest.mark.parametrize(
    "x, text",
    [
        ("def test_x(): pytest.exit('enough', 0)", "enough"),
        ("def test_x(): raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("def test_x(request): request.session.shouldstop = 'somebody says so'", "somebody says so"),
        ("def test_x(request): request.session.shouldfail = 'somebody says so'", "somebody says so"),
        ("@pytest.fixture\ndef f():\n    yield\n    pytest.exit('late')\ndef test_x(f): pass", "late"),
    ],
)
def test_leaving_pytest_is_never_a_silent_pass(engine: Engine, x: str, text: str) -> None:
    six(engine, x).collect()
    for run in engine.both():
        assert run.letters in ("PP", "PPP") and run.end is None
        assert text in run.internal


def test_an_internal_error_is_told_with_the_test_that_ran(engine: Engine) -> None:
    engine.write(
        "conftest.py",
        """
        def pytest_runtest_logreport(report):
            if report.when == "call" and "test_x" in report.nodeid: raise RuntimeError("in a hook")
        """,
    )
    six(engine, "def test_x(): pass").collect()
    for run in engine.both():
        assert run.letters == "PP" and run.end is None and "in a hook" in run.internal
        assert run.order[-1] == 2


def test_system_exit_in_a_test_fails_it(engine: Engine) -> None:
    six(engine, "def test_x(): sys.exit(0)").collect()
    for run in engine.both():
        assert_whole(run, "PPFPPP")


def test_a_test_of_which_nothing_is_reported_is_an_error(engine: Engine) -> None:
    engine.write("conftest.py", "def pytest_runtest_protocol(item): return True if item.name == 'test_x' else None\n")
    six(engine, "def test_x(): pass").collect()
    for run in engine.both():
        assert_whole(run, "PPEPPP")


def test_exits_at_the_end_of_the_interpreter_cost_nothing(engine: Engine) -> None:
    six(engine, "import atexit, threading\natexit.register(os._exit, 9)\ndef test_x(): pass").collect()
    for run in engine.both():
        assert_whole(run)
        assert run.exit["code"] in (0, 5)


def test_captured_output_of_runs_side_by_side_is_kept_apart(engine: Engine) -> None:
    engine.write(
        "test_it.py",
        """
        import os, sys, time
        def test_a(capfd):
            for n in range(50):
                os.write(1, os.environ["WHO"].encode())
                time.sleep(0.002)
            assert set(capfd.readouterr().out) == set(os.environ["WHO"])
        def test_b(request):
            capture = request.config.pluginmanager.getplugin("capturemanager")
            for n in range(50):
                os.write(1, os.environ["WHO"].encode())
                time.sleep(0.002)
            assert set(capture.read_global_capture().out) == set(os.environ["WHO"])
        """,
    )
    engine.collect()
    runs = [engine.fork(env={"WHO": who}, wait=False) for who in "xyz"]
    engine.pump(lambda: all(run.exit for run in runs))
    engine.settle()
    assert [run.letters for run in runs] == ["PP"] * 3, [run.lines for run in runs]


def refusals(engine: Engine, text: str, *arguments: str) -> str:
    engine.write("test_it.py", text + "\ndef test_a(): pass\n")
    told = engine.collect(*arguments).first("collected")["fork"]
    assert told["safe"] is not bool(told["why"])
    return "; ".join(told["why"])


def test_threads_and_children_after_collection_speak_against_forking(engine: Engine) -> None:
    text = """
import threading, subprocess, time, types, sys
threading.Thread(target=time.sleep, args=(50,), daemon=True, name="my thread").start()
child = subprocess.Popen(["sleep", "50"])
sys.modules["grpc"] = types.ModuleType("grpc")
"""
    why = refusals(engine, text)
    assert "my thread" in why and "1 child processes" in why and "`grpc`" in why
    if sys.platform.startswith("linux"):
        subprocess.run(["true"])


def test_a_native_thread_speaks_against_forking(engine: Engine) -> None:
    engine.variables["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    text = """
import ctypes
thread = ctypes.c_ulong()
lib = ctypes.CDLL(None)
lib.pthread_create(ctypes.byref(thread), None, ctypes.cast(lib.pause, ctypes.c_void_p), None)
"""
    assert "1 native threads" in refusals(engine, text)


def test_what_children_would_share_speaks_against_forking(engine: Engine) -> None:
    engine.variables["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    text = """
import asyncio, logging, socket, sqlite3
a, b = socket.socketpair()
loop = asyncio.new_event_loop()
database = sqlite3.connect("state.db")
database.execute("create table t (x)")
handler = logging.FileHandler("harmless.log")
handler.emit(logging.makeLogRecord({"msg": "x"}))
reading = open(__file__)
"""
    why = refusals(engine, text)
    assert "socket is open" in why and "event loop" in why and "state.db` is open for writing" in why
    assert "harmless" not in why and why.count(";") == 2


def test_where_the_suite_went_while_it_was_imported_it_stays(engine: Engine) -> None:
    (engine.root / "inner").mkdir()
    engine.sandbox("overlay")
    engine.write("test_it.py", "import os\nos.chdir('inner')\ndef test_a(): assert os.getcwd().endswith('/inner')\n")
    engine.collect()
    assert [run.letters for run in engine.both()] == ["P", "P"]


def test_numpy_is_no_reason_not_to_fork_and_draws_anew(engine: Engine) -> None:
    pytest.importorskip("numpy")
    text = """
import os, numpy
def test_draw(): open(os.environ["OUT"], "w").write(str(numpy.random.random()))
"""
    assert refusals(engine, text) == ""
    for name in "12":
        engine.fork(env={"OUT": str(engine.folder / name)})
    assert (engine.folder / "1").read_text() != (engine.folder / "2").read_text()


def test_numpy_that_the_suite_seeded_stays_so(engine: Engine) -> None:
    pytest.importorskip("numpy")
    text = """
import numpy
numpy.random.seed(3)
numpy.random.random(5000)
def test_draw():
    same = numpy.random.RandomState(3)
    same.random_sample(5000)
    assert same.random_sample() == numpy.random.random()
"""
    assert refusals(engine, text) == ""
    assert [run.letters for run in engine.both()] == ["PP", "PP"]
