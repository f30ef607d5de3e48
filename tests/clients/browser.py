"""A page of the playground in a real Chromium. Pictures go to the directory D3_SCREENSHOTS, if it is set."""

import json
import os
import re
from pathlib import Path

import axe_playwright_python
import pytest
from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()


class Page:
    def __init__(self, driver):
        self.driver = driver

    def open(self, url, model="d3-nano"):
        self.driver.get("about:blank")
        self.driver.get(url)
        self.wait(lambda: self.text("model-name") == model)

    def wait(self, condition, seconds=30):
        """The page may redraw what the condition looks at: then it is looked at again."""
        return WebDriverWait(self.driver, seconds, poll_frequency=0.05,
                             ignored_exceptions=[NoSuchElementException, StaleElementReferenceException]).until(
                                 lambda _: condition())

    def id(self, name):
        return self.driver.find_element(By.ID, name)

    def text(self, name):
        return self.id(name).text

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def set(self, name, value, event="input"):
        self.run("arguments[0].value = arguments[1];"
                 "arguments[0].dispatchEvent(new Event(arguments[2], {bubbles: true}))", self.id(name), value, event)

    def example(self, name):
        next(chip for chip in self.all(".chip") if chip.text == name).click()

    def ask(self):
        """Asks, and waits until the answer or the refusal is there."""
        self.id("ask").click()
        self.wait(lambda: self.id("ask").is_enabled())

    def raw(self, text):
        self.one("#view-switch [data-value=raw]").click()
        self.set("raw-text", text if isinstance(text, str) else json.dumps(text))

    def form(self):
        self.one("#view-switch [data-value=form]").click()

    def errors(self):
        """Those shown, by their place; a question's without its number."""
        shown = self.run("return [...document.querySelectorAll('#ask-panel .error')].filter(e => e.checkVisibility())"
                         ".map(e => [e.id, e.textContent])")
        return {re.sub(r"^q\d+-", "", place): text for place, text in shown}

    def click(self, selector):
        """Where nothing lies over it."""
        self.run("arguments[0].scrollIntoView({block: 'center'})", self.one(selector))
        self.one(selector).click()

    def names(self):
        return self.run("return [...document.querySelectorAll('.answer .bar-name')].map(e => e.textContent)")

    def press(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def chord(self, modifier, key):
        ActionChains(self.driver).key_down(modifier).send_keys(key).key_up(modifier).perform()

    def code(self, language):
        self.set("language", language, "change")
        return self.run("return document.getElementById('code').textContent")

    def console(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def picture(self, name):
        if "D3_SCREENSHOTS" in os.environ:
            self.wait(lambda: self.run("return getComputedStyle(document.getElementById('announcement')).opacity") == "0")
            self.driver.save_screenshot(str(Path(os.environ["D3_SCREENSHOTS"]) / f"{name}.png"))

    def expect_accessible(self):
        self.run(AXE)
        report = self.driver.execute_async_script("axe.run().then(arguments[0])")
        assert [(found["id"], found["impact"], [node["target"] for node in found["nodes"]])
                for found in report["violations"]] == []


@pytest.fixture(scope="module")
def driver():
    options = webdriver.ChromeOptions()
    # As root Chromium has no sandbox.
    for argument in ("--no-sandbox", "--headless=new", "--disable-dev-shm-usage", "--window-size=1380,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    yield driver
    driver.quit()


@pytest.fixture
def page(driver, server):
    page = Page(driver)
    page.open(server.url + "/")
    page.console()
    yield page
    # Chromium itself notes answers of 4xx; nothing else may be said.
    assert [line for line in page.console() if "the server responded with a status of 4" not in line] == []


@pytest.fixture
def saved(driver, tmp_path):
    """The text of a file that the page has let the browser save."""
    folder = tmp_path / "saved"
    folder.mkdir()
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})

    def text(name):
        # Chromium writes under another name until all is there.
        WebDriverWait(driver, 30, poll_frequency=0.05).until(lambda _: (folder / name).exists())
        return (folder / name).read_text()
    return text
