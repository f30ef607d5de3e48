#!/usr/bin/env python3
"""Writes the trained demo model as a checkpoint of the published layout (docs/checkpoints.md), with bf16 tensors.

    export.py WORK_DIR OUT_DIR [--temperature T]

WORK_DIR is train.py's. Without --temperature it is fitted on validation questions, with the weights as they are stored.
"""
import argparse
import hashlib
import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer

import questions as Q
from model import DELTA, HEAD, Config, DeltaNet, Model, _resample

ROOT = Path(__file__).resolve().parents[2]
# The files that say how prompts and pictures are made; the same for every Qwen3.5 checkpoint.
SHARED = ["chat_template.jinja", "preprocessor_config.json", "video_preprocessor_config.json"]


def text_config(c, ids):
    kinds = dict(L="linear_attention", F="full_attention")
    return dict(model_type="qwen3_5_text", hidden_size=c.hidden, num_hidden_layers=len(c.layers), intermediate_size=c.inter,
                num_attention_heads=c.heads, num_key_value_heads=1, head_dim=HEAD, hidden_act="silu",
                linear_num_key_heads=1, linear_num_value_heads=c.delta_values, linear_key_head_dim=DELTA,
                linear_value_head_dim=DELTA, linear_conv_kernel_dim=4, rms_norm_eps=c.eps, max_position_embeddings=262144,
                attention_bias=False, full_attention_interval=4, layer_types=[kinds[k] for k in c.layers],
                rope_parameters=dict(rope_type="default", rope_theta=10000000, partial_rotary_factor=0.25,
                                     mrope_interleaved=True, mrope_section=[11, 11, 10]),
                tie_word_embeddings=True, dtype="bfloat16", vocab_size=c.vocab, eos_token_id=ids["<|endoftext|>"])


def vision_config(c):
    return dict(model_type="qwen3_5_vision", hidden_size=c.vision, depth=c.vision_depth, num_heads=c.vision_heads,
                intermediate_size=c.vision_inter, out_hidden_size=c.hidden, patch_size=16, spatial_merge_size=2,
                temporal_patch_size=2, in_channels=3, num_position_embeddings=c.table ** 2, hidden_act="gelu_pytorch_tanh",
                deepstack_visual_indexes=[])


def layer_tensors(layer, c):
    """The tensors of one layer by their published names."""
    out = {"input_layernorm": layer.norm, "post_attention_layernorm": layer.mlp.norm}
    out["mlp.gate_proj"], out["mlp.up_proj"] = layer.mlp.gate_up.chunk(2)
    out["mlp.down_proj"] = layer.mlp.down
    if not isinstance(layer, DeltaNet):
        k, v = layer.kv.chunk(2)
        own = dict(q_proj=layer.q, k_proj=k, v_proj=v, o_proj=layer.o, q_norm=layer.q_norm, k_norm=layer.k_norm)
        return {f"{n}.weight": t for n, t in (out | {f"self_attn.{n}": t for n, t in own.items()}).items()}
    b, a = layer.ba.chunk(2)
    own = dict(in_proj_qkv=layer.qkv, in_proj_z=layer.z, in_proj_b=b, in_proj_a=a, conv1d=layer.conv[:, None], norm=layer.head_norm,
               out_proj=layer.o)
    out = {f"{n}.weight": t for n, t in (out | {f"linear_attn.{n}": t for n, t in own.items()}).items()}
    return out | {"linear_attn.A_log": layer.a_log, "linear_attn.dt_bias": layer.dt_bias}


def vision_tensors(vision, c):
    rows = _resample(c.coarse, c.table)
    table = torch.einsum("ya,xb,abw->yxw", rows, rows, vision.position.view(c.coarse, c.coarse, -1)).reshape(c.table ** 2, -1)
    out = {"patch_embed.proj.weight": vision.patch.weight.view(-1, 3, 2, 16, 16), "patch_embed.proj.bias": vision.patch.bias,
           "pos_embed.weight": table}
    modules = {"merger.norm": vision.merger_norm, "merger.linear_fc1": vision.fc1, "merger.linear_fc2": vision.fc2}
    for i, b in enumerate(vision.blocks):
        own = {"norm1": b.norm1, "norm2": b.norm2, "attn.qkv": b.qkv, "attn.proj": b.proj, "mlp.linear_fc1": b.fc1, "mlp.linear_fc2": b.fc2}
        modules |= {f"blocks.{i}.{n}": m for n, m in own.items()}
    for name, module in modules.items():
        out[name + ".weight"], out[name + ".bias"] = module.weight, module.bias
    return out


