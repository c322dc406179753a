"""What is taken as a vector, and what is refused."""

import array
import ctypes
import types

import cohom
import numpy
import pytest
from cohom.buffers import Buffer, pair_of

from lockstep import reduce_together


@pytest.mark.parametrize("value, dtype, count", [
    (numpy.zeros(5, "float32"), "float32", 5),
    (numpy.zeros((2, 3), "float64"), "float64", 6),
    (numpy.zeros((2, 0, 3), "float16"), "float16", 0),
    (numpy.float32(1), "float32", 1),
    (array.array("f", [1, 2, 3]), "float32", 3),
    (array.array("d", [1, 2]), "float64", 2),
    (memoryview(numpy.zeros((4, 2), "float32")), "float32", 8),
    (memoryview(bytearray(8)).cast("f"), "float32", 2),
    (memoryview(bytes(16)).cast("d"), "float64", 2),
])
def test_what_is_taken(value, dtype, count):
    buffer = Buffer(value, "array")
    assert (buffer.dtype, buffer.count) == (dtype, count)


@pytest.mark.parametrize("value, error, text", [
    ([1.0, 2.0], TypeError, "array is a list; it should be an array"),
    (None, TypeError, "array is a NoneType"),
    (numpy.zeros(5, "int32"), TypeError, "array has elements of type int32"),
    (numpy.zeros(5, ">f4"), TypeError, "array has elements of type >f4"),
    (numpy.zeros(5, "complex64"), TypeError, "complex64"),
    (numpy.zeros(10, "float32")[::2], ValueError, "strides"),
    (numpy.zeros((3, 4), "float32").T, ValueError, "strides"),
    (b"1234", TypeError, "elements of type B"),
    (memoryview(bytearray(16)).cast("f")[::2], ValueError, "strides"),
    (numpy.ma.masked_equal(numpy.zeros(4, "float32"), 0), TypeError, "array is masked"),
    (types.SimpleNamespace(__cuda_array_interface__={}), TypeError, "device of CUDA"),
])
def test_what_is_refused(value, error, text):
    with pytest.raises(error, match=text):
        Buffer(value, "array")


def test_what_is_read_only_is_no_output():
    fixed = numpy.zeros(5, "float32")
    fixed.flags.writeable = False
    assert Buffer(fixed, "array").count == 5
    for value in (fixed, memoryview(bytes(8)).cast("f")):
        with pytest.raises(ValueError, match="out is read-only"):
            Buffer(value, "out", writable=True)
    with pytest.raises(ValueError, match="out is a scalar of NumPy's"):
        Buffer(numpy.float32(1), "out", writable=True)


def test_scalars_are_kept_while_they_are_read():
    buffers = [Buffer(numpy.float64(number), "array") for number in range(50)]
    assert [ctypes.c_double.from_address(each.address).value for each in buffers] == list(range(50))


def test_pairs_are_alike():
    pair_of(numpy.zeros(4, "float32"), numpy.zeros((2, 2), "float32"))
    for other in (numpy.zeros(3, "float32"), numpy.zeros(4, "float64")):
        with pytest.raises(ValueError, match="out has .* array has 4 of float32"):
            pair_of(numpy.zeros(4, "float32"), other)


class Lent:
    """Lends its memory by DLPack alone."""

    def __init__(self, array, device=None):
        self._array = array
        self._device = device

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._device or self._array.__dlpack_device__()


def test_memory_that_is_lent_by_dlpack_gets_the_sum():
    arrays = [numpy.full(100, 1 + rank, "float32") for rank in range(2)]
    ranks = [cohom.Rounds("raw", 100, "float32", rank, 2) for rank in range(2)]
    reduce_together(ranks, [Lent(each) for each in arrays])
    assert all(each == 3 for each in arrays[0])


@pytest.mark.parametrize("device, name", [((2, 1), "device 1 of CUDA"),
                                          ((99, 0), "device 0 of DLPack's kind 99")])
def test_memory_of_a_device_is_refused(device, name):
    with pytest.raises(TypeError, match=f"array lies on {name}; it should lie in the host's"):
        Buffer(Lent(numpy.zeros(4, "float32"), device), "array")


def test_arrays_that_overlap_are_refused():
    memory = numpy.zeros(150, "float32")
    rounds = cohom.Rounds("raw", 100, "float32", 0, 1)
    with pytest.raises(cohom.Error, match="input and output overlap"):
        list(rounds.steps(memory[:100], memory[50:]))


@pytest.mark.parametrize("value", [numpy.zeros(9, "float32"), numpy.zeros(10, "float64")])
def test_rounds_take_what_they_are_for(value):
    with pytest.raises(ValueError, match="it should have 10 of float32"):
        list(cohom.Rounds("raw", 10, "float32", 0, 1).steps(value))
