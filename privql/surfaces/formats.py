"""How a command prints: `table` for people, `json` for programs (one object a line), `csv` for spreadsheets."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privql.diagnostics import Diagnostic
    from privql.finish.result import Release
    from privql.pipeline.apply import AppliedPolicy
    from privql.pipeline.budget_report import BudgetReport
    from privql.pipeline.report import FileCheck

FORMATS = ("table", "json", "csv")

# Constant, so that nothing of the data can be in it.
FAULT = "error[PQL0901]: this is a fault in PrivQL, not in the query\n = help: nothing more was released"


class Printer:
    """Everything a session hands out, in the one format that was asked for."""

    def __init__(self, format: str, out: TextIO) -> None:
        self.format = format
        self.out = out
        self.printed = 0

    def check(self, checked: FileCheck) -> None:
        match self.format:
            case "json":
                self._json(checked.to_json())
            case "csv":
                rows = [
                    (number, one["ok"], one["cost"]["epsilon"], one["cost"]["delta"])
                    for number, one in enumerate(checked.to_json()["statements"], 1)
                ]
                self._csv(("statement", "ok", "epsilon", "delta"), rows)
            case _:
                self._text(str(checked))

    def release(self, release: Release) -> None:
        match self.format:
            case "json":
                self._json(release.to_json())
            case "csv":
                self._text(release.to_csv())
            case _:
                self._text(str(release))

    def explain(self, explained: str) -> None:
        if self.format == "json":
            self._json({"explain": explained})
        else:
            self._text(explained)

    def budget(self, report: BudgetReport) -> None:
        if self.format == "json":
            self._json(report.to_json())
        elif self.format == "csv":
            rows = report.to_json()["budgets"]
            names = tuple(dict.fromkeys(name for row in rows for name in row))  # some renew, and say more
            self._csv(names or ("budget",), [tuple(row.get(name) for name in names) for row in rows])
        else:
            self._text(str(report))

    def policy(self, accepted: bool, found: Sequence[Diagnostic]) -> None:
        if self.format == "json":
            self._json({"ok": accepted, "diagnostics": [diagnostic.to_json() for diagnostic in found]})
        elif accepted:
            self._text("the policy is accepted; `privql policy apply` holds its declarations against the data")

    def told(self, text: str, value: Any) -> None:
        """What has a text for people and a value for programs, and no table. Whoever reads need not have written it."""
        from privql.diagnostics import harmless

        if self.format == "json":
            self._json(value)
        else:
            self._text(harmless(text))

    def applied(self, applied: AppliedPolicy) -> None:
        if self.format == "json":
            self._json(applied.to_json())
        else:
            self._text(str(applied))

    def _text(self, text: str) -> None:
        if not text:
            return
        if self.printed:
            self.out.write("\n")
        self.out.write(text.rstrip("\n") + "\n")
        self.printed += 1

    def _json(self, value: Any) -> None:
        self.out.write(json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n")

    def _csv(self, columns: Any, rows: Any) -> None:
        if self.printed:
            self.out.write("\n")
        written = csv.writer(self.out, lineterminator="\n")
        written.writerow(columns)
        written.writerows(rows)
        self.printed += 1
