"""Model files: bit-for-bit round trips, and no damage that goes unnoticed."""

import itertools
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import numpy as safetensors

from mafla.learn import files

CONFIG = {"width": 8, "scale": 0.1, "name": "é", "layers": [1, 2], "nothing": None, "deep": {"a": True}}
DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
DTYPES += ["float16", "float32", "float64"]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "model"
    files.write(path, "score", {"width": 2}, {"a": np.array([1.5, -2], np.float32), "b": np.array([3, 7], np.int32)})
    return path


def assert_same_bits(one: dict[str, np.ndarray], two: dict[str, np.ndarray]) -> None:
    assert one.keys() == two.keys()
    for name, value in one.items():
        assert (value.shape, value.dtype) == (two[name].shape, two[name].dtype)
        assert value.tobytes() == two[name].tobytes()


def forge(path: Path, changes: dict[str, str | None], *, is_signed: bool = True) -> None:
    """Write a file with other metadata, and a checksum that is right for it."""
    arrays = {"a": np.ones(2)}
    metadata = {"format": "mafla", "format_version": "1", "kind": "score", "config": "{}"} | changes
    given = {name: value for name, value in metadata.items() if value is not None}
    path.write_bytes(safetensors.save(arrays, given | ({"sha256": files.digest(given, arrays)} if is_signed else {})))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_kind_of_number_comes_back_bit_for_bit(dtype: str, tmp_path: Path) -> None:
    some = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 100, (3, 4)).astype(dtype)
    arrays = {"matrix": some, "scalar": some[0, 0].reshape(()), "empty": some[:0], "": some[0]}
    files.write(tmp_path / "model", "score", CONFIG, arrays)
    kind, config, again = files.read(tmp_path / "model", "score")
    assert (kind, config) == ("score", CONFIG)
    assert_same_bits(again, arrays)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_odd_floats_come_back_bit_for_bit(dtype: Any, tmp_path: Path) -> None:
    tiny = np.finfo(dtype).smallest_subnormal
    odd = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, tiny, np.finfo(dtype).max, 0.1], dtype)
    files.write(tmp_path / "model", "score", {}, {"odd": odd})
    assert_same_bits(files.read(tmp_path / "model")[2], {"odd": odd})


def test_memory_order_and_byte_order_do_not_matter(tmp_path: Path) -> None:
    plain = np.arange(6, dtype=np.float32).reshape(2, 3)
    arrays = {"turned": plain.T, "strided": plain[:, ::2], "swapped": plain.astype(">f4")}
    files.write(tmp_path / "model", "score", {}, arrays)
    again = files.read(tmp_path / "model")[2]
    for name, value in arrays.items():
        np.testing.assert_array_equal(again[name], value)


def test_floats_of_the_config_come_back_exactly(tmp_path: Path) -> None:
    config = {"values": [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0]}
    files.write(tmp_path / "model", "score", config, {})
    again = files.read(tmp_path / "model")[1]
    assert [x.hex() for x in again["values"]] == [x.hex() for x in config["values"]]


