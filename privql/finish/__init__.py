"""Noisy cells to answers: values, their intervals, and the release that is printed and stored."""
