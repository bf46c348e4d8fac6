# SPDX-License-Identifier: GPL-3.0-or-later
"""Tasks that run in threads of Ansible's process.

Ansible starts a process for each task and host: a copy of a large process, which prepares the
task, waits for the node, and sends its result back. Here, the task runs in a thread.

Ansible's code is not made for threads, so only one of them runs at a time: the one that has the turn. It is given away
only where a thread waits for a node, or sleeps. What needs more, such as a task with a time limit,
runs in a process, and no process is started while threads run, because it would copy their locks.
"""
from __future__ import annotations

import contextlib
import copy
import os
import threading
import time
import traceback
from collections import deque

import ansible.plugins.action
from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.executor import task_executor
from ansible.executor.task_executor import TaskExecutor
from ansible.module_utils.common.text.converters import to_text
from ansible.plugins import loader as plugin_loader
from ansible.plugins.connection import local, ssh
from ansible.utils.display import Display

from bpa_acceleration import parsed, trial

display = Display()

# Actions that wait only in methods of the connection.
ACTIONS = frozenset(os.path.join(folder, name + ".py") for folder in ansible.plugins.action.__path__
                    for name in ("assemble", "command", "copy", "dnf", "fetch", "normal", "package", "service", "shell", "template", "unarchive"))
CONNECTIONS = (ssh.Connection, local.Connection)
WAITING = ("exec_command", "put_file", "fetch_file", "reset", "close")  # methods of a connection


class Turn:
    """The right to run. The main thread and those of tasks have it one after the other."""

    def __init__(self):
        self._lock, self._owner = threading.Lock(), None

    def take(self):
        self._lock.acquire()
        self._owner = threading.get_ident()

    def give(self):
        self._owner = None
        self._lock.release()

    @contextlib.contextmanager
    def given(self):
        """Let others run. A thread that does not have the turn goes on, and a task that a process may still run keeps it:
        the main thread has to wait until it is clear who runs the task. Such a task closes its connection, too."""
        thread = threading.current_thread()
        if self._owner != threading.get_ident() or isinstance(thread, Work) and not thread.begun:
            yield
            return
        self.give()
        if isinstance(thread, Work):
            thread.waits.set()
        try:
            yield
        finally:
            self.take()


turn = Turn()


class Queue:
    """Sends results to the main thread. Until the task touches its node, it keeps them, because a process may start it again."""

    def __init__(self, work):
        self.work, self.kept = work, []

    def send_callback(self, *args, **kwargs):
        if self.kept is None:
            self._send("send_callback", args, kwargs)
        else:
            self.kept.append((args, kwargs))

    def send_task_result(self, *args, **kwargs):
        self.begin()
        self._send("send_task_result", args, kwargs)

    def begin(self):
        if self.kept is None:
            return
        kept, self.kept = self.kept, None
        trial.end(thread=True)
        self.work.register()
        for args, kwargs in kept:
            self._send("send_callback", args, kwargs)

    def _send(self, method, args, kwargs):
        trial.await_queue(self.work.strategy)
        getattr(self.work.strategy._final_q, method)(*args, **kwargs)


class Executor(TaskExecutor):
    """Ansible's executor, which needs a process if it may wait in an unknown way."""

    def _get_action_handler_with_module_context(self, templar):
        handler, context = super()._get_action_handler_with_module_context(templar)
        if self._final_q.kept is not None:
            if handler._original_path not in ACTIONS or type(self._connection) not in CONNECTIONS:
                raise trial.NeedsProcess
            self._final_q.begin()
        return handler, context


