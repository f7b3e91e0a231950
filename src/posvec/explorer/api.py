"""The JSON API: each route checks its input and calls one function of the library."""

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
from posvec.explorer.opened import OpenedModel
from posvec.explorer.schemas import (
    ModelDetails,
    ModelSummary,
    NearWord,
    PairSimilarity,
    PositionalFeatures,
    Problem,
    Unknown,
    WordDetails,
)

MOST_CHARACTERS, MOST_LETTERS, MOST_WORDS = 2000, 200, 100
"""Of a sentence; of a word; in an answer."""

_PROBLEMS = {
    400: "the library cannot do what was asked for",
    403: "the request comes from a page of another site",
    404: "there is no such model",
    413: "the body is too large",
    421: "the server is not known by this name",
    422: "a parameter is missing or out of its limits",
}

router = APIRouter(
    prefix="/api",
    responses={status: {"model": Problem, "description": text} for status, text in _PROBLEMS.items()},
)


def _chosen(
    request: Request, model: Annotated[str, Query(description="name of an opened model", max_length=1000)]
) -> OpenedModel:
    models: dict[str, OpenedModel] = request.app.state.models
    if model not in models:
        raise HTTPException(404, f"there is no model {model!r} here; opened are {', '.join(models)}")
    return models[model]


Chosen = Annotated[OpenedModel, Depends(_chosen)]
Sentence = Annotated[
    str, Query(description="a sentence with one [MASK]; [PAD] holds a position", max_length=MOST_CHARACTERS)
]
Word = Annotated[str, Query(min_length=1, max_length=MOST_LETTERS)]
TopN = Annotated[int, Query(ge=1, le=MOST_WORDS, description="how many words to answer with")]
ClusterName = Annotated[str | None, Query(max_length=100, description="score by the features of this cluster alone")]


@router.get("/models")
def models(request: Request) -> list[ModelSummary]:
    """The opened models."""
    return [ModelSummary.of(opened) for opened in request.app.state.models.values()]


@router.get("/model")
def model(opened: Chosen) -> ModelDetails:
    """Settings, sizes and training of a model."""
    return ModelDetails.of(opened)


@router.get("/masked")
def masked_words(
    opened: Chosen,
    sentence: Sentence,
    topn: TopN = 10,
    word: Annotated[list[Word], Query(max_length=20, description="show the ranks of these words too")] = [],  # noqa: B006
    cluster: ClusterName = None,
) -> MaskedWords | Unknown:
    """The best words for the gap of a sentence, with their probabilities."""
    return masked.predict(opened.model, sentence, topn, word, opened.clusters[cluster] if cluster else None)


@router.get("/explanation")
def explanation(opened: Chosen, sentence: Sentence, word: Word, cluster: ClusterName = None) -> Explanation | Unknown:
    """What each context word, at its position, contributes to the score of a word in the gap."""
    return masked.explain(opened.model, sentence, word, opened.clusters[cluster] if cluster else None)


@router.get("/positions")
def importance(opened: Chosen) -> PositionImportance:
    """How much each position matters."""
    return positions.importance({opened.name: opened.model})


@router.get("/clusters")
def clusters(opened: Chosen) -> PositionalFeatures:
    """Clusters of positional features, their curves, and |d| of every feature."""
    return PositionalFeatures.of(opened.clusters)


@router.get("/context-words")
def top_context_words(
    opened: Chosen,
    topn: TopN = 20,
    order: Literal["importance", "ratio"] = "ratio",
    restrict_vocab: Annotated[int, Query(ge=1, le=10_000_000)] = 20_000,
) -> ContextWords:
    """The words that speak through each cluster, among the most frequent ones."""
    return context_words.top(opened.model, opened.clusters, topn, restrict_vocab=restrict_vocab, order=order)


@router.get("/examples")
def examples(opened: Chosen) -> Examples:
    """Pairs of sentences that differ in the place of one word, for each cluster."""
    return opened.examples


@router.get("/word")
def word(opened: Chosen, word: Word) -> WordDetails | Unknown:
    """How frequent a word is, and the subwords that its vector is made of."""
    return WordDetails.of(opened, word)


@router.get("/neighbors")
def neighbors(opened: Chosen, word: Word, topn: TopN = 10) -> list[NearWord] | Unknown:
    """The words nearest to a word."""
    return NearWord.list_of(opened.model.vectors.most_similar([word], topn=topn))


@router.get("/similarity")
def similarity(opened: Chosen, one: Word, other: Word) -> PairSimilarity | Unknown:
    """The cosine of two words, and the place of the other among the neighbours of the one."""
    vectors = opened.model.vectors
    return PairSimilarity(one, other, vectors.similarity(one, other), vectors.rank(one, other))


@router.get("/analogy")
def analogy(
    opened: Chosen, a: Word, b: Word, c: Word, topn: TopN = 10, method: Literal["3cosadd", "3cosmul"] = "3cosadd"
) -> list[NearWord] | Unknown:
    """Words d such that a is to b as c is to d."""
    vectors = opened.model.vectors
    ask = vectors.most_similar if method == "3cosadd" else vectors.most_similar_cosmul
    return NearWord.list_of(ask([b, c], [a], topn))


@router.get("/map")
def neighborhood_map(opened: Chosen, word: Word, topn: TopN = 40) -> Neighborhood | Unknown:
    """A word and its neighbours in two dimensions."""
    return neighborhood.find(opened.model, word, topn)


@router.post(
    "/evaluation",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": 'lines of JSON: {"progress": 0..1} while it runs, at last {"kind": ..., "result": ...} as '
            'posvec evaluate --json prints it, or {"error": ...}',
            "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
        },
        429: {"model": Problem, "description": "another evaluation is under way"},
    },
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "lines of analogies or of pairs of words with a score",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        }
    },
)
async def evaluation(
    request: Request,
    opened: Chosen,
    name: Annotated[str, Query(min_length=1, max_length=200, description="what to call the file")],
    kind: Literal["auto", "analogy", "similarity"] = "auto",
) -> evaluations.Evaluation:
    """Run a file of analogies or of pairs of words with a score."""
    content = await evaluations.read_body(request)
    return evaluations.Evaluation(opened.model, content, name, kind)
