# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters that show where and how often Ansible evaluates a template."""
import os


def pid(_):
    return os.getpid()


def note(text):
    with open(os.environ["NOTES"], "a") as file:
        file.write(text + "\n")
    return text


class FilterModule:
    def filters(self):
        return {"pid": pid, "note": note}
