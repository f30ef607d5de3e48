"""Draws the demo model's pictures and clips: shapes of one kind and colour on a background."""
import math
import random
from dataclasses import dataclass

import numpy as np

import words as W

BLOCK = 32


@dataclass
class Scene:
    colour: str            # of the background, which covers most of the picture
    shape: str
    count: str             # "1".."5"
    motion: str            # still, left, right, up, down; still in pictures
    frames: np.ndarray     # [frames, side, side, 3] uint8; one frame for a picture
    cover: np.ndarray      # [frames, blocks] float32: the part of each block of 32 x 32 pixels that shapes cover


def _shade(rng, name):
    base = np.array(W.COLOURS[name][0], np.float32)
    return np.clip(base + np.array([rng.uniform(-18, 18) for _ in range(3)], np.float32), 0, 255)


def _mask(shape, side, x, y, radius, angle):
    """Every shape of a radius covers about the same area, so that a count can be seen in how much is covered."""
    at = np.arange(side, dtype=np.float32) + 0.5
    u, v = at[None, :] - x, at[:, None] - y
    u, v = u * math.cos(angle) + v * math.sin(angle), v * math.cos(angle) - u * math.sin(angle)
    if shape == "circle":
        return u * u + v * v < 0.8 * radius * radius
    if shape == "square":
        return (abs(u) < radius * 0.79) & (abs(v) < radius * 0.79)
    if shape == "triangle":
        return (v < radius * 0.9) & (v > 1.75 * abs(u) - radius * 1.2)
    arm = radius * 0.36
    return ((abs(u) < arm) & (abs(v) < radius * 1.05)) | ((abs(v) < arm) & (abs(u) < radius * 1.05))


def _places(rng, count, side, low, high):
    """Centres and radii that keep clear of each other."""
    while True:
        places = []
        for _ in range(60):
            radius = rng.uniform(low, high)
            x, y = rng.uniform(radius + 2, side - radius - 2), rng.uniform(radius + 2, side - radius - 2)
            if all(math.hypot(x - a, y - b) > (radius + c) * 1.25 for a, b, c in places):
                places.append((x, y, radius))
            if len(places) == count:
                return places


def _canvas(rng, colour, side):
    shade = _shade(rng, colour)
    grid = np.linspace(-1, 1, side, dtype=np.float32)
    slope = grid[:, None, None] * rng.uniform(-8, 8) + grid[None, :, None] * rng.uniform(-8, 8)
    return (shade + slope).astype(np.float32)


def _finish(rng, image):
    noise = np.random.default_rng(rng.getrandbits(32)).standard_normal(image.shape, np.float32) * rng.uniform(0, 5)
    return np.clip(image + noise, 0, 255).astype(np.uint8)


def _cover(mask):
    side = len(mask) // BLOCK
    return mask.reshape(side, BLOCK, side, BLOCK).mean((1, 3), dtype=np.float32).reshape(-1)


def picture(rng, side=256):
    colour, other = rng.sample(sorted(W.COLOURS), 2)
    shape, count = rng.choice(sorted(W.SHAPES)), rng.randint(1, 5)
    image, ink, covered = _canvas(rng, colour, side), _shade(rng, other), np.zeros((side, side), bool)
    for x, y, radius in _places(rng, count, side, side / 8, side / 6.6):
        covered |= _mask(shape, side, x, y, radius, rng.uniform(-0.2, 0.2))
    image[covered] = ink
    return Scene(colour, shape, str(count), "still", _finish(rng, image)[None], _cover(covered)[None])


def clip(rng, side=96, frames=4):
    colour, other = rng.sample(sorted(W.COLOURS), 2)
    shape, motion = rng.choice(sorted(W.SHAPES)), rng.choice(["still", "still", "left", "right", "up", "down"])
    ink, radius = _shade(rng, other), rng.uniform(0.14, 0.21) * side
    dx, dy = dict(still=(0, 0), left=(-1, 0), right=(1, 0), up=(0, -1), down=(0, 1))[motion]
    travel = rng.uniform(0.35, 0.55) * side
    free = lambda d: rng.uniform(radius + max(0, -d) * travel, side - radius - max(0, d) * travel)
    x, y = free(dx), free(dy)
    canvas, angle, images, covers = _canvas(rng, colour, side), rng.uniform(-0.2, 0.2), [], []
    for i in range(frames):
        gone = travel * i / (frames - 1)
        image, covered = canvas.copy(), _mask(shape, side, x + dx * gone, y + dy * gone, radius, angle)
        image[covered] = ink
        images.append(_finish(rng, image))
        covers.append(_cover(covered))
    return Scene(colour, shape, "1", motion, np.stack(images), np.stack(covers))


def patches(frames):
    """[n, h, w, 3] uint8, n even -> float32 [n/2 * h/16 * w/16, 1536] in the tower's merge-block order."""
    n, h, w, _ = frames.shape
    x = (frames.astype(np.float32) / 255 - 0.5) / 0.5
    x = x.reshape(n // 2, 2, h // 32, 2, 16, w // 32, 2, 16, 3)
    # pair, frame, block row, row, y, block column, column, x, channel -> rows of (channel, frame, y, x)
    return x.transpose(0, 2, 5, 3, 6, 8, 1, 4, 7).reshape(-1, 1536)
