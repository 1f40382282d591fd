"""The columns of an answer that does not exist yet, and how far off their numbers may be."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any

from privql.check.env import USUAL
from privql.check.relations import Attribute, CheckedQuery, Label
from privql.domains.arithmetic import limits
from privql.finish.origins import trace
from privql.frozen import frozen
from privql.plan.program import Plan

_LARGEST_DOUBLE = Fraction(sys.float_info.max)


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

    @property
    def beyond(self) -> bool:
        """Its noise alone may be more than its type holds, and it NULL."""
        type = self.attribute.type
        return self.halfwidth95 is not None and self.halfwidth95 > (
            _LARGEST_DOUBLE if type.kind == "FLOAT" else limits(type)[1]
        )

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
