# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the result of each task into a file of this run in the folder $BPA_EVENTS, without what differs between two runs.

Ansible starts it by itself, because it is in a folder that Ansible searches and does not have to be enabled.
"""
from __future__ import annotations

import json
import os
import re
import time

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: bpa_events
type: aggregate
short_description: results of tasks for a comparison
description: [results of tasks for a comparison]
"""

# Numbers, names of temporary files and random names.
PASSING = re.compile(r"ansible-tmp-[0-9.-]+|\bansible[._][A-Za-z0-9_.]{8,}|\btmp[A-Za-z0-9_]{8}|\btmp\.[A-Za-z0-9]{10}|0x[0-9a-f]+|[0-9a-f]{12,}|[0-9]+")


def lasting(text):
    return PASSING.sub("N", str(text))[:2000]


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "bpa_events"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.play = 0
        self.file = None
        if os.environ.get("BPA_EVENTS"):
            # One write for each line, because the process can be killed.
            self.file = open(os.path.join(os.environ["BPA_EVENTS"], "%d-%d" % (time.time_ns(), os.getpid())), "w", buffering=1)

    def _write(self, host, *event):
        """Write the number of the play, the host and the event. Hosts are compared each for itself, because their order is
        that of their speed."""
        if self.file:
            self.file.write(json.dumps([self.play, host, *event]) + "\n")

    def _result(self, kind, result, ignored=False):
        values, task = result._result, result._task
        told = {name: value for name, value in values.items() if isinstance(value, bool) or name == "rc"}
        message = "msg" in values and not task.action.endswith("debug") and lasting(values["msg"])
        self._write(result._host.get_name(), kind, task.get_name(), os.path.basename(task.get_path() or ""), ignored, sorted(values), told, message)

    def v2_playbook_on_play_start(self, play):
        self.play += 1
        self._write("", "play", play.get_name())

    def v2_playbook_on_handler_task_start(self, task):
        self._write("", "handler", task.get_name())

    def v2_playbook_on_no_hosts_remaining(self):
        self._write("", "no hosts remaining")

    def v2_runner_on_ok(self, result):
        self._result("ok", result)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self._result("failed", result, ignore_errors)

    def v2_runner_on_skipped(self, result):
        self._result("skipped", result)

    def v2_runner_on_unreachable(self, result):
        self._result("unreachable", result)

    def v2_runner_item_on_ok(self, result):
        self._result("item ok", result)

    def v2_runner_item_on_failed(self, result):
        self._result("item failed", result)

    def v2_runner_item_on_skipped(self, result):
        self._result("item skipped", result)

    def v2_playbook_on_stats(self, stats):
        for host in sorted(stats.processed):
            self._write(host, "recap", stats.summarize(host))
