"""``train``, ``resume`` and ``load``: from vectors and texts to a language model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posvec.datasets.library import named_path
from posvec.errors import ConfigError, CorpusError, ModelError
from posvec.language_model.config import LanguageModelConfig
from posvec.language_model.data import Texts, read_texts
from posvec.language_model.lookup import lookup_table
from posvec.language_model.report import LanguageModelReport
from posvec.model import Model
from posvec.storage.folders import check_output, locked_folder
from posvec.system.extras import require_extra
from posvec.vectors import WordVectors

if TYPE_CHECKING:
    import torch

    from posvec.language_model.scoring import LanguageModel
    from posvec.language_model.storage import Saved

PathLike = str | os.PathLike[str]


def train(
    model: PathLike | Model | WordVectors,
    data: PathLike,
    output: PathLike | None = None,
    *,
    config: LanguageModelConfig | None = None,
    name: str | None = None,
    language: str | None = None,
    transformer: PathLike | None = None,
    device: str = "auto",
    overwrite: bool = False,
    display: Any = None,
    **settings: Any,
) -> LanguageModel:
    """Train a language model on the vectors of a model and measure its perplexity.

    ``data`` is a folder or archive as :mod:`.data` describes them, or the name of a dataset. With ``output``, a
    checkpoint is saved there after every epoch and on Ctrl-C, for :func:`resume`. ``transformer`` is a local Hugging
    Face folder whose hidden states or embeddings stand beside the vectors. Runs of the same ``name`` are taken for
    seeds of one another.
    """
    torch = require_extra("torch", "lm")
    from posvec.language_model.network import Network
    from posvec.language_model.transformer import open_features

    place = _device(device)
    config = (config or LanguageModelConfig()).replace(**settings)
    if output is not None:
        check_output(output, overwrite)
    source = "" if isinstance(model, (Model, WordVectors)) else str(Path(model).absolute())
    loaded = model if isinstance(model, (Model, WordVectors)) else Model.load(model)
    data = named_path(data)
    texts = read_texts(data, config, language)
    table, coverage = lookup_table(texts.words, loaded, config)
    features = None
    if transformer is not None:
        features = open_features(Path(transformer), config.transformer_features, texts.words, str(place))
    report = LanguageModelReport(
        name or _name(config, loaded, source),
        source,
        str(data.absolute()),
        language,
        str(Path(transformer).absolute()) if transformer else None,
        len(texts.words),
        (len(texts.train), len(texts.valid), len(texts.test)),
        texts.digest,
        coverage,
        config,
    )
    with locked_folder(output), torch.random.fork_rng():
        torch.manual_seed(config.seed)
        network = Network.create(config, table, texts.counts, features.dim if features else 0)
        return _run(network, texts, report, features, place, output, overwrite, display)


def resume(
    path: PathLike,
    data: PathLike | None = None,
    *,
    transformer: PathLike | None = None,
    device: str = "auto",
    display: Any = None,
) -> LanguageModel:
    """Go on with interrupted training; ``data`` and ``transformer`` only if they are now elsewhere."""
    torch = require_extra("torch", "lm")
    from posvec.language_model.scoring import saved_features, saved_network
    from posvec.language_model.storage import load_report, load_saved

    load_report(path)  # what is no language model is not claimed
    with locked_folder(path), torch.random.fork_rng():
        saved = load_saved(path)
        if saved.progress is None:
            raise ModelError(f"the training of {path} is over; train another one with more epochs")
        report, place = saved.report, _device(device)
        texts = read_texts(named_path(data or report.data), report.config, report.language)
        if texts.digest != report.digest:
            raise CorpusError(
                f"{data or report.data} is not the text that {path} was trained on; restore it, or train from the start"
            )
        features = saved_features(saved, None if transformer is None else Path(transformer), place)
        return _run(saved_network(saved, features), texts, report, features, place, path, True, display, saved)


def load(path: PathLike, *, transformer: PathLike | None = None, device: str = "cpu") -> LanguageModel:
    """Open a saved language model, to score and generate; of one in training, the best epoch so far."""
    require_extra("torch", "lm")
    from posvec.language_model.scoring import LanguageModel

    return LanguageModel.load(Path(path), None if transformer is None else Path(transformer), _device(device))


def _run(
    network: Any,
    texts: Texts,
    report: LanguageModelReport,
    features: Any,
    device: torch.device,
    output: PathLike | None,
    overwrite: bool,
    display: Any,
    saved: Saved | None = None,
) -> LanguageModel:
    from posvec.language_model.scoring import LanguageModel
    from posvec.language_model.training import Training

    def save(checkpoint: Saved) -> None:
        nonlocal overwrite
        if output is not None:
            checkpoint.save(output, overwrite)
            overwrite = True

    training = Training(network, texts, report, features, device, save, display)
    if saved is not None:
        training.restore(saved)
    finished = training.run()
    return LanguageModel(finished, texts.words, training.network, features, device)


def _device(name: str) -> torch.device:
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0].partition(". ")[0].rstrip(".")
        raise ConfigError(f"there is no device {name!r} here ({reason}); use cpu") from error
    return device


def _name(config: LanguageModelConfig, model: Model | WordVectors, source: str) -> str:
    if config.baseline == "random":
        return "random"
    if source:
        return Path(source).name
    return model.config.kind if isinstance(model, Model) else "vectors"
