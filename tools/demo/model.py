"""The demo model for training: Qwen3.5's hybrid layers and vision tower, the same mathematics as the engine's, in a form
that is quick on a CPU for batches of short prompts (the gated delta rule of a whole prompt as one chunk)."""
import math

import torch
import torch.nn.functional as F
from torch import nn

HEAD, ROTARY, DELTA = 256, 64, 128


class Config:
    vocab = 4096
    hidden, inter, heads, delta_values = 128, 256, 2, 2
    layers = "LFFF"                         # linear and full attention
    vision, vision_inter, vision_depth, vision_heads = 128, 256, 2, 2
    table, coarse = 48, 16                  # positions a side: in the file, and as they are learned
    eps = 1e-6


def norm(x, weight):
    return F.rms_norm(x, (x.shape[-1],), weight + 1, Config.eps)


def linear(rows, columns, gain=1.0):
    return nn.Parameter(torch.randn(rows, columns) * gain / math.sqrt(columns))


class Mlp(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.norm = nn.Parameter(torch.zeros(c.hidden))
        self.gate_up, self.down = linear(2 * c.inter, c.hidden), linear(c.hidden, c.inter, 0.3)

    def forward(self, x):
        gate, up = F.linear(norm(x, self.norm), self.gate_up).chunk(2, -1)
        return x + F.linear(F.silu(gate) * up, self.down)


class FullAttention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads = c.heads
        self.norm = nn.Parameter(torch.zeros(c.hidden))
        self.q, self.kv = linear(c.heads * HEAD * 2, c.hidden), linear(2 * HEAD, c.hidden)
        self.o = linear(c.hidden, c.heads * HEAD, 0.3)
        self.q_norm, self.k_norm = nn.Parameter(torch.zeros(HEAD)), nn.Parameter(torch.zeros(HEAD))
        self.mlp = Mlp(c)

    def forward(self, x, rotary, mask, last=None):
        """`last` [B]: computes only these tokens' rows and gives [B, 1, hidden] and the first head's attention [B, T]."""
        batch, length, _ = x.shape
        cos, sin = rotary
        h = norm(x, self.norm)
        k, v = F.linear(h, self.kv).chunk(2, -1)
        if last is not None:
            rows = torch.arange(batch)
            x, h = x[rows, last][:, None], h[rows, last][:, None]
        q, gate = F.linear(h, self.q).view(batch, -1, self.heads, 2 * HEAD).chunk(2, -1)
        q, k = norm(q, self.q_norm), norm(k, self.k_norm)[:, :, None]
        k = rotate(k, cos, sin).transpose(1, 2)
        q = rotate(q, *((cos, sin) if last is None else (cos[rows, last][:, None], sin[rows, last][:, None]))).transpose(1, 2)
        scores = q @ k.transpose(2, 3) / 16 + mask
        shares = torch.softmax(scores, -1)
        out = (shares @ v[:, None]).transpose(1, 2) * torch.sigmoid(gate)
        x = self.mlp(x + F.linear(out.reshape(batch, -1, self.heads * HEAD), self.o))
        return x if last is None else (x, shares[:, 0, 0])


def rotate(x, cos, sin):
    """x [B, T, heads, HEAD], cos and sin [B, T, ROTARY/2]: turns the first ROTARY values of each head."""
    a, b, rest = x.split([ROTARY // 2, ROTARY // 2, HEAD - ROTARY], -1)
    cos, sin = cos[:, :, None], sin[:, :, None]
    return torch.cat([a * cos - b * sin, b * cos + a * sin, rest], -1)


class DeltaNet(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.values = c.delta_values
        self.norm = nn.Parameter(torch.zeros(c.hidden))
        self.qkv, self.z = linear((2 + c.delta_values) * DELTA, c.hidden), linear(c.delta_values * DELTA, c.hidden)
        self.ba = linear(2 * c.delta_values, c.hidden)
        self.conv = nn.Parameter(torch.randn((2 + c.delta_values) * DELTA, 4) * 0.2 + torch.tensor([0.0, 0.0, 0.0, 1.0]))
        self.a_log, self.dt_bias = nn.Parameter(torch.tensor([0.0, 1.0])), nn.Parameter(torch.tensor([-3.0, -1.5]))
        self.head_norm, self.o = nn.Parameter(torch.ones(DELTA)), linear(c.hidden, c.delta_values * DELTA, 0.3)
        self.mlp = Mlp(c)

    def forward(self, x, *_):
        batch, length, _ = x.shape
        h = norm(x, self.norm)
        mixed = F.linear(h, self.qkv)
        padded = F.pad(mixed, (0, 0, 3, 0))
        mixed = F.silu(sum(padded[:, i:i + length] * self.conv[:, i] for i in range(4)))
        q, k, v = mixed.split([DELTA, DELTA, self.values * DELTA], -1)
        q = q * torch.rsqrt((q * q).sum(-1, keepdim=True) + 1e-6) * DELTA ** -0.5
        k = k * torch.rsqrt((k * k).sum(-1, keepdim=True) + 1e-6)
        b, a = F.linear(h, self.ba).transpose(1, 2).chunk(2, 1)          # [B, values, T]
        beta = torch.sigmoid(b)[..., None]
        g = -torch.exp(self.a_log)[:, None] * F.softplus(a + self.dt_bias[:, None])
        g = g.cumsum(-1)
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        decay = (g[..., :, None] - g[..., None, :]).masked_fill(later, -1e9).exp()
        kk, qk = (k @ k.transpose(1, 2))[:, None], (q @ k.transpose(1, 2))[:, None]
        v = v.view(batch, length, self.values, DELTA).transpose(1, 2)
        d = torch.linalg.solve_triangular((beta * kk * decay).tril(-1), beta * v, upper=False, unitriangular=True)
        out = ((qk * decay) @ d).transpose(1, 2)                         # [B, T, values, DELTA]
        z = F.linear(h, self.z).view(batch, length, self.values, DELTA)
        out = F.rms_norm(out, (DELTA,), self.head_norm, Config.eps) * F.silu(z)
        return self.mlp(x + F.linear(out.reshape(batch, length, -1), self.o))


class VisionBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        w = c.vision
        self.heads = c.vision_heads
        self.norm1, self.norm2 = nn.LayerNorm(w, 1e-6), nn.LayerNorm(w, 1e-6)
        self.qkv, self.proj = nn.Linear(w, 3 * w), nn.Linear(w, w)
        self.fc1, self.fc2 = nn.Linear(w, c.vision_inter), nn.Linear(c.vision_inter, w)

    def forward(self, x, cos, sin):
        """x [frames, patches, width]; each frame attends within itself."""
        frames, n, w = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(frames, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        turn = lambda t: t * cos + torch.cat([-t.chunk(2, -1)[1], t.chunk(2, -1)[0]], -1) * sin
        out = F.scaled_dot_product_attention(turn(q), turn(k), v)
        x = x + self.proj(out.transpose(1, 2).reshape(frames, n, w))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x)), approximate="tanh"))


class Vision(nn.Module):
    def __init__(self, c):
        super().__init__()
        w = c.vision
        self.patch = nn.Linear(1536, w)
        with torch.no_grad():
            self.patch.weight[:5 * w // 8] = _smooth_filters(5 * w // 8, w // 4)
        self.position = nn.Parameter(torch.randn(c.coarse * c.coarse, w) * 0.02)
        self.blocks = nn.ModuleList(VisionBlock(c) for _ in range(c.vision_depth))
        self.merger_norm = nn.LayerNorm(w, 1e-6)
        self.fc1, self.fc2 = nn.Linear(4 * w, 4 * w), nn.Linear(4 * w, c.hidden)
        self.config, self.grids = c, {}

    def grid(self, h, w):
        """For a grid of h x w patches in merge-block order: how positions are read from the coarse table, cos and sin."""
        if (h, w) not in self.grids:
            c = self.config
            rows = _resample(c.coarse, c.table)
            y, x = _resample(c.table, h) @ rows, _resample(c.table, w) @ rows
            order = torch.arange(h * w).view(h // 2, 2, w // 2, 2).permute(0, 2, 1, 3).reshape(-1)
            read = torch.einsum("ya,xb->yxab", y, x).reshape(h * w, -1)[order]
            head = c.vision // c.vision_heads
            inverse = 10000.0 ** (-torch.arange(0, head // 2, 2).float() / (head // 2))
            angle = torch.cat([(order // w)[:, None] * inverse, (order % w)[:, None] * inverse], -1).repeat(1, 2)
            self.grids[h, w] = read, angle.cos(), angle.sin()
        return self.grids[h, w]

    def forward(self, patches, h, w):
        """patches [frames, h*w, 1536] -> [frames, h*w/4, hidden]."""
        read, cos, sin = self.grid(h, w)
        x = self.patch(patches) + read @ self.position
        for block in self.blocks:
            x = block(x, cos, sin)
        x = self.merger_norm(x).reshape(x.shape[0], h * w // 4, -1)
        return self.fc2(F.gelu(self.fc1(x)))


def _smooth_filters(count, moving):
    """[count, 1536]: slow waves over the patch, the first `moving` of them the difference of the two frames: what changes
    between frames, which is little of what a patch holds, is there from the start."""
    read = _resample(4, 16)
    waves = torch.einsum("yb,xc,ndbc->ndyx", read, read, torch.randn(count, 3, 4, 4))
    second = torch.ones(count, 1, 1, 1)
    second[:moving] = -1
    filters = torch.stack([waves, second * waves], 2).reshape(count, 1536)
    return 0.1 * filters / filters.norm(dim=1, keepdim=True)


def _resample(count, size):
    """[size, count]: linear interpolation of `count` values to `size` places, ends on ends."""
    at = torch.linspace(0, count - 1, size)
    low = at.floor().long().clamp(max=count - 1)
    high, part = (low + 1).clamp(max=count - 1), at - low
    out = torch.zeros(size, count)
    out[torch.arange(size), low] += 1 - part
    out[torch.arange(size), high] += part
    return out


class Model(nn.Module):
    def __init__(self, c=Config, concepts=144, codes=255):
        super().__init__()
        self.config = c
        self.embed = nn.Parameter(torch.randn(c.vocab, c.hidden) * 0.5)
        self.layers = nn.ModuleList((FullAttention if k == "F" else DeltaNet)(c) for k in c.layers)
        self.norm, self.readout = nn.Parameter(torch.zeros(c.hidden)), nn.Parameter(torch.zeros(codes, c.hidden))
        self.vision = Vision(c)
        # Only training has these: they tell the early layers what state, question and options mean, which code stands
        # before an option, what the last token should know before it looks for the option, whether a yes/no question's
        # state is what it asks for, what a picture shows as a whole, and how much of each of its blocks which shape covers.
        self.hint, self.hint_code = nn.Linear(c.hidden, concepts), nn.Linear(c.hidden, 8)
        self.hint_match, self.hint_seen = nn.Linear(c.hidden, 1), nn.Linear(c.hidden, concepts)
        self.hint_cover, self.hint_shape = nn.Linear(c.hidden, 2), nn.Linear(c.hidden, 5)

    def rotary(self, positions):
        """positions [3, B, T] -> cos, sin [B, T, ROTARY/2], the axes interleaved in the mrope's way."""
        half = ROTARY // 2
        inverse = 10_000_000.0 ** (-2 * torch.arange(half).float() / ROTARY)
        axis = torch.tensor([1 if i % 3 == 1 and i < 33 else 2 if i % 3 == 2 and i < 30 else 0 for i in range(half)])
        angle = positions.float()[axis].permute(1, 2, 0) * inverse
        return angle.cos(), angle.sin()

    def forward(self, ids, lengths, positions, features=None, places=None):
        """ids [B, T], right-padded; features replace the embeddings at `places` (a [B, T] mask), in order.
        Gives logits [B, codes], the hidden states after the second and the third layer, and the last token's attention
        in the last layer (first head) [B, T]."""
        x = self.embed[ids]
        if features is not None:
            x = x.masked_scatter(places[..., None], features)
        rotary = self.rotary(positions)
        batch, length = ids.shape
        mask = torch.zeros(batch, 1, 1, length).masked_fill(torch.arange(length)[None, None, None] >= lengths[:, None, None, None], -1e9)
        states = []
        for layer in self.layers[:-1]:
            x = layer(x, rotary, mask)
            states.append(x)
        x, attention = self.layers[-1](x, rotary, mask, lengths - 1)
        return F.linear(norm(x[:, 0], self.norm), self.readout), states[1], states[2], attention
