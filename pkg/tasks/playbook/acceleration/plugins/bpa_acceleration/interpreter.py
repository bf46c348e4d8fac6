# SPDX-License-Identifier: GPL-3.0-or-later
"""A Python process that stays on each node and starts the modules.

For each task and host, Ansible starts an ssh client, and on the node a shell, sudo, Python and all imports of
a module. Here, the first module on a node starts a Python process, see node.py, with the command line of ssh and
sudo that Ansible has made for the module. This process starts further modules by a fork.

broker.py, a process beside ansible-playbook, owns the connections to these processes, because the
processes that Ansible starts for its tasks end with them. If the broker has no process for a node, or
this process is busy, the module runs as always. If a connection is lost after a module was sent, the host is
unreachable, as if Ansible's own ssh had lost it. If it is lost while a file is written, Ansible's own ssh writes the file.
"""
from __future__ import annotations

import functools
import os
import re
import shlex
import socket
import subprocess
import sys

from ansible import context
from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.connection import ssh
from ansible.utils.display import Display

from bpa_acceleration import broker, modules, node, templates

display = Display()

# A module as Ansible sends it, with the archive of its files.
MODULE = re.compile(rb"^    ZIPDATA = '([A-Za-z0-9+/=]*)'$", re.MULTILINE)
PYTHON = re.compile(r"/[A-Za-z0-9._/-]*/(platform-)?python[0-9.]*")
VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
EARLY = re.compile(r"PYTHON|LANG|LC_|LD_|TZ|MALLOC|GLIBC|GCONV|NLSPATH|LOCPATH|RES_|HOSTALIASES")  # variables that Python or libc read once
SHELL, END = "/bin/sh -c ", " && sleep 0"

LOGIN = SHELL + shlex.quote("exec python3 -c " + shlex.quote(broker.BOOTSTRAP))
LARGE = 16 << 20  # bytes; larger files are copied as always


def _script(command):
    """Return the text that a command of Ansible gives to the shell, or None if it has another form."""
    words = shlex.split(command)
    if len(words) == 3 and words[:2] == shlex.split(SHELL) and words[2].endswith(END):
        return words[2][:-len(END)]
    return None


def _start_command(command):
    """Return the remote command that starts node.py as command starts a module, and the module's variables of the
    environment. Return None if command does something else.

    command is what Ansible gives to ssh, for example:
        /bin/sh -c 'sudo -H -S -n -u root /bin/sh -c '"'"'echo BECOME-SUCCESS-x ; LANG=C /usr/bin/python3'"'"' && sleep 0'
    """
    inner, prefix = _script(command), ""
    if not inner:
        return None
    last = shlex.split(inner)[-1]
    if last.startswith("echo BECOME-SUCCESS-") and inner.endswith(shlex.quote(last)):
        prefix = inner[:-len(shlex.quote(last))]
        inner = last.partition(" ; ")[2]
        if "-n" not in shlex.split(prefix):
            return None  # sudo would read a password
    *variables, python = shlex.split(inner)
    pairs = [VARIABLE.fullmatch(variable) for variable in variables]
    if not PYTHON.fullmatch(python) or not all(pairs) or any(EARLY.match(pair[1]) for pair in pairs):
        return None
    started = "%s -c %s" % (python, shlex.quote(broker.BOOTSTRAP))
    return SHELL + shlex.quote((prefix + shlex.quote(started) if prefix else started) + END), {pair[1]: pair[2] for pair in pairs}


def _needs_more(connection):
    """Say if a login needs a password, or the task another user than root, whose processes would keep it in use."""
    become = connection.become
    return (connection.get_option("password") or connection._play_context.password or
            become and (become.prompt or become.get_option("become_user") not in (None, "", "root")))


_name_of = functools.lru_cache(64)(modules.name_of)


def _module(command, data):
    """Return the request for a module, or None if the command is none."""
    module = MODULE.search(data)
    words = [os.fsdecode(word) for word in command]
    start = module and _start_command(words[-1])
    if not start:
        return None
    archive = module.group(1)
    header = {"start": words[:-1] + [start[0]], "variables": start[1], "archive": _name_of(archive), "cache": modules.FOLDER}
    return header, data[:module.start(1) - 1] + node.ARCHIVE + data[module.end(1) + 1:], archive


