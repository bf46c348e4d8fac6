# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of hosts that are prepared once.

Ansible copies all facts of a host for the variables of each task, although they rarely change. Here, the
copies are kept until facts of a host are set or removed.
"""
from __future__ import annotations

from ansible.vars import manager
from ansible.vars.fact_cache import FactCache


class Prepared:
    """Results of functions by their argument, which is a dictionary of facts or the result of such a function."""

    def __init__(self):
        self.results = {}  # by the identity of a dictionary: the dictionary, which keeps its identity, and results by function

    def know(self, facts):
        if isinstance(facts, dict) and facts:
            self.results.setdefault(id(facts), (facts, {}))
        return facts

    def once(self, function):
        def prepared(facts):
            known = self.results.get(id(facts))
            if known is None:
                return function(facts)
            if function not in known[1]:
                known[1][function] = self.know(function(facts))
            return known[1][function]

        return prepared


def start(_, strategy):
    prepared = Prepared()
    namespace_facts = prepared.once(manager.namespace_facts)

    def namespaced(facts):
        return {name: dict(values) for name, values in namespace_facts(facts).items()}  # tasks set members of ansible_facts

    def forget(method):
        def changed(self, *args, **kwargs):
            prepared.results.clear()
            return method(self, *args, **kwargs)

        return changed

    get = FactCache.__getitem__
    FactCache.__getitem__ = lambda self, host: prepared.know(get(self, host))
    for name in ("__setitem__", "__delitem__", "flush"):
        setattr(FactCache, name, forget(getattr(FactCache, name)))
    manager.wrap_var, manager.clean_facts = prepared.once(manager.wrap_var), prepared.once(manager.clean_facts)
    manager.namespace_facts = namespaced
    return strategy
