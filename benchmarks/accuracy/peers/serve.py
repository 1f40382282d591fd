"""What all peers share: a task comes as JSON on standard input, the answers leave as JSON on standard output.

A task holds `operation`, `epsilon`, `delta`, `runs`, the `columns` of the table and what the operation needs beside
them. The reply holds `version` and `ways`, a list of answers for each way in which the package can be asked; a way
whose promise is not the one that was asked for is under `apart`, with the reason. No way: the package has no such
operation. This folder is run by the peers' own interpreters, so it imports nothing but the standard library.
"""

import contextlib
import json
import sys
import warnings
from importlib.metadata import version


def serve(package, operations):
    warnings.simplefilter("ignore")
    task = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        answer = operations.get(task["operation"])
        ways = answer(task) if answer else {}
    apart = ways.pop("apart", {})
    json.dump({"version": version(package), "ways": ways, "apart": apart}, sys.stdout)


def repeated(task, draw):
    return [draw() for _ in range(task["runs"])]
