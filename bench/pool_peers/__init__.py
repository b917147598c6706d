"""The pool and its peers, each behind the same few functions, and the pages that drive them."""
