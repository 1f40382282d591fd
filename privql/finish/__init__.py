"""From noisy cells to a table with its errors."""
