#!/usr/bin/env python3
"""How soon the playground's page is painted, from the beginning of the navigation: opened again in its tab, and in new
tabs, whose process the browser starts within that time; beside them a page of one word. In headless Chromium, in turns;
prints medians.

    first_paint.py D3 [--model demo] [--rounds 15]

Needs: Chromium and its driver (Debian's chromium-driver), pip install selenium.
"""
import argparse
import statistics
import subprocess
import time
import urllib.request

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

PAINT = """
const done = arguments[0];
const paint = () => performance.getEntriesByName('first-paint')[0];
const wait = () => paint() ? done(paint().startTime) : setTimeout(wait, 10);
wait();
"""
WORD = "data:text/html,<p>word</p>"


def browser():
    options = webdriver.ChromeOptions()
    for argument in ("--no-sandbox", "--headless=new", "--disable-dev-shm-usage", "--window-size=1380,1000"):
        options.add_argument(argument)
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


def wait_until_ready(url):
    for _ in range(600):
        try:
            urllib.request.urlopen(url + "/health").read()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the server does not answer")


def first_paint(driver, address):
    driver.get(address)
    time.sleep(0.3)  # the page's own work is over before the next load begins
    return driver.execute_async_script(PAINT)


def in_new_tab(driver, address):
    first = driver.current_window_handle
    driver.switch_to.new_window("tab")
    time.sleep(0.3)
    milliseconds = first_paint(driver, address)
    driver.close()
    driver.switch_to.window(first)
    return milliseconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("d3")
    parser.add_argument("--model", default="demo")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--port", type=int, default=8379)
    arguments = parser.parse_args()
    url = f"http://127.0.0.1:{arguments.port}"
    server = subprocess.Popen([arguments.d3, "serve", arguments.model, "--port", str(arguments.port), "--log-level", "off"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until_ready(url)
        driver = browser()
        driver.set_script_timeout(20)
        loads = {"playground": lambda: first_paint(driver, url + "/"),
                 "playground in a new tab": lambda: in_new_tab(driver, url + "/"),
                 "one word in a new tab": lambda: in_new_tab(driver, WORD)}
        first_paint(driver, url + "/")
        times = {name: [] for name in loads}
        for _ in range(arguments.rounds):
            for name, load in loads.items():
                times[name].append(load())
        driver.quit()
    finally:
        server.terminate()
        server.wait()
    for name, values in times.items():
        print(f"{name}: first paint after {statistics.median(values):.0f} ms ({min(values):.0f} to {max(values):.0f} in "
              f"{arguments.rounds} loads)")


if __name__ == "__main__":
    main()
