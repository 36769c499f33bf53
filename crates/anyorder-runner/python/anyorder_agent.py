"""The part of anyorder that runs inside the user's interpreter.

One file, standard library and pytest's public API only, Python 3.8 to 3.14, pytest 7 to 9. The engine starts it as
``python anyorder_agent.py CONFIG``; how the two speak is written down in ``docs/design/001-agent-protocol.md``.

Suites patch everything: clocks, ``open``, ``os``, sockets, ``json``. Whatever is needed while tests run is therefore
bound into instances and closures before pytest is imported, never looked up in a module later.
"""

import contextlib
import ctypes
import gc
import hashlib
import inspect
import json
import os
import platform
import random
import re
import select
import shlex
import signal
import sys
import tempfile
import threading
import time
import traceback
from typing import Any, Callable, Dict, Iterator, List, NoReturn, Optional, Set, Tuple

PROTOCOL = 1
Json = Dict[str, Any]

# --------------------------------------------------------------------------------------------------------------------
# The channel


class Channel:
    """One connection to the engine, owned by one process.

    Lines are counted. A descriptor that a test closed or replaced is noticed before each write, and the connection is
    made again by path. A process that a test forked must not speak: it has another process id.
    """

    def __init__(self, path: str, token: str, hello: Json) -> None:
        import _socket  # the C type: pytest-socket and friends replace `socket.socket`

        self._make = _socket.socket
        self._family = _socket.AF_UNIX
        self._kind = _socket.SOCK_STREAM
        self._path = path
        self._token = token
        self._hello = hello
        self._count = 0
        self._getpid = os.getpid
        self._fstat = os.fstat
        self._write_fd = os.write
        self._read_fd = os.read
        self._close = os.close
        self._dumps = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), check_circular=False).encode
        self._loads = json.JSONDecoder().decode
        self._owner = os.getpid()
        self._again = False
        self._pending = b""
        self.fd = -1
        self._identity: Tuple[int, int] = (0, 0)
        self._connect()

    def _connect(self) -> None:
        sock = self._make(self._family, self._kind)
        sock.connect(self._path)
        fd = sock.detach()
        # Far away from the numbers that suites close by habit.
        try:
            import fcntl

            high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 200)
            self._close(fd)
            fd = high
        except OSError:
            pass
        self.fd = fd
        stat = self._fstat(fd)
        self._identity = (stat.st_dev, stat.st_ino)
        hello = dict(self._hello, t="hello", token=self._token, protocol=PROTOCOL, pid=self._owner)
        if self._again:
            hello["again"] = True
        self._again = True
        self.send(hello)

    def _check(self) -> bool:
        """Whether the descriptor is still ours; connects again where it is not. False in a process of a test."""
        if self._getpid() != self._owner:
            return False
        try:
            stat = self._fstat(self.fd)
            if (stat.st_dev, stat.st_ino) == self._identity:
                return True
        except OSError:
            pass
        self._connect()
        return True

    def send(self, value: Json) -> None:
        """Writes one object as a line, with its number."""
        if self._again and not self._check():
            return
        line = dict(value, n=self._count)
        self._count += 1
        self._all((self._dumps(line) + "\n").encode("ascii", "backslashreplace"))

    def record(self, *bodies: str) -> None:
        """Writes hot records at once: each body is what follows the number in an array."""
        if not self._check():
            return
        text = ""
        for body in bodies:
            text += f"[{self._count},{body}]\n"
            self._count += 1
        self._all(text.encode("ascii", "backslashreplace"))

    def _all(self, data: bytes) -> None:
        while data:
            try:
                data = data[self._write_fd(self.fd, data) :]
            except InterruptedError:
                continue
            except BlockingIOError:
                continue

    def dumps(self, value: Any) -> str:
        """JSON of a value, by an encoder that no suite can have replaced."""
        return self._dumps(value)

    def lines(self) -> Optional[List[Json]]:
        """The commands that have arrived, waiting for at least one byte; ``None`` at end of file."""
        try:
            data = self._read_fd(self.fd, 1 << 16)
        except InterruptedError:
            return []
        if not data:
            return None
        self._pending += data
        *whole, self._pending = self._pending.split(b"\n")
        return [self._loads(line.decode("utf-8")) for line in whole if line.strip()]


# --------------------------------------------------------------------------------------------------------------------
# Texts


def excerpt(text: str, limit: int) -> Json:
    """A text cut in the middle when it is longer than twice ``limit`` bytes."""
    data = text.encode("utf-8", "backslashreplace")
    if len(data) <= 2 * limit:
        return {"head": data.decode("utf-8", "replace"), "tail": "", "bytes": len(data)}
    head = data[:limit].decode("utf-8", "ignore")
    tail = data[-limit:].decode("utf-8", "ignore")
    return {"head": head, "tail": tail, "bytes": len(data)}


def plain(text: str) -> str:
    """The text without lone surrogates, which JSON cannot carry: each is written as ``\\udcXX``."""
    try:
        text.encode("utf-8")
        return text
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")


_VARYING = re.compile(r"0x[0-9a-fA-F]+|\b\d{3,}\b")


def signature(kind: str, path: str, line: str) -> str:
    """What a failure looks like apart from the values in it."""
    normalised = _VARYING.sub("N", " ".join(line.split()))[:200]
    return plain(f"{kind} @ {path}:{normalised}")


