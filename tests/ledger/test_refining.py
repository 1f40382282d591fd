"""What is made more accurate was measured, by its number, of the same data: said where it is charged for."""

from __future__ import annotations

import pytest

from privql.ledger import Permit
from privql.ledger.errors import Forgotten, NotRefined
from tests.ledger.asking import TENTH, ask, budget, ledger, permit


def test_only_what_measured_the_same_data_is_made_more_accurate() -> None:
    made = ledger(budget(9))
    first = made.release(permit(made, ask("a", name="first")), b"1").release_id
    both = made.release(permit(made, ask("b", tables=("patients", "visits"))), b"2").release_id
    unfinished = permit(made, ask("c")).release_id
    forgotten = made.release(permit(made, ask("d")), b"4").release_id
    made.forget(forgotten)
    free = made.keep("alice", "free", "SELECT 1", b"1").release_id
    nothing = made.release(permit(made, ask("e", measurements="")), b"5").release_id
    for earlier in ("r99", "first", both, unfinished, free, nothing):
        with pytest.raises(NotRefined, match="is not there to be made more accurate"):
            made.reserve(ask("again", refines=earlier))
    with pytest.raises(Forgotten):
        made.reserve(ask("again", refines=forgotten))
    assert made.spent("patient").epsilon == 5 * TENTH
    assert isinstance(made.reserve(ask("again", refines=first)), Permit)
    assert isinstance(made.reserve(ask("again", refines=both, tables=("visits", "patients"))), Permit)
