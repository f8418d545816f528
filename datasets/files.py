"""Images from files that a user gives: IDX (MNIST, Fashion-MNIST), NPZ and the CSV of OptDigits.

Everything is read from bytes, or from files that are mapped into memory, with a stated limit on the size once unpacked;
what does not fit raises SpecError, which names the file or the field and says what is expected.
"""

from __future__ import annotations

import io
import mmap
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from datasets.card import Card
from datasets.images import DIGIT_NAMES, Images
from engine.spec import SpecError
from engine.ticket import report

MOST_BYTES = 80_000_000  # of all files together, unpacked: MNIST takes 55 million
MOST_FILES = 4
MOST_MEMBERS = 100  # arrays of an NPZ
MOST_IMAGES = 100_000
MOST_LINES = 20_000  # of a CSV: OptDigits has 5,620
SIDES = (8, 32)  # pixels along an edge
FEWEST = 20  # images to learn from
HELD_BACK = 6  # where no test images are given, one image in so many is kept for testing
OPTDIGITS_TRAIN, OPTDIGITS_TEST = 3823, 1797

FASHION_NAMES = (*("T-shirt", "trouser", "pullover", "dress", "coat"), *("sandal", "shirt", "sneaker", "bag", "ankle boot"))
OWN_CARD = Card("own images", "files given by the user", "yours", "grey levels", DIGIT_NAMES)

Content = bytes | mmap.mmap

_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_IDX_BYTES = 0x08  # IDX's code for unsigned bytes


def from_files(files: Mapping[str, Content], card: Card = OWN_CARD) -> Images:
    """Images and labels from the files of a data set, by name.

    files : name to content; IDX files with or without gzip (images and labels, and those to test on if there are any,
        with "t10k" or "test" in their names), or one NPZ (x_train, y_train, x_test, y_test; or images and labels), or
        one CSV of OptDigits (64 pixels and the digit in each row)
    card : names of the classes; by default the ten digits

    Without test images every sixth image is kept for testing. Raises SpecError naming what is wrong.
    """
    if not files:
        raise SpecError("files", "none given: an NPZ file, the CSV of OptDigits, or IDX files of images and of labels")
    if len(files) > MOST_FILES:
        raise SpecError("files", f"{len(files)} are more than the {MOST_FILES} of a data set")
    if sum(map(len, files.values())) > MOST_BYTES:
        raise SpecError("files", f"larger than {MOST_BYTES / 1e6:.0f} MB together")
    for name, content in files.items():
        packed, table = content[:4] == _ZIP, name.lower().endswith(".csv")
        if (packed or table) and len(files) > 1:
            raise SpecError("files", f"{name} is a data set by itself: give it alone, without other files")
        if packed:
            return _from_npz(name, bytes(content), card)
        if table:
            return optdigits(bytes(content))
    return _from_idx(files, card)


def optdigits(content: bytes) -> Images:
    """OptDigits from its CSV: 64 pixels from 0 to 16 and the digit in each row, with or without a line of names.

    5,620 rows are the whole set: its own 3,823 to learn from and 1,797 to test on, which are scikit-learn's digits (see
    `datasets.images.overlap`). Of any other number every sixth is kept for testing. Raises SpecError naming the row.
    """
    if content.count(b"\n") > MOST_LINES:
        raise SpecError("files", f"the CSV has more than the {MOST_LINES:,} lines allowed")
    if len(content) > 65 * 8 * MOST_LINES:
        raise SpecError("files", "the CSV is larger than rows of 64 pixels and a digit can be")
    try:
        lines = content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise SpecError("files", "the CSV is not text in UTF-8") from None
    rows = [(number, line.strip()) for number, line in enumerate(lines, start=1) if line.strip()]
    if rows and not rows[0][1][0].isdigit():
        rows = rows[1:]
    if not rows:
        raise SpecError("files", "the CSV has no rows of numbers")
    table = np.empty((len(rows), 65), dtype=np.uint8)
    for index, (number, line) in enumerate(rows):
        if index % 1000 == 0:
            report(index, len(rows))
        count = line.count(",") + 1
        if count != 65:
            raise SpecError("labels", f"line {number} has {count} values, not 64 pixels and the digit")
        values = line.split(",")
        try:
            whole = [int(value) for value in values]
        except ValueError:
            raise SpecError("images", f"line {number} holds something that is not a whole number") from None
        if min(whole[:64]) < 0 or max(whole[:64]) > 16:
            raise SpecError("images", f"line {number} has a pixel outside 0 to 16")
        if not 0 <= whole[64] <= 9:
            raise SpecError("labels", f"line {number} has the label {whole[64]}, which is no digit")
        table[index] = whole
    card = Card(
        "OptDigits",
        "E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI 1998",
        "CC BY 4.0",
        "ink from 0 to 16: dark points among the 16 of a 4 × 4 block",
        DIGIT_NAMES,
    )
    images, labels = table[:, :64].reshape(-1, 8, 8), table[:, 64].astype(np.int64)
    if len(labels) == OPTDIGITS_TRAIN + OPTDIGITS_TEST:
        cut = OPTDIGITS_TRAIN
        return Images(images[:cut], labels[:cut], images[cut:], labels[cut:], 16, card)
    return _split(images, labels, 16, card)


