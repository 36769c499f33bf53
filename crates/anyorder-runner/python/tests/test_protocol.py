"""The agent with a fake engine: collecting, forking, running, ending."""

import os
import signal
import textwrap
import time
from typing import Dict, Tuple

from engine import Engine

SUITE = """
    import pytest, unittest
    state = []

    @pytest.fixture(scope="module")
    def shared():
        yield 1
        state.clear()

    class TestClass:
        def test_sets(self, shared): state.append(1)
        def test_needs_none(self): assert not state

    @pytest.mark.parametrize("x", ["plain", "with space", "new\\nline", "\\u00fc"])
    def test_parametrised(x): pass

    def test_skipped(): pytest.skip("no")
    @pytest.mark.xfail
    def test_xfail(): assert False
    @pytest.mark.xfail
    def test_xpass(): pass
    @pytest.mark.xfail(strict=True)
    def test_strict(): pass
    @pytest.fixture
    def bad(): raise KeyError(1)
    def test_error(bad): pass
    @pytest.fixture
    def bad_end():
        yield
        raise ValueError("at the end")
    def test_teardown(bad_end): pass

    class TestUnit(unittest.TestCase):
        @unittest.expectedFailure
        def test_expected(self): self.fail()
        @unittest.expectedFailure
        def test_unexpected(self): pass
        def test_sub(self):
            for i in range(3):
                with self.subTest(i=i): self.assertNotEqual(i, 1)
        @unittest.skip("no")
        def test_skip(self): pass
"""
LETTERS = "PFPPPPsxXFEExsFF"


def test_both_executors_tell_the_outcomes_that_pytest_tells(engine: Engine) -> None:
    engine.write("test_it.py", SUITE)
    engine.collect()
    names = [item["id"].split("::", 1)[1] for item in engine.items]
    assert len(names) == len(LETTERS)
    backwards = list(range(len(names)))[::-1]
    for run in (engine.fork(), engine.fork(backwards), engine.here()):
        letters = dict(zip((names[i] for i in run.order), run.letters))
        expected = dict(zip(names, LETTERS))
        if run.order == backwards:
            expected["TestClass::test_needs_none"] = "P"
        if letters["TestUnit::test_sub"] == "P":
            # Before pytest 9 only a plugin knew of subtests.
            expected["TestUnit::test_sub"] = "P"
        assert letters == expected
        assert run.end is not None and run.end[3] == len(names) and run.end[4]["fixtures"] > 0
    assert engine.first("hello")["role"] == "main"


def test_a_test_is_told_in_four_lines_whose_times_grow(engine: Engine) -> None:
    engine.write("test_it.py", "def test_a(): pass\ndef test_b(): pass\n")
    run = engine.collect().fork([1, 0])
    assert [line[1] for line in run.lines[1:]] == ["s", "c", "t", "e"] * 2 + ["end"]
    times = [line[-1] for line in run.lines[1:-1]]
    assert times == sorted(times) and times[-1] - times[0] < 10 * 10**9
    assert [line[2:4] for line in run.told("s")] == [[0, 1], [1, 0]]
    assert run.end is not None and run.end[2] == run.hello["pid"]
    assert run.exit["code"] == 0


def test_failures_carry_phase_signature_and_text(engine: Engine) -> None:
    engine.write("lib.py", "def fail(n):\n    raise LookupError('number %d' % n)  # 12345 at 0xabc\n")
    engine.write(
        "test_it.py",
        """
        import pytest, lib
        def test_a(): lib.fail(7)
        @pytest.fixture
        def f(): assert 1 == 2
        def test_b(f): pass
        @pytest.fixture
        def g():
            yield
            [][0]
        def test_c(g): pass
        def test_long(): raise RuntimeError("x" * 100000 + "end")
        def test_odd(): raise RuntimeError("\\udc80")
        """,
    )
    engine.config["text_limit"] = 500
    run = engine.collect().fork()
    assert run.letters == "FEEFF"
    assert run.failure(0)["phase"] == "call"
    assert run.failure(0)["sig"] == "LookupError @ lib.py:raise LookupError('number %d' % n) # N at N"
    assert (run.failure(1)["phase"], run.failure(2)["phase"]) == ("setup", "teardown")
    assert run.failure(2)["sig"] == "IndexError @ test_it.py:[][0]"
    long = run.failure(3)["text"]
    assert len(long["head"]) <= 500 and len(long["tail"]) <= 500 and long["bytes"] > 100000
    assert "\\udc80" in run.failure(4)["text"]["head"] + run.failure(4)["text"]["tail"]


