"""Notices: what leads are told, in which words, and how often it is tried."""
