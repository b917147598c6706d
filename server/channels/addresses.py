"""Which network addresses a webhook may go to. Pure: names are resolved elsewhere.

The networks are those that IANA's two registries of special-purpose addresses do not call
globally reachable, and some that are reachable but lead back inside. They are written out, because
what `ipaddress` calls private has changed between Python's releases.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_network

Address = IPv4Address | IPv6Address

_REFUSED = {
    ip_network(network): reason
    for reason, networks in {
        "this host": "0.0.0.0/8",
        "private": "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16",
        "shared by a provider's customers": "100.64.0.0/10",
        "loopback": "127.0.0.0/8",
        "link-local": "169.254.0.0/16",
        "reserved for protocols": "192.0.0.0/24 192.31.196.0/24 192.52.193.0/24 192.175.48.0/24",
        "reserved for documentation": "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 "
        "2001:db8::/32 3fff::/20",
        "a relay to IPv6": "192.88.99.0/24",
        "reserved for benchmarks": "198.18.0.0/15",
        "multicast": "224.0.0.0/4",
        "reserved": "240.0.0.0/4",
        "a cloud's own service": "168.63.129.16/32",
        "reserved for protocols or tunnels": "2001::/23 2002::/16 2620:4f:8000::/48",
    }.items()
    for network in networks.split()
}

# What IPv6 calls global unicast. Outside of it lie loopback, link-local, unique local and multicast
# addresses, and those that wrap an IPv4 address: mapped, compatible and NAT64.
_GLOBAL = IPv6Network("2000::/3")

_OUTSIDE = {
    IPv6Network("::/128"): "unspecified",
    IPv6Network("::1/128"): "loopback",
    IPv6Network("::ffff:0:0/96"): "an IPv4 address in IPv6's clothes",
    IPv6Network("64:ff9b::/96"): "a translation to IPv4",
    IPv6Network("64:ff9b:1::/48"): "a translation to IPv4",
    IPv6Network("fc00::/7"): "private",
    IPv6Network("fe80::/10"): "link-local",
    IPv6Network("ff00::/8"): "multicast",
}


def why_refused(address: Address) -> str | None:
    """Why nothing is sent to this address, in a word or two; None if it is a public one."""
    for network, reason in _REFUSED.items():
        if address.version == network.version and address in network:
            return reason
    if isinstance(address, IPv6Address) and address not in _GLOBAL:
        return next((why for network, why in _OUTSIDE.items() if address in network), "reserved")
    return None