def test_a_failure_of_unittest_is_signed_by_its_own_line(engine: Engine) -> None:
    engine.write("test_it.py", "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(1, 2)\n")
    assert engine.collect().fork().failure(0)["sig"] == "AssertionError @ test_it.py:self.assertEqual(1, 2)"


def test_a_session_that_is_told_to_stop_after_its_last_test_is_complete(engine: Engine) -> None:
    engine.write("test_it.py", "def test_a(request): request.session.shouldstop = 'enough'\n")
    for run in engine.collect().both():
        assert run.letters == "P" and run.end is not None


def test_ids_of_any_kind_come_through(engine: Engine) -> None:
    engine.write(
        "test_it.py",
        """
        import pytest
        ids = ["a b", "new\\nline", "x" * 100000, "\\udc80", "A", "a", "-p", "@x", "e\\u0301", "\\u00e9", "::()::", "nul\\0"]
        @pytest.mark.parametrize("v", [pytest.param(1, id=i) for i in ids])
        def test_v(v): pass
        """,
    )
    engine.write("doc.txt", ">>> 1 + 1\n2\n")
    engine.write(
        "conftest.py",
        """
        import pytest
        class Item(pytest.Item):
            def runtest(self): assert "bad" not in self.name
        class File(pytest.File):
            def collect(self):
                yield Item.from_parent(self, name="good")
                yield Item.from_parent(self, name="bad")
                yield Item.from_parent(self, name="good")
        def pytest_collect_file(parent, file_path):
            if file_path.suffix == ".thing":
                return File.from_parent(parent, path=file_path)
        """,
    )
    engine.write("a.thing", "")
    engine.collect("--doctest-glob=*.txt")
    run = engine.fork()
    by_file = [(item["file"], item["src"] is None) for item in engine.items]
    assert by_file.count(("a.thing", True)) == 3 and by_file.count(("doc.txt", True)) == 1
    assert by_file.count(("test_it.py", False)) == 12
    twice = [item["id"] for item in engine.items].count("a.thing::good")
    assert twice == 2
    assert sorted(run.letters) == sorted("PFP" + "P" + "P" * 12)
    assert any("\\udc80" in item["id"] for item in engine.items)
    assert any(len(item["id"]) > 100000 for item in engine.items)


def test_what_pytest_regroups_by_itself_is_run_as_asked(engine: Engine) -> None:
    engine.write(
        "test_it.py",
        """
        import pytest
        @pytest.fixture(scope="module", params="pq")
        def f(request): return request.param
        def test_x(f): pass
        def test_z(): pass
        def test_y(f): pass
        """,
    )
    engine.collect()
    order = [4, 0, 3, 1, 2]
    assert engine.fork(order).order == order
    assert engine.here(order).order == order


def test_a_suite_that_cannot_be_collected_says_why(engine: Engine) -> None:
    engine.write("test_a.py", "import no_such_module\n")
    engine.write("test_b.py", "def test_b(): pass\n")
    line = engine.start("--continue-on-collection-errors").main[-1]
    assert line["t"] == "collect_failed"
    assert line["errors"][0]["id"] == "test_a.py" and "no_such_module" in line["errors"][0]["text"]["head"]


def test_nothing_to_run_is_told_as_that(engine: Engine) -> None:
    engine.write("test_a.py", "def test_a(): pass\n")
    assert engine.start("-k", "nothing").main[-1]["t"] == "no_tests"


def broken(engine: Engine, *arguments: str) -> Tuple[str, str]:
    line = engine.start(*arguments).main[-1]
    assert line["t"] == "broken", line
    assert sum(line["t"] == "broken" for line in engine.main) == 1
    return line["what"], line["text"]["head"] + line["text"]["tail"]


def test_an_unknown_option_is_a_usage_error_with_its_text(engine: Engine) -> None:
    what, text = broken(engine, "--no-such-option")
    assert what == "usage" and "--no-such-option" in text


def test_a_missing_file_is_a_usage_error_with_its_text(engine: Engine) -> None:
    what, text = broken(engine, "nothing.py")
    assert what == "usage" and "nothing.py" in text


def test_options_that_run_nothing_are_usage_errors(engine: Engine) -> None:
    engine.write("test_a.py", "def test_a(): pass\n")
    assert broken(engine, "--collect-only") == ("usage", "`--collect-only` runs no test")


