"""Which network addresses a server that we did not choose may send us to."""

import ipaddress
from collections.abc import Awaitable, Callable, Sequence

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def literal(host: str) -> _Address | None:
    """The address that a host's text is, brackets or not; None for a name."""
    try:
        return ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None


def is_public(address: str) -> bool:
    """Whether an address belongs to the open internet.

    Private, loopback, link-local, shared, multicast and reserved ones do not, nor IPv6 addresses
    that carry such an IPv4 address.
    """
    found = literal(address)
    if found is None:
        return False
    inner = _embedded(found)
    if inner is not None:
        return is_public(str(inner))
    return found.is_global and not found.is_multicast


def _embedded(address: _Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 address stands for (mapped, 6to4, NAT64)."""
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour
