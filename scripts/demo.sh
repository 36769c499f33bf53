#!/usr/bin/env bash
# Builds anyorder and judges three patches against a small project. All three are green under plain pytest.
#
# Everything it makes stays under target/demo, or under the folder that ANYORDER_DEMO_DIR names.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
target=${CARGO_TARGET_DIR:-$root/target}
scratch=${ANYORDER_DEMO_DIR:-$target/demo}

fail() { printf 'demo: %s\n' "$*" >&2; exit 1; }
step() { printf '\n==> %s\n' "$*"; }

# Nothing of the user's own settings takes part: no git configuration, no pytest options, no activated environment.
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=demo GIT_AUTHOR_EMAIL=demo@localhost GIT_COMMITTER_NAME=demo GIT_COMMITTER_EMAIL=demo@localhost
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE VIRTUAL_ENV PYTEST_ADDOPTS PYTHONPATH PYTHONHOME ANYORDER_CONFIG 2>/dev/null || true

for needed in cargo git python3; do
    command -v "$needed" >/dev/null || fail "\`$needed\` is needed and not on PATH"
done
python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' || fail "Python 3.8 or newer is needed; \`python3\` is $(python3 --version 2>&1)"

step "Building anyorder"
cargo build --release --locked --package anyorder
anyorder=$target/release/anyorder
[[ $anyorder = /* ]] || anyorder=$root/$anyorder
[[ $scratch = /* ]] || scratch=$root/$scratch

step "A project of its own: examples/shop, its package installed editable"
rm -rf "$scratch"
mkdir -p "$scratch"
cp -R examples/shop "$scratch/shop"
cp -R examples/patches "$scratch/patches"
cd "$scratch/shop"
rm -rf .anyorder .venv
git init --quiet .
git symbolic-ref HEAD refs/heads/main
git add --all
git commit --quiet --message "The shop"
python3 -m venv .venv || fail "could not make a virtual environment; on Debian and Ubuntu it needs the package python3-venv"
.venv/bin/python -m pip install --quiet --disable-pip-version-check pytest
.venv/bin/python -m pip install --quiet --disable-pip-version-check --editable .
printf 'in %s\n' "$PWD"

wrong=0
summary=()
quiet=()
# Progress is for a person who watches.
if [[ ! -t 2 ]]; then quiet=(--quiet); fi

judge() { # patch exit-code verdict finding...
    local name=$1 code=$2 verdict=$3
    shift 3
    step "$name.patch: plain pytest, in the one order that most CI ever sees"
    git apply "../patches/$name.patch"
    .venv/bin/python -m pytest -q -p no:cacheprovider 2>&1 | tail -n 1
    git apply --reverse "../patches/$name.patch"
    [[ -z $(git status --porcelain) ]] || fail "the tree is not as it was after \`$name.patch\` was taken back"

    step "$name.patch: anyorder check --base HEAD --patch ../patches/$name.patch"
    local got=0
    "$anyorder" check ${quiet[@]+"${quiet[@]}"} --base HEAD --patch "../patches/$name.patch" || got=$?
    # The same question again for the machine's answer: what was measured is stored, so only the replays run anew.
    "$anyorder" check --quiet --format json --base HEAD --patch "../patches/$name.patch" >"../$name.json" || true
    local said
    said=$(python3 "$root/scripts/demo_answer.py" "../$name.json" "$verdict" "$@") || wrong=1
    if [[ $got != "$code" ]]; then
        said+="; exit code $got, expected $code"
        wrong=1
    fi
    summary+=("$(printf '%-22s %s' "$name.patch" "$said")")
}

judge good 0 accept
judge coupled-new-test 1 block new_test_coupled
judge poisons-old-test 1 block introduced poisons_neighbours

step "Three verdicts"
printf '%s\n' "${summary[@]}"
((wrong == 0)) || fail "a verdict is not the one that was expected: see above"
cat <<END

Where to look next
  the answers for machines   $scratch/*.json
  what was run, and kept     $scratch/shop/.anyorder/
  the same order once more   cd '$scratch/shop' && '$anyorder' replay seed:1
  the whole plan, one tree   cd '$scratch/shop' && '$anyorder' run
  what the words mean        docs/verdict.md
END