def map_file(path: Path) -> mmap.mmap:
    """A file as `from_files` takes it: its bytes come from the disk when they are looked at. Raises OSError."""
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def read_idx(name: str, content: Content, most: int = MOST_BYTES) -> NDArray[np.uint8]:
    """The array of unsigned bytes that an IDX file holds, with or without gzip, at most `most` bytes of it. Raises
    SpecError naming the file.

    Source of the format: LeCun, Cortes and Burges, The MNIST database, "File formats".
    """
    raw = unpack(name, content, most) if content[:2] == _GZIP else content
    if len(raw) < 4 or raw[:2] != b"\0\0":
        raise SpecError(name, "is not an IDX file: it does not begin with two zero bytes")
    kind, dims = raw[2], raw[3]
    if kind != _IDX_BYTES:
        raise SpecError(name, f"holds numbers of type 0x{kind:02x}, not unsigned bytes (0x08)")
    if dims not in (1, 3):
        raise SpecError(name, f"has {dims} dimensions: labels have 1 and images have 3")
    if len(raw) < 4 + 4 * dims:
        raise SpecError(name, "ends within its head")
    shape = struct.unpack(f">{dims}I", raw[4 : 4 + 4 * dims])
    wanted, found = int(np.prod([int(size) for size in shape], dtype=object)), len(raw) - 4 - 4 * dims
    if wanted != found:
        held = " × ".join(map(str, shape))
        raise SpecError(name, f"promises {held} = {wanted:,} bytes and holds {found:,}: broken or cut off")
    return np.frombuffer(raw, dtype=np.uint8, offset=4 + 4 * dims).reshape(shape)


def unpack(name: str, content: Content, most: int = MOST_BYTES) -> bytes:
    """What a gzip file holds, at most `most` bytes of it. Raises SpecError naming the file."""
    reader = zlib.decompressobj(wbits=31)
    try:
        raw = reader.decompress(content, max(most, 0) + 1)
    except zlib.error:
        raise SpecError(name, "is not a whole gzip file: broken or cut off") from None
    if len(raw) > most:
        raise SpecError(name, f"holds more than {most / 1e6:.0f} MB once unpacked")
    if not reader.eof:
        raise SpecError(name, "is not a whole gzip file: broken or cut off")
    return raw


def _from_idx(files: Mapping[str, Content], card: Card) -> Images:
    """The two or four files of a data set in MNIST's format, told apart by their dimensions and names."""
    found: dict[tuple[bool, bool], tuple[str, NDArray[np.uint8]]] = {}
    held = 0
    for name, content in files.items():
        report(len(found), len(files))
        array = read_idx(name, content, MOST_BYTES - held)
        held += array.nbytes
        if held > MOST_BYTES:
            raise SpecError("files", f"larger than {MOST_BYTES / 1e6:.0f} MB together once unpacked")
        testing = "t10k" in name.lower() or "test" in name.lower()
        pictures = array.ndim == 3
        if (testing, pictures) in found:
            what = f"{'images' if pictures else 'labels'} to {'test on' if testing else 'learn from'}"
            raise SpecError(name, f"is a second file of {what}, beside {found[testing, pictures][0]}")
        found[testing, pictures] = name, array
    for testing, pictures in list(found):
        if (testing, not pictures) not in found:
            missing = "labels" if pictures else "images"
            raise SpecError(missing, f"no file of {missing} came with {found[testing, pictures][0]}")
    if (False, True) not in found:
        raise SpecError("images", "only images to test on were given, none to learn from")
    learn = _checked(found[False, True][1], found[False, False][1], card)
    if (True, True) not in found:
        return _split(*learn, 255, card)
    return _whole(learn, _checked(found[True, True][1], found[True, False][1], card), card)


