//! Addresses of every sort in every dress, and what hosts may lead to.

use super::*;
use proptest::prelude::*;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn every_sort_of_address_is_known() {
    use Kind::*;
    let cases = [
        ("1.1.1.1", Public),
        ("93.184.216.34", Public),
        ("100.63.255.255", Public),
        ("100.64.0.1", Shared),
        ("100.127.255.255", Shared),
        ("100.128.0.0", Public),
        ("100.100.100.200", Metadata),
        ("0.0.0.0", Unspecified),
        ("0.1.2.3", Reserved),
        ("10.0.0.1", Private),
        ("127.0.0.1", Loopback),
        ("127.255.255.254", Loopback),
        ("169.254.1.1", LinkLocal),
        ("169.254.169.254", Metadata),
        ("169.254.170.2", Metadata),
        ("172.15.255.255", Public),
        ("172.16.0.1", Private),
        ("172.31.255.255", Private),
        ("172.32.0.0", Public),
        ("192.0.0.8", Reserved),
        ("192.0.2.1", Reserved),
        ("192.88.99.1", Reserved),
        ("192.168.1.1", Private),
        ("198.18.0.1", Reserved),
        ("198.19.255.255", Reserved),
        ("198.51.100.1", Reserved),
        ("203.0.113.1", Reserved),
        ("224.0.0.1", Multicast),
        ("239.255.255.255", Multicast),
        ("240.0.0.1", Reserved),
        ("255.255.255.255", Reserved),
        ("::", Unspecified),
        ("::1", Loopback),
        ("2606:4700::1111", Public),
        ("2a00:1450:4001::1", Public),
        ("fc00::1", Private),
        ("fd12:3456::1", Private),
        ("fd00:ec2::254", Metadata),
        ("fe80::1", LinkLocal),
        ("febf::1", LinkLocal),
        ("fec0::1", Private),
        ("ff02::1", Multicast),
        ("2001:db8::1", Reserved),
        ("3fff::1", Reserved),
        ("2001::1", Reserved),
        ("2001:20::1", Reserved),
        ("100::1", Reserved),
        ("5f00::1", Reserved),
        ("64:ff9b:1::1", Reserved),
        ("4000::1", Reserved),
        // IPv4 inside.
        ("::ffff:127.0.0.1", Loopback),
        ("::ffff:169.254.169.254", Metadata),
        ("::ffff:10.0.0.1", Private),
        ("::ffff:1.1.1.1", Public),
        ("::ffff:0:127.0.0.1", Loopback),
        ("::127.0.0.1", Loopback),
        ("::1.1.1.1", Reserved),
        ("64:ff9b::127.0.0.1", Loopback),
        ("64:ff9b::169.254.169.254", Metadata),
        ("64:ff9b::1.1.1.1", Public),
        ("2002:7f00:1::1", Loopback),
        ("2002:a9fe:a9fe::1", Metadata),
        ("2002:c0a8:101::1", Private),
        ("2002:101:101::1", Public),
        ("2a00::5efe:10.0.0.1", Private),
        ("fe80::200:5efe:1.1.1.1", Reserved),
    ];
    for (text, expected) in cases {
        assert_eq!(kind(ip(text)), expected, "{text}");
    }
}

#[test]
fn a_host_of_the_file_may_lead_only_where_its_writer_meant() {
    let cases = [
        ("127.0.0.1", Allowance::Address(ip("127.0.0.1"))),
        ("[::1]", Allowance::Address(ip("::1"))),
        ("192.168.1.5", Allowance::Address(ip("192.168.1.5"))),
        ("localhost", Allowance::Loopback),
        ("LocalHost.", Allowance::Loopback),
        ("mcp.localhost", Allowance::Loopback),
        ("notlocalhost", Allowance::Network),
        ("calendar", Allowance::Network),
        ("nas.local", Allowance::Network),
        ("mcp.default.svc.cluster.local", Allowance::Network),
        ("router.home.arpa", Allowance::Network),
        ("mcp.example.com", Allowance::Named),
        ("evil-local", Allowance::Network),
        ("evillocal.com", Allowance::Named),
        ("local.evil.com", Allowance::Named),
        ("127.0.0.1.nip.io", Allowance::Named),
    ];
    for (host, expected) in cases {
        assert_eq!(Allowance::of_configured(host), expected, "{host}");
    }
}

