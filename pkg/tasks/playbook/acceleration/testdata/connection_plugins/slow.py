# SPDX-License-Identifier: GPL-3.0-or-later
"""The connection local, which needs a while to close."""
from __future__ import annotations

import time

from ansible.plugins.connection import local

DOCUMENTATION = """
name: slow
short_description: local, which needs a while to close
description: [local, which needs a while to close]
extends_documentation_fragment: [connection_pipelining]
"""


class Connection(local.Connection):
    transport = "slow"

    @property
    def _connected(self):
        return self.__dict__.get("connected_", False)

    @_connected.setter
    def _connected(self, value):
        self.__dict__["connected_"] = value
        if not value:
            time.sleep(0.2)