def test_a_conftest_that_fails_is_a_collection_error_with_its_traceback(engine: Engine) -> None:
    engine.write("helping.py", "def load():\n    import no_such_module\n")
    engine.write("conftest.py", "import helping\nhelping.load()\n")
    engine.write("test_a.py", "def test_a(): pass\n")
    line = engine.start().main[-1]
    assert line["t"] == "collect_failed" and [error["id"] for error in line["errors"]] == ["conftest.py"]
    text = line["errors"][0]["text"]["head"]
    assert "import no_such_module" in text and "helping.load()" in text and "ModuleNotFoundError" in text
    assert "pluggy" not in text and "importlib" not in text


def test_leaving_pytest_while_it_collects_is_told(engine: Engine) -> None:
    engine.write("test_a.py", "import pytest\npytest.exit('enough')\n")
    line = engine.start().main[-1]
    if line["t"] == "collect_failed":  # as pytest 9 sees it
        assert "enough" in line["errors"][0]["text"]["head"]
    else:
        assert (line["t"], line["what"]) == ("broken", "ended") and "enough" in line["text"]["head"]


def test_an_internal_error_while_collecting_is_told(engine: Engine) -> None:
    engine.write("conftest.py", "def pytest_collection_modifyitems(items): raise RuntimeError('in a hook')\n")
    engine.write("test_a.py", "def test_a(): pass\n")
    what, text = broken(engine)
    assert what == "internal" and "in a hook" in text


def test_a_plugin_that_fails_to_import_is_told(engine: Engine) -> None:
    what, text = broken(engine, "-p", "no_such_plugin_of_mine")
    assert what in ("usage", "ended") and "no_such_plugin_of_mine" in text


def test_children_run_side_by_side_and_each_in_its_own_folder(engine: Engine) -> None:
    engine.write(
        "test_it.py",
        """
        import os, tempfile, time
        def test_folder(tmp_path):
            folder = os.environ["MY_FOLDER"]
            assert str(tmp_path).startswith(folder)
            assert tempfile.gettempdir() == os.environ["TMPDIR"] == folder + "/tmp"
            time.sleep(0.3)
        """,
    )
    engine.sandbox("tmp")
    engine.collect()
    began = time.monotonic()
    runs = []
    for number in range(1, 7):
        folder = engine.private / ("run-%d" % number)
        runs.append(engine.fork(env={"MY_FOLDER": str(folder)}, wait=False))
    engine.pump(lambda: all(run.exit for run in runs))
    engine.settle()
    assert [run.letters for run in runs] == ["P"] * 6
    assert time.monotonic() - began < 6 * 0.3 + 5
    assert len({run.hello["pid"] for run in runs}) == 6


def test_a_child_is_signalled_with_its_whole_group(engine: Engine) -> None:
    engine.write("test_it.py", "import subprocess\ndef test_a():\n    open('started', 'w')\n    subprocess.run(['sleep', '100'])\n")
    engine.collect()
    run = engine.fork(wait=False)
    engine.pump(lambda: (engine.root / "started").exists())
    time.sleep(0.3)
    engine.tell({"c": "kill", "run": 1, "signal": int(signal.SIGTERM)})
    engine.pump(lambda: bool(run.exit))
    assert run.exit["signal"] == signal.SIGTERM
    engine.settle()
    assert b"in test_a" in engine.output  # where it stood


def test_children_die_when_the_engine_goes(engine: Engine) -> None:
    engine.write("test_it.py", "import time\ndef test_a(): time.sleep(100)\n")
    engine.collect()
    run = engine.fork(wait=False)
    engine.pump(lambda: bool(run.told("c")))
    assert engine._commands is not None and engine.process is not None
    engine._selector.unregister(engine._commands)
    engine._commands.close()
    engine.process.wait(20)
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.kill(run.hello["pid"], 0)
        except ProcessLookupError:
            return
        with open("/proc/%d/stat" % run.hello["pid"]) as handle:
            if handle.read().split(") ")[1].startswith("Z"):
                return
        time.sleep(0.05)
    raise AssertionError("the child lives on")


def test_quit_ends_the_process_well(engine: Engine) -> None:
    engine.write("conftest.py", "def pytest_unconfigure(): print('unconfigured')\n")
    engine.write("test_it.py", "def test_a(): pass\n")
    engine.collect("-s")
    engine.fork()
    engine.tell({"c": "quit"})
    process = engine.process
    assert process is not None
    engine.pump(lambda: process.poll() is not None)
    engine.settle()
    assert process.returncode == 0 and engine.output.count(b"unconfigured") == 1


