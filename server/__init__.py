"""The backend: an HTTP server, a queue worker, and the command line around them."""
