"""The answers of a release that was made more accurate, cell by cell: what each has drawn, merged by precision."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from privql.kernel.merged import mean, weights
from privql.ledger import Ledger
from privql.pipeline.report import StatementCheck
from privql.pipeline.steps import Merge, Rows
from privql.plan.refining import drawn

Drawn = tuple[tuple[Fraction | None, ...], Sequence[Sequence[Any]]]  # deviations of all cells, and those that have one


def merging(check: StatementCheck, ledger: Ledger, analyst: str, released: Callable[[str], str]) -> Merge:
    """What all answers to a query say together, once the newest is there. What the earlier ones are is read now."""
    before: dict[int, list[Drawn]] = {}
    while check.refines is not None:
        refines, check = check.refines, check.refines.measured
        assert check.plan is not None
        noisy = iter(json.loads(ledger.noisy(analyst, refines.id or released(refines.name))))
        for block in check.plan.blocks:
            if block.measured is not None:
                before.setdefault(block.block.index, []).append((drawn(block), next(noisy)))
    return lambda plan, rows: merged([*before.get(plan.block.index, ()), (drawn(plan), rows)])


def merged(answers: Sequence[Drawn]) -> Rows:
    """Each cell as the mean of those that were drawn of it, by precision."""
    columns: list[list[int]] = []
    for cell in range(len(answers[0][0])):
        found = [(sigmas[cell], _column(sigmas, rows, cell)) for sigmas, rows in answers]
        known = [(sigma, column) for sigma, column in found if sigma is not None]
        heavy = weights([sigma for sigma, _ in known])
        columns.append([mean(heavy, numbers) for numbers in zip(*(column for _, column in known), strict=True)])
    return list(zip(*columns, strict=True))


def _column(sigmas: Sequence[Fraction | None], rows: Sequence[Sequence[int]], cell: int) -> list[int]:
    at = sum(sigma is not None for sigma in sigmas[:cell])
    return [row[at] for row in rows] if sigmas[cell] is not None else []
