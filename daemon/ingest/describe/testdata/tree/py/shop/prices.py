#!/usr/bin/env python
# -*- coding: utf-8 -*-
r"""
shop.prices
~~~~~~~~~~~

This module computes what customers pay.

Prices are whole cents; see :class:`~shop.prices.Rebate` for what is taken off.

:copyright: 2020 by the Demo Authors.
:license: BSD, see LICENSE for more details.
"""

from __future__ import annotations

import decimal

from . import taxes


class Rebate:
    """What is taken off a price.

    :param percent: from 0 to 100
    """

    def __init__(self, percent):
        self.percent = percent

    def __repr__(self):
        return f"Rebate({self.percent})"

    def of(self, cents: int) -> int:
        """Return what ``cents`` cost with the rebate."""
        return cents - cents * self.percent // 100


def total(cents: list[int], rebate: Rebate | None = None, *, country="de") -> int:
    """Sum up prices.

    Args:
        cents: one price an article
    """
    net = sum(cents)
    if rebate is not None:
        net = rebate.of(net)
    return int(decimal.Decimal(net) * taxes.rate(country))


def _round(x):  # noqa
    return round(x)
