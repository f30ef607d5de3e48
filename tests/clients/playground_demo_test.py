"""The playground of `d3 serve demo`, as a visitor without a network meets it."""

import pytest

import server as servers
from browser import Page, driver  # noqa: F401 (fixture)

EXAMPLES = ["Ticket routing", "Spam", "Urgency", "JSON record", "Image kind", "Video"]


@pytest.fixture(scope="module")
def demo():
    running = servers.Server("demo")
    yield running
    assert running.stop() == 0


@pytest.fixture
def page(driver, demo):
    page = Page(driver)
    page.open(demo.url + "/", model="demo")
    page.console()
    yield page
    assert page.console() == []


def decision(page):
    return page.one(".answer .bar.decided .bar-name").text


@pytest.mark.parametrize("example", EXAMPLES)
def test_answers_every_example(page, example):
    page.example(example)
    page.ask()
    assert page.errors() == {}
    assert len(page.all(".answer .bar.decided")) == len(page.all(".answer")) > 0


def test_answers_the_first_request(page):
    page.raw({"state": "Write a Python function that merges two sorted lists.", "questions": {
        "kind": {"type": "choice", "instructions": "What kind of work is this?",
                 "criteria": {"code": "Writing or fixing code", "math": "Mathematics", "chat": "Anything else"}}}})
    page.wait(lambda: page.text("raw-check") == "Valid JSON")
    page.ask()
    assert decision(page) == "code"


def test_says_that_it_is_a_demonstration(page):
    page.id("tab-server").click()
    page.wait(lambda: "demonstration" in page.text("server-facts"))
    assert "d3-nano" in page.text("server-facts")


def test_code_asks_demo(page):
    page.example("Spam")
    page.ask()
    assert '"demo"' in page.code("openai")
