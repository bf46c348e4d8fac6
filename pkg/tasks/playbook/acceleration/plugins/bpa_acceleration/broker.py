# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that owns the connections to the Python processes on the nodes, see interpreter.py.

Its argument is the number of a socket that listens. It ends when its standard input is closed.
"""
from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from bpa_acceleration import node  # noqa: E402

PATIENCE = 60  # seconds until a process on a node must have started, and until a failed start is repeated


def source():
    with open(node.__file__.replace(".pyc", ".py"), "rb") as file:
        return file.read() + b"\nserve()\n"


class Process:
    """A Python process on a node. It runs one module at a time."""

    def __init__(self, command):
        self.known = set()  # archives that it has
        self.ssh = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        limit = threading.Timer(PATIENCE, self.ssh.kill)
        limit.daemon = True
        limit.start()
        try:
            self._write(source())
            self.alive = node.HELLO in iter(lambda: self.ssh.stdout.readline(4096), b"")
        except OSError:
            self.alive = False
        limit.cancel()
        if not self.alive:
            self.end()

    def _write(self, content):
        self.ssh.stdin.write(content)
        self.ssh.stdin.flush()

    def ready(self):
        """Say if it can take a module: it writes only answers, so now it has written only if it has ended."""
        return self.alive and not select.select([self.ssh.stdout], [], [], 0)[0]

    def end(self):
        self.alive = False
        self.ssh.kill()
        for stream in (self.ssh.stdin, self.ssh.stdout):
            try:
                stream.close()
            except OSError:
                pass
        self.ssh.wait()

    def ask(self, header, text, archive, client):
        """Return the answer to a request, {} if it was not received, or {"lost": ...} if there is no answer."""
        digest = header.get("archive")
        try:
            node.send(self._write, header, text, b"" if digest in self.known else archive)
        except OSError:
            return {}, []  # a part of it is missing, so nothing was started
        if client in select.select([self.ssh.stdout, client], [], [])[0]:
            return {"lost": "the task"}, []  # such as at its time limit
        try:
            answer, parts = node.receive(self.ssh.stdout)
        except (OSError, ValueError):
            return {"lost": "the connection to the node"}, []
        self.known.add(digest)
        if answer.get("needs"):
            self.known.remove(digest)
            return self.ask(header, text, archive, client)
        return answer, parts


class Place:
    """A node, a user on it and a Python there."""

    def __init__(self):
        self.busy, self.process, self.failed = threading.Lock(), None, None

    def run(self, command, header, text, archive, client):
        """Return the answer of the node. It has no status if the module was not started."""
        for _ in range(2):
            if not self._start(command):
                break
            answer, parts = self.process.ask(header, text, archive, client)
            if "status" in answer:
                return answer, parts
            self.process.end()
            if "lost" in answer:
                return answer, parts
        return {}, []

    def _start(self, command):
        if self.process and self.process.ready():
            return True
        if self.process:
            self.process.end()
            self.process = None
        if self.failed is not None and time.monotonic() < self.failed + PATIENCE:
            return False
        process = Process(command)
        if process.alive:
            self.process, self.failed = process, None
        else:
            self.failed = time.monotonic()
        return process.alive


class Broker:
    def __init__(self):
        self.lock, self.places = threading.Lock(), {}

    def serve(self, client):
        try:
            with client, client.makefile("rb") as reader:
                header, (text, archive) = node.receive(reader)
                answer, parts = self._answer(header, text, archive, client)
                node.send(client.sendall, answer, *parts)
        except OSError:
            pass  # the task has ended

    def _answer(self, header, text, archive, client):
        command = header.pop("start")
        with self.lock:
            place = self.places.setdefault(tuple(command), Place())
        if not place.busy.acquire(blocking=False):
            return {}, []
        try:
            return place.run(command, header, text, archive, client)
        finally:
            place.busy.release()

    def end(self):
        """Wait until Ansible has ended, and end. The processes on the nodes end with their ssh."""
        while os.read(0, 4096):
            pass
        for place in list(self.places.values()):
            if place.process:
                place.process.ssh.kill()
        os._exit(0)


def main():
    broker, listener = Broker(), socket.socket(fileno=int(sys.argv[1]))
    threading.Thread(target=broker.end, daemon=True).start()
    while True:
        client, _ = listener.accept()
        threading.Thread(target=broker.serve, args=(client,), daemon=True).start()


if __name__ == "__main__":
    main()
