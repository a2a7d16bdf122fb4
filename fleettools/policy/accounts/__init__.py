"""Accounts: evidence, cool-offs, quarantines and places, counted per credential."""
