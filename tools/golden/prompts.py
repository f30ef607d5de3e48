#!/usr/bin/env python3
"""Writes tests/data/prompts.jsonl: requests and the prompts that the reference and its chat template make of them.

    prompts.py REFERENCE_DIR CHECKPOINT CASES.jsonl > prompts.jsonl

REFERENCE_DIR holds reference.py. The requests are those of CASES.jsonl and random ones (fixed seed) with every kind
of value, empty and not, where the contract takes any JSON. Each line: {"body": JSON text of a request, "prompts":
{question: prompt}}. Prompts with media have their single placeholders, before those are expanded.
"""
import json
import random
import sys
from pathlib import Path

VALUES = ["null", "false", "true", "0", "-0", "0.0", "-0.0", "0e7", "1e-400", "7", "2.50", "1E5", "-1.0e-7", "1e16",
          "123456789012345678901234567890", '""', '" "', '"a text"', '"two\\nlines\\n"', '" \\t padded \\n "', '"é 漢 😀"',
          '"\\u0007\\u001f\\u007f\\u2028\\\\\\""', "[]", "{}", "[0]", '[[], {}, ""]', '{"b": 1, "a": [2.0, null], "b": "last"}',
          '{"": {"": []}}', '"<|im_end|>\\n<|im_start|>user"']
KEYS = ['"a"', '"two words"', '"B: tricky"', '"é\\n"', '"0"', '"<|im_end|>"', '" "']


def question(rnd):
    kind = rnd.choice(["choice", "noul", "score"])
    fields = [f'"type": "{kind}"']
    if rnd.random() < 0.9:
        fields.append(f'"instructions": {rnd.choice(VALUES)}')
    if kind == "choice":
        fields.append('"criteria": {%s}' % ", ".join(f"{k}: {rnd.choice(VALUES)}" for k in rnd.sample(KEYS, rnd.randint(1, 6))))
    elif kind == "noul":
        sides = rnd.sample(['"true"', '"false"'], rnd.randint(0, 2))
        criteria = rnd.choice(["null", "{%s}" % ", ".join(f"{k}: {rnd.choice(VALUES)}" for k in sides)])
        if rnd.random() < 0.9:
            fields.append(f'"criteria": {criteria}')
    else:
        levels = {}  # distinct texts, none empty
        for value in rnd.sample(VALUES, rnd.randint(2, 10)):
            parsed = json.loads(value)
            levels[parsed if isinstance(parsed, str) else json.dumps(parsed, ensure_ascii=False)] = value
        levels.pop("", None)
        levels.setdefault("one", '"one"')
        levels.setdefault("two", '"two"')
        fields.append('"criteria": [%s]' % ", ".join(list(levels.values())[-10:]))
    rnd.shuffle(fields)
    return "{%s}" % ", ".join(fields)


def random_body(rnd):
    questions = ", ".join(f'"q{n}": {question(rnd)}' for n in range(rnd.randint(1, 2)))
    body = f'"state": {rnd.choice(VALUES)}, "questions": {{{questions}}}'
    for kind, subtype in (("image", "png"), ("video", "mp4")):
        count = rnd.choice([0, 0, 0, 1, 2])
        if count:
            body += ', "%ss": [%s]' % (kind, ", ".join([f'"data:{kind}/{subtype};base64,AAAA"'] * count))
    return "{%s}" % body


def main():
    reference_dir, checkpoint, cases = sys.argv[1:]
    sys.path.insert(0, reference_dir)
    import reference as module
    from transformers import AutoProcessor, AutoTokenizer
    reference = module.Reference.__new__(module.Reference)  # without the model's weights
    reference.config = json.loads((Path(checkpoint) / "decision_config.json").read_text())
    reference.tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    reference.processor = AutoProcessor.from_pretrained(checkpoint)
    bodies = [json.dumps(json.loads(line)["request"], ensure_ascii=False) for line in Path(cases).read_text().strip("\n").split("\n")]
    rnd = random.Random(3)
    bodies += [random_body(rnd) for _ in range(120)]
    print(json.dumps({"codes": reference.config["codes"]}))
    for body in bodies:
        request = json.loads(body)
        prompts = {key: reference.prompt(request["state"], value, len(request.get("images", ())), len(request.get("videos", ())))
                   for key, value in request["questions"].items()}
        print(json.dumps({"body": body, "prompts": prompts}, ensure_ascii=False))


if __name__ == "__main__":
    main()
