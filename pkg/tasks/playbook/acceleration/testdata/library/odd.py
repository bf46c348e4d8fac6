#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
# A module that does what few modules do. Parameter do: what.
import os
import signal
import sys
import time

from ansible.module_utils.basic import AnsibleModule


def daemon(seconds):
    if os.fork():
        return
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
    os.setsid()
    time.sleep(seconds)
    os._exit(0)


def main():
    module = AnsibleModule(argument_spec={"do": {"required": True}, "path": {"default": ""}})
    do, result = module.params["do"], {}
    if module.params["path"]:
        with open(module.params["path"], "a") as file:
            file.write("started\n")
    if do == "raise":
        raise RuntimeError("odd")
    elif do == "garbage":
        print("no JSON")
        sys.exit(0)
    elif do == "exit":
        sys.exit(7)
    elif do == "text":
        sys.exit("the end")
    elif do == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif do == "kill-parent":
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(1)  # nobody is left that could take the answer
    elif do == "sleep":
        time.sleep(600)
    elif do == "session":
        os.setsid()
    elif do == "daemon":
        daemon(20)
    elif do == "import":
        import bpa_own_package
        result["found"] = bpa_own_package.VALUE
    elif do == "state":
        result.update(parent=os.getppid())
    module.exit_json(**result)


if __name__ == "__main__":
    main()
