"""What XGBoost writes as binary JSON is what it writes as text."""

import json

import numpy as np
import pytest

from skshapley._trees._xgboost import read_ubjson


def assert_same(binary, text):
    if isinstance(text, dict):
        assert list(binary) == list(text)
        for name, value in text.items():
            assert_same(binary[name], value)
    elif isinstance(text, list):
        assert len(binary) == len(text)
        if isinstance(binary, np.ndarray):
            np.testing.assert_array_equal(binary, np.array(text, dtype=binary.dtype))
        else:
            for ours, theirs in zip(binary, text, strict=True):
                assert_same(ours, theirs)
    else:
        assert binary == text


@pytest.mark.parametrize("name", ["xgboost", "xgboost, classes", "xgboost, categories"])
def test_equal_to_the_text(fitted, name):
    model, _ = fitted(name)
    booster = model.get_booster()
    text = json.loads(booster.save_raw("json"))
    # fields in any order
    assert_same(sort(read_ubjson(booster.save_raw("ubj"))), sort(text))


def sort(value):
    if isinstance(value, dict):
        return {name: sort(value[name]) for name in sorted(value)}
    return [sort(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b"Z", None),
        (b"T", True),
        (b"F", False),
        (b"i\xff", -1),
        (b"U\xff", 255),
        (b"I\xff\x00", -256),
        (b"l\x00\x00\x01\x00", 256),
        (b"L\x00\x00\x00\x00\x00\x00\x00\x05", 5),
        (b"D\xbf\xf8\x00\x00\x00\x00\x00\x00", -1.5),
        (b"d\x3f\x00\x00\x00", 0.5),
        (b"Ca", "a"),
        (b"Si\x02\xc3\xa4", "ä"),
        (b"[i\x01Si\x01x]", [1, "x"]),
        (b"[#i\x02i\x01T", [1, True]),
        (b"{i\x01a[]}", {"a": []}),
    ],
)
def test_each_marker(raw, value):
    read = read_ubjson(raw)
    assert read == value
    assert type(read) is type(value)


def test_numbers_of_one_type():
    np.testing.assert_array_equal(read_ubjson(b"[$I#i\x02\x01\x00\xff\xfe"), [256, -2])
