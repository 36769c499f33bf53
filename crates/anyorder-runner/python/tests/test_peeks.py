"""Peeks: tests run in children in the middle of a run, which goes on as if nothing had been."""

import json
import os
import random
import signal
import sys
import time
from typing import Any, Dict, List, Sequence, Tuple

import pytest
from engine import Engine, Run

SUITES = {
    "test_one.py": """
        import os, pathlib, random, pytest, tempfile
        HERE = pathlib.Path(__file__).parent
        state = []

        @pytest.fixture(scope="module")
        def shared():
            state.append("up")
            yield state
            state.clear()

        @pytest.fixture(scope="class")
        def of_class(shared):
            shared.append("class")
            yield
            shared.remove("class")

        class TestClass:
            def test_appends(self, of_class): state.append("appended")
            def test_finds_it(self, of_class): assert "appended" in state
            def test_finds_nothing(self, of_class): assert state == ["up", "class"]

        def test_alone(): assert not state
        def test_seeds(): random.seed(5)
        def test_draws(): assert random.random() == random.Random(5).random()
        """,
    "test_two.py": """
        import os, pathlib, sys, tempfile, warnings, pytest
        HERE = pathlib.Path(__file__).parent
        def test_goes_elsewhere(tmp_path): os.chdir(tmp_path)
        def test_stands_at_home(): assert os.getcwd() == str(HERE)
        def test_sets(): os.environ["LEFT"] = "x"
        def test_needs_unset(): assert "LEFT" not in os.environ
        @pytest.mark.filterwarnings("error")
        def test_is_strict(): pass
        def test_warns(): warnings.warn("w")
        def test_writes():
            with open(os.path.join(tempfile.gettempdir(), "left"), "a") as f: f.write("x")
            with open(HERE / "tracked", "a") as f: f.write("y")
        def test_finds_one():
            text = [open(n).read() for n in (os.path.join(tempfile.gettempdir(), "left"), HERE / "tracked")]
            assert text == ["x", "asy"], text
        def test_finds_none():
            assert not os.path.exists(os.path.join(tempfile.gettempdir(), "left"))
            assert (HERE / "tracked").read_text() == "as"
        """,
    "test_three.py": """
        import os, pytest
        def test_counts(session_wide):
            session_wide["n"] += 1
        def test_still_zero(session_wide):
            assert session_wide["n"] == 0
        def test_appends_to_log(log_file):
            log_file.write("line\\n")
        def test_log_is_short(log_file):
            log_file.seek(0)
            assert len(log_file.readlines()) == 1
            log_file.seek(0, 2)
        def test_says_something(capfd):
            os.write(1, b"said")
            assert capfd.readouterr().out == "said"
        """,
    "conftest.py": """
        import pytest
        @pytest.fixture(scope="session")
        def session_wide(): return {"n": 0}
        @pytest.fixture(scope="session")
        def log_file(tmp_path_factory):
            with open(tmp_path_factory.mktemp("log") / "log", "w+") as f:
                yield f
        """,
    "tracked": "as",
}


def fill(engine: Engine) -> None:
    for name, text in SUITES.items():
        engine.write(name, text)


def sandboxed(engine: Engine) -> None:
    """Files are kept apart where there is an overlay."""
    engine.sandbox("overlay", required=True)


def outcomes(run: Run) -> Tuple[str, List[int], List[str]]:
    """What a run tells, without times."""
    assert run.end is not None, (run.lines, run.internal)
    return run.letters, run.order, [json.dumps(line[6]["sig"]) for line in run.told("e") if len(line) > 6]


def show(engine: Engine, run: Run) -> str:
    """Everything, for a failed assertion."""
    peeks = [json.dumps(line) for _, peek in sorted(run.peeks.items()) for line in peek.lines]
    return "\n".join(["", *map(json.dumps, run.lines), "peeks:", *peeks, engine.output.decode()[-2000:]])


needs_overlay = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="overlays are Linux's")


@needs_overlay
def test_a_run_with_peeks_is_the_run_without_and_each_peek_is_its_sequence(engine: Engine) -> None:
    fill(engine)
    sandboxed(engine)
    count = len(engine.collect().items)
    choose = random.Random(7)
    known: Dict[Tuple[int, ...], str] = {}

    def last_of(sequence: Sequence[int]) -> str:
        """What the last test of a sequence does, when it is run as it stands."""
        key = tuple(sequence)
        if key not in known:
            known[key] = engine.fork(sequence).letters[-1]
        return known[key]

    for _ in range(6):
        order = choose.sample(range(count), choose.randrange(0, 9))
        places = sorted(choose.randrange(len(order) + 1) for _ in range(8))
        peeks = [(after, choose.choice([t for t in range(count) if t not in order[:after]])) for after in places]
        plain, peeked = engine.fork(order), engine.fork(order, peeks=peeks)
        assert outcomes(peeked) == outcomes(plain)
        assert sorted(peeked.peeks) == list(range(8))
        for number, (after, test) in enumerate(peeks):
            peek = peeked.peeks[number]
            assert peek.end is not None and peek.order == [test], peek.lines
            assert peek.letters == last_of([*order[:after], test]), (order, after, test, peek.lines)
        assert [line[2] for line in peeked.told("ps")] == list(range(8))
        assert [line[2:] for line in peeked.told("pe")] == [[number, 0] for number in range(8)]


