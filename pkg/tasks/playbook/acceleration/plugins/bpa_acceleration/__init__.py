# SPDX-License-Identifier: GPL-3.0-or-later
"""Accelerations of ansible-playbook that change nothing of its result.

The environment variable BPA_ACCELERATION has the settings as one JSON object. A missing member
switches its part off:

    templates      folder of this run for compiled templates, see templates.py
    threads        true: see threads.py
    inProcess      true: see inprocess.py
    lazyVariables  names of variables, see lazy.py
    facts          true: see facts.py
    modules        true: see modules.py
    interpreter    folder of this run for a socket, see interpreter.py

They use functions of Ansible that are not public, so they are off for series that they were not tested with, and each part
also if one of the functions that it uses was changed, see known.py. A part that cannot start says so on stderr and is off, because the playbook runs without it.
"""
from __future__ import annotations

import importlib
import json
import os
import sys

import ansible.release
import jinja2

from bpa_acceleration import known

TESTED = {"ansible-core": "2.18.", "jinja2": "3.1."}

# The modules of the settings, in the order in which they start.
PARTS = (("templates", "templates"), ("lazyVariables", "lazy"), ("threads", "threads"), ("inProcess", "inprocess"), ("facts", "facts"),
         ("modules", "modules"), ("interpreter", "interpreter"))


def activate(strategy):
    """Start the parts that the settings name. Return the class of the strategy that uses them."""
    try:
        settings = json.loads(os.environ.get("BPA_ACCELERATION") or "{}")
    except ValueError as error:
        return off(strategy, "BPA_ACCELERATION is no JSON: %s" % error)
    if not settings:
        return strategy
    for name, version in (("ansible-core", ansible.release.__version__), ("jinja2", jinja2.__version__)):
        if not version.startswith(TESTED[name]):
            return off(strategy, "for %s %s" % (name, version), "")
    parts = [(setting, part) for setting, part in PARTS if settings.get(setting)]
    unknown = {part: known.changed(part) for _, part in parts}  # before the first part replaces a function
    for setting, part in parts:
        try:
            if unknown[part]:
                raise ValueError("%s is not the tested one" % unknown[part])
            strategy = importlib.import_module("bpa_acceleration." + part).start(settings[setting], strategy)
        except Exception as error:  # the playbook runs without this part
            off(strategy, "%s: %s" % (setting, error))
    return strategy


def off(strategy, why, colon=":"):
    print("acceleration: off%s %s" % (colon, why), file=sys.stderr)
    return strategy
