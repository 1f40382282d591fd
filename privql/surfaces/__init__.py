"""Command line and REPL: thin layers over the pipeline."""