@needs_overlay
def test_what_a_shared_fixture_remembers_is_there_for_a_peek_after_the_last_test(engine: Engine) -> None:
    fill(engine)
    sandboxed(engine)
    index = {item["id"].rsplit("::", 1)[1]: number for number, item in enumerate(engine.collect().items)}
    row = ["test_still_zero", "test_counts", "test_alone"]
    run = engine.fork([index["test_counts"]], peeks=[(0, index["test_still_zero"])] + [(1, index[name]) for name in row])
    assert (run.letters, run.peeked) == ("P", "PFPP")
    run = engine.fork([index["test_appends"]], peeks=[(1, index[n]) for n in ("test_finds_it", "test_finds_nothing", "test_alone")])
    assert (run.letters, run.peeked) == ("P", "PFF")


def test_an_empty_order_runs_each_peek_alone(engine: Engine) -> None:
    fill(engine)
    engine.collect()
    alone = [engine.fork([test]).letters for test in range(len(engine.items))]
    run = engine.fork([], peeks=[(0, test) for test in range(len(engine.items))])
    assert run.end is not None and run.end[3] == 0
    assert [run.peeks[number].letters for number in range(len(alone))] == alone


@needs_overlay
def test_what_a_peek_writes_reaches_neither_the_run_nor_the_next_peek(engine: Engine) -> None:
    fill(engine)
    sandboxed(engine)
    index = {item["id"].rsplit("::", 1)[1]: number for number, item in enumerate(engine.collect().items)}
    writes, one, none = (index["test_" + name] for name in ("writes", "finds_one", "finds_none"))
    run = engine.fork([none, writes, one], peeks=[(0, writes), (0, writes), (1, none), (2, one), (2, writes), (2, one), (3, one)])
    assert (run.letters, run.peeked) == ("PPP", "PPPPPPP"), [peek.lines for peek in run.peeks.values()]
    log, short = index["test_appends_to_log"], index["test_log_is_short"]
    run = engine.fork([log, short], peeks=[(1, log), (1, short), (2, short)])
    assert (run.letters, run.peeked) == ("PP", "PPP"), [peek.lines for peek in run.peeks.values()]


def test_a_peek_that_dies_is_told_and_the_run_goes_on(engine: Engine) -> None:
    engine.write(
        "test_it.py",
        """
        import os, pytest, sys
        def test_a(): pass
        def test_b(): pass
        def test_killed(): os.kill(os.getpid(), 9)
        def test_leaves(): os._exit(0)
        def test_exits(): pytest.exit("enough")
        def test_forks():
            if os.fork() == 0: return
            os.wait()
        """,
    )
    run = engine.collect().fork([0, 1], peeks=[(1, 2), (1, 3), (1, 4), (1, 5), (2, 0)])
    assert run.letters == "PP" and run.end is not None
    assert [peek.end is not None for _, peek in sorted(run.peeks.items())] == [False, False, False, True, True]
    assert [line[3] for line in run.told("pe")][:2] == [-9, 0]
    assert "enough" in run.peeks[2].internal
    assert run.peeks[3].letters == "P"


def test_peeks_that_are_never_reached_are_not_told(engine: Engine) -> None:
    engine.write("test_it.py", "import os\ndef test_a(): pass\ndef test_dies(): os._exit(0)\ndef test_b(): pass\n")
    run = engine.collect().fork([0, 1, 2], peeks=[(1, 2), (2, 2), (3, 0)])
    assert run.letters == "P" and run.end is None and sorted(run.peeks) == [0]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="orphans are found by Linux's means")