# --------------------------------------------------------------------------------------------------------------------
# Sandbox

_CLONE_NEWNS = 0x00020000
_CLONE_NEWUSER = 0x10000000
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000


class Sandbox:
    """Mounts an overlay over the project's own path, in namespaces of this process.

    Each run mounts another one over it, so that what a run writes into the tree vanishes with it. Where the kernel or
    the file system refuses, ``mode`` becomes ``tmp`` and ``why`` says why.
    """

    def __init__(self, ask: Json, root: str, cwd: str) -> None:
        self.mode: str = ask.get("mode", "none")
        self.required: bool = bool(ask.get("required"))
        self.why: Optional[str] = None
        self._lower: List[str] = list(ask.get("lower") or [])
        self._scratch: str = ask.get("scratch") or ""
        self._root = root
        self._cwd = cwd
        self._uid, self._gid = os.getuid(), os.getgid()
        self._depth = 0
        self._os = (os.open, os.write, os.close, os.mkdir, os.chdir, os.getcwd)
        self._libc: Any = None
        try:
            self._libc = ctypes.CDLL(None, use_errno=True)
            self._errno = ctypes.get_errno
        except (OSError, AttributeError, TypeError) as error:
            self._degrade(f"no C library to be reached: {error}")

    def _degrade(self, why: str) -> None:
        if self.mode == "overlay":
            self.mode, self.why = "tmp", why

    def _call(self, result: int, what: str) -> None:
        if result != 0:
            number = self._errno()
            raise OSError(number, f"{what}: {os.strerror(number)}")

    def _put(self, path: str, text: str) -> None:
        open_, write, close = self._os[:3]
        fd = open_(path, os.O_WRONLY)
        try:
            write(fd, text.encode())
        finally:
            close(fd)

    def _namespaces(self) -> None:
        if self._uid == 0 and self._libc.unshare(_CLONE_NEWNS) == 0:
            # The real superuser needs no user namespace, in which files of other owners could not be copied up.
            self._call(self._libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None), "mount --make-rprivate")
            return
        self._call(self._libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS), "unshare")
        with contextlib.suppress(OSError):
            self._put("/proc/self/setgroups", "deny")
        self._put("/proc/self/uid_map", f"{self._uid} {self._uid} 1")
        self._put("/proc/self/gid_map", f"{self._gid} {self._gid} 1")
        self._call(self._libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None), "mount --make-rprivate")

    @staticmethod
    def _quoted(path: str) -> bytes:
        for special in ("\\", ":", ","):
            path = path.replace(special, "\\" + special)
        return os.fsencode(path)

    def enter(self, folder: str) -> None:
        """Mounts an upper layer for this process. ``folder`` is a private, existing one for mount points."""
        if self.mode != "overlay":
            return
        try:
            self._enter(folder)
        except OSError as error:
            self._degrade(f"no overlay over the project: {error.args[-1]}")

    def _enter(self, folder: str) -> None:
        mkdir, chdir = self._os[3], self._os[4]
        self._namespaces()
        upper = os.path.join(folder, "layer")
        mkdir(upper, 0o700)
        self._call(self._libc.mount(b"tmpfs", os.fsencode(upper), b"tmpfs", 0, b"mode=0755"), "mount tmpfs")
        mkdir(os.path.join(upper, "u"), 0o755)
        mkdir(os.path.join(upper, "w"), 0o755)
        lower = [self._root] if self._depth else [*self._lower, self._root]
        options = b"lowerdir=%s,upperdir=%s,workdir=%s,userxattr" % (
            b":".join(self._quoted(part) for part in lower),
            self._quoted(os.path.join(upper, "u")),
            self._quoted(os.path.join(upper, "w")),
        )
        root = os.fsencode(self._root)
        self._call(self._libc.mount(b"overlay", root, b"overlay", 0, options), "mount overlay")
        self._depth += 1
        chdir("/")
        chdir(self._cwd)

    def state(self) -> Json:
        """What it came to, for the engine."""
        return {"mode": self.mode, "why": self.why}


def die_with_parent(parent: int) -> None:
    """Asks the kernel to end this process when its parent ends; nothing where there is no such thing."""
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
    except (OSError, AttributeError, TypeError):
        return
    if os.getppid() != parent:
        os._exit(1)


# --------------------------------------------------------------------------------------------------------------------
# What is installed, and where modules come from

LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pixi.lock", "conda-lock.yml")


def distributions() -> Dict[str, str]:
    """Name and version of everything installed, names normalised."""
    from importlib import metadata

    found: Dict[str, str] = {}
    for dist in metadata.distributions():
        try:
            name = dist.metadata["Name"]
        except Exception:  # a broken installation must not keep us from measuring
            continue
        if name:
            found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), dist.version or "")
    return found


def locks(folders: List[str]) -> Dict[str, str]:
    """Digest of each lock file in these folders, by its path relative to the first of them."""
    found: Dict[str, str] = {}
    for folder in dict.fromkeys(folders):
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        for name in names:
            if name in LOCKS or re.fullmatch(r"requirements.*\.txt", name):
                path = os.path.join(folder, name)
                try:
                    with open(path, "rb") as handle:
                        digest = hashlib.sha256(handle.read()).hexdigest()
                except OSError:
                    continue
                found[plain(os.path.relpath(path, folders[0]))] = digest
    return found


