"""`privql verify`, and the files that `privql run --certificates` leaves."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privql.frozen import frozen
from privql.surfaces import inputs
from privql.surfaces.formats import Printer
from privql.surfaces.inputs import WrongUsage
from privql.surfaces.words import ACCEPTED, REJECTED, Command, format_option

if TYPE_CHECKING:
    from privql.finish.result import Release


@frozen
class Files:
    """Where certificates are left, and whose key signs them."""

    folder: Path | None
    key: str | None

    def leave(self, release: Release) -> None:
        """Those of an answer, or of all answers of a plan, each under the name of its release."""
        for one in (release, *release.answers):
            if self.folder is not None and one.proof is not None:
                text, file = f"{one.proof}\n".encode("ascii"), self.folder / f"{one.release_id}.json"
                file.write_bytes(text)
                if self.key is not None:
                    from privql.surfaces.signatures import signature

                    Path(f"{file}.sig").write_bytes(signature(text, self.key))


def files(folder: str | None, key: str | None) -> Files:
    """Known to be there, and to sign, before anything is spent."""
    if key is not None:
        from privql.surfaces.signatures import signature

        if folder is None:
            raise WrongUsage("--sign is of the certificates that --certificates leaves")
        signature(b"", key)
    if folder is None:
        return Files(None, None)
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError):
        raise WrongUsage(f"{folder!r} is no folder that certificates could be put into") from None
    return Files(Path(folder), key)


def file_options(run: argparse.ArgumentParser) -> None:
    run.add_argument("--certificates", metavar="FOLDER", help="leave the certificate of each answer there")
    run.add_argument("--sign", metavar="KEY", help="sign them with this key, as `ssh-keygen -Y sign -n privql` does")


def _verify(options: argparse.Namespace) -> int:
    from privql.pipeline.attesting import attested

    text = inputs.exact_text(options.file)
    policy = None if options.policy is None else inputs.exact_text(options.policy)
    found = attested(text, policy, None if options.ledger is None else inputs.existing_ledger(options.ledger))
    if found.wrong is None and options.signers is not None:
        from privql.surfaces.signatures import signer

        signed = signer(text.encode(), Path(f"{options.file}.sig"), options.signers)
        wrong = None if signed is not None else "nobody who is named has signed it"
        found = replace(found, wrong=wrong, papers=(*found.papers, f"the signature of {signed}"))
    Printer(options.format, sys.stdout).told(str(found), found.to_json())
    return ACCEPTED if found.wrong is None else REJECTED


def certificate_commands(commands: Any, command: Command) -> None:
    made = command(commands, "verify", _verify, "check the certificate of an answer; exit 1 if it proves nothing")
    made.add_argument("file", metavar="CERTIFICATE", help="one of those that `run --certificates FOLDER` leaves")
    made.add_argument("--policy", metavar="POLICY", help="the policy, as it was applied: what it declares is held too")
    made.add_argument("--ledger", metavar="LEDGER", help="the ledger of the release: what it charged is held, too")
    made.add_argument("--signers", metavar="FILE", help="whose signature CERTIFICATE.sig may be: ssh's allowed signers")
    format_option(made)
