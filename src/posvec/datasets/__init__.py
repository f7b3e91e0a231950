"""Data by name: the catalogue, downloads, archives, Wikipedia, and the embedded corpora."""
