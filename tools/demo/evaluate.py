#!/usr/bin/env python3
"""Asks a demo checkpoint fresh held-out questions through d3 and writes how it answers, as Markdown.

    evaluate.py [--model DIR] [--d3 PROGRAM] [--per-task N] [--seed N] [--reference reference.py] [--card README.md]
    evaluate.py --write-questions tests/data/demo-questions.jsonl.gz

Every question is of the held-out part (questions.py), drawn with a seed that neither training nor its validation uses.
`d3 batch` answers them in float32, bfloat16 and int8. With --reference the PyTorch reference answers the same questions
in float32. --card puts the tables between the marks of the model card. --write-questions instead writes the text
questions that a test of d3 asks. Needs: pip install numpy pillow opencv-python-headless (and what the reference needs).
"""
import argparse
import base64
import gzip
import json
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pictures as P
import questions as Q

ROOT = Path(__file__).resolve().parents[2]
DTYPES = ("float32", "bfloat16", "int8")
GROUPS = {"text": Q.TEXT_TASKS, "images": Q.IMAGE_TASKS, "videos": Q.VIDEO_TASKS}
BEGIN, END = "<!-- evaluate.py -->", "<!-- /evaluate.py -->"
HAND = ROOT / "models/demo/handwritten.jsonl"


@dataclass
class Asked:
    task: str
    request: dict          # as POST /v1/systemone takes it, without media
    answer: int            # the right option's place
    images: list           # paths
    videos: list


def request_of(question):
    asked = dict(type=question.kind, instructions=question.instructions)
    if question.criteria is not None:
        asked["criteria"] = question.criteria
    return dict(state=question.state, questions={"q": asked})


def draw(maker, task):
    if task in Q.IMAGE_TASKS:
        return P.picture(maker.rng)
    if task not in Q.VIDEO_TASKS:
        return None
    while True:
        scene = P.clip(maker.rng)
        if scene.motion != "still" or task == "motion":
            return scene


def write_picture(path, scene):
    from PIL import Image
    Image.fromarray(scene.frames[0]).save(path)


def write_clip(path, scene, rate):
    import cv2
    side = scene.frames.shape[1]
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"mp4v"), rate, (side, side))
    for frame in scene.frames:
        writer.write(cv2.cvtColor(frame, cv2.COLOR_RGB2BGR))
    writer.release()


def make(per_task, seed, folder):
    maker, out = Q.Maker(True, f"evaluation {seed}"), []
    for task in [task for tasks in GROUPS.values() for task in tasks]:
        for i in range(per_task):
            scene = draw(maker, task)
            asked = Asked(task, None, 0, [], [])
            if scene is not None:
                clip = len(scene.frames) > 1
                path = folder / f"{task}-{i}.{'mp4' if clip else 'png'}"
                write_clip(path, scene, maker.rng.choice([2, 3, 4, 5])) if clip else write_picture(path, scene)
                (asked.videos if clip else asked.images).append(path)
            question = maker.make(task, scene)
            asked.request, asked.answer = request_of(question), question.answer
            out.append(asked)
    return out


def data_url(path):
    kind = {".png": "image/png", ".mp4": "video/mp4"}[path.suffix]
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def probabilities(answer):
    """In the order of the options."""
    p = answer["probabilities"]
    return [p["no"], p["yes"]] if answer["type"] == "noul" else list(p.values())


