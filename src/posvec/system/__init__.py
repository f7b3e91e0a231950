"""What posvec needs from the operating system and NumPy: files, processes, memory, terminals. Nothing about words."""
