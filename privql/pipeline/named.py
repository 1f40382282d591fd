"""An analyst's named releases, read from the ledger when a query names one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from privql.check.env import ReleaseColumn, ReleaseSchema
from privql.ledger import Forgotten, Ledger, Standing, StoredRelease, run_name
from privql.names import fold

if TYPE_CHECKING:
    from privql.finish.result import Release


class NamedReleases(Mapping[str, ReleaseSchema]):
    """By folded name. Those that the ledger had when this was made: an answer that is kept never changes."""

    def __init__(self, ledger: Ledger, analyst: str) -> None:
        self._ledger, self._analyst = ledger, analyst
        self.names = {fold(name): name for name in ledger.release_names(analyst)}
        self.standing = ledger.standing(analyst)
        self.again = {fold(one.name): one for one in self.standing if self._runs(one)}
        self.names |= {name: one.name for name, one in self.again.items()}

    def _runs(self, one: Standing) -> dict[int, str]:
        """Those of its runs that were answered, by their names."""
        named = {number: run_name(one.name, number) for number in range(1, one.taken + 1)}
        return {number: name for number, name in named.items() if fold(name) in self.names}

    def stored(self, name: str) -> StoredRelease:
        if fold(name) in self.again:
            from privql.finish.runs import together

            one = self.again[fold(name)]
            return together({number: self.stored(run) for number, run in self._runs(one).items()}, one.runs)
        found = self._ledger.release_named(self._analyst, self.names.get(fold(name), name))
        if found is None:
            raise KeyError(name)
        return found

    def answer(self, name: str) -> Release:
        from privql.finish.result import Release

        return Release.from_bytes(self.stored(name).answer)

    def __getitem__(self, name: str) -> ReleaseSchema:
        try:
            if name not in self.names:
                self._ledger.release_named(self._analyst, name)
                raise KeyError(name)
            release = self.answer(name)
        except Forgotten as forgotten:  # earlier, or since this was made: an open cart keeps the names of its BEGIN
            return ReleaseSchema(self.names.get(name, name), (), gone=str(forgotten))
        columns = tuple(ReleaseColumn(c.name, c.type, c.domain) for c in release.columns)
        return ReleaseSchema(self.names[name], columns, release.table.alike, growing=name in self.again)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)
