#!/usr/bin/env python3
"""Makes and runs what the slim image holds, without a container runtime.

image.py root CONTEXT FOLDER          lays out the files of the Containerfile's slim stage in a folder, and looks at them
image.py run [--home] FOLDER WORD...  runs a command with that root, which cannot be written, as its user and without any
                                      right; --home: its home can be written, as a mounted one. Needs root.
image.py serve FOLDER                 runs `http` so, asks it how it is, and looks at what the process may do
"""

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from check import instructions  # noqa: E402
from fill import HERE  # noqa: E402

MOST_BYTES = 35_000_000
USER = 65532
# What the user of the image needs to become it, and loses by that.
RIGHTS = "-all,+setuid,+setgid,+sys_chroot"
MOUNTS = """
set -e
root=$1 home=$2
shift 2
mount --bind "$root" "$root"
for each in proc dev; do mount --rbind "/$each" "$root/$each"; done
if [ "$home" = yes ]; then mount -t tmpfs -o uid=65532,gid=65532,mode=700 home "$root/home/manifold"; fi
mount -o remount,bind,ro "$root"
exec "$@"
"""


def slim():
    """Returns the instructions of the slim stage."""
    stage, found = None, []
    for instruction, rest in instructions((HERE / "Containerfile").read_text()):
        if instruction == "FROM":
            stage = rest.split()[-1]
        elif stage == "slim":
            found.append((instruction, rest))
    return found


def root(context, folder):
    context, folder = Path(context), Path(folder)
    for instruction, rest in slim():
        if instruction != "COPY":
            continue
        words = rest.split()
        owner = USER if words[0].startswith("--chown=65532:") else 0
        source, place = context / words[-2], folder / words[-1].lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, place)
        else:
            shutil.copy(source, place)
        if os.geteuid() == 0:
            os.chown(place, owner, owner)
    look(folder)
    # Where a runtime mounts them.
    for name in ("proc", "dev"):
        (folder / name).mkdir()


def look(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    held = sum(path.stat().st_size for path in files)
    assert held <= MOST_BYTES, f"the root folder holds {held} bytes, and may hold {MOST_BYTES}"
    programs = [path for path in files if path.stat().st_mode & 0o111]
    assert [str(path.relative_to(folder)) for path in programs] == ["usr/bin/manifold"], f"programs: {programs}"
    loose = [path for path in files if path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID | 0o022)]
    assert not loose, f"setuid, or to be written by others: {loose}"
    print(f"  {len(files)} files, {held / 1e6:.1f} MB of {MOST_BYTES / 1e6:.0f}")


def command(folder, home, words):
    """Returns the command line that runs these words in the folder; all of it is one process in the end."""
    variables = dict(word.split("=", 1) for kind, rest in slim() if kind == "ENV" for word in rest.split())
    environment = ["env", "-i", *(f"{name}={value}" for name, value in variables.items())]
    into = [shutil.which("chroot", path="/usr/sbin:/usr/bin:/sbin:/bin"), f"--userspec={USER}:{USER}", "--groups=", str(folder)]
    setpriv = ["setpriv", "--no-new-privs", "--inh-caps=-all", f"--bounding-set={RIGHTS}"]
    mounts = ["unshare", "--mount", "--propagation", "private", "sh", "-c", MOUNTS, "sh", str(folder), "yes" if home else "no"]
    return [*mounts, *setpriv, *environment, *into, *words]


def run(words):
    home = words[0] == "--home"
    folder, *words = words[1:] if home else words
    line = command(Path(folder).resolve(), home, words)
    os.execvp(line[0], line)


def serve(folder):
    folder = Path(folder).resolve()
    said = subprocess.run(command(folder, False, ["/usr/bin/manifold", "http", "--help"]), capture_output=True, text=True, timeout=60)
    # One that knows nothing of replicas has no probes either.
    probes = ("/livez", "/readyz") if "--state-key-file" in said.stdout else ()
    for home in (False, True):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        words = ["/usr/bin/manifold", "http", "--port", str(port)]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        process = subprocess.Popen(command(folder, home, words), **pipes)
        try:
            for path in ("/health", *probes):
                wait_for(process, port, path)
            is_nobody(process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            said = process.communicate(timeout=60)[0]
        assert process.returncode == 0, f"ended with {process.returncode}: {said}"
        print(f"  served, {'its home alone' if home else 'nothing'} to be written")


def wait_for(process, port, path):
    """Asks until the answer is 200: a gateway is ready once it knows its servers."""
    end = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as page:
                assert page.status == 200
            return
        except OSError as why:
            assert process.poll() is None, f"ended with {process.returncode}: {process.stdout.read()}"
            assert time.monotonic() < end, f"{path}: {why}"
            time.sleep(0.05)


def is_nobody(pid):
    """The process has another user, no right, no way to one, and a root that cannot be written."""
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)
    assert status["Uid"].split() == status["Gid"].split() == [str(USER)] * 4, status["Uid"]
    assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == 0, status["CapEff"]
    assert status["NoNewPrivs"] == "1"
    mounts = [line.split() for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines()]
    (options,) = [fields[5] for fields in mounts if fields[4] == "/"]
    assert "ro" in options.split(","), options


if __name__ == "__main__":
    verb, *words = sys.argv[1:]
    try:
        {"root": root, "run": lambda *words: run(words), "serve": serve}[verb](*words)
    except AssertionError as wrong:
        sys.exit(f"packaging: {wrong}")
