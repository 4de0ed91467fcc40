"""Makes a Python wheel of an installed tree: `wheel.py TREE WHEEL VERSION TAG SECONDS`.

`bin` becomes the wheel's scripts, all else its data: an environment gets the tree as it is. Names are sorted, and every
file is of the same time, so that the same tree is the same wheel.
"""

import base64
import hashlib
import os
import sys
import time
import zipfile

NAME = "carrousel"
METADATA = """\
Metadata-Version: 2.1
Name: {name}
Version: {version}
Summary: Proves communication patterns of parallel programs, and runs them: command, libfabric provider, C library
License: MIT OR Apache-2.0
Requires-Python: >=3.8
Classifier: Environment :: Console
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: System :: Distributed Computing
Description-Content-Type: text/markdown

{readme}"""
WHEEL = """\
Wheel-Version: 1.0
Generator: carrousel
Root-Is-Purelib: false
Tag: {tag}
"""


def files(tree, version):
    """Each file of the tree: its name in the wheel, its bytes, and whether it is run."""
    for directory, _, names in os.walk(tree):
        for name in names:
            path = os.path.join(directory, name)
            inside = os.path.relpath(path, tree)
            top, _, rest = inside.partition(os.sep)
            place = f"scripts/{rest}" if top == "bin" else f"data/{inside}"
            # A wheel has no links: what a link leads to is there twice.
            with open(path, "rb") as file:
                yield f"{NAME}-{version}.data/{place}", file.read(), os.access(path, os.X_OK)


def main(tree, wheel, version, tag, seconds):
    with open(os.path.join(tree, "share/doc/carrousel/README.md"), encoding="utf-8") as file:
        readme = file.read()
    info = f"{NAME}-{version}.dist-info"
    entries = sorted(files(tree, version))
    entries += [
        (f"{info}/METADATA", METADATA.format(name=NAME, version=version, readme=readme).encode(), False),
        (f"{info}/WHEEL", WHEEL.format(tag=tag).encode(), False),
    ]
    record = ""
    for name, content, _ in entries:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    entries.append((f"{info}/RECORD", (record + f"{info}/RECORD,,\n").encode(), False))
    # The first day of the format is in 1980.
    at = max(time.gmtime(int(seconds))[:6], (1980, 1, 1, 0, 0, 0))
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content, runs in entries:
            entry = zipfile.ZipInfo(name, at)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if runs else 0o100644) << 16
            archive.writestr(entry, content)


main(*sys.argv[1:])
