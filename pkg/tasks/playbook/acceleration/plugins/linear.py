# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible's strategy linear with the accelerations of BPA.

The plugin has the name of the built-in one: callback jsonl reports the start of tasks only for
strategies of the names linear and debug, and the plays of kubespray name none.
"""
from __future__ import annotations

import importlib.util
import os
import sys

import ansible.plugins.strategy

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bpa_acceleration  # noqa: E402


def _builtin():
    path = os.path.join(os.path.dirname(ansible.plugins.strategy.__file__), "linear.py")
    spec = importlib.util.spec_from_file_location("bpa_builtin_linear", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


_linear = _builtin()
DOCUMENTATION = _linear.DOCUMENTATION  # Ansible reads the options of a plugin from it


class StrategyModule(bpa_acceleration.activate(_linear.StrategyModule)):
    pass
