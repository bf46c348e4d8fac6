# SPDX-License-Identifier: GPL-3.0-or-later
"""Tasks that need no process of their own.

Ansible starts a process for each task and host, also if the host skips the task, and if the task runs
on the controller only, such as set_fact. Here, Ansible's executor first runs in the main process, on
copies of the task and its variables. As soon as it would do more than evaluate conditions, it stops,
and the task runs in a process as always. Until then it has done nothing that cannot be done again.
"""
from __future__ import annotations

import pickle

from ansible import constants as C
from ansible.executor.task_executor import TaskExecutor
from ansible.plugins import loader as plugin_loader
from ansible.utils.display import Display

from bpa_acceleration import trial

display = Display()

# Actions that work on the controller only, and quickly.
QUICK = frozenset(prefix + name for prefix in ("", "ansible.builtin.", "ansible.legacy.")
                  for name in ("assert", "debug", "fail", "group_by", "add_host", "include_vars", "set_fact", "set_stats"))
INCLUDES = frozenset(C._ACTION_INCLUDE_TASKS) | frozenset(C._ACTION_INCLUDE_ROLE)


class Executor(TaskExecutor):
    """Ansible's executor, which raises trial.NeedsProcess before it starts anything."""

    def _execute(self, variables=None):
        if self._task.action not in QUICK:
            self._task.post_validate = _needs_process  # is called after the conditions
        return super()._execute(variables)


def _needs_process(*_, **__):
    raise trial.NeedsProcess


class Sent:
    """Takes what the executor sends while it works, until it is clear that it ends here."""

    def __init__(self):
        self.calls = []

    def send_callback(self, *args, **kwargs):
        self.calls.append((args, kwargs))

    def replay(self, queue):
        for args, kwargs in self.calls:
            queue.send_callback(*args, **kwargs)


def _can_try(task):
    if not trial.possible(task) or task.until or task.retries is not None:
        return False
    if task.loop_control and task.loop_control.pause:
        return False
    return task.action in QUICK or task.action in INCLUDES or bool(task.when) or bool(task.loop_with) or task.loop is not None


class InProcess:
    """Part of a strategy that runs tasks in the main process if it can."""

    def _queue_task(self, host, task, task_vars, play_context):
        if _can_try(task) and self._run_here(host, task, task_vars, play_context):
            return
        super()._queue_task(host, task, task_vars, play_context)

    def _run_here(self, host, task, task_vars, play_context):
        sent = Sent()
        try:
            copied = task.copy(exclude_parent=True, exclude_tasks=True)
            copied._parent = task._parent
            result, fields = self._try(host, copied, task_vars.copy(), play_context, sent)
        except trial.NeedsProcess:
            return False
        except Exception as error:  # of Ansible, outside of the executor: in a process, it becomes a result
            display.debug("acceleration: %s" % error)
            return False
        try:
            pickle.dumps((result, fields, sent.calls))
        except Exception as error:  # a process reports this as a failure of the task
            display.debug("acceleration: %s" % error)
            return False
        self._queued_task_cache[(host.name, task._uuid)] = {
            "host": host, "task": task, "task_vars": task_vars, "play_context": play_context}
        self._tqm.send_callback("v2_runner_on_start", host, task)
        trial.await_queue(self)
        sent.replay(self._final_q)
        self._final_q.send_task_result(host.name, task._uuid, result, task_fields=fields)
        self._pending_results += 1
        return True

    def _try(self, host, task, task_vars, play_context, sent):
        executor = Executor(host, task, task_vars, play_context, None, self._loader, plugin_loader, sent, self._variable_manager)
        with trial.trial():
            return executor.run(), task.dump_attrs()


def start(_, strategy):
    trial.install()
    return type("InProcessStrategy", (InProcess, strategy), {"__doc__": strategy.__doc__})
