"""What re-orders, retries, stops early or spreads tests is off, said so, and breaks nothing that the suite relies on."""

from importlib import metadata
from typing import List, Set, Tuple

import pytest
from engine import Engine


def has(*names: str) -> bool:
    """Whether all of these distributions are installed."""
    try:
        return all(metadata.version(name) for name in names)
    except metadata.PackageNotFoundError:
        return False


def needs(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not has(*names), reason="not installed: %s" % ", ".join(names))


def ini(engine: Engine, addopts: str, more: str = "") -> None:
    engine.write("pytest.ini", "[pytest]\naddopts = %s\n%s\n" % (addopts, more))


def suite(engine: Engine) -> None:
    """Twelve tests, the second of which fails the first time it is run, if it is run again."""
    text = "\n".join("def test_%02d(): pass" % n for n in range(12))
    engine.write("test_it.py", text.replace("test_01(): pass", "test_01(tries=[]): tries.append(1); assert len(tries) > 1"))


LETTERS = "PF" + "P" * 10


def assert_plain(engine: Engine) -> Set[Tuple[str, str]]:
    """Everything is collected in definition order and runs once. What was switched off, and where it stood."""
    names = [item["id"] for item in engine.items]
    assert names == ["test_it.py::test_%02d" % n for n in range(12)], names
    for run in engine.both():
        assert run.letters == LETTERS and run.order == list(range(12))
    return {(what, where) for what, _, where in engine.off}


@needs("pytest-xdist", "pytest-cov", "pytest-rerunfailures", "pytest-randomly")
@pytest.mark.parametrize("place", ["addopts", "command line", "PYTEST_ADDOPTS"])
def test_the_usual_crowd_is_off_wherever_it_stands(engine: Engine, place: str) -> None:
    suite(engine)
    options = ["-n", "auto", "--cov=.", "--cov-report=term", "--reruns", "2", "-x", "-p", "randomly"]
    arguments: List[str] = []
    if place == "addopts":
        ini(engine, " ".join(options))
    elif place == "PYTEST_ADDOPTS":
        engine.variables["PYTEST_ADDOPTS"] = " ".join(options)
    else:
        arguments = options
    engine.collect(*arguments)
    off = assert_plain(engine)
    assert {(name, place) for name in ("pytest-xdist", "pytest-cov", "pytest-rerunfailures", "pytest-randomly", "pytest")} <= off
    hows = {how for what, how, where in engine.off if where == place}
    assert {"`-n auto` ignored", "`--reruns 2` ignored", "`-x` ignored", "`--cov=.` ignored"} <= hows
    assert not list(engine.root.glob(".coverage*"))


def test_what_pytest_itself_has_of_it_is_off(engine: Engine) -> None:
    suite(engine)
    ini(engine, "--sw --ff --nf --lf -xvs --junitxml=report.xml --basetemp=shared --pdb")
    engine.collect()
    assert assert_plain(engine) >= {("pytest", "addopts")}
    hows = " ".join(how for _, how, _ in engine.off)
    assert all(word in hows for word in ("--sw", "--ff", "--nf", "--lf", "-xvs", "--junitxml", "--basetemp", "--pdb"))
    assert not (engine.root / "report.xml").exists() and not (engine.root / "shared").exists()
    assert not (engine.root / ".pytest_cache").exists()


def test_nothing_is_said_to_be_off_that_nobody_asked_for(engine: Engine) -> None:
    suite(engine)
    engine.collect()
    assert {what for what, _, _ in engine.off} <= {"pytest-randomly"}


@needs("pytest-xdist")
def test_tracing_does_not_run_and_fixtures_of_neutral_plugins_work(engine: Engine) -> None:
    ini(engine, "-n2 --dist loadfile --maxprocesses 2" + (" --cov" if has("pytest-cov") else ""))
    engine.write(
        "test_it.py",
        """
        import sys
        def test_a(worker_id, testrun_uid, cache, request):
            assert worker_id == "master"
            assert sys.gettrace() is None and not hasattr(sys, "monitoring") or not sys.monitoring.get_tool(1)
            assert "coverage" not in sys.modules or sys.modules["coverage"].Coverage.current() is None
            cache.set("a/b", 1)
            assert cache.get("a/b", None) == 1
            assert request.config.pluginmanager.hasplugin("xdist")
        """,
    )
    engine.collect()
    assert [run.letters for run in engine.both()] == ["P", "P"]


@needs("pytest-random-order", "pytest-reverse", "pytest-flakefinder", "pytest-split", "pytest-repeat", "pytest-forked")
def test_others_that_re_order_repeat_or_split_are_off(engine: Engine) -> None:
    suite(engine)
    ini(engine, "--random-order --random-order-seed=3 --reverse --flake-finder --splits 2 --group 1 --count 3 --forked")
    engine.collect()
    off = assert_plain(engine)
    names = ("random-order", "reverse", "flakefinder", "split", "repeat", "forked")
    assert {("pytest-" + name, "addopts") for name in names} <= off