#[test]
fn one_address_that_may_not_be_refuses_all() {
    use Allowance::{Address, Loopback, Named, Network, Public};
    let cases: [(Allowance, &[&str], bool); 25] = [
        (Public, &["1.1.1.1"], true),
        (Public, &["1.1.1.1", "2606:4700::1111"], true),
        (Public, &["1.1.1.1", "127.0.0.1"], false),
        (Public, &["192.168.1.1"], false),
        (Public, &["::ffff:169.254.169.254"], false),
        (Public, &[], false),
        (Loopback, &["127.0.0.1", "::1"], true),
        (Loopback, &["1.1.1.1"], false),
        (Loopback, &["192.168.1.1"], false),
        (Network, &["192.168.1.1"], true),
        (Network, &["127.0.1.1"], true),
        (Network, &["100.70.1.1"], true),
        (Network, &["169.254.169.254"], false),
        (Network, &["169.254.1.1"], false),
        (Network, &["fd00:ec2::254"], false),
        (Named, &["1.1.1.1", "192.168.1.1"], true),
        (Named, &["100.70.1.1"], true),
        (Named, &["127.0.0.1"], false),
        (Named, &["1.1.1.1", "169.254.169.254"], false),
        (Named, &["::ffff:127.0.0.1"], false),
        (Address(ip("127.0.0.1")), &["127.0.0.1"], true),
        (Address(ip("127.0.0.1")), &["127.0.0.2"], false),
        (Address(ip("169.254.169.254")), &["169.254.169.254"], false),
        (Address(ip("0.0.0.0")), &["0.0.0.0"], false),
        (Address(ip("192.168.1.5")), &["192.168.1.5"], true),
    ];
    for (allowance, addresses, expected) in cases {
        let addresses: Vec<IpAddr> = addresses.iter().map(|text| ip(text)).collect();
        assert_eq!(check(allowance, &addresses).is_ok(), expected, "{allowance:?} {addresses:?}");
    }
    let refused = check(Public, &[ip("10.1.2.3")]).unwrap_err();
    assert!(!refused.to_string().contains("10.1"), "a stranger reads nothing of the network: {refused}");
}

#[test]
fn what_the_operator_wrote_leads_there_and_no_name_to_metadata() {
    let cases = [
        ("ollama.example.com", "1.1.1.1", true),
        ("ollama.example.com", "192.168.1.5", true),
        ("ollama.example.com", "127.0.0.1", false),
        ("ollama.example.com", "169.254.169.254", false),
        ("metadata.google.internal", "169.254.169.254", false),
        ("metadata", "169.254.169.254", false),
        ("localhost", "127.0.0.1", true),
        ("localhost", "169.254.169.254", false),
        ("nas.local", "192.168.1.5", true),
        ("nas.local", "fd00:ec2::254", false),
    ];
    for (host, found, expected) in cases {
        assert_eq!(check_configured(host, &[SocketAddr::new(ip(found), 443)]).is_ok(), expected, "{host} {found}");
    }
    assert!(check_configured("ollama.example.com", &[]).is_err());
    for (host, expected) in [
        ("127.0.0.1", true),
        ("[::1]", true),
        ("192.168.1.5", true),
        ("any.example.com", true),
        ("169.254.169.254", false),
        ("[::ffff:169.254.169.254]", false),
        ("[fd00:ec2::254]", false),
        ("0.0.0.0", false),
    ] {
        assert_eq!(check_written(host).is_ok(), expected, "{host}");
    }
}

proptest! {
    #[test]
    fn no_dress_makes_an_address_public_that_is_not(bits: u32) {
        let v4 = Ipv4Addr::from(bits);
        let [a, b, c, d] = v4.octets().map(u16::from);
        let (high, low) = ((a << 8) | b, (c << 8) | d);
        let dressed = [
            Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low),
            Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
            Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low),
            Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
            Ipv6Addr::new(0x2a00, 0, 0, 0, 0, 0x5efe, high, low),
        ];
        for address in dressed {
            let is_public = kind(IpAddr::V6(address)) == Kind::Public;
            prop_assert!(!is_public || kind(IpAddr::V4(v4)) == Kind::Public, "{} in {}", v4, address);
        }
    }
}
