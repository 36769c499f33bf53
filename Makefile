# `make test` and `make demo` need Rust, Python 3.8 or newer, git and make; Python packages go into folders of this tree.

.PHONY: help demo test lint bench wheel clean

help:
	@echo 'make demo    build, then judge three patches against a small project'
	@echo 'make test    formatting, lints and all tests'
	@echo 'make lint    the first part of make test'
	@echo 'make bench   measure against a loop of pytest processes, and write bench/RESULTS.md (long)'
	@echo 'make wheel   a wheel with the command, in dist/'
	@echo 'make clean   remove what these made'

demo:
	@bash scripts/demo.sh

test:
	@bash scripts/test.sh

lint:
	@bash scripts/test.sh --lint-only

bench:
	@cargo build --release --locked --package anyorder
	@python3 bench/run.py

wheel:
	@bash scripts/wheel.sh

clean:
	@rm -rf .test-env bench/.work dist
	@cargo clean