class Origins:
    """Tells which loaded modules the tree could provide, and whether it did."""

    def __init__(self, root: str, cwd: str) -> None:
        self._root = os.path.realpath(root)
        self._realpath = os.path.realpath
        self._sep = os.sep
        self._names: Set[str] = set()
        folders = [cwd, root]
        folders += [os.path.join(folder, sub) for folder in (cwd, root) for sub in ("src", "lib")]
        for folder in dict.fromkeys(folders):
            self._names.update(self._provided(folder))
        self._modules = sys.modules
        self._seen: Dict[str, Tuple[str, bool]] = {}

    @staticmethod
    def _provided(folder: str) -> Iterator[str]:
        try:
            entries = list(os.scandir(folder))
        except OSError:
            return
        for entry in entries:
            name, extension = os.path.splitext(entry.name)
            if not name.isidentifier() or name in ("setup", "conftest"):
                continue
            if extension == ".py" or (not extension and os.path.isfile(os.path.join(entry.path, "__init__.py"))):
                yield name

    def _inside(self, path: str) -> bool:
        real = self._realpath(path)
        if not real.startswith(self._root + self._sep):
            return False
        return "site-packages" not in real.split(self._sep) and "dist-packages" not in real.split(self._sep)

    def loaded(self) -> List[Tuple[str, str, str]]:
        """Module, file, and ``tree`` or ``elsewhere``, for each loaded module that the tree could provide."""
        for name in self._names:
            module = self._modules.get(name)
            path = getattr(module, "__file__", None)
            if isinstance(path, str) and name not in self._seen:
                self._seen[name] = (path, self._inside(path))
        return [(n, plain(p), "tree" if i else "elsewhere") for n, (p, i) in sorted(self._seen.items())]

    def foreign(self) -> List[Tuple[str, str]]:
        """Modules that the tree could provide and that came from elsewhere."""
        return [(name, path) for name, path, where in self.loaded() if where == "elsewhere"]


def remap(pair: Optional[Json]) -> None:
    """Points import paths of editable installs at the worktree that stands in for the project."""
    if not pair:
        return
    source, target = pair["from"].rstrip(os.sep), pair["to"].rstrip(os.sep)

    def moved(path: Any) -> Any:
        if isinstance(path, str) and (path == source or path.startswith(source + os.sep)):
            return target + path[len(source) :]
        return path

    before = list(sys.path)
    sys.path[:] = [moved(path) for path in sys.path]
    changed = [new for old, new in zip(before, sys.path) if old != new and new]
    for finder in list(sys.meta_path):
        module = sys.modules.get(getattr(finder, "__module__", "") or "")
        mapping = getattr(module, "MAPPING", None)
        if isinstance(mapping, dict):
            for name, path in list(mapping.items()):
                mapping[name] = moved(path)
        spaces = getattr(module, "NAMESPACES", None)
        if isinstance(spaces, dict):
            for name, paths in list(spaces.items()):
                spaces[name] = [moved(path) for path in paths]
    if changed:
        rest = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = os.pathsep.join([*changed, rest] if rest else changed)


# --------------------------------------------------------------------------------------------------------------------
# Neutralising

# Options that re-order, retry, stop early, spread tests or write beside them: destination, neutral value, spellings.
OPTIONS: Tuple[Tuple[str, Any, Tuple[str, ...], str], ...] = (
    ("maxfail", 0, ("-x", "--exitfirst", "--maxfail"), "pytest"),
    ("lf", False, ("--lf", "--last-failed"), "pytest"),
    ("failedfirst", False, ("--ff", "--failed-first"), "pytest"),
    ("newfirst", False, ("--nf", "--new-first"), "pytest"),
    ("stepwise", False, ("--sw", "--stepwise"), "pytest"),
    ("stepwise_skip", False, ("--sw-skip", "--stepwise-skip"), "pytest"),
    ("stepwise_reset", False, ("--sw-reset", "--stepwise-reset"), "pytest"),
    ("usepdb", False, ("--pdb",), "pytest"),
    ("trace", False, ("--trace",), "pytest"),
    ("xmlpath", None, ("--junitxml", "--junit-xml"), "pytest"),
    ("numprocesses", None, ("-n", "--numprocesses"), "pytest-xdist"),
    ("dist", "no", ("--dist", "-d"), "pytest-xdist"),
    ("tx", [], ("--tx",), "pytest-xdist"),
    ("looponfail", False, ("-f", "--looponfail"), "pytest-xdist"),
    ("forked", False, ("--forked", "--boxed"), "pytest-forked"),
    ("reruns", 0, ("--reruns",), "pytest-rerunfailures"),
    ("force_flaky", False, ("--force-flaky",), "flaky"),
    ("retries", 0, ("--retries",), "pytest-retry"),
    ("randomly_reset_seed", False, (), "pytest-randomly"),
    ("randomly_reorganize", False, (), "pytest-randomly"),
    ("random_order_bucket", "none", ("--random-order", "--random-order-bucket"), "pytest-random-order"),
    ("reverse", False, ("--reverse",), "pytest-reverse"),
    ("flake_finder_enable", False, ("--flake-finder",), "pytest-flakefinder"),
    ("splits", None, ("--splits",), "pytest-split"),
    ("group", None, ("--group",), "pytest-split"),
    ("num_shards", 1, ("--num-shards",), "pytest-shard"),
    ("shard_id", 0, ("--shard-id",), "pytest-shard"),
    ("picked", None, ("--picked",), "pytest-picked"),
    ("report_log", None, ("--report-log",), "pytest-reportlog"),
)

