"""From points to a curve, a fit, a forecast and a decision."""
