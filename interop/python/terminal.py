"""A shell on a terminal of its own, as somebody sits before it."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

WIDTH = 100
# How long a command may take: nothing is measured by it, but no test may hang.
PATIENCE = 60
# The shell's prompt tells how the last command ended.
PROMPT = re.compile("\x1e(\\d+)\x1e\\Z")

# A line that was begun again, with the orders to wipe it out.
ERASED = re.compile(r".*\r|\x1b\[2?K")


class Terminal:
    def __init__(self, env, folder):
        self.end, shell_end = pty.openpty()
        fcntl.ioctl(shell_end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, WIDTH, 0, 0))
        self.shell = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "--noediting", "-i"],
            stdin=shell_end,
            stdout=shell_end,
            stderr=shell_end,
            env=env | {"PS1": "\x1e$?\x1e", "PS2": "", "HISTFILE": ""},
            cwd=folder,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(shell_end)
        self.bytes = b""
        self.until(PROMPT.search)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.end)
        try:
            self.shell.wait(10)
        except subprocess.TimeoutExpired:
            self.shell.kill()
            self.shell.wait()

    def run(self, command, typed=()):
        """Types a command, and what else is typed once what stands before it is shown; returns what it showed and its end."""
        echo = command.encode() + b"\r\n"
        self.bytes = b""
        os.write(self.end, command.encode() + b"\n")
        self.until(lambda _: self.bytes.startswith(echo))
        self.bytes = self.bytes[len(echo) :]
        for before, keys in typed:
            self.until(lambda text: re.match(before + r"[ ]*\Z", cleaned(text)))
            os.write(self.end, keys)
        ended = self.until(PROMPT.search)
        return cleaned(ended.string[: ended.start()]), int(ended[1])

    def until(self, holds):
        """Reads until something holds of all that was shown since the command."""
        deadline = time.monotonic() + PATIENCE
        while not (result := holds(text := self.bytes.decode(errors="replace").replace("\r\n", "\n"))):
            ready, _, _ = select.select([self.end], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"still waiting after {PATIENCE} s; shown so far:\n{cleaned(text)}"
            self.bytes += os.read(self.end, 65536)
        return result


def cleaned(text):
    """Returns what stays on the screen: a line that shows how far something is gives way to the next one."""
    lines = text.replace("^C\r", "^C\n").split("\n")
    return "\n".join(ERASED.sub("", line) for line in lines)
