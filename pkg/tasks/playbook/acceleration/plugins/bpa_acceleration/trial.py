# SPDX-License-Identifier: GPL-3.0-or-later
"""Trials: Ansible's executor runs until it would do something that must not be done twice.

A trial works on copies of the task and its variables. If it raises NeedsProcess, it has done nothing, and the
task can run in a process, as always.
"""
from __future__ import annotations

import contextlib
import threading

from ansible import constants as C
from ansible.errors import AnsibleError
from ansible.template import Templar

# Lookups without effects, so that they can run twice.
PURE = frozenset(prefix + name for prefix in ("", "ansible.builtin.", "ansible.legacy.")
                 for name in ("dict", "env", "file", "fileglob", "first_found", "indexed_items", "items", "list", "nested", "sequence", "subelements",
                              "template", "together", "flattened", "vars", "varnames"))


class NeedsProcess(BaseException):
    """The task does more than a trial may. It is no Exception, because the executor turns these into results."""


class _Current(threading.local):
    trial = False


_current = _Current()


def possible(task):
    """Say if a task can run outside of a process: it needs no signals, no debugger, and no loop with effects."""
    if task.async_val or task.timeout or task.throttle or task.debugger or C.ENABLE_TASK_DEBUGGER:
        return False
    return not task.loop_with or task.loop_with in PURE


def begin():
    _current.trial = True


def end():
    """From now on, this thread may do everything."""
    _current.trial = False


@contextlib.contextmanager
def trial():
    begin()
    try:
        yield
    finally:
        end()


def await_queue(strategy):
    """Wait until the queue of results can be written to. A process that was killed while it wrote holds its lock for ever."""
    while not strategy._final_q._wlock.acquire(timeout=1):
        if strategy._tqm.has_dead_workers():
            raise AnsibleError("A worker was found in a dead state")  # as Ansible does where it waits for results
    strategy._final_q._wlock.release()


def install():
    """Make lookups with effects end a trial."""
    builtin = Templar._lookup
    if getattr(builtin, "trial", False):
        return

    def lookup(self, name, /, *args, **kwargs):
        if _current.trial and name not in PURE:
            raise NeedsProcess
        return builtin(self, name, *args, **kwargs)

    lookup.trial = True
    Templar._lookup = lookup