def test_the_suite_finds_what_python_m_pytest_would_give_it(engine: Engine) -> None:
    engine.write(
        "test_it.py",
        """
        import os, sys, signal
        def test_a():
            assert sys.path[0] == os.getcwd()
            assert not any(p.rstrip("/").endswith("anyorder-runner/python") for p in sys.path)
            assert "anyorder_agent" not in sys.modules
            main = sys.modules["__main__"]
            assert main.__spec__.name == "pytest.__main__" and main.__file__.endswith("__main__.py")
            assert not hasattr(main, "Agent")
            assert sys.argv == [main.__file__, "-q", "--", "test_it.py"]
            assert not [name for name in os.environ if name.startswith("ANYORDER_AGENT")]
            assert signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL and signal.set_wakeup_fd(-1) == -1
        def test_spawn():
            import multiprocessing
            context = multiprocessing.get_context("spawn")
            process = context.Process(target=os.getpid)
            process.start()
            process.join()
            assert process.exitcode == 0
        """,
    )
    engine.collect("-q", "--", "test_it.py")
    assert [run.letters for run in engine.both()] == ["PP", "PP"]


def test_declared_order_is_told(engine: Engine) -> None:
    engine.write("pytest.ini", "[pytest]\nmarkers =\n    order\n    dependency\n    incremental\n    run\n")
    engine.write(
        "test_it.py",
        """
        import pytest
        @pytest.mark.order(2, after="test_b")
        def test_a(): pass
        @pytest.mark.dependency(name="b", depends=["a"], scope="session")
        def test_b(): pass
        @pytest.mark.incremental
        class TestC:
            def test_1(self): pass
        @pytest.mark.run(order=1)
        def test_d(): pass
        def test_e(): pass
        """,
    )
    engine.collect()
    found = {item["id"].split("::", 1)[1]: item.get("marks") for item in engine.items}
    assert found == {
        "test_a": {"order": [[2], {"after": "test_b"}]},
        "test_b": {"depends": {"name": "b", "on": ["a"], "scope": "session"}},
        "TestC::test_1": {"incremental": "test_it.py::TestC"},
        "test_d": {"order": [[], {"order": 1}]},
        "test_e": None,
    }


def test_fingerprints_follow_the_source_that_a_test_uses(engine: Engine) -> None:
    text = """\
        import pytest, unittest, functools

        @pytest.fixture
        def used(): return FIXTURE

        @pytest.fixture(autouse=True)
        def always(): return ALWAYS

        def wrapped(f):
            @functools.wraps(f)
            def inner(*a, **k): return f(*a, **k)
            return inner

        def test_a(used):
            assert BODY

        @pytest.mark.parametrize("x", [1, 2])
        @wrapped
        def test_b(x):
            text = '''
MARGIN'''
            call(
                x,
            ) if False else None

        class TestC(unittest.TestCase):
            def setUp(self): SETUP
            def test_c(self): pass
    """
    words = {"FIXTURE": "1", "ALWAYS": "1", "BODY": "1", "SETUP": "pass", "MARGIN": "at the margin"}

    variants: Dict[str, Dict[str, str]] = {
        "same": {},
        "body": {"BODY": "2"},
        "fixture": {"FIXTURE": "2"},
        "always": {"ALWAYS": "2"},
        "setup": {"SETUP": "print()"},
        "margin": {"MARGIN": "elsewhere"},
    }
    for name, changed in {"base": {}, **variants}.items():
        source = textwrap.dedent(text.replace("\nMARGIN", "\n        MARGIN"))
        for word, value in dict(words, **changed).items():
            source = source.replace(word, value)
        engine.write("test_%s.py" % name, source)
    found: Dict[str, Dict[str, str]] = {}
    for item in engine.collect().items:
        file, *_, name = item["id"].split("::")
        assert len(item["src"]) == 16
        found.setdefault(file[5:-3], {})[name] = item["src"]
    touched = {name: {test for test, src in found[name].items() if src != found["base"][test]} for name in variants}
    assert touched == {
        "same": set(),
        "body": {"test_a"},
        "fixture": {"test_a"},
        "always": set(),
        "setup": {"test_c"},
        "margin": {"test_b[1]", "test_b[2]"},
    }
    assert found["base"]["test_b[1]"] == found["base"]["test_b[2]"]


