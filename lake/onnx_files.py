"""ONNX models on disk: found by folder or package, named by a hash of their files, run on the CPU."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lake.embedders.protocol import well_formed
from transforms.errors import ConfigError

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

REMEDY = "Install the weights and their runtime: pip install '/path/to/slowwave[quality]' (the checkout)."
TOKENIZER = "tokenizer.json"
MODEL_PLACES = ("onnx/model.onnx", "model.onnx")
"""Where exporters put the graph, below a model's folder."""
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_BATCH_TOKENS = 4_096
"""Padded tokens of one batch: bounds its activations to some 100 MB for a small model."""
_LOADING = Lock()

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class OnnxFiles:
    """A model on disk.

    Attributes:
        model: The graph; weights in files of their own lie beside it, under names that begin as its does.
        tokenizer: Of the ``tokenizers`` library.
    """

    model: Path
    tokenizer: Path

    @property
    def revision(self) -> str:
        """8 hex digits over the bytes of graph, weights and tokenizer; read once a process."""
        weights = sorted(self.model.parent.glob(f"{self.model.name}*"))
        return _revision((*weights, self.tokenizer))


def onnx_files(folder: str, package: str, file: str) -> OnnxFiles:
    """The files of a configured model.

    Args:
        folder: Below the package, where one is named.
        package: An installed top-level package, located but never imported; '' where the folder stands alone.
        file: The graph, below the folder; '' looks for ``MODEL_PLACES``.

    Raises:
        ConfigError: The package or a file is not there.
    """
    root = Path(folder)
    if package:
        spec = find_spec(package)
        installed = list(spec.submodule_search_locations or ()) if spec else []
        if not installed:
            raise ConfigError(f"the package {package}, which holds the model, is not installed", REMEDY)
        root = Path(installed[0], folder)
    tokenizer = root / TOKENIZER
    model = next(
        (root / place for place in (file, *MODEL_PLACES) if place and (root / place).is_file()), None
    )
    if model is None or (file and model != root / file) or not tokenizer.is_file():
        missing = TOKENIZER if model is not None else file or " or ".join(MODEL_PLACES)
        where = f"{package}/{folder}" if package else folder
        raise ConfigError(f"the folder {where} holds no {missing}", "Name a folder that holds an ONNX model.")
    return OnnxFiles(model, tokenizer)


@cache
def _revision(files: tuple[Path, ...]) -> str:
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as opened:
            digest.update(hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest()[:8]


class OnnxModel:
    """Tokenizer and session of one model, loaded when first used. Safe between threads.

    Args:
        files: Where it lies.
        window_tokens: Longer inputs are cut.
        threads: Of the runtime; 0 takes every core this process may use.
        batch_texts: Inputs run together.
    """

    def __init__(self, files: OnnxFiles, *, window_tokens: int, threads: int, batch_texts: int) -> None:
        self.files = files
        self._window = window_tokens
        self._threads = threads or len(os.sched_getaffinity(0))
        self._batch = batch_texts
        self._loaded: tuple[Tokenizer, Any] | None = None

    def encode(self, inputs: Sequence[str | tuple[str, str]]) -> list[Encoding]:
        """Texts or pairs as tokens, cut to the window; ``[SEP]`` in a text is text.

        Raises:
            ConfigError: The runtime is not installed, or the files are no model.
        """
        tokenizer, _ = self._load()
        clean = [well_formed(i) if isinstance(i, str) else tuple(map(well_formed, i)) for i in inputs]
        encoded: list[Encoding] = tokenizer.encode_batch(clean)
        return encoded

    def outputs(self) -> list[tuple[str, list[Any]]]:
        """Name and shape of each output; an open dimension is a name."""
        return [(output.name, output.shape) for output in self._load()[1].get_outputs()]

    def batches(self, encoded: Sequence[Encoding], which: Sequence[int]) -> list[list[int]]:
        """Positions in runs of like length: little is padded, and a run stays within bounded memory."""
        order = sorted(which, key=lambda i: (len(encoded[i].ids), i))
        runs: list[list[int]] = []
        for i in order:  # the longest of a run is its last
            fits = runs and len(runs[-1]) < self._batch
            if fits and (len(runs[-1]) + 1) * len(encoded[i].ids) <= _BATCH_TOKENS:
                runs[-1].append(i)
            else:
                runs.append([i])
        return runs

    def run(self, encoded: Sequence[Encoding], output: str) -> tuple[NDArray[np.float32], Ids]:
        """One output for a batch, and the mask (inputs, tokens) that tells tokens from padding.

        Raises:
            ConfigError: The graph does not take such inputs.
        """
        session = self._load()[1]
        shape = len(encoded), max(len(one.ids) for one in encoded)
        given = {
            name: np.zeros(shape, np.int64) for name in ("input_ids", "attention_mask", "token_type_ids")
        }
        for row, one in enumerate(encoded):
            for name, values in zip(given, (one.ids, one.attention_mask, one.type_ids), strict=True):
                given[name][row, : len(values)] = values
        wanted = {i.name: given[i.name] for i in session.get_inputs() if i.name in given}
        try:
            found = session.run([output], wanted)[0]
        except _faults() as error:
            raise ConfigError(
                f"{self._name} does not run: {_line(error)}", "Check the model's files."
            ) from None
        return np.asarray(found, np.float32), given["attention_mask"]

    @property
    def _name(self) -> str:
        return f"the ONNX model {self.files.model}"

    def _load(self) -> tuple[Tokenizer, Any]:
        with _LOADING:
            if self._loaded is None:
                self._loaded = self._tokenizer(), self._session()
            return self._loaded

    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        raw = self.files.tokenizer.read_bytes()
        try:  # the library raises plain Exception, so what it would refuse is looked for first
            has_model = isinstance(json.loads(raw)["model"], dict)
        except (ValueError, KeyError, TypeError, RecursionError):
            has_model = False
        if not has_model:
            raise ConfigError(f"{self.files.tokenizer} is no tokenizer", "Export it with the model.")
        tokenizer = Tokenizer.from_buffer(raw)
        tokenizer.no_padding()
        tokenizer.enable_truncation(self._window)
        tokenizer.encode_special_tokens = True
        return tokenizer

    def _session(self) -> Any:
        try:
            import onnxruntime
        except ImportError as error:
            raise ConfigError("onnxruntime is not installed", REMEDY) from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Threads that spin while they wait take the core from everything else of the process.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            return onnxruntime.InferenceSession(
                str(self.files.model), options, providers=["CPUExecutionProvider"]
            )
        except _faults() as error:
            raise ConfigError(f"{self._name} cannot be loaded: {_line(error)}", "Check its files.") from None


def _faults() -> tuple[type[BaseException], ...]:
    """What the runtime raises: its own classes, which share no base of their own."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    own = [value for value in vars(state).values() if isinstance(value, type)]
    return (*(value for value in own if issubclass(value, Exception)), ValueError, RuntimeError)


def _line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)[:200]
