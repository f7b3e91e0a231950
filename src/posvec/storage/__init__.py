"""Saved models: folders, the safetensors format, quantized tables, and the records of training."""