def test_origins_say_where_project_modules_came_from(engine: Engine) -> None:
    elsewhere = engine.folder / "elsewhere"
    (elsewhere / "shop").mkdir(parents=True)
    (elsewhere / "shop" / "__init__.py").write_text("")
    (elsewhere / "late.py").write_text("")
    engine.write("src/shop/__init__.py", "")
    engine.write("src/late.py", "")
    engine.write("mine.py", "")
    engine.write("src/types.py", "")  # the standard library's has that name, and is another module
    engine.write("test_it.py", "import shop, mine\ndef test_a():\n    import late\n")
    engine.variables["PYTHONPATH"] = str(elsewhere)
    run = engine.collect().fork()
    origins = {name: (file, where) for name, file, where in engine.first("collected")["origins"]}
    assert "types" not in origins
    assert origins["shop"] == (str(elsewhere / "shop" / "__init__.py"), "elsewhere")
    assert origins["mine"] == (str(engine.root / "mine.py"), "tree")
    assert run.end is not None
    assert {name for name, _ in run.end[4]["foreign"]} == {"shop", "late"}


def test_the_environment_is_told(engine: Engine) -> None:
    engine.write("test_it.py", "def test_a(): pass\n")
    engine.write("requirements-dev.txt", "x\n")
    engine.collect()
    line = engine.first("environment")
    assert line["python"].count(".") == 2 and line["pytest"] and len(line["distributions"]) == 64
    assert set(line["locks"]) == {"requirements-dev.txt"}
    assert line["sandbox"] == {"mode": "none", "why": None} and line["capabilities"] == {"fork": True}
    assert [sent["n"] for sent in engine.main] == list(range(len(engine.main)))
    assert engine.first("collected")["startup_us"] > 0


def test_what_is_installed_decides_the_digest_and_the_project_itself_does_not(engine: Engine) -> None:
    digests = []
    for number, installed in enumerate([[], ["project/shop.egg-info"], ["site/other-1.0.dist-info"], ["site/other-1.1.dist-info"]]):
        other = Engine(engine.folder / str(number), engine.python)
        try:
            other.variables["PYTHONPATH"] = str(other.folder / "site")
            other.write("test_it.py", "def test_a(): pass\n")
            for name in installed:
                (other.folder / name).mkdir(parents=True)
            digests.append(other.collect().first("environment")["distributions"])
        finally:
            other.close()
    assert digests[0] == digests[1] and len(set(digests)) == 3


def test_random_numbers_are_as_fresh_as_in_a_fresh_interpreter(engine: Engine) -> None:
    engine.write("test_it.py", "import random\ndef test_a(): open(__import__('os').environ['OUT'], 'w').write(str(random.random()))\n")
    engine.collect()
    engine.fork(env={"OUT": str(engine.folder / "1")})
    engine.fork(env={"OUT": str(engine.folder / "2")})
    assert (engine.folder / "1").read_text() != (engine.folder / "2").read_text()


def test_random_numbers_that_the_suite_seeded_stay_so(engine: Engine) -> None:
    engine.write("conftest.py", "import random\nrandom.seed(7)\nx = [random.random() for _ in range(5000)]\n")
    engine.write(
        "test_it.py",
        """
        import random
        def test_a():
            same = random.Random(7)
            for _ in range(5000): same.random()
            assert same.random() == random.random()
        """,
    )
    engine.collect()
    assert [engine.fork().letters, engine.fork().letters, engine.here().letters] == ["P", "P", "P"]


def test_reseeding_gives_each_test_the_same_numbers(engine: Engine) -> None:
    engine.config["reseed"] = 5
    engine.write("test_it.py", "import random\ndef test_a(): assert random.random() == random.Random(5).random()\ntest_b = test_a\n")
    assert engine.collect().fork().letters == "PP"


def test_what_a_suite_kept_from_its_import_is_the_same_in_a_child(engine: Engine) -> None:
    engine.write(
        "test_it.py",
        """
        import gc, sys
        OUT, ERR = sys.stdout, sys.stderr
        class Kept: pass
        KEPT = Kept()
        HOLDER = [KEPT]
        def test_streams(capfd):
            assert OUT is not None and ERR is not None
        def test_streams_are_those_of_the_import():
            assert OUT is sys.stdout and ERR is sys.stderr
            print("shown")
        def test_referrers():
            assert any(r is HOLDER for r in gc.get_referrers(KEPT))
        """,
    )
    engine.collect("test_it.py")
    assert [run.letters for run in engine.both()] == ["PPP", "PPP"]


