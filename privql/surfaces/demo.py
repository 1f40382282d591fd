"""`privql demo`: the owner's and the analyst's commands, one after another, on a hospital of invented patients."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from privql.surfaces.inputs import WrongUsage


def demo(folder: str, command: Callable[[Sequence[str]], int]) -> int:
    """`command` carries out the arguments of one `privql` command, as the shell would."""
    from privql.demo import write_example

    place = Path(folder)
    if not (place / "policy.pql").exists():
        if place.is_dir() and any(place.iterdir()):
            raise WrongUsage(f"{folder!r} is not empty; name another folder: `privql demo FOLDER`")
        write_example(place)
        print(f"{folder}/ holds an invented hospital: its tables, policy.pql and report.pql\n")
    policy, report, ledger = (os.path.join(folder, name) for name in ("policy.pql", "report.pql", "ledger.db"))
    asks = ["--ledger", ledger, "--as", "alice"]
    for arguments in (
        ["policy", "apply", policy, "--ledger", ledger],
        ["check", report, *asks],
        ["run", report, *asks],
        ["budget", *asks],
    ):
        print("$ privql " + shlex.join(arguments))
        sys.stdout.flush()
        code = command(arguments)
        print()
        if code:
            return code
    print(f"Now change {report} and check it again, or ask line by line:\n\n$ privql repl {shlex.join(asks)}")
    return 0
