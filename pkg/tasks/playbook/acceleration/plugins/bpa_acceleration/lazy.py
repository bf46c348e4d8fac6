# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of which only the used entries are templated.

kubespray's variable downloads has about 60 entries of many templates each. Ansible templates all of them
whenever a task uses one.
"""
from __future__ import annotations

from collections.abc import MutableMapping

from ansible.template.vars import AnsibleJ2Vars


class Lazy(MutableMapping):
    """A dictionary whose values are templated when they are read for the first time."""

    def __init__(self, templar, values):
        self._templar, self._values, self._done = templar, dict(values), set()

    def __getitem__(self, key):
        value = self._values[key]
        if key not in self._done:
            value = self._values[key] = self._templar.template(value)
            self._done.add(key)
        return value

    def __setitem__(self, key, value):
        self._values[key] = value
        self._done.add(key)

    def __delitem__(self, key):
        del self._values[key]

    def __iter__(self):
        return iter(self._values)

    def __len__(self):
        return len(self._values)

    def __contains__(self, key):
        return key in self._values

    def copy(self):
        return dict(self)

    def __or__(self, other):
        return dict(self) | dict(other)

    def __ror__(self, other):
        return dict(other) | dict(self)

    def __repr__(self):
        return repr(dict(self))

    __str__ = __repr__

    def __reduce__(self):
        return dict, (dict(self),)


def start(names, strategy):
    names, get = frozenset(names), AnsibleJ2Vars.__getitem__

    def lazy(self, name):
        if name in names:
            value = super(AnsibleJ2Vars, self).__getitem__(name)
            if type(value) is dict and all(isinstance(key, str) and "{" not in key for key in value):
                return Lazy(self._templar, value)
        return get(self, name)

    AnsibleJ2Vars.__getitem__ = lazy
    return strategy
