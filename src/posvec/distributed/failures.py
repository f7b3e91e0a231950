"""What goes wrong on a cluster, as a sentence."""

from __future__ import annotations

from posvec.errors import PosvecError


def failure(error: Exception) -> PosvecError:
    """What a task, a worker or Ray itself has raised."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, PosvecError):
        return cause
    return PosvecError(f"the cluster failed: {reason(cause or error)}; look at its logs, and try again")


def reason(error: BaseException) -> str:
    """The first line of what Ray says, which can be long."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
