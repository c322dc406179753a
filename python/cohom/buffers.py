"""Buffers of others: arrays, tensors and anything else that says where its elements lie."""

import ctypes
import sys
from typing import Any

# As in cohom/rounds.h, by the names that NumPy, ml_dtypes and PyTorch give them.
TYPES = {"float32": 0, "float16": 1, "bfloat16": 2, "float64": 3}
FORMATS = {"f": "float32", "e": "float16", "d": "float64"}  # of the buffer protocol
# Of DLPack: kinds of devices whose memory the host reads (the host's own, pinned, managed), and
# names of others.
_HOSTS = {1, 3, 11, 13}
_DEVICES = {2: "CUDA", 4: "OpenCL", 7: "Vulkan", 8: "Metal", 10: "ROCm", 14: "oneAPI"}


class Buffer:
    """Elements one behind the other in the host's memory.

    address, count; dtype: a name of TYPES. `owner` keeps the memory.
    """

    address: int
    count: int
    dtype: str

    def __init__(self, value: Any, what: str, writable: bool = False) -> None:
        self.owner: Any = value
        if hasattr(value, "data_ptr"):
            self._take_tensor(value, what)
        elif hasattr(value, "__array_interface__"):
            self._take_array(value, what, writable)
        elif hasattr(value, "__dlpack__"):
            self._take_dlpack(value, what, writable)
        elif hasattr(value, "__cuda_array_interface__"):
            raise TypeError(f"{what} lies on a device of CUDA; it should lie in the host's memory")
        else:
            self._take_memory(value, what, writable)

    @property
    def type(self) -> int:
        """Return the element type's number."""
        return TYPES[self.dtype]

    def _expect_type(self, name: str, what: str) -> None:
        if name not in TYPES:
            raise TypeError(f"{what} has elements of type {name}; they should be one of "
                            f"{', '.join(TYPES)}")
        self.dtype = name

    def _take_tensor(self, tensor: Any, what: str) -> None:
        if tensor.device.type != "cpu":
            raise TypeError(f"{what} lies on {tensor.device}; it should lie in the host's memory")
        if str(tensor.layout) != "torch.strided":
            raise ValueError(f"{what} has the layout {tensor.layout}; it should be dense")
        if tensor.is_neg():
            raise ValueError(f"{what} is a view of other numbers with their signs turned; give "
                             "tensor.resolve_neg()")
        if not tensor.is_contiguous():
            raise ValueError(f"{what} has strides {tuple(tensor.stride())}; it should be "
                             "contiguous")
        self._expect_type(str(tensor.dtype).removeprefix("torch."), what)
        self.address, self.count = tensor.data_ptr(), tensor.numel()

    def _take_array(self, array: Any, what: str, writable: bool) -> None:
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(array, numpy.generic):
            # What its interface says is the address of a copy that nobody keeps.
            if writable:
                raise ValueError(f"{what} is a scalar of NumPy's, which nobody can write; it "
                                 "should be an array")
            array = self.owner = numpy.array(array)
        if numpy is not None and isinstance(array, numpy.ma.MaskedArray):
            raise TypeError(f"{what} is masked; give its data, or its elements filled")
        interface = array.__array_interface__
        address, read_only = interface["data"]
        if writable and read_only:
            raise ValueError(f"{what} is read-only")
        if interface.get("strides") is not None:
            raise ValueError(f"{what} has strides {interface['strides']}; it should be contiguous")
        # ml_dtypes' numbers are opaque to NumPy but for their name.
        name = str(getattr(array, "dtype", interface["typestr"]))
        self._expect_type({"<f4": "float32", "<f2": "float16", "<f8": "float64"}.get(name, name),
                          what)
        self.address, self.count = address, 1
        for length in interface["shape"]:
            self.count *= length

    def _take_dlpack(self, value: Any, what: str, writable: bool) -> None:
        import numpy
        kind, number = value.__dlpack_device__()
        if kind not in _HOSTS:
            name = _DEVICES.get(kind, f"DLPack's kind {kind}")
            raise TypeError(f"{what} lies on device {number} of {name}; it should lie in the "
                            "host's memory")
        array = numpy.from_dlpack(value)
        self.owner = (value, array)
        # Before 2.1 NumPy says of memory that others lend that it is read-only, whatever they say.
        version = tuple(int(part) for part in numpy.__version__.split(".")[:2])
        self._take_array(array, what, writable and version >= (2, 1))

    def _take_memory(self, value: Any, what: str, writable: bool) -> None:
        try:
            view = memoryview(value)
        except TypeError:
            raise TypeError(f"{what} is a {type(value).__name__}; it should be an array, a tensor "
                            "or another buffer of real numbers") from None
        if not view.c_contiguous:
            raise ValueError(f"{what} has strides {view.strides}; it should be contiguous")
        if view.readonly and writable:
            raise ValueError(f"{what} is read-only")
        self._expect_type(FORMATS.get(view.format.lstrip("<@="), view.format), what)
        self.count = view.nbytes // view.itemsize
        if view.readonly:
            self.owner = bytes(view)
            self.address = ctypes.cast(ctypes.c_char_p(self.owner), ctypes.c_void_p).value or 0
        elif view.nbytes:
            self.owner = (ctypes.c_char * view.nbytes).from_buffer(view.cast("B"))
            self.address = ctypes.addressof(self.owner)
        else:
            self.address = 0


def pair_of(input: Any, output: Any | None) -> tuple[Buffer, Buffer]:
    """Return both buffers, which are alike; no output: it is the input."""
    destination = Buffer(input if output is None else output,
                         "array" if output is None else "out", writable=True)
    source = destination if output is None else Buffer(input, "array")
    if (source.dtype, source.count) != (destination.dtype, destination.count):
        raise ValueError(f"out has {destination.count} elements of {destination.dtype}; array has "
                         f"{source.count} of {source.dtype}")
    return source, destination
