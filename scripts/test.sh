#!/usr/bin/env bash
# Formatting, lints and all tests. What cannot run here is said in the last lines, never passed over.
#
# Exported to the tests:
#   ANYORDER_TEST_PYTHON    an interpreter with pytest and what the agent's tests need
#   ANYORDER_TEST_PYTHONS   plain interpreters, 3.8 and newer, one a minor version, separated by `:`
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

lint_only=false
if [[ ${1:-} == --lint-only ]]; then lint_only=true; fi

env_dir=$PWD/.test-env
agent=crates/anyorder-runner/python
not_run=()

step() { printf '\n==> %s\n' "$*"; }
skip() { not_run+=("$1"); printf '\n==> not run: %s\n' "$1"; }

# A virtual environment, made again when one of its requirement files is newer.
make_env() { # folder interpreter requirement...
    local folder=$1 interpreter=$2
    shift 2
    local stamp=$folder/.made-from wanted
    wanted=$("$interpreter" -c 'import sys; print(sys.version)'; printf '%s\n' "$@"; for each in "$@"; do if [[ -f $each ]]; then cat "$each"; fi; done)
    if [[ -f $stamp && $(cat "$stamp") == "$wanted" ]]; then return; fi
    rm -rf "$folder"
    "$interpreter" -m venv "$folder"
    local arguments=() each
    for each in "$@"; do
        if [[ -f $each ]]; then arguments+=(-r "$each"); else arguments+=("$each"); fi
    done
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "${arguments[@]}"
    printf '%s\n' "$wanted" >"$stamp"
}

# One interpreter for each minor version from 3.8 that is on this machine: pyenv's folders first, then PATH.
find_pythons() {
    local minor candidate
    for minor in 8 9 10 11 12 13 14; do
        for candidate in "$HOME"/.pyenv/versions/3."$minor".*/bin/python3 "$(command -v "python3.$minor" || true)"; do
            if [[ -x $candidate ]] && "$candidate" -c "import sys; sys.exit(sys.version_info[:2] != (3, $minor))" 2>/dev/null; then
                printf '%s\n' "$candidate"
                break
            fi
        done
    done
}

if [[ ${CI:-} == true ]]; then export CARGO_INCREMENTAL=0; fi

step "cargo fmt"
cargo fmt --all --check

step "Python environment"
requirements=(scripts/requirements-lint.txt)
if [[ -f $agent/tests/requirements.txt ]]; then requirements+=("$agent/tests/requirements.txt"); else requirements+=(pytest); fi
requirements+=(crates/anyorder/tests/requirements.txt)
make_env "$env_dir/main" "$(command -v python3)" "${requirements[@]}"
export ANYORDER_TEST_PYTHON=$env_dir/main/bin/python
mapfile -t pythons < <(find_pythons)
ANYORDER_TEST_PYTHONS=$(IFS=:; printf '%s' "${pythons[*]}")
export ANYORDER_TEST_PYTHONS
"$ANYORDER_TEST_PYTHON" -c 'import sys, pytest; print("tests: Python", sys.version.split()[0], "with pytest", pytest.__version__)'
printf 'also here: %s\n' "${pythons[@]:-no other interpreter}"

step "ruff, mypy"
"$ANYORDER_TEST_PYTHON" -m ruff check .
"$ANYORDER_TEST_PYTHON" -m ruff format --check .
"$ANYORDER_TEST_PYTHON" -m mypy

step "cargo clippy"
cargo clippy --workspace --all-targets --locked -- -D warnings

if command -v cargo-deny >/dev/null; then
    step "cargo deny"
    cargo deny --offline check bans licenses sources
else
    skip "cargo deny (licences and sources of dependencies): cargo-deny is not installed"
fi

if ! $lint_only; then
    step "cargo test"
    cargo test --workspace --locked --no-fail-fast

    if [[ -d $agent/tests ]]; then
        step "the agent's own tests"
        "$ANYORDER_TEST_PYTHON" -m pytest -q -p no:cacheprovider "$agent/tests"
        oldest=${pythons[0]:-}
        if [[ -n $oldest && $oldest != *"/3.1"[0-9]* ]]; then
            step "the agent's own tests on the oldest interpreter, with pytest 7"
            make_env "$env_dir/oldest" "$oldest" "pytest<8"
            "$env_dir/oldest/bin/python" -m pytest -q -p no:cacheprovider "$agent/tests"
        else
            skip "the agent's tests on Python 3.8 or 3.9: no such interpreter here"
        fi
    else
        skip "the agent's own tests: there are none in $agent/tests"
    fi
    present=" $(for each in "${pythons[@]}"; do "$each" -c 'import sys; print("3.%d" % sys.version_info[1], end=" ")'; done)"
    for minor in 3.8 3.9 3.10 3.11 3.12 3.13; do
        if [[ $present != *" $minor "* ]]; then skip "tests against Python $minor: not on this machine"; fi
    done
    if [[ $(uname -s) != Linux ]]; then skip "the overlay sandbox and the fork executor: this is not Linux"; fi
fi

echo
if ((${#not_run[@]})); then
    echo "Everything that ran passed. Not run:"
    printf '  - %s\n' "${not_run[@]}"
else
    echo "Everything passed; nothing was left out."
fi
