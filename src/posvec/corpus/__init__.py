"""Where text comes from and how it becomes integers: sources, tokenizers, encoding, and the cache of both."""
