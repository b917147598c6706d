"""The page's sample pictures, painted from seeds: each scene is a function that gives an image."""