# Plugins that are taken out once their options are parsed and their markers declared.
PLUGINS: Dict[str, str] = {
    "pytest-randomly": "re-ordering and reseeding off",
    "pytest-random-order": "re-ordering off",
    "pytest-reverse": "re-ordering off",
    "pytest-rerunfailures": "reruns off",
    "flaky": "reruns off",
    "pytest-retry": "reruns off",
    "pytest-flakefinder": "repetition off",
    "pytest-split": "splitting off",
    "pytest-shard": "sharding off",
    "pytest-test-groups": "splitting off",
    "pytest-testmon": "selection by changes off",
    "pytest-picked": "selection by changes off",
    "pytest-parallel": "spreading off",
    "pytest-order": "sorting off; its marks are kept as constraints",
    "pytest-ordering": "sorting off; its marks are kept as constraints",
    "pytest-replay": "recording off",
    "pytest-leak-finder": "bisection off",
    "pytest-cleanslate": "isolation off",
}

# Marks that these plugins declare.
MARKS: Dict[str, Tuple[str, ...]] = {
    "pytest-rerunfailures": ("flaky",),
    "flaky": ("flaky",),
    "pytest-retry": ("flaky",),
    "pytest-random-order": ("random_order",),
    "pytest-order": ("order",),
    "pytest-ordering": ("run", "first", "second", "last", "second_to_last"),
}

# Active without being asked for.
ALWAYS_ACTIVE = frozenset(["pytest-randomly", "pytest-testmon"])


class Neutraliser:
    """Switches off what would disturb measuring, and remembers what that was."""

    def __init__(self, arguments: List[str], installed: Dict[str, str]) -> None:
        try:
            from_environment = shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))
        except ValueError:
            from_environment = []
        self._sources: List[Tuple[str, List[str]]] = [
            ("command line", arguments),
            ("PYTEST_ADDOPTS", from_environment),
        ]
        self.off: List[Json] = []
        self._installed = installed

    def arguments(self, cache: str) -> List[str]:
        """What is added to the user's arguments."""
        added = ["-o", "cache_dir=" + cache]
        if "pytest-cov" in self._installed:
            added.append("--no-cov")
        return added

    def _where(self, spellings: Tuple[str, ...]) -> Optional[Tuple[str, str]]:
        """The source that asks for an option, and how."""
        for source, tokens in self._sources:
            for at, token in enumerate(tokens):
                for spelling in spellings:
                    glued = len(spelling) == 2 and token.startswith(spelling) and not token.startswith("--")
                    if token == spelling and spelling in ("-n", "--maxfail", "--reruns", "--dist", "--numprocesses"):
                        return source, " ".join(tokens[at : at + 2])
                    if token == spelling or token.startswith(spelling + "=") or glued:
                        return source, token
        return None

    def _note(self, what: str, how: str, where: str) -> None:
        self.off.append({"what": what, "how": plain(how), "where": where})

    def options(self, config: Any) -> None:
        """Sets options to neutral values, before plugins are configured by them."""
        addopts = config.getini("addopts")
        if isinstance(addopts, str):
            addopts = shlex.split(addopts)
        self._sources.insert(1, ("addopts", list(addopts)))
        for destination, neutral, spellings, what in OPTIONS:
            if not hasattr(config.option, destination) or not (what == "pytest" or what in self._installed):
                continue
            if getattr(config.option, destination) != neutral:
                setattr(config.option, destination, neutral)
                found = self._where(spellings)
                if found is not None:
                    self._note(what, f"`{found[1]}` ignored", found[0])
        found = self._where(("--cov", "--cov-report", "--cov-fail-under", "--cov-config"))
        if found is not None and "pytest-cov" in self._installed:
            self._note("pytest-cov", "coverage off", found[0])

    def plugins(self, config: Any) -> None:
        """Takes plugins out, once their options are parsed and before they are configured."""
        manager = config.pluginmanager
        for plugin, dist in list(manager.list_plugin_distinfo()):
            name = re.sub(r"[-_.]+", "-", dist.project_name or "").lower()
            if name in PLUGINS and manager.is_registered(plugin):
                manager.unregister(plugin)
                if name in ALWAYS_ACTIVE:
                    self._note(name, PLUGINS[name], "plugin")

    def markers(self, config: Any) -> None:
        """Declares the marks of plugins that were taken out, for suites under ``--strict-markers``."""
        for what, names in MARKS.items():
            for name in names if what in self._installed else ():
                config.addinivalue_line("markers", f"{name}: kept known while {what} is off")

    def marks(self, items: List[Any]) -> None:
        """Notes plugins that some test asks for by a mark."""
        asked: Set[str] = set()
        for item in items:
            asked.update(mark.name for mark in item.iter_markers())
        for mark, names in (("flaky", ("pytest-rerunfailures", "flaky", "pytest-retry")), ("order", ("pytest-order",))):
            for name in names:
                if mark in asked and name in self._installed and not any(o["what"] == name for o in self.off):
                    self._note(name, PLUGINS[name], "plugin")


