# SPDX-License-Identifier: Apache-2.0
"""Tests of the module bpa_software with the real rpm and dnf, which work in a folder. $RPM_TOOLS is the root of
their unpacked packages, and $RPM_WORK an empty folder."""
import hashlib
import os
import subprocess
import sys
import types
import unittest

TOOLS, WORK = os.environ["RPM_TOOLS"], os.environ["RPM_WORK"]
for name in ("ansible", "ansible.module_utils", "ansible.module_utils.basic", "ansible.module_utils.urls"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["ansible.module_utils.basic"].AnsibleModule = None
sys.modules["ansible.module_utils.urls"].open_url = lambda url, **_: open(url, "rb")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "library"))
import bpa_software as module  # noqa: E402

BIN, ROOT, REPO = os.path.join(WORK, "bin"), os.path.join(WORK, "root"), os.path.join(WORK, "repo")
SPEC = """Name: %s
Version: %s
Release: 1
Summary: a package of a test
License: none
BuildArch: noarch
%s
%%description
nothing
%%install
mkdir -p %%{buildroot}/etc
echo %s > %%{buildroot}/etc/%s.conf
%%files
%%config(noreplace) /etc/%s.conf
"""


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)


def program(name, command):
    write(os.path.join(BIN, name), """#!/bin/sh
export LD_LIBRARY_PATH=%s/usr/lib/x86_64-linux-gnu RPM_CONFIGDIR=%s/usr/lib/rpm PYTHONPATH=%s/usr/lib/python3/dist-packages
exec %s "$@"
""" % (TOOLS, TOOLS, TOOLS, command), 0o755)


def build(folder, name, version, *fields):
    """Build a package and return its file."""
    spec = os.path.join(WORK, "tool.spec")
    write(spec, SPEC % (name, version, "\n".join(fields), version, name, name))
    subprocess.run([os.path.join(BIN, "rpmbuild"), "-bb", "--define", "_topdir " + os.path.join(WORK, "build"), "--define", "_rpmdir " + folder,
                    "--define", "_build_name_fmt %%{NAME}-%%{VERSION}.rpm", "--define", "__spec_install_post %{nil}", spec],
                   env=dict(os.environ, PATH="/usr/sbin:/usr/bin:/sbin:/bin"), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    path = os.path.join(folder, name + "-" + version + ".rpm")
    with open(path, "rb") as f:
        return {"url": path, "format": "rpm", "sha256": hashlib.sha256(f.read()).hexdigest(), "size": os.path.getsize(path)}


def setUpModule():
    program("rpmbuild", TOOLS + "/usr/bin/rpmbuild")
    program("createrepo_c", TOOLS + "/usr/bin/createrepo_c")
    program("rpm", TOOLS + "/usr/bin/rpm --root " + ROOT)
    program("dnf", "/usr/bin/python3 %s/usr/bin/dnf --installroot %s --config %s/etc/dnf.conf --setopt=reposdir=%s/etc/repos --setopt=pluginpath=/none --releasever=1" %
            (TOOLS, ROOT, ROOT, ROOT))
    write(ROOT + "/etc/dnf.conf", "[main]\ngpgcheck=0\n")
    write(ROOT + "/etc/repos/site.repo", "[site]\nname=site\nbaseurl=file://%s\ngpgcheck=0\nmetadata_expire=1\n" % REPO)
    build(REPO, "needed", "1.0")
    for version in ("1.0", "2.0"):
        build(REPO, "plain", version, "Epoch: 2")
    subprocess.run([os.path.join(BIN, "createrepo_c"), REPO], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    environment = module.environment

    def with_programs(extra=None):
        env = environment(extra)
        env["PATH"] = BIN + ":" + env["PATH"]
        return env
    module.environment = with_programs
    os.environ["PATH"] = BIN  # a machine without apt and dpkg


class Case(unittest.TestCase):
    def setUp(self):
        self.node = module.Node({"root": os.path.join(WORK, "bpa"), "lockSeconds": 5})

    def expect(self, name, native, **want):
        got = self.node.look([{"name": name, "version": want.pop("version", ""), "sources": "candidate" in want}])[name]
        self.assertEqual(got["native"], native)
        self.assertEqual({key: got[key] for key in want}, want)

    def do(self, verb, name, **action):
        return self.node.apply([dict(action, do=verb, name=name)]).get(name, "")

    def test_all(self):
        self.assertEqual(self.node.manager, "dnf")
        up = os.path.join(WORK, "up")
        first, second = build(up, "tool", "1.0", "Requires: needed"), build(up, "tool", "2.0", "Requires: needed")
        zero = build(up, "zero", "1.0", "Epoch: 0")

        self.expect("tool", "")
        self.assertEqual(self.do("install", "tool", version="1.0-1", file=first), "")
        self.expect("tool", "1.0-1", version="2.0-1", order={"1.0-1": {"2.0-1": -1}})
        self.expect("needed", "1.0-1")
        write(ROOT + "/etc/tool.conf", "of the site\n")
        self.assertEqual(self.do("install", "tool", version="2.0-1", file=second), "")
        self.expect("tool", "2.0-1")
        with open(ROOT + "/etc/tool.conf") as f:
            self.assertEqual(f.read(), "of the site\n")
        self.assertEqual(self.do("install", "tool", version="1.0-1", file=first, downgrade=True), "")
        self.expect("tool", "1.0-1")
        self.assertIn("is not the package other 2.0-1", self.do("install", "other", version="2.0-1", file=second))
        self.expect("tool", "1.0-1")
        self.assertEqual(self.do("install", "zero", version="1.0-1", file=zero), "")
        self.expect("zero", "1.0-1")

        self.expect("plain", "", candidate="2:2.0-1", versions=["2:1.0-1", "2:2.0-1"])
        self.assertEqual(self.do("install", "plain", version="2:1.0-1"), "")
        self.expect("plain", "2:1.0-1", candidate="2:2.0-1", order={"2:1.0-1": {"2:2.0-1": -1}})
        self.assertEqual(self.do("install", "plain", version="2:2.0-1"), "")
        self.expect("plain", "2:2.0-1")
        self.assertIn("No match for argument: none", self.do("install", "none"))

        self.assertIn("is needed by", self.do("remove", "needed"))
        self.expect("needed", "1.0-1")
        self.assertEqual(self.node.apply([{"do": "remove", "name": "needed"}, {"do": "remove", "name": "tool"}]), {})
        self.expect("needed", "")
        self.expect("tool", "")


if __name__ == "__main__":
    unittest.main()
