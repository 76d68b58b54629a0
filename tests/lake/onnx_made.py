"""Small real ONNX models, made where a test needs one: token vectors, and a counter of shared words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = [
    "[PAD]",
    "[CLS]",
    "[SEP]",
    "[UNK]",
    "tea",
    "coffee",
    "car",
    "engine",
    "green",
    "broke",
    "query",
    "the",
]
DIMENSIONS = 6


def tokenizer_at(folder: Path) -> None:
    """A tokenizer of ``WORDS``, as a model's folder holds it."""
    names = {word: i for i, word in enumerate(WORDS)}
    made = Tokenizer(models.WordLevel(names, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    made.enable_truncation(4)  # as published files do: the configured window counts, not this one
    made.enable_padding(length=4)
    made.save(str(folder / "tokenizer.json"))


def table(seed: int = 7) -> np.ndarray:
    """float32 (words, dimensions): the vectors of the tokens."""
    return np.random.default_rng(seed).normal(size=(len(WORDS), DIMENSIONS)).astype(np.float32)


def sentence_model(folder: Path, *, seed: int = 7, name: str = "model.onnx", is_pooled: bool = False) -> Path:
    """A model whose last layer is the token's own vector; ``is_pooled`` gives that of the first."""
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    outputs = [_value("last_hidden_state", TensorProto.FLOAT, ["b", "t", "d"])]
    tables = [numpy_helper.from_array(table(seed), "table")]
    if is_pooled:
        tables.append(numpy_helper.from_array(np.array(0, np.int64), "first"))
        nodes.append(
            helper.make_node("Gather", ["last_hidden_state", "first"], ["sentence_embedding"], axis=1)
        )
        outputs.append(_value("sentence_embedding", TensorProto.FLOAT, ["b", DIMENSIONS]))
    return _saved(folder, name, nodes, ["input_ids", "attention_mask"], outputs, tables)


def pair_model(folder: Path, *, classes: int = 1) -> Path:
    """A cross-encoder: its logit is how many words of the query stand in the passage, less one half."""
    nodes = [
        helper.make_node("Unsqueeze", ["input_ids", "two"], ["down"]),
        helper.make_node("Unsqueeze", ["input_ids", "one"], ["across"]),
        helper.make_node("Equal", ["down", "across"], ["is_same"]),
        helper.make_node("Cast", ["is_same"], ["same"], to=TensorProto.FLOAT),
        helper.make_node("Greater", ["input_ids", "special"], ["is_word"]),
        helper.make_node("Cast", ["is_word"], ["word"], to=TensorProto.FLOAT),
        helper.make_node("Cast", ["token_type_ids"], ["in_passage"], to=TensorProto.FLOAT),
        helper.make_node("Sub", ["unit", "in_passage"], ["in_query"]),
        helper.make_node("Mul", ["in_query", "word"], ["asked"]),
        helper.make_node("Unsqueeze", ["asked", "two"], ["asked_down"]),
        helper.make_node("Unsqueeze", ["in_passage", "one"], ["passage_across"]),
        helper.make_node("Mul", ["same", "asked_down"], ["half"]),
        helper.make_node("Mul", ["half", "passage_across"], ["met"]),
        helper.make_node("ReduceMax", ["met", "two"], ["found"], keepdims=0),
        helper.make_node("ReduceSum", ["found", "one"], ["count"], keepdims=1),
        helper.make_node("Sub", ["count", "bias"], ["yes"]),
    ]
    if classes == 2:
        nodes += [
            helper.make_node("Neg", ["yes"], ["no"]),
            helper.make_node("Concat", ["no", "yes"], ["logits"], axis=1),
        ]
    else:
        nodes.append(helper.make_node("Identity", ["yes"], ["logits"]))
    held = {
        "one": np.array([1], np.int64),
        "two": np.array([2], np.int64),
        "special": np.array(3, np.int64),
        "unit": np.array(1, np.float32),
        "bias": np.array(0.5, np.float32),
    }
    tables = [numpy_helper.from_array(array, name) for name, array in held.items()]
    outputs = [_value("logits", TensorProto.FLOAT, ["b", classes])]
    return _saved(
        folder, "model.onnx", nodes, ["input_ids", "attention_mask", "token_type_ids"], outputs, tables
    )


def _saved(folder: Path, name: str, nodes: list, inputs: list[str], outputs: list, tables: list) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    given = [_value(i, TensorProto.INT64, ["b", "t"]) for i in inputs]
    graph = helper.make_graph(nodes, "made", given, outputs, initializer=tables)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.checker.check_model(model)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(folder / name))
    tokenizer_at(folder)
    return folder


def _value(name: str, kind: int, shape: list) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)
