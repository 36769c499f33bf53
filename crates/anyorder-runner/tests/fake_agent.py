"""A stand-in for the agent: the protocol without pytest, for tests of the engine.

Runs the functions named test_* of the file named first among pytest_args, in definition order. They may use the
globals CHANNEL (an object with .fd, .n, .line) and RUN. A test that raises Skip is skipped, any other exception fails.
"""

import json
import os
import signal
import socket
import sys
import time
import traceback

CONFIG = json.load(open(sys.argv[1]))
clock = time.monotonic_ns


class Skip(Exception):
    pass


class Channel:
    def __init__(self, role, run=None, again=False, n=0, **more):
        self.role, self.run, self.n, self.pid = role, run, n, os.getpid()
        self.connect(again, **more)

    def connect(self, again, **more):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(CONFIG["socket"])
        self.fd = self.socket.fileno()
        self.ino = os.fstat(self.fd).st_ino
        hello = {"t": "hello", "token": CONFIG["token"], "protocol": 2, "role": self.role, "pid": self.pid, **more}
        if self.run is not None:
            hello["run"] = self.run
        if again:
            hello["again"] = True
        self.say(**hello)

    def line(self, value):
        if os.getpid() != self.pid:
            return
        try:
            same = os.fstat(self.fd).st_ino == self.ino
        except OSError:
            same = False
        if not same:
            self.connect(True)
            value = ([self.n] + value[1:]) if isinstance(value, list) else dict(value, n=self.n)
        self.socket.sendall(json.dumps(value).encode() + b"\n")
        self.n += 1

    def say(self, **value):
        self.line({"n": self.n, **value})

    def tell(self, *value):
        self.line([self.n, *value])


def perform(channel, suite, names, run, env, order):
    os.environ.update(env)
    suite["CHANNEL"], suite["RUN"] = channel, run
    for position, index in enumerate(suite.get("reorder", lambda o: o)(order)):
        channel.tell("s", position, index, clock())
        channel.tell("c", clock())
        letter, detail = "P", []
        try:
            suite[names[index]]()
        except Skip:
            letter = "s"
        except Exception as e:
            text = traceback.format_exc()
            letter = "F"
            detail = [{"phase": "call", "sig": type(e).__name__, "text": {"head": text, "tail": "", "bytes": len(text)}}]
        channel.tell("t", clock())
        channel.tell("e", position, index, letter, clock(), *detail)
    channel.tell("end", os.getpid(), len(order), {"fixtures": 0, "foreign": []})


def main():
    channel = Channel("main")
    suite = {"Skip": Skip, "__name__": "suite"}
    channel.say(
        t="environment",
        python="3",
        implementation="fake",
        executable=sys.executable,
        platform="x",
        pytest="0",
        plugins=[],
        distributions="",
        locks={},
        sandbox={"mode": "none", "why": None},
        capabilities={"fork": True},
    )
    exec(compile(open(CONFIG["pytest_args"][0]).read(), "suite.py", "exec"), suite)
    names = [name for name in suite if name.startswith("test_")]
    if not names:
        return channel.say(t="no_tests")
    for at in range(0, len(names), 500):
        channel.say(t="tests", items=[{"id": "suite.py::" + n, "file": "suite.py", "src": None} for n in names[at : at + 500]])
    channel.say(
        t="collected",
        tests=len(names),
        startup_us=1,
        collect_us=1,
        rootdir="/",
        fork=suite.get("fork", {"safe": True, "why": []}),
        origins=[],
    )
    signal.signal(signal.SIGCHLD, lambda *_: None)
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker)
    children, rest = {}, b""
    import select

    while True:
        readable, _, _ = select.select([channel.socket, wake], [], [])
        if wake in readable:
            os.read(wake, 100)
        while children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            how = {"signal": os.WTERMSIG(status)} if os.WIFSIGNALED(status) else {"code": os.WEXITSTATUS(status)}
            channel.say(t="exit", run=children.pop(pid), **how)
        if channel.socket not in readable:
            continue
        data = channel.socket.recv(1 << 20)
        if not data:
            break
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            command = json.loads(line)
            if command["c"] == "quit":
                return
            if command["c"] == "here":
                perform(channel, suite, names, command["run"], command["env"], command["order"])
                return
            if command["c"] == "fork":
                if suite.get("no_fork", lambda run: False)(command["run"]):
                    channel.say(t="exit", run=command["run"], code=71, why="no process to be had")
                    continue
                pid = os.fork()
                if pid == 0:
                    os.setpgid(0, 0)
                    signal.set_wakeup_fd(-1)
                    child = Channel("run", command["run"], sandbox={"mode": "none", "why": None})
                    channel.socket.close()
                    perform(child, suite, names, command["run"], command["env"], command["order"])
                    os._exit(0)
                children[pid] = command["run"]
                channel.say(t="forked", run=command["run"], pid=pid)
            if command["c"] == "kill":
                for pid, run in children.items():
                    if run == command["run"]:
                        os.killpg(pid, command["signal"])
    for pid in children:
        os.killpg(pid, 9)


main()
