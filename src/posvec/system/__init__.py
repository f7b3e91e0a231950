"""Files, processes and memory: what posvec asks of the operating system, and nothing that knows about words."""
