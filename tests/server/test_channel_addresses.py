"""Which addresses a webhook may go to."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from server.channels.addresses import why_refused

ANY = st.one_of(
    st.ip_addresses(v=4), st.ip_addresses(v=6), st.ip_addresses(v=6, network="2000::/3")
)


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",  # noqa: S104 - refused
        "10.1.2.3",
        "100.64.0.1",
        "100.100.100.200",
        "127.0.0.1",
        "127.255.255.254",
        "168.63.129.16",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.192",
        "192.31.196.1",
        "192.52.193.1",
        "192.88.99.1",
        "192.168.1.1",
        "192.175.48.1",
        "198.18.0.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "64:ff9b::a00:1",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "2620:4f:8000::1",
        "3fff::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fe80::1%lo",
        "fec0::1",
        "ff02::1",
    ],
)
def test_inner_and_special_addresses_are_refused(address):
    """Each with its reason."""
    assert why_refused(ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "8.8.8.8",
        "100.63.255.255",
        "100.128.0.1",
        "126.255.255.255",
        "128.0.0.1",
        "172.15.255.255",
        "172.32.0.1",
        "223.255.255.255",
        "2001:4860:4860::8888",
        "2606:4700:4700::1111",
        "2a00:1450::1",
    ],
)
def test_public_addresses_are_not(address):
    """Also those just beside a refused network."""
    assert why_refused(ip_address(address)) is None


@given(ANY)
@example(IPv4Address("192.0.0.8"))
@example(IPv6Address("2001:10::1"))
def test_what_python_does_not_call_global_is_refused(address):
    """Python's list is another's work: whatever is in it is in ours."""
    if not address.is_global or address.is_multicast:
        assert why_refused(address)
