"""Pictures for the tests, drawn from seeds: nothing binary lies in the repository.

``big`` makes six pictures of the sizes people have and keeps them in .cache/corpus, ``small`` one
of each kind that is taken, ``broken`` two hundred files that must be refused, and ``photo`` draws
whatever else a test needs.
"""

from tests.corpus.big import BIG, big
from tests.corpus.broken import Broken, broken
from tests.corpus.photo import checks, photo
from tests.corpus.small import Sample, encode, small

__all__ = ["BIG", "Broken", "Sample", "big", "broken", "checks", "encode", "photo", "small"]
