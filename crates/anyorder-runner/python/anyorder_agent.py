"""The part of anyorder that runs inside the user's interpreter.

One file, standard library and pytest's public API only, Python 3.8 to 3.14, pytest 7 to 9. The engine starts it as
``python anyorder_agent.py CONFIG``; how the two speak is written down in ``docs/design/001-agent-protocol.md``.

Suites patch everything: clocks, ``open``, ``os``, sockets, ``json``. Whatever is needed while tests run is therefore
bound into instances and closures before pytest is imported, never looked up in a module later; and this module leaves
``sys.modules``, so that what replaces attributes in every loaded module does not find it.
"""

import ctypes
import faulthandler
import gc
import hashlib
import importlib
import importlib.util
import inspect
import json
import linecache
import os
import platform
import random
import re
import select
import shlex
import shutil
import signal
import stat
import sys
import tempfile
import threading
import time
import traceback
import types
import warnings
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, NoReturn, Optional, Set, Tuple

BEGAN = time.monotonic_ns()
PROTOCOL = 2
# The engine's value of PYTHONDONTWRITEBYTECODE; any other is the user's own.
UNLESS_OVERLAID = "anyorder"
Json = Dict[str, Any]

# Exit codes, which nobody trusts: only the end marker means that a run finished.
EXIT_DIED, EXIT_DEFECT, EXIT_NO_FORK, EXIT_NO_SANDBOX, EXIT_CHANNEL = 3, 70, 71, 72, 74

# --------------------------------------------------------------------------------------------------------------------
# The channel


class Channel:
    """One connection to the engine, owned by one process.

    Lines are counted. A descriptor that a test closed or replaced is noticed before each write, and the connection is
    made again by path. A process that a test forked must not speak: it has another process id. Each write begins with
    a newline, so that what a test left there without one costs no line of ours.
    """

    def __init__(self, path: str, token: str, hello: Json) -> None:
        import _socket  # the C type: pytest-socket and its like replace `socket.socket`
        import fcntl

        self._make = _socket.socket
        self._family = _socket.AF_UNIX
        self._kind = _socket.SOCK_STREAM
        self._duplicate = fcntl.fcntl
        self._high = fcntl.F_DUPFD_CLOEXEC
        self._path = path
        self._token = token
        self._hello = hello
        self._count = 0
        self._getpid = os.getpid
        self._fstat = os.fstat
        self._write = os.write
        self._read = os.read
        self._close = os.close
        self._exit = os._exit
        # The method that `encode` would look up, bound now.
        self._pieces = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), check_circular=False).iterencode
        self._loads = json.JSONDecoder().decode
        self._owner = os.getpid()
        self._again = False
        self._pending = b""
        self.fd = -1
        self._device = self._inode = 0
        self._connect()

    def _connect(self) -> None:
        sock = self._make(self._family, self._kind)
        sock.settimeout(None)  # a suite may have set another default
        sock.connect(self._path)
        fd = sock.detach()
        try:  # far away from the numbers that suites close by habit
            high = self._duplicate(fd, self._high, 200)
            self._close(fd)
            fd = high
        except OSError:
            pass
        self.fd = fd
        status = self._fstat(fd)
        self._device, self._inode = status.st_dev, status.st_ino
        hello = dict(self._hello, t="hello", token=self._token, protocol=PROTOCOL, pid=self._owner)
        if self._again:
            hello["again"] = True
        self._again = True
        hello["n"] = self._count
        self._count += 1
        self._put("\n%s\n" % self.dumps(hello))

    def _put(self, text: str) -> None:
        data = text.encode("ascii", "backslashreplace")
        while data:
            try:
                data = data[self._write(self.fd, data) :]
            except (InterruptedError, BlockingIOError):
                continue

    def successor(self, hello: Json) -> "Channel":
        """A connection of its own for a process forked in the middle of a run, made with nothing that a test can have replaced."""
        new = Channel.__new__(Channel)
        new.__dict__.update(self.__dict__)
        try:
            status = self._fstat(self.fd)
            if status.st_ino == self._inode and status.st_dev == self._device:
                self._close(self.fd)
        except OSError:
            pass
        new._hello, new._owner, new._count, new._again = hello, self._getpid(), 0, False
        new._connect()
        return new

    def is_owner(self) -> bool:
        """Whether this process opened the connection; false in one that a test forked."""
        return self._getpid() == self._owner

    def record(self, *bodies: str, form: str = "[%d,%s]\n") -> None:
        """Writes lines at once: each body is what follows the number. What cannot be told ends the process."""
        if self._getpid() != self._owner:
            return
        for last in (False, True):
            count = self._count
            try:
                try:
                    status = self._fstat(self.fd)
                    if status.st_ino != self._inode or status.st_dev != self._device:
                        self._connect()
                except OSError:
                    self._connect()
                text = "\n"
                for body in bodies:
                    text += form % (self._count, body)
                    self._count += 1
                self._put(text)
                return
            except OSError:
                # The other end is gone, or a test shut the connection down: once more, by path.
                if last:
                    self._exit(EXIT_CHANNEL)
                self._count, self._inode = count, -1

    def send(self, value: Json) -> None:
        """Writes one object as a line."""
        self.record(self.dumps(value)[1:], form='{"n":%d,%s\n')

    def dumps(self, value: Any) -> str:
        """JSON of a value, by an encoder that no suite can have replaced."""
        return "".join(self._pieces(value, _one_shot=True))

    def lines(self) -> Optional[List[Json]]:
        """The commands that have arrived, waiting for at least one byte; ``None`` at end of file."""
        try:
            data = self._read(self.fd, 1 << 16)
        except InterruptedError:
            return []
        except OSError:
            return None
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
    return plain("%s @ %s:%s" % (kind, path, _VARYING.sub("N", " ".join(line.split()))[:200]))


def described(error: BaseException) -> str:
    """An exception with its traceback and causes."""
    return plain("".join(traceback.format_exception(type(error), error, error.__traceback__)))


# --------------------------------------------------------------------------------------------------------------------
# Sandbox

_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
_CAPABILITY_VERSION = 0x20080522
# Entries that are looked at for an owner whom a user namespace could not map.
_ENTRIES_LOOKED_AT = 4000


