#!/usr/bin/env python3
"""Trains the demo model on questions it makes itself, and keeps its state in a folder; export.py writes the checkpoint from it.

    train.py WORK_DIR [--steps N] [--seed N] [--threads N]

WORK_DIR keeps the tokenizer, the log (log.txt, a line every 50 steps, held-out accuracy every 250) and the training
state, written every three minutes: the same command goes on after an interruption. The questions of step n depend on
the seed and n alone. Needs: pip install torch tokenizers numpy.
"""
import argparse
import json
import random
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

import pictures as P
import prompt
import questions as Q
import words as W
from evaluate import calibration_error
from model import Config, Model

TEXT_BATCH, PICTURES, CLIPS = 48, 12, 16
PICTURE_QUESTIONS, CLIP_QUESTIONS = 2, 2
# Share of the tasks in a text batch; what is not named has 1.
WEIGHTS = dict(topic=1.5, work=1.2, intent=1.4, sentiment=1.3, yes_record=1.2, yes_topic=1.2, yes_intent=1.3, score_mood=1.4, word=2.0)
SMOOTHING = 0.02
ASIDE = 0.3          # weight of what only training asks of the inner layers
# What a picture or a clip shows as a whole, as the concepts of each of these groups.
SEEN = {group: [Q.CONCEPT_ID[f"{group}:{k}"] for k in names]
        for group, names in dict(colour=W.COLOURS, shape=W.SHAPES, count=W.NUMBERS, motion=W.MOTIONS).items()}


