# SPDX-License-Identifier: Apache-2.0
"""Runs texts of modules that end in unusual ways, each once as Ansible runs a module and once in the process of
node.py, and prints JSON: for each end both outcomes, a part of the plain one that shows this end, and if it was there.

Its argument is the folder of the plugin. It needs Python and /bin/sh only: neither Ansible, ssh nor a second machine.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import types

START = "import atexit, gc, io, os, signal, sys, tempfile, threading, time\nos.chdir(os.environ['FOLDER'])\n"
NOTE = """
class Note:
    def __init__(self, name):
        self.name, self.write = name, os.write
        self.file = os.open(name, os.O_WRONLY | os.O_CREAT, 0o600)
    def __del__(self):
        self.write(self.file, b"deleted")
"""
# As ansible.modules.file reports each of its errors.
FILE = """
class AnsibleModuleError(Exception):
    pass
def fail_json():
    print('{"failed": true, "msg": "refusing to convert"}')
    sys.exit(1)
def hook(kind, error, trace):
    if issubclass(kind, AnsibleModuleError):
        fail_json()
    else:
        sys.__excepthook__(kind, error, trace)
sys.excepthook = hook
raise AnsibleModuleError()
"""
ENDS = {
    "an open file": ("file = open('open', 'w')\nfile.write('text')\nprint('end')\n", "'open': 'text'"),
    "open files in a function": ("def write():\n    for name in '123':\n        yield open(name, 'w').write(name)\n"
                                 "writer = write()\nnext(writer), next(writer)\nsys.exit(3)\n", "'2': '2'"),
    "a cycle": (NOTE + "note = Note('cycle')\nnote.self = note\ndel note\nsys.exit(0)\n", "'cycle': 'deleted'"),
    "a temporary file": ("kept = tempfile.NamedTemporaryFile(dir='.')\nprint(len(os.listdir('.')))\n", "'1\\n', '', {}"),
    "__del__ of a global": (NOTE + "note = Note('global')\nsys.exit(0)\n", "'global': 'deleted'"),
    "a thread": ("def late():\n    time.sleep(0.2)\n    print('late')\nthreading.Thread(target=late).start()\nprint('first')\n", "first\\nlate"),
    "a pool of threads": ("import multiprocessing.pool\npool = multiprocessing.pool.ThreadPool(1)\n"
                          "print(pool.apply_async(lambda: 7).get(9))\n", "[0, '7\\n', '', {}]"),
    "a process in the background": ("print('before', flush=True)\nif os.fork() == 0:\n    os.setsid()\n    os.dup2(os.open('/dev/null', os.O_RDWR), 1)\n"
                                    "    print('lost')\n    os._exit(0)\nos.wait()\nprint('after')\n", "before\\nafter"),
    "atexit": ("atexit.register(print, 'one')\natexit.register(lambda: open('two', 'w').write('2'))\nsys.exit(4)\n", "[4, 'one\\n'"),
    "atexit that fails": ("atexit.register(lambda: 1 / 0)\nprint('end')\n", "ZeroDivisionError"),
    "an exception": ("print('before')\ndef fail():\n    raise ValueError('odd')\nfail()\n", "line 5, in fail"),
    "no Python": ("print('before'\n", "SyntaxError"),
    "killed": ("print('lost')\nos.kill(os.getpid(), signal.SIGKILL)\n", "[137, ''"),
    "os._exit": ("print('lost')\natexit.register(print, 'lost')\nos._exit(5)\n", "[5, '', '', {}]"),
    "the hook of module file": (FILE, "refusing to convert"),
    "a hook that returns": ("sys.excepthook = lambda *_: print('hook')\nprint('before')\n1 / 0\n", "[1, 'before\\nhook\\n', ''"),
    "a hook that fails": ("def hook(*_):\n    raise KeyError('hook')\nsys.excepthook = hook\n1 / 0\n", "Original exception"),
    "stdin": ("print(repr(sys.stdin.read()), sys.stdin.isatty(), sys.argv)\n", "'' False ['']"),
    "locale": ("print(sys.stdout.encoding, sys.getfilesystemencoding(), sys.flags.utf8_mode)\nprint('\\xe4')\n", "\xe4"),
    "a surrogate": ("print('before')\nprint('\\udc80', file=sys.stdout)\n", "before"),
    "no exit": ("print('end')\n", "[0, 'end\\n', '', {}]"),
    "a text": ("print('before')\nsys.exit('the end')\n", "[1, 'before\\n', 'the end\\n'"),
    "a large status": ("sys.exit(1027)\n", "[3, "),
    "a closed pipe": ("signal.signal(signal.SIGPIPE, signal.SIG_DFL)\nos.kill(os.getpid(), signal.SIGPIPE)\n", "[141, '', ''"),
    "an interrupt": ("print('before')\nraise KeyboardInterrupt\n", "[130, "),
}
# Lines of a traceback that stand for node.py itself, and addresses.
OWN = re.compile(r'  File "bpa-node", line \d+, in .*\n|(?<= at )0x[0-9a-f]+')


def outcome(status, stdout, stderr, folder):
    files = {name: open(os.path.join(folder, name)).read() for name in sorted(os.listdir(folder))}
    return [status, os.fsdecode(stdout), OWN.sub("", os.fsdecode(stderr)), files]


def plain(text, folder):
    ran = subprocess.run(["/bin/sh", "-c", "FOLDER=%s python3 && sleep 0" % folder], input=text, capture_output=True, timeout=60)
    return outcome(ran.returncode, ran.stdout, ran.stderr, folder)


def node(process, text, folder):
    header = {"variables": {"FOLDER": folder}, "archive": "digest", "cache": folder + "/none"}
    alive, end = os.pipe()
    with open(alive), open(end, "w"):
        answer, parts = process.ask(header, text, b"archive", os.fdopen(os.dup(alive)))
    return outcome(answer.get("status"), *parts, folder)


def main():
    for name in set(os.environ) - {"PATH", "HOME"}:  # such as PYTHONUNBUFFERED
        del os.environ[name]
    package = types.ModuleType("bpa_acceleration")  # without __init__.py, which imports Ansible
    package.__path__ = [os.path.join(sys.argv[1], "bpa_acceleration")]
    sys.modules["bpa_acceleration"] = package
    from bpa_acceleration import broker
    process, outcomes = broker.Process(["python3", "-c", broker.BOOTSTRAP]), {}
    with tempfile.TemporaryDirectory() as scratch:
        for name, (text, shows) in ENDS.items():
            folders = [tempfile.mkdtemp(dir=scratch) for _ in range(2)]
            text = (START + text).encode()
            want, got = plain(text, folders[0]), node(process, text, folders[1])
            outcomes[name] = {"plain": want, "node": got, "shows": shows, "shown": shows in repr(want)}
    process.end()
    print(json.dumps(outcomes))


main()