class Sandbox:
    """Mounts an overlay over the project's own path, in namespaces of this process.

    Each run mounts another one over it, so that what a run writes into the tree vanishes with it. Where the kernel or
    the file system refuses, ``mode`` becomes ``tmp`` and ``why`` says why. The powers that a user namespace brings are
    given back after mounting: a suite that expects ``PermissionError`` must get it.
    """

    def __init__(self, ask: Json, root: str, cwd: str, apart: Iterable[str]) -> None:
        self.mode: str = ask.get("mode", "none")
        self.required: bool = bool(ask.get("required"))
        self.why: Optional[str] = None
        self._lower: List[str] = list(ask.get("lower") or [])
        self._root = os.path.realpath(root)
        self._cwd = cwd
        self._uid, self._gid = os.getuid(), os.getgid()
        # The layers that the tree is made of, topmost first; empty until the first overlay stands.
        self._layers: List[str] = []
        # A short path for temporary files, the same in each run: sockets have a limit. ``temporary`` is set while it is in use.
        short: Optional[str] = ask.get("short")
        if short and (os.path.realpath(short) + os.sep).startswith(self._root.rstrip(os.sep) + os.sep):
            short = None
        self._short, self.temporary = short, ""
        self._stat, self._chown, self._removexattr = os.stat, os.chown, getattr(os, "removexattr", None)
        self._open, self._write, self._close = os.open, os.write, os.close
        self._mkdir, self._chdir, self._getcwd, self._symlink = os.mkdir, os.chdir, os.getcwd, os.symlink
        self._chmod, self._setxattr = os.chmod, getattr(os, "setxattr", None)
        if self.mode != "overlay":
            return
        try:
            self._libc: Any = ctypes.CDLL(None, use_errno=True)
            self._errno = ctypes.get_errno
            for name in ("unshare", "mount", "umount2", "capget", "capset"):
                getattr(self._libc, name)
        except (OSError, AttributeError, TypeError):
            self._degrade("this platform has no namespaces")
            return
        obstacle = self._obstacle([*apart, *self._lower])
        if obstacle:
            self._degrade(obstacle)

    def _obstacle(self, apart: List[str]) -> Optional[str]:
        """What speaks against an overlay, known before trying; ``apart`` must not be hidden by it."""
        inside = self._root + os.sep
        if self._root == os.sep:
            return "the project is the root of the file system"
        hidden = [path for path in apart if os.path.realpath(path).startswith(inside)]
        if hidden:
            return "`%s` lies inside the project" % plain(hidden[0])
        try:
            with open("/proc/self/mountinfo", "rb") as handle:
                points = [line.split()[4] for line in handle]
        except (OSError, IndexError):
            points = []
        for point in points:
            text = os.fsdecode(re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m.group(1), 8)]), point))
            if text.startswith(inside):
                return "`%s` is a mount of its own" % plain(text)
        foreign = None if self._uid == 0 else self._unmappable()
        return foreign and "`%s` belongs to a user or group that a user namespace cannot map" % plain(foreign)

    def _unmappable(self) -> Optional[str]:
        """A file that we may write and whose owner or group is not ours: the kernel could not copy it up."""
        left, folders = _ENTRIES_LOOKED_AT, [self._root]
        while folders and left > 0:
            try:
                entries = list(os.scandir(folders.pop()))
            except OSError:
                continue
            left -= len(entries)
            for entry in entries:
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                if (status.st_uid, status.st_gid) != (self._uid, self._gid) and os.access(entry.path, os.W_OK):
                    return entry.path
                if stat.S_ISDIR(status.st_mode) and entry.name not in (".git", ".venv", "node_modules"):
                    folders.append(entry.path)
        return None

    def _degrade(self, why: str) -> None:
        if self.mode == "overlay":
            self.mode, self.why = "tmp", "no overlay over the project: " + why

    def _call(self, result: int, what: str) -> None:
        if result != 0:
            number = self._errno()
            raise OSError(number, "%s: %s" % (what, os.strerror(number)))

    def _put(self, path: str, text: str) -> None:
        fd = self._open(path, os.O_WRONLY)
        try:
            self._write(fd, text.encode())
        finally:
            self._close(fd)

    def _namespaces(self) -> None:
        # The real superuser needs no user namespace, in which files of other owners could not be copied up.
        if self._uid != 0 or self._libc.unshare(_CLONE_NEWNS) != 0:
            self._call(self._libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS), "unshare")
            try:
                self._put("/proc/self/setgroups", "deny")
            except OSError:
                pass
            self._put("/proc/self/uid_map", "%d %d 1" % (self._uid, self._uid))
            self._put("/proc/self/gid_map", "%d %d 1" % (self._gid, self._gid))
        self._call(self._libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None), "mount --make-rprivate")

    def enter(self, folder: str, also: Tuple[str, ...] = (), temporary: Optional[str] = None) -> None:
        """Mounts an upper layer for this process. ``folder`` is a private, existing one for mount points.

        Each folder of ``also`` gets one as well. The folder ``temporary`` appears at the short path, where there is one.
        """
        if self.mode != "overlay":
            return
        if not self._layers and not self._rehearse(folder):
            return
        header, powers = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
        try:
            here = self._getcwd()  # where the suite went while it was imported, if it did
        except OSError:
            here = self._cwd
        try:
            self._call(self._libc.capget(header, powers), "capget")
            try:
                self._namespaces()
                self._mount(folder, also)
                self._shorten(temporary)
            finally:
                self._libc.capset(header, powers)
                self._chdir(os.sep)
                self._chdir(here)
        except OSError as error:
            self._degrade(str(error.args[-1]))

    def _rehearse(self, folder: str) -> bool:
        """Tries it all in a child: a system that refuses half-way would leave this process in a crippled namespace."""
        trial = os.path.join(folder, "trial")
        self._mkdir(trial, 0o700)
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                self._namespaces()
                self._mount(trial)
            except BaseException as error:
                os.write(write, plain(str(error.args[-1] if error.args else error)).encode()[:4000])
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            why = pipe.read().decode("utf-8", "replace")
        os.waitpid(pid, 0)
        if why:
            self._degrade(why)
        return not why

    def _mount(self, folder: str, also: Tuple[str, ...] = ()) -> None:
        layer = folder.rstrip("/") + "/layer"
        self._mkdir(layer, 0o700)
        in_memory = self._libc.mount(b"tmpfs", os.fsencode(layer), b"tmpfs", 0, b"mode=0755") == 0
        # Names relative to the working directory need no quoting, whatever is in the paths, and are short.
        self._chdir(layer)
        self._fill("", self._root)
        if in_memory and not self._keeps_attributes("u"):
            self._call(self._libc.umount2(os.fsencode("."), 2), "umount")
            self._chdir(os.sep)
            self._chdir(layer)
            self._fill("", self._root)
        if not self._keeps_attributes("u"):
            raise OSError(95, "no file system here keeps `user.*` attributes")
        if not self._layers:
            self._mkdir("original", 0o755)
            self._libc.mount(os.fsencode(self._root), b"original", None, _MS_BIND | _MS_REC, None)
            self._overlay("", self._root, [*self._lower, self._root])
            self._layers = [*self._lower, layer + "/original"]
        else:
            # Over what is there; and where file systems are stacked too high for that, beside it.
            self._overlay("", self._root, [self._root], self._layers)
        self._layers = [layer + "/u", *self._layers]
        for number, path in enumerate(also):
            at = "%d-" % number
            self._fill(at, path)
            self._overlay(at, path, [path])

    def _shorten(self, temporary: Optional[str]) -> None:
        if temporary is None or self._short is None:
            return
        made = self._libc.mount(os.fsencode(temporary), os.fsencode(self._short), None, _MS_BIND, None)
        self.temporary = self._short if made == 0 else ""

    def _overlay(self, at: str, path: str, *choices: List[str]) -> None:
        """Mounts an overlay at a path, of the first choice of lower layers, topmost first, that the kernel takes."""
        for attempt, lower in enumerate(choices, 1):
            names = ["%s%d-%d" % (at, attempt, number) for number in range(len(lower))]
            for name, target in zip(names, lower):
                self._symlink(target, name)
            options = "lowerdir=%s,upperdir=%su,workdir=%sw,userxattr" % (":".join(names), at, at)
            result = self._libc.mount(b"overlay", os.fsencode(path), b"overlay", 0, options.encode())
            if result == 0:
                return
            if attempt == len(choices):
                self._call(result, "mount overlay")

    def _fill(self, at: str, path: str) -> None:
        status = self._stat(path)
        for name in ("u", "w"):
            self._mkdir(at + name, 0o755)
        self._chmod(at + "u", stat.S_IMODE(status.st_mode))
        if self._uid == 0:
            self._chown(at + "u", status.st_uid, status.st_gid)

    def _keeps_attributes(self, path: str) -> bool:
        try:
            if self._setxattr is not None and self._removexattr is not None:
                self._setxattr(path, "user.overlay.probe", b"1")
                self._removexattr(path, "user.overlay.probe")
            return True
        except OSError:
            return False

    def state(self) -> Json:
        """What it came to, for the engine."""
        return {"mode": self.mode, "why": self.why}


def adoption() -> Callable[[bool], None]:
    """A function that makes this process the new parent of orphans among its descendants, or not; a no-op off Linux."""
    try:
        prctl = ctypes.CDLL(None).prctl
    except (OSError, AttributeError, TypeError):
        return lambda _on: None
    if not sys.platform.startswith("linux"):
        return lambda _on: None
    return lambda on: prctl(36, int(on), 0, 0, 0)


def death_with_parent() -> Callable[[int], None]:
    """A function that asks the kernel to end this process when its parent ends; it does nothing where that is unknown."""
    getppid, leave = os.getppid, os._exit
    try:
        prctl = ctypes.CDLL(None).prctl
    except (OSError, AttributeError, TypeError):
        return lambda _parent: None
    if not sys.platform.startswith("linux"):
        return lambda _parent: None

    def bind(parent: int) -> None:
        prctl(1, int(signal.SIGKILL), 0, 0, 0)
        if getppid() != parent:
            leave(1)

    return bind


# --------------------------------------------------------------------------------------------------------------------
# What is installed, and where modules come from

LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pixi.lock", "conda-lock.yml")


