# SPDX-License-Identifier: Apache-2.0
"""Tests of the module bpa_software with substitutes for Ansible and for the programs that it starts."""
import os
import sys
import tempfile
import types
import unittest
import urllib.error

for name in ("ansible", "ansible.module_utils", "ansible.module_utils.basic", "ansible.module_utils.urls"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["ansible.module_utils.basic"].AnsibleModule = None
sys.modules["ansible.module_utils.urls"].open_url = None
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "library"))
import bpa_software as module  # noqa: E402

SUM = "a" * 64


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.ran = []
        self.answer = lambda argv: (0, "")
        module.run = self.run_program
        module.time.sleep = lambda seconds: None
        self.node = module.Node({"root": folder.name, "lockSeconds": 0})
        self.node.manager = "apt"

    def run_program(self, argv, limit, env=None, cwd="/"):
        self.ran.append(argv)
        return self.answer(argv)

    def apply(self, **action):
        return self.node.apply([dict({"do": "install", "name": "tool"}, **action)])

    def fails(self, out):
        self.answer = lambda argv: (100, out) if argv[0] == "apt-get" else (0, "")

    def test_causes_that_end_by_themselves(self):
        for out, later in (("E: Could not get lock /var/lib/dpkg/lock-frontend.", True), ("E: Failed to fetch http://x  Could not connect", True),
                           ("E: Failed to fetch http://x  404  Not Found", False), ("E: Unable to correct problems", False)):
            self.fails(out)
            self.assertEqual(self.apply(), {"tool": out})
            self.assertEqual(self.node.later, {"tool"} if later else set(), out)

    def test_downloads(self):
        for failure, later in ((OSError("connection refused"), True), (urllib.error.HTTPError("http://x", 503, "busy", {}, None), True),
                               (urllib.error.HTTPError("http://x", 404, "gone", {}, None), False)):
            def open_url(*_, **__):
                raise failure
            module.open_url = open_url
            errors = self.apply(file={"url": "http://x", "format": "deb", "sha256": SUM})
            self.assertIn("cannot be downloaded", errors["tool"])
            self.assertEqual(self.node.later, {"tool"} if later else set(), str(failure))

    def installed_tar(self):
        home = os.path.join(self.node.root, "tool")
        os.makedirs(os.path.join(home, "1.0"))
        module.write_json(os.path.join(home, "installed.json"), {"version": "1.0", "sha256": SUM})

    def test_tar_stays_if_its_successor_cannot_be_installed(self):
        self.installed_tar()
        self.fails("E: Unable to correct problems")
        self.assertEqual(self.apply(replacesTar=True), {"tool": "E: Unable to correct problems"})
        self.assertEqual(self.node.mark("tool"), {"version": "1.0", "sha256": SUM})
        self.assertTrue(all("-s" in argv for argv in self.ran if argv[0] == "apt-get"), self.ran)

    def test_tar_is_removed_before_its_successor_is_installed(self):
        self.installed_tar()
        marks = []

        def answer(argv):
            if argv[0] == "apt-get":
                marks.append(self.node.mark("tool"))
            return 0, ""
        self.answer = answer
        self.assertEqual(self.apply(replacesTar=True, downgrade=True), {})
        self.assertEqual(marks, [{"version": "1.0", "sha256": SUM}, None])
        simulation, real = [argv for argv in self.ran if argv[0] == "apt-get"]
        self.assertEqual([word for word in simulation if word != "-s"], real)


if __name__ == "__main__":
    unittest.main()
