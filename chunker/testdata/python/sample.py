#!/usr/bin/env python3
# Copyright 2026 Somebody.
"""Keeps accounts and their balances.

More text.
"""
from __future__ import annotations

import os, sys as system
import xml.etree.ElementTree as ET
from . import sibling
from ..pkg.mod import name as other
from dataclasses import dataclass

LIMIT = 10


# Adds two numbers.
def add(a: int, b: int) -> int:
    return a + b


@dataclass(frozen=True)
class Account:
    """An account. It has a balance."""

    owner: str
    balance: int = 0

    # Not a docstring.
    @property
    def rich(self) -> bool:
        """Whether there is enough."""
        return self.balance > LIMIT

    @staticmethod
    async def load(path):
        with open(path) as f:
            return f.read()

    class Meta:
        ordering = ["owner"]

        def label(self):
            return "meta"


try:
    import fast
except ImportError:
    def fast_path(x):
        """Slow stand-in."""
        return x


@decorator
@other(1)
def decorated(*args, **kwargs):
    def inner():
        return args

    return inner


if __name__ == "__main__":
    print(add(1, 2))
