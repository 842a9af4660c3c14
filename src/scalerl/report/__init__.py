"""Figures, tables and the HTML report: everything that people look at."""
