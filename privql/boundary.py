"""What Python hands in is held against the signatures by typeguard, before anything is checked or spent.

Only who asks through `import privql` pays for it: the command line hands in text that it made itself.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from typeguard import TypeCheckError, check_type

from privql.diagnostics import NOWHERE, refuse

Made = TypeVar("Made", bound=type)


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which refuses an argument of a type that its signature does not name."""
    signature = inspect.signature(function)
    named = {
        name: eval(parameter.annotation, function.__globals__)  # not the result's: it may name what is not loaded yet
        for name, parameter in signature.parameters.items()
        if isinstance(parameter.annotation, str) and parameter.kind is not inspect.Parameter.VAR_KEYWORD
    }

    @functools.wraps(function)
    def asked(*arguments: Any, **keywords: Any) -> Any:
        given = signature.bind(*arguments, **keywords).arguments
        for name, wanted in named.items():
            if name in given:
                try:
                    check_type(given[name], wanted)
                except TypeCheckError:
                    raise refuse(
                        "PQL0511",
                        f"`{function.__name__}` does not take this `{name}`",
                        NOWHERE,
                        why=f"it is, or holds, a value of another type: {type(given[name]).__name__}",
                        help=f"give `{inspect.formatannotation(wanted).removeprefix('collections.abc.')}`",
                    ) from None
        return function(*arguments, **keywords)

    return asked


def guarded_methods(made: Made) -> Made:
    """The class, whose public methods are guarded, too."""
    for name, method in vars(made).copy().items():
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(made, name, guarded(method))
    return made
