"""Which URLs a webhook can have, and that the document's pattern says the same."""

import re
from ipaddress import IPv4Address, IPv4Network

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.channels.addresses import _REFUSED, why_refused
from server.channels.endpoints import pattern, why_no_endpoint, why_not_allowed

STRICT = {"allow_private": False, "allow_http": False}
DESCRIBED = re.compile(pattern(allow_http=False))


def taken(url):
    """Whether it is taken where nothing is allowed that need not be."""
    return why_no_endpoint(url) is None and why_not_allowed(url, **STRICT) is None


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.org",
        "https://hooks.example.org:8443/a/b?c=%20&d[]=e",
        "https://xn--bcher-kva.example/",
        "https://xn--0/",
        "https://my_service/",
        "https://1und1.example.",
        "https://8.8.8.8/",
        "https://hooks.example.org?x",
    ],
)
def test_what_is_taken_is_in_the_pattern(url):
    """And the client that sends it can read it."""
    assert taken(url)
    assert DESCRIBED.search(url)
    assert httpx.URL(url).raw_host


@pytest.mark.parametrize(
    "url",
    [
        "https://a..b/",
        "https://-a.b/",
        "https://a.1/",
        "https://999.1.1.1/",
        "https://a.0x1/",
        f"https://{'a' * 64}.org/",
        f"https://{'a.' * 127}org/",
        "https://bücher.example/",
        "https://a.b/ü",
        "https://a.b/ x",
        "https://a.b:65536/",
        "https://a b/",
        "https://1.1.1.1 x/",
        "http://hooks.example.org/",
    ],
)
def test_what_is_not_taken_is_not_in_it(url):
    """Neither of them is more generous than the other."""
    assert not taken(url)
    assert not DESCRIBED.search(url)


def _edges(network: IPv4Network):
    first, last = int(network[0]), int(network[-1])
    return [IPv4Address(n) for n in (first - 1, first, last, last + 1) if 0 <= n < 1 << 32]


@pytest.mark.parametrize("network", [n for n in _REFUSED if n.version == 4], ids=str)
def test_the_edges_of_every_refused_network(network):
    """The pattern has them by hand; so each is tried from both sides."""
    for address in _edges(network):
        url = f"https://{address}/"
        assert taken(url) == (why_refused(address) is None), url
        assert bool(DESCRIBED.search(url)) == taken(url), url


@given(st.ip_addresses(v=4))
def test_no_address_is_told_differently(address):
    """Whichever it is."""
    url = f"https://{address}/"
    assert bool(DESCRIBED.search(url)) == taken(url) == (why_refused(address) is None)


@given(st.from_regex(DESCRIBED, fullmatch=True))
def test_whatever_fits_the_pattern_is_taken(url):
    """And can be sent to. Names that mean this machine are the one thing that it does not say."""
    if not re.search(r"//(?:[^/:?]*\.)?localhost", url, re.IGNORECASE):
        assert taken(url)
        assert httpx.URL(url).raw_host


@pytest.mark.parametrize(
    "host",
    [
        "127.1",
        "0x7f.1",
        "2130706433",
        "127.0.0.1.",
        "localhost",
        "a.LOCALHOST.",
        "[::1]",
        "[fd00::1]",
    ],
)
def test_inner_addresses_are_refused_however_they_are_written(host):
    """Unless that is allowed."""
    url = f"https://{host}/"
    assert why_no_endpoint(url) is None
    assert "public" in why_not_allowed(url, **STRICT)
    assert why_not_allowed(url, allow_private=True, allow_http=False) is None


def test_http_is_taken_where_it_is_allowed():
    """And the pattern says so."""
    url = "http://hooks.example.org/"
    assert "https" in why_not_allowed(url, **STRICT)
    assert why_not_allowed(url, allow_private=False, allow_http=True) is None
    assert re.search(pattern(allow_http=True), url)
