"""The way through, as one picture: text, tree, typed tree, plan, permit, noisy cells, answer."""
