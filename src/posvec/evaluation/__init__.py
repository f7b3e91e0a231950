"""Measures of a model: each module has one function that takes a model and returns a frozen result."""