def normal(name: str) -> str:
    """A distribution's name as registries compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def distributions(root: str) -> Dict[str, str]:
    """Name and version of everything installed, as the folders' names tell: parsing all metadata takes longer.

    What lies in the tree itself is the project, not its environment.
    """
    found: Dict[str, str] = {}
    inside = os.path.realpath(root) + os.sep
    for folder in dict.fromkeys(sys.path):
        real = os.path.realpath(folder or os.curdir) + os.sep
        if real.startswith(inside) and "-packages" + os.sep not in real:
            continue
        try:
            entries = sorted(os.listdir(folder or "."))
        except OSError:
            continue
        for entry in entries:
            stem, extension = os.path.splitext(entry)
            if extension == ".dist-info" or (extension == ".egg-info" and "-" in stem):
                name, _, version = stem.partition("-")
                found.setdefault(normal(name), re.sub(r"-py\d.*$", "", version))
            elif extension == ".egg-link":
                found.setdefault(normal(stem), "develop")
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
        self._library = os.path.dirname(os.__file__) + os.sep
        self._seen: Dict[Tuple[str, str], bool] = {}

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
        parts = real.split(self._sep)
        return not {"site-packages", "dist-packages", ".venv"}.intersection(parts[self._root.count(self._sep) :])

    def holds(self, module: Any) -> bool:
        """Whether a module was loaded from a file of the tree."""
        return self.holds_file(getattr(module, "__file__", None))

    def holds_file(self, path: Any) -> bool:
        """Whether a path leads into the tree."""
        try:
            return type(path) is str and path.startswith(self._sep) and self._inside(path)
        except Exception:  # what a suite puts among the modules is without bounds
            return False

    def _standard(self, path: str) -> bool:
        """Whether it is of the standard library: a file `src/types.py` of the project is another module."""
        return path.startswith(self._library) and "-packages" not in path[len(self._library) :]

    def loaded(self) -> List[Tuple[str, str, str]]:
        """Module, file, and ``tree`` or ``elsewhere``, for each loaded module that the tree could provide."""
        for name in self._names:
            path = getattr(self._modules.get(name), "__file__", None)
            if type(path) is str and (name, path) not in self._seen:
                try:
                    if self._standard(path):
                        continue
                    self._seen[name, path] = self._inside(path)
                except Exception:  # a test may have put a false file system under us
                    continue
        return [(n, plain(p), "tree" if inside else "elsewhere") for (n, p), inside in sorted(self._seen.items())]

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
    rest = [moved(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if changed or rest:
        os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*changed, *rest]))


# --------------------------------------------------------------------------------------------------------------------
# Neutralising


class Setting(NamedTuple):
    """An option that re-orders, retries, stops early, spreads tests or writes beside them."""

    destination: str
    neutral: Any
    spellings: Tuple[str, ...]
    owner: str = "pytest"
    takes_value: bool = False


SETTINGS = (
    Setting("maxfail", 0, ("--exitfirst", "-x")),
    Setting("maxfail", 0, ("--maxfail",), takes_value=True),
    Setting("lf", False, ("--lf", "--last-failed")),
    Setting("failedfirst", False, ("--ff", "--failed-first")),
    Setting("newfirst", False, ("--nf", "--new-first")),
    Setting("stepwise", False, ("--sw", "--stepwise")),
    Setting("stepwise_skip", False, ("--sw-skip", "--stepwise-skip")),
    Setting("stepwise_reset", False, ("--sw-reset", "--stepwise-reset")),
    Setting("usepdb", False, ("--pdb",)),
    Setting("trace", False, ("--trace",)),
    Setting("xmlpath", None, ("--junitxml", "--junit-xml"), takes_value=True),
    Setting("basetemp", None, ("--basetemp",), takes_value=True),
    Setting("log_file", None, ("--log-file",), takes_value=True),
    Setting("pastebin", None, ("--pastebin",), takes_value=True),
    Setting("numprocesses", None, ("--numprocesses", "-n"), "pytest-xdist", takes_value=True),
    Setting("dist", "no", ("--dist",), "pytest-xdist", takes_value=True),
    Setting("distload", False, ("-d",), "pytest-xdist"),
    Setting("tx", [], ("--tx",), "pytest-xdist", takes_value=True),
    Setting("looponfail", False, ("--looponfail", "-f"), "pytest-xdist"),
    Setting("cov_source", [], ("--cov",), "pytest-cov"),
    Setting("forked", False, ("--forked", "--boxed"), "pytest-forked"),
    Setting("reruns", 0, ("--reruns",), "pytest-rerunfailures", takes_value=True),
    Setting("force_flaky", False, ("--force-flaky",), "flaky"),
    Setting("retries", 0, ("--retries",), "pytest-retry", takes_value=True),
    Setting("random_order_bucket", None, ("--random-order-bucket",), "pytest-random-order", takes_value=True),
    Setting("random_order_enabled", False, ("--random-order",), "pytest-random-order"),
    Setting("reverse", False, ("--reverse",), "pytest-reverse"),
    Setting("flake_finder_enable", False, ("--flake-finder",), "pytest-flakefinder"),
    Setting("count", 1, ("--count",), "pytest-repeat", takes_value=True),
    Setting("splits", None, ("--splits",), "pytest-split", takes_value=True),
    Setting("group", None, ("--group",), "pytest-split", takes_value=True),
    Setting("num_shards", 1, ("--num-shards",), "pytest-shard", takes_value=True),
    Setting("shard_id", 0, ("--shard-id",), "pytest-shard", takes_value=True),
    Setting("test-group-count", 0, ("--test-group-count",), "pytest-test-groups", takes_value=True),
    Setting("picked", None, ("--picked",), "pytest-picked"),
    Setting("testmon", False, ("--testmon",), "pytest-testmon"),
    Setting("session_timeout", None, ("--session-timeout",), "pytest-timeout", takes_value=True),
    Setting("report_log", None, ("--report-log",), "pytest-reportlog", takes_value=True),
    Setting("htmlpath", None, ("--html",), "pytest-html", takes_value=True),
    Setting("json_report", False, ("--json-report",), "pytest-json-report"),
    Setting("allure_report_dir", None, ("--alluredir",), "allure-pytest", takes_value=True),
    Setting("parallel_threads", 1, ("--parallel-threads",), "pytest-run-parallel", takes_value=True),
)

# Options with which pytest runs no test, and answers before anything is collected.
ANSWERS = (
    ("collectonly", "--collect-only"),
    ("setuponly", "--setup-only"),
    ("setupplan", "--setup-plan"),
    ("showfixtures", "--fixtures"),
    ("show_fixtures_per_test", "--fixtures-per-test"),
    ("markers", "--markers"),
    ("cacheshow", "--cache-show"),
    ("help", "--help"),
    ("version", "--version"),
)


class Rival(NamedTuple):
    """A plugin that is taken out once its options are parsed; its marks stay known."""

    name: str
    modules: Tuple[str, ...]
    how: str
    marks: Tuple[str, ...] = ()
    unasked: bool = False


RIVALS = (
    Rival("pytest-randomly", ("pytest_randomly",), "re-ordering and reseeding off", unasked=True),
    Rival("pytest-random-order", ("random_order",), "re-ordering off", ("random_order",)),
    Rival("pytest-reverse", ("pytest_reverse",), "re-ordering off"),
    Rival("pytest-reorder", ("pytest_reorder",), "re-ordering off"),
    Rival("pytest-rerunfailures", ("pytest_rerunfailures", "rerunfailures"), "reruns off", ("flaky",)),
    Rival("flaky", ("flaky",), "reruns off", ("flaky",)),
    Rival("pytest-retry", ("pytest_retry",), "reruns off", ("flaky",)),
    Rival("pytest-flakefinder", ("pytest_flakefinder",), "repetition off"),
    Rival("pytest-split", ("pytest_split",), "splitting off"),
    Rival("pytest-shard", ("pytest_shard",), "sharding off"),
    Rival("pytest-test-groups", ("pytest_test_groups",), "splitting off"),
    Rival("pytest-testmon", ("testmon",), "selection by changes off"),
    Rival("pytest-picked", ("pytest_picked",), "selection by changes off"),
    Rival("pytest-parallel", ("pytest_parallel",), "spreading off"),
    Rival("pytest-replay", ("pytest_replay",), "recording off"),
    Rival("pytest-leak-finder", ("pytest_leak_finder",), "bisection off"),
    Rival("pytest-cleanslate", ("pytest_cleanslate",), "isolation off"),
    Rival("pytest-order", ("pytest_order",), "sorting off; its marks are kept as constraints", ("order",)),
    Rival(
        "pytest-ordering",
        ("pytest_ordering",),
        "sorting off; its marks are kept as constraints",
        ("run", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "last", "second_to_last"),
    ),
)

# Settings in configuration files that ask for what a rival does.
ASKING = (("reruns", "pytest-rerunfailures"), ("retries", "pytest-retry"))


class Neutraliser:
    """Switches off what would disturb measuring, and remembers what that was.

    All of it happens after options were parsed: a plugin that were blocked could not own the options in ``addopts``.
    """

    def __init__(self, arguments: List[str]) -> None:
        try:
            from_environment = shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))
        except ValueError:
            from_environment = []
        self._sources: List[Tuple[str, List[str]]] = [("command line", arguments), ("PYTEST_ADDOPTS", from_environment)]
        self.off: List[Json] = []
        self._present: Set[str] = set()
        self._gone: List[Rival] = []

    @staticmethod
    def arguments(given: List[str], cache: str) -> List[str]:
        """The user's arguments with ours: a private cache."""
        end = given.index("--") if "--" in given else len(given)
        return [*given[:end], "-o", "cache_dir=" + cache, *given[end:]]

    def _where(self, spellings: Tuple[str, ...], takes_value: bool) -> Optional[Tuple[str, str]]:
        """The source that asks for an option, and how it spells it."""
        for source, tokens in self._sources:
            for at, token in enumerate(tokens):
                for spelling in spellings:
                    if token == spelling and takes_value:
                        return source, " ".join(tokens[at : at + 2])
                    if token == spelling or token.startswith(spelling + "="):
                        return source, token
                    # Single letters stand together: `-xvs`, `-vn4`.
                    if len(spelling) == 2 and re.match("-[vqslx]*%s" % spelling[1], token):
                        return source, token
        return None

    def _note(self, what: str, how: str, where: str) -> None:
        line = {"what": what, "how": plain(how), "where": where}
        if line not in self.off:
            self.off.append(line)

    def early(self, config: Any) -> None:
        """Keeps coverage from tracing; it starts before all options are parsed."""
        known = config.known_args_namespace
        if hasattr(known, "no_cov"):
            known.no_cov = True

    def options(self, config: Any) -> None:
        """Sets options to neutral values, before plugins are configured by them."""
        addopts = config.getini("addopts")
        self._sources.insert(1, ("addopts", shlex.split(addopts) if isinstance(addopts, str) else list(addopts)))
        if hasattr(config.option, "no_cov"):
            config.option.no_cov = True
        self._look(config)
        asked = {setting.destination: getattr(config.option, setting.destination, setting.neutral) for setting in SETTINGS}
        for destination, neutral, spellings, owner, takes_value in SETTINGS:
            value = asked[destination]  # as it was: several spellings may stand for one option
            if value == neutral or not (owner == "pytest" or owner in self._present):
                continue
            setattr(config.option, destination, neutral)
            found = self._where(spellings, takes_value)
            if found is not None and value:
                self._note(owner, "`%s` ignored" % found[1], found[0])
            elif value and not neutral and not isinstance(value, list) and destination not in ("random_order_bucket", "maxfail"):
                self._note(owner, "`%s` ignored" % spellings[0], "plugin")
        self.plugins(config)

    def _look(self, config: Any) -> List[Tuple[str, Any]]:
        """The distributions and plugins that are loaded."""
        manager = config.pluginmanager
        found = [(normal(dist.project_name or ""), plugin) for plugin, dist in manager.list_plugin_distinfo()]
        known = {id(plugin) for _, plugin in found}
        for plugin in manager.get_plugins():
            module = getattr(plugin, "__name__", None)
            if id(plugin) in known or not isinstance(module, str):
                continue
            found += [(r.name, plugin) for r in RIVALS if module.split(".")[0] in r.modules]
            if module.split(".")[0] in ("xdist", "pytest_cov", "pytest_timeout", "pytest_forked", "pytest_repeat"):
                found.append(("pytest-" + module.split(".")[0].replace("pytest_", ""), plugin))
        self._present.update(name for name, _ in found)
        return found

    def plugins(self, config: Any) -> None:
        """Takes plugins out. Called again later, since a `conftest.py` can bring more of them."""
        manager = config.pluginmanager
        rivals = {rival.name: rival for rival in RIVALS}
        for name, plugin in self._look(config):
            rival = rivals.get(name)
            if rival is None or not manager.is_registered(plugin):
                continue
            spelt = str(manager.get_name(plugin))
            manager.unregister(plugin)
            self._gone.append(rival)
            found = self._where_loaded((spelt, *rival.modules))
            if found is not None:
                self._note(name, "`-p %s`: %s" % (found[1], rival.how), found[0])
            elif rival.unasked or any(name == owner and self._ini(config, key) for key, owner in ASKING):
                self._note(name, rival.how, "plugin")

    def _where_loaded(self, names: Tuple[str, ...]) -> Optional[Tuple[str, str]]:
        for source, tokens in self._sources:
            for token, following in zip(tokens, [*tokens[1:], ""]):
                name = following if token == "-p" else token[2:] if token.startswith("-p") else ""
                if name in names or name.split(".")[0] in names:
                    return source, name
        return None

    @staticmethod
    def _ini(config: Any, key: str) -> bool:
        try:
            return bool(config.getini(key))
        except (KeyError, ValueError):
            return False

    def markers(self, config: Any) -> None:
        """Declares the marks of plugins that were taken out, for suites under ``--strict-markers``."""
        for rival in self._gone:
            for name in rival.marks:
                config.addinivalue_line("markers", "%s: kept known while %s is off" % (name, rival.name))

    def marks(self, items: List[Any]) -> None:
        """Notes plugins that some test asks for by a mark."""
        asked: Set[str] = set()
        for item in items:
            asked.update(mark.name for mark in item.iter_markers())
            if hasattr(getattr(item, "function", None), "_flaky_max_runs"):
                asked.add("flaky")
        for rival in self._gone:
            if asked.intersection(rival.marks) and not any(line["what"] == rival.name for line in self.off):
                self._note(rival.name, rival.how, "plugin")


# --------------------------------------------------------------------------------------------------------------------
# What a test is

