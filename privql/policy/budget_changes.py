"""What a version of the policy changes in what may be spent, and by whom."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from privql.kernel.cost import amount_text
from privql.names import fold
from privql.policy.amounts import lasting
from privql.policy.catalog import Budget, Catalog, Grant, Raise
from privql.policy.change import Change, Effect


def budget_changes(old: Catalog, ever: Catalog, new: Catalog) -> Iterator[Change]:
    for budget in new.budgets:
        before = _of(old, budget)
        earlier = _of(ever, budget)
        if before is not None:
            yield from _amounts(before, budget)
        elif earlier is not None:
            why = f"what is left of it may be spent again: one {budget.unit} may lose more than without it"
            yield Change("weaker", f"`{budget.name}` is a budget again", why, span=budget.span)
        elif old.unit(budget.unit) is not None:
            why = f"one {budget.unit} may lose {_amount(budget)} more{_again(budget)}"
            yield Change("weaker", f"`{budget.name}` is a new budget of `{budget.unit}`", why, span=budget.span)
        else:
            why = f"one {budget.unit} may lose {_amount(budget)}{_again(budget)}"
            yield Change("neutral", f"`{budget.name}` is the budget of a new unit", why, span=budget.span)
        if earlier is not None and earlier.shares != budget.shares:
            why = "some of its δ may be taken twice, by what was admitted before and by what is admitted now"
            yield Change("weaker", f"`{budget.name}` splits its δ otherwise", why, span=budget.span)
    for budget in old.budgets:
        if _of(new, budget) is None:
            why = "nothing more can be spent from it; what was spent stays in the ledger"
            yield Change("stronger", f"`{budget.name}` is no budget of `{budget.unit}` any more", why)


def _of(catalog: Catalog, budget: Budget) -> Budget | None:
    """The budget of this name; another unit's is another."""
    alike = (each for each in catalog.budgets if fold(each.name) == fold(budget.name))
    return next((each for each in alike if fold(each.unit) == fold(budget.unit)), None)


def _amount(budget: Budget) -> str:
    return f"ε = {amount_text(budget.epsilon)}" + (f", δ = {amount_text(budget.delta)}" if budget.delta else "")


def _again(budget: Budget) -> str:
    return "" if budget.every is None else f" every {lasting(budget.every)}"


def _amounts(before: Budget, now: Budget) -> Iterator[Change]:
    added = list(now.raises)
    for known in before.raises:
        if known in added:
            added.remove(known)
    for letter, was, amount, reasoned in (
        ("ε", before.epsilon, now.epsilon, _reasoned(added, now.epsilon - before.epsilon, True)),
        ("δ", before.delta, now.delta, _reasoned(added, now.delta - before.delta, False)),
    ):
        if was != amount:
            more = amount > was
            what = f"`{now.name}` has {letter} = {amount_text(amount)}, and had {amount_text(was)}"
            why = f"one {now.unit} may lose {amount_text(abs(amount - was))} {'more' if more else 'less'}{_again(now)}"
            yield Change("weaker" if more else "stronger", what, why, reasoned if more else "", span=now.span)
    if before.every != now.every:
        yield _renewal(before.every, now)
    terms = (now.default_epsilon, now.default_delta, now.max_epsilon)
    if terms != (before.default_epsilon, before.default_delta, before.max_epsilon):
        why = "in all no more may be spent than before"
        yield Change("neutral", f"`{now.name}` has other terms for a single query", why, span=now.span)


def _renewal(before: int | None, now: Budget) -> Change:
    """The windows go on counting: that which is open ends after the new length, and never if there is none."""
    was = "did not" if before is None else f"did every {lasting(before)}"
    if now.every is None:
        what, why = f"`{now.name}` does not renew, and {was}", "the window that is open is the last one"
        return Change("stronger", what, why, span=now.span)
    what, weaker = f"`{now.name}` renews{_again(now)}, and {was}", before is None or now.every < before
    why = f"one {now.unit} may lose {_amount(now)} in each window; there are {'more' if weaker else 'fewer'} of them"
    return Change("weaker" if weaker else "stronger", what, why, span=now.span)


def _reasoned(added: list[Raise], more: Fraction, epsilon: bool) -> str:
    """Why there is more, if the raises since account for all of it."""
    given = [each for each in added if (each.epsilon if epsilon else each.delta)]
    enough = sum(each.epsilon if epsilon else each.delta for each in given) >= more
    return "; ".join(each.reason for each in given) if enough else ""


def grant_changes(old: Catalog, new: Catalog) -> Iterator[Change]:
    if bool(old.grants) != bool(new.grants):
        open_now = not new.grants
        what = "every analyst may use every budget" if open_now else "only who is granted a budget may use it"
        why = "the policy grants nothing to anybody, and did" if open_now else "before, every analyst might"
        yield Change("weaker" if open_now else "stronger", what, why)
        return
    before = {(fold(each.budget), fold(each.analyst)): each for each in old.grants}
    now = {(fold(each.budget), fold(each.analyst)): each for each in new.grants}
    both = {fold(each.name) for each in new.budgets if _of(old, each) is not None}
    for pair in dict.fromkeys([*now, *before]):
        if pair[0] in both and (change := _grant(before.get(pair), now.get(pair))) is not None:
            yield change


def _grant(before: Grant | None, now: Grant | None) -> Change | None:
    if now is None:
        assert before is not None
        what = f"`{before.analyst}` may no longer use `{before.budget}`"
        return Change("stronger", what, "what was released to them is known")
    if before is None:
        why = "whatever is released from it is theirs to see, and one more person may ask"
        return Change("weaker", f"`{now.analyst}` may use `{now.budget}` now", why, span=now.span)
    if (before.epsilon, before.delta) == (now.epsilon, now.delta):
        return None
    higher = _higher(before.epsilon, now.epsilon) or _higher(before.delta, now.delta)
    effect: Effect = "weaker" if higher else "stronger"
    why = f"{now.analyst} alone may learn {'more' if higher else 'less'} about one unit; the budget stays as it is"
    what = f"the limit of `{now.analyst}` in `{now.budget}` is {'higher' if higher else 'lower'}"
    return Change(effect, what, why, span=now.span)


def _higher(before: Fraction | None, now: Fraction | None) -> bool:
    return before is not None and (now is None or now > before)
