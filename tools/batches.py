# SPDX-License-Identifier: Apache-2.0
"""Sources that can be read as one: most of the time of a compiler or of clang-tidy goes into the headers, which a
batch of sources reads once. What one of a batch names for itself alone, in an unnamed namespace, no other may name or
use: there it is something else."""
import re

UNNAMED = re.compile(rb"^namespace \{$(.*?)^\}  // namespace$", re.M | re.S)
DECLARED = re.compile(rb"^(?!using [^=]*;|TEST)[A-Za-z][^\n;={(]*?(\w+)(?:\[\w*\])*(?: final)?\s*[;={(:]", re.M)
NOT_CODE = re.compile(rb'//[^\n]*|"(?:[^"\\\n]|\\.)*"')
WORD = re.compile(rb"(?<![\w.>:])[A-Za-z_]\w*")  # that is not looked up in something named before it
ENUM = re.compile(rb"^enum (?!class)[^{;]*\{(.*?)\}", re.M | re.S)
ENUMERATOR = re.compile(rb"\b(k\w+)(?=[\s,=}]|$)")
MACRO = re.compile(rb"^#define (\w+)", re.M)


class Names:
    """What sources name for themselves alone, and all they use."""

    def __init__(self, path):
        with open(path, "rb") as file:
            text = file.read()
        self.own = set(MACRO.findall(text))
        for unnamed in UNNAMED.findall(text):
            self.own.update(DECLARED.findall(unnamed.replace(b"::", b"  ")))
            for enumerators in ENUM.findall(NOT_CODE.sub(b"", unnamed)):
                self.own.update(ENUMERATOR.findall(enumerators))
        self.used = set(WORD.findall(NOT_CODE.sub(b"", text)))

    def clash(self, other):
        return self.own & other.own or self.own & other.used or self.used & other.own

    def add(self, other):
        self.own |= other.own
        self.used |= other.used


def batches_of(files, limit, options=None):
    """The files in lists of at most `limit`, each list of files with the same options (by file)."""
    batches = []  # (options, names, files)
    for path in files:
        names = Names(path)
        own_options = options[path] if options else None
        for shared, taken, members in batches:
            if shared == own_options and len(members) < limit and not names.clash(taken):
                taken.add(names)
                members.append(path)
                break
        else:
            batches.append((own_options, names, [path]))
    return [members for _, _, members in batches]
