"""Runs `anyorder run` on prepared suites and compares what it found with what is known of them.

    python3 bench/cases/evaluate.py --cases DIR [--anyorder PATH] [--only NAME]... [--large] [--out FILE] [-- ARGUMENTS]

DIR is what prepare.py made. Further arguments go to `anyorder run` (such as `--deep` or `--executor fresh`). A known test counts as
found when its class is `order_sensitive`; one that is `flaky`, or missing from the suite, is said by name. A clean suite counts as
clean when there is nothing of either class. What the project's own .anyorder
held is removed first; the answers of each run are kept in DIR/answers/.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict

ROOT = Path(__file__).resolve().parents[2]
Entry = Dict[str, Any]


def measure(entry: Entry, anyorder: Path, extra: list[str], answers: Path, limit: float) -> Entry:
    """One suite: the answer of `anyorder run`, or why there is none."""
    venv = Path(entry["python"]).parents[1]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ANYORDER"))}
    env.update({"VIRTUAL_ENV": str(venv), "PATH": f"{venv / 'bin'}{os.pathsep}{env.get('PATH', os.defpath)}"})
    command = [str(anyorder), "run", "--quiet", "--format", "json", "--python", entry["python"], *extra, "--", *entry["pytest_args"]]
    store = Path(entry["dir"]) / ".anyorder"
    if store.exists():
        shutil.rmtree(store)
    began = time.monotonic()
    with (answers / f"{entry['name']}.stderr").open("w", encoding="utf-8") as errors:
        try:
            done = subprocess.run(
                command,
                cwd=entry["dir"],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"seconds": time.monotonic() - began, "trouble": f"not done after {limit:.0f} s"}
    seconds = time.monotonic() - began
    (answers / f"{entry['name']}.json").write_bytes(done.stdout)
    try:
        answer: Entry = json.loads(done.stdout)
    except ValueError:
        said = (answers / f"{entry['name']}.stderr").read_text(encoding="utf-8", errors="replace").strip()
        return {"seconds": seconds, "exit": done.returncode, "trouble": said.splitlines()[0] if said else "no answer"}
    return {"seconds": seconds, "exit": done.returncode, "answer": answer}


def compare(entry: Entry, result: Entry) -> Entry:
    if "answer" not in result:
        return {**result, "name": entry["name"]}
    answer = result["answer"]
    classes = {test["id"]: test["class"] for test in answer["tests"]}
    vectors = {test["id"]: test["vector"] for test in answer["tests"]}
    sensitive = {test for test, word in classes.items() if word == "order_sensitive"}
    flaky = {test for test, word in classes.items() if word == "flaky"}
    known = entry["expected"]
    return {
        "name": entry["name"],
        "seconds": result["seconds"],
        "exit": result["exit"],
        "tests": len(classes),
        "orders": len(answer["orders"]),
        "executor": answer["executor"],
        "sandbox": answer["sandbox"]["mode"],
        "complete": answer["complete"],
        "endings": sorted({order["ending"] for order in answer["order_details"]} - {"completed"}),
        "known": len(known),
        "found": sum(test in sensitive for test in known),
        "missing": {
            test: f"{classes.get(test, 'not in the suite')} {vectors.get(test, '')}".strip() for test in known if test not in sensitive
        },
        "extra": {test: vectors[test] for test in sorted(sensitive - set(known) - set(entry["varied"]))},
        "varied": sum(test in sensitive for test in entry["varied"]),
        "flaky": sorted(flaky),
        "stable_fail": sum(word == "stable_fail" for word in classes.values()),
    }


def table(rows: list[Entry]) -> str:
    heads = ["suite", "tests", "plain run, s", "anyorder, s", "orders", "executor, sandbox", "found of known", "further", "flaky"]
    heads += ["always failing", "exit"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows:
        if "trouble" in row:
            lines.append(f"| {row['name']} | | | {row['seconds']:.1f} | | | {row['trouble']} | | | | {row.get('exit', '')} |")
            continue
        further = str(len(row["extra"])) + (f" + {row['varied']} known to vary" if row["varied"] else "")
        found = f"{row['found']} of {row['known']}" if row["known"] else ("clean" if not row["extra"] and not row["flaky"] else "NOT clean")
        how = f"{row['executor']}, {row['sandbox']}" + (f"; {', '.join(row['endings'])}" if row["endings"] else "")
        lines.append(
            f"| {row['name']} | {row['tests']} | {row['plain']} | {row['seconds']:.1f} | {row['orders']} | {how} | {found} | {further} "
            f"| {len(row['flaky'])} | {row['stable_fail']} | {row['exit']} |"
        )
    return "\n".join(lines)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--cases", type=Path, required=True)
    arguments.add_argument("--anyorder", type=Path, default=ROOT / "target" / "release" / "anyorder")
    arguments.add_argument("--only", action="append", default=[])
    arguments.add_argument("--large", action="store_true", help="also the suites that take many minutes")
    arguments.add_argument("--limit", type=float, default=1800, help="seconds for one suite")
    arguments.add_argument("--out", type=Path, help="write the table and what is behind it here, as JSON")
    arguments.add_argument("extra", nargs="*", metavar="ARGUMENTS", help="for `anyorder run`")
    options = arguments.parse_args()

    answers = options.cases / "answers"
    answers.mkdir(exist_ok=True)
    entries = json.loads((options.cases / "manifest.json").read_text(encoding="utf-8"))
    chosen = [entry for entry in entries if (entry["name"] in options.only if options.only else options.large or not entry["large"])]
    rows = []
    for entry in chosen:
        result = measure(entry, options.anyorder.resolve(), options.extra, answers, options.limit)
        row = {**compare(entry, result), "plain": entry["default_order"]["seconds"]}
        rows.append(row)
        print(table([row]).splitlines()[-1], flush=True)
        for what in ("missing", "extra"):
            for test, vector in row.get(what, {}).items():
                print(f"    {what}: {test}: {vector}", flush=True)
        for test in row.get("flaky", []):
            print(f"    flaky: {test}", flush=True)
    print("\n" + table(rows))
    if options.out:
        options.out.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    wrong = [row["name"] for row in rows if "trouble" in row or row["missing"] or (not row["known"] and (row["extra"] or row["flaky"]))]
    print(f"\n{len(rows) - len(wrong)} passed, {len(wrong)} failed" + (f": {', '.join(wrong)}" if wrong else ""))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
