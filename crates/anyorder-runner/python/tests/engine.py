"""A stand-in for the engine: speaks the protocol of ``docs/design/001-agent-protocol.md``, and checks each line."""

import json
import os
import secrets
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

AGENT = Path(__file__).resolve().parents[1] / "anyorder_agent.py"
Line = Any


class Run:
    """What was told of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: List[Line] = []
        self.hello: Dict[str, Any] = {}
        self.agains = 0
        self.expected = 0
        self.exit: Dict[str, Any] = {}
        self.peeks: Dict[int, Run] = {}

    def told(self, tag: str) -> List[List[Any]]:
        """The arrays with this tag."""
        return [line for line in self.lines if isinstance(line, list) and line[1] == tag]

    @property
    def letters(self) -> str:
        """Outcomes in the order of execution."""
        return "".join(line[4] for line in self.told("e"))

    @property
    def order(self) -> List[int]:
        """Indices in the order of execution."""
        return [line[3] for line in self.told("s")]

    @property
    def end(self) -> Optional[List[Any]]:
        """The end marker."""
        found = self.told("end")
        return found[0] if found else None

    @property
    def internal(self) -> str:
        """Why pytest died."""
        texts = [line["text"] for line in self.lines if isinstance(line, dict) and line["t"] in ("internal", "import_failed")]
        return "".join(text["head"] + text["tail"] for text in texts)

    @property
    def peeked(self) -> str:
        """Outcomes of the peeks, in the sequence in which they were asked for."""
        return "".join(self.peeks[number].letters or "-" for number in sorted(self.peeks))

    def failure(self, position: int) -> Dict[str, Any]:
        """What was told of the failure at this position."""
        (line,) = (line for line in self.told("e") if line[2] == position)
        detail: Dict[str, Any] = line[6]
        return detail


class Engine:
    """One main process and its children."""

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        self.folder = folder
        self.python = python
        self.root = folder / "project"
        self.root.mkdir(parents=True)
        self.private = Path(tempfile.mkdtemp(prefix="ao-"))  # short: paths of sockets have a limit
        self.config: Dict[str, Any] = {
            "protocol": 2,
            "socket": str(self.private / "s"),
            "token": secrets.token_hex(8),
            "root": str(self.root),
            "cwd": str(self.root),
            "pytest_args": [],
            "sandbox": {"mode": "none", "required": False, "lower": [], "scratch": str(self.private)},
            "remap": None,
            "text_limit": 2000,
            "env": {},
            "only": None,
            "sequential": [],
            "reseed": None,
        }
        self.variables: Dict[str, str] = {}
        self.before: Optional[Callable[[], None]] = None
        self.process: Optional[subprocess.Popen] = None  # type: ignore[type-arg]
        self.main: List[Line] = []
        self.main_expected = 0
        self.main_agains = 0
        self.runs: Dict[Any, Run] = {}
        self._number = 0
        self.refused: List[bytes] = []
        self.output = b""
        self._selector = selectors.DefaultSelector()
        self._owners: Dict[int, Any] = {}
        self._pipe: Any = None
        self._pending: Dict[int, bytes] = {}
        self._commands: Optional[socket.socket] = None
        self._here: Optional[int] = None

    # -- the project

    def write(self, name: str, text: str) -> Path:
        """Puts a file into the project."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def sandbox(self, mode: str, **more: Any) -> None:
        """Asks for a sandbox."""
        self.config["sandbox"].update(mode=mode, **more)

    # -- the main process

    def start(self, *arguments: str) -> "Engine":
        """Starts the agent and waits until it has collected, or tells why not."""
        self.config["pytest_args"] = list(arguments)
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(self.config["socket"])
        self._server.listen(64)
        if self.before is not None:
            os.chmod(self.config["socket"], 0o777)  # the agent may be somebody else
        self._selector.register(self._server, selectors.EVENT_READ)
        path = self.private / "config.json"
        path.write_text(json.dumps(self.config), encoding="utf-8")
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_", "ANYORDER_"))}
        fixed = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
        environment = {**inherited, **fixed, **self.variables}
        self.process = subprocess.Popen(
            [self.python, str(AGENT), str(path)],
            cwd=self.config["cwd"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=self.before,
        )
        self._pipe = self.process.stdout
        os.set_blocking(self._pipe.fileno(), False)
        self._selector.register(self._pipe, selectors.EVENT_READ)
        ends = ("collected", "collect_failed", "no_tests", "broken")
        self.pump(lambda: any(line["t"] in ends for line in self.main))
        return self

    def collect(self, *arguments: str) -> "Engine":
        """Starts the agent on a suite that can be collected."""
        self.start(*arguments)
        assert self.main[-1]["t"] == "collected", (self.main[-1], self.output.decode(errors="replace"))
        return self

    def first(self, kind: str) -> Dict[str, Any]:
        """The first line of this kind from the main process."""
        for line in self.main:
            if isinstance(line, dict) and line["t"] == kind:
                return line
        raise AssertionError("no line `%s` in %s\n%s" % (kind, self.main, self.output.decode(errors="replace")))

    @property
    def items(self) -> List[Dict[str, Any]]:
        """The collected tests."""
        return [item for line in self.main if isinstance(line, dict) and line["t"] == "tests" for item in line["items"]]

    @property
    def off(self) -> List[Tuple[str, str, str]]:
        """What was switched off."""
        return [(line["what"], line["how"], line["where"]) for line in self.main if line["t"] == "off"]

    def tell(self, command: Dict[str, Any]) -> None:
        """Sends a command."""
        assert self._commands is not None
        self._commands.sendall((json.dumps(command) + "\n").encode())

    def pump(self, done: Callable[[], bool], limit: float = 60) -> None:
        """Reads until something is so, or the main process is gone."""
        until = time.monotonic() + limit
        while not done():
            assert time.monotonic() < until, (self.main[-3:], self.runs, self.output.decode(errors="replace"))
            gone = self.process is not None and self.process.poll() is not None
            ready = self._selector.select(0 if gone else 0.2)
            for key, _ in ready:
                self._take(key.fileobj)
            if gone and not ready:
                if done():
                    return
                raise AssertionError("the agent ended: %s\n%s" % (self.main[-2:], self.output.decode(errors="replace")))

    def _take(self, source: Any) -> None:
        if source is self._server:
            connection, _ = self._server.accept()
            self._selector.register(connection, selectors.EVENT_READ)
            self._owners[connection.fileno()], self._pending[connection.fileno()] = None, b""
        elif source is self._pipe:
            data = os.read(source.fileno(), 1 << 16)
            self.output += data
            if not data:
                self._selector.unregister(source)
        else:
            number = source.fileno()
            data = source.recv(1 << 20)
            *lines, self._pending[number] = (self._pending[number] + data).split(b"\n")
            for line in filter(None, lines):
                self._line(source, line)
            if not data:
                self._selector.unregister(source)
                del self._owners[number]
                source.close()

    def _line(self, source: socket.socket, text: bytes) -> None:
        assert text.isascii()
        owner = self._owners[source.fileno()]
        try:
            line = json.loads(text)
        except ValueError:
            self.refused.append(text)
            return
        number = line[0] if isinstance(line, list) else line["n"]
        if owner is None:
            owner = self._greet(source, line)
        expected = self.main_expected if owner == "main" else self.runs[owner].expected
        assert number == expected, "line %d instead of %d: %r" % (number, expected, line)
        if owner == "main":
            self.main_expected += 1
            if self._here is not None and (isinstance(line, list) or line["t"] in ("internal", "import_failed")):
                self.runs[self._here].lines.append(line)
            else:
                self.main.append(line)
            if not isinstance(line, list) and line["t"] == "exit":
                self.runs[line["run"]].exit = line
        else:
            self.runs[owner].expected += 1
            self.runs[owner].lines.append(line)

    def _greet(self, source: socket.socket, line: Dict[str, Any]) -> Any:
        assert line["t"] == "hello" and line["token"] == self.config["token"] and line["protocol"] == 2
        again = line.get("again", False)
        # What it wrote to the connection that it lost comes first.
        for key in list(self._selector.get_map().values()):
            mine = {"main": "main", "run": line.get("run"), "peek": (line.get("run"), line.get("peek"))}[line["role"]]
            if again and key.fileobj is not source and self._owners.get(key.fd) == mine:
                self._take(key.fileobj)
        if line["role"] == "main":
            assert line["pid"] == self.process.pid  # type: ignore[union-attr]
            assert again == (self.main_expected > 0)
            self._commands = source
            self.main_agains += again
            owner: Any = "main"
        else:
            owner = line["run"] if line["role"] == "run" else (line["run"], line["peek"])
            if isinstance(owner, tuple):
                self.runs[owner] = self.runs.get(owner) or Run(self.runs[line["run"]].folder)
                self.runs[line["run"]].peeks[line["peek"]] = self.runs[owner]
            assert again == (self.runs[owner].expected > 0)
            self.runs[owner].agains += again
            self.runs[owner].hello = line
        self._owners[source.fileno()] = owner
        return owner

    # -- runs

    def _command(self, what: str, order: Iterable[int], env: Optional[Dict[str, str]], **more: Any) -> Run:
        self._number += 1
        number = self._number
        folder = self.private / ("run-%d" % number)
        folder.mkdir(mode=0o700)
        if self.before is not None:
            folder.chmod(0o777)
        self.runs[number] = Run(folder)
        if what == "here":
            self._here = number
        self.tell({"c": what, "run": number, "order": list(order), "dir": str(folder), "env": env or {}, **more})
        return self.runs[number]

    def fork(
        self,
        order: Optional[Sequence[int]] = None,
        env: Optional[Dict[str, str]] = None,
        wait: bool = True,
        peeks: Sequence[Tuple[int, int]] = (),
        **more: Any,
    ) -> Run:
        """Runs an order in a child, and waits for its end. `peeks` are pairs of place and test."""
        if peeks:
            more["peeks"] = [[number, after, index] for number, (after, index) in enumerate(peeks)]
        run = self._command("fork", range(len(self.items)) if order is None else order, env, **more)
        if wait:
            self.pump(lambda: bool(run.exit))
            self.settle()
        return run

    def here(self, order: Optional[Sequence[int]] = None, env: Optional[Dict[str, str]] = None, **more: Any) -> Run:
        """Runs an order in the main process, and waits for its end."""
        run = self._command("here", range(len(self.items)) if order is None else order, env, **more)
        process = self.process
        assert process is not None
        self.pump(lambda: process.poll() is not None)
        self.settle()
        code = process.wait()
        run.exit = {"signal": -code} if code < 0 else {"code": code}
        return run

    def settle(self) -> None:
        """Reads what is still to be read."""
        while True:
            ready = self._selector.select(0.05)
            if not ready:
                return
            for key, _ in ready:
                self._take(key.fileobj)

    def both(self, order: Optional[Sequence[int]] = None) -> List[Run]:
        """The order in a child and then in the main process."""
        return [self.fork(order), self.here(order)]

    def close(self) -> None:
        """Ends everything that was started."""
        if self.process is not None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()
            self._pipe.close()
            self._server.close()
        for key in list(self._selector.get_map().values()):
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
        self._selector.close()
        shutil.rmtree(str(self.private), ignore_errors=True)
