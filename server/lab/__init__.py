"""A laboratory for the page: a channel that misbehaves when told to, and workers to be broken.

Everything here is for deliveries of the channel `lab` and for processes that were started here;
nothing of it is there outside lab mode.
"""
