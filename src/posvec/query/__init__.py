"""Queries to word vectors: lookup, nearest neighbours, comparisons, sentence vectors."""
