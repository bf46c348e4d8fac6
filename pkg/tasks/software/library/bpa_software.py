#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Module bpa_software reads and changes the packages of a node.

It gets one JSON document and returns one JSON document, both in base64, so that no text of a package
can become a template of Ansible. It starts all programs with lists of arguments and without a shell.
It needs Python 3.6 and no other package. Package software of BPA (Go) describes both documents.
"""
import base64
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import tarfile
import tempfile
import time

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.urls import open_url

NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9+._-]{0,98}[A-Za-z0-9+._])?\Z")
VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+~:_^-]{0,99}\Z")
SHA256 = re.compile(r"[0-9a-f]{64}\Z")
LOCKED = re.compile(r"^(?:E:|dpkg: error:|error:).*(?:Could not get lock|is locked by another process|lock was locked by|"
                    r"Unable to (?:lock|acquire)|transaction lock)", re.M)
RESERVED = ("installed.json", "install.log", "uninstall.log")
TAIL = 4096  # bytes of output that are returned
UNFETCHED = re.compile(r"^(?:E: (?:Failed to fetch|Unable to fetch)|Error: (?:Failed to download metadata|Error downloading packages))", re.M)
DPKG_OPTIONS = ["-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold"]


class Problem(Exception):
    """Problem is a failure that is reported for one package. later: its cause can end by itself."""

    def __init__(self, text, later=False):
        super().__init__(text)
        self.later = later


def environment(extra=None):
    env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "HOME": "/root",
           "DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_SUSPEND": "1"}
    for name in ("APT_CONFIG", "DPKG_ROOT", "DPKG_ADMINDIR"):  # set by tests
        if name in os.environ:
            env[name] = os.environ[name]
    env.update(extra or {})
    return env


def passing(out):
    """Report whether a package manager failed for a cause that can end by itself. Status 404 does not."""
    return bool(LOCKED.search(out)) or bool(UNFETCHED.search(out)) and not re.search(r"404 |code: 404\b", out)


def tail(text):
    return text.strip()[-TAIL:]


def run(argv, limit, env=None, cwd="/"):
    """Run a program and return its status and its output. Its whole process group ends with the limit."""
    with tempfile.TemporaryFile() as out:
        try:
            p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=cwd,
                                 env=env or environment(), start_new_session=True)
        except OSError as e:
            return 127, "%s: %s" % (argv[0], e.strerror)
        try:
            status = p.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            p.wait()
            status = None
        size = out.seek(0, os.SEEK_END)
        out.seek(max(0, size - (1 << 20)))
        text = out.read().decode("utf-8", "replace")
    if status is None:
        return 124, tail(text) + "\n%s has not ended within %d s" % (os.path.basename(argv[0]), limit)
    return status, text


class Node:
    """Node has what the request says of the whole node."""

    def __init__(self, request):
        self.request = request
        self.root = request.get("root") or "/var/lib/bpa/software"
        self.lock_seconds = request.get("lockSeconds", 600)
        self.script_seconds = request.get("scriptSeconds", 1800)
        self.manager = ""
        if shutil.which("dpkg-query") and shutil.which("apt-get"):
            self.manager = "apt"
        elif shutil.which("rpm") and shutil.which("dnf"):
            self.manager = "dnf"
        self.architecture = self.native()
        self.notes = []
        self.later = set()

    def native(self):
        if self.manager == "apt":
            status, out = run(["dpkg", "--print-architecture"], 60)
            if status == 0:
                return out.strip()
        return os.uname().machine

    def patiently(self, argv, limit):
        """Run a package manager, and wait while another process holds its lock."""
        end = time.monotonic() + self.lock_seconds
        pause = 0.5
        while True:
            status, out = run(argv, limit)
            if status == 0 or not LOCKED.search(out) or time.monotonic() + pause > end:
                return status, out
            time.sleep(pause)
            pause = min(2 * pause, 10)

    # What the node has.

    def dpkg(self, name):
        status, out = run(["dpkg-query", "-W", "-f", "${db:Status-Abbrev}|${Version}|${Architecture}\n", "--", name], 60)
        if status != 0:
            return "", False
        rows = [line.split("|") for line in out.splitlines() if line.count("|") == 2]
        rows.sort(key=lambda r: r[2] not in (self.architecture, "all"))
        for state, version, _ in rows:
            if state[1:2] in ("i", "t", "W"):  # also with triggers that are to run
                return version, False
            if state[1:2] not in ("n", "c", " "):
                return version, True
        return "", False

    def rpm(self, name):
        status, out = run(["rpm", "-q", "--qf", "%{EPOCH}:%{VERSION}-%{RELEASE}\n", "--", name], 60)
        if status != 0:
            return "", False
        return re.sub(r"^(\(none\)|0):", "", out.splitlines()[-1]), False

    def native_version(self, name):
        if self.manager == "apt":
            return self.dpkg(name)
        if self.manager == "dnf":
            return self.rpm(name)
        return "", False

    def mark(self, name):
        """Return the mark of a tar package; None: there is none, or its folder is gone."""
        try:
            with open(os.path.join(self.root, name, "installed.json")) as f:
                mark = json.load(f)
        except (OSError, ValueError):
            return None
        if not isinstance(mark, dict) or not VERSION.match(str(mark.get("version", ""))):
            return None
        if not os.path.isdir(os.path.join(self.root, name, mark["version"])):
            return None
        return {"version": mark["version"], "sha256": str(mark.get("sha256", ""))}

    def compare(self, a, b):
        """Return -1, 0 or 1 as version a is older than, equal to or newer than b."""
        if not a or not b or a == b:
            return 0
        if shutil.which("dpkg"):
            for word, result in (("lt", -1), ("gt", 1)):
                if run(["dpkg", "--compare-versions", a, word, b], 60)[0] == 0:
                    return result
            return 0
        if not (VERSION.match(a) and VERSION.match(b)):
            return 0
        status, out = run(["rpm", "--eval", '%{lua:print(rpm.vercmp("' + a + '", "' + b + '"))}'], 60)
        return int(out) if status == 0 and out.strip() in ("-1", "0", "1") else 0

    def sources(self, name):
        """Return the version that the package sources install, and all that they have."""
        if self.manager == "dnf":
            status, out = run(["dnf", "-q", "repoquery", "--qf", "%{epoch}:%{version}-%{release}\n", "--", name], 300)
            found = [re.sub(r"^0:", "", line.strip()) for line in out.splitlines() if line.strip()] if status == 0 else []
            return (found[-1] if found else ""), found
        if self.manager != "apt":
            return "", []
        candidate = ""
        status, out = run(["apt-cache", "policy", "--", name], 120)
        m = re.search(r"^  Candidate: (\S+)$", out, re.M)
        if status == 0 and m and m.group(1) != "(none)":
            candidate = m.group(1)
        status, out = run(["apt-cache", "madison", "--", name], 120)
        found = []
        for line in out.splitlines() if status == 0 else []:
            field = [f.strip() for f in line.split("|")]
            if len(field) == 3 and field[0] == name and "Sources" not in field[2] and field[1] not in found:
                found.append(field[1])
        return candidate, found[:50]

    def refresh(self):
        """Read the lists of the package sources. A failure is a note: older lists may be enough."""
        if self.manager != "apt":
            return
        status, out = self.patiently(["apt-get", "-q", "update", "-o", "APT::Update::Error-Mode=any",
                                      "-o", "Acquire::Retries=2", "-o", "DPkg::Lock::Timeout=%d" % self.lock_seconds], 1200)
        if status != 0:
            self.notes.append("apt-get update failed: " + tail("\n".join(
                line for line in out.splitlines() if line.startswith(("E:", "W:", "Err:"))) or out))

    def look(self, wanted):
        """Return what the node has of each package."""
        if any(w.get("sources") for w in wanted):
            self.refresh()
        packages = {}
        for w in wanted:
            name = checked_name(w["name"])
            version, broken = self.native_version(name)
            mark = self.mark(name)
            seen = {"native": version, "broken": broken, "tar": mark}
            if w.get("sources"):
                seen["candidate"], seen["versions"] = self.sources(name)
            seen["order"] = {}
            for have in {version, mark["version"] if mark else ""} - {""}:
                for want in {w.get("version", ""), seen.get("candidate", "")} .union(w.get("versions") or []) - {""}:
                    seen["order"].setdefault(have, {})[want] = self.compare(have, want)
            packages[name] = seen
        return packages

    # What changes the node.

    def download(self, file, name):
        """Download a file, check it, and return its path."""
        if not SHA256.match(file["sha256"]) or file["format"] not in ("deb", "rpm", "tar"):
            raise Problem("the request has a wrong digest or format")
        folder = os.path.join(self.root, ".files", file["sha256"])
        os.makedirs(folder, 0o700, exist_ok=True)
        path = os.path.join(folder, name + "." + file["format"])
        if os.path.isfile(path) and digest(path) == file["sha256"]:
            return path
        free = shutil.disk_usage(folder).free
        if file.get("size", 0) > free:
            raise Problem("the file has %d bytes, and only %d are free below %s" % (file["size"], free, self.root))
        for attempt in range(3):
            try:
                return fetch(file, path, self.request.get("ca"))
            except Problem:
                raise
            except Exception as e:  # open_url raises many kinds; the text names the URL's failure
                failed = "%s cannot be downloaded: %s" % (file["url"], e)
                gone = getattr(e, "code", 0) in (404, 410)
                time.sleep(attempt)
        raise Problem(failed, later=not gone)

    def install(self, action):
        name, version, file = checked_name(action["name"]), action.get("version", ""), action.get("file")
        if version:
            checked_version(version)
        if file and file["format"] == "tar":
            return self.install_tar(name, version, file)
        if self.manager == "apt":
            return self.install_apt(action, name, version, file)
        if self.manager == "dnf":
            return self.install_dnf(action, name, version, file)
        raise Problem("the node has neither apt nor dnf")

    def install_apt(self, action, name, version, file):
        target = name + "=" + version if version else name
        if file:
            target = self.download(file, name)
            status, out = run(["dpkg-deb", "-W", "--showformat=${Package}|${Version}", "--", target], 120)
            if status != 0 or out.strip() != name + "|" + version:
                raise Problem("the file is not the package %s %s: %s" % (name, version, tail(out)))
        argv = ["apt-get", "-q", "-y", "--no-remove", "-o", "DPkg::Lock::Timeout=%d" % self.lock_seconds] + DPKG_OPTIONS
        if action.get("downgrade"):
            argv.append("--allow-downgrades")
        if action.get("replacesTar"):
            self.replace_tar(name, argv + ["-s", "install", "--", target])
        status, out = self.patiently(argv + ["install", "--", target], 3600)
        if status != 0:
            raise Problem(tail(out), later=passing(out))

    def replace_tar(self, name, simulation):
        """Remove a tar package before the package manager installs another format, if a simulation succeeds:
        otherwise the node would have neither."""
        status, out = self.patiently(simulation, 1800)
        if status != 0:
            raise Problem(tail(out), later=passing(out))
        self.remove_tar(name)

    def install_dnf(self, action, name, version, file):
        target = name + ("-" + version if version else "")
        if file:
            target = self.download(file, name)
            status, out = run(["rpm", "-q", "-p", "--qf", "%{NAME}|%{EPOCH}:%{VERSION}-%{RELEASE}\n", "--", target], 120)
            found = out.splitlines()[-1] if status == 0 and out.strip() else ""  # before it: warnings about its key
            if re.sub(r"\|(\(none\)|0):", "|", found) != name + "|" + version:
                raise Problem("the file is not the package %s %s: %s" % (name, version, tail(out)))
        verb = "downgrade" if action.get("downgrade") else "install"
        if action.get("replacesTar"):
            self.replace_tar(name, ["dnf", "-y", "--downloadonly", verb, "--", target])
        status, out = self.patiently(["dnf", "-y", verb, "--", target], 3600)
        if status != 0:
            raise Problem(tail(out), later=passing(out))

    def install_tar(self, name, version, file):
        if not version or version in RESERVED:
            raise Problem("a tar package needs a version, and %r is none" % version)
        archive, home, previous = self.download(file, name), os.path.join(self.root, name), self.mark(name)
        target = os.path.join(home, version)
        os.makedirs(home, 0o700, exist_ok=True)
        scratch = tempfile.mkdtemp(prefix=".new-", dir=home)
        try:
            unpack(archive, scratch)
            top = program_folder(scratch)
            shutil.rmtree(target, ignore_errors=True)
            os.rename(top, target)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        os.chmod(target, 0o700)
        extra = {"NAME": name, "VERSION": version}
        if previous:
            extra["PREVIOUS_VERSION"] = previous["version"]
        self.program(target, "install.sh", extra, os.path.join(home, "install.log"))
        write_json(os.path.join(home, "installed.json"), {"version": version, "sha256": file["sha256"], "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})
        for entry in os.listdir(home):
            path = os.path.join(home, entry)
            if entry != version and os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)

    def program(self, folder, script, extra, log):
        path = os.path.join(folder, script)
        if not os.path.isfile(path) or os.path.islink(path):
            raise Problem("the archive has no program %s" % script)
        os.chmod(path, 0o700)
        with open(path, "rb") as f:
            argv = ["./" + script] if f.read(2) in (b"#!", b"\x7fE") else ["/bin/sh", "./" + script]
        status, out = run(argv, self.script_seconds, environment(extra), folder)
        with open(log, "w") as f:
            os.fchmod(f.fileno(), 0o600)
            f.write(out)
        if status != 0:
            raise Problem("%s ended with exit status %d:\n%s" % (script, status, tail(out)))

    def remove_tar(self, name):
        mark, home = self.mark(name), os.path.join(self.root, name)
        if mark:
            folder = os.path.join(home, mark["version"])
            if os.path.isfile(os.path.join(folder, "uninstall.sh")):
                self.program(folder, "uninstall.sh", {"NAME": name, "VERSION": mark["version"]}, os.path.join(home, "uninstall.log"))
        shutil.rmtree(home, ignore_errors=True)

    def remove(self, action):
        name = checked_name(action["name"])
        if action.get("tar"):
            return self.remove_tar(name)
        if self.manager == "apt":  # dpkg, which removes no other package, as apt would
            argv = ["dpkg", "--remove", "--", name]
        elif self.manager == "dnf":
            argv = ["rpm", "--erase", "--", name]
        else:
            raise Problem("the node has neither apt nor dnf")
        status, out = self.patiently(argv, 1800)
        if status != 0:
            raise Problem(tail(out), later=passing(out))

    def apply(self, actions):
        """Do all actions, independently of each other, and return the errors by name."""
        errors = {}
        if self.manager == "apt" and run(["dpkg", "--audit"], 120)[1].strip():
            self.patiently(["dpkg", "--force-confold", "--force-confdef", "--configure", "-a"], 1800)  # where an earlier run was interrupted
        for action in actions:  # all downloads first: what cannot be downloaded must not stop in the middle
            if action["do"] == "install" and action.get("file"):
                self.guard(errors, action, lambda a: self.download(a["file"], checked_name(a["name"])))
        removals = [a for a in actions if a["do"] == "remove"]
        while removals:  # a package can need another one that is removed too
            failed = {}
            for action in removals:
                self.guard(failed, action, self.remove)
            left = [a for a in removals if a["name"] in failed]
            if len(left) in (0, len(removals)):
                errors.update(failed)
                break
            removals = left
        for action in actions:
            if action["do"] == "install" and action["name"] not in errors:
                self.guard(errors, action, self.install)
        shutil.rmtree(os.path.join(self.root, ".files"), ignore_errors=True)
        return errors

    def guard(self, errors, action, do):
        self.later.discard(action["name"])
        try:
            do(action)
        except Problem as e:
            errors[action["name"]] = str(e)
            if e.later:
                self.later.add(action["name"])
        except Exception as e:  # such as a full disk; the other packages are independent of it
            errors[action["name"]] = "%s: %s" % (type(e).__name__, e)


def checked_name(name):
    if not NAME.match(name):
        raise Problem("%r is not the name of a package" % name)
    return name


def checked_version(version):
    if not VERSION.match(version):
        raise Problem("%r is not a version" % version)


def digest(path):
    h = hashlib.sha256()
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            h.update(block)
    return h.hexdigest()


def fetch(file, path, ca):
    h, size, most = hashlib.sha256(), 0, file.get("size", 0)
    answer = open_url(file["url"], use_proxy=False, timeout=60, ca_path=ca or None, follow_redirects="none")
    with open(path + ".part", "wb") as out:
        for block in iter(lambda: answer.read(1 << 20), b""):
            size += len(block)
            if most and size > most:
                raise Problem("%s is longer than %d bytes" % (file["url"], most))
            h.update(block)
            out.write(block)
    if h.hexdigest() != file["sha256"]:
        raise Problem("%s has the digest %s, and not sha256:%s as in the depot's list" % (file["url"], "sha256:" + h.hexdigest(), file["sha256"]))
    os.rename(path + ".part", path)
    return path


def write_json(path, value):
    with open(path + ".new", "w") as f:
        os.fchmod(f.fileno(), 0o600)
        json.dump(value, f)
        f.flush()
        os.fsync(f.fileno())
    os.rename(path + ".new", path)


def inside(root, path):
    real, top = os.path.realpath(path), os.path.realpath(root)
    return real == top or real.startswith(top + os.sep)


def unpack(archive, root):
    """Unpack an archive. Nothing of it leads out of the folder, and everything belongs to root."""
    try:
        opened = opened_tar(archive)
    except (tarfile.TarError, EOFError, OSError) as e:
        raise Problem("the archive cannot be read: %s" % e)
    with opened:
        for member in opened:
            name = os.path.normpath(member.name)
            if name == ".":
                continue
            path = os.path.join(root, name)
            if os.path.isabs(member.name) or ".." in member.name.split("/") or not inside(root, os.path.dirname(path)):
                raise Problem("the archive has the path %r, which leads out of its folder" % member.name)
            unpack_member(opened, member, root, path)


def opened_tar(archive):
    with open(archive, "rb") as f:
        zstd = f.read(4) == b"\x28\xb5\x2f\xfd"
    if not zstd:
        return tarfile.open(archive, "r:*")
    plain = tempfile.TemporaryFile()
    p = subprocess.run(["zstd", "-d", "-c", "-q", "--", archive], stdin=subprocess.DEVNULL, stdout=plain, env=environment())
    if p.returncode != 0:
        raise Problem("the archive is compressed with zstd, which the node cannot read")
    plain.seek(0)
    return tarfile.open(fileobj=plain, mode="r:")


def unpack_member(opened, member, root, path):
    os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
    if member.isdir():
        if os.path.islink(path):
            raise Problem("the archive has the path %r twice" % member.name)
        os.makedirs(path, 0o755, exist_ok=True)
        return
    if os.path.lexists(path):
        if os.path.isdir(path) and not os.path.islink(path):
            raise Problem("the archive has the path %r twice" % member.name)
        os.unlink(path)
    if member.isfile():
        mode = 0o755 if member.mode & stat.S_IXUSR else 0o644
        out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), mode)
        with os.fdopen(out, "wb") as to:
            shutil.copyfileobj(opened.extractfile(member), to, 1 << 20)
    elif member.issym():
        if os.path.isabs(member.linkname) or not inside(root, os.path.join(os.path.dirname(path), member.linkname)):
            raise Problem("the archive has the link %r, which leads out of its folder" % member.name)
        os.symlink(member.linkname, path)
    elif member.islnk():
        target = os.path.join(root, os.path.normpath(member.linkname))
        if os.path.isabs(member.linkname) or not inside(root, target) or not os.path.isfile(target):
            raise Problem("the archive has the link %r, which leads out of its folder" % member.name)
        os.link(os.path.realpath(target), path)
    else:
        raise Problem("the archive has %r, which is neither a file nor a folder" % member.name)


def program_folder(root):
    """Return the folder with install.sh: the top one, or the only one in it."""
    if os.path.isfile(os.path.join(root, "install.sh")):
        inner = os.path.join(root, ".content")
        entries = os.listdir(root)
        os.mkdir(inner)
        for entry in entries:
            os.rename(os.path.join(root, entry), os.path.join(inner, entry))
        return inner
    entries = [e for e in os.listdir(root) if os.path.isdir(os.path.join(root, e)) and not os.path.islink(os.path.join(root, e))]
    if len(entries) == 1 and os.path.isfile(os.path.join(root, entries[0], "install.sh")):
        return os.path.join(root, entries[0])
    raise Problem("the archive has no program install.sh")


def locked(node):
    """Take the lock of this module: a run that was cancelled may still work on the node."""
    os.makedirs(node.root, 0o700, exist_ok=True)
    file = open(os.path.join(node.root, ".lock"), "w")
    end = time.monotonic() + node.lock_seconds
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except OSError:
            if time.monotonic() > end:
                raise Problem("another run still changes packages of this node")
            time.sleep(0.5)


def main():
    module = AnsibleModule(argument_spec={"request": {"type": "str", "required": True}})
    request = json.loads(base64.b64decode(module.params["request"]).decode("utf-8"))
    os.umask(0o022)
    node = Node(request)
    answer = {}
    try:
        if "actions" in request:
            with locked(node):
                answer["errors"] = node.apply(request["actions"])
                answer["later"] = sorted(node.later & set(answer["errors"]))
        answer["packages"] = node.look(request["packages"] or [])
    except Problem as e:
        module.fail_json(msg=str(e))
    answer.update(manager=node.manager, architecture=node.architecture, notes=node.notes)
    module.exit_json(changed="actions" in request, answer=base64.b64encode(json.dumps(answer).encode()).decode())


if __name__ == "__main__":
    main()
