# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible's modules, unpacked and compiled on the nodes.

Ansible sends a module with all Python files that it imports as one archive. The node compiles these files
again for each task. Here, the node keeps them in a folder below /run that only root can open, so Python
compiles each of them once. /run is in memory: a reboot removes the folder.

Modules share their files. One with another content, such as a module of a playbook with the name of one of Ansible's, has a
folder of its own, up to MOST of them, because they are in memory.

A module that does not run as root, or that finds no such folder, runs as always.
"""
from __future__ import annotations

import inspect
import textwrap

import ansible.release
from ansible.executor import module_common



def name_of(zipdata):
    """Return a name for the content of an archive: Ansible writes the time of the run into it, and the files in any order."""
    import base64
    import hashlib
    import io
    import zipfile
    entries = zipfile.ZipFile(io.BytesIO(base64.b64decode(zipdata))).infolist()
    content = repr(sorted((e.filename, e.CRC, e.file_size) for e in entries))
    return hashlib.sha256(content.encode('utf-8')).hexdigest()


FOLDER = "/run/bpa-ansible-" + ansible.release.__version__
MOST = 16

# KEEP replaces the line that imports base64 in Ansible's wrapper of modules. It runs on the node, with any Python
# that Ansible supports there. Percent signs are doubled, because Ansible formats the wrapper.
KEEP = '''
    ZIPDATA = %(zipdata)r

NAME_OF
    def kept():
        import stat
        root = 'FOLDER'
        try:
            os.mkdir(root, 0o700)
        except OSError:
            pass
        is_ = os.lstat(root)
        if not stat.S_ISDIR(is_.st_mode) or is_.st_uid != 0 or is_.st_mode & 0o077:
            return None
        link = os.path.join(root, name_of(ZIPDATA))
        try:
            folder = os.path.join(root, os.readlink(link))
            if os.path.isfile(os.path.join(folder, 'ansible/module_utils/basic.py')):
                return folder
            os.unlink(link)  # somebody has removed the folder
        except OSError:
            pass
        free = os.statvfs(root)
        if free.f_bavail * free.f_frsize < 32 << 20:
            return None  # the space belongs to the node
        return unpack(root, link)

    def unpack(root, link):
        import base64
        import io
        import tempfile
        import zipfile
        archive = zipfile.ZipFile(io.BytesIO(base64.b64decode(ZIPDATA)))
        names = [n for n in archive.namelist() if not n.endswith('/')]
        if [n for n in names if n.startswith('/') or '..' in n.split('/')]:
            return None
        target = os.path.join(root, 'all')  # modules share their files
        for name in names:
            path = os.path.join(target, name)
            if os.path.exists(path):
                with open(path, 'rb') as f:
                    if f.read() != archive.read(name):  # such as a module of a playbook with a name of Ansible's
                        target = os.path.join(root, 'own-' + os.path.basename(link))
                        break
        if not target.endswith('all') and len([n for n in os.listdir(root) if n.startswith('own-')]) >= MOST:
            return None
        for name in names:
            path = os.path.join(target, name)
            if os.path.exists(path):
                continue
            if not os.path.isdir(os.path.dirname(path)):
                try:
                    os.makedirs(os.path.dirname(path), 0o700)
                except OSError:
                    if not os.path.isdir(os.path.dirname(path)):
                        raise
            number, new = tempfile.mkstemp(dir=root)
            try:
                with os.fdopen(number, 'wb') as f:
                    f.write(archive.read(name))
                os.rename(new, path)
            except Exception:
                os.unlink(new)
                raise
        new = tempfile.mktemp(dir=root)
        os.symlink(os.path.basename(target), new)
        os.rename(new, link)
        return target

    if sys.version_info >= (3,) and os.geteuid() == 0 and len(sys.argv) < 2:
        try:
            folder = kept()
        except Exception:  # such as a full /run: the module runs as always
            folder = None
        if folder:
            import runpy
            sys.path.insert(0, folder)
            from ansible.module_utils import basic
            basic._ANSIBLE_ARGS = %(params)s.encode('utf-8')
            runpy.run_module(mod_name=%(module_fqn)r, init_globals=dict(_module_fqn=%(module_fqn)r, _modlib_path=folder),
                             run_name='__main__', alter_sys=True)
            print('{"msg": "New-style module did not handle its own exit", "failed": true}')
            sys.exit(1)

    import base64
'''

IMPORT, DATA = "\n    import base64\n", "    ZIPDATA = %(zipdata)r\n"


def start(_, strategy):
    template = module_common.ACTIVE_ANSIBALLZ_TEMPLATE
    if template.count(IMPORT) != 1 or template.count(DATA) != 1:
        raise ValueError("the wrapper of modules is not the known one")
    template, source = template.replace(DATA, ""), textwrap.indent(inspect.getsource(name_of), "    ")
    module_common.ACTIVE_ANSIBALLZ_TEMPLATE = template.replace(IMPORT, KEEP.replace("FOLDER", FOLDER).replace("MOST", str(MOST)).replace("NAME_OF", source))
    return strategy
