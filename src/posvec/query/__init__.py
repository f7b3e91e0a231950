"""Questions to word vectors: nearest neighbours, analogies, sentence vectors."""
