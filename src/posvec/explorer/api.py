"""The JSON API: each route validates its parameters and calls one function of the library."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, HTTPException, Query, Request
from fastapi.responses import StreamingResponse

from posvec.evaluation import context_words, masked, neighborhood, positions
from posvec.evaluation.context_words import ContextWords
from posvec.evaluation.examples import Examples
from posvec.evaluation.masked import Explanation, MaskedWords
from posvec.evaluation.neighborhood import Neighborhood
from posvec.evaluation.positions import PositionImportance
from posvec.explorer import evaluations
from posvec.explorer.loaded_models import LoadedModel
from posvec.explorer.schemas import (
    ModelDetails,
    ModelSummary,
    NearWord,
    PairSimilarity,
    PositionalFeatures,
    Problem,
    UnknownWord,
    WordDetails,
)

MAX_SENTENCE_CHARACTERS = 2000
MAX_WORD_CHARACTERS = 200
MAX_TOPN = 100

_PROBLEMS = {
    400: "the library cannot answer the request",
    403: "the request comes from a page of another site",
    404: "there is no such model",
    413: "the body is too large",
    421: "the Host header does not name this server",
    422: "a parameter is missing or out of range",
}

router = APIRouter(
    prefix="/api",
    responses={status: {"model": Problem, "description": text} for status, text in _PROBLEMS.items()},
)


def _selected_model(
    request: Request, model: Annotated[str, Query(description="name of a loaded model", max_length=1000)]
) -> LoadedModel:
    models: dict[str, LoadedModel] = request.app.state.models
    if model not in models:
        raise HTTPException(404, f"there is no model {model!r}; the loaded models are {', '.join(models)}")
    return models[model]


SelectedModel = Annotated[LoadedModel, Depends(_selected_model)]
Sentence = Annotated[
    str,
    Query(
        description="a sentence with one [MASK]; each [PAD] is an empty position", max_length=MAX_SENTENCE_CHARACTERS
    ),
]
Word = Annotated[str, Query(min_length=1, max_length=MAX_WORD_CHARACTERS)]
TopN = Annotated[int, Query(ge=1, le=MAX_TOPN, description="number of words in the answer")]
ClusterName = Annotated[str | None, Query(max_length=100, description="score by the features of this cluster alone")]


@router.get("/models")
def models(request: Request) -> list[ModelSummary]:
    """List the loaded models."""
    return [ModelSummary.of(loaded) for loaded in request.app.state.models.values()]


@router.get("/model")
def model(loaded: SelectedModel) -> ModelDetails:
    """Describe the settings, sizes and training of a model."""
    return ModelDetails.of(loaded)


@router.get("/masked")
def masked_words(
    loaded: SelectedModel,
    sentence: Sentence,
    topn: TopN = 10,
    word: Annotated[list[Word], Query(max_length=20, description="also return the ranks of these words")] = [],  # noqa: B006
    cluster: ClusterName = None,
) -> MaskedWords | UnknownWord:
    """Predict the masked word of a sentence, with scores and probabilities."""
    return masked.predict(loaded.model, sentence, topn, word, loaded.clusters[cluster] if cluster else None)


@router.get("/explanation")
def explanation(
    loaded: SelectedModel, sentence: Sentence, word: Word, cluster: ClusterName = None
) -> Explanation | UnknownWord:
    """Compute the prior of a masked word, and what each context word, at its position, adds to its log-probability."""
    return masked.explain(loaded.model, sentence, word, loaded.clusters[cluster] if cluster else None)


@router.get("/positions")
def importance(loaded: SelectedModel) -> PositionImportance:
    """Compute the importance of each position."""
    return positions.importance({loaded.name: loaded.model})


@router.get("/clusters")
def clusters(loaded: SelectedModel) -> PositionalFeatures:
    """Cluster the positional features; return the clusters, their curves, and |d| of every feature."""
    return PositionalFeatures.of(loaded.clusters)


@router.get("/context-words")
def top_context_words(
    loaded: SelectedModel,
    topn: TopN = 20,
    order: Literal["importance", "ratio"] = "ratio",
    restrict_vocab: Annotated[int, Query(ge=1, le=10_000_000)] = 20_000,
) -> ContextWords:
    """Find the words that use the features of each cluster most, among the most frequent ones."""
    return context_words.top(loaded.model, loaded.clusters, topn, restrict_vocab=restrict_vocab, order=order)


@router.get("/examples")
def examples(loaded: SelectedModel) -> Examples:
    """Find pairs of sentences that differ in the position of one word, for each cluster."""
    return loaded.examples


@router.get("/word")
def word(loaded: SelectedModel, word: Word) -> WordDetails | UnknownWord:
    """Describe a word: its count, its frequency rank, and the subwords of its vector."""
    return WordDetails.of(loaded, word)


@router.get("/neighbors")
def neighbors(loaded: SelectedModel, word: Word, topn: TopN = 10) -> list[NearWord] | UnknownWord:
    """Find the nearest neighbours of a word."""
    return NearWord.list_of(loaded.model.vectors.most_similar([word], topn=topn))


@router.get("/similarity")
def similarity(loaded: SelectedModel, first: Word, second: Word) -> PairSimilarity | UnknownWord:
    """Compute the cosine of two words, and the rank of the second among the neighbours of the first."""
    vectors = loaded.model.vectors
    return PairSimilarity(first, second, vectors.similarity(first, second), vectors.rank(first, second))


@router.get("/analogy")
def analogy(
    loaded: SelectedModel,
    a: Word,
    b: Word,
    c: Word,
    topn: TopN = 10,
    method: Literal["3cosadd", "3cosmul"] = "3cosadd",
) -> list[NearWord] | UnknownWord:
    """Find words d such that a is to b as c is to d."""
    vectors = loaded.model.vectors
    query = vectors.most_similar if method == "3cosadd" else vectors.most_similar_cosmul
    return NearWord.list_of(query([b, c], [a], topn))


@router.get("/map")
def neighborhood_map(loaded: SelectedModel, word: Word, topn: TopN = 40) -> Neighborhood | UnknownWord:
    """Project a word and its neighbours to two dimensions."""
    return neighborhood.find(loaded.model, word, topn)


@router.post(
    "/evaluation",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": 'lines of JSON: {"progress": 0..1} while it runs, then {"kind": ..., "result": ...}, '
            'the result as posvec evaluate --json prints it, or {"error": ...}',
            "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
        },
        429: {"model": Problem, "description": "another evaluation is running"},
    },
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "lines of analogies, or of pairs of words with a score",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        }
    },
)
async def evaluation(
    request: Request,
    loaded: SelectedModel,
    name: Annotated[str, Query(min_length=1, max_length=200, description="name of the file")],
    kind: Literal["auto", "analogy", "similarity"] = "auto",
) -> evaluations.EvaluationResponse:
    """Evaluate a model on a file of analogies, or of pairs of words with a score."""
    content = await evaluations.read_body(request)
    return evaluations.EvaluationResponse(loaded.model, content, name, kind)
