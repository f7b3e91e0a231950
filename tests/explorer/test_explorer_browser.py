"""The explorer in a browser: its views and their controls, and that no request leaves the machine.

`make test` installs Chromium where it is missing and can be installed; elsewhere these tests are skipped.
"""

from __future__ import annotations

import collections
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("playwright.sync_api")

from playwright.sync_api import expect, sync_playwright

from posvec.explorer import evaluations
from posvec.explorer.loaded_models import LoadedModel

QUESTIONS = ": animals\nman king woman queen\ndog dogs cat cats\n"
PAIRS = "cat dog 8\nman king 6\nfruit king 1\nqueen woman 7\n"
CSV = {"gap": (b"rank,word,", b"context word,"), "positions": b"position,", "words": b"word,", "model": b"epoch,"}
TIMEOUT = 60_000  # milliseconds; other programs may use the machine
VIEWS = ("gap", "positions", "words", "model")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    expect.set_options(timeout=TIMEOUT)
    with sync_playwright() as playwright:
        own = Path(playwright.chromium.executable_path)
        if found is None and not own.exists() and not os.environ.get("POSVEC_BROWSER"):
            pytest.skip("Chromium is not installed, and make test could not install it")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def complaints() -> list[str]:
    """Messages that the pages wrote to the console, and requests to other machines."""
    return []


@pytest.fixture
def visit(browser: Any, site: str, complaints: list[str]) -> Iterator[Callable[..., Any]]:
    """Open pages; after the test, check that there are no complaints."""
    contexts = []

    def open_page(path: str, width: int = 1280, scheme: str = "light", touch: bool = False) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            accept_downloads=True,
            has_touch=touch,
            is_mobile=touch,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(TIMEOUT)
        page.on("console", lambda said: record(said, complaints))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: check_local(request.url, site, complaints))
        page.goto(site + path)
        settle(page)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def record(said: Any, complaints: list[str]) -> None:
    if said.type in ("error", "warning"):  # Chromium also reports each response with another status than 200
        complaints.append(f"{said.text} {said.location.get('url', '')}")


def check_local(url: str, site: str, complaints: list[str]) -> None:
    if not url.startswith((site + "/", "blob:" + site, "data:")):
        complaints.append(f"request to {url}")


def settle(page: Any) -> None:
    """Wait until every column is filled."""
    page.locator("h1").wait_for()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)


def address_of(page: Any) -> tuple[str, dict[str, list[str]]]:
    parts = urlsplit(page.url)
    return parts.path, parse_qs(parts.query)


def chips(page: Any) -> list[str]:
    return [text or "[MASK]" for text in page.locator(".chip").all_text_contents()]


def predictions(page: Any, model: str = "constrained") -> list[str]:
    texts: list[str] = page.get_by_label(f"Predictions of {model}").locator(".word").all_text_contents()
    return texts


def predicted(loaded_models: dict[str, LoadedModel], sentence: str, model: str = "constrained") -> list[str]:
    return [each.word for each in loaded_models[model].model.predict_masked(sentence, 10)]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("width", [1280, 390])
def test_each_view_loads_fits_and_is_accessible(
    visit: Callable[..., Any], view: str, width: int, loaded_models: dict[str, LoadedModel]
) -> None:
    page = visit(f"/{view}", width)
    assert page.locator("h1").count() == 1
    assert page.locator("nav [aria-current=page]").count() == 1
    assert page.locator(".problem").all_text_contents() == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert [each.text_content() for each in page.locator(".models button").all()] == list(loaded_models)
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        settle(page)
        found = axe.run(page).response["violations"]
        serious = [each for each in found if each["impact"] in ("serious", "critical")]
        assert [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in serious] == []


