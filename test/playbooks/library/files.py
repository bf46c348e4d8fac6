#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes several small text files in one round trip to the machine, instead of two round trips per file."""

DOCUMENTATION = r"""
module: files
short_description: Write several small text files
options:
  files:
    description: Files to write. Missing parent folders are created.
    type: list
    elements: dict
    required: true
    suboptions:
      path: {type: path, required: true}
      content: {type: str, required: true}
      mode: {type: str, default: "0644"}
"""

import os
import tempfile

from ansible.module_utils.basic import AnsibleModule


def differs(path, content, mode):
    try:
        with open(path, encoding="utf-8") as f:
            return f.read() != content or os.stat(path).st_mode & 0o7777 != mode
    except FileNotFoundError:
        return True


def write(module, path, content, mode):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    handle, new = tempfile.mkstemp(dir=module.tmpdir)
    with os.fdopen(handle, "w", encoding="utf-8") as f:
        f.write(content)
    os.chmod(new, mode)
    module.atomic_move(new, path)
    os.chmod(path, mode)


def main():
    spec = {
        "path": {"type": "path", "required": True},
        "content": {"type": "str", "required": True},
        "mode": {"type": "str", "default": "0644"},
    }
    module = AnsibleModule(
        {"files": {"type": "list", "elements": "dict", "required": True, "options": spec}}, supports_check_mode=True
    )
    changed = []
    for f in module.params["files"]:
        mode = int(f["mode"], 8)
        if not differs(f["path"], f["content"], mode):
            continue
        changed.append(f["path"])
        if not module.check_mode:
            write(module, f["path"], f["content"], mode)
    module.exit_json(changed=bool(changed), written=changed)


if __name__ == "__main__":
    main()
