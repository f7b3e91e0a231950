"""Models and vectors as objects and folders of other libraries: a module for each, which imports it when it is used."""

from posvec.interop.exports import TARGETS, ExportTarget, export

__all__ = ["TARGETS", "ExportTarget", "export"]