def test_processes_that_a_peek_leaves_end_with_it_and_those_of_the_run_live(engine: Engine) -> None:
    engine.write(
        "test_it.py",
        """
        import os, subprocess, pytest, signal, time
        heard = []
        @pytest.fixture(scope="session")
        def server():
            process = subprocess.Popen(["sleep", "1000"])
            yield process
            assert process.poll() is None
            process.kill()
            process.wait()
        def test_starts(server):
            signal.signal(signal.SIGCHLD, lambda *_: heard.append(1))
        def test_leaves(server):
            with open(os.environ["OUT"], "a") as f:
                for new_session in (False, True):
                    f.write("%d " % subprocess.Popen(["sleep", "1000"], start_new_session=new_session).pid)
                daemon = subprocess.run("setsid sleep 1000 >/dev/null & echo $!", shell=True, stdout=subprocess.PIPE).stdout
                f.write(daemon.decode())
        def test_after(server):
            assert server.poll() is None and not heard
        """,
    )
    out = engine.folder / "out"
    run = engine.collect().fork([0, 2], env={"OUT": str(out)}, peeks=[(1, 1), (1, 1)])
    assert (run.letters, run.peeked) == ("PP", "PP"), run.lines
    left = [int(pid) for pid in out.read_text().split()]
    assert len(left) == 6
    assert [pid for pid in left if os.path.exists("/proc/%d" % pid) and b"sleep" in open("/proc/%d/cmdline" % pid, "rb").read()] == []


def test_a_peek_that_hangs_can_be_ended_alone(engine: Engine) -> None:
    engine.write("test_it.py", "import time\ndef test_a(): pass\ndef test_hangs(): time.sleep(1000)\ndef test_b(): pass\n")
    engine.collect()
    run = engine.fork([0, 2], peeks=[(1, 1), (1, 2)], wait=False)
    engine.pump(lambda: 0 in run.peeks and bool(run.peeks[0].told("c")))
    time.sleep(0.2)
    os.killpg(run.peeks[0].hello["pid"], signal.SIGTERM)
    engine.pump(lambda: bool(run.exit))
    engine.settle()
    assert run.letters == "PP" and run.end is not None and run.peeks[1].letters == "P"
    assert [line[3] for line in run.told("pe")] == [-signal.SIGTERM, 0]
    assert b"in test_hangs" in engine.output


@pytest.mark.parametrize(
    "body",
    [
        "os.closerange(3, 1024)",
        "time.monotonic_ns = time.monotonic = lambda: 0",
        "import socket, json; socket.socket = None; json.dumps = None; os.write = os.getpid = os.fork = os.mkdir = None",
        "os.environ.clear(); os.chdir('/')",
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    ],
)
def test_peeks_survive_what_a_test_does_to_the_process(engine: Engine, body: str) -> None:
    engine.write("test_it.py", "import os, signal, sys, time\ndef test_x(): %s\ndef test_a(): pass\n" % body)
    run = engine.collect("-s").fork([0, 1], peeks=[(0, 0), (1, 1), (2, 1)])
    assert (run.letters, run.peeked) == ("PP", "PPP"), show(engine, run)
    assert run.end is not None and all(peek.end is not None for peek in run.peeks.values())


def test_the_time_of_peeks_is_not_that_of_the_test_before_them(engine: Engine) -> None:
    engine.write("test_it.py", "import time\ndef test_a(): pass\ndef test_slow(): time.sleep(0.5)\n")
    run = engine.collect().fork([0], peeks=[(1, 1), (1, 1)])
    (start,), (end,) = run.told("s"), run.told("e")
    assert (end[5] - start[4]) / 1e9 < 0.4
    assert sum((p.told("e")[0][5] - p.told("s")[0][4]) / 1e9 >= 0.5 for p in run.peeks.values()) == 2


def test_modules_are_imported_before_the_first_test_and_a_failure_is_told(engine: Engine) -> None:
    engine.write("polluting.py", "import os\nos.environ['POLLUTED'] = 'x'\n")
    engine.write("failing.py", "raise LookupError('at import')\n")
    engine.write("test_it.py", "import os\ndef test_a(): assert 'POLLUTED' not in os.environ\n")
    engine.collect()
    assert engine.fork([0]).letters == "P"
    run = engine.fork([0], peeks=[(0, 0)], imports=["polluting"])
    assert (run.letters, run.peeked) == ("F", "F")
    for name, word in (("failing", "at import"), ("no_such_module", "no_such_module")):
        run = engine.fork([0], imports=["polluting", name])
        assert run.letters == "" and run.end is None and word in run.internal
        told: Any = run.lines[-1]
        assert (told["t"], told["module"]) == ("import_failed", name)
    assert engine.here([0], imports=["polluting"]).letters == "F"


def test_a_timer_of_the_run_stands_still_while_it_waits(engine: Engine) -> None:
    engine.write(
        "test_it.py",
        """
        import signal, time
        fired = []
        def test_sets():
            signal.signal(signal.SIGALRM, lambda *_: fired.append(1))
            signal.setitimer(signal.ITIMER_REAL, 1.5)
        def test_slow(): time.sleep(1)
        def test_not_yet():
            assert not fired and signal.getitimer(signal.ITIMER_REAL)[0] > 0.5
        def test_at_last():
            time.sleep(2)
            assert fired
        """,
    )
    run = engine.collect().fork([0, 2, 3], peeks=[(1, 1), (1, 1), (2, 1)])
    assert (run.letters, run.peeked) == ("PPP", "PPP"), show(engine, run)
