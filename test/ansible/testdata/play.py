# SPDX-License-Identifier: Apache-2.0
"""Play one integration target of ansible-core as ansible-test does, on a machine that is its own node over ssh.

    play.py TARGET SECONDS

It prints {"rc": ..., "seconds": ..., "results": ..., "digest": ..., "off": [...]}. The results of all tasks are in
/opt/results/TARGET, and what the target has printed is in /opt/results/TARGET.log. rc is -1 if the target needs more SECONDS.
"""
from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

CORE, ANSIBLE, RESULTS, OUTPUT = "/opt/core", "/opt/ansible", "/opt/results", "/root/output"
INTEGRATION = CORE + "/test/integration"
PLUGINS = CORE + "/test/support/integration/plugins"
# Results by chance, also without accelerations. Only the exit status of the target says whether they are right.
RANDOM = ("test_random_delegate_to_with_loop.yml:",)


def environment(events):
    """Return the variables that ansible-test sets. The caller's ones, which switch accelerations on, are kept."""
    env = {
        "ANSIBLE_PYTHON_MODULE_RLIMIT_NOFILE": "1024", "ANSIBLE_FORCE_COLOR": "false", "ANSIBLE_FORCE_HANDLERS": "true", "ANSIBLE_HOST_PATTERN_MISMATCH": "error",
        "ANSIBLE_INVENTORY": "/dev/null", "ANSIBLE_DEPRECATION_WARNINGS": "false", "ANSIBLE_HOST_KEY_CHECKING": "false", "ANSIBLE_RETRY_FILES_ENABLED": "false",
        "ANSIBLE_CONFIG": "/opt/ansible.cfg", "ANSIBLE_LIBRARY": PLUGINS + "/modules", "ANSIBLE_MODULE_UTILS": PLUGINS + "/module_utils",
        "ANSIBLE_DEVEL_WARNING": "false", "PAGER": "/bin/cat", "LC_ALL": "C.UTF-8", "HOME": "/root", "OUTPUT_DIR": OUTPUT,
        "PATH": ":".join([ANSIBLE + "/bin", CORE + "/test/lib/ansible_test/_util/target/injector", os.environ["PATH"]]),
        "ANSIBLE_PYTHON_INTERPRETER": "/set/ansible_python_interpreter/in/inventory", "ANSIBLE_TEST_CI": "",
        "ANSIBLE_TEST_COVERAGE": "", "ANSIBLE_TEST_ANSIBLE_VERSION": "2.18.19", "ANSIBLE_TEST_PYTHON_VERSION": "3.11", "ANSIBLE_TEST_PREFER_VENV": "1",
        "ANSIBLE_TEST_PYTHON_INTERPRETER": ANSIBLE + "/bin/python3", "INVENTORY_PATH": INTEGRATION + "/inventory", "BPA_EVENTS": events,
    }
    for kind in os.listdir(PLUGINS):
        if kind not in ("modules", "module_utils"):
            env["ANSIBLE_%s_PLUGINS" % kind.upper()] = os.path.join(PLUGINS, kind)
    return env | {name: value for name, value in os.environ.items() if name in ("ANSIBLE_STRATEGY_PLUGINS", "BPA_ACCELERATION")}


def command(target):
    """Return the command of a target and its folder."""
    folder = os.path.join(INTEGRATION, "targets", target)
    if os.path.exists(folder + "/runme.sh"):
        return ["./runme.sh"], folder, {}
    with open(folder + "/aliases") as file:
        facts = "gather_facts/no" not in file.read()
    name = target + "-play.yml"
    with open(os.path.join(INTEGRATION, name), "w") as file:
        json.dump([{"hosts": "testhost", "gather_facts": facts, "vars": {"output_dir": OUTPUT}, "roles": [target]}], file)
    return ["ansible-playbook", name, "-i", "inventory"], INTEGRATION, {"ANSIBLE_ROLES_PATH": INTEGRATION + "/targets"}


def run(target, limit, events):
    """Return the exit status of the target."""
    words, folder, more = command(target)
    with open(os.path.join(RESULTS, target + ".log"), "wb") as log:
        env = environment(events) | more | {"ANSIBLE_PLAYBOOK_DIR": folder}
        process = subprocess.Popen(words, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            return -1
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)  # what it has left behind, too
            except ProcessLookupError:
                pass
            process.wait()


def collect(events):
    """Return the results of all runs of Ansible, in the order of their starts. In a run, those of a host follow each other."""
    lines = []
    for name in sorted(os.listdir(events)):
        with open(os.path.join(events, name)) as file:
            text = file.read()
        if any(playbook in text for playbook in RANDOM):
            continue
        run = [json.loads(line) for line in text.splitlines(True) if line.endswith("\n")]
        run.sort(key=lambda event: event[:2])
        lines += [json.dumps(event, sort_keys=True) for event in run] + ['"end of a run"']
    return "".join(line + "\n" for line in lines)


def main(target, limit):
    events = os.path.join(RESULTS, target + ".events")
    for folder in (events, OUTPUT):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
    # Targets write into their folders, and into those of others.
    subprocess.run(["rsync", "-a", "--delete", "/opt/pristine/", CORE + "/"], check=True, timeout=60)
    start = time.monotonic()
    rc = run(target, limit, events)
    text = collect(events)
    with open(os.path.join(RESULTS, target), "w") as file:
        file.write(text)
    with open(os.path.join(RESULTS, target + ".log"), errors="replace") as log:
        off = [line.strip() for line in log if "acceleration: off" in line and "jinja2_native" not in line]  # lazy.py says why
    print(json.dumps({"rc": rc, "seconds": round(time.monotonic() - start, 1), "results": text.count("\n"),
                      "digest": hashlib.sha256(text.encode()).hexdigest()[:16], "off": off}))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