@needs("pytest-rerunfailures", "pytest-order", "pytest-random-order", "pytest-dependency")
def test_marks_stay_known_under_strict_markers_and_dependencies_skip(engine: Engine) -> None:
    ini(engine, "--strict-markers")
    engine.write(
        "test_it.py",
        """
        import pytest
        tries = []
        @pytest.mark.flaky(reruns=3)
        def test_a():
            tries.append(1)
            assert len(tries) > 1
        @pytest.mark.order(0)
        def test_b(): pass
        @pytest.mark.random_order(disabled=True)
        def test_c(): pass
        @pytest.mark.dependency
        def test_d(): assert False
        @pytest.mark.dependency(depends=["test_d"])
        def test_e(): pass
        """,
    )
    engine.collect()
    assert [item["id"][-6:] for item in engine.items] == ["test_a", "test_b", "test_c", "test_d", "test_e"]
    assert engine.items[1]["marks"] == {"order": [[0], {}]}
    assert engine.items[4]["marks"]["depends"]["on"] == ["test_d"]
    assert {what for what, _, where in engine.off if where == "plugin"} >= {"pytest-rerunfailures", "pytest-order"}
    for run in engine.both():
        assert run.letters == "FPPFs"


@needs("pytest-randomly")
def test_a_plugin_that_a_conftest_brings_is_taken_out_too(engine: Engine) -> None:
    suite(engine)
    engine.variables["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    engine.write("conftest.py", "pytest_plugins = ['pytest_randomly']\n")
    engine.collect()
    assert ("pytest-randomly", "plugin") in assert_plain(engine)


@needs("pytest-cov", "pytest-xdist")
def test_plugins_that_are_blocked_by_the_user_do_no_harm(engine: Engine) -> None:
    suite(engine)
    blocked = ("cov", "pytest_cov", "xdist", "randomly", "cacheprovider", "terminal")
    engine.collect(*(part for name in blocked for part in ("-p", "no:" + name)))
    assert_plain(engine)


def test_an_order_that_a_conftest_makes_is_the_collected_order(engine: Engine) -> None:
    suite(engine)
    engine.write("conftest.py", "def pytest_collection_modifyitems(items): items.reverse()\n")
    engine.collect()
    assert [item["id"][-2:] for item in engine.items] == ["%02d" % n for n in range(11, -1, -1)]
    assert engine.fork().order == list(range(12))


def test_a_loop_of_another_plugin_does_not_come_first(engine: Engine) -> None:
    suite(engine)
    engine.write(
        "conftest.py",
        """
        import pytest
        class Late:
            @pytest.hookimpl(tryfirst=True)
            def pytest_runtestloop(self): raise RuntimeError("another loop")
        @pytest.hookimpl(tryfirst=True)
        def pytest_sessionstart(session): session.config.pluginmanager.register(Late())
        """,
    )
    engine.collect()
    assert_plain(engine)


@needs("pytest-asyncio")
def test_async_tests_run_in_both_executors(engine: Engine) -> None:
    ini(engine, "-p no:randomly", "asyncio_mode = auto")
    engine.write(
        "test_it.py",
        """
        import asyncio, pytest
        @pytest.fixture
        async def number():
            await asyncio.sleep(0)
            yield 3
        async def test_a(number): assert number == 3
        async def test_b():
            with pytest.raises(ZeroDivisionError):
                await asyncio.wait_for(asyncio.get_running_loop().run_in_executor(None, lambda: 1 / 0), 5)
        def test_c(): pass
        """,
    )
    engine.collect()
    assert engine.first("collected")["fork"] == {"safe": True, "why": []}
    assert engine.fork([1, 2, 0]).letters == "PPP"
    assert [run.letters for run in engine.both()] == ["PPP", "PPP"]


@needs("pytest-timeout")
def test_a_timeout_of_the_suites_own_is_kept(engine: Engine) -> None:
    ini(engine, "--timeout=1 --session-timeout=1")
    engine.write("test_it.py", "import time\ndef test_a(): time.sleep(20)\ndef test_b(): pass\n")
    engine.collect()
    run = engine.fork()
    assert run.letters == "FP" and "Timeout" in run.failure(0)["text"]["head"] + run.failure(0)["text"]["tail"]
    assert ("pytest-timeout", "addopts") in {(what, where) for what, _, where in engine.off}


@needs("pytest-forked")
def test_a_test_that_asks_for_a_process_of_its_own_gets_it(engine: Engine) -> None:
    engine.write(
        "test_it.py",
        """
        import os, pytest
        @pytest.mark.forked
        def test_a(): pass
        @pytest.mark.forked
        def test_b(): os._exit(0)
        def test_c(): pass
        """,
    )
    engine.collect()
    for run in engine.both():
        # With pytest 9 the plugin fails every such test, with or without us.
        assert run.letters[1] in "FE" and run.letters[2] == "P"


@pytest.mark.parametrize("option", ["--maxfail=1", "--maxfail 1", "-x", "--exitfirst"])
def test_stopping_early_is_named_however_it_is_spelt(engine: Engine, option: str) -> None:
    suite(engine)
    engine.collect(*option.split())
    assert_plain(engine)
    assert [line for line in engine.off if line[2] == "command line"] == [("pytest", "`%s` ignored" % option, "command line")]
