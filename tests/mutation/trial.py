"""One fault, shown to its tests in a process of its own, forked from one that has imported all but the project."""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import os
import resource
import select
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from types import CodeType, ModuleType

import duckdb  # noqa: F401 - so that each trial has it already
import hypothesis
import numpy  # noqa: F401
import pandas  # noqa: F401
import pytest

from tests.mutation.changes import Change
from tests.mutation.reached import PLAIN

MEMORY = 8 * 2**30


class _Changed(importlib.machinery.SourceFileLoader):
    tree: ast.Module

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.tree, self.path, "exec")


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the changed module in the place of the one that is there."""

    def __init__(self, root: Path, change: Change) -> None:
        name = change.path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        self.name, self.loader = name, _Changed(name, str(root / change.path))
        self.loader.tree = change.tree((root / change.path).read_text("utf-8"))

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self.name:
            return None
        return importlib.machinery.ModuleSpec(
            name, self.loader, origin=self.loader.path, is_package=self.loader.path.endswith("/__init__.py")
        )


class _Chosen:
    """Runs the tests that were chosen, in that order; the first that fails is told, and ends the trial."""

    def __init__(self, names: list[str], out: int) -> None:
        self.order = {name: at for at, name in enumerate(names)}
        self.out = out

    def tell(self, verdict: str) -> None:
        os.write(self.out, verdict.encode())
        os._exit(0)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.tell(f"killed importing {report.nodeid}")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((item for item in items if item.nodeid in self.order), key=lambda i: self.order[i.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.tell(f"killed {report.nodeid}")


def trial(root: Path, change: Change, names: list[str], patience: float) -> str:
    """What became of the fault: `killed` and by which test, `survived`, or `timeout`."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        os.setsid()
        _try(root, change, names, write)
    os.close(write)
    said, until = b"", monotonic() + patience
    while True:
        ready, _, _ = select.select([read], [], [], max(0.0, until - monotonic()))
        part = os.read(read, 4096) if ready else b""
        said += part
        if not part:
            break
    os.close(read)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if said:
        return said.decode()
    return "timeout" if monotonic() >= until else "killed by an end of the process"


def _try(root: Path, change: Change, names: list[str], out: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))  # a fault may make a loop endless
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)  # that it fails is enough
    hypothesis.settings.register_profile("trial", phases=phases, database=None, deadline=None)
    hypothesis.settings.load_profile("trial")
    chosen = _Chosen(names, out)
    try:
        sys.meta_path.insert(0, _Finder(root, change))
        files = sorted({name.split("::")[0] for name in names})
        code = pytest.main(["-x", *PLAIN, "--tb=no", *files], plugins=[chosen])
        chosen.tell("survived" if code == 0 else f"killed with exit code {code}")
    except BaseException as error:
        chosen.tell(f"killed with {type(error).__name__}")
