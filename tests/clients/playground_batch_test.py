"""The playground's batch view: a file's states asked, stopped, gone on with and saved."""

import csv
import io
import json

import pytest

from browser import driver, page, saved  # noqa: F401 (fixtures)

# Answers of the server as a test wants them: arguments[0] is the body of a function of (number of the call, ask, signal).
FETCH = """
const real = window.fetch, reply = new Function("number", "ask", "signal", arguments[0]);
let number = 0;
window.fetch = (url, options) => String(url).endsWith("/v1/systemone")
  ? reply(++number, () => real(url, options), options.signal) : real(url, options);
"""


def load(page, tmp_path, name, text):
    page.id("tab-batch").click()
    (tmp_path / name).write_text(text)
    page.id("batch-file").send_keys(str(tmp_path / name))


def test_batch(page, tmp_path):
    page.example("Ticket routing")
    page.id("tab-batch").click()
    (tmp_path / "states.csv").write_text(
        "id,text\n" + "".join(f'{i},"message {i}, ""quoted"""\n' for i in range(40)))
    page.id("batch-file").send_keys(str(tmp_path / "states.csv"))
    page.wait(lambda: page.text("batch-count") == "0 of 40 answered")
    page.id("batch-run").click()
    page.wait(lambda: page.text("batch-run") == "Ask again", 60)
    assert page.text("batch-count") == "40 of 40 answered"
    assert len(page.all("#batch-chart .bar")) == 5
    page.set("batch-search", 'message 5, "quoted"')
    page.wait(lambda: len(page.all("#batch-table tbody tr")) == 1)
    page.set("batch-search", "")
    page.expect_accessible()
    page.picture("batch")



def test_stops_and_goes_on(page, tmp_path, saved):
    page.example("Spam")
    load(page, tmp_path, "states.jsonl", "".join(json.dumps({"state": {"number": i}}) + "\n" for i in range(12)))
    page.set("batch-workers", "1", "change")
    # The sixth call waits for ever.
    page.run(FETCH, "if (number !== 6) return ask();"
             "return new Promise((_, fail) => signal.addEventListener('abort', () => fail(signal.reason)))")
    page.id("batch-run").click()
    page.wait(lambda: page.text("batch-count") == "5 of 12 answered")
    assert page.text("batch-run") == "Stop"
    page.id("batch-run").click()
    page.wait(lambda: page.text("batch-run") == "Go on")
    assert page.text("batch-count") == "5 of 12 answered"
    page.id("batch-run").click()
    page.wait(lambda: page.text("batch-run") == "Ask again")
    assert page.text("batch-count") == "12 of 12 answered"
    page.click("#batch-jsonl")
    lines = [json.loads(line) for line in saved("answers.jsonl").splitlines()]
    assert [line["state"] for line in lines] == [{"number": i} for i in range(12)]
    assert all(0 <= line["answers"]["spam"]["noul"] <= 1 for line in lines)


@pytest.mark.parametrize("refusal", ["new Response('{}', {status: 429, headers: {'retry-after': '1'}})",
                                     "new Response('{}', {status: 503})", "Promise.reject(new TypeError('gone'))"])
def test_asks_again_when_the_server_is_busy(page, tmp_path, refusal):
    page.example("Spam")
    load(page, tmp_path, "states.jsonl", '"one"\n"two"\n"three"\n')
    page.run(FETCH, f"return number % 2 ? {refusal} : ask()")
    page.id("batch-run").click()
    page.wait(lambda: page.text("batch-run") == "Ask again")
    assert page.text("batch-count") == "3 of 3 answered"


def test_a_refused_row_hurts_no_other(page, tmp_path, saved):
    page.example("Spam")
    load(page, tmp_path, "states.csv", "text\ngood\n" + "word " * 20000 + '\n"good, too"\n')
    page.id("batch-run").click()
    page.wait(lambda: page.text("batch-run") == "Ask again")
    assert page.text("batch-count") == "3 of 3 answered, 1 with an error"
    page.click("#batch-csv")
    rows = list(csv.DictReader(io.StringIO(saved("answers.csv"))))
    assert [row["state"][:9] for row in rows] == ["good", "word word", "good, too"]
    assert [row["error"] == "" for row in rows] == [True, False, True]
    page.set("batch-decision", "!", "input")
    page.wait(lambda: len(page.all("#batch-table tbody tr")) == 1)


def test_place_of_an_error_in_a_file(page, tmp_path):
    load(page, tmp_path, "states.jsonl", '"one"\n{"two": }\n')
    page.wait(lambda: "Line 2" in page.text("batch-error") and "column 9" in page.text("batch-error"))
