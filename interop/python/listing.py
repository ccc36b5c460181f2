"""Commands and what they show, as a page of documentation has them, and whether a terminal shows the same.

In a block of `console` a line after `$` is typed, what follows is shown, and `# exit 5` says how the command ends where
that is not with 0. `…` stands for what is another each time: within a line for any text, on a line of its own for any
lines. «Ada» is typed in the middle of a command, once all before it is shown; «Enter», «Ctrl-C», «Ctrl-D» are keys.
"""

import dataclasses
import re

KEYS = {"Enter": b"\n", "Ctrl-C": b"\x03", "Ctrl-D": b"\x04"}
# What a terminal shows of a key.
ECHOES = {"Enter": "", "Ctrl-C": "^C", "Ctrl-D": ""}
TYPED = re.compile("«([^»]*)»")


@dataclasses.dataclass
class Step:
    task: str
    command: str
    shown: str
    exit: int

    def typed(self):
        """Returns what is typed meanwhile: for each the pattern of what is shown before, and the bytes."""
        for match in TYPED.finditer(self.shown):
            keys = KEYS.get(match[1], match[1].encode() + b"\n")
            yield pattern(self.shown[: match.start()]), keys

    def expected(self):
        return re.compile(pattern(self.shown.rstrip()) + r"\s*\Z")

    def verb(self):
        words = self.command.split()
        return words[1] if words[0] == "manifold" else None


@dataclasses.dataclass
class Note:
    """A comment that no reader sees, between two blocks."""

    text: str


def section(page, heading):
    """Returns a section of a page of Markdown, without its heading."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    assert found, f"there is no section `{heading}`"
    return found[1]


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def parse(text):
    """Returns the steps and notes of a section in their order."""
    task, found = "", []
    for part in re.finditer(r"^### ([^\n]*)$|^<!-- ([^\n]*) -->$|^```console\n(.*?)^```$", text, re.M | re.S):
        heading, note, block = part.groups()
        if heading:
            task = heading
        elif note:
            found.append(Note(note))
        else:
            found.extend(steps(task, block))
    return found


def steps(task, block):
    for one in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, _, shown = one.partition("\n")
        code = re.search(r"^# exit (\d+)\n\Z", shown, re.M)
        shown = shown[: code.start()] if code else shown
        yield Step(task, command, shown, int(code[1]) if code else 0)


def pattern(shown):
    """Returns the regular expression of what is shown, for `re.match`."""
    shown = TYPED.sub(lambda match: ECHOES.get(match[1], match[1]), shown)
    parts = []
    for line in shown.splitlines(keepends=True):
        if line.strip() == "…":
            parts.append(r"(?:[^\n]*\n)*?")
            continue
        texts = [re.escape(text) for text in line.rstrip("\n").split("…")]
        parts.append("[^\n]*".join(texts) + (r"[ ]*\n" if line.endswith("\n") else ""))
    return "".join(parts)
