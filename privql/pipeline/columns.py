"""The columns of an answer that does not exist yet, and how far off their numbers may be."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from privql.check.env import USUAL
from privql.check.relations import Attribute, CheckedQuery, Label
from privql.finish.origins import trace
from privql.frozen import frozen
from privql.plan.program import Plan


@frozen
class OutputColumn:
    attribute: Attribute
    halfwidth95: Fraction | None

    @property
    def name(self) -> str:
        return self.attribute.name

    @property
    def type(self) -> str:
        return str(self.attribute.type)

    @property
    def label(self) -> str:
        return {Label.PUBLIC: "Public", Label.RELEASED: "Released"}.get(self.attribute.label, "Private")

    @property
    def nullable(self) -> bool:
        return self.attribute.domain.nullable

    @property
    def domain(self) -> str:
        return self.attribute.domain.describe(self.attribute.type)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.type,
            "label": self.label,
            "nullable": self.nullable,
            "domain": self.domain,
            "halfwidth95": str(self.halfwidth95) if self.halfwidth95 is not None else None,
        }


def columns_of(query: CheckedQuery, plan: Plan | None) -> tuple[OutputColumn, ...]:
    out, blocks = [], plan.blocks if plan is not None else ()
    for attribute, origin in zip(query.columns, trace(query), strict=True):
        width = None
        if origin is not None and blocks:
            width = blocks[origin.block].halfwidth(origin.aggregate, USUAL)
        out.append(OutputColumn(attribute, width))
    return tuple(out)