def test_a_gap_is_filled_and_explained(visit: Callable[..., Any], loaded_models: dict[str, LoadedModel]) -> None:
    page = visit("/gap")
    assert predictions(page) == predicted(loaded_models, "unlike dogs cats [MASK]")
    assert predictions(page, "subword") == predicted(loaded_models, "unlike dogs cats [MASK]", "subword")
    page.get_by_label("Sentence", exact=True).fill("fruit ___ like king")
    page.wait_for_url("**king**")
    settle(page)
    assert chips(page) == ["fruit", "[MASK]", "like", "king"]
    assert predictions(page) == predicted(loaded_models, "fruit [MASK] like king")
    third = predictions(page)[2]
    page.get_by_label("Predictions of constrained").get_by_role("button").nth(2).click()
    page.get_by_text(f"Why {third}?").first.wait_for()
    assert address_of(page)[1]["word"] == [third]
    figure = page.locator("figure svg").first.get_attribute("aria-label")
    assert [part in figure for part in ("fruit −1", "like +1", "king +2")] == [True, True, True]
    page.reload()
    settle(page)
    assert predictions(page)[:10] == predicted(loaded_models, "fruit [MASK] like king")
    assert page.get_by_text(f"Why {third}?").first.is_visible()


def press(page: Any, pointer: str) -> Callable[[str, float, float], None]:
    """A function that sends "down", "move" or "up" of a mouse, a pen or a finger at a point."""
    devtools = page.context.new_cdp_session(page)

    def act(what: str, x: float, y: float) -> None:
        if pointer == "touch":
            kind = {"down": "touchStart", "move": "touchMove", "up": "touchEnd"}[what]
            points = [] if what == "up" else [{"x": x, "y": y}]
            devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        else:
            kind = {"down": "mousePressed", "move": "mouseMoved", "up": "mouseReleased"}[what]
            held = {"button": "left", "buttons": 0 if what == "up" else 1, "clickCount": 1}
            devtools.send("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "pointerType": pointer, **held})

    return act


@pytest.mark.parametrize(("pointer", "width"), [("mouse", 1280), ("pen", 1280), ("touch", 390)])
def test_dragging_a_word_updates_the_predictions(
    visit: Callable[..., Any], loaded_models: dict[str, LoadedModel], pointer: str, width: int
) -> None:
    page = visit("/gap?sentence=unlike dogs cats [MASK]&models=constrained", width, touch=pointer == "touch")
    page.evaluate("addEventListener('pointerdown', (event) => { window.pressedBy = event.pointerType; })")
    word, place = page.locator(".chip").nth(1).bounding_box(), page.locator(".chip").nth(3).bounding_box()
    act = press(page, pointer)
    act("down", word["x"] + 8, word["y"] + 8)
    for fraction in (0.2, 0.6, 1):  # on a phone the gap is in the second line
        x = word["x"] + fraction * (place["x"] + place["width"] + 12 - word["x"])
        act("move", x, word["y"] + 8 + fraction * (place["y"] + 10 - word["y"] - 8))
    assert page.evaluate("pressedBy") == pointer
    assert page.locator(".slot.target").count() == 1
    act("up", x, place["y"] + 10)
    settle(page)
    assert chips(page) == ["unlike", "cats", "[MASK]", "dogs"]
    assert predictions(page) == predicted(loaded_models, "unlike cats [MASK] dogs")
    assert address_of(page)[1]["sentence"] == ["unlike cats [MASK] dogs"]
    assert page.evaluate("scrollY") == 0  # the touch moved the word and did not scroll the page


def test_a_drag_continues_through_responses_and_a_second_touch(visit: Callable[..., Any]) -> None:
    page = visit("/gap?sentence=unlike dogs cats [MASK]&models=constrained")
    held: list[Any] = []
    page.route("**/api/masked?**", lambda route: held.append(route))
    page.get_by_label("Sentence", exact=True).fill("ÿ dogs cats king ___")
    page.wait_for_url("**king**")
    word, place = page.locator(".chip").nth(1).bounding_box(), page.locator(".chip").nth(3).bounding_box()
    act = press(page, "mouse")
    act("down", word["x"] + 8, word["y"] + 8)
    act("move", place["x"] + place["width"] + 12, place["y"] + 10)
    held[0].continue_()
    page.locator(".chip.unused").wait_for()  # the response has arrived
    page.unroute_all()
    assert page.locator(".chip.dragging").count() == 1
    page.locator(".chip.dragging").dispatch_event("pointerdown", {"isPrimary": False, "button": 0, "pointerId": 7})
    act("up", place["x"] + place["width"] + 12, place["y"] + 10)
    assert chips(page) == ["ÿ", "cats", "king", "dogs", "[MASK]"]
    settle(page)


def test_the_gap_is_moved_by_clicks_and_words_by_keys(visit: Callable[..., Any]) -> None:
    page = visit("/gap?models=constrained")
    page.get_by_role("button", name="fruit flies like ___").click()
    page.get_by_role("button", name="Put the gap before flies").click()
    settle(page)
    assert chips(page) == ["fruit", "[MASK]", "flies", "like"]
    page.locator(".chip").nth(0).focus()
    page.keyboard.press("Shift+ArrowRight")
    assert chips(page) == ["[MASK]", "fruit", "flies", "like"]
    page.keyboard.press("ArrowRight")
    settle(page)
    page.keyboard.press("Delete")
    settle(page)
    assert chips(page) == ["[MASK]", "fruit", "like"]
    assert page.evaluate("document.activeElement.textContent") == "fruit"


def test_unused_words_are_struck_through_and_an_empty_sentence_shows_a_hint(visit: Callable[..., Any]) -> None:
    page = visit("/gap?sentence=unlike ÿ cats [MASK]&models=constrained")
    page.locator(".chip.unused").wait_for()
    assert page.locator(".chip.unused").all_text_contents() == ["ÿ"]
    page.get_by_label("Sentence", exact=True).fill("")
    page.get_by_text("Type some words around the gap.").wait_for()


def test_a_cluster_is_clicked_and_shows_its_words_and_sentences(
    visit: Callable[..., Any], loaded_models: dict[str, LoadedModel]
) -> None:
    page = visit("/positions")
    page.get_by_text("has no positional features").wait_for()  # in the column of the subword model
    name = loaded_models["constrained"].clusters.names[0]
    page.get_by_role("button", name=name).click()
    page.get_by_text(f"Context words of the {name} cluster").wait_for()
    assert address_of(page)[1]["cluster"] == [name]
    example = next(each for each in loaded_models["constrained"].examples.examples if each.cluster == name)
    assert page.get_by_role("cell", name=example.masked_word, exact=True).count() >= 2
    page.get_by_role("table").get_by_role("link").first.click()
    settle(page)
    path, parameters = address_of(page)
    assert path == "/gap"
    assert parameters == {"sentence": [example.sentences[0]], "word": [example.masked_word]}
    page.go_back()
    page.get_by_text(f"Context words of the {name} cluster").wait_for()


def test_empty_positions_can_be_moved_and_are_not_struck_through(
    visit: Callable[..., Any], loaded_models: dict[str, LoadedModel]
) -> None:
    page = visit("/gap?sentence=cats [PAD] [MASK] ÿ&models=constrained")
    page.locator(".chip.unused").wait_for()
    assert page.locator(".chip.unused").all_text_contents() == ["ÿ"]
    assert chips(page) == ["cats", "·", "[MASK]", "ÿ"]
    assert predictions(page) == predicted(loaded_models, "cats [PAD] [MASK]")
    page.get_by_role("button", name="an empty position").press("Delete")
    settle(page)
    assert predictions(page) == predicted(loaded_models, "cats [MASK]")


def test_values_of_a_figure_are_shown_by_pointer_and_keys(
    visit: Callable[..., Any], loaded_models: dict[str, LoadedModel]
) -> None:
    page = visit("/positions?models=constrained")
    importance = loaded_models["constrained"].model.position_importance()
    chart = page.locator("figure svg").first
    chart.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tip")).to_have_text(f"−4\nconstrained {importance[-4]:.3f}")
    page.keyboard.press("ArrowRight")
    assert page.locator("#tip").text_content() == f"−3\nconstrained {importance[-3]:.3f}"
    page.locator("svg image").hover(position={"x": 3, "y": 3})
    assert page.locator("#tip").text_content().startswith("feature ")


def test_values_of_a_figure_are_shown_by_touch(
    visit: Callable[..., Any], loaded_models: dict[str, LoadedModel]
) -> None:
    page = visit("/positions?models=constrained", 390, touch=True)
    tip = page.locator("#tip")
    page.locator("svg image").tap(position={"x": 3, "y": 3})
    expect(tip).to_contain_text("feature ")
    assert tip.is_visible()  # although the finger has been lifted
    page.locator("h1").tap()
    assert tip.is_hidden()


@pytest.mark.parametrize("view", VIEWS)
def test_every_figure_and_list_can_be_downloaded(visit: Callable[..., Any], tmp_path: Path, view: str) -> None:
    page = visit(f"/{view}?models=constrained")
    starts = {"svg": b"<svg", "png": b"\x89PNG", "csv": CSV[view]}
    taken = collections.Counter[str]()
    for button in page.get_by_role("button", name="Download").all():
        with page.expect_download() as download:
            button.click()
        path = tmp_path / download.value.suggested_filename
        assert not path.exists()  # file names are unique
        download.value.save_as(path)
        kind = path.suffix[1:]
        taken[kind] += 1
        assert path.read_bytes().startswith(starts[kind])
    figures = page.locator("figure").count()
    assert figures > 0
    assert taken["svg"] == taken["png"] == figures <= taken["csv"]


def test_typed_words_are_queried(visit: Callable[..., Any], loaded_models: dict[str, LoadedModel]) -> None:
    page = visit("/words?models=constrained")
    vectors = loaded_models["constrained"].model.vectors
    page.get_by_label("Word", exact=True).fill("Dogscats")
    page.get_by_text("dogscats is not in the vocabulary").wait_for()
    assert page.locator(".parts li").count() > 5
    near = page.get_by_label("Neighbours of dogscats").get_by_role("link").all_text_contents()
    assert near == [each.word for each in vectors.most_similar("dogscats", topn=12)]
    assert (
        page.get_by_role("region", name="Similarity")
        .get_by_text(f"{vectors.similarity('cat', 'dog'):.3f}".replace("-", "−"))
        .is_visible()
    )
    page.get_by_label("First word").fill("king")
    page.get_by_text("dog has rank").filter(has_text="among the neighbours of king").wait_for()
    assert address_of(page)[1]["first"] == ["king"]
    page.get_by_label("Word", exact=True).fill("ÿ")
    page.get_by_role("alert").wait_for()
    assert "there is no vector for 'ÿ'" in page.get_by_role("alert").text_content()
    page.get_by_label("Word", exact=True).fill("cat")
    page.locator(".words, .bars").get_by_role("link").first.click()
    settle(page)
    assert address_of(page)[0] == "/words"


_HELD = """([name, content]) => {
  const held = new DataTransfer();
  held.items.add(new File([content], name));
  return held;
}"""


def drop(page: Any, name: str, content: str) -> None:
    page.dispatch_event("main", "drop", {"dataTransfer": page.evaluate_handle(_HELD, [name, content])})


def test_dropped_files_are_evaluated(visit: Callable[..., Any]) -> None:
    page = visit("/model")
    drop(page, "animals.txt", QUESTIONS)
    expect(page.locator(".result")).to_have_count(2)  # one per model
    cells = page.get_by_role("row", name="total").first.get_by_role("cell").all_text_contents()
    assert cells[-2:] == ["2", "100.0 %"]
    drop(page, "pairs.txt", PAIRS)
    expect(page.locator(".result")).to_have_count(4)
    page.reload()
    settle(page)
    assert page.locator(".result").count() == 4
    drop(page, "bad.txt", "man king woman queen\nman king\n")
    page.get_by_role("alert").first.wait_for()
    assert "bad.txt, line 2: 2 fields instead of four" in page.get_by_role("alert").first.text_content()


def test_files_chosen_by_keys_are_evaluated_in_turn_with_progress(visit: Callable[..., Any], tmp_path: Path) -> None:
    page = visit("/model?models=constrained")
    page.evaluate("""() => { window.seen = []; new MutationObserver((changes) => {
      for (const { addedNodes } of changes) for (const node of addedNodes) seen.push(
        ...[node, ...node.querySelectorAll?.("progress") ?? []].filter((each) => each.localName === "progress")
          .map((each) => each.getAttribute("aria-label")));
    }).observe(document.querySelector("main"), { subtree: true, childList: true }); }""")
    files = [tmp_path / "animals.txt", tmp_path / "pairs.txt"]
    for path, content in zip(files, (QUESTIONS, PAIRS), strict=True):
        path.write_text(content)
    settle(page)
    with page.expect_file_chooser() as chooser:
        page.locator("#file").press("Enter")
    chooser.value.set_files(files)
    expect(page.locator(".result")).to_have_count(2)
    assert page.evaluate("seen") == ["animals.txt with constrained", "pairs.txt with constrained"]
    assert page.locator("progress").count() == 0
    assert [each.text_content() for each in page.locator(".result h3").all()] == [
        "pairs.txt · similarity",
        "animals.txt · analogies",
    ]


def test_models_are_shown_side_by_side_or_alone(visit: Callable[..., Any]) -> None:
    page = visit("/gap")
    assert page.locator(".column").count() == 2
    page.get_by_role("button", name="subword", exact=True).click()
    settle(page)
    assert address_of(page)[1]["models"] == ["constrained"]
    assert page.locator(".column").count() == 1
    page.get_by_role("link", name="Model").click()
    settle(page)
    assert address_of(page) == ("/model", {"models": ["constrained"]})
    page.get_by_role("button", name="subword", exact=True).click()
    settle(page)
    assert page.locator(".column").count() == 2


def test_closing_a_page_frees_the_evaluation_for_others(visit: Callable[..., Any]) -> None:
    page, other = visit("/model?models=constrained"), visit("/model?models=constrained")
    with evaluations.running_lock:  # held: stands for an evaluation whose next step takes long
        with page.expect_response("**/api/evaluation?**"):
            drop(page, "animals.txt", QUESTIONS)
        page.close()
        other.wait_for_timeout(1000)
        with other.expect_response("**/api/evaluation?**") as answer:
            drop(other, "animals.txt", QUESTIONS)
        assert answer.value.status == 200
    expect(other.locator(".result")).to_have_count(1)


def test_a_stopped_server_is_reported(visit: Callable[..., Any], complaints: list[str]) -> None:
    page = visit("/words?models=constrained")
    page.route("**/api/**", lambda route: route.fulfill(status=404, body="{}"))
    page.get_by_label("First word").fill("man")
    expect(page.get_by_role("alert")).to_have_text("The explorer responded with status 404.")
    page.unroute("**/api/**")
    page.context.set_offline(True)
    page.get_by_label("First word").fill("woman")
    expect(page.get_by_role("alert")).to_contain_text("Is posvec explore still running?")
    assert [each for each in complaints if not each.startswith("Failed to load resource")] == []
    complaints.clear()


@pytest.mark.parametrize(
    ("subwords", "said"), [((True, True), "subwords."), ((False, True), "subwords in subword."), ((False, False), "")]
)
def test_the_hint_about_unknown_words_fits_the_models(
    visit: Callable[..., Any], subwords: tuple[bool, bool], said: str
) -> None:
    page = visit("/gap")

    def answer(route: Any) -> None:
        models = route.fetch().json()
        route.fulfill(json=[{**each, "subwords": has} for each, has in zip(models, subwords, strict=True)])

    page.route("**/api/models?", answer)
    page.goto(page.url.replace("/gap", "/words"))
    settle(page)
    hints = page.locator(".question").first.locator(".hint").all_text_contents()
    assert hints == ([f"A word that is not in the vocabulary gets its vector from its {said}"] if said else [])