def batch(d3, model, requests, folder, *options):
    """The lines of d3 batch's answers."""
    (folder / "requests.jsonl").write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in requests))
    run = subprocess.run([d3, "batch", model, folder / "requests.jsonl", "-o", folder / "answers.jsonl", "--restart", *options],
                         capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(run.stderr.strip().splitlines()[-1])
    return [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]


def ask_d3(d3, model, asked, folder, dtype):
    requests = [dict(a.request, images=[data_url(p) for p in a.images], videos=[data_url(p) for p in a.videos]) for a in asked]
    return [probabilities(line["answers"]["q"]) for line in batch(d3, model, requests, folder, "--dtype", dtype)]


def ask_reference(program, model, asked, folder):
    cases = folder / "cases.jsonl"
    names = lambda paths: [p.name for p in paths]
    cases.write_text("".join(json.dumps(dict(id=str(i), request=dict(a.request, images=names(a.images), videos=names(a.videos))),
                                        ensure_ascii=False) + "\n" for i, a in enumerate(asked)))
    subprocess.run([sys.executable, program, model, cases, folder / "reference.jsonl", "--dtype", "float32"], check=True)
    return [json.loads(line)["probabilities"] for line in (folder / "reference.jsonl").read_text().splitlines()]


def best(p):
    return p.index(max(p))


def calibration_error(pairs):
    """Expected calibration error of [(confidence, right)], ten bins."""
    bins = {}
    for confidence, right in pairs:
        bins.setdefault(min(int(confidence * 10), 9), []).append((confidence, right))
    return sum(abs(sum(c for c, _ in b) - sum(r for _, r in b)) for b in bins.values()) / len(pairs)


def row(name, pairs):
    accuracy, confidence = sum(r for _, r in pairs) / len(pairs), sum(c for c, _ in pairs) / len(pairs)
    return f"| {name} | {len(pairs)} | {100 * accuracy:.1f} % | {confidence:.3f} | {calibration_error(pairs):.3f} |"


def task_tables(asked, answers):
    of = {}
    for a, p in zip(asked, answers):
        of.setdefault(a.task, []).append((max(p), best(p) == a.answer))
    out = ["| questions | count | right | mean confidence | calibration error |", "|---|---|---|---|---|"]
    together = lambda tasks: [pair for task in tasks for pair in of[task]]
    out += [row(f"**{name}**", together(tasks)) for name, tasks in GROUPS.items()] + [row("**all**", together(of))]
    return out + [row(f"{name}: {task}", of[task]) for name, tasks in GROUPS.items() for task in tasks]


def agreement(name, answers, truth):
    equal = sum(best(p) == best(q) for p, q in zip(answers, truth))
    gap = max(abs(x - y) for p, q in zip(answers, truth) for x, y in zip(p, q))
    return f"| {name} | {equal} of {len(truth)} ({100 * equal / len(truth):.2f} %) | {gap:.2g} |"


def hand_table(d3, model, folder):
    """The questions written by hand, with what a person would say (the file's `expected` beside it)."""
    requests = [json.loads(line) for line in HAND.read_text().splitlines()]
    expected = HAND.with_suffix(".expected").read_text().splitlines()
    out = ["| state | question | a person says | demo says | |", "|---|---|---|---|---|"]
    for request, wanted, line in zip(requests, expected, batch(d3, model, requests, folder), strict=True):
        (name, question), = request["questions"].items()
        answer = line["answers"][name]
        p = probabilities(answer)
        keys = {"choice": lambda: list(question["criteria"]), "noul": lambda: ["no", "yes"], "score": lambda: question["criteria"]}[question["type"]]()
        said = keys[best(p)]
        cell = lambda text: text.replace("|", "\\|").replace("\n", " ")
        out.append(f"| {cell(request['state'] if isinstance(request['state'], str) else json.dumps(request['state']))} | {cell(question['instructions'])} "
                   f"({', '.join(keys)}) | {wanted} | {said}, {100 * max(p):.0f} % | {'right' if said == wanted else '**wrong**'} |")
    return out


def write_questions(path, count, seed):
    """One line a question: its task, the right option's place and the request. The same bytes every time."""
    maker = Q.Maker(True, f"kept {seed}")
    lines = []
    for i in range(count):
        task = Q.TEXT_TASKS[i % len(Q.TEXT_TASKS)]
        question = maker.make(task)
        lines.append(json.dumps(dict(task=task, answer=question.answer, request=request_of(question)), ensure_ascii=False) + "\n")
    path.write_bytes(gzip.compress("".join(lines).encode(), 9, mtime=0))
    print(f"{path}: {count} questions, {path.stat().st_size} bytes")


def put_into(card, text):
    before, rest = card.read_text().split(BEGIN)
    card.write_text(before + BEGIN + "\n" + text + END + rest.split(END)[1])


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--model", default=str(ROOT / "models/demo"))
    ap.add_argument("--d3", default=str(ROOT / "build/release/bin/d3"))
    ap.add_argument("--per-task", type=int, default=100)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--reference", help="the PyTorch reference, to compare with")
    ap.add_argument("--card", type=Path, help="a model card to put the tables into")
    ap.add_argument("--write-questions", type=Path, metavar="FILE", help="write 2,000 text questions for a test, and end")
    a = ap.parse_args()
    if a.write_questions:
        return write_questions(a.write_questions, 2000, a.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asked = make(a.per_task, a.seed, folder)
        answers = {}
        for dtype in DTYPES:
            try:
                answers[dtype] = ask_d3(a.d3, a.model, asked, folder, dtype)
            except RuntimeError as error:
                if dtype != "int8":
                    raise
                print(f"int8: {error}", file=sys.stderr)  # a CPU without exact int8 products
        lines = [f"{len(asked)} questions of the held-out part (`evaluate.py --per-task {a.per_task} --seed {a.seed}`), answered by `d3 batch` in float32:", ""]
        lines += task_tables(asked, answers["float32"])
        lines += ["", "| against float32 | equal decisions | largest difference of a probability |", "|---|---|---|"]
        lines += [agreement(dtype, p, answers["float32"]) for dtype, p in answers.items() if dtype != "float32"]
        if a.reference:
            lines.append(agreement("the PyTorch reference, float32", ask_reference(a.reference, a.model, asked, folder), answers["float32"]))
        if HAND.exists():
            lines += ["", "Ten questions written by hand about everyday texts, unlike the generator's (`./run batch demo models/demo/handwritten.jsonl -o answers.jsonl`):", ""]
            lines += hand_table(a.d3, a.model, folder)
    text = "\n".join(lines) + "\n"
    print(text)
    if a.card:
        put_into(a.card, text)


if __name__ == "__main__":
    main()