# --------------------------------------------------------------------------------------------------------------------
# What a test is


def fingerprint(item: Any, known: Dict[int, Optional[str]]) -> Optional[str]:
    """Digest of the code of a test's function and of its class's set-up methods; ``None`` where there is none."""
    function = getattr(item, "function", None)
    if function is None:
        return None
    function = inspect.unwrap(function) if callable(function) else function
    cls = getattr(item, "cls", None)
    key = id(function) ^ (id(cls) << 1)
    if key in known:
        return known[key]
    digest = hashlib.blake2b(digest_size=8)
    found = _digest_code(getattr(function, "__code__", None), digest)
    for name in ("setup_method", "teardown_method", "setup_class", "setUp", "tearDown", "setUpClass"):
        method = getattr(cls, name, None)
        found |= _digest_code(getattr(getattr(method, "__func__", method), "__code__", None), digest)
    known[key] = digest.hexdigest() if found else None
    return known[key]


def _digest_code(code: Any, digest: Any) -> bool:
    if code is None:
        return False
    digest.update(code.co_code)
    digest.update(repr(code.co_names).encode("utf-8", "backslashreplace"))
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            _digest_code(constant, digest)
        else:
            digest.update(repr(constant).encode("utf-8", "backslashreplace"))
    return True


def marks(item: Any) -> Json:
    """Order that a test declares."""
    found: Json = {}
    for name in ("order", "run"):
        mark = item.get_closest_marker(name)
        if mark is not None:
            args = [a if isinstance(a, (int, str)) else repr(a) for a in mark.args]
            kwargs = {k: v if isinstance(v, (int, str)) else repr(v) for k, v in mark.kwargs.items()}
            found["order"] = [args, kwargs]
            break
    mark = item.get_closest_marker("dependency")
    if mark is not None:
        names = mark.kwargs.get("depends") or []
        names = [names] if isinstance(names, str) else list(names)
        found["depends"] = {
            "name": mark.kwargs.get("name"),
            "on": [plain(str(n)) for n in names],
            "scope": str(mark.kwargs.get("scope", "module")),
        }
    mark = item.get_closest_marker("incremental")
    if mark is not None and item.parent is not None:
        found["incremental"] = plain(item.parent.nodeid)
    return found


# --------------------------------------------------------------------------------------------------------------------
# Whether forking is safe

HARMLESS_POOLS = ("openblas", "libgomp", "libiomp", "libomp", "mkl_", "blis", "libtbb")
HOSTILE_MODULES = ("grpc", "cupy", "pycuda", "jaxlib", "tensorflow", "pyspark")


def fork_refusals() -> List[str]:
    """Why a child forked now would not be what a fresh interpreter is; empty when it would."""
    why: List[str] = []
    if not hasattr(os, "fork"):
        return ["this platform has no fork"]
    me = threading.current_thread()
    alive = [t.name for t in threading.enumerate() if t is not me]
    if alive:
        names = ", ".join(sorted(map(plain, alive))[:5])
        why.append(f"threads are alive after collection: {names}")
    try:
        native = len(os.listdir("/proc/self/task")) - len(alive) - 1
    except OSError:
        native = 0
    if native > 0:
        with open("/proc/self/maps", "rb") as handle:
            maps = handle.read().decode("utf-8", "replace")
        if not any(name in maps for name in HARMLESS_POOLS):
            why.append(f"{native} native threads are alive after collection")
    running = sys.modules.get("asyncio.events")
    if running is not None and running._get_running_loop() is not None:
        why.append("an event loop is running after collection")
    torch = sys.modules.get("torch")
    if torch is not None and getattr(getattr(torch, "cuda", None), "is_initialized", lambda: False)():
        why.append("CUDA is initialised")
    why.extend(f"the module `{m}` does not survive a fork" for m in HOSTILE_MODULES if m in sys.modules)
    return why


class RandomState:
    """Gives a forked child the state of ``random`` that a fresh interpreter would have.

    CPython seeds ``random`` anew in a child. If the suite seeded it by itself while it was imported, a fresh interpreter
    would start from that state, and so must the child. Whether it did is found out by starting from a known state:
    drawing only moves along its sequence, seeding leaves it.
    """

    def __init__(self) -> None:
        self._start = random.Random(os.urandom(16)).getstate()
        random.setstate(self._start)
        self._setstate = random.setstate
        self.seeded: Any = None

    def look(self) -> None:
        """Call after collection: finds out whether the suite seeded."""
        now = random.getstate()
        probe = random.Random()
        probe.setstate(self._start)
        for _ in range(2000):
            state = probe.getstate()
            if state[1][:-1] == now[1][:-1]:
                return
            probe.getrandbits(32 * (625 - min(state[1][-1], 624)))
        self.seeded = now

    def restore(self) -> None:
        """Call in a child."""
        if self.seeded is not None:
            self._setstate(self.seeded)


# --------------------------------------------------------------------------------------------------------------------
# The plugin

RANK = {"s": 1, "P": 2, "x": 3, "X": 3, "F": 5, "E": 6}


