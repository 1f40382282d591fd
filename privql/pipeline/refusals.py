"""What the ledger and the engines refuse, as diagnostics."""

from __future__ import annotations

from privql.diagnostics import Diagnostic, PrivQLError, Span, refuse
from privql.engines.interface import EngineError
from privql.ledger import Ledger, LedgerError, NameTaken, NoMoreRuns, NotRefined, OverBudget, TooManyResumes
from privql.pipeline.figures import left_text
from privql.pipeline.instead import instead, lacking
from privql.pipeline.report import StatementCheck


def ledger_refused(problem: LedgerError, check: StatementCheck, ledger: Ledger, analyst: str) -> PrivQLError:
    match problem:
        case OverBudget():
            return _over_budget(problem, check, ledger, analyst).in_source(check.source)
        case NameTaken():
            help = "give the release another name"
            return refuse("PQL0208", str(problem), check.span, help=help).in_source(check.source)
        case NoMoreRuns():
            help = "read what was released (`SHOW RELEASES`), or begin another under a name of its own"
            return refuse("PQL0512", str(problem), check.span, help=help).in_source(check.source)
        case NotRefined():
            help = "ask anew, with the accuracy that is wanted"
            return refuse("PQL0513", str(problem), check.span, help=help).in_source(check.source)
        case TooManyResumes():
            why = "whether the data made queries fail is something that no charge pays for"
            allow = f"privql ledger allow {' '.join(problem.releases)}"
            help = f"ask the owner to look, and to run `{allow}`; nothing was charged now"
            return refuse("PQL0509", str(problem), check.span, why=why, help=help).in_source(check.source)
        case _:
            return refuse("PQL0510", str(problem), check.span).in_source(check.source)


def _over_budget(over: OverBudget, check: StatementCheck, ledger: Ledger, analyst: str) -> PrivQLError:
    span, budget = check.span, over.budget
    if over.reason == "max per query":
        return refuse("PQL0504", str(over), span, help="spend less on this query, or split it")
    if over.reason == "no grant" or budget is None:
        owner = "a budget: `CREATE BUDGET … FOR UNIT …`" if over.reason == "no budget" else "a grant: `GRANT … TO …`"
        return refuse("PQL0505", str(over), span, help=f"ask the owner for {owner}")
    left, asked = over.left, over.asked
    lacks = lacking(asked, left)
    symbol, most = ("δ", left.delta) if lacks == "DELTA" else ("ε", left.epsilon)
    less = f"spend at most {symbol} = {left_text(most)}" if most > 0 else f"no {symbol} is left"
    said = instead(ledger, analyst, check, budget, over.reason, lacks)
    return refuse("PQL0502", str(over), span, help=f"{less}; {said}")


def engine_failed(
    problem: EngineError, span: Span, incident: str | None = None, *, charged: bool = False
) -> PrivQLError:
    """`charged`: as one of several, before this was known."""
    spent = "what was charged for it stands, and the same again resumes it" if charged else "nothing was spent"
    if problem.kind == "failed":
        told = "ask the owner" if incident is None else f"ask the owner, who finds it as incident {incident}"
        return PrivQLError(
            Diagnostic(
                "PQL0601",
                "the engine could not finish this query",
                span,
                why="what it said may quote data, so it is not shown",
                help=f"{told}; a charge already made stands, and the same query resumes it",
            )
        )
    if problem.kind == "endless":
        return refuse(
            "PQL0601",
            str(problem),
            span,
            why="each step of WITH RECURSIVE adds the rows of the next, until one adds none",
            help="end it by a condition, `… FROM steps WHERE depth < 10`, or write UNION, which drops rows seen before",
        )
    if problem.kind == "unsupported":
        return refuse("PQL0602", str(problem), span, help=f"write it in another way; {spent}")
    if problem.kind in ("unlike its policy", "frame unlike its policy"):
        why = "a KEY has two rows or is NULL, a column is missing, or a stored value cannot be read"
        mends = "the owner finds out which with `privql policy apply`"
        if problem.kind == "frame unlike its policy":
            mends = "correct the frame, or the policy"
        return refuse("PQL0603", str(problem), span, why=why, help=f"{mends}; {spent}")
    return refuse(
        "PQL0602", str(problem), span, help=f"ask the owner where the data is, or give a frame of it; {spent}"
    )
