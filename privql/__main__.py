"""The `privql` command. Asking for the version must cost what bare Python costs, so nothing is imported for it."""

from __future__ import annotations

import gc
import sys


def main(arguments: list[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    if given in (["--version"], ["-V"]):
        from privql import __version__

        print(f"privql {__version__}")
        return 0
    gc.set_threshold(100_000)  # what a command loads stays: to look through it for rubbish again and again takes longer
    from privql.surfaces.cli import main as command

    return command(given)


if __name__ == "__main__":
    sys.exit(main())
