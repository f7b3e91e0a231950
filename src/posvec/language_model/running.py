"""``train``, ``resume`` and ``load`` of language models."""

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
from posvec.storage.folders import check_output
from posvec.storage.locks import locked_folder
from posvec.system.extras import require_extra
from posvec.vectors import WordVectors

if TYPE_CHECKING:
    import torch

    from posvec.language_model.scoring import LanguageModel
    from posvec.language_model.storage import SavedLanguageModel

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
    """Train a language model on word vectors and measure its perplexity.

    Parameters
    ----------
    model
        A model, word vectors, or the path of a saved model.
    data
        A folder or archive with training, validation and test texts, see :mod:`posvec.language_model.data`, or the name
        of a dataset.
    output
        A folder for the language model. A checkpoint is saved there after every epoch and on Ctrl-C, from which
        :func:`resume` continues.
    config
        The settings; by default those of the paper.
    name
        A name for comparisons, which average the runs of one name over their seeds. The default is the name of the
        model's folder.
    language
        The language of the texts, if ``data`` contains several.
    transformer
        A local Hugging Face folder. The hidden states or embeddings of this transformer are appended to the vectors.
    device
        The PyTorch device; "auto" uses CUDA if it is available.
    overwrite
        Replace a language model that is already at ``output``.
    display
        Receives the progress of training.
    **settings
        Settings of :class:`posvec.language_model.LanguageModelConfig` that replace those in ``config``.

    Returns
    -------
    LanguageModel
        The language model with the weights of the best epoch. Its ``report`` contains the perplexities.

    Examples
    --------
    >>> from posvec import language_model
    >>> trained = language_model.train("model", "wikitext-2", "run", epochs=10)  # doctest: +SKIP
    >>> trained.report.test_perplexity  # doctest: +SKIP
    """
    torch = require_extra("torch", "lm")
    from posvec.language_model.network import Network
    from posvec.language_model.transformer import open_features

    torch_device = _device(device)
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
        features = open_features(Path(transformer), config.transformer_features, texts.words, str(torch_device))
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
        return _run(network, texts, report, features, torch_device, output, overwrite, display)


def resume(
    path: PathLike,
    data: PathLike | None = None,
    *,
    transformer: PathLike | None = None,
    device: str = "auto",
    display: Any = None,
) -> LanguageModel:
    """Continue interrupted training from its last checkpoint.

    On the same machine and device, the result is bit for bit that of uninterrupted training.

    Parameters
    ----------
    path
        The folder of the language model.
    data, transformer
        The texts and the transformer, if they were moved.
    device
        The PyTorch device; "auto" uses CUDA if it is available.
    display
        Receives the progress of training.

    Returns
    -------
    LanguageModel
        The language model with the weights of the best epoch.

    Raises
    ------
    ModelError
        If training is complete.
    CorpusError
        If the texts have changed.

    Examples
    --------
    >>> from posvec import language_model
    >>> trained = language_model.resume("run")  # doctest: +SKIP
    """
    torch = require_extra("torch", "lm")
    from posvec.language_model.scoring import saved_features, saved_network
    from posvec.language_model.storage import load_report, load_saved

    load_report(path)  # raises before the folder is locked if it contains no language model
    with locked_folder(path), torch.random.fork_rng():
        saved = load_saved(path)
        if saved.progress is None:
            raise ModelError(f"training of {path} is complete; train another language model with more epochs")
        report, torch_device = saved.report, _device(device)
        # The checkpoint may come from somebody else: only a name given by the user is looked up among the datasets.
        source = Path(report.data) if data is None else named_path(data)
        if data is None and not (source.is_absolute() and source.exists()):
            raise CorpusError(f"the texts {source} of {path} are gone; restore them, or name their present folder")
        texts = read_texts(source, report.config, report.language)
        if texts.digest != report.digest:
            raise CorpusError(
                f"{data or report.data} is not the text that {path} was trained on; restore it, or start a new training"
            )
        features = saved_features(saved, None if transformer is None else Path(transformer), torch_device)
        return _run(saved_network(saved, features), texts, report, features, torch_device, path, True, display, saved)


def load(path: PathLike, *, transformer: PathLike | None = None, device: str = "cpu") -> LanguageModel:
    """Load a saved language model.

    Parameters
    ----------
    path
        The folder of the language model. If its training is not complete, the weights of the best epoch so far are
        loaded.
    transformer
        The folder of its transformer, if it was moved.
    device
        The PyTorch device; "auto" uses CUDA if it is available.

    Returns
    -------
    LanguageModel
        The language model.

    Examples
    --------
    >>> from posvec import language_model
    >>> loaded = language_model.load("run")  # doctest: +SKIP
    >>> loaded.score("the king reigns").perplexity  # doctest: +SKIP
    """
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
    saved: SavedLanguageModel | None = None,
) -> LanguageModel:
    from posvec.language_model.scoring import LanguageModel
    from posvec.language_model.training import LanguageModelTraining

    def save(checkpoint: SavedLanguageModel) -> None:
        nonlocal overwrite
        if output is not None:
            checkpoint.save(output, overwrite)
            overwrite = True

    training = LanguageModelTraining(network, texts, report, features, device, save, display)
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