def _from_npz(name: str, content: bytes, card: Card) -> Images:
    """Arrays of an NPZ under the names that Keras, or common sense, gives them."""
    if content.count(b"PK\x01\x02") > MOST_MEMBERS:  # each entry of the archive's directory begins so
        raise SpecError(name, f"holds more than {MOST_MEMBERS} arrays")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
        held = sum(member.file_size for member in members)
        if held > MOST_BYTES:
            raise SpecError(name, f"holds {held / 1e6:,.0f} MB once unpacked, more than {MOST_BYTES / 1e6:.0f} MB")
        if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in members):
            raise SpecError(name, "is packed in a way that NumPy does not use")
        arrays = {}
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            for done, key in enumerate(archive.files):
                report(done, len(members))
                arrays[key] = archive[key]
    except (SpecError, InterruptedError):
        raise
    except Exception:  # a forged archive fails in many ways
        raise SpecError(name, "is not an NPZ file of plain numeric arrays that can be read") from None
    names = ", ".join(sorted(arrays)[:8]) or "none"

    def taken(*keys: str) -> NDArray | None:
        return next((arrays[key] for key in keys if key in arrays), None)

    images = taken("x_train", "train_images", "images", "x")
    labels = taken("y_train", "train_labels", "labels", "y")
    if images is None:
        raise SpecError("images", f"{name} holds no array x_train or images; its arrays: {names}")
    if labels is None:
        raise SpecError("labels", f"{name} holds no array y_train or labels; its arrays: {names}")
    learn = _checked(images, labels, card)
    images_test, labels_test = taken("x_test", "test_images"), taken("y_test", "test_labels")
    if images_test is None and labels_test is None:
        return _split(*learn, 255, card)
    if images_test is None or labels_test is None:
        missing = "images" if images_test is None else "labels"
        raise SpecError(missing, f"{name} holds no {missing} of the images to test on; its arrays: {names}")
    return _whole(learn, _checked(images_test, labels_test, card), card)


def _checked(images: NDArray, labels: NDArray, card: Card) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Images (n, side, side) uint8 and labels (n,) int64 that fit each other. Raises SpecError naming the field."""
    images, labels = np.asarray(images), np.asarray(labels)
    if images.ndim == 4 and images.shape[3] == 1:
        images = images[..., 0]
    if images.ndim == 2 and images.shape[1] and images.shape[1] == round(images.shape[1] ** 0.5) ** 2:
        images = images.reshape(len(images), round(images.shape[1] ** 0.5), -1)
    if images.ndim != 3 or images.shape[1] != images.shape[2]:
        raise SpecError("images", f"their shape is {images.shape}, not (images, side, side): square and grey")
    low, high = SIDES
    if not low <= images.shape[1] <= high:
        raise SpecError("images", f"they have {images.shape[1]} pixels a side: from {low} to {high} are allowed")
    if len(images) > MOST_IMAGES:
        raise SpecError("images", f"{len(images):,} are more than the {MOST_IMAGES:,} allowed")
    if images.dtype.kind not in "uifb":
        raise SpecError("images", f"their values are of type {images.dtype}, not numbers")
    if images.size and images.dtype != np.uint8:
        if not np.isfinite(images).all() or images.min() < 0 or images.max() > 255:
            raise SpecError("images", "their values are not all finite and from 0 to 255 (or from 0 to 1)")
        scale = 255.0 if images.max() <= 1 else 1.0
        images = np.stack([np.rint(image * scale).astype(np.uint8) for image in images])  # one at a time: memory
    labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
    if labels.ndim != 1 or labels.dtype.kind not in "uif":
        raise SpecError("labels", f"their shape is {labels.shape} and type {labels.dtype}, not one whole number each")
    if len(labels) != len(images):
        raise SpecError("labels", f"there are {len(labels):,} for {len(images):,} images")
    if len(labels) < FEWEST:
        raise SpecError("images", f"{len(images)} are too few: at least {FEWEST}")
    if not np.isfinite(labels).all() or (labels != np.floor(labels)).any():
        raise SpecError("labels", "not all are whole numbers")
    if labels.min() < 0 or labels.max() >= len(card.classes):
        raise SpecError("labels", f"from {labels.min():g} to {labels.max():g}: 0 to {len(card.classes) - 1} are known")
    if (labels == labels[0]).all():
        raise SpecError("labels", f"all are {labels[0]:g}: there is nothing to tell apart")
    return images, labels.astype(np.int64)


def _split(images: NDArray[np.uint8], labels: NDArray[np.int64], top: int, card: Card) -> Images:
    """Every sixth image kept for testing."""
    if len(labels) < FEWEST:
        raise SpecError("images", f"{len(images)} are too few: at least {FEWEST}")
    held = np.arange(len(labels)) % HELD_BACK == HELD_BACK - 1
    return Images(images[~held], labels[~held], images[held], labels[held], top, card)


def _whole(learn: tuple[NDArray[np.uint8], NDArray[np.int64]], test: tuple[NDArray[np.uint8], NDArray[np.int64]], card: Card) -> Images:
    if learn[0].shape[1:] != test[0].shape[1:]:
        raise SpecError("images", f"those to learn from have {learn[0].shape[1]} pixels a side, those to test on {test[0].shape[1]}")
    return Images(*learn, *test, 255, card)