SET_UP = (
    "setup_method", "teardown_method", "setup_class", "teardown_class", "setUp", "tearDown", "setUpClass",
    "tearDownClass", "asyncSetUp", "asyncTearDown",
)  # fmt: skip


class Fingerprints:
    """Digests of the source of tests: function, set-up methods of the class, fixtures asked for by name."""

    def __init__(self) -> None:
        self._texts: Dict[int, str] = {}
        self._kept: List[Any] = []
        self._digests: Dict[Tuple[str, ...], str] = {}

    def of(self, item: Any) -> Optional[str]:
        """16 hexadecimal digits; ``None`` for what has no Python source, such as a doctest."""
        function = getattr(item, "function", None)
        own = self._text(function)
        if not own:
            return None
        cls = getattr(item, "cls", None)
        texts = [own]
        texts += [self._text(getattr(cls, name)) for name in SET_UP if hasattr(cls, name)]
        info = getattr(item, "_fixtureinfo", None)
        fixtures = getattr(info, "name2fixturedefs", None) or {}
        asked = [*getattr(info, "argnames", ())]
        asked += [name for mark in item.iter_markers("usefixtures") for name in mark.args]
        for name in asked:
            found = fixtures.get(name)
            if found:
                texts.append(self._text(found[-1].func))
        key = tuple(texts)
        if key not in self._digests:
            data = "\0".join(key).encode("utf-8", "backslashreplace")
            self._digests[key] = hashlib.blake2b(data, digest_size=8).hexdigest()
        return self._digests[key]

    def _text(self, function: Any) -> str:
        known = self._texts.get(id(function))
        if known is None:
            self._kept.append(function)  # so that no other object gets its id
            try:
                plain_function = inspect.unwrap(getattr(function, "__func__", function))
                known = self._block(getattr(plain_function, "__code__", None))
            except Exception:  # what a suite may put in place of a function is without bounds
                known = ""
            self._texts[id(function)] = known
        return known

    def _block(self, code: Any) -> str:
        """The lines of a function with its decorators, moved to the left; empty where there is no source."""
        if code is None:
            return ""
        lines = linecache.getlines(code.co_filename)
        start, end = code.co_firstlineno - 1, self._last(code)
        if not 0 <= start < end <= len(lines):
            return ""
        indent = len(lines[start]) - len(lines[start].lstrip())

        def goes_on(line: str) -> bool:
            return bool(line.strip()) and (len(line) - len(line.lstrip()) > indent or line.lstrip()[0] in ")]}")

        while end < len(lines) and goes_on(lines[end]):
            end += 1
        return "\n".join(line.rstrip()[indent:] if not line[:indent].strip() else line.rstrip() for line in lines[start:end])

    def _last(self, code: Any) -> int:
        """The last line that the table of a code object, or of one within it, knows."""
        last: int = code.co_firstlineno
        if hasattr(code, "co_lines"):
            last = max((line for _, _, line in code.co_lines() if line), default=last)
        else:
            import dis

            last = max((line for _, line in dis.findlinestarts(code)), default=last)
        return max([last, *(self._last(constant) for constant in code.co_consts if hasattr(constant, "co_code"))])


def marks(item: Any) -> Json:
    """Order that a test declares."""
    found: Json = {}
    for name in ("order", "run"):
        mark = item.get_closest_marker(name)
        if mark is not None:
            found["order"] = [[_simple(a) for a in mark.args], {k: _simple(v) for k, v in mark.kwargs.items()}]
            break
    mark = item.get_closest_marker("dependency")
    if mark is not None:
        names = mark.kwargs.get("depends") or []
        names = [names] if isinstance(names, str) else list(names)
        name = mark.kwargs.get("name")
        found["depends"] = {
            "name": None if name is None else plain(str(name)),
            "on": [plain(str(n)) for n in names],
            "scope": str(mark.kwargs.get("scope", "module")),
        }
    for node, _ in item.iter_markers_with_node("incremental"):
        # A mark on the function itself says that of its class.
        found["incremental"] = plain((item.parent if node is item else node).nodeid)
        break
    return found


def _simple(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, (list, tuple)):
        return [_simple(each) for each in value]
    return plain(value if isinstance(value, str) else repr(value))


# --------------------------------------------------------------------------------------------------------------------
# Whether forking is safe

# Not libgomp: a child hangs in it once the parent has used it.
HARMLESS_POOLS = ("openblas", "libiomp", "libomp", "libmkl", "blis", "libtbb")
HOSTILE_MODULES = ("grpc", "cupy", "pycuda", "numba.cuda.cudadrv.driver", "jaxlib", "tensorflow", "pyspark", "jpype")


def open_files() -> Dict[int, str]:
    """What each descriptor of this process refers to."""
    found: Dict[int, str] = {}
    for name in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []:
        try:
            found[int(name)] = os.readlink("/proc/self/fd/" + name)
        except OSError:
            continue
    return found


def shared_files(before: Dict[int, str], ours: Set[int]) -> Iterator[str]:
    """Descriptors through which children would disturb each other."""
    for fd, target in sorted(open_files().items()):
        if fd in ours or before.get(fd) == target:
            continue
        if target.startswith("socket:"):
            yield "a socket is open after collection"
        elif target == "anon_inode:[eventpoll]":
            yield "an event loop exists after collection"
        else:
            try:
                with open("/proc/self/fdinfo/%d" % fd) as handle:
                    flags = int(handle.read().split("flags:")[1].split()[0], 8)
                regular = os.path.isfile(target) and not target.endswith(".log")
            except (OSError, IndexError, ValueError):
                continue
            # What is only appended to is harmless, and so are logs.
            if regular and flags & (os.O_WRONLY | os.O_RDWR) and not flags & os.O_APPEND:
                yield "`%s` is open for writing after collection" % plain(target)


def fork_refusals(before: Dict[int, str], ours: Set[int]) -> List[str]:
    """Why a child forked now would not be what a fresh interpreter is; empty when it would.

    ``before`` are the open files of an earlier time, ``ours`` the descriptors of the agent.
    """
    if not hasattr(os, "fork"):
        return ["this platform has no fork"]
    why = list(dict.fromkeys(shared_files(before, ours)))
    me = threading.current_thread()
    alive = [t.name for t in threading.enumerate() if t is not me]
    if alive:
        why.append("threads are alive after collection: %s" % ", ".join(sorted(map(plain, map(str, alive)))[:5]))
    try:
        native = len(os.listdir("/proc/self/task")) - len(alive) - 1
        with open("/proc/self/task/%d/children" % os.getpid(), "rb") as handle:
            children = handle.read().split()
        with open("/proc/self/maps", "rb") as handle:
            mapped = handle.read().decode("utf-8", "replace")
    except OSError:
        native, children, mapped = 0, [], ""
    if native > 0 and not any(name in mapped for name in HARMLESS_POOLS):
        why.append("%d native threads are alive after collection" % native)
    if children:
        why.append("%d child processes are alive after collection, which all runs would share" % len(children))
    events = sys.modules.get("asyncio.events")
    if events is not None and events._get_running_loop() is not None:
        why.append("an event loop is running after collection")
    torch = sys.modules.get("torch")
    if torch is not None and getattr(getattr(torch, "cuda", None), "is_initialized", lambda: False)():
        why.append("CUDA is initialised")
    if getattr(sys.modules.get("gevent.monkey"), "saved", None):
        why.append("gevent has patched the standard library")
    why.extend("the module `%s` does not survive a fork" % m for m in HOSTILE_MODULES if m in sys.modules)
    return why


class RandomState:
    """Gives a forked child the state of ``random`` that a fresh interpreter would have.

    CPython seeds ``random`` anew in a child. If the suite seeded it by itself while it was imported, a fresh interpreter
    would start from that state, and so must the child. Whether it did is found out by starting from a known state:
    drawing only moves along its sequence, seeding leaves it. NumPy's global generator is the other way round: a child
    would share it with its siblings, unless the suite seeded it.
    """

    TWISTS = 2000

    def __init__(self) -> None:
        self._generator = random.Random
        self._start = random.Random(os.urandom(32)).getstate()
        random.setstate(self._start)
        self._setstate, self._getstate = random.setstate, random.getstate
        self.seeded: Any = None
        self._reseed_numpy: Optional[Callable[[], Any]] = None

    def look(self) -> None:
        """Call after collection: finds out whether the suite seeded."""
        now = self._getstate()
        if not self._follows(self._start[1], now[1]):
            self.seeded = now
        try:
            self._reseed_numpy = self._numpy_unseeded()
        except Exception:  # another NumPy than we know: leave it alone
            self._reseed_numpy = None

    def _follows(self, start: Tuple[int, ...], now: Tuple[int, ...]) -> bool:
        """Whether drawing leads from one state of the Mersenne Twister to the other, within some twists."""
        if start == now:
            return True
        probe = self._generator()
        probe.setstate((3, start, None))
        # When 624 words are used up, the next draw twists the state; so each 624 words are one twist.
        if start[-1] < 624:
            probe.getrandbits(32 * (624 - start[-1]))
        reached, wanted = start[:-1], now[:-1]
        for _ in range(self.TWISTS):
            if reached == wanted:
                return True
            probe.getrandbits(32 * 624)
            reached = probe.getstate()[1][:-1]
        return False

    def _numpy_unseeded(self) -> Optional[Callable[[], Any]]:
        """How to seed NumPy's global generator anew, if the suite has not seeded it."""
        numpy = sys.modules.get("numpy.random")
        if numpy is None:
            return None
        bits = numpy.mtrand._rand._bit_generator
        sequence = getattr(bits, "seed_seq", None) or getattr(bits, "_seed_seq", None)
        if sequence is None:
            return None
        fresh = type(bits)(type(sequence)(sequence.entropy, spawn_key=sequence.spawn_key)).state["state"]
        now = bits.state["state"]
        start, reached = ((*map(int, s["key"]), int(s["pos"])) for s in (fresh, now))
        return numpy.seed if self._follows(start, reached) else None

    def now(self) -> Any:
        """The state of ``random``, for :meth:`go_on_from` in a child, which CPython seeds anew."""
        return self._getstate()

    def go_on_from(self, state: Any) -> None:
        """Gives a process forked in the middle of a run the state that the run had."""
        self._setstate(state)

    def restore(self) -> None:
        """Call in a child of the template."""
        if self.seeded is not None:
            self._setstate(self.seeded)
        if self._reseed_numpy is not None:
            self._reseed_numpy()


