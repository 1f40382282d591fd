"""Exact noise: words from the operating system's generator, and samplers that turn them into the stated law."""
