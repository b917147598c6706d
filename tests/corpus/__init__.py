"""Pictures for the tests, drawn from seeds: nothing binary lies in the repository.

``big`` makes six pictures of the sizes people have and keeps them in .cache/corpus, ``small`` one
of each kind that is taken, ``broken`` two hundred files that must be refused, ``photo`` draws
whatever else a test needs, and ``distance`` tells how far apart two results are.
"""

from tests.corpus.big import BIG, big
from tests.corpus.broken import Broken, broken
from tests.corpus.distance import (
    BIG_PHOTO_BOUND,
    PHOTO_BOUND,
    TINY_BOUND,
    distance,
    total_variation,
)
from tests.corpus.photo import checks, photo
from tests.corpus.small import Sample, encode, small

__all__ = [
    "BIG",
    "BIG_PHOTO_BOUND",
    "PHOTO_BOUND",
    "TINY_BOUND",
    "Broken",
    "Sample",
    "big",
    "broken",
    "checks",
    "distance",
    "encode",
    "photo",
    "small",
    "total_variation",
]