# --------------------------------------------------------------------------------------------------------------------
# The plugin

# The worst of all reports of a test counts.
RANK = {"": 0, "s": 1, "P": 2, "x": 3, "X": 3, "F": 5, "E": 6}
NOT_DISPLAYED = ("", "", "")


class Powers:
    """What serving and running need of the standard library, bound before a suite can replace it."""

    def __init__(self) -> None:
        self.clock: Callable[[], int] = time.monotonic_ns
        self.fork = getattr(os, "fork", None)
        self.waitpid, self.killpg, self.kill = os.waitpid, os.killpg, os.kill
        self.exit, self.setpgid, self.getpid, self.getppid = os._exit, os.setpgid, os.getpid, os.getppid
        self.pipe, self.set_blocking, self.read, self.close = os.pipe, os.set_blocking, os.read, os.close
        self.mkdir, self.environ = os.mkdir, os.environ
        self.select, self.signal, self.set_wakeup_fd = select.select, signal.signal, signal.set_wakeup_fd
        self.getsignal = signal.getsignal
        self.collect, self.freeze = gc.collect, getattr(gc, "freeze", lambda: None)
        self.unfreeze = getattr(gc, "unfreeze", lambda: None)
        self.open, self.unlink, self.dup2, self.fstat = os.open, os.unlink, os.dup2, os.fstat
        self.catch_warnings, self.simplefilter = warnings.catch_warnings, warnings.simplefilter
        self.seed = random.seed
        # Where temporary files go by themselves; anything else is the suite's own choice.
        self.usual_folders: Tuple[Optional[str], ...] = (None,)
        try:
            self.usual_folders += (tempfile.gettempdir(),)
        except OSError:  # there is no place for any
            pass
        tempfile.tempdir = None
        self.usual_variable = os.environ.get("TMPDIR")
        self.getline = linecache.getline
        self.die_with = death_with_parent()
        self.dump_later = faulthandler.register if hasattr(faulthandler, "register") else None
        self.stderr = -1
        try:
            import fcntl

            self.stderr = fcntl.fcntl(2, fcntl.F_DUPFD_CLOEXEC, 200)
        except OSError:
            pass


class Peek(NamedTuple):
    """A test to be run in a child, when so many tests of the order have run."""

    number: int
    after: int
    test: int


class Until:
    """Stands in for the next test when fixtures are torn down: down to what its collectors need."""

    def __init__(self, item: Any) -> None:
        self._chain = item.listchain()[:-1]

    def listchain(self) -> List[Any]:
        """The nodes that stay set up."""
        return list(self._chain)


def owner_of(finalizer: Any) -> Any:
    """The fixture or node that a finalizer of pytest belongs to."""
    function = getattr(finalizer, "func", finalizer)
    for cell in getattr(function, "__closure__", None) or ():
        try:
            if hasattr(cell.cell_contents, "cached_result"):  # pytest 7.0 closes over the fixture
                return cell.cell_contents
        except ValueError:
            continue
    return getattr(function, "__self__", function)