class Work(threading.Thread):
    """A task on a host."""

    def __init__(self, strategy, host, task, task_vars, play_context):
        super().__init__(daemon=True)
        self.strategy, self.host, self.task, self.task_vars, self.play_context = strategy, host, task, task_vars, play_context
        self.waits = threading.Event()  # is set when the thread gives the turn away for the first time
        self.begun = self.refused = False

    def register(self):
        """Tell Ansible that the task has started."""
        self.begun = True
        self.strategy._queued_task_cache[(self.host.name, self.task._uuid)] = {
            "host": self.host, "task": self.task, "task_vars": self.task_vars, "play_context": self.play_context}
        self.strategy._pending_results += 1
        self.strategy._tqm.send_callback("v2_runner_on_start", self.host, self.task)

    def run(self):
        turn.take()
        queue = Queue(self)
        try:
            trial.begin()
            self._execute(self.task.copy(exclude_tasks=True), queue)
        except BaseException as error:  # trial.NeedsProcess, or of Ansible, outside of the executor
            display.debug("acceleration: %r" % error)
            self.refused = queue.kept is not None
            self.strategy.broken |= not self.refused  # the task has begun
        finally:
            self.strategy.works.discard(self)
            turn.give()
            self.waits.set()
            with self.strategy._results_lock:
                self.strategy._results_lock.notify()

    def _execute(self, task, queue):
        name = self.host.name
        loader = copy.copy(self.strategy._loader)
        loader._tempfiles = set()
        task_vars = self.task_vars.copy()
        if "ansible_facts" in task_vars:
            task_vars["ansible_facts"] = dict(task_vars["ansible_facts"])  # tasks set members of it
        try:
            with open(os.devnull) as stdin:
                result = Executor(self.host, task, task_vars, self.play_context, stdin, loader, plugin_loader, queue,
                                  self.strategy._variable_manager).run()
            fields = task.dump_attrs()
            try:
                queue.send_task_result(name, task._uuid, result, task_fields=fields)
            except Exception as error:  # as a process does, such as for a result that cannot be sent
                queue.send_task_result(name, task._uuid, {"failed": True, "msg": str(error), "exception": traceback.format_exc()}, {})
        except AnsibleConnectionFailure:
            queue.send_task_result(name, task._uuid, {"unreachable": True}, task_fields=task.dump_attrs())
        except Exception:
            queue.send_task_result(name, task._uuid, {"failed": True, "exception": to_text(traceback.format_exc()), "stdout": ""},
                                   task_fields=task.dump_attrs())
            loader.cleanup_all_tmp_files()


class Results(deque):
    """Ansible's list of results, which wakes the main thread."""

    def __init__(self, lock):
        super().__init__()
        self.lock = lock

    def append(self, result):
        super().append(result)
        self.lock.notify()  # the caller has the lock


class Threads:
    """Part of a strategy that runs tasks in threads if it can."""

    def __init__(self, tqm):
        super().__init__(tqm)
        self._results = Results(self._results_lock)
        self.works, self.broken = set(), False

    def run(self, iterator, play_context):
        turn.take()
        try:
            return super().run(iterator, play_context)
        finally:
            turn.give()

    def _queue_task(self, host, task, task_vars, play_context):
        if trial.possible(task) and self._start(Work(self, host, task, task_vars, play_context)):
            return
        self._until(lambda: not self.works)
        super()._queue_task(host, task, task_vars, play_context)

    def _start(self, work):
        """Start a thread, and say if it runs the task."""
        self._until(lambda: len(self.works) < len(self._workers))
        self.works.add(work)
        with turn.given():
            try:
                work.start()
            except RuntimeError:  # such as too many processes and threads of this user
                self.works.discard(work)
                return False
            work.waits.wait()
        return not work.refused

    def _until(self, true):
        while not true() and not self._tqm._terminated:
            self._wait(true)

    def _wait(self, enough):
        """Let threads run, until one has ended, or there is a result, or it is enough."""
        with turn.given(), self._results_lock:
            if not enough():
                self._results_lock.wait(0.05)  # a process that ends without a result wakes nobody
        if self.broken or self._tqm.has_dead_workers():
            raise AnsibleError("A worker was found in a dead state")

    def _wait_on_pending_results(self, iterator):
        results = []
        while self._pending_results > 0 and not self._tqm._terminated:
            results.extend(self._process_pending_results(iterator))
            if self._pending_results > 0:
                self._wait(lambda: self._results)
        return results


class Time:
    """The module time, whose sleep lets others run."""

    def __getattr__(self, name):
        return getattr(time, name)

    @staticmethod
    def sleep(seconds):
        with turn.given():
            time.sleep(seconds)


def _giving(method):
    def waiting(self, *args, **kwargs):
        with turn.given():
            return method(self, *args, **kwargs)

    return waiting


def start(_, strategy):
    trial.install()
    parsed.install()
    task_executor.time = Time()
    for connection in CONNECTIONS:
        for name in WAITING:
            setattr(connection, name, _giving(getattr(connection, name)))
    return type("ThreadsStrategy", (Threads, strategy), {"__doc__": strategy.__doc__})
