"""A session of Spark of our own: opened, set up as the spellings need it, and left.

Each setting is read back after it is made, so that a version that drops or renames one is refused, not trusted.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

_PORT = 15002  # where a Spark Connect server listens unless told otherwise

Session = Any  # of pyspark.sql or of pyspark.sql.connect: the two share what is used here, but no class

MEANING: Mapping[str, str] = {
    "spark.sql.ansi.enabled": "false",  # what cannot be computed of a row is NULL, and fails no query
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.caseSensitive": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.variable.substitute": "false",  # `${…}` in a text is a text
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.legacy.charVarcharAsString": "true",  # `c = 'a'` is of a text, not of one that is filled up with blanks
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",  # or else a date before 1582 fails a query
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.avro.datetimeRebaseModeInRead": "CORRECTED",
}
"""What the spellings in this package take for granted."""


_EXCLUDED = "spark.sql.optimizer.excludedRules"
_FAILS = "org.apache.spark.sql.catalyst.optimizer.PushProjectionThroughUnion"
"""A rewrite that knows no column of a UNION ALL any more that is read in two places: it ends the statement, `key not
found`, and over tables without rows it is not come to, so that no rehearsal would tell."""


class UnknownSetting(RuntimeError):
    """The engine does not take a setting that exactness needs."""


def give_meaning(session: Session) -> None:
    """What is so already is let be: to set what will go with a later version is warned of."""
    if _FAILS not in (excluded := _excluded(session)):
        session.conf.set(_EXCLUDED, ",".join((*excluded, _FAILS)))
        if _FAILS not in _excluded(session):
            raise UnknownSetting(_EXCLUDED)
    for setting, value in MEANING.items():
        if not _is(session, setting, value):
            session.conf.set(setting, value)
            if not _is(session, setting, value):
                raise UnknownSetting(setting)


def _excluded(session: Session) -> list[str]:
    return [rule.strip() for rule in str(session.conf.get(_EXCLUDED, "") or "").split(",") if rule.strip()]


def _is(session: Session, setting: str, value: str) -> bool:
    return str(session.conf.get(setting)).lower() == value.lower()


def opened(address: object) -> tuple[Session, Callable[[], None]]:
    """A session with settings of its own, and how it is left. One that Python gave keeps its own settings: ours is a
    copy, that knows its temporary views."""
    if isinstance(address, str):
        made: Session = _connected(address)
        leave = made.stop
    else:
        made, leave = _copy(address), lambda: None
    try:
        give_meaning(made)
    except BaseException:
        leave()
        raise
    return made, leave


def _connected(address: str) -> Session:
    """Whether anybody listens is asked first, and what is lost later is tried for half a minute: Spark would take ten
    to say that nobody does."""
    from pyspark.sql.connect.client.retries import DefaultPolicy
    from pyspark.sql.connect.session import SparkSession

    place = urlsplit(address)
    with socket.create_connection((place.hostname or "", place.port or _PORT), timeout=10):
        pass
    made = SparkSession.builder.remote(address).create()
    made.client.set_retry_policies([DefaultPolicy(max_retries=6, max_backoff=10_000)])
    return made


def _far(session: Session) -> bool:
    """Of a server that speaks Spark Connect, not of a Spark that this process began."""
    return not hasattr(session, "_jsparkSession")


def _copy(session: Session) -> Session:
    if _far(session):
        return session.cloneSession()
    from pyspark.sql import SparkSession

    return SparkSession(session.sparkContext, session._jsparkSession.cloneSession())


def inherited(session: Session) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """For what another thread asks: what the owner's code says of its jobs - a pool, a group - holds there, too. Of a
    session of Spark Connect it has said nothing: that is one of our own."""
    if _far(session):
        return lambda work: work
    from pyspark.util import inheritable_thread_target

    made: Callable[[Callable[[], Any]], Callable[[], Any]] = inheritable_thread_target(session)
    return made
