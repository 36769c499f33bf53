"""Checks one answer of the demo: `demo_answer.py ANSWER.json VERDICT [FINDING]...`; any one of the findings will do."""

import json
import sys


def main() -> int:
    path, expected, *findings = sys.argv[1:]
    try:
        with open(path, encoding="utf-8") as file:
            answer = json.load(file)
    except (OSError, ValueError) as error:
        print(f"no answer: {error}")
        return 1
    blocking = [found for found in answer["findings"] if found["action"] == "block"]
    words = sorted({found["finding"] for found in blocking})
    print(f"{answer['verdict']}: {', '.join(words) or 'nothing that blocks'}; {len(answer['evidence'])} tests are evidence", end="")
    for found in blocking:
        print(f"\n{'':22} {found['finding']}: {found['id']}", end="")
    as_expected = answer["verdict"] == expected and all(word in findings for word in words) and bool(words) == bool(findings)
    if not as_expected:
        print(f"\n{'':22} expected {expected}: {' or '.join(findings) or 'nothing that blocks'}", end="")
    return 0 if as_expected else 1


if __name__ == "__main__":
    sys.exit(main())
