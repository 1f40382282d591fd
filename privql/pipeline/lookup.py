"""Whether the ledger can answer a statement already: then that costs nothing. A name that is taken is told here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from privql.diagnostics import Diagnostic, refuse
from privql.frozen import frozen
from privql.ledger import Ledger, LedgerError, NameTaken, NoMoreRuns, run_name
from privql.names import fold
from privql.pipeline.named import NamedReleases
from privql.pipeline.report import Spared, StatementCheck


@frozen
class Lookup:
    ledger: Ledger
    analyst: str
    version: int
    stated: Callable[[Sequence[str]], bool]

    def __call__(self, check: StatementCheck) -> StatementCheck:
        """The statement as the ledger knows it."""
        if not check.ok or any(name not in check.env.params for name in check.params):
            return check
        try:
            if check.runs and check.again is not None:
                return self._run(check)
            if check.runs:
                return self._answered(check) if check.epsilon.known else check
            if check.name is not None:
                self._free(check)
        except (NameTaken, NoMoreRuns) as problem:
            from privql.pipeline.refusals import ledger_refused

            refused = ledger_refused(problem, check, self.ledger, self.analyst)
            return replace(check, diagnostics=(*check.diagnostics, *refused.diagnostics))
        except LedgerError:
            pass  # running it will say why
        return check

    def _answered(self, check: StatementCheck) -> StatementCheck:
        from privql.pipeline.request import read_by, request_for

        assert check.query is not None
        for name in read_by(check.query) if check.env.promised else ():
            release = check.env.release(name)
            if fold(name) in check.env.promised and release is not None and release.growing:
                return replace(check, diagnostics=(*check.diagnostics, _growing(release.name, check)))

        def released(name: str) -> str:
            return f"{fold(name)} of this text" if fold(name) in check.env.promised else self.release_id(name)

        check = replace(check, request=request_for(check, self.analyst, self.version, released, self.stated))
        assert check.request is not None
        try:
            asked = check.request
            if check.env.promised:
                asked = request_for(check, self.analyst, self.version, self.release_id, self.stated)
        except KeyError:  # it reads a release that an earlier line has yet to make
            self._new(check)
            return check
        found = self.ledger.find(asked)
        return check if found is None else replace(check, spared="replay")

    def _run(self, check: StatementCheck) -> StatementCheck:
        """Which run of a release that is made again and again is taken now; the first, if none is paid for yet."""
        from privql.pipeline.request import request_for, values

        again, request = check.again, request_for(check, self.analyst, self.version, self.release_id, self.stated)
        assert again is not None
        check = replace(check, request=request)
        found = self.ledger.turn(again.name, again.request(request, values(check)))
        if found is None or found.next is None:
            return check
        spared: Spared = "replay" if found.last == "released" and found.next == found.taken else "paid for"
        name, slot = run_name(again.name, found.next), (found.paid, found.next - 1)
        check = replace(check, name=name, slot=slot, spared=spared)
        return replace(check, request=request_for(check, self.analyst, self.version, self.release_id, self.stated))

    def _free(self, check: StatementCheck) -> None:
        """Its name is told to be taken before what it depends on is paid for."""
        from privql.pipeline.request import kept_text

        assert check.name is not None
        try:
            text = kept_text(check, self.release_id)
        except KeyError:
            self._new(check)
        else:
            self.ledger.kept(self.analyst, check.name, text)

    def _new(self, check: StatementCheck) -> None:
        """An answer that there is was not made of one that there is not."""
        found = None if check.name is None else self.ledger.release_named(self.analyst, check.name)
        if check.name is not None and found is not None:
            raise NameTaken(check.name, found.release_id)

    def release_id(self, name: str) -> str:
        return NamedReleases(self.ledger, self.analyst).stored(name).release_id


def _growing(name: str, check: StatementCheck) -> Diagnostic:
    """What such a query is depends on how many runs there are, and so whether it was answered and paid for."""
    problem = refuse(
        "PQL0512",
        f"`{name}` grows in this text, so nothing that it is read for can be paid for here",
        check.span,
        help=f"read it in a text of its own, or one run by its name, `{run_name(name, 1)}`",
    )
    return problem.in_source(check.source).diagnostics[0]
