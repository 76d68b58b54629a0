"""Fixtures of the whole suite."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import hypothesis
import pytest

# No test is timed: a busy machine is no fault. The same examples every run, so that main stays green;
# HYPOTHESIS_PROFILE=explore looks for new ones.
hypothesis.settings.register_profile("slowwave", deadline=None, derandomize=True)
hypothesis.settings.register_profile("explore", deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "slowwave"))

# pytest-xdist tells its workers how wide a terminal is, and some shells do: tables are as wide as in a file.
os.environ.pop("COLUMNS", None)

# What a shell starts in the background ignores Ctrl-C, and so would every process that a test sends one to.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def real_data() -> Path:
    """Folder of real traces, kept beside the checkout and not part of it."""
    path = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not path.is_dir():
        pytest.skip(f"no real traces: {path} is not there")
    return path


NOBODY = 65534


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Makes a file system of so many KiB; called again, it is resized. Skips where mounting is refused."""
    place = tmp_path / "disk"
    mount = shutil.which("mount")

    def sized(kibibytes: int) -> Path:
        options = f"size={kibibytes}k" + (",remount" if place.is_dir() else "")
        place.mkdir(exist_ok=True)
        if os.geteuid() != 0 or mount is None:
            pytest.skip("mounting a small file system needs root")
        command = [mount, "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"no small file system can be mounted here: {done.stderr.decode().strip()}")
        return place

    yield sized
    if place.is_mount():
        subprocess.run([shutil.which("umount") or "umount", "-l", str(place)], check=True)


@pytest.fixture
def plain_user() -> Callable[[], object]:
    """A block inside which file permissions bind, also where the suite runs as root."""

    @contextmanager
    def as_plain_user() -> Iterator[None]:
        if os.geteuid() != 0:
            yield
            return
        os.setegid(NOBODY)
        os.seteuid(NOBODY)
        try:
            yield
        finally:
            os.seteuid(0)
            os.setegid(0)

    return as_plain_user


@pytest.fixture
def open_dir() -> Iterator[Path]:
    """A new directory that every user may enter, unlike tmp_path; it is open to writing, too."""
    place = Path(tempfile.mkdtemp(prefix="slowwave-"))
    place.chmod(0o777)
    yield place
    shutil.rmtree(place)