class Agent:
    """Collects, reports what was collected, and runs what the engine asks for."""

    def __init__(self, config: Json, channel: Channel, sandbox: Sandbox, off: Neutraliser, origins: Origins) -> None:
        self._ask = config
        self._channel = channel
        self._sandbox = sandbox
        self._neutraliser = off
        self._origins = origins
        self._random = RandomState()
        self._limit = int(config.get("text_limit", 4096))
        self._root = os.path.realpath(config["root"])
        self._clock: Callable[[], int] = time.monotonic_ns
        self._started = self._clock()
        self._collecting = self._started
        self._items: List[Any] = []
        self._errors: List[Json] = []
        self.told = False
        self._letter = ""
        self._failure: Optional[Json] = None
        self._raised: Optional[Tuple[str, str, str]] = None
        self._fixtures = 0
        self._held: List[str] = []
        self._cwd = config["cwd"]
        self._reseed = config.get("reseed")
        self._parent = os.getpid()
        self._os = (os.fork, os.waitpid, os.killpg, os.kill, os._exit, os.setpgid, os.getpid)
        self._internal_text: Optional[str] = None

    # -- while pytest starts

    def pytest_cmdline_main(self, config: Any) -> None:
        if getattr(config.option, "collectonly", False) or getattr(config.option, "setuponly", False):
            self.broken("usage", "`--collect-only` and `--setup-only` run no test")
            raise SystemExit(4)
        self._neutraliser.options(config)
        self._neutraliser.plugins(config)

    def pytest_configure(self, config: Any) -> None:
        self._neutraliser.markers(config)

    def pytest_sessionstart(self, session: Any) -> None:
        self._collecting = self._clock()

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            text = plain(getattr(report, "longreprtext", "") or str(report.longrepr))
            self._errors.append({"id": plain(report.nodeid), "text": excerpt(text, self._limit)})

    def pytest_internalerror(self, excrepr: Any, excinfo: Any) -> None:
        self._internal_text = plain(str(excrepr))
        if not self.told:
            self.broken("internal", self._internal_text)

    def broken(self, what: str, text: str) -> None:
        """Tells the engine that nothing will run, once."""
        if not self.told:
            self.told = True
            self._channel.send({"t": "broken", "what": what, "text": excerpt(plain(text), self._limit)})

    # -- collection is over

    def pytest_runtestloop(self, session: Any) -> object:
        done = self._clock()
        self.told = True
        if self._errors:
            self._channel.send({"t": "collect_failed", "errors": self._errors})
            return True
        self._items = list(session.items)
        self._neutraliser.marks(self._items)
        for off in self._neutraliser.off:
            self._channel.send(dict(off, t="off"))
        if not self._items:
            self._channel.send({"t": "no_tests"})
            return True
        self._tell_tests()
        self._random.look()
        why = fork_refusals()
        self._channel.send(
            {
                "t": "collected",
                "tests": len(self._items),
                "startup_us": (self._collecting - self._started) // 1000,
                "collect_us": (done - self._collecting) // 1000,
                "rootdir": plain(str(session.config.rootpath)),
                "fork": {"safe": not why, "why": why},
                "origins": self._origins.loaded(),
            }
        )
        self._serve(session)
        return True

    def _tell_tests(self) -> None:
        known: Dict[int, Optional[str]] = {}
        lines: List[Json] = []
        for item in self._items:
            line: Json = {"id": plain(item.nodeid), "file": plain(item.nodeid.split("::")[0])}
            line["src"] = fingerprint(item, known)
            declared = marks(item)
            if declared:
                line["marks"] = declared
            lines.append(line)
            if len(lines) == 500:
                self._channel.send({"t": "tests", "items": lines})
                lines = []
        if lines:
            self._channel.send({"t": "tests", "items": lines})

    # -- serving

    def _serve(self, session: Any) -> None:
        """Does what the engine asks for, until it asks no more."""
        children: Dict[int, int] = {}
        frozen = False
        read, write = os.pipe()
        os.set_blocking(write, False)
        os.set_blocking(read, False)
        handler = signal.signal(signal.SIGCHLD, lambda *_: None)
        wakeup = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        quiet = (handler, wakeup, read, write)
        poll = select.select
        while True:
            ready = poll([self._channel.fd, read], [], [])[0]
            if read in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(read, 4096)
            self._reap(children)
            if self._channel.fd not in ready:
                continue
            commands = self._channel.lines()
            if commands is None:
                break
            for command in commands:
                what = command["c"]
                if what == "quit":
                    self._end(children, quiet)
                    return
                if what == "kill":
                    self._kill(children, command["run"], command["signal"])
                elif what == "here":
                    self._calm(quiet)
                    self._run(session, self._channel, command, fresh=True)
                    return
                elif what == "fork":
                    if not frozen:
                        gc.collect()
                        gc.freeze()
                        frozen = True
                    self._fork(session, command, children, quiet)
        self._end(children, quiet)

    def _calm(self, quiet: Tuple[Any, int, int, int]) -> None:
        """Puts signal handling back to what the suite would find in a fresh interpreter."""
        handler, wakeup, read, write = quiet
        signal.set_wakeup_fd(wakeup)
        signal.signal(signal.SIGCHLD, handler)
        os.close(read)
        os.close(write)

    def _end(self, children: Dict[int, int], quiet: Tuple[Any, int, int, int]) -> None:
        for pid in list(children):
            self._signal(pid, signal.SIGKILL)
        self._calm(quiet)

    def _signal(self, pid: int, number: int) -> None:
        for send in (self._os[2], self._os[3]):
            try:
                send(pid, number)
                return
            except OSError:
                continue

    def _kill(self, children: Dict[int, int], run: int, number: int) -> None:
        for pid, its in children.items():
            if its == run:
                self._signal(pid, number)

    def _reap(self, children: Dict[int, int]) -> None:
        for pid in list(children):
            try:
                done, status = self._os[1](pid, os.WNOHANG)
            except ChildProcessError:
                done, status = pid, 0
            if done != pid:
                continue
            told: Json = {"t": "exit", "run": children.pop(pid)}
            if os.WIFSIGNALED(status):
                told["signal"] = os.WTERMSIG(status)
            else:
                told["code"] = os.WEXITSTATUS(status)
            self._channel.send(told)

    def _fork(self, session: Any, command: Json, children: Dict[int, int], quiet: Tuple[Any, int, int, int]) -> None:
        parent = self._os[6]()
        try:
            pid = self._os[0]()
        except OSError as error:
            self._channel.send({"t": "exit", "run": command["run"], "code": 71, "why": plain(str(error))})
            return
        if pid:
            with contextlib.suppress(OSError):
                self._os[5](pid, pid)
            children[pid] = command["run"]
            self._channel.send({"t": "forked", "run": command["run"], "pid": pid})
            return
        try:
            self._child(session, command, parent, quiet)
        except BaseException:  # nothing of a child may ever return into the template
            traceback.print_exc()
        finally:
            self._os[4](70)

    def _child(self, session: Any, command: Json, parent: int, quiet: Tuple[Any, int, int, int]) -> None:
        with contextlib.suppress(OSError):
            self._os[5](0, 0)
        die_with_parent(parent)
        self._calm(quiet)
        self._random.restore()
        self._sandbox.enter(command["dir"])
        hello = {"role": "run", "run": command["run"], "sandbox": self._sandbox.state()}
        channel = Channel(self._ask["socket"], self._ask["token"], hello)
        os.close(self._channel.fd)
        self._channel = channel
        code = self._run(session, channel, command, fresh=False)
        self._flush()
        self._os[4](code)

    @staticmethod
    def _flush() -> None:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:  # a test may have closed or replaced it
                continue

    # -- running an order

    def _run(self, session: Any, channel: Channel, command: Json, fresh: bool) -> int:
        """Runs one order in this process. The exit code, which nobody trusts."""
        self._prepare(command)
        items = [self._items[index] for index in command["order"]]
        indices = command["order"]
        session.items[:] = items
        clock, record, count = self._clock, channel.record, len(items)
        for position, item in enumerate(items):
            following = items[position + 1] if position + 1 < count else None
            self._letter, self._failure, self._raised = "", None, None
            self._held.append(f'"s",{position},{indices[position]},{clock()}')
            record(*self._held)
            self._held = []
            if self._reseed is not None:
                self._seed(self._reseed)
            try:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            except BaseException as error:
                self._died(channel, error)
                if fresh and isinstance(error, (KeyboardInterrupt, SystemExit)):
                    self._os[4](3)
                return 3
            letter = self._letter or "E"
            ended = f'"e",{position},{indices[position]},"{letter}",{clock()}'
            if not self._letter:
                self._failure = self._failure or {
                    "phase": "call",
                    "sig": "no report",
                    "text": excerpt("pytest reported nothing of this test", self._limit),
                }
            if self._failure is not None and self._letter not in ("P", "s", "x", "X"):
                ended += "," + channel.dumps(self._failure)
            self._held.append(ended)
            if session.shouldstop or session.shouldfail:
                record(*self._held)
                self._held = []
                why = "the session was told to stop: %s" % (session.shouldstop or session.shouldfail)
                channel.send({"t": "internal", "text": excerpt(plain(why), self._limit)})
                return 3
        told = channel.dumps({"fixtures": self._fixtures, "foreign": self._origins.foreign()})
        end = f'"end",{self._os[6]()},{count},{told}'
        record(*self._held, end)
        self._held = []
        return 0

    def _died(self, channel: Channel, error: BaseException) -> None:
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        channel.send({"t": "internal", "text": excerpt(plain(text), self._limit)})

    def _prepare(self, command: Json) -> None:
        folder = os.path.join(command["dir"], "tmp")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if self._sandbox.mode != "none":
            for name in ("TMPDIR", "PYTEST_DEBUG_TEMPROOT"):
                os.environ[name] = folder
            tempfile.tempdir = None
        for name, value in (command.get("env") or {}).items():
            os.environ[name] = value

    @staticmethod
    def _seed(seed: int) -> None:
        random.seed(seed)
        numpy = sys.modules.get("numpy.random")
        if numpy is not None:
            numpy.seed(seed % (1 << 32))

    # -- what pytest tells

    def pytest_runtest_call(self, item: Any) -> None:
        self._channel.record(f'"c",{self._clock()}')

    def pytest_runtest_teardown(self, item: Any) -> None:
        self._channel.record(f'"t",{self._clock()}')

    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> None:
        self._fixtures += 1

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        if call.excinfo is not None:
            self._raised = self._raising(call.excinfo)

    def _raising(self, excinfo: Any) -> Tuple[str, str, str]:
        """Type, file and line of the exception: the innermost line of the project, else the innermost of all."""
        import linecache

        place = ("?", 0)
        walk = excinfo.tb
        while walk is not None:
            path = walk.tb_frame.f_code.co_filename
            inside = path.startswith(self._root + os.sep) and "site-packages" not in path
            if inside or place[0] == "?" or not place[0].startswith(self._root + os.sep):
                place = (path, walk.tb_lineno)
            walk = walk.tb_next
        path = place[0]
        shown = os.path.relpath(path, self._root) if path.startswith(self._root + os.sep) else os.path.basename(path)
        return excinfo.typename, shown, linecache.getline(path, place[1]).strip()

    def pytest_runtest_logreport(self, report: Any) -> None:
        letter = self._meaning(report)
        if letter is None:
            return
        if RANK[letter] > RANK.get(self._letter, 0):
            self._letter = letter
            if letter in ("F", "E"):
                text = plain(getattr(report, "longreprtext", "") or str(report.longrepr))
                lines = text.strip().splitlines()
                kind, path, line = self._raised or ("?", "?", lines[-1] if lines else "")
                self._failure = {
                    "phase": report.when,
                    "sig": signature(kind, path, line),
                    "text": excerpt(text, self._limit),
                }

    @staticmethod
    def _meaning(report: Any) -> Optional[str]:
        expected = hasattr(report, "wasxfail")
        if report.when != "call":
            if report.failed:
                return "E"
            if report.skipped:
                return "x" if expected else "s"
            return None
        if report.failed:
            return "F"
        if report.skipped:
            return "x" if expected else "s"
        return "X" if expected else "P"


