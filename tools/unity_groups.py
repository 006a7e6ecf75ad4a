#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""unity_groups.py LIMIT FILE...: which sources of a target are compiled together (cmake/unity.cmake); a line
`NUMBER FILE` for each, without those that stay alone."""
import sys

from batches import batches_of


def main():
    for number, members in enumerate(batches_of(sys.argv[2:], int(sys.argv[1]))):
        for path in members if len(members) > 1 else []:
            print(number, path)


if __name__ == "__main__":
    main()
