#!/usr/bin/env python3
"""Looks at what is made, and at what it is made of.

check.py container              every target of the Containerfile has what it needs, runs as nobody and names no host
check.py server FILE [BUNDLE]   server.json has what the registry's schema of 2025-12-11 wants, and the bundle's hash
check.py sbom FILE              every crate that the program is built of is in it, with its version
check.py versions DIST          every package in the folder has the version of Cargo.toml
check.py release DIST           the same, and nothing is left open: names, the changelog's heading
"""

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from fill import HERE, ROOT, names, version  # noqa: E402

CONTEXT = {"manifold", "ca-certificates.crt", "passwd", "LICENSE", "home"}
INSTRUCTIONS = set("FROM ARG LABEL COPY ENV USER WORKDIR EXPOSE STOPSIGNAL ENTRYPOINT CMD RUN".split())
MCP_NAME = r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+"


def instructions(text):
    """Returns (instruction, rest) of each, lines that go on put together."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [tuple(line.split(None, 1)) for line in joined.splitlines() if line.strip()]


def container():
    stages = {}
    for instruction, rest in instructions((HERE / "Containerfile").read_text()):
        assert instruction in INSTRUCTIONS, instruction
        if instruction == "FROM":
            image, _, name = rest.split()
            assert "." not in image.split("/")[0], f"{image} names a host"
            stages[name] = stage = []
        else:
            stage.append((instruction, rest))
    assert set(stages) == {"slim", "full"}, stages
    for name, stage in stages.items():
        said = dict(stage)
        assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", said["USER"]), f"{name} runs as {said['USER']}"
        assert json.loads(said["ENTRYPOINT"]) == ["/usr/bin/manifold"], name
        assert json.loads(said["CMD"]) == ["serve", "--stdio"], name
        assert "io.modelcontextprotocol.server.name" in said["LABEL"], name
        for _, rest in (pair for pair in stage if pair[0] == "COPY"):
            words = [word for word in rest.split() if not word.startswith("--")]
            assert CONTEXT.issuperset(words[:-1]), f"{name} copies {words[:-1]}, which is not in the context"
        copied = [rest for instruction, rest in stage if instruction == "COPY"]
        assert any(rest == "manifold /usr/bin/manifold" for rest in copied), name
    assert all(instruction != "RUN" for instruction, _ in stages["slim"]), "nothing can be run in an empty image"


def server(file, bundle=None):
    filled = json.loads(Path(file).read_text())
    assert filled["$schema"].endswith("/schemas/2025-12-11/server.schema.json")
    assert re.fullmatch(MCP_NAME, filled["name"]) and 3 <= len(filled["name"]) <= 200, filled["name"]
    assert 1 <= len(filled["description"]) <= 100, len(filled["description"])
    assert 1 <= len(filled["title"]) <= 100
    kinds = {package["registryType"]: package for package in filled["packages"]}
    assert set(kinds) == {"npm", "oci", "mcpb"}, set(kinds)
    for kind, package in kinds.items():
        assert package["transport"] == {"type": "stdio"} and package["identifier"], kind
        assert package.get("version", filled["version"]) == filled["version"], kind
    # An image's version is its tag; the registry refuses it twice.
    assert "version" not in kinds["oci"] and kinds["oci"]["identifier"].endswith(":" + filled["version"])
    assert re.fullmatch(r"[a-f0-9]{64}", kinds["mcpb"]["fileSha256"]), kinds["mcpb"]
    assert kinds["mcpb"]["identifier"].startswith("https://") and ".mcpb" in kinds["mcpb"]["identifier"]
    if bundle is not None:
        assert kinds["mcpb"]["fileSha256"] == hashlib.sha256(Path(bundle).read_bytes()).hexdigest()
    return filled


def sbom(file):
    listed = {(part["name"], part["version"]) for part in json.loads(Path(file).read_text())["components"]}
    tree = ["cargo", "tree", "--locked", "-p", "manifold", "-e", "normal", "--prefix", "none", "--format", "{p}"]
    said = subprocess.run(tree, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    parts = {tuple(line.split()[:2]) for line in said.splitlines() if line.strip()}
    built_of = {(name, number.lstrip("v")) for name, number in parts} - {("manifold", version())}
    assert len(built_of) > 100 and not built_of - listed, f"not in it: {sorted(built_of - listed)}"
    print(f"  {len(built_of)} crates")


def field(package, name):
    said = subprocess.run(["dpkg-deb", "--field", package, name], capture_output=True, text=True, check=True)
    return said.stdout.strip()


def versions(dist):
    dist, wanted, found = Path(dist), version(), {}
    for file in sorted(dist.iterdir()):
        if file.suffix == ".deb":
            found[file.name] = field(file, "Version")
            assert field(file, "Maintainer") == names()["maintainer"], field(file, "Maintainer")
        elif file.suffix == ".tgz":
            with tarfile.open(file) as tar:
                package = json.load(tar.extractfile("package/package.json"))
            found[file.name] = package["version"]
            for name, other in package.get("optionalDependencies", {}).items():
                found[f"{file.name}: {name}"] = other
            if "mcpName" in package:
                assert package["mcpName"] == names()["mcpName"], package["mcpName"]
        elif file.suffix == ".mcpb":
            with zipfile.ZipFile(file) as bundle:
                found[file.name] = json.loads(bundle.read("manifest.json"))["version"]
        elif file.name.endswith(".tar.gz"):
            with tarfile.open(file) as tar:
                chart = tar.extractfile("chart/Chart.yaml").read().decode()
            for key in ("version", "appVersion"):
                found[f"{file.name}: {key}"] = re.search(rf"^{key}: (.*)$", chart, re.M).group(1)
        elif file.name == "server.json":
            found[file.name] = server(file, next(dist.glob("*.mcpb"), None))["version"]
        elif file.name.endswith(".cdx.json"):
            found[file.name] = json.loads(file.read_text())["metadata"]["component"]["version"]
        elif file.name.endswith("x86_64-unknown-linux-musl"):
            said = subprocess.run([file, "--version"], capture_output=True, text=True, check=True).stdout
            found[file.name] = said.split()[-1]
    wrong = {name: other for name, other in found.items() if other != wanted}
    assert found and not wrong, f"Cargo.toml says {wanted}, but {wrong}"
    for name in found:
        print(f"  {wanted}  {name}")


def release(dist):
    versions(dist)
    left_open = {key: value for key, value in names().items() if "invalid" in value}
    assert not left_open, f"packaging/names.json has no names yet for {sorted(left_open)}"
    heading = re.search(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.M).group(1)
    assert re.fullmatch(re.escape(version()) + r" \(?\d{4}-\d\d-\d\d\)?", heading), f"CHANGELOG.md begins with {heading!r}"


if __name__ == "__main__":
    verbs = {"container": container, "server": server, "sbom": sbom, "versions": versions, "release": release}
    try:
        verbs[sys.argv[1]](*sys.argv[2:])
    except AssertionError as wrong:
        sys.exit(f"packaging: {wrong}")
    print(f"packaging: {sys.argv[1]} is as it should be")
