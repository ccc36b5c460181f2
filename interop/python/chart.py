"""Renders a Helm chart that keeps to few words: if, else, range, with, define, include, toYaml, nindent, default, quote.

Whatever else a template says is an error, so that a chart which can be rendered here uses nothing that is not known to
behave as Helm's."""

import json
import re

import yaml

ACTION = re.compile(r"\{\{(- )?\s*(.*?)\s*( -)?\}\}", re.S)
WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s"]+')


def render(folder, values, release="manifold"):
    """Returns the documents that the chart in a folder gives for these values."""
    chart = yaml.safe_load((folder / "Chart.yaml").read_text())
    top = {
        "Values": merged(yaml.safe_load((folder / "values.yaml").read_text()), values),
        "Release": {"Name": release},
        "Chart": {"Name": chart["name"], "Version": chart["version"], "AppVersion": chart["appVersion"]},
    }
    templates = sorted((folder / "templates").iterdir())
    defined, bodies = {}, []
    for file in templates:
        bodies.append(Template(file, defined))
    documents = []
    for body in bodies:
        if body.file.suffix == ".yaml":
            documents += [each for each in yaml.safe_load_all(body.text(top)) if each is not None]
    return documents


def merged(default, given):
    """Puts given values over the default ones, as Helm does: objects are merged, null takes a default away."""
    if not isinstance(default, dict) or not isinstance(given, dict):
        return given
    both = default | {key: merged(default.get(key), value) for key, value in given.items()}
    return {key: value for key, value in both.items() if value is not None}


class Template:
    """One file as a tree: texts, expressions, and blocks with what they hold."""

    def __init__(self, file, defined):
        self.file = file
        self.defined = defined
        self._parts = pieces(file.read_text())
        self._at = 0
        self._tree, ended = self._block()
        assert ended is None, f"{file.name}: a block is closed that was never opened"

    def text(self, top):
        return self._write(self._tree, top, top)

    def _block(self):
        """Reads to the end of a block; returns what is in it and the word that ended it."""
        nodes = []
        while self._at < len(self._parts):
            kind, part = self._parts[self._at]
            self._at += 1
            if kind == "text":
                nodes.append(("text", part))
                continue
            word, _, rest = part.partition(" ")
            if word in ("end", "else"):
                assert not rest, f"{self.file.name}: {part}"
                return nodes, word
            if word in ("if", "with", "range", "define"):
                body, ended = self._block()
                other = []
                if ended == "else":
                    other, ended = self._block()
                assert ended == "end", f"{self.file.name}: {part} has no end"
                if word == "define":
                    self.defined[json.loads(rest)] = (self, body)
                else:
                    nodes.append((word, rest, body, other))
            else:
                nodes.append(("value", part))
        return nodes, None

    def _write(self, nodes, dot, top):
        return "".join(self._written(node, dot, top) for node in nodes)

    def _written(self, node, dot, top):
        if node[0] == "text":
            return node[1]
        if node[0] == "value":
            return shown(self._value(node[1], dot, top))
        word, condition, body, other = node
        value = self._value(condition, dot, top)
        if not value:
            return self._write(other, dot, top)
        if word == "if":
            return self._write(body, dot, top)
        return "".join(self._write(body, each, top) for each in (value if word == "range" else [value]))

    def _value(self, expression, dot, top):
        """Works out one expression: each stage of it is the last argument of the next."""
        last = []
        for stage in expression.split(" | "):
            words = WORD.findall(stage)
            if words[0] in FUNCTIONS:
                last = [FUNCTIONS[words[0]](*[self._argument(word, dot, top) for word in words[1:]], *last)]
            elif words[0] == "include":
                name, context = (self._argument(word, dot, top) for word in words[1:])
                template, body = self.defined[name]
                last = [template._write(body, context, context)]
            else:
                assert len(words) == 1 and not last, f"{self.file.name}: {expression}"
                last = [self._argument(words[0], dot, top)]
        return last[0]

    def _argument(self, word, dot, top):
        if word.startswith('"'):
            return json.loads(word)
        if word.isdigit():
            return int(word)
        assert re.fullmatch(r"\$?\.|\$|\$?(\.\w+)+", word), f"{self.file.name}: {word} is not among the words"
        found = top if word.startswith("$") else dot
        for key in filter(None, word.lstrip("$").split(".")):
            assert isinstance(found, dict) and key in found, f"{self.file.name}: there is no {word}"
            found = found[key]
        return found


def pieces(text):
    """Cuts a template into texts and actions; `{{- ` and ` -}}` take away the blanks beside them."""
    found, end, trims = [], 0, False
    for action in ACTION.finditer(text):
        before = text[end : action.start()]
        before = before.lstrip() if trims else before
        found.append(("text", before.rstrip() if action[1] else before))
        found.append(("action", action[2]))
        end, trims = action.end(), bool(action[3])
    last = text[end:]
    return [*found, ("text", last.lstrip() if trims else last)]


def shown(value):
    assert not isinstance(value, (dict, list)) and value is not None, f"{value} is no text"
    return {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)


FUNCTIONS = {
    "toYaml": lambda value: yaml.safe_dump(value, default_flow_style=False).removesuffix("\n...\n").rstrip("\n"),
    "nindent": lambda blanks, text: "\n" + "\n".join(" " * blanks + line for line in text.split("\n")),
    "default": lambda default, value: value or default,
    "quote": lambda value: json.dumps(shown(value), ensure_ascii=False),
}
