# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiled templates that all processes of a run share.

Ansible runs each task on each host in a process of its own, which ends afterwards. Each of them
compiles the templates again: with kubespray, this is more than half of all processor time.
"""
from __future__ import annotations

import gc
import hashlib
import marshal
import os
import stat
import sys
import tempfile

import jinja2
from jinja2 import nodes
from jinja2.environment import Environment


class Cache:
    """Code objects, by the text and the environment of their templates, in memory and in a folder."""

    def __init__(self, folder, compile):
        self.folder, self.compile, self.memory = folder, compile, {}
        self.salt = repr((jinja2.__version__, sys.version))

    def get(self, environment, source):
        key = (_settings(environment), source)
        code = self.memory.get(key)
        if code is None:
            path = os.path.join(self.folder, hashlib.sha256(repr((self.salt, key)).encode("utf-8", "surrogatepass")).hexdigest())
            code = _read(path)
            if code is None:
                code = self.compile(environment, source)
                _write(path, code)
            self.memory[key] = code
        return code


def _settings(environment):
    """Everything of an environment that changes the code of a template."""
    e = environment
    return (type(e).__name__, e.block_start_string, e.block_end_string, e.variable_start_string, e.variable_end_string,
            e.comment_start_string, e.comment_end_string, e.line_statement_prefix, e.line_comment_prefix, e.trim_blocks, e.lstrip_blocks,
            e.newline_sequence, e.keep_trailing_newline, e.optimized, getattr(e.finalize, "__qualname__", e.finalize), e.autoescape, e.is_async,
            tuple(sorted(e.extensions)), e.undefined.__name__, e.code_generator_class.__qualname__)


def _read(path):
    try:
        with open(path, "rb") as file:
            digest, content = file.read(32), file.read()
        if hashlib.sha256(content).digest() == digest:
            return marshal.loads(content)
    except (OSError, ValueError, EOFError, TypeError):
        pass
    return None  # no such file, or a damaged one


def _write(path, code):
    content = marshal.dumps(code)
    name = None
    try:
        fd, name = tempfile.mkstemp(dir=os.path.dirname(path))
        with os.fdopen(fd, "wb") as file:
            file.write(hashlib.sha256(content).digest() + content)
        os.rename(name, path)
    except OSError:  # such as a full disk
        if name:
            _remove(name)


def _remove(path):
    try:
        os.unlink(path)
    except OSError:
        pass


def private(folder):
    """Make the folder, or raise an error if another user can write to it: its files are executed."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    is_ = os.lstat(folder)
    if not stat.S_ISDIR(is_.st_mode) or is_.st_uid != os.geteuid() or is_.st_mode & 0o077:
        raise ValueError("%s is not a private folder of this user" % folder)


def start(folder, strategy):
    private(folder)
    cache = Cache(folder, Environment.compile)

    def compile(self, source, name=None, filename=None, raw=False, defer_init=False):
        if raw or defer_init or name is not None or filename is not None or not isinstance(source, str):
            return cache.compile(self, source, name, filename, raw, defer_init)
        return cache.get(self, str(source))

    def impure(self, eval_ctx=None):
        raise nodes.Impossible()

    Environment.compile = compile
    # jinja2 calls filters and tests with constant arguments when it compiles. Such a result must not be
    # kept: it can depend on the time, on chance or on files.
    nodes._FilterTestCommon.as_const = impure
    gc.collect()
    gc.freeze()  # a collection in a forked process would copy the pages of all objects
    gc.set_threshold(100000, 50, 100)
    return strategy