class Reader:
    """Questions -> tensors."""

    def __init__(self, tokenizer, codes):
        self.tokenizer, self.codes = tokenizer, codes
        self.pad, self.image, self.video = (tokenizer.token_to_id(t) for t in ("<|endoftext|>", "<|image_pad|>", "<|video_pad|>"))

    def media(self, rng, scene):
        """(text for the prompt, the pads' grids [(h, w) of merged tokens])."""
        if scene is None:
            return "", []
        side = scene.frames.shape[1] // 32
        pads = side * side
        if len(scene.frames) == 1:
            return "<|vision_start|>" + "<|image_pad|>" * pads + "<|vision_end|>", [(side, side)]
        gap = rng.choice([0.2, 0.3, 0.4, 0.5, 0.5, 0.5, 0.6])
        text = ""
        for pair in range(len(scene.frames) // 2):
            text += f"<{gap * (2 * pair + 0.5):.1f} seconds><|vision_start|>" + "<|video_pad|>" * pads + "<|vision_end|>"
        return f"<|vision_start|>{text}<|vision_end|>", [(side, side)] * (len(scene.frames) // 2)

    def one(self, rng, question):
        media, grids = self.media(rng, question.picture)
        text, state_end, question_end, ends = prompt.render(question, self.codes, media)
        coded = self.tokenizer.encode(text)
        # The line break after a part is where the early layers sum it up.
        after = lambda end: coded.char_to_token(end + 1)
        hints = [(after(question_end), question.question_concept)] + list(zip(map(after, ends), question.option_concepts))
        if question.picture is None:
            hints.append((after(state_end), question.state_concept))
        return dict(ids=coded.ids, grids=grids, answer=question.answer, count=len(ends), found=Q.CONCEPT_ID[question.found_concept],
                    hints=[(at, Q.CONCEPT_ID[c]) for at, c in hints if c], ends=[after(e) for e in ends], question=after(question_end),
                    yes_no=question.kind == "noul", task=question.task)

    def positions(self, row):
        """[3, T]: where each token stands on the time, height and width axes."""
        out, at, i, grids = [], 0, 0, list(row["grids"])
        ids = row["ids"]
        while i < len(ids):
            if ids[i] in (self.image, self.video):
                h, w = grids.pop(0)
                out += [(at, at + y, at + x) for y in range(h) for x in range(w)]
                at, i = at + max(h, w), i + h * w
            else:
                out.append((at, at, at))
                at, i = at + 1, i + 1
        return np.array(out, np.int64).T

    def batch(self, rows):
        longest = max(len(r["ids"]) for r in rows)
        ids = np.full((len(rows), longest), self.pad, np.int64)
        positions = np.zeros((3, len(rows), longest), np.int64)
        for i, r in enumerate(rows):
            n = len(r["ids"])
            ids[i, :n] = r["ids"]
            positions[:, i, :n] = self.positions(r) if r["grids"] else np.arange(n)
        hints = np.array([(i, at, c) for i, r in enumerate(rows) for at, c in r["hints"]], np.int64).reshape(-1, 3)
        ends = np.array([(i, at, code) for i, r in enumerate(rows) for code, at in enumerate(r["ends"])], np.int64)
        asked = np.array([(i, r["question"], r["answer"]) for i, r in enumerate(rows) if r["yes_no"]], np.int64).reshape(-1, 3)
        t = torch.from_numpy
        return dict(ids=t(ids), positions=t(positions), lengths=torch.tensor([len(r["ids"]) for r in rows]), hints=t(hints),
                    answers=torch.tensor([r["answer"] for r in rows]), counts=torch.tensor([r["count"] for r in rows]),
                    found=torch.tensor([r["found"] for r in rows]), ends=t(ends), asked=t(asked),
                    targets=torch.tensor([r["ends"][r["answer"]] for r in rows]), yes_no=torch.tensor([r["yes_no"] for r in rows]), tasks=[r["task"] for r in rows])


def scene_batch(reader, maker, kind, count, per):
    """Several questions on each of `count` drawings; the drawings' patches come first, once for all questions."""
    rng = maker.rng
    if kind == "image":
        side = rng.choice([256, 256, 256, 256, 384])
        scenes = [P.picture(rng, side) for _ in range(count * 256 // side)]
    else:
        length = rng.choice([4, 4, 6, 8])
        side = rng.choice([96, 128, 160]) if length == 4 else 96
        scenes = [P.clip(rng, side, length) for _ in range(count)]
    tasks = Q.IMAGE_TASKS if kind == "image" else Q.VIDEO_TASKS
    rows, owner = [], []
    for i, scene in enumerate(scenes):
        pool = [t for t in tasks if not (scene.motion == "still" and t in ("direction", "yes_motion"))]
        for task in (rng.sample(pool, min(per, len(pool)))):
            rows.append(reader.one(rng, maker.make(task, scene)))
            owner.append(i)
    batch = reader.batch(rows)
    frames = [np.concatenate([s.frames, s.frames]) if len(s.frames) == 1 else s.frames for s in scenes]
    batch["patches"] = torch.from_numpy(np.stack([P.patches(f) for f in frames]))
    batch["pairs"], batch["side"] = len(frames[0]) // 2, frames[0].shape[1] // 16
    batch["owner"] = torch.tensor(owner)
    batch["seen"] = {group: torch.tensor([of.index(Q.CONCEPT_ID[f"{group}:{getattr(s, group)}"]) for s in scenes]) for group, of in SEEN.items()}
    cover = np.stack([np.concatenate([s.cover, s.cover]) if len(s.cover) == 1 else s.cover for s in scenes])
    cover = torch.from_numpy(cover).view(len(scenes), batch["pairs"], 2, -1).transpose(2, 3).reshape(len(scenes), -1, 2)
    shape = torch.tensor([sorted(W.SHAPES).index(s.shape) for s in scenes])
    batch["cover"], batch["shape"] = cover, torch.where(cover.mean(2) > 0.1, shape[:, None], len(W.SHAPES))
    batch["places"] = (batch["ids"] == reader.image) | (batch["ids"] == reader.video)
    return batch


def text_batches(reader, maker, count, size):
    tasks = Q.TEXT_TASKS + ["word"]
    weights = [WEIGHTS.get(t, 1.0) for t in tasks]
    rows = [reader.one(maker.rng, maker.make(maker.rng.choices(tasks, weights)[0])) for _ in range(count * size)]
    rows.sort(key=lambda r: len(r["ids"]))
    out = [reader.batch(rows[i * size:(i + 1) * size]) for i in range(count)]
    maker.rng.shuffle(out)
    return out


def step_batches(reader, seed):
    """The batches of training in rounds of eight: four of texts, three of pictures and one of clips."""
    def round_of(number):
        maker = Q.Maker(False, f"{seed} {number}")
        media = [("image", PICTURES, PICTURE_QUESTIONS)] * 3 + [("video", CLIPS, CLIP_QUESTIONS)]
        out = text_batches(reader, maker, 4, TEXT_BATCH) + [scene_batch(reader, maker, *m) for m in media]
        maker.rng.shuffle(out)
        return out
    return round_of


def run(model, batch):
    features = None
    if "patches" in batch:
        n, side = len(batch["patches"]), batch["side"]
        features = model.vision(batch["patches"].view(n * batch["pairs"], side * side, 1536), side, side)
        features = features.view(n, -1, features.shape[-1])
        batch["features"] = features
        features = features[batch["owner"]].reshape(-1, features.shape[-1])
    return model(batch["ids"], batch["lengths"], batch["positions"], features, batch.get("places"))


def masked(logits, counts):
    return logits.masked_fill(torch.arange(logits.shape[1])[None] >= counts[:, None], -1e9)


def losses(model, batch):
    """(the answers' loss, {name: what only training asks of the inner layers}, accuracy)."""
    logits, early, late, attention = run(model, batch)
    logits = masked(logits, batch["counts"])
    logp = F.log_softmax(logits, -1)
    main = -logp.gather(1, batch["answers"][:, None]).mean()
    even = -(logp.masked_fill(logits < -1e8, 0).sum(1) / batch["counts"]).mean()
    hints, ends, asked, none = batch["hints"], batch["ends"], batch["asked"], torch.zeros(())
    at = lambda x, places: x[places[:, 0], places[:, 1]]
    last = late[torch.arange(len(late)), batch["lengths"] - 1]
    pick = ~batch["yes_no"]
    aside = dict(
        concept=F.cross_entropy(model.hint(at(early, hints)), hints[:, 2]) if len(hints) else none,
        code=F.cross_entropy(model.hint_code(at(early, ends)), ends[:, 2]),
        found=F.cross_entropy(model.hint(last), batch["found"]),
        match=F.binary_cross_entropy_with_logits(model.hint_match(at(late, asked))[:, 0], asked[:, 2].float()) if len(asked) else none,
        point=-torch.log(attention[pick, batch["targets"][pick]] + 1e-5).mean() if pick.any() else none)
    if "features" in batch:
        features = batch["features"]
        seen = model.hint_seen(features.mean(1))
        aside["seen"] = sum(F.cross_entropy(seen[:, of], batch["seen"][group]) for group, of in SEEN.items())
        aside["cover"] = 10 * F.mse_loss(model.hint_cover(features), batch["cover"])
        aside["shape"] = F.cross_entropy(model.hint_shape(features).flatten(0, 1), batch["shape"].flatten())
    return (1 - SMOOTHING) * main + SMOOTHING * even, aside, (logits.argmax(1) == batch["answers"]).float().mean().item()


class Muon(torch.optim.Optimizer):
    """Momentum whose update is orthogonalised (five Newton-Schulz steps), for matrices."""

    def __init__(self, params, lr, momentum=0.95, decay=0.01):
        super().__init__(params, dict(lr=lr, momentum=momentum, decay=decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                buffer = state.setdefault("buffer", torch.zeros_like(p))
                buffer.lerp_(p.grad, 1 - group["momentum"])
                x = p.grad.lerp(buffer, group["momentum"])
                tall = x.shape[0] > x.shape[1]
                x = x.T if tall else x
                x = x / (x.norm() + 1e-7)
                for _ in range(5):
                    a = x @ x.T
                    x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
                x = x.T if tall else x
                p.mul_(1 - group["lr"] * group["decay"]).add_(x, alpha=-group["lr"] * max(1, p.shape[0] / p.shape[1]) ** 0.5)


def optimizers(model):
    matrices, rest = [], []
    for name, p in model.named_parameters():
        inner = (name.startswith("layers.") or name.startswith("vision.blocks.") or name.startswith("vision.fc")) and p.ndim == 2
        (matrices if inner and not name.endswith(("conv", "ba")) else rest).append(p)
    return [Muon(matrices, lr=0.02), torch.optim.AdamW(rest, lr=3e-3, betas=(0.9, 0.98), weight_decay=0.001)]


def held_out(reader, seed, per_task):
    maker = Q.Maker(True, f"validation {seed}")
    rows = [reader.one(maker.rng, maker.make(t)) for t in Q.TEXT_TASKS for _ in range(per_task)]
    rows.sort(key=lambda r: len(r["ids"]))
    out = [reader.batch(rows[i:i + 64]) for i in range(0, len(rows), 64)]
    return out + [scene_batch(reader, maker, "image", 12, 6) for _ in range(3)] + [scene_batch(reader, maker, "video", 24, 3) for _ in range(2)]


@torch.inference_mode()
def evaluate(model, batches):
    right, total, gaps = defaultdict(int), defaultdict(int), []
    for batch in batches:
        p = torch.softmax(masked(run(model, batch)[0], batch["counts"]), -1)
        confidence, choice = p.max(1)
        ok = choice == batch["answers"]
        gaps += list(zip(confidence.tolist(), ok.tolist()))
        for task, good in zip(batch["tasks"], ok.tolist()):
            right[task] += good
            total[task] += 1
    share = lambda tasks: sum(right[t] for t in tasks) / max(1, sum(total[t] for t in tasks))
    line = f"text {share(Q.TEXT_TASKS):.3f} image {share(Q.IMAGE_TASKS):.3f} video {share(Q.VIDEO_TASKS):.3f} ece {calibration_error(gaps):.3f} | "
    return line + " ".join(f"{t} {right[t] / total[t]:.2f}" for t in Q.TEXT_TASKS + Q.IMAGE_TASKS + Q.VIDEO_TASKS)


@torch.inference_mode()
def fit_temperature(model, batches):
    """The temperature under which the answers' likelihood is the greatest."""
    pairs = [(masked(run(model, b)[0], b["counts"]), b["answers"]) for b in batches]
    loss = lambda t: sum(F.cross_entropy(x / t, y, reduction="sum").item() for x, y in pairs)
    return min((0.5 * 1.03 ** i for i in range(64)), key=loss)


def make_tokenizer(work):
    maker = Q.Maker(False, "tokenizer")
    texts = []
    for _ in range(40000):
        q = maker.make(maker.rng.choice(Q.TEXT_TASKS + ["word", "word", "word"]))
        texts += [f"State:\n{prompt.describe(q.state)}", f"\n\nQuestion:\n{q.instructions}", "\n\nOptions:\n"]
        texts += [f"{o}\n" for o in prompt.option_texts(q.kind, q.criteria)]
    scene = P.Scene("red", "circle", "1", "left", None, None)
    for _ in range(4000):
        q = maker.make(maker.rng.choice(Q.IMAGE_TASKS + Q.VIDEO_TASKS), scene)
        texts += [f"{q.instructions}\n\n", "<0.2 seconds>", "(empty)", "A:"] + [f"{o}\n" for o in prompt.option_texts(q.kind, q.criteria)]
    data, codes = prompt.train_tokenizer(texts, Config.vocab)
    (work / "tokenizer").mkdir(parents=True, exist_ok=True)
    prompt.write_tokenizer(data, work / "tokenizer")
    (work / "tokenizer" / "codes.json").write_text(json.dumps(codes))


def rate(step, steps):
    """Warm up, stay, and fall to zero over the last half."""
    return min(1.0, (step + 1) / 100) * min(1.0, (steps - step) / (steps / 2))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("work", type=Path)
    ap.add_argument("--steps", type=int, default=5600)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--threads", type=int, default=2)
    a = ap.parse_args()
    torch.set_num_threads(a.threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(a.seed)
    a.work.mkdir(parents=True, exist_ok=True)
    if not (a.work / "tokenizer" / "codes.json").exists():
        make_tokenizer(a.work)
    reader = Reader(Tokenizer.from_file(str(a.work / "tokenizer/tokenizer.json")), json.loads((a.work / "tokenizer/codes.json").read_text()))
    model = Model(concepts=len(Q.CONCEPTS))
    opts, step, spent = optimizers(model), 0, 0.0
    if (a.work / "state.pt").exists():
        saved = torch.load(a.work / "state.pt")
        model.load_state_dict(saved["model"])
        for o, s in zip(opts, saved["optimizers"]):
            o.load_state_dict(s)
        step, spent = saved["step"], saved["spent"]
    log = open(a.work / "log.txt", "a", buffering=1)
    say = lambda text: (log.write(text + "\n"), print(text, flush=True))
    say(f"# {sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters, from step {step} to {a.steps}")
    full = [[0.02], [3e-3]]
    validation = held_out(reader, a.seed, 40)
    rounds, pending, seen, saved_at, began = step_batches(reader, a.seed), [], defaultdict(list), time.time(), time.time()
    if step % 8:
        pending = rounds(step // 8)[step % 8:]

    def save():
        torch.save(dict(model=model.state_dict(), optimizers=[o.state_dict() for o in opts], step=step,
                        spent=spent + time.time() - began), a.work / "state.tmp")
        (a.work / "state.tmp").replace(a.work / "state.pt")

    while step < a.steps:
        if not pending:
            pending = rounds(step // 8)
        batch = pending.pop(0)
        for o, rates in zip(opts, full):
            for g, r in zip(o.param_groups, rates):
                g["lr"] = r * rate(step, a.steps)
        main, aside, accuracy = losses(model, batch)
        loss = main + ASIDE * sum(aside.values())
        for o in opts:
            o.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for o in opts:
            o.step()
        step += 1
        kind = "text" if "patches" not in batch else "image" if batch["pairs"] == 1 else "video"
        for name, value in [("loss", main), *aside.items()]:
            seen[kind, name].append(value.item())
        seen[kind, "right"].append(accuracy)
        if step % 50 == 0:
            means = " | ".join(f"{k} " + " ".join(f"{n} {np.mean(v):.2f}" for (k2, n), v in seen.items() if k2 == k) for k in ("text", "image", "video"))
            say(f"{step} {spent + time.time() - began:.0f}s {means}")
            seen.clear()
        if step % 250 == 0:
            say(f"{step} held out: {evaluate(model, validation)}")
        if time.time() - saved_at > 180:
            save()
            saved_at = time.time()
    save()
    say(f"# done: {evaluate(model, validation)}")


if __name__ == "__main__":
    main()
