"""Which tests enter which function, and how long each takes: a fault is shown to the tests that can see it, alone."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

import pytest

from tests.mutation.changes import MODULE

# nothing kept between runs, one process, and never mind that hypothesis is here already
PLAIN = ("-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore::pytest.PytestAssertRewriteWarning")


class _Watch:
    """Notes the functions entered while a test runs, or while its file is imported."""

    def __init__(self, root: Path) -> None:
        self.inside = f"{root}/privql/"
        self.root = f"{root}/"
        self.entered: set[CodeType] = set()
        self.tests: dict[str, dict[str, object]] = {}
        self.importing: dict[str, list[str]] = defaultdict(list)
        self.failed: set[str] = set()
        self.durations: dict[str, float] = {}

    def trace(self, frame: FrameType, event: str, arg: object) -> None:
        self.entered.add(frame.f_code)

    def begin(self) -> None:
        """Anew each time: where recursion is too deep for it, as some tests have it, Python takes a tracer off."""
        self.entered.clear()
        sys.settrace(self.trace)

    def functions(self) -> list[str]:
        found = set()
        for code in self.entered:
            if code.co_filename.startswith(self.inside):
                name = code.co_qualname.split(".<locals>")[0]
                found.add(f"{code.co_filename.removeprefix(self.root)}:{MODULE if '<' in name else name}")
        self.entered.clear()
        return sorted(found)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        self.begin()
        report = yield
        self.importing[collector.nodeid.split("::")[0]] += self.functions()
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.begin()
        result = yield
        self.tests[item.nodeid] = {"entered": self.functions(), "seconds": 0.0}
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)
        if report.when == "call":
            self.durations[report.nodeid] = report.duration


def watch(root: Path, tests: list[str], out: Path) -> None:
    """Run once what is there, unchanged, and write what it enters. What fails already says nothing about a fault."""
    watching = _Watch(root)
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    threading.settrace(watching.trace)
    pytest.main([*PLAIN, "--tb=short", *tests], plugins=[watching])
    sys.settrace(None)
    out.parent.mkdir(parents=True, exist_ok=True)
    for name, test in watching.tests.items():
        test["seconds"] = watching.durations.get(name, 0.0)
    kept = {name: test for name, test in watching.tests.items() if name not in watching.failed}
    out.write_text(json.dumps({"tests": kept, "importing": watching.importing}), "utf-8")
    os._exit(0)


class Reached:
    def __init__(self, path: Path) -> None:
        known = json.loads(path.read_text("utf-8"))
        self.seconds: dict[str, float] = {name: test["seconds"] for name, test in known["tests"].items()}
        self._breadth = {name: len(test["entered"]) for name, test in known["tests"].items()}
        self._by: dict[str, set[str]] = defaultdict(set)
        by_file: dict[str, list[str]] = defaultdict(list)
        for name, test in known["tests"].items():
            by_file[name.split("::")[0]].append(name)
            for function in test["entered"]:
                self._by[function].add(name)
        self._importing: dict[str, set[str]] = defaultdict(set)
        for file, functions in known["importing"].items():
            for function in functions:
                self._importing[function].update(by_file[file])

    def tests(self, path: str, function: str) -> list[str]:
        """Those that enter the function - of what a module does as it is imported, those that enter the module."""
        if function != MODULE:
            return self._telling(path, self._by[f"{path}:{function}"] | self._importing[f"{path}:{function}"])
        return self._telling(path, set().union(*(names for at, names in self._by.items() if at.startswith(f"{path}:"))))

    def importing(self, path: str, function: str) -> bool:
        """Whether it is entered as files are imported."""
        return bool(self._importing[f"{path}:{function}"])

    def _telling(self, path: str, names: set[str]) -> list[str]:
        """First the tests of that module, by their file's name, then those that enter little else and are quick."""
        own = f"/test_{Path(path).stem}.py"
        return sorted(names, key=lambda n: (own not in n, self._breadth[n] * (self.seconds[n] + 0.01), n))
