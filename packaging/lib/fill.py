#!/usr/bin/env python3
"""Fills in what the files of this folder leave open: the version of Cargo.toml, the names of names.json, a file's hash.

fill.py version                         prints the version
fill.py name KEY                        prints a name
fill.py changelog FILE                  writes the newest part of CHANGELOG.md in Debian's form
fill.py npm FOLDER PLATFORM=BINARY...   writes the npm packages, one for all and one for each platform
fill.py manifest FILE                   writes the manifest of the MCPB bundle
fill.py server FILE BUNDLE              writes server.json, with the hash of the bundle
fill.py kubernetes FOLDER               writes the kustomize base and the chart, with the image and its version
"""

import hashlib
import json
import re
import shutil
import sys
from email.utils import formatdate
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent


def version():
    text = (ROOT / "Cargo.toml").read_text()
    return re.search(r'^\[workspace\.package\][^\[]*?^version = "([^"]+)"', text, re.M | re.S).group(1)


def names():
    return json.loads((HERE / "names.json").read_text())


def read(path):
    return json.loads((HERE / path).read_text())


def write(path, value):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def changelog(file):
    """One entry for the newest part; its lines are the user's words already."""
    part = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.M)[1]
    items = re.findall(r"^- (.*(?:\n  .*)*)", part, re.M)
    lines = [f"manifold ({version()}) unstable; urgency=medium", ""]
    lines += ["  * " + re.sub(r"\n  ", "\n    ", item) for item in items]
    # The day of a build is no part of what is built.
    day = re.search(r"\d{4}-\d\d-\d\d", part.split("\n")[0])
    date = formatdate(0) if day is None else debian_date(day.group(0))
    lines += ["", f" -- {names()['maintainer']}  {date}", ""]
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(file).write_text("\n".join(lines))


def debian_date(day):
    import calendar
    import time

    return formatdate(calendar.timegm(time.strptime(day, "%Y-%m-%d")))


def npm(folder, binaries):
    folder = Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    name = names()["npm"]
    whole = read("npm/manifold/package.json")
    whole.update(name=name, version=version(), mcpName=names()["mcpName"])
    # Every platform there will be, made here or elsewhere; each is as old as the whole.
    platforms = ["linux-x64", "linux-arm64"]
    whole["optionalDependencies"] = {f"{name}-{platform}": version() for platform in platforms}
    shutil.copytree(HERE / "npm/manifold", folder / "manifold")
    shutil.copy(ROOT / "LICENSE", folder / "manifold")
    write(folder / "manifold/package.json", whole)
    for platform, binary in (word.split("=", 1) for word in binaries):
        assert platform in platforms, platform
        part = read("npm/platform/package.json")
        system, cpu = platform.split("-")
        part.update(name=f"{name}-{platform}", version=version(), os=[system], cpu=[cpu])
        if platform == "linux-arm64":
            # The other one is static and runs with any C library.
            part["libc"] = ["glibc"]
        (folder / platform / "bin").mkdir(parents=True)
        shutil.copy(binary, folder / platform / "bin/manifold")
        (folder / platform / "bin/manifold").chmod(0o755)
        shutil.copy(ROOT / "LICENSE", folder / platform)
        write(folder / platform / "package.json", part)


def manifest(file):
    filled = read("mcpb/manifest.json")
    filled["version"] = version()
    filled["author"]["name"] = names()["maintainer"].split(" <")[0]
    write(file, filled)


def server(file, bundle):
    filled, bundle = read("server.json"), Path(bundle)
    filled.update(name=names()["mcpName"], version=version())
    for package in filled["packages"]:
        kind = package["registryType"]
        if "version" in package:
            package["version"] = version()
        if kind == "npm":
            package["identifier"] = names()["npm"]
        elif kind == "oci":
            package["identifier"] = f"{names()['image']}:{version()}"
        elif kind == "mcpb":
            package["identifier"] = names()["bundle"].format(version=version(), file=bundle.name)
            package["fileSha256"] = hashlib.sha256(bundle.read_bytes()).hexdigest()
    write(file, filled)


def kubernetes(folder):
    """Copies base and chart; the version that stands in them until then is 0.0.0, the image that of an unnamed registry."""
    folder = Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HERE / "kubernetes", folder)
    for file in (folder / "base/deployment.yaml", folder / "chart/Chart.yaml", folder / "chart/values.yaml"):
        text = re.sub(r"(?m)^((?:appV|v)ersion): 0\.0\.0$", rf"\1: {version()}", file.read_text())
        text = re.sub(r"registry\.invalid/manifold(:0\.0\.0)?", lambda tag: names()["image"] + (f":{version()}" if tag[1] else ""), text)
        file.write_text(text)


def main(verb, *words):
    if verb == "version":
        print(version())
    elif verb == "name":
        print(names()[words[0]])
    elif verb == "npm":
        npm(words[0], words[1:])
    else:
        {"changelog": changelog, "manifest": manifest, "server": server, "kubernetes": kubernetes}[verb](*words)


if __name__ == "__main__":
    main(*sys.argv[1:])
