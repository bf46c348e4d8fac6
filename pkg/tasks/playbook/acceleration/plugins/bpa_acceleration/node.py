# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python process on a node that starts modules, see interpreter.py.

broker.py sends this file as text to Python on the node, any version from 3.6 on, so it needs nothing but
the standard library. It listens nowhere, and writes only the files that Ansible copies. It reads requests from its standard input and
ends with it, which is when ssh ends for any reason, or after a few minutes without a request.

A request is the program that Ansible would send to Python, and runs in a fork, as this program's text would
run in a new process: with the same variables of the environment, limits, folder and rights, because sudo has
started this process as it would start the other one.
"""
import builtins
import gc
import importlib
import json
import os
import select
import signal
import site
import stat
import sys
import types

HELLO = b"bpa-node 1\n"  # the first line that is written; shells can print others before it
ARCHIVE = b"_bpa_archive"  # name of the archive in the text of a module
IDLE = 300  # seconds
MOST_ARCHIVES = 64  # each has about 250 KiB

# What a new login and a new Python would read, and this process has read. If some of it changes, broker.py starts another process.
FILES = (os.path.realpath(sys.executable), "/etc/ld.so.cache", "/etc/localtime", "/etc/environment", "/etc/default/locale", "/etc/locale.conf",
         "/etc/login.defs", "/etc/passwd", "/etc/group", "/etc/sudoers", "/etc/security/limits.conf", "/etc/security/pam_env.conf", "/etc/nsswitch.conf")
FOLDERS = ("/etc/sudoers.d", "/etc/security/limits.d", "/etc/pam.d")


def send(write, header, *parts):
    """Write a message: a line of JSON, and the parts, whose sizes are in it."""
    write(json.dumps(dict(header, sizes=[len(part) for part in parts])).encode() + b"\n")
    for part in parts:
        if part:  # the other side has everything before an empty part, and can have closed the connection
            write(part)


def receive(reader):
    """Return the header and the parts of the next message. Raise ConnectionError if there is none."""
    line = reader.readline()
    if not line.endswith(b"\n"):
        raise ConnectionError("no more messages")
    header = json.loads(line.decode())
    parts = []
    for size in header.pop("sizes"):
        part = reader.read(size)
        if len(part) != size:
            raise ConnectionError("a part of a message is missing")
        parts.append(part)
    return header, parts


class Modules:
    """What is shared by the modules: the part of Ansible that all of them import, from the folder of modules.py."""

    def __init__(self):
        self.folder = None  # with the imported modules

    def preload(self, cache, archive):
        folder = self._folder(cache, archive)
        if self.folder or not folder or os.path.basename(folder) != "all":
            return
        sys.path.insert(0, folder)
        try:
            importlib.import_module("ansible.module_utils.basic")
            for name in ("base64", "hashlib", "io", "runpy", "shutil", "tempfile", "zipfile"):
                importlib.import_module(name)
            self.folder = folder
        except Exception:  # then each module imports it
            forget()
        sys.path.remove(folder)
        if hasattr(gc, "freeze"):
            gc.freeze()

    def use(self, cache, archive):
        if self.folder != self._folder(cache, archive):
            forget()

    @staticmethod
    def _folder(cache, archive):
        """Return the folder with the files of the archive, or None. Only root has such a folder."""
        try:
            is_ = os.lstat(cache)
            if os.geteuid() or is_.st_uid or is_.st_mode & 0o077 or not stat.S_ISDIR(is_.st_mode):
                return None
            return os.path.join(cache, os.readlink(os.path.join(cache, archive)))
        except OSError:
            return None


def forget():
    for name in [name for name in sys.modules if name.split(".")[0] == "ansible"]:
        del sys.modules[name]


def _run_module(modules, header, text, archive):
    """Run a module as Python runs the text of its standard input."""
    modules.use(header["cache"], header["archive"])
    os.environ.update(header["variables"])
    main = types.ModuleType("__main__")
    main.__dict__.update({"__builtins__": builtins, ARCHIVE.decode(): archive})
    sys.modules["__main__"], sys.argv = main, [""]
    importlib.invalidate_caches()
    if "platform" in sys.modules:
        sys.modules["platform"]._uname_cache = None  # it has the host name of the time of its import
    if "random" in sys.modules:
        sys.modules["random"].seed()
    try:
        exec(compile(text, "<stdin>", "exec"), main.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        _hide_callers(error.__traceback__.tb_next)
        raise


def _hide_callers(trace):
    """Let the hook of the module report its error with this traceback, which does not have the functions of this file."""
    hook = sys.excepthook
    sys.excepthook = lambda kind, error, _: hook(kind, error.with_traceback(trace), trace)


def _child(work, ends):
    """Do the work in a fork, and let Python end the fork as it ends a program: with hooks, threads, atexit, objects and files."""
    for number, end in enumerate(ends, 1):
        os.dup2(end, number)
        os.close(end)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    work()
    sys.exit()


def _read_all(numbers):
    """Return everything that can be read until the last writer has closed each of the pipes, as ssh does."""
    read = {number: [] for number in numbers}
    left = list(numbers)
    while left:
        for number in select.select(left, [], [])[0]:
            content = os.read(number, 1 << 20)
            read[number].append(content)
            if not content:
                os.close(number)
                left.remove(number)
    return [b"".join(read[number]) for number in numbers]


def _fork(work, own):
    """Do the work in a fork, and return its exit status, as a shell reports it, its stdout and its stderr."""
    pipes = [os.pipe(), os.pipe()]
    pid = os.fork()
    if pid == 0:
        for number in own + [pipe[0] for pipe in pipes]:
            os.close(number)
        _child(work, [pipe[1] for pipe in pipes])
    for _, end in pipes:
        os.close(end)
    out, error = _read_all([pipe[0] for pipe in pipes])
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number in (signal.SIGINT, signal.SIGPIPE):  # a shell is silent about these
            return 128 + number, out, error
        said = signal.strsignal(number) if hasattr(signal, "strsignal") else None
        return 128 + number, out, error + b"%s\n" % (said or "Signal %d" % number).encode()
    return os.WEXITSTATUS(status), out, error


def _shell(text):
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and programs that it starts would too
    os.execv("/bin/sh", ["/bin/sh", "-c", os.fsdecode(text)])


def _put(path, mode, content):
    """Write a file as sftp does, and return what a fork returns."""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
            file.write(content)
        return 0, b"", b""
    except (OSError, ValueError) as error:
        return 1, b"", str(error).encode(errors="replace")


def _state():
    """Return what would be different for a new process: programs, rights, limits, and where Python finds its packages."""
    paths = list(FILES) + sys.path + site.getsitepackages() + [site.getusersitepackages(), "/usr/lib/python3/dist-packages"]
    for folder in FOLDERS:
        try:
            paths += [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
        except OSError:
            pass
    states = []
    for path in paths:
        try:
            is_ = os.stat(path)
            states.append((path, is_.st_ino, is_.st_size, is_.st_mtime))
        except OSError:
            states.append((path,))
    return states


def serve():
    # Forks close the descriptors of these objects, and get their numbers for files of modules.
    requests, answers = os.fdopen(os.dup(0), "rb", closefd=False), os.fdopen(os.dup(1), "wb", 0, closefd=False)
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
    own = [requests.fileno(), answers.fileno(), null]
    started, archives, modules = _state(), {}, Modules()

    def answer(header, *parts):
        def write(content):
            view = memoryview(content)
            while view:
                view = view[answers.write(view):]

        send(write, header, *parts)

    answers.write(HELLO)
    while select.select([requests], [], [], IDLE)[0]:
        try:
            header, (text, archive) = receive(requests)
        except ConnectionError:
            return
        if _state() != started:
            return answer({"again": True})
        if "put" in header:
            result = _put(header["put"], header["mode"], text)
        elif "archive" not in header:
            result = _fork(lambda: _shell(text), own)
        else:
            digest = header["archive"]
            if archive:
                if len(archives) == MOST_ARCHIVES:
                    archives.clear()
                archives[digest] = archive.decode()
            if digest not in archives:
                answer({"needs": "archive"})
                continue
            result = _fork(lambda: _run_module(modules, header, text, archives[digest]), own)
        text = archive = None  # they can contain secrets
        answer({"status": result[0]}, *result[1:])
        if "archive" in header:
            modules.preload(header["cache"], digest)
