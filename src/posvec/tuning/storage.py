"""Where Optuna keeps the trials of a study: a journal in the study's folder, or a database."""

from __future__ import annotations

import contextlib
import errno
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from posvec.errors import ConfigError, PosvecError
from posvec.system.atomic import cannot_write
from posvec.tuning.journal import JournalLock

JOURNAL = "journal.log"

_STUDY_IN_JOURNAL = "search"  # a journal has one study
_PASSWORD = re.compile(r"(//[^:/@]*):[^@]*@")


def locate_storage(folder: Path, url: str | None, name: str | None) -> tuple[Any, str]:
    """Return Optuna's storage and the name of the study in it."""
    if url is not None:
        return _open_database(url), name or folder.absolute().name
    if name is not None:
        raise ConfigError(
            "--name is the name of a study in a database; give the database with --storage, or leave --name out"
        )
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    journal = folder / JOURNAL
    backend = JournalFileBackend(str(journal), JournalLock(journal))  # type: ignore[arg-type]
    return JournalStorage(backend), _STUDY_IN_JOURNAL


@contextlib.contextmanager
def storage_errors(folder: Path, url: str | None) -> Iterator[None]:
    """Turn the errors of a storage into a ``PosvecError``, without the password that its address may contain."""
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (SQLAlchemyError, StorageInternalError, ImportError) as error:
        address, reason = (_PASSWORD.sub(r"\1:***@", text) for text in (url or "", str(error).strip().splitlines()[0]))
        raise PosvecError(
            f"the storage {address} cannot be used: {reason}; check the address, that the server runs, and that the "
            'database\'s driver is installed (PostgreSQL: pip install "psycopg[binary]", postgresql+psycopg://...)'
        ) from error
    except json.JSONDecodeError as error:
        raise PosvecError(f"{folder / JOURNAL} is damaged ({error}); start the study again with --overwrite") from error
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES):
            raise
        raise cannot_write(folder, error) from error


def _open_database(url: str) -> Any:
    """Open a database. If several processes create Optuna's tables at the same time, all but one have to try again."""
    from optuna.storages import get_storage
    from sqlalchemy.exc import DatabaseError

    for _ in range(3):
        with contextlib.suppress(DatabaseError):
            return get_storage(url)
        time.sleep(0.5)
    return get_storage(url)
