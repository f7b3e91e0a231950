"""The fuzz targets: every parser of posvec, with its seeds and with what must hold for any input.

A check is called with arbitrary bytes. It returns, or the parser raises a PosvecError whose message is one line; every
other outcome is a finding. Where there is a second opinion (``re``, ``gzip``, reading again what was written), the
check compares with it.
"""

from fuzz_targets import checkpoints, containers, models, questions, text, vectors, wikipedia
from fuzz_targets.target import Target, check_input

__all__ = ["TARGETS", "Target", "check_input"]

TARGETS: dict[str, Target] = {
    "text": Target(text.check_text, text.text_seeds),
    "vocabulary": Target(text.check_vocabulary, text.vocabulary_seeds),
    **{
        format: Target(vectors.vector_file_check(format), vectors.vector_file_seeds(format))
        for format in vectors.FORMATS
    },
    "any-vectors": Target(vectors.vector_file_check(None), vectors.vector_file_seeds(*vectors.FORMATS)),
    "model": Target(models.check_model, models.model_seeds),
    "checkpoint": Target(checkpoints.check_checkpoint, checkpoints.checkpoint_seeds),
    "cache-entry": Target(checkpoints.check_cache_entry, checkpoints.cache_entry_seeds),
    "compressed": Target(containers.check_compressed, containers.compressed_seeds),
    "archive": Target(containers.check_archive, containers.archive_seeds),
    "wiki-xml": Target(wikipedia.check_wiki_xml, wikipedia.wiki_xml_seeds),
    "wiki-markup": Target(wikipedia.check_wiki_markup, wikipedia.wiki_markup_seeds),
    "wiki-json": Target(wikipedia.check_wiki_json, wikipedia.wiki_json_seeds),
    "questions": Target(questions.check_questions, questions.question_seeds),
}
