"""Text to tree and back: lexer, parser, tree, unparser."""
