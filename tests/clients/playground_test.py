"""The playground in a real Chromium against a real server."""

import base64
import csv
import io
import json
import subprocess
import sys

import pytest
from selenium.webdriver import Keys

import server as servers
from browser import Page, driver, page, saved  # noqa: F401 (fixtures)

ATTACK = '<img src=x onerror="window.attacked=1"><script>window.attacked=1</script>'
LANGUAGES = ("curl", "typesafe", "openai", "requests", "cpp")


def test_page_is_light(page):
    entries = page.run("return performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))"
                       ".filter(e => e.name.includes('/playground/') || e.entryType === 'navigation')"
                       ".map(e => [e.name, e.decodedBodySize, e.transferSize])")
    hosts = page.run("return performance.getEntriesByType('resource').filter(e => !e.name.startsWith(location.origin)).length")
    paint = page.run("return performance.getEntriesByName('first-contentful-paint')[0]?.startTime")
    weight = sum(entry[1] for entry in entries)
    print(f"weight {weight} bytes, sent {sum(entry[2] for entry in entries)}; first paint after {paint} ms")
    assert len(entries) > 10 and hosts == 0
    assert weight <= 150_000


def test_asks_and_compares(page):
    page.example("Ticket routing")
    page.ask()
    assert len(page.all(".answer")) == 3
    assert page.all(".bar-before") == [] and page.all(".timing-legend li")
    assert page.one("[data-answer=urgency] .scale")
    page.id("state").send_keys(" I am furious!")
    page.chord(Keys.CONTROL, Keys.ENTER)
    page.wait(lambda: len(page.all(".bar-before")) == 11)
    assert page.all(".delta")
    page.expect_accessible()
    page.picture("light")


@pytest.mark.parametrize("example", ["Spam", "Urgency", "JSON record", "Image kind", "Video"])
def test_examples(page, takes_images, example):
    page.example(example)
    page.ask()
    if example in ("Image kind", "Video") and not takes_images:
        assert "media-error" in page.errors()
    else:
        assert page.errors() == {} and page.all(".answer")


def test_json_and_form_are_in_step(page):
    page.example("JSON record")
    page.one("#view-switch [data-value=raw]").click()
    text = page.id("raw-text").get_attribute("value")
    assert "1299.00" in text  # digit for digit
    page.set("raw-text", text.replace("Is this a loyal customer?", "Changed in JSON?"))
    page.wait(lambda: "Changed in JSON?" in page.run("return document.getElementById('code').textContent"))
    page.form()
    assert "Changed in JSON?" in [area.get_attribute("value") for area in page.all(".question textarea")]


def test_place_of_a_json_error(page):
    page.one("#state-kind [data-value=json]").click()
    page.set("state", '{"a": 1,\n "b" 2}')
    page.wait(lambda: "Line 2, column 6" in page.text("state-check"))
    page.one("#state-check button").click()
    assert page.run("return document.activeElement.selectionStart") == len('{"a": 1,\n "b" ')
    page.ask()
    assert "state-error" in page.errors()


def test_builder(page):
    page.example("Ticket routing")
    page.click(".question [aria-label='Duplicate team']")
    page.click(".question [aria-label='Move urgency up']")
    page.click(".question [aria-label='Remove angry']")
    ids = [field.get_attribute("value") for field in page.all(".question-id")]
    assert ids == ["team", "team-2", "urgency"]
    page.set(page.all(".question-id")[1].get_attribute("id"), "team")
    page.ask()
    assert "two questions" in page.errors()["error"].lower()


def test_errors_stand_at_their_field(page):
    page.example("Spam")
    page.click(".question [data-value=score]")
    page.ask()
    assert "levels" in page.errors()["criteria-error"]
    page.raw({"state": "x", "questions": {"q": {"type": "noul"}}, "images": ["data:image/png;base64,AAAA"]})
    page.wait(lambda: page.text("raw-check") == "Valid JSON")
    page.form()
    page.ask()
    assert "media-error" in page.errors()


def test_keyboard_only(page):
    page.run("document.getElementById('state').focus()")
    page.press("Typed by hand")
    for _ in range(20):
        page.press(Keys.TAB)
        if page.driver.switch_to.active_element.get_attribute("id").endswith("-row0"):
            break
    page.press("red", Keys.ENTER)
    page.press("blue", Keys.ENTER)
    page.press("green")
    page.chord(Keys.ALT, Keys.ARROW_UP)
    page.chord(Keys.CONTROL, Keys.ENTER)
    page.wait(lambda: page.all(".answer"))
    page.one(".answer [data-value=given]").send_keys(Keys.ENTER)
    assert page.names() == ["red", "green", "blue"]