def test_file_cut_at_any_byte_is_refused(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = small.read_bytes()
    for length in range(len(whole)):
        monkeypatch.setattr(Path, "read_bytes", lambda _, length=length: whole[:length])
        with pytest.raises(ValueError, match=r"^path must be a whole safetensors file, got .*model \(.*\)$"):
            files.read(small)


def test_longer_file_is_refused(small: Path) -> None:
    small.write_bytes(small.read_bytes() + b"\0")
    with pytest.raises(ValueError, match="path must be a whole safetensors file"):
        files.read(small)


def assert_all_refused(path: Path, changes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Change every byte in every given way, in memory: a disk would take minutes for it."""
    damaged = bytearray(path.read_bytes())
    monkeypatch.setattr(Path, "read_bytes", lambda _: bytes(damaged))
    assert files.read(path)[0] == "score"
    for place, change in itertools.product(range(len(damaged)), changes):
        damaged[place] ^= change
        with pytest.raises(ValueError, match=r"^path must be [^\n]*, got [^\n]*model[^\n]*$"):
            files.read(path)
        damaged[place] ^= change


def test_flip_of_any_bit_or_byte_is_refused(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_all_refused(small, [1 << bit for bit in range(8)] + [0xFF], monkeypatch)


@pytest.mark.slow
def test_any_other_byte_in_any_place_is_refused(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_all_refused(small, list(range(1, 256)), monkeypatch)


def test_other_white_space_behind_the_header_is_refused(tmp_path: Path) -> None:
    path, tried = tmp_path / "model", 0
    for length in range(8):  # one of these needs filling up to eight bytes
        files.write(path, "k" * (length + 1), {}, {"a": np.ones(1)})
        whole = path.read_bytes()
        end = 8 + int.from_bytes(whole[:8], "little")
        if whole[end - 1 : end] == b" ":
            path.write_bytes(whole[: end - 1] + b"\t" + whole[end:])
            tried += 1
            with pytest.raises(ValueError, match="fails its checksum"):
                files.read(path)
    assert tried


WRONG: list[tuple[dict[str, str | None], str]] = [
    ({"format": "other"}, "path must be a file written by mafla, got .*, which is of another format"),
    ({"format": None}, "which is of another format"),
    ({"kind": None}, "which is of another format"),
    ({"config": None}, "which is of another format"),
    ({"format_version": None}, "which is of another format"),
    ({"format_version": "2"}, "path must be in version 1 of mafla's format, got .*, which is in version 2"),
    ({"format_version": "x"}, "which is in version x"),
    ({"kind": "energy"}, "path must be a file of kind 'score', got .*, which is of kind 'energy'"),
    ({"config": "{"}, "path must be a file with settings in JSON, got .*model"),
    ({"config": '{"a": NaN}'}, "NaN is no finite number"),
    ({"config": "[1]"}, "path must be a file with settings in JSON"),
    ({"config": "[" * 100_000}, "path must be a file with settings in JSON"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG)
def test_wrong_contents_are_refused_though_the_checksum_fits(
    changes: dict[str, str | None], message: str, tmp_path: Path
) -> None:
    forge(tmp_path / "model", changes)
    with pytest.raises(ValueError, match=message) as error:
        files.read(tmp_path / "model", "score")
    assert "\n" not in str(error.value)


def test_forged_file_is_read_when_nothing_is_wrong(tmp_path: Path) -> None:
    forge(tmp_path / "model", {})
    assert files.read(tmp_path / "model", "score")[0] == "score"


def test_file_without_checksum_is_refused(tmp_path: Path) -> None:
    forge(tmp_path / "model", {}, is_signed=False)
    with pytest.raises(ValueError, match="which is of another format"):
        files.read(tmp_path / "model")


def test_types_that_numpy_does_not_have_are_refused(tmp_path: Path) -> None:
    header = json.dumps({"a": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}).encode()
    (tmp_path / "model").write_bytes(len(header).to_bytes(8, "little") + header + b"\0\0")
    with pytest.raises(ValueError, match=r"path must be a whole safetensors file, got .*BF16"):
        files.read(tmp_path / "model")


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"path must be a file in a folder that exists, got .*nowhere/model$"):
        files.write(tmp_path / "nowhere" / "model", "score", {}, {})


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"^[^\n]*nowhere[^\n]*$"):
        files.read(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "config", [{"a": float("nan")}, {"a": [float("inf")]}, {"a": np.ones(2)}, {"a": print}, {1: 0, "a": 0}, 3]
)
def test_config_that_json_cannot_hold_is_refused(config: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="config must be what JSON can hold, with finite numbers, got "):
        files.write(tmp_path / "model", "score", config, {})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", [np.array(["a"]), np.array([1j]), np.array([None]), np.array(["2020"], "M8[D]")])
def test_arrays_that_hold_no_numbers_are_refused(value: np.ndarray, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"arrays must be of booleans, integers or floats, got .* at 'weight'"):
        files.write(tmp_path / "model", "score", {}, {"weight": value})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_failed_write_leaves_the_old_file_and_nothing_else(
    function: str, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        del arguments
        raise OSError("the disk is full")

    before = small.read_bytes()
    monkeypatch.setattr(os if function == "fsync" else Path, function, fail)
    with pytest.raises(OSError, match="the disk is full"):
        files.write(small, "score", {}, {"a": np.zeros(1000)})
    assert [path.name for path in small.parent.iterdir()] == ["model"]
    assert small.read_bytes() == before


def test_write_replaces_and_leaves_nothing_else(small: Path) -> None:
    files.write(small, "energy", {"width": 3}, {})
    assert files.read(small) == ("energy", {"width": 3}, {})
    assert [path.name for path in small.parent.iterdir()] == ["model"]


def test_data_are_on_the_disk_before_the_name_points_to_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    sync, replace = os.fsync, Path.replace

    def noted_sync(handle: int) -> None:
        order.append("fsync")
        sync(handle)

    def noted_replace(old: Path, new: Path) -> Path:
        order.append("replace")
        return replace(old, new)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(Path, "replace", noted_replace)
    files.write(tmp_path / "model", "score", {}, {})
    assert order[:2] == ["fsync", "replace"]
