"""Which cells of a matrix are run: one for each promise, another for each, or all of them with MANIFOLD_LONG."""

import os
import zlib

# What clients, transports, eras and servers are called where they are parameters.
MATRIX = {"mode", "transport", "era", "server", "peers"}


def pytest_collection_modifyitems(config, items):
    if os.environ.get("MANIFOLD_LONG"):
        return
    cells = {}
    for item in items:
        cells.setdefault(promise(item), set()).add(cell(item))
    kept = [item for item in items if cell(item) == chosen(promise(item), cells[promise(item)])]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def parameters(item):
    return item.callspec.params if hasattr(item, "callspec") else {}


def cell(item):
    return tuple((name, str(value)) for name, value in sorted(parameters(item).items()) if name in MATRIX)


def promise(item):
    # Tests of one module that share their peers build on each other: they share the cell as well.
    return item.module.__name__ if "peers" in parameters(item) else f"{item.module.__name__}.{item.originalname}"


def chosen(name, cells):
    return sorted(cells)[zlib.crc32(name.encode()) % len(cells)]
