"""Arms of the benchmark: what is timed, and how."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable


class Unmeasured(Exception):
    """A command did not do what is measured; its time would mean nothing."""


@dataclass(frozen=True)
class Suite:
    name: str
    folder: Path
    arguments: list[str]
    tests: int
    #: Interpreter of an environment with pytest and what the suite needs.
    plain: Path
    #: The same, with the plugins that shuffle.
    rivals: Path


def environment(python: Path) -> dict[str, str]:
    """That of a user who activated the environment."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "ANYORDER"))}
    return {**kept, "VIRTUAL_ENV": str(python.parents[1]), "PATH": f"{python.parent}{os.pathsep}{kept.get('PATH', os.defpath)}"}


def pytest_once(suite: Suite, python: Path, options: list[str]) -> None:
    command = [str(python), "-m", "pytest", "-q", *options, *suite.arguments]
    done = subprocess.run(
        command, cwd=suite.folder, env=environment(python), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode or " passed" not in done.stdout:
        raise Unmeasured(f"`{' '.join(command)}` ended with {done.returncode}:\n{done.stdout[-1500:]}{done.stderr[-500:]}")


#: What people write: one pytest for each seed.
LOOPS: dict[str, Callable[[int], list[str]]] = {
    "pytest-random-order": lambda seed: ["-p", "no:randomly", "--random-order-bucket=global", f"--random-order-seed={seed}"],
    "pytest-randomly": lambda seed: ["-p", "no:random_order", f"--randomly-seed={seed}"],
}


def loop(suite: Suite, plugin: str, seeds: int, at_once: int) -> float:
    """One pytest for each seed, `at_once` at a time. Seconds."""
    began = time.perf_counter()
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(lambda seed: pytest_once(suite, suite.rivals, LOOPS[plugin](seed)), range(1, seeds + 1)))
    return time.perf_counter() - began


@dataclass(frozen=True)
class Measured:
    seconds: float
    #: Largest resident size of the engine's own process, in MiB.
    engine_mib: float
    answer: dict[str, Any]


def anyorder(binary: Path, suite: Suite, orders: str, *options: str, executor: str = "fork") -> Measured:
    """`anyorder run` on nothing remembered."""
    store = suite.folder / ".anyorder"
    if store.exists():
        shutil.rmtree(store)
    command = [str(binary), "run", "--quiet", "--format", "json", "--python", str(suite.plain), "--orders", orders, "--executor", executor]
    command += [*options, "--", *suite.arguments]
    began = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=suite.folder, env=environment(suite.plain), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    peak = 0.0
    with ThreadPoolExecutor(1) as pool:
        output = pool.submit(process.communicate)
        while not output.done():
            peak = max(peak, resident_peak(process.pid))
            time.sleep(0.02)
        said, errors = output.result()
    seconds = time.perf_counter() - began
    try:
        answer: dict[str, Any] = json.loads(said)
    except ValueError:
        raise Unmeasured(f"`{' '.join(command)}` ended with {process.returncode}:\n{errors.decode(errors='replace')[-1500:]}") from None
    if not answer["complete"] or len(answer["tests"]) != suite.tests or answer["executor"] != executor:
        raise Unmeasured(
            f"`{' '.join(command)}`: {len(answer['tests'])} tests, executor {answer['executor']}, complete: {answer['complete']}"
        )
    return Measured(seconds, peak, answer)


def resident_peak(pid: int) -> float:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0


def collection(suite: Suite) -> float:
    """Start-up and collection of a plain pytest. Seconds."""
    began = time.perf_counter()
    command = [str(suite.plain), "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *suite.arguments]
    subprocess.run(command, cwd=suite.folder, env=environment(suite.plain), stdin=subprocess.DEVNULL, capture_output=True, check=True)
    return time.perf_counter() - began


def order_seconds(answer: dict[str, Any]) -> list[float]:
    """How long the tests of each order took, start-up and collection not counted."""
    return [order["duration_s"] for order in answer["order_details"] if order["duration_s"] is not None]


@dataclass
class Times:
    """Repetitions of one arm."""

    seconds: list[float]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def __str__(self) -> str:
        spread = f" ({min(self.seconds):.1f} to {max(self.seconds):.1f})" if len(self.seconds) > 1 else ""
        return f"{self.median:.1f}{spread}"


def interleaved(arms: dict[str, Callable[[], float]], repeat: int, say: Callable[[str], None]) -> dict[str, Times]:
    """Each arm once, then each again: a machine that slows down slows all of them."""
    times: dict[str, Times] = {name: Times([]) for name in arms}
    for turn in range(repeat):
        for name, arm in arms.items():
            times[name].seconds.append(arm())
            say(f"  {turn + 1}/{repeat} {name}: {times[name].seconds[-1]:.2f} s")
    return times
