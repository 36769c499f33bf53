#!/usr/bin/env bash
# A wheel that holds the command, in dist/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ ! -x .test-env/wheel/bin/maturin ]]; then
    python3 -m venv .test-env/wheel
    .test-env/wheel/bin/python -m pip install --quiet --disable-pip-version-check 'maturin>=1.7,<2'
fi
.test-env/wheel/bin/maturin build --release --locked --out dist