class Aside:
    """Forks children in the middle of a run, so that the run itself notices nothing.

    While the run waits for such a child, signals wait as well, but for SIGTERM; the SIGCHLD of the child is taken off, and
    the timer behind SIGALRM stands still.
    What the child leaves behind is ended: its process group, and on Linux every orphan of it.
    """

    TRIES = 5

    def __init__(self, powers: "Powers") -> None:
        self._powers = powers
        self._sleep = time.sleep
        self._mask, self._pending = signal.pthread_sigmask, signal.sigpending
        self._take: Optional[Callable[..., Any]] = getattr(signal, "sigtimedwait", None)
        everything = signal.valid_signals() if hasattr(signal, "valid_signals") else range(1, signal.NSIG)
        self._held_back = set(everything) - {signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP}
        self._block, self._set = signal.SIG_BLOCK, signal.SIG_SETMASK
        self._died, self._signal, self._code = os.WIFSIGNALED, os.WTERMSIG, os.WEXITSTATUS
        self._adopt = adoption()
        self._set_timer, self._timer_kind = signal.setitimer, signal.ITIMER_REAL
        self._timer = (0.0, 0.0)
        self._signals_before: Set[Any] = set()
        self._children_before: Set[int] = set()

    def _children(self) -> Set[int]:
        """The children of the main thread, where the kernel tells."""
        powers = self._powers
        try:
            fd = powers.open("/proc/self/task/%d/children" % powers.getpid(), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return set()
        try:
            data = b""
            while True:
                more = powers.read(fd, 1 << 16)
                if not more:
                    return {int(pid) for pid in data.split()}
                data += more
        finally:
            powers.close(fd)

    def fork(self) -> int:
        """The id of the child, or 0 in the child. Both lead groups of their own. Raises `OSError` when there is none to be had."""
        powers = self._powers
        if powers.fork is None:
            raise OSError("this platform has no fork")
        flush_output()
        parent = powers.getpid()
        self._children_before = self._children()
        self._signals_before = self._mask(self._block, self._held_back)
        self._timer = self._set_timer(self._timer_kind, 0)
        self._adopt(True)
        try:
            pid = self._forked(powers.fork)
        except BaseException:
            self._go_on()
            raise
        try:
            powers.setpgid(pid, pid)
        except OSError:
            pass
        if pid == 0:
            powers.die_with(parent)
        return pid

    def _forked(self, fork: Callable[[], int]) -> int:
        for attempt in range(self.TRIES):
            try:
                with self._powers.catch_warnings(module=warnings):  # a test may have emptied `sys.modules`
                    self._powers.simplefilter("ignore")  # CPython 3.12 warns of threads; the engine is told of them
                    return fork()
            except OSError:
                if attempt + 1 == self.TRIES:
                    raise
                self._sleep(0.05 * (attempt + 1))
        raise OSError("no process to be had")

    def enter_child(self) -> None:
        """Call in the child, once it may hear signals."""
        self._mask(self._set, self._signals_before)

    def wait(self, pid: int) -> Optional[int]:
        """Waits until the child and what it left are gone: its exit code, or minus the signal that killed it."""
        powers = self._powers
        try:
            try:
                _, status = powers.waitpid(pid, 0)
                found: Optional[int] = -self._signal(status) if self._died(status) else self._code(status)
            except ChildProcessError:  # the suite ignores SIGCHLD, or waits for everything
                found = None
            self._end(powers.killpg, pid)
            for _ in range(100):
                left = self._children() - self._children_before
                if not left:
                    break
                for orphan in left:
                    self._end(powers.kill, orphan)
                    try:
                        powers.waitpid(orphan, 0)
                    except ChildProcessError:
                        continue
            return found
        finally:
            if self._take is not None and signal.SIGCHLD not in self._signals_before:
                while signal.SIGCHLD in self._pending() and self._take({signal.SIGCHLD}, 0) is not None:
                    continue
            self._go_on()

    def _go_on(self) -> None:
        self._adopt(False)
        if self._timer[0]:
            self._set_timer(self._timer_kind, *self._timer)
        self._mask(self._set, self._signals_before)

    def _end(self, send: Callable[[int, int], None], pid: int) -> None:
        try:
            send(pid, signal.SIGKILL)
        except OSError:
            pass


class OpenFiles:
    """Gives a child of a run open files of its own: with the run's it would share positions, and write into them."""

    def __init__(self) -> None:
        try:
            import fcntl

            self._control: Optional[Callable[..., Any]] = fcntl.fcntl
            self._getfl, self._getfd, self._cloexec = fcntl.F_GETFL, fcntl.F_GETFD, fcntl.FD_CLOEXEC
        except ImportError:
            self._control = None
        self._list, self._link, self._fstat, self._stat = os.listdir, os.readlink, os.fstat, os.stat
        self._open, self._close, self._dup2, self._unlink = os.open, os.close, os.dup2, os.unlink
        self._seek, self._sendfile = os.lseek, getattr(os, "sendfile", None)

    def part(self, folder: str, covered: Tuple[str, ...], ours: int) -> None:
        """Replaces each open regular file.

        One for reading is opened anew. One for writing is opened by its path where that is ``covered`` by an overlay of this
        process; one that has no name any more is copied to ``folder``. Others stay shared with the run, but for the position.
        """
        if self._control is None:
            return
        try:
            numbers = sorted(map(int, self._list("/proc/self/fd")))
        except OSError:
            return
        known: Dict[Tuple[int, int, int, int], int] = {}
        for number in numbers:
            if number == ours:
                continue
            try:
                self._replace(number, folder, covered, known)
            except OSError:  # the descriptor of the listing itself, a file without permission
                continue

    def _replace(self, number: int, folder: str, covered: Tuple[str, ...], known: Dict[Tuple[int, int, int, int], int]) -> None:
        assert self._control is not None
        status = self._fstat(number)
        if not stat.S_ISREG(status.st_mode):
            return
        flags = self._control(number, self._getfl)
        inherited = not self._control(number, self._getfd) & self._cloexec
        position = self._seek(number, 0, os.SEEK_CUR)
        key = (status.st_dev, status.st_ino, flags, position)
        if key in known:  # two numbers of one open file
            self._dup2(known[key], number, inherited)
            return
        flags &= ~(os.O_CREAT | os.O_EXCL | os.O_TRUNC)
        new = self._opened(number, flags, status, folder, covered)
        try:
            self._seek(new, position, os.SEEK_SET)
            self._dup2(new, number, inherited)
        finally:
            self._close(new)
        known[key] = number

    def _opened(self, number: int, flags: int, status: Any, folder: str, covered: Tuple[str, ...]) -> int:
        itself = "/proc/self/fd/%d" % number
        if flags & (os.O_WRONLY | os.O_RDWR) == 0:
            return self._open(itself, flags | os.O_CLOEXEC)
        path = self._link(itself)
        if any(path.startswith(top.rstrip("/") + "/") for top in covered):
            try:
                now = self._stat(path)
                if (now.st_size, now.st_mtime_ns) == (status.st_size, status.st_mtime_ns):
                    return self._open(path, flags | os.O_CLOEXEC)
            except OSError:  # it was moved or removed
                pass
        if status.st_nlink and not any(path.startswith(top.rstrip("/") + "/") for top in covered):
            return self._open(itself, flags | os.O_CLOEXEC)
        if self._sendfile is None:
            raise OSError("no way to copy")
        own = "%s/file-%d" % (folder, number)
        new = self._open(own, flags | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        source = target = -1
        try:
            target = self._open(own, os.O_WRONLY | os.O_CLOEXEC)
            self._unlink(own)
            source = self._open(itself, os.O_RDONLY | os.O_CLOEXEC)
            done = 0
            while done < status.st_size:
                sent = self._sendfile(target, source, done, status.st_size - done)
                if not sent:
                    break
                done += sent
        finally:
            for each in (source, target):
                if each >= 0:
                    self._close(each)
        return new


class Agent:
    """Collects, reports what was collected, and runs what the engine asks for."""

    def __init__(self, config: Json, channel: Channel, sandbox: Sandbox, off: Neutraliser, origins: Origins) -> None:
        self._ask = config
        self._channel = channel
        self._sandbox = sandbox
        self._neutraliser = off
        self._origins = origins
        self._random = RandomState()
        self._powers = Powers()
        self._clock = self._powers.clock
        self._limit = int(config.get("text_limit", 4096))
        self._inside = os.path.realpath(config["root"]).rstrip(os.sep) + os.sep
        self._foreign_parts = (os.sep + "site-packages" + os.sep, os.sep + ".venv" + os.sep)
        self._basename = os.path.basename
        self._collecting = BEGAN
        self._files = open_files()
        self._items: List[Any] = []
        self._errors: List[Json] = []
        self._imports: List[Tuple[str, List[str]]] = []
        self._only: Optional[List[str]] = config.get("only")
        self.told = False
        # The running test: its worst outcome, what is told of that, what its last phase raised, and the lines held back.
        self._letter = ""
        self._failure: Optional[Json] = None
        self._raised: Optional[Tuple[str, str, str]] = None
        self._held: List[str] = []
        self._fixtures = 0
        self._reseed = config.get("reseed")
        # Peeks that are still to come, and the one that this process is for; time spent on them while a test ran.
        self._isdir, self._copytree = os.path.isdir, shutil.copytree
        self._temporary = ""
        self._threads, self._import = threading.active_count, importlib.import_module
        self._aside, self._open_files = Aside(self._powers), OpenFiles()
        self._job: Json = {}
        self._due: List[Peek] = []
        self._peeking: Optional[Peek] = None
        self._of_the_run: List[Any] = []
        self._current: Any = None
        self._position = 0
        self._paused = 0

    # -- while pytest starts

    def pytest_cmdline_parse(self) -> Iterator[None]:
        outcome: Any = yield
        self._failed_to_start(outcome.excinfo)

    def pytest_load_initial_conftests(self, early_config: Any) -> Iterator[None]:
        self._neutraliser.early(early_config)
        yield

    def pytest_cmdline_main(self, config: Any) -> Iterator[None]:
        for destination, spelling in ANSWERS:
            if getattr(config.option, destination, False):
                import pytest

                self.broken("usage", "`%s` runs no test" % spelling)
                raise pytest.UsageError("`%s` runs no test" % spelling)
        self._neutraliser.options(config)
        if self._only is not None:
            # Ids begin with paths relative to pytest's root folder. What the user named still decides which folder that is.
            config.args[:] = [os.path.join(str(config.rootpath), path) for path in self._only]
        outcome: Any = yield
        self._failed_to_start(outcome.excinfo)

    def _failed_to_start(self, excinfo: Any) -> None:
        if excinfo:
            error = excinfo[1]
            if type(error).__name__ == "ConftestImportFailure":
                return self._conftest_failed(error)
            usage = type(error).__name__ == "UsageError"
            self.broken("usage", plain(str(error)) if usage else described(error))

    def _conftest_failed(self, error: Any) -> None:
        """Tells of a `conftest.py` that could not be imported, as of any module that cannot be collected."""
        if self.told:
            return
        self.told = True
        cause = getattr(error, "cause", None) or error.excinfo[1]
        walk = found = cause.__traceback__
        while walk is not None and not self._origins.holds_file(walk.tb_frame.f_code.co_filename):
            walk = walk.tb_next
        text = "".join(traceback.format_exception(type(cause), cause, walk or found))
        path = os.path.relpath(str(error.path), os.path.realpath(self._ask["root"]))
        failed = {"id": plain(path), "text": excerpt(plain(text), self._limit)}
        self._channel.send({"t": "collect_failed", "errors": [failed]})

    def pytest_configure(self, config: Any) -> None:
        self._neutraliser.markers(config)

    def pytest_sessionstart(self, session: Any) -> None:
        self._collecting = self._clock()

    def pytest_collection(self, session: Any) -> None:
        self._neutraliser.plugins(session.config)

    def pytest_make_collect_report(self, collector: Any) -> Iterator[None]:
        """Notes what the collection of a test file imports from the tree."""
        import pytest

        if not isinstance(collector, pytest.File) or isinstance(collector, pytest.Package):
            yield
            return
        before = set(sys.modules)
        yield
        new = [name for name in list(sys.modules) if name not in before]
        ours = [plain(name) for name in new if self._origins.holds(sys.modules.get(name))]
        if ours:
            self._imports.append((plain(collector.nodeid), ours))

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            text = plain(getattr(report, "longreprtext", "") or str(report.longrepr))
            self._errors.append({"id": plain(report.nodeid), "text": excerpt(text, self._limit)})

    def pytest_keyboard_interrupt(self, excinfo: Any) -> None:
        self.broken("ended", "pytest was told to stop: %s" % described(excinfo.value))

    def pytest_internalerror(self, excrepr: Any) -> None:
        self.broken("internal", str(excrepr))

    def broken(self, what: str, text: str) -> None:
        """Tells the engine that nothing will run, once."""
        if not self.told:
            self.told = True
            self._channel.send({"t": "broken", "what": what, "text": excerpt(plain(text), self._limit)})

    # -- collection is over

    def pytest_collection_finish(self, session: Any) -> None:
        # Registered last, so that its loop comes before those of plugins that came after us.
        session.config.pluginmanager.register(Loop(self), "anyorder-loop")

    def loop(self, session: Any) -> None:
        """Stands in for pytest's own loop."""
        done = self._clock()
        if self._errors:
            self.told = True
            self._channel.send({"t": "collect_failed", "errors": self._errors})
            return
        self._items = list(session.items)
        self._neutraliser.marks(self._items)
        for off in self._neutraliser.off:
            self._channel.send(dict({"t": "off"}, **off))
        self.told = True
        if not self._items:
            self._channel.send({"t": "no_tests"})
            return
        self._tell_tests()
        self._random.look()
        why = fork_refusals(self._files, {self._channel.fd})
        self._channel.send(
            {
                "t": "collected",
                "tests": len(self._items),
                "startup_us": (self._collecting - BEGAN) // 1000,
                "collect_us": (done - self._collecting) // 1000,
                "rootdir": plain(str(session.config.rootpath)),
                "fork": {"safe": not why, "why": why},
                "origins": self._origins.loaded(),
                "imports": self._imports,
            }
        )
        Server(self, self._channel, self._powers, session).serve()

    def _tell_tests(self) -> None:
        fingerprints = Fingerprints()
        lines: List[Json] = []
        for item in self._items:
            name = plain(item.nodeid)
            line: Json = {"id": name, "file": name.split("::")[0], "src": fingerprints.of(item)}
            declared = marks(item)
            if declared:
                line["marks"] = declared
            lines.append(line)
            if len(lines) == 500:
                self._channel.send({"t": "tests", "items": lines})
                lines = []
        if lines:
            self._channel.send({"t": "tests", "items": lines})

    # -- running an order

    def become_child(self, session: Any, command: Json) -> None:
        """Gives a forked child its own sandbox, random numbers, captured output and connection."""
        self._random.restore()
        self._sandbox.enter(command["dir"], temporary=self._temporary_folder(command))
        self._own_cache(session.config, command["dir"])
        hello = {"role": "run", "run": command["run"], "sandbox": self._sandbox.state()}
        template, self._channel = self._channel, Channel(self._ask["socket"], self._ask["token"], hello)
        self._powers.close(template.fd)
        if self._sandbox.required and self._sandbox.mode != "overlay":
            self._channel.send({"t": "internal", "text": excerpt(self._sandbox.why or "no sandbox", self._limit)})
            self._powers.exit(EXIT_NO_SANDBOX)
        capture = session.config.pluginmanager.getplugin("capturemanager")
        if hasattr(capture, "resume_global_capture"):
            self._own_capture_files(capture, command["dir"])

    def _own_cache(self, config: Any, folder: str) -> None:
        """Gives a child a cache of pytest's of its own, which begins as its parent's."""
        cache = getattr(config, "cache", None)
        old = getattr(cache, "_cachedir", None)
        if cache is None or old is None:
            return
        new = folder.rstrip("/") + "/cache"
        try:
            if self._isdir(str(old)):
                self._copytree(str(old), new, symlinks=True)
        except Exception:  # a test may have replaced what copying needs
            pass
        cache._cachedir = type(old)(new)

    def _own_capture_files(self, capture: Any, folder: str) -> None:
        """Puts other files behind pytest's captured streams: all children would share the position of the template's.

        The stream objects stay, since a suite may have kept them while it was imported.
        """
        powers = self._powers
        capture.resume_global_capture()
        for name, stream in (("out", sys.stdout), ("err", sys.stderr)):
            try:
                number = stream.fileno()
                if not stat.S_ISREG(powers.fstat(number).st_mode):
                    continue
                path = "%s/captured-%s" % (folder.rstrip("/"), name)
                own = powers.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
                powers.unlink(path)
                powers.dup2(own, number, False)
                powers.close(own)
            except (OSError, ValueError, AttributeError):  # captured in memory, or not at all
                continue
        # Only now do the descriptors 1 and 2 lead there.
        capture.suspend_global_capture()

    def run(self, session: Any, command: Json) -> int:
        """Runs one order in this process. The exit code, which nobody trusts."""
        self._prepare(session, command)
        # Frozen objects are unseen by `gc.get_referrers` and never collected, unlike in a fresh interpreter.
        self._powers.unfreeze()
        for module in command.get("imports") or ():
            try:
                self._import(module)
            except BaseException as error:
                text = excerpt(described(error), self._limit)
                self._channel.send({"t": "import_failed", "module": module, "text": text})
                return EXIT_DIED
        channel, clock = self._channel, self._clock
        indices = command["order"]
        items = [self._items[index] for index in indices]
        session.items[:] = items
        self._job, self._due = command, sorted((Peek(*each) for each in command.get("peeks") or ()), key=lambda p: p.after)
        if self._peek_here(session, 0):
            return self._run_peek(session)
        following = [*items[1:], None]
        for position, (index, item) in enumerate(zip(indices, items)):
            self._letter, self._failure, self._raised = "", None, None
            self._current, self._position, self._paused = item, position, 0
            self._held.append('"s",%d,%d,%d' % (position, index, clock()))
            channel.record(*self._held)
            self._held.clear()
            if self._reseed is not None:
                self._seed(self._reseed)
            try:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following[position])
            except BaseException as error:
                self._flush()
                return self._died(described(error))
            if self._peeking is not None:
                return self._run_peek(session)
            if not channel.is_owner():
                self._powers.exit(0)  # a process that a test forked and forgot
            if self._peek_here(session, position + 1):  # whoever ran the test did not tear it down in the usual way
                return self._run_peek(session)
            self._held.append(self._ended(position, index))
            if (session.shouldstop or session.shouldfail) and position + 1 < len(items):
                self._flush()
                return self._died("the session was told to stop: %s" % (session.shouldstop or session.shouldfail))
        self._end(len(items))
        return 0

    def _end(self, count: int) -> None:
        """Tells that all went through."""
        told = {"fixtures": self._fixtures, "foreign": self._origins.foreign()}
        self._held.append('"end",%d,%d,%s' % (self._powers.getpid(), count, self._channel.dumps(told)))
        self._flush()

    # -- peeks

    def _peek_here(self, session: Any, after: int) -> bool:
        """Runs the peeks of this place, one child after the other. True in such a child, which then goes its own way."""
        while self._due and self._due[0].after == after and self._channel.is_owner():
            began = self._clock()
            if self._peek(session, self._due.pop(0)):
                return True
            self._paused += self._clock() - began
        return False

    def _peek(self, session: Any, peek: Peek) -> bool:
        channel, powers = self._channel, self._powers
        self._flush()
        state = self._random.now()
        try:
            pid = self._aside.fork()
        except OSError as error:
            channel.record('"pn",%d,%s' % (peek.number, channel.dumps(plain(str(error)))))
            return False
        if pid:
            channel.record('"ps",%d,%d,%d' % (peek.number, pid, self._threads()))
            code = self._aside.wait(pid)
            channel.record('"pe",%d,%s' % (peek.number, "null" if code is None else code))
            return False
        try:
            parent = powers.getppid()
            self._random.go_on_from(state)
            self._become_peek(session, peek)
            powers.die_with(parent)  # entering a namespace may have undone it
            self._aside.enter_child()
        except BaseException:
            traceback.print_exc()
            powers.exit(EXIT_DEFECT)
        return True

    def _become_peek(self, session: Any, peek: Peek) -> None:
        """Sets a child apart from its run, and makes what is torn down next what this test does not need."""
        run = self._job
        folder = "%s/peek-%d" % (run["dir"].rstrip("/"), peek.number)
        self._powers.mkdir(folder, 0o700)
        covered: Tuple[str, ...] = ()
        if self._sandbox.mode == "overlay":
            self._sandbox.enter(folder, also=(self._temporary,))
            if self._sandbox.mode == "overlay":
                covered = (self._inside, self._temporary)
        hello = {"role": "peek", "run": run["run"], "peek": peek.number, "sandbox": self._sandbox.state()}
        self._channel = self._channel.successor(hello)
        if self._sandbox.required and self._sandbox.mode != "overlay":
            self._channel.send({"t": "internal", "text": excerpt(self._sandbox.why or "no sandbox", self._limit)})
            self._powers.exit(EXIT_NO_SANDBOX)
        self._open_files.part(folder, covered, self._channel.fd)
        self._own_cache(session.config, folder)
        self._due, self._peeking, self._paused = [], peek, 0
        setup, until = session._setupstate, Until(self._items[peek.test])
        tear_down = setup.teardown_exact
        self._of_the_run = [owner_of(each) for each in self._for_the_session(session)]
        setup.teardown_exact = lambda nextitem: tear_down(until)

    @staticmethod
    def _for_the_session(session: Any) -> List[Any]:
        """What pytest will do when the whole session is torn down."""
        found: List[Any] = session._setupstate.stack.get(session, ([], None))[0]
        return found

    def _run_peek(self, session: Any) -> int:
        """Runs the one test that this process is for."""
        assert self._peeking is not None
        peek = self._peeking
        item = self._items[peek.test]
        setup = session._setupstate
        try:
            setup.teardown_exact(None)  # down to what this test needs, whatever it is called with
        except Exception:  # it belongs to a test before this one
            pass
        finally:
            setup.__dict__.pop("teardown_exact", None)
        tear_down = setup.teardown_exact

        def but_for_the_run(nextitem: Any) -> None:
            # What the run set up for the whole session it still needs: a server in another process, say.
            finalizers = self._for_the_session(session)
            finalizers[:] = [each for each in finalizers if not any(owner_of(each) is own for own in self._of_the_run)]
            tear_down(nextitem)

        setup.teardown_exact = but_for_the_run
        if session.shouldstop or session.shouldfail:
            return self._died("the session was told to stop: %s" % (session.shouldstop or session.shouldfail))
        session.items[:] = [*session.items[: peek.after], item]
        self._letter, self._failure, self._raised, self._fixtures = "", None, None, 0
        self._held.clear()
        self._channel.record('"s",0,%d,%d' % (peek.test, self._clock()))
        if self._reseed is not None:
            self._seed(self._reseed)
        try:
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        except BaseException as error:
            return self._died(described(error))
        if not self._channel.is_owner():
            self._powers.exit(0)
        self._held.append(self._ended(0, peek.test))
        self._end(1)
        return 0

    def _flush(self) -> None:
        if self._held:
            self._channel.record(*self._held)
            self._held.clear()

    def _ended(self, position: int, index: int) -> str:
        if not self._letter:
            text = excerpt("pytest reported no outcome of this test", self._limit)
            self._letter, self._failure = "E", {"phase": "call", "sig": "no report", "text": text}
        if self._failure is None:
            return '"e",%d,%d,"%s",%d' % (position, index, self._letter, self._clock() - self._paused)
        ended = self._clock() - self._paused
        return '"e",%d,%d,"%s",%d,%s' % (position, index, self._letter, ended, self._channel.dumps(self._failure))

    def _died(self, text: str) -> int:
        self._channel.send({"t": "internal", "text": excerpt(plain(text), self._limit)})
        return EXIT_DIED

    def _temporary_folder(self, command: Json) -> str:
        """The folder that holds the temporary files of a run."""
        folder: str = command["dir"].rstrip("/") + "/tmp"
        try:
            self._powers.mkdir(folder, 0o700)
        except FileExistsError:
            pass
        return folder

    def _prepare(self, session: Any, command: Json) -> None:
        powers = self._powers
        if self._sandbox.mode != "none":
            folder = self._sandbox.temporary if self._sandbox.mode == "overlay" else ""
            folder = self._temporary = folder or self._temporary_folder(command)
            powers.environ["PYTEST_DEBUG_TEMPROOT"] = folder
            # A suite that chose another place while it was imported keeps it.
            if powers.environ.get("TMPDIR") == powers.usual_variable:
                powers.environ["TMPDIR"] = folder
                if tempfile.tempdir in powers.usual_folders:
                    tempfile.tempdir = None
        for name, value in (command.get("env") or {}).items():
            powers.environ[name] = value
        # A run that is told to end says first where it stood, to the errors of the process, whatever is captured.
        if powers.dump_later and powers.stderr >= 0 and powers.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            powers.dump_later(signal.SIGTERM, file=powers.stderr, all_threads=True, chain=True)
        reporter = session.config.pluginmanager.getplugin("terminalreporter")
        if hasattr(reporter, "showfspath"):
            reporter.showfspath = False

    def _seed(self, seed: int) -> None:
        self._powers.seed(seed)
        numpy = sys.modules.get("numpy.random")
        if numpy is not None:
            numpy.seed(seed % (1 << 32))

    # -- what pytest tells

    def pytest_report_teststatus(self, report: Any) -> Optional[Tuple[str, str, str]]:
        # What a terminal would show takes a write for each test, and nobody looks at it.
        return NOT_DISPLAYED

    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        self._channel.record('"c",%d' % self._clock())
        yield

    def pytest_runtest_teardown(self, item: Any) -> Iterator[None]:
        self._channel.record('"t",%d' % self._clock())
        if self._due and item is self._current:
            # Here, so that a child tears down to what its test needs, and the run itself to what the next of its order does.
            self._peek_here(item.session, self._position + 1)
        yield

    def pytest_fixture_setup(self) -> None:
        self._fixtures += 1

    def pytest_runtest_makereport(self, call: Any) -> None:
        if call.excinfo is not None:
            self._raised = self._raising(call.excinfo)

    def _raising(self, excinfo: Any) -> Tuple[str, str, str]:
        """Type, file and line of the exception: the innermost line of the project, else the innermost of all."""
        path, number, inside = "?", 0, False
        walk = excinfo.tb
        while walk is not None:
            here = walk.tb_frame.f_code.co_filename
            ours = here.startswith(self._inside) and not any(part in here for part in self._foreign_parts)
            if ours or not inside:
                path, number, inside = here, walk.tb_lineno, ours
            walk = walk.tb_next
        try:
            line = self._powers.getline(path, number).strip()
        except Exception:  # a test may have replaced `open`
            line = ""
        return excinfo.typename, path[len(self._inside) :] if inside else self._basename(path), line

    def pytest_runtest_logreport(self, report: Any) -> None:
        when = report.when
        if report.passed:
            if when != "call":
                return
            letter = "X" if hasattr(report, "wasxfail") else "P"
        elif report.skipped:
            letter = "x" if hasattr(report, "wasxfail") else "s"
        elif report.failed:
            letter = "F" if when == "call" else "E"
        else:
            return
        if RANK[letter] <= RANK[self._letter]:
            return
        self._letter = letter
        if letter in ("F", "E"):
            text = plain(getattr(report, "longreprtext", "") or str(report.longrepr))
            lines = text.strip().splitlines()
            kind, path, line = self._raised or self._unraised(report, lines[-1] if lines else "")
            phase = when if when in ("setup", "call", "teardown") else "call"
            self._failure = {"phase": phase, "sig": signature(kind, path, line), "text": excerpt(text, self._limit)}

    @staticmethod
    def _unraised(report: Any, line: str) -> Tuple[str, str, str]:
        """What a failure is signed with that raised nothing: a test that passed although it was to fail, a subtest."""
        location = getattr(report, "location", None) or ("?",)
        strict = "[XPASS(strict)]"
        if line.startswith(strict):
            return "XPASS(strict)", str(location[0]), line[len(strict) :].strip()
        return "failure", str(location[0]), line


class Loop:
    """Takes pytest's loop over."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def pytest_runtestloop(self, session: Any) -> bool:
        self._agent.loop(session)
        return True


def mark_hooks(hookimpl: Callable[..., Any]) -> None:
    """Marks the hooks whose place matters; done late, since pytest is not imported before the sandbox stands."""
    for name in ("load_initial_conftests", "make_collect_report", "runtest_call", "runtest_teardown"):
        setattr(Agent, "pytest_" + name, hookimpl(hookwrapper=True, tryfirst=True)(getattr(Agent, "pytest_" + name)))
    # Innermost: where another old-style wrapper raises, those around it are never heard again.
    for name in ("cmdline_parse", "cmdline_main"):
        setattr(Agent, "pytest_" + name, hookimpl(hookwrapper=True, trylast=True)(getattr(Agent, "pytest_" + name)))
    # Not `runtest_makereport`: pytest's own, for unittest, must have filled the exception in before.
    for name in ("collection", "report_teststatus", "fixture_setup", "runtest_logreport"):
        setattr(Agent, "pytest_" + name, hookimpl(tryfirst=True)(getattr(Agent, "pytest_" + name)))
    setattr(Loop, "pytest_runtestloop", hookimpl(tryfirst=True)(Loop.pytest_runtestloop))  # noqa: B010


# --------------------------------------------------------------------------------------------------------------------
# Serving


class Server:
    """Does what the engine asks for, until it asks no more: the template that children are forked from."""

    def __init__(self, agent: Agent, channel: Channel, powers: Powers, session: Any) -> None:
        self._agent = agent
        self._channel = channel
        self._powers = powers
        self._session = session
        self._children: Dict[int, int] = {}
        self._frozen = False
        self._wake, self._woken = powers.pipe()
        powers.set_blocking(self._wake, False)
        powers.set_blocking(self._woken, False)
        self._before = (powers.signal(signal.SIGCHLD, lambda *_: None), powers.set_wakeup_fd(self._woken, warn_on_full_buffer=False))

    def serve(self) -> None:
        """Returns when the engine is gone or wants no more, or when the order was run in this very process."""
        while True:
            ready = self._powers.select([self._channel.fd, self._wake], [], [])[0]
            if self._wake in ready:
                try:
                    self._powers.read(self._wake, 4096)
                except (BlockingIOError, InterruptedError):
                    pass
            self._reap()
            if self._channel.fd not in ready:
                continue
            commands = self._channel.lines()
            if commands is None:
                commands = [{"c": "quit"}]
            for command in commands:
                what = command["c"]
                if what == "fork":
                    self._fork(command)
                elif what == "kill":
                    self._kill(command["run"], command["signal"])
                elif what == "here":
                    self._restore_signals()
                    self._agent.run(self._session, command)
                    return
                elif what == "quit":
                    for pid in self._children:
                        self._signal(pid, signal.SIGKILL)
                    self._restore_signals()
                    return

    def _restore_signals(self) -> None:
        """Puts signal handling back to what the suite would find in a fresh interpreter."""
        handler, wakeup = self._before
        self._powers.set_wakeup_fd(wakeup)
        self._powers.signal(signal.SIGCHLD, signal.SIG_DFL if handler is None else handler)
        self._powers.close(self._wake)
        self._powers.close(self._woken)

    def _signal(self, pid: int, number: int) -> None:
        for send in (self._powers.killpg, self._powers.kill):
            try:
                send(pid, number)
                return
            except OSError:
                continue

    def _kill(self, run: int, number: int) -> None:
        for pid, its in self._children.items():
            if its == run:
                self._signal(pid, number)

    def _reap(self) -> None:
        for pid in list(self._children):
            try:
                done, status = self._powers.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                done, status = pid, EXIT_DEFECT << 8
            if done != pid:
                continue
            told: Json = {"t": "exit", "run": self._children.pop(pid)}
            if os.WIFSIGNALED(status):
                told["signal"] = os.WTERMSIG(status)
            else:
                told["code"] = os.WEXITSTATUS(status)
            self._channel.send(told)

    def _fork(self, command: Json) -> None:
        powers = self._powers
        if not self._frozen:
            powers.collect()
            powers.freeze()
            self._frozen = True
        flush_output()
        parent = powers.getpid()
        try:
            if powers.fork is None:
                raise OSError("this platform has no fork")
            with powers.catch_warnings():
                powers.simplefilter("ignore")  # CPython 3.12 warns of threads; those that there are were judged
                pid = powers.fork()
        except OSError as error:
            self._channel.send({"t": "exit", "run": command["run"], "code": EXIT_NO_FORK, "why": plain(str(error))})
            return
        try:
            powers.setpgid(pid, pid)
        except OSError:
            pass
        if pid:
            self._children[pid] = command["run"]
            self._channel.send({"t": "forked", "run": command["run"], "pid": pid})
            return
        code = EXIT_DEFECT
        try:
            powers.die_with(parent)
            self._restore_signals()
            self._agent.become_child(self._session, command)
            powers.die_with(parent)  # entering a namespace may have undone it
            code = self._agent.run(self._session, command)
            flush_output()
        except BaseException:  # nothing of a child may ever return into the template
            traceback.print_exc()
        finally:
            powers.exit(code)


# --------------------------------------------------------------------------------------------------------------------
# Starting


def flush_output() -> None:
    """Writes out what is buffered: a fork would double it, and `os._exit` lose it."""
    for stream in {id(s): s for s in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)}.values():
        try:
            if stream is not None:
                stream.flush()
        except Exception:  # a test may have closed or replaced it
            continue


def stand_aside(arguments: List[str], cwd: str) -> None:
    """Makes this process look like ``python -m pytest``: nothing can import this module, or find it among the loaded."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [p for p in sys.path if os.path.abspath(p or os.curdir) != here]
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, cwd)
    spec = importlib.util.find_spec("pytest.__main__")
    sys.argv[:] = [(spec and spec.origin) or "pytest", *arguments]
    main_module = types.ModuleType("__main__")
    main_module.__dict__.update(__file__=sys.argv[0], __spec__=spec, __package__="pytest", __builtins__=__builtins__)
    sys.modules["__main__"] = main_module