def tensors(model):
    """All tensors of model.safetensors, float32."""
    c = model.config
    out = {"language_model.embed_tokens.weight": model.embed, "language_model.norm.weight": model.norm}
    for i, layer in enumerate(model.layers):
        out |= {f"language_model.layers.{i}.{n}": t for n, t in layer_tensors(layer, c).items()}
    return out | {f"visual.{n}": t for n, t in vision_tensors(model.vision, c).items()}


@torch.no_grad()
def round_weights(model):
    """Rounds the weights to what the file holds; the readout stays float32."""
    readout = model.readout.clone()
    for p in model.parameters():
        p.copy_(p.to(torch.bfloat16).float())
    model.readout.copy_(readout)


def load(work):
    model = Model(concepts=len(Q.CONCEPTS))
    model.load_state_dict(torch.load(work / "state.pt")["model"])
    round_weights(model)
    return model.eval()


def write_json(path, value, indent=1):
    path.write_text(json.dumps(value, indent=indent, ensure_ascii=False) + "\n")


@torch.no_grad()
def write(model, work, out, temperature):
    """The whole checkpoint, the manifest last."""
    c = model.config
    out.mkdir(parents=True, exist_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(work / "tokenizer" / name, out / name)
    for name in SHARED:
        shutil.copy(ROOT / "tests/data/tokenizer-small" / name, out / name)
    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    codes = json.loads((work / "tokenizer" / "codes.json").read_text())
    ids = {t.content: i for i, t in tokenizer.get_added_tokens_decoder().items()}
    write_json(out / "config.json", dict(
        architectures=["Qwen3_5Model"], model_type="qwen3_5", dtype="bfloat16", text_config=text_config(c, ids),
        vision_config=vision_config(c), image_token_id=ids["<|image_pad|>"], video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"], vision_end_token_id=ids["<|vision_end|>"], tie_word_embeddings=True))
    write_json(out / "decision_config.json", dict(
        format_version=1, format_id="d3-code-readout-v1", prompt="d3", pooling="last", attention_mode="noncausal_full_attention",
        temperature=temperature, readout_dtype="float32", max_length=32768, codes=codes, token_ids=[tokenizer.token_to_id(t) for t in codes]), None)
    save_file({n: t.detach().to(torch.bfloat16).contiguous() for n, t in tensors(model).items()}, out / "model.safetensors")
    save_file({"weight": model.readout.detach().contiguous()}, out / "readout.safetensors")
    files = sorted(f for f in out.iterdir() if f.suffix in (".json", ".safetensors", ".jinja") and f.name != "MODEL_MANIFEST.json")
    write_json(out / "MODEL_MANIFEST.json", dict(
        schema="d3-package-manifest/1", model_name="demo", repo_id="demo", files_sha256={f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in files},
        files_bytes={f.name: f.stat().st_size for f in files}))
    return sum(f.stat().st_size for f in files)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("work", type=Path)
    ap.add_argument("out", type=Path)
    ap.add_argument("--temperature", type=float)
    a = ap.parse_args()
    model = load(a.work)
    temperature = a.temperature
    if temperature is None:
        from train import Reader, fit_temperature, held_out
        reader = Reader(Tokenizer.from_file(str(a.work / "tokenizer/tokenizer.json")), json.loads((a.work / "tokenizer/codes.json").read_text()))
        temperature = fit_temperature(model, held_out(reader, "temperature", 60))
    size = write(model, a.work, a.out, temperature)
    print(f"{a.out}: {size / 1e6:.1f} MB, temperature {temperature:.4f}")


if __name__ == "__main__":
    main()
