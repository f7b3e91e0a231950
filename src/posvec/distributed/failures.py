"""Failures of a cluster as error messages."""

from __future__ import annotations

from posvec.errors import PosvecError


def failure(error: Exception) -> PosvecError:
    """Return the error to raise for what a task, a worker or Ray itself has raised."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, PosvecError):
        return cause
    return PosvecError(f"the cluster failed: {reason(cause or error)}; look at its logs, and try again")


def reason(error: BaseException) -> str:
    """Return the first line of an error message of Ray, which can be long."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