def _shell(command):
    """Return the request for a command of Ansible itself as the user of the login, such as mkdir for a temporary folder."""
    words = [os.fsdecode(word) for word in command]
    script = _script(words[-1])
    return script and ({"start": words[:-1] + [LOGIN]}, os.fsencode(script), b"")


def _to(connection):
    """Return the ssh command line to the host of a connection."""
    return [os.fsdecode(word) for word in connection._build_command(connection.get_option("ssh_executable"), "ssh", connection.host)]


def _put(connection, local, remote):
    """Return the request to write a file as the user of the login."""
    if connection.get_option("ssh_transfer_method") not in (None, "smart") or not os.path.isabs(remote):
        return None
    with open(local, "rb") as file:
        is_ = os.fstat(file.fileno())
        if is_.st_size > LARGE:
            return None
        return {"start": _to(connection) + [LOGIN], "put": remote, "mode": is_.st_mode & 0o777}, file.read(), b""


def _attempt(make, connection, *args):
    """Return a request, or None if the command must run as always. An error in this part is no error of the task."""
    try:
        return None if _needs_more(connection) else make(*args)
    except Exception as error:
        display.debug("acceleration: %s" % error)
        return None


class Client:
    """The client of broker.py, which it starts."""

    def __init__(self, folder, most):
        self.path = os.path.join(folder, "broker-%d" % os.getpid())
        with socket.socket(socket.AF_UNIX) as listener:
            if os.path.exists(self.path):
                os.unlink(self.path)  # of an earlier process with this number
            listener.bind(self.path)
            listener.listen(128)
            # The broker ends when its standard input is closed, which is when this process has ended.
            self.process = subprocess.Popen([sys.executable, broker.__file__, str(listener.fileno()), str(most)],
                                            pass_fds=[listener.fileno()], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        os.register_at_fork(after_in_child=self.process.stdin.close)

    def run(self, header, text=b"", archive=b""):
        """Return the exit status, stdout and stderr of a module, or None if it was not started."""
        with socket.socket(socket.AF_UNIX) as connection:
            try:
                connection.connect(self.path)
            except OSError:
                return None
            try:
                node.send(connection.sendall, header, text, archive)
                answer, parts = node.receive(connection.makefile("rb"))
            except OSError:
                answer = {"lost": "the broker of connections"}
            if "lost" in answer:
                raise AnsibleConnectionFailure("Lost %s while a module ran" % answer["lost"])
            return (answer["status"], parts[0], parts[1]) if "status" in answer else None


def start(folder, strategy):
    templates.private(folder)
    client = Client(folder, 4 * max(5, context.CLIARGS.get("forks") or 5))
    run_builtin, transport_builtin, reset_builtin = (
        ssh.Connection._run.__wrapped__, ssh.Connection._file_transport_command, ssh.Connection.reset)

    def run(self, cmd, in_data, sudoable=True, checkrc=True):
        request = None
        if in_data:
            request = _attempt(_module, self, cmd, in_data)
        elif not sudoable:
            request = _attempt(_shell, self, cmd)
        answer = request and client.run(*request)
        return answer or run_builtin(self, cmd, in_data, sudoable=sudoable, checkrc=checkrc)

    def transport(self, in_path, out_path, sftp_action):
        request = _attempt(_put, self, self, in_path, out_path) if sftp_action == "put" else None
        try:
            answer = request and client.run(*request)
        except AnsibleConnectionFailure as error:  # a file can be written again, over a new connection
            display.debug("acceleration: %s" % error)
            answer = None
        if answer and answer[0] == 0:
            return answer
        return transport_builtin(self, in_path, out_path, sftp_action)  # again, for its message

    def reset(self):
        """A new login: the processes of the old one end, too."""
        reset_builtin(self)
        try:
            client.run({"reset": _to(self)})
        except AnsibleError as error:
            display.debug("acceleration: %s" % error)

    ssh.Connection._run, ssh.Connection._file_transport_command, ssh.Connection.reset = ssh._ssh_retry(run), transport, reset
    return strategy
