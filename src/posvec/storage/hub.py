"""The Hugging Face hub: save a model with a model card, download and upload it."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from posvec.config import SETTINGS
from posvec.errors import ConfigError, ModelError
from posvec.system.atomic import replacing
from posvec.system.console import plural
from posvec.system.extras import require_extra
from posvec.system.utf8 import encode_text

if TYPE_CHECKING:
    from posvec.model import Model

# The files of a saved model, with any tags; a repository may hold other files too.
_FILES = ("config.json", "vocabulary-*.txt", "model-*.safetensors")


def save_pretrained(
    model: Model,
    folder: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    license: str | None = None,
    language: str | None = None,
    name: str | None = None,
) -> None:
    """Save a model with its model card, README.md, as a folder to upload to a hub or to open with ``posvec.load``.

    Parameters
    ----------
    model
        The model.
    folder
        The folder to write.
    overwrite
        Whether to replace a model that is there.
    license, language
        The hub's short names, for example mit and en.
    name
        The name of the model on the hub, owner/name.

    Raises
    ------
    ModelError
        If the folder cannot be written.

    Examples
    --------
    >>> import posvec
    >>> save_pretrained(posvec.load("model"), "for-the-hub", license="mit", name="me/animals")
    >>> (Path("for-the-hub") / "README.md").read_text().splitlines()[2]
    'license: mit'
    """
    card = model_card(model, name or Path(folder).absolute().name, license, language)
    model.save(folder, overwrite)
    with replacing(Path(folder) / "README.md") as stream:
        stream.write(encode_text(card))


def fetch_pretrained(name: str, *, revision: str | None = None, token: str | None = None) -> Path:
    """Download a model from the hub, unless the newest version is in the hub's cache.

    Parameters
    ----------
    name
        The name of the model, owner/name.
    revision
        A branch, tag or commit; by default the newest.
    token
        An access token, for private models.

    Returns
    -------
    Path
        The folder of the model.

    Raises
    ------
    ModelError
        If there is no such model, or the hub cannot be reached.
    """
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise ModelError(f"there is no folder {name}, and a model on the hub is named owner/name; check the spelling")
    hub = require_extra("huggingface_hub", "hub")
    with _hub_errors(name):
        return Path(hub.snapshot_download(name, revision=revision, token=token, allow_patterns=_FILES))


def push_to_hub(
    model: Model,
    name: str,
    *,
    private: bool = False,
    token: str | None = None,
    license: str | None = None,
    language: str | None = None,
) -> str:
    """Upload a model with its model card to the hub.

    Parameters
    ----------
    model
        The model.
    name
        The repository, owner/name, which is created if it does not exist.
    private
        Whether a new repository is private.
    token
        An access token; by default that of ``hf auth login``.
    license, language
        The hub's short names, for example mit and en.

    Returns
    -------
    str
        The URL of the commit.

    Raises
    ------
    ModelError
        If the hub cannot be reached or does not permit it.

    Examples
    --------
    >>> import posvec
    >>> push_to_hub(posvec.load("model"), "me/animals", license="mit")  # doctest: +SKIP
    """
    hub = require_extra("huggingface_hub", "hub")
    with tempfile.TemporaryDirectory() as folder, _hub_errors(name):
        save_pretrained(model, folder, license=license, language=language, name=name)
        api = hub.HfApi(token=token)
        api.create_repo(name, private=private, exist_ok=True)
        commit = api.upload_folder(
            repo_id=name,
            folder_path=folder,
            commit_message=f"Upload {model!r}",
            delete_patterns=list(_FILES),  # the files of an earlier model have other tags
        )
    return str(commit.commit_url)


def model_card(model: Model, name: str, license: str | None = None, language: str | None = None) -> str:
    """Return the model card: what the model is, how it was trained, how to load it.

    Parameters
    ----------
    model
        The model.
    name
        The name of the model on the hub, owner/name.
    license, language
        The hub's short names, for example mit and en.

    Raises
    ------
    ConfigError
        If ``license`` or ``language`` is not a short name.

    Examples
    --------
    >>> import posvec
    >>> card = model_card(posvec.load("model"), "me/animals", license="mit", language="en")
    >>> card.splitlines()[2:4]
    ['license: mit', 'language: en']
    """
    for what, value in (("license", license), ("language", language)):
        if value is not None and not re.fullmatch(r"[\w.+-]+", value):
            raise ConfigError(
                f"{what} must be a short name, for example {'mit' if what == 'license' else 'en'}, not {value!r}"
            )
    settings = "\n".join(
        f"| `{setting.name}` | {getattr(getattr(model.config, setting.group), setting.name)} |"
        for setting in SETTINGS.values()
    )
    word = model.vocabulary.words[0]
    return f"""---
library_name: posvec
license: {license or "unknown"}
{f"language: {language}" if language else "# language: en"}
tags:
- word-embeddings
- word-vectors
---

# {name}

Word vectors made with posvec: {_describe_shape(model)}.

{_describe_training(model)}

## How to load it

```python
import posvec  # pip install "posvec[hub]"

model = posvec.Model.from_pretrained({name!r})
model.vectors.most_similar({word!r})
```

## Settings

| setting | value |
|---|---|
{settings}

## Licence

{license or "Not stated yet: name one here and in the first lines of this file."}
"""


@contextlib.contextmanager
def _hub_errors(name: str) -> Iterator[None]:
    """Turn the errors of the hub and of the network into ModelError."""
    errors = require_extra("huggingface_hub.errors", "hub")
    try:
        yield
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError, errors.HFValidationError) as error:
        raise ModelError(
            f"there is no folder {name}, and no such model on the hub that you may use; check the spelling and the "
            "revision, or log in with: hf auth login"
        ) from error
    # Its base classes are the errors of the HTTP library, which differs between major versions of huggingface_hub.
    except (OSError, *errors.HfHubHTTPError.__bases__) as error:
        reason = str(error).strip().split("\n")[0].rstrip(".")
        raise ModelError(
            f"the hub does not answer for {name} ({reason}); check the network and your access rights, or name a folder"
        ) from error


def _describe_shape(model: Model) -> str:
    shape, ngrams = model.config.model, len(model.rows.bucket_ids)
    return (
        f"a {model.config.kind} model of {plural(len(model.vocabulary), 'word')}"
        + (f" and {plural(ngrams, 'n-gram row')}" if ngrams else "")
        + f", D = {shape.dim} features, "
        + (f"of which W = {shape.word_dim} come from words' own rows alone and " if shape.word_dim else "of which ")
        + f"D′ = {shape.positional_dim} are weighted by position, window c = "
        + f"{shape.window}"
    )


def _describe_training(model: Model) -> str:
    report = model.report
    if report is None:
        return f"Counted in {plural(model.vocabulary.total_words, 'word')} of text."
    return (
        f"Trained on {plural(report.tokens, 'word')} in {plural(report.lines, 'line')} of text, "
        f"{plural(len(report.epochs), 'epoch')}, in {report.seconds:,.0f} s on {plural(report.threads, 'thread')}; "
        f"mean loss per masked word {report.loss:.4f}"
        + ("." if report.validation_loss is None else f", on held-out lines {report.validation_loss:.4f}.")
    )
