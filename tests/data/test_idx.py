"""The reader of IDX files: what is in them, and what is refused."""

from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest

from nervure.data.idx import read_idx
from nervure.errors import FormatError, InvalidArgument

CODES = {"u1": 8, "i1": 9, "i2": 11, "i4": 12, "f4": 13, "f8": 14}


def encoded(array, code=None, shape=None):
    shape = array.shape if shape is None else shape
    header = bytes([0, 0, CODES[array.dtype.str[1:]] if code is None else code, len(shape)])
    return header + struct.pack(f">{len(shape)}I", *shape) + array.astype(array.dtype.newbyteorder(">")).tobytes()


@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("packed", [False, True])
def test_every_element_type_is_read(dtype, packed, tmp_path):
    array = np.arange(-6, 6).astype(dtype).reshape(2, 3, 2)
    data = encoded(array)
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(data) if packed else data)
    got = read_idx(path)
    assert got.dtype == np.dtype(dtype) and got.flags.writeable
    np.testing.assert_array_equal(got, array)


def refused(tmp_path, data):
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises((FormatError, InvalidArgument)) as caught:
        read_idx(path)
    assert str(path) in str(caught.value)
    return caught.value.message


SOUND = encoded(np.zeros((3, 4), np.uint8))


@pytest.mark.parametrize(("data", "message"), [
    (b"", "this is no IDX file"), (b"\x89PNG\r\n", "this is no IDX file"), (b"\0\0\7\1", "this is no IDX file"),
    (b"\0\0\x08\xff", "an IDX file has few dimensions"), (SOUND[:9], "the file ends in its header"),
    (SOUND[:-1], "the file is cut short"), (SOUND[:12], "the file is cut short"),
    (SOUND + b"\0", "the file goes on behind its elements")])
def test_what_is_no_sound_file_is_refused(data, message, tmp_path):
    assert refused(tmp_path, data) == message
    if data:
        assert refused(tmp_path, gzip.compress(data)) == message


def test_a_header_that_lies_about_sizes_allocates_nothing(tmp_path):
    huge = encoded(np.zeros(3, np.uint8), shape=(2**31, 2**31))
    assert refused(tmp_path, huge) == "the file needs more memory than there is"
    assert refused(tmp_path, encoded(np.zeros(3, np.uint8), shape=(2**30,))) == "the file is cut short"


@pytest.mark.parametrize("kept", [3, 12, 20, -1])
def test_a_compressed_file_that_is_cut_short_is_refused(kept, tmp_path):
    data = gzip.compress(encoded(np.arange(1000, dtype=np.uint8).reshape(10, 100)))[:kept]
    assert "damaged or cut short" in refused(tmp_path, data) or kept == 3


def test_a_damaged_compressed_file_is_refused(tmp_path):
    data = bytearray(gzip.compress(np.random.default_rng(0).bytes(2000)))
    data[40:60] = bytes(20)
    refused(tmp_path, bytes(data))
