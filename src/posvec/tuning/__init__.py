"""Hyperparameter search: the space, objectives, trials and their results."""
