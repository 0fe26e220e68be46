"""Models as arrays by name, random keys as numbers, and checkpoints."""

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mafla.learn import files


def test_digest_does_not_depend_on_order_but_on_all_else() -> None:
    a, b = np.array([1.0, 2.0], np.float32), np.array([3.0, 4.0], np.float32)
    base = files.digest({"x": "1", "y": "2"}, {"a": a, "b": b})
    assert base == files.digest({"y": "2", "x": "1"}, {"b": b, "a": a})
    others = [
        files.digest({"x": "1", "y": "3"}, {"a": a, "b": b}),
        files.digest({"x": "1"}, {"a": a, "b": b}),
        files.digest({"x": "1", "y": "2"}, {"a": b, "b": a}),
        files.digest({"x": "1", "y": "2"}, {"a": a, "c": b}),
        files.digest({"x": "1", "y": "2"}, {"a": a[None], "b": b}),
        files.digest({"x": "1", "y": "2"}, {"a": a.view(np.int32), "b": b}),
        files.digest({"x": "1", "y": "2"}, {"ab": np.concatenate([a, b])}),
    ]
    assert len({base, *others}) == 8


def network(seed: int, width: int = 4) -> eqx.nn.MLP:
    return eqx.nn.MLP(2, 1, width, 1, key=jax.random.key(seed))


def test_model_survives_a_file(tmp_path: Path) -> None:
    model = network(0)
    files.write(tmp_path / "model", "score", {"width": 4}, files.arrays_of(model))
    _, config, arrays = files.read(tmp_path / "model", "score")
    for skeleton in (network(1), eqx.filter_eval_shape(network, 1)):
        again = files.filled(skeleton, arrays)
        assert bool(eqx.tree_equal(again, model))
        point = jnp.array([0.3, -2.0])
        assert again(point) == model(point)
    assert config == {"width": 4}


def test_arrays_are_named_by_their_path() -> None:
    names = set(files.arrays_of(network(0)))
    assert names == {f".layers[{layer}].{part}" for layer in (0, 1) for part in ("weight", "bias")}


def test_model_filled_in_does_not_share_memory_with_the_arrays() -> None:
    arrays: dict[str, np.ndarray] = {"[0]": np.ones(1000, np.float32), "[1]": np.ones(1000)}
    model = files.filled((jnp.zeros(1000), np.zeros(1000)), arrays)
    for value in arrays.values():
        value[:] = 5
    assert float(model[0].sum()) == 1000
    assert isinstance(model[1], np.ndarray)
    assert model[1].sum() == 1000


def test_arrays_that_do_not_fit_are_named() -> None:
    arrays = files.arrays_of(network(0))
    short = {name: value for name, value in arrays.items() if name != ".layers[1].bias"}
    cases: list[tuple[dict[str, np.ndarray], str]] = [
        (short, r"arrays must have one named '.layers\[1\].bias', got '.layers\[0\].weight', "),
        ({}, r"arrays must have one named '.layers\[0\].weight', got none"),
        (arrays | {"more": np.ones(1)}, "arrays must be those of the model only, got 'more' as well"),
        (
            arrays | {".layers[1].bias": np.ones(2, np.float32)},
            r"arrays must have float32\[1\] at .*, got float32\[2\]",
        ),
        (arrays | {".layers[1].bias": np.ones(1)}, r"arrays must have float32\[1\] at .*, got float64\[1\]"),
    ]
    for wrong, message in cases:
        with pytest.raises(ValueError, match=message):
            files.filled(network(1), wrong)
    with pytest.raises(
        ValueError, match=r"arrays must have float32\[5, 2\] at '.layers\[0\].weight', got float32\[4, 2\]"
    ):
        files.filled(network(1, width=5), arrays)


def test_float64_model_needs_float64_to_be_enabled(tmp_path: Path) -> None:
    with jax.enable_x64(True):
        model = jnp.array([0.1, 1 / 3], jnp.float64)
        files.write(tmp_path / "model", "score", {}, files.arrays_of(model))
        arrays = files.read(tmp_path / "model")[2]
        again = files.filled(jnp.zeros(2, jnp.float64), arrays)
        assert again.dtype == jnp.float64
        assert np.asarray(again).tobytes() == np.asarray(model).tobytes()
    with pytest.raises(ValueError, match=r"arrays must have float32\[2\] at '', got float64\[2\]"):
        files.filled(jnp.zeros(2), arrays)


@pytest.mark.parametrize("generator", ["threefry2x32", "rbg"])
def test_random_keys_survive_a_file(generator: str, tmp_path: Path) -> None:
    key = jax.random.key(7, impl=generator)
    name, numbers = files.key_parts(key)
    files.write(tmp_path / "key", "key", {"generator": name}, {"numbers": numbers})
    _, config, arrays = files.read(tmp_path / "key", "key")
    again = files.key_from_parts(config["generator"], arrays["numbers"])
    assert jax.random.key_impl(again) == jax.random.key_impl(key)
    assert jax.random.uniform(again) == jax.random.uniform(key)


def test_random_key_in_a_model_is_refused() -> None:
    with pytest.raises(ValueError, match=r"model must hold no random key, got one at \['key'\]"):
        files.arrays_of({"key": jax.random.key(0)})


def test_checkpoint_gives_back_what_it_kept_only_to_the_same_work(tmp_path: Path) -> None:
    path = tmp_path / "work"
    kept = files.Checkpoint(path, "training", "one")
    assert kept.load(jnp.zeros(2)) is None
    kept.save({"step": 7}, jnp.array([1.0, 2.0]))
    found = kept.load(jnp.zeros(2))
    assert found is not None
    assert found[0] == {"step": 7}
    np.testing.assert_array_equal(found[1], [1, 2])
    with pytest.raises(
        ValueError, match=r"checkpoint must belong to the same work, got .*work, which belongs to other"
    ):
        files.Checkpoint(path, "training", "two").load(jnp.zeros(2))
    with pytest.raises(ValueError, match=r"path must be a file of kind 'sampling', got .*work"):
        files.Checkpoint(path, "sampling", "one").load(jnp.zeros(2))
    kept.remove()
    kept.remove()
    assert not list(tmp_path.iterdir())


def test_checkpoint_without_a_path_keeps_nothing() -> None:
    kept = files.Checkpoint(None, "training", "")
    kept.save({}, jnp.zeros(2))
    assert kept.load(jnp.zeros(2)) is None
    kept.remove()


def test_checkpoint_in_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"checkpoint must be a file in a folder that exists, got .*nowhere"):
        files.Checkpoint(tmp_path / "nowhere" / "file", "training", "")
