# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of which only the used entries are templated.

kubespray's variable downloads has about 60 entries of many templates each. Ansible templates all of them
whenever a task uses one. The values are the same. One difference is left: an entry that uses an
undefined variable makes this entry undefined, and no longer the whole variable.
"""
from __future__ import annotations

from collections.abc import MutableMapping

import yaml
from ansible import constants as C
from ansible.parsing.yaml.dumper import AnsibleDumper
from ansible.template.vars import AnsibleJ2Vars


class Lazy(MutableMapping):
    """A dictionary whose values are templated when they are read for the first time.

    It lives only while a template is rendered: Ansible makes text of the result of an expression, and
    a dictionary of this text.
    """

    def __init__(self, templar, values, whole):
        self._templar, self._values, self._done = templar, dict(values), set()
        self._whole = whole  # returns what Ansible returns for the variable

    def __getitem__(self, key):
        value = self._values[key]
        if key not in self._done:
            try:
                value = self._templar.template(value)
            except Exception:  # Ansible fails too, with a message about the whole variable
                return self._whole()[key]
            self._values[key] = value
            self._done.add(key)
        context = self._templar.cur_context
        if context is not None:
            # Ansible checks a variable when a template names it, and marks the result of the template
            # as one that must not be templated again if anything in the variable is marked.
            context._update_unsafe(value)
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


def _represent(dumper, lazy):
    return yaml.representer.SafeRepresenter.represent_dict(dumper, dict(lazy))


def start(names, strategy):
    if C.DEFAULT_JINJA2_NATIVE:
        raise ValueError("not possible with jinja2_native")  # a template could return the object itself
    names, get = frozenset(names), AnsibleJ2Vars.__getitem__

    def lazy(self, name):
        if name in names and not self._templar.jinja2_native:
            value = super(AnsibleJ2Vars, self).__getitem__(name)
            if isinstance(value, dict) and not hasattr(value, "__UNSAFE__"):
                return Lazy(self._templar, value, lambda: get(self, name))
        return get(self, name)

    AnsibleDumper.add_representer(Lazy, _represent)
    AnsibleJ2Vars.__getitem__ = lazy
    return strategy