def test_255_options(page):
    criteria = ", ".join(f'"{1000 - i}": null' for i in range(255))  # JavaScript would sort these names
    page.raw(f'{{"state": "x", "questions": {{"q": {{"type": "choice", "criteria": {{{criteria}}}}}}}}}')
    page.wait(lambda: page.text("raw-check") == "Valid JSON")
    page.ask()
    assert len(page.all(".answer .bar")) == 12
    next(button for button in page.all(".answer .text-button") if "255" in button.text).click()
    page.one(".answer [data-value=given]").click()
    assert page.names() == [str(1000 - i) for i in range(255)]
    page.expect_accessible()


def test_three_megabytes(page):
    page.example("Spam")
    page.set("state", "word " * 600_000)
    page.wait(lambda: "3,000,000" in page.text("state-check"))
    page.ask()
    assert "limit" in page.errors()["error"]


def test_pasted_and_picked_media(page, takes_images, png, tmp_path):
    page.run("const files = new DataTransfer();"
             "files.items.add(new File([Uint8Array.from(arguments[0])], 'image.png', {type: 'image/png'}));"
             "document.getElementById('state').dispatchEvent("
             "new ClipboardEvent('paste', {clipboardData: files, bubbles: true, cancelable: true}))", list(png))
    page.wait(lambda: page.run("return document.querySelector('.media-item img')?.naturalWidth") == 8)
    (tmp_path / "second.png").write_bytes(png)
    page.id("media-file").send_keys(str(tmp_path / "second.png"))
    page.wait(lambda: [item.text for item in page.all(".media-name")] == ["image.png", "second.png"])
    page.click("[aria-label='Remove image.png']")
    assert [item.text for item in page.all(".media-name")] == ["second.png"]
    page.example("Image kind")
    page.ask()
    assert ("media-error" not in page.errors()) == takes_images


def test_saves_the_answer(page, saved):
    page.example("Ticket routing")
    page.ask()
    page.click("#save-json")
    answers = json.loads(saved("answer.json"))["answers"]
    page.click("#save-csv")
    rows = list(csv.DictReader(io.StringIO(saved("answer.csv"))))
    team = {row["option"]: float(row["probability"]) for row in rows if row["question"] == "team"}
    assert team == answers["team"]["probabilities"]
    assert [row["option"] for row in rows if row["question"] == "team" and row["decision"] == "yes"] == [max(team, key=team.get)]


@pytest.mark.parametrize("wish, moves", [("no-preference", True), ("reduce", False)])
def test_motion_as_wished(page, wish, moves):
    media = {"features": [{"name": "prefers-reduced-motion", "value": wish}]}
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    try:
        page.example("Spam")
        page.ask()
        durations = page.run("return [...document.querySelectorAll('*')].map(e => getComputedStyle(e))"
                             ".flatMap(s => [s.transitionDuration, s.animationName])")
        assert bool(set(durations) - {"0s", "none"}) == moves
    finally:
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def probabilities(answer):
    """The same from every client: {id: [p, ..]}."""
    answers = answer["answers"]
    if isinstance(answers, list):
        return {item["name"]: [item["probability"]] if item["type"] == "predicate" else
                [option["probability"] for option in item["probabilities"]] for item in answers}
    return {name: [item["noul"]] if item["type"] == "noul" else list(item["probabilities"].values())
            for name, item in answers.items()}


def run_code(language, code, directory):
    if language == "cpp":
        (directory / "ask.cc").write_text(code)
        subprocess.run(["g++", "-std=c++17", "ask.cc", "-o", "ask", "-lcurl"], cwd=directory, check=True)
    command = {"curl": ["sh", "-euc", code], "cpp": ["./ask"]}.get(language, [sys.executable, "-c", code])
    result = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return probabilities(json.loads(result.stdout))


@pytest.mark.parametrize("example", ["Ticket routing", "JSON record", "Image kind"])
def test_code_gives_the_same_answer(page, takes_images, tmp_path, example):
    if example == "Image kind" and not takes_images:
        pytest.skip("this server takes no images")
    page.example(example)
    for image in page.all(".media-item img"):
        (tmp_path / "receipt.png").write_bytes(base64.b64decode(image.get_attribute("src").split(",")[1]))
    answers = {language: run_code(language, page.code(language), tmp_path) for language in LANGUAGES}
    assert all(answer == answers["curl"] for answer in answers.values()), answers


