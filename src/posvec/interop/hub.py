"""Hugging Face: a model's folder with a card, saved, fetched from the hub and pushed to it."""

from __future__ import annotations

from posvec.model import Model
from posvec.storage.hub import model_card as model_card
from posvec.storage.hub import push_to_hub as push_to_hub
from posvec.storage.hub import save_pretrained as save_pretrained

from_pretrained = Model.from_pretrained
