# SPDX-License-Identifier: GPL-3.0-or-later
"""A Python process that stays on each node and starts the modules.

For each task and host, Ansible starts an ssh client, and on the node a shell, sudo, Python and all imports of
a module. Here, the first module on a node starts a Python process, see node.py, with exactly the command
line of ssh and sudo that Ansible has made. This process starts further modules by a fork.

broker.py, a process beside ansible-playbook, owns the connections to these processes, because the
processes that Ansible starts for its tasks end with them. If the broker has no process for a node, or
this process is busy, the module runs as always. A module is never started twice: when a connection is
lost after a module was sent, the host is unreachable, as without this part.
"""
from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import socket
import subprocess
import sys

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.connection import ssh

from bpa_acceleration import broker, modules, node, templates

# A module as Ansible sends it, with the archive of its files.
MODULE = re.compile(rb"^    ZIPDATA = '([A-Za-z0-9+/=]*)'$", re.MULTILINE)
PYTHON = re.compile(r"(?:[^ ]+ )*/[A-Za-z0-9._/-]*/python[0-9.]*")  # may begin with variables of the environment
SHELL, END = "/bin/sh -c ", " && sleep 0"

# Reads the text of node.py, and runs it.
BOOTSTRAP = """import os
text = b""
while len(text) < SIZE:
    part = os.read(0, SIZE - len(text))
    if not part:
        os._exit(1)
    text += part
exec(compile(text, "bpa-node", "exec"), {"__name__": "bpa_node"})""".replace("SIZE", str(len(broker.source())))


LOGIN = SHELL + shlex.quote("exec python3 -c " + shlex.quote(BOOTSTRAP))
LARGE = 16 << 20  # bytes; larger files are copied as always


def _start_command(command):
    """Return the remote command that starts node.py as command starts a module, or None if it does something else.

    command is what Ansible gives to ssh, for example:
        /bin/sh -c 'sudo -H -S -n -u root /bin/sh -c '"'"'echo BECOME-SUCCESS-x ; /usr/bin/python3'"'"' && sleep 0'
    """
    words = shlex.split(command)
    if len(words) != 3 or words[:2] != shlex.split(SHELL) or not words[2].endswith(END):
        return None
    inner, prefix = words[2][:-len(END)], ""
    script = shlex.split(inner)[-1]
    if script.startswith("echo BECOME-SUCCESS-") and inner.endswith(shlex.quote(script)):
        prefix = inner[:-len(shlex.quote(script))]
        inner = script.partition(" ; ")[2]
    if not PYTHON.fullmatch(inner):
        return None
    started = "%s -c %s" % (inner, shlex.quote(BOOTSTRAP))
    if prefix:
        started = prefix + shlex.quote(started)
    return SHELL + shlex.quote(started + END)


def _password(connection):
    return connection.get_option("password") or connection._play_context.password


def _module(connection, command, data):
    """Return the request for a module, or None if the command is none or needs a password."""
    become = connection.become
    module = not _password(connection) and not (become and become.prompt) and MODULE.search(data)
    words = [os.fsdecode(word) for word in command]
    start = module and _start_command(words[-1])
    if not start:
        return None
    archive = module.group(1)
    header = {"start": words[:-1] + [start], "archive": hashlib.sha256(archive).hexdigest(), "cache": modules.FOLDER}
    return header, data[:module.start(1) - 1] + node.ARCHIVE + data[module.end(1) + 1:], archive


def _shell(connection, command):
    """Return the request for a command of Ansible itself as the user of the login, such as mkdir for a temporary folder."""
    words = [os.fsdecode(word) for word in command]
    parsed = shlex.split(words[-1])
    if _password(connection) or len(parsed) != 3 or parsed[:2] != shlex.split(SHELL) or not parsed[2].endswith(END):
        return None
    return {"start": words[:-1] + [LOGIN]}, os.fsencode(parsed[2][:-len(END)]), b""


def _put(connection, local, remote):
    """Return the request to write a file as the user of the login."""
    if _password(connection) or connection.get_option("ssh_transfer_method") not in (None, "smart") or not os.path.isabs(remote):
        return None
    command = connection._build_command(connection.get_option("ssh_executable"), "ssh", connection.host)
    with open(local, "rb") as file:
        is_ = os.fstat(file.fileno())
        if is_.st_size > LARGE:
            return None
        return {"start": [os.fsdecode(word) for word in command] + [LOGIN], "put": remote, "mode": is_.st_mode & 0o777}, file.read(), b""


class Client:
    """The client of broker.py, which it starts."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "broker")
        listener = socket.socket(socket.AF_UNIX)
        with listener:
            if os.path.exists(self.path):
                os.unlink(self.path)  # of an earlier playbook of this run
            listener.bind(self.path)
            listener.listen(128)
            script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "broker.py")
            # The broker ends when its standard input is closed, which is when this process has ended.
            self.process = subprocess.Popen([sys.executable, script, str(listener.fileno())], pass_fds=[listener.fileno()],
                                            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)

    def run(self, header, text, archive):
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
                answer = {"lost": "the connection to the broker"}
            if "lost" in answer:
                raise AnsibleConnectionFailure("Lost %s while a module ran" % answer["lost"])
            if "status" not in answer:
                return None
            return answer["status"], parts[0], parts[1]


def start(folder, strategy):
    templates.private(folder)
    client = Client(folder)
    run_builtin, transport_builtin = ssh.Connection._run.__wrapped__, ssh.Connection._file_transport_command

    def run(self, cmd, in_data, sudoable=True, checkrc=True):
        request = _module(self, cmd, in_data) if in_data else None if sudoable else _shell(self, cmd)
        answer = request and client.run(*request)
        return answer or run_builtin(self, cmd, in_data, sudoable=sudoable, checkrc=checkrc)

    def transport(self, in_path, out_path, sftp_action):
        request = _put(self, in_path, out_path) if sftp_action == "put" else None
        answer = request and client.run(*request)
        if answer and answer[0] == 0:
            return answer
        return transport_builtin(self, in_path, out_path, sftp_action)  # again, for its message

    ssh.Connection._run, ssh.Connection._file_transport_command = ssh._ssh_retry(run), transport
    return strategy
