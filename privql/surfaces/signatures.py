"""Certificates signed as `ssh-keygen -Y` signs files: in a namespace alone, so that no other signature passes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from privql.surfaces.inputs import WrongUsage

NAMESPACE = "privql"


def signature(text: bytes, key: str) -> bytes:
    """By the private key in a file, or by the one that an agent holds of the public key in it."""
    done = _keygen("sign", "-f", key, "-n", NAMESPACE, given=text)
    if done.returncode:
        raise WrongUsage(f"{key!r} is no key that `ssh-keygen` would sign with")
    return done.stdout


def signer(text: bytes, signed: Path, signers: str) -> str | None:
    """Which key has signed this text, and as whom a file of allowed signers lets it sign; None if none has."""
    if not signed.is_file() or not Path(signers).is_file():
        raise WrongUsage(f"{str(signed if not signed.is_file() else signers)!r} is not there")
    found = _keygen("find-principals", "-s", str(signed), "-f", signers, given=b"").stdout.decode("utf-8", "replace")
    for name in found.splitlines():
        given = "-f", signers, "-I", name, "-n", NAMESPACE, "-s", str(signed)
        done = _keygen("verify", *given, given=text)
        if not done.returncode:
            key = re.search("SHA256:[0-9A-Za-z+/]{43}", done.stdout.decode("utf-8", "replace"))
            return f"{key[0] if key else 'a key'}, which {signers} lets sign as {name}"
    return None


def _keygen(does: str, *options: str, given: bytes) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["ssh-keygen", "-Y", does, *options], input=given, capture_output=True, check=False)
    except (OSError, ValueError):
        raise WrongUsage("`ssh-keygen` is not there: it signs certificates, and says who has signed one") from None
