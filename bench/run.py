"""Measures anyorder against a loop that starts one pytest for each seed, and writes the table to bench/RESULTS.md.

    python3 bench/run.py [--quick] [--repeat K] [--anyorder PATH] [--skip PART]...

Everything is made under bench/.work: environments with packages from PyPI by name, a generated suite, and jinja2's own. Each figure is a
median of K turns, the arms interleaved. `--quick` only shows that it works: small suites, one turn, no file written.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any, Callable

from measure import LOOPS, Measured, Suite, Times, Unmeasured, anyorder, collection, interleaved, loop, order_seconds, pytest_once
from suites import generated, source_distribution, virtual_environment

HERE = Path(__file__).resolve().parent
PARTS = ("speed", "alone", "memory", "equality")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Bench:
    def __init__(self, binary: Path, work: Path, quick: bool, repeat: int) -> None:
        self.binary, self.work, self.quick, self.repeat = binary, work, quick, repeat
        self.seeds = 3 if quick else 20
        self.lines: list[str] = []
        needs = ["pytest", "trio"]
        self.plain = virtual_environment(work / "plain", needs)
        self.rivals = virtual_environment(work / "rivals", [*needs, "pytest-randomly", "pytest-random-order"])

    def synthetic(self, name: str, tests: int, **shape: Any) -> Suite:
        folder = generated(self.work / name, tests, **shape)
        return Suite(name, folder, [], tests, self.plain, self.rivals)

    def jinja2(self) -> Suite:
        folder = source_distribution(self.work / "jinja2", "jinja2==3.1.6")
        for python in (self.plain, self.rivals):
            install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--editable", str(folder)]
            subprocess.run(install, check=True)
        return Suite("jinja2 3.1.6", folder, ["tests"], 909, self.plain, self.rivals)

    def write(self, *lines: str) -> None:
        self.lines += lines

    def speed(self, suite: Suite, targets: tuple[float, float]) -> None:
        """(a) the loop, (b) two of it at a time, (c) anyorder: the same number of seeds each."""
        say(f"{suite.name}: {suite.tests} tests, {self.seeds} orders")
        pytest_once(suite, suite.plain, ["-p", "no:cacheprovider"])
        orders = f"seed:1..{self.seeds}"
        last: list[Measured] = []

        def measured() -> float:
            last.append(anyorder(self.binary, suite, orders))
            return last[-1].seconds

        arms: dict[str, Callable[[], float]] = {
            **{f"a loop with {plugin}": partial(loop, suite, plugin, self.seeds, 1) for plugin in LOOPS},
            **{f"two at a time with {plugin}": partial(loop, suite, plugin, self.seeds, 2) for plugin in LOOPS},
            "anyorder": measured,
            "start-up and collection": lambda: collection(suite),
        }
        times = interleaved(arms, self.repeat, say)
        ours = times["anyorder"].median
        one, two = (min(times[f"{how} with {plugin}"].median for plugin in LOOPS) for how in ("a loop", "two at a time"))
        self.write(
            f"### {suite.name}: {self.seeds} orders of {suite.tests} tests",
            "",
            "| what | seconds | anyorder is faster by |",
            "|---|---|---|",
        )
        for name, spent in times.items():
            faster = "" if name in ("anyorder", "start-up and collection") else f"{spent.median / ours:.1f}"
            self.write(f"| {name} | {spent} | {faster} |")
        jobs = os.cpu_count() or 1
        floors = [times["start-up and collection"].median + sum(order_seconds(each.answer)) / jobs for each in last]
        ratio = Times([each.seconds / floor for each, floor in zip(last, floors)]).median
        self.write(
            "",
            f"Against the faster loop: {one / ours:.1f} times (wanted: {targets[0]}), "
            f"two at a time {two / ours:.1f} times (wanted: {targets[1]}).",
            f"Wall time over (start-up + collection + time of the orders / {jobs}): {ratio:.2f} (wanted: at most 1.15).",
            "",
        )

    def alone(self) -> None:
        """Each test alone: a fork a test, and what it costs against the size of the process that forks."""
        tests = 50 if self.quick else 1000
        self.write(
            "### Each test alone (`--orders alone`)",
            "",
            "| memory of the suite, MiB | tests | seconds | milliseconds a test |",
            "|---|---|---|---|",
        )
        for megabytes in (0, 100, 400):
            suite = self.synthetic(f"alone-{megabytes}", tests, megabytes=megabytes)
            start = Times([collection(suite) for _ in range(self.repeat)]).median
            spent = Times([anyorder(self.binary, suite, "alone").seconds for _ in range(self.repeat)])
            say(f"alone, {megabytes} MiB: {spent} s")
            self.write(f"| {megabytes} | {tests} | {spent} | {(spent.median - start) * 1000 / tests:.2f} |")
        self.write("", f"Start-up and collection are not in the last column. {os.cpu_count()} at a time.", "")

    def memory(self) -> None:
        tests, orders = (100, 5) if self.quick else (5000, 100)
        suite = self.synthetic("memory", tests)
        few, many = (anyorder(self.binary, suite, f"seed:1..{count}").engine_mib for count in (max(orders // 10, 1), orders))
        say(f"memory: {few:.0f} MiB, {many:.0f} MiB")
        self.write(
            "### Memory of the engine",
            "",
            f"{tests} tests: {max(orders // 10, 1)} orders {few:.0f} MiB, {orders} orders {many:.0f} MiB (wanted: under 150). "
            "The engine's process alone.",
            "",
        )

    def equality(self, suites: list[Suite]) -> None:
        self.write("### Forked and fresh interpreters", "", "| suite | tests | orders | differing outcomes |", "|---|---|---|---|")
        for suite in suites:
            orders = f"seed:1..{self.seeds}"
            forked, fresh = (anyorder(self.binary, suite, orders, executor=which).answer for which in ("fork", "fresh"))
            vectors = [{test["id"]: test["vector"] for test in answer["tests"]} for answer in (forked, fresh)]
            differing = sum(
                sum(a != b for a, b in zip(vectors[0][test], vectors[1][test])) if test in vectors[1] else self.seeds for test in vectors[0]
            )
            say(f"equality, {suite.name}: {differing} differ")
            self.write(f"| {suite.name} | {suite.tests} | {self.seeds} | {differing} |")
        self.write("")


def versions(bench: Bench) -> str:
    names = ("pytest", "pytest-randomly", "pytest-random-order")
    probe = f"import importlib.metadata as m; print(', '.join(f'{{n}} {{m.version(n)}}' for n in {names}))"
    installed = subprocess.run([str(bench.rivals), "-c", probe], capture_output=True, text=True, check=True).stdout.strip()
    ours = subprocess.run([str(bench.binary), "--version"], capture_output=True, text=True, check=True).stdout.strip()
    return f"{os.cpu_count()} cores, {platform.system()}; Python {platform.python_version()}, {installed}; {ours}."


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--quick", action="store_true")
    arguments.add_argument("--repeat", type=int, default=3)
    arguments.add_argument("--anyorder", type=Path, default=HERE.parent / "target" / "release" / "anyorder")
    arguments.add_argument("--work", type=Path, default=HERE / ".work")
    arguments.add_argument("--skip", action="append", default=[], choices=PARTS)
    arguments.add_argument("--out", type=Path, default=HERE / "RESULTS.md")
    options = arguments.parse_args()
    if not options.anyorder.exists():
        say(f"there is no `{options.anyorder}`; build it with `cargo build --release --package anyorder`")
        return 2

    options.work.mkdir(parents=True, exist_ok=True)
    bench = Bench(options.anyorder.resolve(), options.work.resolve(), options.quick, 1 if options.quick else options.repeat)
    jinja2 = bench.jinja2()
    synthetic = bench.synthetic("synthetic", 200 if options.quick else 2000, conftest_seconds=1.0)
    bench.write(
        "# Results of `make bench`", "", versions(bench), f"Medians of {bench.repeat}, least and most in brackets, arms interleaved.", ""
    )
    try:
        if "speed" not in options.skip:
            bench.speed(synthetic, (7.0, 4.0))
            bench.speed(jinja2, (2.8, 1.6))
        if "alone" not in options.skip:
            bench.alone()
        if "memory" not in options.skip:
            bench.memory()
        if "equality" not in options.skip:
            bench.equality([synthetic, jinja2])
    except Unmeasured as trouble:
        say(f"not measured: {trouble}")
        return 1
    text = "\n".join(bench.lines)
    print(text)
    if not options.quick and not options.skip:
        options.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
