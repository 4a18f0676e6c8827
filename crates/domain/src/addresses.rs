//! Which addresses the house connects to. A name that somebody outside controls may lead anywhere, also back into the house
//! and its network: what a name resolved to is judged here, address by address, before anything is sent.
//!
//! Resolving and connecting is the business of whoever connects; they connect to what was judged and to nothing else.

mod kinds;

pub use kinds::{Kind, kind};

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Endings of names that only a network's own resolver knows; single words are of that sort, too.
const LOCAL_ENDINGS: [&str; 8] = ["local", "internal", "lan", "home", "home.arpa", "intranet", "localdomain", "corp"];

/// Which addresses a host may turn out to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowance {
    /// What the whole internet can reach. The only one for addresses that did not come from the operator.
    Public,
    /// The operator wrote this very address.
    Address(IpAddr),
    /// The operator wrote `localhost`.
    Loopback,
    /// The operator wrote a name of the own network.
    Network,
    /// The operator wrote any other name. Many a household has such names for its own machines; but its owner decides where
    /// it leads, so never to this very machine.
    Named,
}

impl Allowance {
    /// For a host that the operator wrote into the configuration; `host` as a URL has it, IPv6 in brackets or not.
    pub fn of_configured(host: &str) -> Self {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        if let Some(address) = literal(&host) {
            return Self::Address(address);
        }
        let ends_with =
            |ending: &str| host.strip_suffix(ending).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        if ends_with("localhost") {
            Self::Loopback
        } else if !host.contains('.') || LOCAL_ENDINGS.into_iter().any(ends_with) {
            Self::Network
        } else {
            Self::Named
        }
    }

    fn admits(self, address: IpAddr) -> bool {
        let kind = kind(address);
        match self {
            Self::Public => kind == Kind::Public,
            Self::Loopback => kind == Kind::Loopback,
            Self::Named => matches!(kind, Kind::Public | Kind::Private | Kind::Shared),
            Self::Network => matches!(kind, Kind::Public | Kind::Private | Kind::Shared | Kind::Loopback),
            // Nobody's plugin is a cloud's list of secrets, and "any address" is none.
            Self::Address(written) => {
                written == address
                    && !matches!(kind, Kind::Metadata | Kind::Unspecified | Kind::Multicast | Kind::Reserved)
            }
        }
    }
}

/// The address that a host is, if it is no name.
pub fn literal(host: &str) -> Option<IpAddr> {
    if let Some(inside) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return inside.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    host.parse::<IpAddr>().ok()
}

/// Why nothing is sent. It names a sort of address and never the address: a stranger could read the network from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("its name leads nowhere")]
    Nowhere,
    #[error("it leads to {0}, which is not where this address may lead")]
    Leads(Kind),
}

/// Judges what a host resolved to. One address that may not be is enough to refuse all: a name that leads to two places is
/// how somebody gets from the one that is checked to the one that is not.
pub fn check(allowance: Allowance, addresses: &[IpAddr]) -> Result<(), Refused> {
    if addresses.is_empty() {
        return Err(Refused::Nowhere);
    }
    match addresses.iter().find(|address| !allowance.admits(**address)) {
        Some(address) => Err(Refused::Leads(kind(*address))),
        None => Ok(()),
    }
}

/// The same for a host that the operator wrote, and for what would be connected to.
pub fn check_configured(host: &str, found: &[SocketAddr]) -> Result<(), Refused> {
    let addresses: Vec<IpAddr> = found.iter().map(SocketAddr::ip).collect();
    check(Allowance::of_configured(host), &addresses)
}

/// An address is never resolved: it is judged where it is read. A name passes here.
pub fn check_written(host: &str) -> Result<(), Refused> {
    literal(host).map_or(Ok(()), |address| check(Allowance::Address(address), &[address]))
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Public => "a public address",
            Self::Loopback => "this very machine",
            Self::Private => "a private network",
            Self::Shared => "a provider's inner network",
            Self::LinkLocal => "a link-local address",
            Self::Metadata => "a cloud's metadata service",
            Self::Multicast => "many machines at once",
            Self::Unspecified => "no address in particular",
            Self::Reserved => "a reserved address",
        })
    }
}

/// The IPv4 address that an IPv6 address carries inside, by any of the ways in which packets get from one to the other.
fn carried(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let parts = address.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match parts {
        // Mapped, translated, and the old compatible form.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => Some(v4(high, low)),
        [0, 0, 0, 0, 0, 0, high, low] if (high, low) > (0, 1) => Some(v4(high, low)),
        // NAT64.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(v4(high, low)),
        // 6to4.
        [0x2002, high, low, ..] => Some(v4(high, low)),
        // ISATAP, in any network.
        [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => Some(v4(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