def test_link_holds_the_request(page, server):
    page.example("JSON record")
    page.id("share").click()
    page.wait(lambda: "#r=" in page.driver.current_url)
    url = page.driver.current_url
    page.open(url)
    page.wait(lambda: "1299.00" in page.id("state").get_attribute("value"))
    assert len(page.all(".question")) == 2


def test_attacks_are_inert(page, server):
    page.raw({"state": ATTACK, "questions": {
        ATTACK: {"type": "choice", "instructions": ATTACK, "criteria": {ATTACK: ATTACK, "b": None}},
        "s": {"type": "score", "criteria": [ATTACK, ATTACK + "2"]}}})
    page.wait(lambda: page.text("raw-check") == "Valid JSON")
    page.ask()
    assert len(page.all(".answer")) == 2 and ATTACK in page.names()
    page.id("share").click()
    page.wait(lambda: "#r=" in page.driver.current_url)
    page.open(page.driver.current_url)
    page.wait(lambda: page.id("state").get_attribute("value") == ATTACK)
    page.run("const files = new DataTransfer(); files.items.add(new File([new Uint8Array(3)], arguments[0], {type: 'video/mp4'}));"
             "document.getElementById('ask-panel').dispatchEvent("
             "new DragEvent('drop', {dataTransfer: files, bubbles: true, cancelable: true}))", ATTACK + ".mp4")
    page.wait(lambda: ATTACK in page.text("media-list"))
    page.raw({"state": "x", "questions": {"q": {"type": "noul"}}, "model": ATTACK})
    page.wait(lambda: page.text("raw-check").startswith("Valid JSON"))
    page.ask()
    assert "onerror" in page.errors()["general-error"]
    page.id("tab-batch").click()
    page.run("const text = new DataTransfer(); text.setData('text', arguments[0]);"
             "document.getElementById('batch-drop').dispatchEvent("
             "new ClipboardEvent('paste', {clipboardData: text, bubbles: true, cancelable: true}))",
             f"{ATTACK}\n{ATTACK}\n")
    page.wait(lambda: "of 1 " in page.text("batch-count"))
    assert page.run("return window.attacked === undefined && !document.querySelector('main script, main img')")
    # The browser's own refusal, should a line of the page ever try it.
    assert page.run("try { document.body.innerHTML = '<b>x</b>'; return false } catch { return true }")
    page.driver.get(server.url + "/#r=%3Cscript%3E")
    page.wait(lambda: "does not hold" in page.text("announcement"))
    page.console()  # Chromium notes the refusal above


def test_server_panel(page):
    page.id("tab-server").click()
    page.wait(lambda: page.text("chart-queue").startswith("Requests in the queue\n0"))
    assert "d3-nano" in page.text("server-facts") and "float32" in page.text("server-facts")
    page.wait(lambda: len(page.all("#chart-rate .chart-line[d^=M]")) == 1)
    page.expect_accessible()
    page.picture("server")


def test_dark_and_phone(page):
    page.example("Ticket routing")
    page.ask()
    page.id("theme").click()
    page.id("theme").click()
    try:
        page.expect_accessible()
        page.picture("dark")
        page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True})
        assert page.run("return document.documentElement.scrollWidth") <= 390
        page.expect_accessible()
        page.picture("phone")
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        page.id("theme").click()


def test_server_goes_away_and_comes_back_with_a_key(driver, checkpoint):
    first = servers.Server(checkpoint, "--served-model-name", "d3-nano")
    port = first.url.rsplit(":", 1)[1]
    page = Page(driver)
    page.open(first.url + "/")
    page.example("Spam")
    assert first.stop() == 0
    page.wait(lambda: page.text("model-name") == "server not reachable")
    page.ask()
    assert "cannot be reached" in page.errors()["general-error"]
    second = servers.Server(checkpoint, "--served-model-name", "d3-nano", "--api-key", "secret", port=port)
    page.wait(lambda: page.text("model-name") == "wants an API key")
    page.ask()
    assert page.id("key-dialog").is_displayed()
    page.id("key").send_keys("secret")
    page.one("#key-dialog [value=save]").click()
    page.wait(lambda: page.text("model-name") == "d3-nano")
    page.ask()
    assert page.errors() == {} and page.all(".answer")
    code = page.code("curl")
    assert "$D3_API_KEY" in code and "secret" not in code
    assert page.run("return sessionStorage.getItem('d3.key')") == "secret"
    assert "secret" not in page.run("return JSON.stringify(localStorage) + location.href")
    page.driver.get("about:blank")
    assert second.stop() == 0
