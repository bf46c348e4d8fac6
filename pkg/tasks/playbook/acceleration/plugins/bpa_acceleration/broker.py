# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that owns the connections to the Python processes on the nodes, see interpreter.py.

Its arguments are the number of a socket that listens, and the most processes that it may have at once. It ends
when its standard input is closed.
"""
from __future__ import annotations

import os
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from bpa_acceleration import node  # noqa: E402

PATIENCE = 60  # seconds until a process on a node must have started
AGAIN = 300  # seconds until a failed start is repeated
IDLE = node.IDLE - 30  # seconds; a process that was not used for longer could end while it gets a request


def source():
    """Return the program of the process on a node."""
    with open(node.__file__, "rb") as file:
        return file.read() + b"\nserve()\n"


# Reads the text of node.py from standard input, and runs it. One line, because sudo keeps it in a variable of the environment.
BOOTSTRAP = ('import functools,os;exec(compile(functools.reduce(lambda t,_:t+os.read(0,%(size)d-len(t)) if len(t)<%(size)d else t,'
             'range(%(size)d),b""),"bpa-node","exec"),{"__name__":"bpa_node"})' % {"size": len(source())})


def readable(*files):
    """Wait until one of the files can be read, and return those that can."""
    poll = select.poll()
    for file in files:
        poll.register(file, select.POLLIN | select.POLLHUP | select.POLLERR)
    ready = [number for number, _ in poll.poll()]
    return [file for file in files if file.fileno() in ready]


class Process:
    """A Python process on a node. It runs one module at a time."""

    def __init__(self, command):
        self.known = set()  # archives that it has
        self.used = time.monotonic()
        self.ssh = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        limit = threading.Timer(PATIENCE, self.ssh.kill)
        limit.daemon = True
        limit.start()
        try:
            self._write(source())
            lines = iter(lambda: self.ssh.stdout.readline(4096), b"")  # others are of the login
            self.alive = any(line.endswith(node.HELLO) for line in lines)
        except OSError:
            self.alive = False
        limit.cancel()
        if not self.alive:
            self.end()

    def _write(self, content):
        self.ssh.stdin.write(content)
        self.ssh.stdin.flush()

    def ready(self):
        """Say if it can take a module. It writes only answers, so it has ended if there is something to read."""
        if not self.alive or time.monotonic() > self.used + IDLE:
            return False
        poll = select.poll()
        poll.register(self.ssh.stdout)
        return not poll.poll(0)

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
        if self.ssh.stdout not in readable(self.ssh.stdout, client):
            return {"lost": "the task"}, []  # such as at its time limit
        try:
            answer, parts = node.receive(self.ssh.stdout)
        except (OSError, ValueError):
            return {"lost": "the connection to the node"}, []
        self.known.add(digest)
        self.used = time.monotonic()
        if answer.get("needs"):
            self.known.remove(digest)
            return self.ask(header, text, archive, client)
        return answer, parts


class Place:
    """A node, a user on it and a Python there."""

    def __init__(self, broker, command):
        self.broker, self.command = broker, command
        self.busy, self.process, self.failed = threading.Lock(), None, None

    def run(self, header, text, archive, client):
        """Return the answer of the node. It has no status if the module was not started."""
        try:
            for _ in range(2):
                if not self._start():
                    break
                answer, parts = self.process.ask(header, text, archive, client)
                if "status" in answer:
                    return answer, parts
                self.end()
                if "lost" in answer:
                    return answer, parts
        except Exception as error:
            self.end()  # it could still answer
            return {"lost": "the broker of connections (%r)" % error}, []
        return {}, []

    def end(self):
        if self.process:
            self.process.end()
            self.process = None

    def _start(self):
        if self.process and self.process.ready():
            return True
        self.end()
        if self.failed is not None and time.monotonic() < self.failed + AGAIN or not self.broker.room():
            return False
        try:
            process = Process(self.command)
        except OSError:  # such as too many open files
            return False
        if process.alive:
            self.process, self.failed = process, None
        else:
            self.failed = time.monotonic()
        return process.alive


class Broker:
    def __init__(self, most):
        self.lock, self.places, self.most = threading.Lock(), {}, most

    def room(self):
        """Say if there may be one more process. Only those that nobody has used for a while make room: if hosts
        replaced each other's processes, each module would wait for a start."""
        with self.lock:
            places = list(self.places.values())
        alive = [place for place in places if place.process and place.process.alive]
        for place in alive:
            if len(alive) >= self.most and place.busy.acquire(blocking=False):
                if place.process and time.monotonic() > place.process.used + PATIENCE:
                    place.end()
                place.busy.release()
        return sum(1 for place in alive if place.process) < self.most

    def serve(self, client):
        try:
            with client, client.makefile("rb") as reader:
                header, (text, archive) = node.receive(reader)
                answer, parts = self._reset(header["reset"]) if "reset" in header else self._answer(header, text, archive, client)
                node.send(client.sendall, answer, *parts)
        except OSError:
            pass  # the task has ended

    def _answer(self, header, text, archive, client):
        command = tuple(header.pop("start"))
        with self.lock:
            if command not in self.places:
                self.places[command] = Place(self, command)
            place = self.places[command]
        if not place.busy.acquire(blocking=False):
            return {}, []
        try:
            return place.run(header, text, archive, client)
        finally:
            place.busy.release()

    def _reset(self, words):
        """End the processes of a host. Those that run a module are of another task, and stay."""
        with self.lock:
            places = [place for command, place in self.places.items() if command[:-1] == tuple(words)]
        for place in places:
            place.failed = None
            if place.busy.acquire(blocking=False):
                place.end()
                place.busy.release()
        return {}, []

    def end(self):
        """Wait until Ansible has ended, and end. The processes on the nodes end with their ssh."""
        while os.read(0, 4096):
            pass
        for place in list(self.places.values()):
            if place.process:
                place.process.ssh.kill()
        os._exit(0)


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ansible ends this process
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    listener, broker = socket.socket(fileno=int(sys.argv[1])), Broker(int(sys.argv[2]))
    threading.Thread(target=broker.end, daemon=True).start()
    while True:
        try:
            client, _ = listener.accept()
        except OSError:  # such as too many open files: some are closed soon
            time.sleep(0.1)
            continue
        threading.Thread(target=broker.serve, args=(client,), daemon=True).start()


if __name__ == "__main__":
    main()