def hook_up(hookimpl: Callable[..., Any]) -> None:
    """Marks the hooks that must come first; done late, since pytest is not imported before the sandbox stands."""
    for name in ("pytest_cmdline_main", "pytest_runtestloop", "pytest_runtest_call", "pytest_runtest_teardown"):
        setattr(Agent, name, hookimpl(tryfirst=True)(getattr(Agent, name)))


# --------------------------------------------------------------------------------------------------------------------
# Starting


def main(path: str) -> int:
    """Runs the agent by the configuration at ``path``."""
    with open(path, encoding="utf-8") as handle:
        config: Json = json.load(handle)
    for name in [name for name in os.environ if name.startswith("ANYORDER_AGENT")]:
        del os.environ[name]
    os.environ.update(config.get("env") or {})
    root, cwd = config["root"], config["cwd"]
    sandbox = Sandbox(config.get("sandbox") or {}, root, cwd)
    scratch = (config.get("sandbox") or {}).get("scratch") or os.path.dirname(path)
    own = os.path.join(scratch, f"main-{os.getpid()}")
    os.makedirs(own, mode=0o700)
    if sys.version_info >= (3, 8):  # noqa: UP036 - an older interpreter must learn why it is refused
        sandbox.enter(own)
    remap(config.get("remap"))
    os.chdir(cwd)
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [cwd] + [p for p in sys.path if os.path.abspath(p or ".") != here]
    channel = Channel(config["socket"], config["token"], {"role": "main"})
    if sys.version_info < (3, 8):  # noqa: UP036
        text = f"Python {platform.python_version()} is older than 3.8"
        channel.send({"t": "broken", "what": "python", "text": excerpt(text, 4096)})
        return 1
    if sandbox.required and sandbox.mode != "overlay":
        channel.send({"t": "broken", "what": "sandbox", "text": excerpt(sandbox.why or "", 4096)})
        return 1
    try:
        import pytest
    except Exception:
        channel.send({"t": "broken", "what": "no_pytest", "text": excerpt(traceback.format_exc(), 4096)})
        return 1
    hook_up(pytest.hookimpl)
    installed = distributions()
    plugins = sorted((n, v) for n, v in installed.items() if n.startswith("pytest-") or n in ("flaky", "anyio"))
    channel.send(
        {
            "t": "environment",
            "python": platform.python_version(),
            "implementation": sys.implementation.name,
            "executable": plain(sys.executable),
            "platform": f"{sys.platform}-{platform.machine()}",
            "pytest": str(pytest.__version__),
            "plugins": plugins,
            "distributions": hashlib.sha256(repr(sorted(installed.items())).encode()).hexdigest(),
            "locks": locks([root, cwd]),
            "sandbox": sandbox.state(),
            "capabilities": {"fork": hasattr(os, "fork")},
        }
    )
    arguments = [str(a) for a in config.get("pytest_args") or []]
    neutraliser = Neutraliser(arguments, installed)
    agent = Agent(config, channel, sandbox, neutraliser, Origins(root, cwd))
    sys.argv[:] = [os.path.join(os.path.dirname(pytest.__file__), "__main__.py"), *arguments]
    code = pytest.main([*arguments, *neutraliser.arguments(os.path.join(own, "cache"))], plugins=[agent])
    if not agent.told:
        agent.broken("usage" if int(code) == 4 else "ended", f"pytest ended with exit code {int(code)}")
    return int(code)


def _leave(code: int) -> NoReturn:
    Agent._flush()
    os._exit(code)


if __name__ == "__main__":
    _leave(main(sys.argv[1]))
