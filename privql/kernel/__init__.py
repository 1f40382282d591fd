"""The trusted core: what a plan may do, and what it is proved to cost."""
