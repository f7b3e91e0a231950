"""posvec: word vectors that know where words stand."""
