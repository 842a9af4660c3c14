"""Inner products of a curve's values with the shape of a law: all that the likelihood needs of the points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scalerl.scaling.curve import Vector
from scalerl.scaling.wander import Basis


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Products:
    """Products of values (y), ones (1) and shape (s) under a covariance, and its log-determinant.

    The last axis has length 1 and is left for the levels.
    """

    yy: Vector
    y1: Vector
    ys: Vector
    s1: Vector
    ss: Vector
    ones: Vector
    log_determinant: Vector


def products_on_grid(basis: Basis, values: Vector, shapes: Vector, variances: Vector) -> Products:
    """Products for every covariance (rows of `variances`) with every shape (rows of `shapes`)."""
    weights = 1 / variances
    y, one, s = basis.project(values), basis.to.sum(axis=0), basis.project(shapes)
    return Products(
        yy=(weights @ y**2)[:, None, None],
        y1=(weights @ (y * one))[:, None, None],
        ys=((weights * y) @ s.T)[:, :, None],
        s1=((weights * one) @ s.T)[:, :, None],
        ss=(weights @ (s**2).T)[:, :, None],
        ones=(weights @ one**2)[:, None, None],
        log_determinant=np.log(variances).sum(axis=1)[:, None, None],
    )


def products_by_row(basis: Basis, values: Vector, shapes: Vector, variances: Vector) -> Products:
    """Products of each shape with the covariance of the same row."""
    weights = 1 / variances
    y, one, s = basis.project(values), basis.to.sum(axis=0), basis.project(shapes)
    weighed = weights * s
    return Products(
        yy=(weights @ y**2)[:, None],
        y1=(weights @ (y * one))[:, None],
        ys=(weighed @ y)[:, None],
        s1=(weighed @ one)[:, None],
        ss=(weighed * s).sum(axis=1)[:, None],
        ones=(weights @ one**2)[:, None],
        log_determinant=np.log(variances).sum(axis=1)[:, None],
    )