def main(path: str) -> int:
    """Runs the agent by the configuration at ``path``."""
    with open(path, encoding="utf-8") as handle:
        config: Json = json.load(handle)
    for name in [name for name in os.environ if name.startswith("ANYORDER_AGENT")]:
        del os.environ[name]
    os.environ.update(config.get("env") or {})
    root, cwd = config["root"], config["cwd"]
    ask = config.get("sandbox") or {}
    own = os.path.join(ask.get("scratch") or os.path.dirname(path), "main-%d" % os.getpid())
    os.makedirs(own, mode=0o700)
    sandbox = Sandbox(ask, root, cwd, [own, config["socket"]])
    temporary = ask.get("tmp") or own + "/tmp"
    if sandbox.mode == "overlay":
        os.makedirs(temporary, mode=0o700, exist_ok=True)
    sandbox.enter(own, temporary=temporary)
    if sandbox.mode == "overlay" and os.environ.get("PYTHONDONTWRITEBYTECODE") == UNLESS_OVERLAID:
        # What is written into the tree vanishes with the run, and some suites look for their byte code.
        del os.environ["PYTHONDONTWRITEBYTECODE"]
        sys.dont_write_bytecode = False
    channel = Channel(config["socket"], config["token"], {"role": "main"})

    def give_up(what: str, text: str) -> int:
        channel.send({"t": "broken", "what": what, "text": excerpt(plain(text), int(config.get("text_limit", 4096)))})
        return 1

    if sys.version_info < (3, 8):  # noqa: UP036 - the engine may have been given any interpreter
        return give_up("python", "Python %s is older than 3.8" % platform.python_version())
    if sandbox.required and sandbox.mode != "overlay":
        return give_up("sandbox", sandbox.why or "the sandbox `%s` was asked for" % sandbox.mode)
    try:
        os.chdir(cwd)
        remap(config.get("remap"))
        arguments = [str(argument) for argument in config.get("pytest_args") or []]
        try:
            import pytest
        except Exception as error:
            return give_up("no_pytest", described(error))
        stand_aside(arguments, cwd)
        mark_hooks(pytest.hookimpl)
        channel.send(environment(root, cwd, sandbox))
        neutraliser = Neutraliser(arguments)
        agent = Agent(config, channel, sandbox, neutraliser, Origins(root, cwd))
    except Exception as error:
        return give_up("agent", described(error))
    try:
        code = int(pytest.main(neutraliser.arguments(arguments, os.path.join(own, "cache")), plugins=[agent]))
    except BaseException as error:
        agent.broken("ended", described(error))
        raise
    agent.broken("ended", "pytest ended with exit code %d before it collected anything" % code)
    return code


def environment(root: str, cwd: str, sandbox: Sandbox) -> Json:
    """The second line: what this interpreter is and has."""
    import pytest

    installed = distributions(root)
    return {
        "t": "environment",
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "executable": plain(sys.executable),
        "platform": "%s-%s" % (sys.platform, platform.machine()),
        "pytest": str(pytest.__version__),
        "plugins": sorted(pair for pair in installed.items() if pair[0].startswith("pytest-") or pair[0] in ("flaky", "anyio")),
        "distributions": hashlib.sha256(repr(sorted(installed.items())).encode("utf-8", "backslashreplace")).hexdigest(),
        "locks": locks([root, cwd]),
        "sandbox": sandbox.state(),
        "capabilities": {"fork": hasattr(os, "fork")},
    }


def leave(code: int) -> NoReturn:
    """Ends without `atexit`: what is registered there could hang, and every record is written."""
    flush_output()
    os._exit(code)


if __name__ == "__main__":
    leave_now, code = leave, EXIT_DEFECT
    try:
        code = main(sys.argv[1])
    except BaseException:  # also what `pytest.main` lets through
        traceback.print_exc()
    leave_now(code)
