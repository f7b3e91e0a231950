"""Hugging Face: save a model with its model card, upload it to the hub, and load it from there."""

from posvec.model import Model
from posvec.storage.hub import model_card, push_to_hub, save_pretrained

__all__ = ["from_pretrained", "model_card", "push_to_hub", "save_pretrained"]

from_pretrained = Model.from_pretrained
