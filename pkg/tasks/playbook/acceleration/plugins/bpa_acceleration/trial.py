# SPDX-License-Identifier: GPL-3.0-or-later
"""Trials: Ansible's executor runs until it would do something that must not be done twice.

A trial works on copies of the task and its variables. If it raises NeedsProcess, it has done nothing, and the
task can run in a process, as always. The copies share their lists and dictionaries with other tasks and hosts. A template can
change these, such as with vars['list'].append(1), so it ends a trial. After the trial of a thread, a template
that changes something gets deep copies.
"""
from __future__ import annotations

import contextlib
import copy
import functools
import re
import threading

from ansible import constants as C
from ansible.errors import AnsibleError
from ansible.template import Templar
from ansible.utils.display import Display
from jinja2.environment import Environment

display = Display()

# Lookups without effects, so that they can run twice.
PURE = frozenset(prefix + name for prefix in ("", "ansible.builtin.", "ansible.legacy.")
                 for name in ("dict", "env", "file", "fileglob", "first_found", "indexed_items", "items", "list", "nested", "sequence", "subelements",
                              "template", "together", "flattened", "vars", "varnames"))


# Parts of the text of a template that can change a variable. Most of these templates only change a variable of their own.
CHANGES = re.compile(r"""\bvars\s*[.[] | \|\s*attr\b | [.[]\s*['"]?(add|append|clear|discard|extend|insert|pop|popitem|remove|reverse
                         |setdefault|sort|update|\w*_update|__\w+__)\b""", re.VERBOSE)


class NeedsProcess(BaseException):
    """The task does more than a trial may. It is no Exception, because the executor turns these into results."""


class _Current(threading.local):
    trial = False
    templar = None  # that renders a template
    copies = None  # in a thread after its trial: the copies of variables by the identity of the variable, for copy.deepcopy


_current = _Current()


def possible(task):
    """Say if a task can run outside of a process: it needs no signals, no debugger, and no loop with effects."""
    if task.async_val or task.timeout or task.throttle or task.debugger or C.ENABLE_TASK_DEBUGGER:
        return False
    return not task.loop_with or task.loop_with in PURE


def begin():
    _current.trial = True


def end(thread=False):
    """From now on, this thread may do everything. If it is the thread of one task, templates change only copies of variables."""
    _current.trial, _current.copies = False, {} if thread else None


@functools.lru_cache(1 << 14)
def _changes(text):
    return bool(CHANGES.search(text))


def _separate(templar):
    """Replace the variables of a templar by copies, the same ones for all templars of this task."""
    variables = templar.available_variables
    own = {}
    for name, value in variables.items():
        try:
            own[name] = copy.deepcopy(value, _current.copies)
        except Exception as error:  # an object that Ansible does not copy either
            display.debug("acceleration: %s" % error)
            own[name] = value
    templar.available_variables = own


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
    """Make lookups with effects, and templates that can change variables, end a trial."""
    builtin, render, compile = Templar._lookup, Templar.do_template, Environment.compile
    if getattr(builtin, "trial", False):
        return

    def lookup(self, name, /, *args, **kwargs):
        if _current.trial and name not in PURE:
            raise NeedsProcess
        return builtin(self, name, *args, **kwargs)

    def do_template(self, *args, **kwargs):
        before, _current.templar = _current.templar, self
        try:
            if _current.copies:  # a template of this task has changed something
                _separate(self)
            return render(self, *args, **kwargs)
        finally:
            _current.templar = before

    def compile_(self, source, *args, **kwargs):
        """Each template, also one that another includes, is compiled before it is rendered."""
        if isinstance(source, str) and _changes(str(source)):
            if _current.trial:
                raise NeedsProcess
            if _current.copies is not None and _current.templar:
                _separate(_current.templar)
        return compile(self, source, *args, **kwargs)

    lookup.trial = True
    Templar._lookup, Templar.do_template, Environment.compile = lookup, do_template, compile_
