//! Routing once more, as a list of who belongs where, to compare the real one with.

use super::{Facts, ReasonCode, decide, destination};
use crate::channels::ChatType;
use crate::ids::{UserId, WorkspaceId};
use proptest::prelude::*;
use std::collections::BTreeSet;

const ACCOUNTS: [(&str, &str); 2] = [("1111", "sean"), ("3333", "wife")];
const BINDINGS: [(&str, &str); 2] = [("-100", "homelab"), ("-200", "family")];

/// A whole house, said as plainly as possible: who, where from, who belongs where.
fn expected(
    account: &str,
    place: &str,
    is_direct: bool,
    members: &BTreeSet<(String, String)>,
) -> Result<String, ReasonCode> {
    let person = ACCOUNTS.iter().find(|(id, _)| *id == account).map(|(_, name)| *name);
    let Some(person) = person else { return Err(ReasonCode::UnknownSender) };
    let own = format!("personal-usr_{person}");
    let bound = BINDINGS.iter().find(|(id, _)| *id == place).map(|(_, name)| (*name).to_owned());
    if bound.is_none() && !is_direct {
        return Err(ReasonCode::UnboundGroup);
    }
    let workspace = bound.unwrap_or(own);
    if members.contains(&(workspace.clone(), person.to_owned())) { Ok(workspace) } else { Err(ReasonCode::NotAMember) }
}

/// The same by way of the facts that a house would gather.
fn decided(
    account: &str,
    place: &str,
    is_direct: bool,
    members: &BTreeSet<(String, String)>,
) -> Result<String, ReasonCode> {
    let chat = if is_direct { ChatType::Direct } else { ChatType::Group };
    let sender = ACCOUNTS.iter().find(|(id, _)| *id == account).map(|(_, name)| UserId::parse(name).unwrap());
    let bound = BINDINGS.iter().find(|(id, _)| *id == place).map(|(_, name)| WorkspaceId::parse(name).unwrap());
    let to = sender.as_ref().and_then(|sender| destination(chat, sender, bound.as_ref()));
    let is_member = to.zip(sender.as_ref()).is_some_and(|(workspace, sender)| {
        members.contains(&(workspace.as_str().to_owned(), sender.name().to_owned()))
    });
    let routing = decide(&Facts { chat, sender, bound, is_member, session: None });
    routing.decision.map(|route| {
        assert_eq!(route.user.name(), ACCOUNTS.iter().find(|(id, _)| *id == account).unwrap().1);
        route.workspace.as_str().to_owned()
    })
}

proptest! {
    #[test]
    fn routing_agrees_with_the_plain_list(
        account in prop::sample::select(vec!["1111", "3333", "666", "sean", "@sean"]),
        place in prop::sample::select(vec!["-100", "-200", "-300", "1111"]),
        is_direct in any::<bool>(),
        in_homelab in any::<bool>(),
        wife_in_family in any::<bool>(),
        is_out in any::<bool>(),
    ) {
        let mut members = BTreeSet::from([("family".to_owned(), "sean".to_owned())]);
        if in_homelab { members.insert(("homelab".to_owned(), "sean".to_owned())); }
        if wife_in_family { members.insert(("family".to_owned(), "wife".to_owned())); }
        if !is_out {
            for (_, name) in ACCOUNTS { members.insert((format!("personal-usr_{name}"), name.to_owned())); }
        }
        prop_assert_eq!(decided(account, place, is_direct, &members), expected(account, place, is_direct, &members));
    }

    #[test]
    fn nobody_is_ever_led_to_somebody_elses_own(
        account in prop::sample::select(vec!["1111", "3333"]),
        place in "[a-z0-9-]{1,6}",
        is_direct in any::<bool>(),
    ) {
        let all: BTreeSet<_> = ACCOUNTS.iter().map(|(_, n)| (format!("personal-usr_{n}"), (*n).to_owned())).collect();
        if let Ok(workspace) = decided(account, &place, is_direct, &all) {
            let own = ACCOUNTS.iter().find(|(id, _)| *id == account).unwrap().1;
            prop_assert_eq!(workspace, format!("personal-usr_{own}"));
            prop_assert!(is_direct);
        }
    }
}
