"""One fault, shown to its tests in a process of its own, forked from one that has imported all but the project."""

from __future__ import annotations

import ast
import gc
import importlib.abc
import importlib.machinery
import os
import pickle
import resource
import select
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from math import ceil
from pathlib import Path
from time import monotonic
from types import CodeType, FunctionType, ModuleType
from typing import NoReturn

import duckdb  # noqa: F401 - so that each trial has it already
import hypothesis
import numpy  # noqa: F401
import pandas  # noqa: F401
import pytest

from tests.mutation.changes import Change
from tests.mutation.reached import PLAIN

MEMORY = 8 * 2**30
WAITING = 8  # times as long by the clock on the wall: what waits for ever takes no time of the processor's


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

    def tell(self, verdict: str) -> NoReturn:
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
    """What becomes of the fault where all is imported anew: `killed` and by which test, `survived`, or `timeout`."""

    def attempt(out: int) -> None:
        chosen = _Chosen(names, out)
        sys.meta_path.insert(0, _Finder(root, change))
        code = pytest.main(["-x", *PLAIN, "--tb=no", *_files(names)], plugins=[chosen])
        chosen.tell("survived" if code == 0 else f"killed with exit code {code}")

    _hasten()
    return _forked(attempt, patience)


class Stage:
    """A process that has collected all tests. A fault inside a function is put in its place in a fork of it.

    That takes no time; but what a test's file computed as it was imported, it computed before the fault.
    """

    def __init__(self, root: Path, names: list[str]) -> None:
        there, self.out = os.pipe()
        self.back, here = os.pipe()
        self.child = os.fork()
        if not self.child:
            _hasten()
            _quiet()
            os.close(self.out)
            pytest.main([*PLAIN, "--tb=no", *_files(names)], plugins=[_Waiting(root, there, here)])
            os._exit(1)
        os.close(there)
        os.close(here)

    def trial(self, change: Change, names: list[str], patience: float) -> str:
        """As above, or `elsewhere`: the fault cannot be put there."""
        os.write(self.out, len(asked := pickle.dumps((change, names, patience))).to_bytes(8, "big"))
        with os.fdopen(os.dup(self.out), "wb") as out:
            out.write(asked)
        said = os.read(self.back, 4096)
        if not said:
            raise RuntimeError("the tests cannot be collected")
        return said.decode()


class _Waiting:
    def __init__(self, root: Path, asked: int, out: int) -> None:
        self.root, self.asked, self.out = root, os.fdopen(asked, "rb"), out

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        functions, caches = defaultdict[str, list[FunctionType]](list), []
        for one in gc.get_objects():
            if isinstance(one, FunctionType):
                functions[one.__code__.co_filename].append(one)
            elif type(one).__name__ == "_lru_cache_wrapper" and str(one.__module__).startswith("privql"):
                caches.append(one)
        while size := self.asked.read(8):
            change, names, patience = pickle.loads(self.asked.read(int.from_bytes(size, "big")))

            def attempt(out: int, change: Change = change, names: list[str] = names) -> None:
                chosen = _Chosen(names, out)
                session.config.pluginmanager.register(chosen)
                if not _put(self.root, change, functions[str(self.root / change.path)]):
                    chosen.tell("elsewhere")
                for cache in caches:
                    cache.cache_clear()
                some = [items[name] for name in names if name in items]
                for item, following in pairwise([*some, None]):
                    session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                chosen.tell("survived")

            os.write(self.out, _forked(attempt, patience).encode())
        os._exit(0)


def _put(root: Path, change: Change, functions: list[FunctionType]) -> bool:
    codes = _codes(compile(change.tree((root / change.path).read_text("utf-8")), str(root / change.path), "exec"))
    found = [one for one in functions if one.__code__.co_qualname == change.function]
    changed = False
    try:
        for one in found:
            code = codes[change.function, one.__code__.co_firstlineno]
            changed |= code != one.__code__  # what a parameter is by default, the code around computes
            one.__code__ = code
    except (KeyError, ValueError):  # another name, or other variables of what is around it
        return False
    return changed


def _codes(code: CodeType) -> dict[tuple[str, int], CodeType]:
    found: dict[tuple[str, int], CodeType] = {}
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found |= {(inner.co_qualname, inner.co_firstlineno): inner, **_codes(inner)}
    return found


def _forked(attempt: Callable[[int], None], patience: float) -> str:
    """What an attempt tells from a process of its own, which ends with it and with all that it started. It may take so
    many seconds of the processor: how busy the machine is beside it says nothing of a fault."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        os.setsid()
        _quiet()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))  # a fault may make a loop endless
        resource.setrlimit(resource.RLIMIT_CPU, (ceil(patience), resource.RLIM_INFINITY))
        try:
            attempt(write)
        except BaseException as error:
            os.write(write, f"killed with {type(error).__name__}".encode())
        os._exit(0)
    os.close(write)
    said, until = b"", monotonic() + WAITING * patience
    while select.select([read], [], [], max(0.0, until - monotonic()))[0] and (part := os.read(read, 4096)):
        said += part
    os.close(read)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    _, how = os.waitpid(child, 0)
    if said:
        return said.decode()
    endless = monotonic() >= until or (os.WIFSIGNALED(how) and os.WTERMSIG(how) == signal.SIGXCPU)
    return "timeout" if endless else "killed by an end of the process"


def _files(names: list[str]) -> list[str]:
    return sorted({name.split("::")[0] for name in names})


def _quiet() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)


def _hasten() -> None:
    """That it fails is enough: no search for the smallest example."""
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile("trial", phases=phases, database=None, deadline=None)
    hypothesis.settings.load_profile("trial")
