"""Text and how it becomes integers: sources, lines, tokenizers, encoding and the cache."""
