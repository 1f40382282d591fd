"""A synthetic hospital to try everything on: invented data, an owner's policy, an analyst's report."""

from privql.demo.hospital import write_example

__all__ = ["write_example"]
