"""Chat completions, files and batches for ``tests.model_server``: real enough to send, poll and merge.

``with ModelServer() as server: api = ChatApi(server)``. A batch is answered when it is looked at, as its
``plan`` says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.model_server import Json, ModelServer, Request, RouteError

Reply = Callable[[Json], "str | Json"]
"""From the body of a request to the text of its answer, or to the whole message."""


def echo(body: Json) -> str:
    """An object that quotes what the user said."""
    return json.dumps({"said": body["messages"][-1]["content"]}, ensure_ascii=False)


@dataclass
class Plan:
    """What becomes of one batch.

    Attributes:
        status: What it ends as; ``odd``: it is seen in a state of its own first.
        looks: How often it is seen running before.
        finished: Which of its items are answered, by position; None: all.
        item_errors: Status and error object by position; such items are in the error file.
        listed_errors: ``errors.data`` of a failed batch.
        is_shuffled: Whether the files are in reverse order.
        extra: Lines added to the output file.
        omitted: Items that stand in no file, by position.
    """

    status: str = "completed"
    looks: int = 0
    finished: set[int] | None = None
    item_errors: dict[int, tuple[int, Json]] = field(default_factory=dict)
    listed_errors: list[Json] = field(default_factory=list)
    is_shuffled: bool = True
    extra: list[str] = field(default_factory=list)
    omitted: set[int] = field(default_factory=set)


class ChatApi:
    """The routes, and what the server holds.

    Attributes:
        reply: Answers one request.
        refused_forms: Types of ``response_format`` that are refused with 400; ``bounds``: a schema that
            bounds lengths.
        refused_words: A request that says one of these is refused with 400, quoting it.
        finish: ``finish_reason`` of every answer.
        has_usage: Whether answers count tokens.
        files: Bytes by id; deleted ones are gone.
        batches: By id, as the API shows them.
        plans: Taken by the batches in the order of their creation; then ``Plan()``.
    """

    def __init__(self, server: ModelServer) -> None:
        self.reply: Reply = echo
        self.refused_forms: set[str] = set()
        self.refused_words: set[str] = set()
        self.finish = "stop"
        self.has_usage = True
        self.files: dict[str, bytes] = {}
        self.names: dict[str, str] = {}
        self.batches: dict[str, Json] = {}
        self.plans: list[Plan] = []
        self._plan_of: dict[str, Plan] = {}
        self._numbers = 0
        server.routes |= {
            "POST /v1/chat/completions": lambda _, request: self.complete(request.body),
            "POST /v1/files": lambda _, request: self.upload(request),
            "GET /v1/files": lambda _, request: self.all_files(),
            "GET /v1/files/": lambda _, request: self.file(request),
            "DELETE /v1/files/": lambda _, request: self.remove(request),
            "POST /v1/batches": lambda _, request: self.create(request.body),
            "GET /v1/batches": lambda _, request: self.listed(request),
            "GET /v1/batches/": lambda _, request: self.look(request),
        }

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def complete(self, body: Json) -> Json:
        """One chat completion."""
        said = body["messages"][-1]["content"]
        form = body.get("response_format", {})
        kind = form.get("type", "none")
        is_bounded = "maxLength" in json.dumps(form)
        if kind in self.refused_forms or (is_bounded and "bounds" in self.refused_forms):
            raise RouteError(400, {"message": f"response_format {kind} is not supported", "type": "invalid"})
        for word in self.refused_words:
            if word in said:
                raise RouteError(400, {"message": f"cannot take: {said}", "code": "content_filter"})
        made = self.reply(body)
        message = {"role": "assistant", "content": made} if isinstance(made, str) else made
        answer: Json = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish}],
        }
        if self.has_usage:
            sent = sum(len(m["content"].split()) for m in body["messages"])
            received = len(str(message.get("content") or "").split())
            answer["usage"] = {"prompt_tokens": sent, "completion_tokens": received}
        return answer

    def upload(self, request: Request) -> Json:
        """A multipart upload of one file."""
        name = re.search(rb'filename="([^"]+)"', request.raw)
        content = re.search(rb'filename="[^"]+"\r\n(?:[^\r\n]+\r\n)*\r\n(.*?)\r\n--', request.raw, re.DOTALL)
        if name is None or content is None:
            raise RouteError(400, {"message": "no file"})
        file_id = f"file-{self._number()}"
        self.files[file_id], self.names[file_id] = content.group(1), name.group(1).decode()
        return self._shown_file(file_id)

    def _shown_file(self, file_id: str) -> Json:
        size = len(self.files[file_id])
        return {
            "id": file_id,
            "object": "file",
            "bytes": size,
            "created_at": 1,
            "filename": self.names[file_id],
            "purpose": "batch",
            "status": "processed",
        }

    def all_files(self) -> Json:
        """Uploaded files."""
        shown = [self._shown_file(file_id) for file_id in self.files if file_id in self.names]
        return {"object": "list", "data": shown, "has_more": False}

    def file(self, request: Request) -> Json | bytes:
        """Content of a file."""
        file_id = request.route.split("/")[3]
        if file_id not in self.files:
            raise RouteError(404, {"message": "no such file"})
        return self.files[file_id]

    def remove(self, request: Request) -> Json:
        """Delete a file."""
        file_id = request.route.rsplit("/", 1)[1]
        self.files.pop(file_id, None)
        return {"id": file_id, "object": "file", "deleted": True}

    def create(self, body: Json) -> Json:
        """A batch of an uploaded file."""
        if body["input_file_id"] not in self.files:
            raise RouteError(400, {"message": "no such file", "code": "invalid_file"})
        batch_id = f"batch_{self._number()}"
        self._plan_of[batch_id] = self.plans.pop(0) if self.plans else Plan()
        self.batches[batch_id] = {
            "id": batch_id,
            "object": "batch",
            "endpoint": body["endpoint"],
            "completion_window": body["completion_window"],
            "input_file_id": body["input_file_id"],
            "created_at": 4_000_000_000,
            "metadata": body.get("metadata"),
            "status": "in_progress",
            "request_count": self.files[body["input_file_id"]].count(b"\n"),
        }
        return self.batches[batch_id]

    def listed(self, request: Request) -> Json:
        """Batches, newest first, two a page."""
        newest = list(reversed(self.batches.values()))
        after = re.search("after=([^&]+)", request.route)
        start = 1 + [b["id"] for b in newest].index(after.group(1)) if after else 0
        page = newest[start : start + 2]
        return {"object": "list", "data": page, "has_more": start + 2 < len(newest)}

    def look(self, request: Request) -> Json:
        """One batch; it ends when it has been looked at often enough."""
        batch_id = request.route.rsplit("/", 1)[1]
        if batch_id not in self.batches:
            raise RouteError(404, {"message": "no such batch"})
        batch, plan = self.batches[batch_id], self._plan_of[batch_id]
        if plan.looks > 0:
            plan.looks -= 1
        elif batch["status"] == "in_progress" and plan.status == "odd":
            batch["status"], plan.status = "paused", "completed"
        elif batch["status"] in ("in_progress", "paused"):
            self._end(batch, plan)
        return batch

    def _end(self, batch: Json, plan: Plan) -> None:
        batch["status"] = plan.status
        if plan.status == "failed":
            batch["errors"] = {"object": "list", "data": plan.listed_errors}
            return
        good, bad = [], []
        for i, line in enumerate(self.items(batch)):
            if i in plan.omitted:
                continue
            status, body = self._item(i, line["body"], plan)
            answer = {"custom_id": line["custom_id"], "error": None}
            if status == 0:
                answer |= {"response": None, "error": {"code": "batch_expired", "message": "too late"}}
            else:
                answer["response"] = {"status_code": status, "request_id": "r", "body": body}
            (good if status == 200 else bad).append(json.dumps(answer))
        step = -1 if plan.is_shuffled else 1
        for name, lines in (("output_file_id", [*good[::step], *plan.extra]), ("error_file_id", bad[::step])):
            if lines:
                batch[name] = f"file-{self._number()}"
                self.files[batch[name]] = ("\n".join(lines) + "\n").encode()

    def _item(self, i: int, body: Json, plan: Plan) -> tuple[int, Any]:
        if plan.finished is not None and i not in plan.finished:
            return 0, None
        if i in plan.item_errors:
            status, error = plan.item_errors[i]
            return status, {"error": error}
        try:
            return 200, self.complete(body)
        except RouteError as refused:
            return refused.status, {"error": refused.error}

    def items(self, batch: Json) -> list[Json]:
        """Lines of a batch's input."""
        return [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]
