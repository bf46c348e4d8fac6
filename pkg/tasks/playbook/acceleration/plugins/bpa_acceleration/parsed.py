# SPDX-License-Identifier: GPL-3.0-or-later
"""Python files that are parsed once.

For the archive of a module, Ansible parses the module and all files that it imports, to find their imports. Most
modules import the same files. Here, the imports of a file are kept, by its text. This is of use only where one process
makes the archives: see threads.py.
"""
from __future__ import annotations

import ast

from ansible.executor import module_common


class Source:
    """A text that was parsed, in place of its tree."""

    def __init__(self, text):
        self.text, self.found = text, {}
        self.tree = self.parse()

    def parse(self):
        return compile(self.text, "<unknown>", "exec", ast.PyCF_ONLY_AST)


def install():
    sources, finder = {}, module_common.ModuleDepFinder
    builtin = finder.__init__

    def parse(text, filename, mode, flags):
        if (filename, mode, flags) != ("<unknown>", "exec", ast.PyCF_ONLY_AST):
            raise ValueError("this Ansible parses modules in another way")
        if text not in sources:
            sources[text] = Source(text)
        return sources[text]

    def find(self, name, source, is_package=False):
        key = (name, is_package)
        if key not in source.found:
            builtin(self, name, source.tree or source.parse(), is_package)
            source.found[key] = frozenset(self.submodules), frozenset(self.optional_imports)
            source.tree = None  # trees are large
        self.submodules, self.optional_imports = source.found[key]

    module_common.compile, finder.__init__ = parse, find
