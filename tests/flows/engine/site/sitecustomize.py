"""Python runs this at the start of each worker of a test: it makes the planted tasks known there."""

from flows.engine.tasks import TASKS

TASKS["planted"] = "tests.flows.engine.planted_tasks:planted"
