//! What sort of address an address is. Public is only what is known to be: everything that the registries set apart is not,
//! also where nobody uses it today.

use super::carried;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Public,
    Loopback,
    Private,
    /// Between a provider and its customers, 100.64.0.0/10; private networks over the internet use it, too.
    Shared,
    LinkLocal,
    /// Where clouds hand out the secrets of a machine to whoever asks from it.
    Metadata,
    Multicast,
    Unspecified,
    Reserved,
}

pub fn kind(address: IpAddr) -> Kind {
    match address {
        IpAddr::V4(address) => kind_of_v4(address),
        IpAddr::V6(address) => kind_of_v6(address),
    }
}

fn kind_of_v4(address: Ipv4Addr) -> Kind {
    match address.octets() {
        [169, 254, 169, 254] | [169, 254, 170, 2] | [100, 100, 100, 200] => Kind::Metadata,
        [0, 0, 0, 0] => Kind::Unspecified,
        [127, ..] => Kind::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Kind::Private,
        [100, 64..=127, ..] => Kind::Shared,
        [169, 254, ..] => Kind::LinkLocal,
        [224..=239, ..] => Kind::Multicast,
        // "This network", protocols, documentation, old relays, measurements, and what was kept for later.
        [0, ..] | [192, 0, 0, _] | [192, 0, 2, _] | [192, 88, 99, _] | [198, 18..=19, ..] => Kind::Reserved,
        [198, 51, 100, _] | [203, 0, 113, _] | [240..=255, ..] => Kind::Reserved,
        _ => Kind::Public,
    }
}

fn kind_of_v6(address: Ipv6Addr) -> Kind {
    if address.is_unspecified() {
        return Kind::Unspecified;
    }
    if address.is_loopback() {
        return Kind::Loopback;
    }
    if let Some(inside) = carried(address) {
        let inside = kind_of_v4(inside);
        // What is public inside is public only if the address around it is one that routers take.
        return if inside == Kind::Public { kind_around(address) } else { inside };
    }
    match address.segments() {
        [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254] | [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254] => Kind::Metadata,
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => Kind::Private,
        [0xfe80..=0xfebf, ..] => Kind::LinkLocal,
        [0xff00..=0xffff, ..] => Kind::Multicast,
        // Teredo, benchmarks, identifiers and the rest of what protocols use; documentation; segment routing.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Kind::Reserved,
        [0x2000..=0x3fff, ..] => Kind::Public,
        _ => Kind::Reserved,
    }
}

fn kind_around(address: Ipv6Addr) -> Kind {
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] | [0x2002, ..] => Kind::Public,
        [0x2000..=0x3fff, ..] => Kind::Public,
        _ => Kind::Reserved,
    }
}
