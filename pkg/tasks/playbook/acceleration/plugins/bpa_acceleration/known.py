# SPDX-License-Identifier: GPL-3.0-or-later
"""The texts of Ansible's functions with which the parts were tested.

A part replaces functions of Ansible that are not public, repeats others, and depends on further ones. If the text of one of
them is another one, the part is off. So a patch release of Ansible that does not change them needs no new build, and one that changes them is
not accelerated without a test. As a program, this file prints the table TEXTS for the present version of Ansible.
"""
from __future__ import annotations

import hashlib
import importlib
import inspect

# By part, the functions that it depends on. A class stands for all of its functions.
FUNCTIONS = {
    "templates": ("jinja2.environment:Environment.compile", "jinja2.environment:Environment._parse", "jinja2.environment:Environment._generate",
                  "jinja2.environment:Environment._compile", "jinja2.nodes:_FilterTestCommon.as_const"),
    "lazy": ("ansible.template.vars:AnsibleJ2Vars.__getitem__", "ansible.template.vars:AnsibleJ2Vars"),
    "threads": ("ansible.executor.process.worker:WorkerProcess._run", "ansible.executor.process.worker:WorkerProcess.run",
                "ansible.executor.task_executor:TaskExecutor", "ansible.executor.task_queue_manager:FinalQueue",
                "ansible.executor.task_queue_manager:TaskQueueManager", "ansible.plugins.strategy:StrategyBase", "ansible.plugins.strategy:results_thread_main",
                "ansible.plugins.connection.ssh:Connection.exec_command", "ansible.plugins.connection.ssh:Connection.put_file",
                "ansible.plugins.connection.ssh:Connection.fetch_file", "ansible.plugins.connection.ssh:Connection.close",
                "ansible.plugins.connection.local:Connection", "ansible.executor.module_common:ModuleDepFinder",
                "ansible.executor.module_common:recursive_finder", "ansible.playbook.task:Task.copy",
                "ansible.template:Templar._lookup", "ansible.template:Templar.do_template", "jinja2.environment:Environment.compile"),
    "inprocess": ("ansible.executor.task_executor:TaskExecutor", "ansible.plugins.strategy:StrategyBase", "ansible.playbook.task:Task.copy",
                  "ansible.playbook.task:Task.post_validate", "ansible.template:Templar._lookup", "ansible.template:Templar.do_template",
                  "jinja2.environment:Environment.compile"),
    "facts": ("ansible.vars.manager:VariableManager.get_vars", "ansible.vars.fact_cache:FactCache", "ansible.vars.clean:clean_facts",
              "ansible.vars.clean:namespace_facts", "ansible.utils.unsafe_proxy:wrap_var"),
    "modules": ("ansible.executor.module_common:ACTIVE_ANSIBALLZ_TEMPLATE", "ansible.executor.module_common:_find_module_utils"),
    "interpreter": ("ansible.plugins.connection.ssh:_ssh_retry", "ansible.plugins.connection.ssh:Connection._run",
                    "ansible.plugins.connection.ssh:Connection._bare_run", "ansible.plugins.connection.ssh:Connection._build_command",
                    "ansible.plugins.connection.ssh:Connection._file_transport_command", "ansible.plugins.connection.ssh:Connection.exec_command",
                    "ansible.plugins.connection.ssh:Connection.reset"),
}

# Of ansible-core 2.18.19 and jinja2 3.1.
TEXTS = {
    "ansible.executor.module_common:ACTIVE_ANSIBALLZ_TEMPLATE": "e6da32f25beb82ba",
    "ansible.executor.module_common:ModuleDepFinder": "c62200701a43e60d",
    "ansible.executor.module_common:_find_module_utils": "2e11acdbcd1a400e",
    "ansible.executor.module_common:recursive_finder": "5761dc62c60f6475",
    "ansible.executor.process.worker:WorkerProcess._run": "60ca51aafb98ea62",
    "ansible.executor.process.worker:WorkerProcess.run": "f99c91134bfc3f1b",
    "ansible.executor.task_executor:TaskExecutor": "4301a6d82c2a45fd",
    "ansible.executor.task_queue_manager:FinalQueue": "252531a69b132664",
    "ansible.executor.task_queue_manager:TaskQueueManager": "fdd4c7f580f6c4f8",
    "ansible.playbook.task:Task.copy": "5d865a565252df73",
    "ansible.playbook.task:Task.post_validate": "c07c7525ffd7238b",
    "ansible.plugins.connection.local:Connection": "f6015fb2eca24745",
    "ansible.plugins.connection.ssh:Connection._bare_run": "7cd83a4d3de8a0ec",
    "ansible.plugins.connection.ssh:Connection._build_command": "8fcdf271c4d9e6b4",
    "ansible.plugins.connection.ssh:Connection._file_transport_command": "1ef258164f594921",
    "ansible.plugins.connection.ssh:Connection._run": "5d598a5a69cee45a",
    "ansible.plugins.connection.ssh:Connection.close": "5124aeac75aa7a27",
    "ansible.plugins.connection.ssh:Connection.exec_command": "3470b42d8b729892",
    "ansible.plugins.connection.ssh:Connection.fetch_file": "1a71710fe33930ec",
    "ansible.plugins.connection.ssh:Connection.put_file": "e801b71ae19e46d9",
    "ansible.plugins.connection.ssh:Connection.reset": "062be30c8708927f",
    "ansible.plugins.connection.ssh:_ssh_retry": "1cdb5e3893c860ae",
    "ansible.plugins.strategy:StrategyBase": "757ce58673919745",
    "ansible.plugins.strategy:results_thread_main": "af1627025715ff4b",
    "ansible.template.vars:AnsibleJ2Vars": "bb0bc6a19aa3de95",
    "ansible.template.vars:AnsibleJ2Vars.__getitem__": "a7fed1b1fe86c14c",
    "ansible.template:Templar._lookup": "8b8eba5017e25588",
    "ansible.template:Templar.do_template": "d7e620e3607d1821",
    "ansible.utils.unsafe_proxy:wrap_var": "783d33bec124c261",
    "ansible.vars.clean:clean_facts": "75cadad03511ba79",
    "ansible.vars.clean:namespace_facts": "5f331dfd64ff3be7",
    "ansible.vars.fact_cache:FactCache": "4e760445c1402cd2",
    "ansible.vars.manager:VariableManager.get_vars": "04406ac1660bb350",
    "jinja2.environment:Environment._compile": "63636aae24a8b436",
    "jinja2.environment:Environment._generate": "dd7277bd6be30517",
    "jinja2.environment:Environment._parse": "a3e20ac331a8a4c7",
    "jinja2.environment:Environment.compile": "634cba867b25347f",
    "jinja2.nodes:_FilterTestCommon.as_const": "69e000cc27c3fcf5",
}


def changed(part):
    """Return the first function of a part whose text is not known, or None."""
    return next((name for name in FUNCTIONS[part] if _digest(name) != TEXTS.get(name)), None)


def _digest(name):
    """Return a part of the digest of the text of a function."""
    module, _, path = name.partition(":")
    try:
        found = importlib.import_module(module)
        for attribute in path.split("."):
            found = getattr(found, attribute)
        return hashlib.sha256(_text(found).encode()).hexdigest()[:16]
    except (ImportError, AttributeError, OSError, TypeError):  # it does not exist, or has no text
        return ""


def _text(found):
    if isinstance(found, str):
        return found
    if not inspect.isclass(found):
        return inspect.getsource(found)
    members = (getattr(member, "__func__", getattr(member, "fget", member)) for _, member in sorted(vars(found).items()))
    return "".join(inspect.getsource(member) for member in members if inspect.isfunction(member))


if __name__ == "__main__":
    for name in sorted(set(sum(FUNCTIONS.values(), ()))):
        print('    "%s": "%s",' % (name, _digest(name)))