def test_what_each_test_file_imports_from_the_tree_is_told(engine: Engine) -> None:
    engine.write("shop/__init__.py", "")
    engine.write("shop/basket.py", "import json, shop.prices\n")
    engine.write("shop/prices.py", "")
    engine.write("shop/late.py", "")
    engine.write("seen.py", "")
    engine.write("conftest.py", "import seen\n")
    engine.write("test_one.py", "import seen, shop.basket\ndef test_a(): import shop.late\n")
    engine.write("test_two.py", "import shop.basket, sched\ndef test_b(): pass\n")
    engine.write("tests/__init__.py", "")
    engine.write("tests/test_three.py", "import shop.late\ndef test_c(): pass\n")
    told = dict(map(tuple, engine.collect("test_one.py", "test_two.py", "tests").first("collected")["imports"]))
    assert set(told) == {"test_one.py", "test_two.py", "tests/test_three.py"}
    assert set(told["test_one.py"]) == {"test_one", "shop", "shop.basket", "shop.prices"}
    assert told["test_two.py"] == ["test_two"]
    assert set(told["tests/test_three.py"]) - {"tests"} == {"tests.test_three", "shop.late"}


def test_a_session_of_some_files_only_leaves_the_rest_of_the_arguments_alone(engine: Engine) -> None:
    engine.write("pytest.ini", "[pytest]\ntestpaths = tests\n")
    for name in "abc":
        engine.write("tests/%s/test_%s.py" % (name, name), "def test_x(): pass\ndef test_y(): pass\n")
    engine.write("tests/conftest.py", "import pytest\n@pytest.fixture(autouse=True)\ndef f(): pass\n")
    engine.config["cwd"] = str(engine.root / "tests")
    engine.config["only"] = ["tests/c/test_c.py", "tests/a/test_a.py"]
    engine.collect("a", "b", "c", "-k", "test_x")
    assert sorted(item["id"] for item in engine.items) == ["tests/a/test_a.py::test_x", "tests/c/test_c.py::test_x"]
    assert engine.fork().letters == "PP"


CACHES = """
    import pytest
    def use(config, name):
        found = config.cache.get("seen/names", [])
        config.cache.set("seen/names", [*found, name])
        return found
    def test_one(pytestconfig): assert use(pytestconfig, "one") == ["collected"]
    def test_two(pytestconfig): assert use(pytestconfig, "two") == ["collected"]
"""


def test_each_run_has_a_cache_of_its_own(engine: Engine) -> None:
    engine.write("conftest.py", "def pytest_collection_modifyitems(config): config.cache.set('seen/names', ['collected'])\n")
    engine.write("test_it.py", CACHES)
    engine.collect()
    for run in (engine.fork([0]), engine.fork([1], peeks=[(0, 0), (0, 1)]), engine.here([0])):
        assert run.letters == "P" and run.peeked in ("", "PP"), run.lines


def test_a_suite_keeps_the_temporary_folder_that_it_chose(engine: Engine) -> None:
    chosen = engine.folder / "chosen"
    chosen.mkdir()
    engine.write(
        "conftest.py", "import os, tempfile\ntempfile.gettempdir()\nif 'OWN' in os.environ: tempfile.tempdir = os.environ['OWN']\n"
    )
    engine.write(
        "test_it.py",
        "import os, tempfile\ndef test_a():\n    assert tempfile.gettempdir() == os.environ.get('OWN', os.environ['TMPDIR'])\n",
    )
    for own in (None, str(chosen)):
        other = Engine(engine.folder / str(own is None), engine.python)
        try:
            for name in ("conftest.py", "test_it.py"):
                other.write(name, (engine.root / name).read_text())
            other.sandbox("tmp")
            if own is not None:
                other.variables["OWN"] = own
            other.collect()
            assert [run.letters for run in other.both()] == ["P", "P"]
        finally:
            other.close()


def test_a_failure_that_raised_nothing_is_signed_by_what_it_is(engine: Engine) -> None:
    engine.write(
        "test_it.py",
        """
        import pytest, unittest
        @pytest.mark.xfail(strict=True, reason="bug 1234")
        def test_strict(): pass
        @pytest.mark.xfail(strict=True)
        def test_bare(): pass
        class TestUnit(unittest.TestCase):
            @unittest.expectedFailure
            def test_unexpected(self): pass
        """,
    )
    run = engine.collect().fork()
    assert run.letters == "FFF"
    assert run.failure(0)["sig"] == "XPASS(strict) @ test_it.py:bug N"
    assert run.failure(1)["sig"] == "XPASS(strict) @ test_it.py:"
    assert "nexpected success" in run.failure(2)["text"]["head"] and len(run.failure(2)["sig"]) > 10
