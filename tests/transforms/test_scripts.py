"""Which script a text is told to be in."""

from __future__ import annotations

import pytest

from transforms.scripts import script

TEXTS = [
    ("Deploy failed: timeout.", "latin"),
    ("Größe über alles, naïve café", "latin"),
    ("你好，世界", "han"),
    ("我把数据库换成了PostgreSQL", "han"),
    ("今日は東京大学へ行きます", "kana"),
    ("나는 땅콩 알레르기가 있어요", "hangul"),
    ("Мы перешли с MySQL", "cyrillic"),
    ("لدي حساسية", "arabic"),
    ("मुझे मूंगफली से एलर्जी है", "indic"),
    ("ฉันชอบชา", "thai"),
    ("שלום עולם", "hebrew"),
    ("καλημέρα", "greek"),
    ("12:30 🎉", "other"),
    ("123", "other"),
    ("", "other"),
]


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_script(text, expected):
    assert script(text) == expected
