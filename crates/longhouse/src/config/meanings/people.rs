//! Users, roles, members and the accounts of people.

use super::{Findings, KnownPeople};
use crate::config::declarations::section;
use crate::config::nodes::{Entry, Node};
use crate::config::problems::{Problem, Spot, quoted};
use domain::ids::UserId;
use domain::roles::Role;
use domain::workspaces::is_reserved;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn find(root: &Node, known: &KnownPeople, findings: &mut Findings) {
    let people = People::of(root, known, findings);
    roles(root, findings);
    accounts(root, findings);
    for workspace in section(root, "workspaces") {
        if is_reserved(&workspace.key) {
            let message = format!("the name {} is kept for people's own workspaces", quoted(&workspace.key));
            let expected = "a name that does not begin with `personal`; their template is the section `personal`";
            findings.problems.push(Problem::new(workspace.key_spot, message).expected(expected));
        }
        members(workspace, &people, findings);
    }
}

struct People {
    /// None: anybody may be.
    ids: Option<BTreeSet<UserId>>,
    names: Vec<String>,
}

impl People {
    fn of(root: &Node, known: &KnownPeople, findings: &mut Findings) -> Self {
        let mut declared: BTreeMap<UserId, Spot> = BTreeMap::new();
        for entry in section(root, "users") {
            let Ok(id) = UserId::parse(&entry.key) else {
                continue;
            };
            if let Some(first) = declared.get(&id) {
                let message = format!("{} is the same person as in line {}", quoted(&entry.key), first.line);
                findings.problems.push(Problem::new(entry.key_spot, message).expected("each person once"));
            } else {
                declared.insert(id, entry.key_spot);
            }
        }
        let mut ids: BTreeSet<UserId> = declared.into_keys().collect();
        let anybody = matches!(known, KnownPeople::Anybody);
        if let KnownPeople::These(known) = known {
            ids.extend(known.iter().cloned());
        }
        let names = ids.iter().map(|id| id.name().to_owned()).collect();
        Self { ids: (!anybody).then_some(ids), names }
    }

    /// The person of that name, who exists or may exist; a name that cannot be one is told of elsewhere.
    fn find(&self, name: &str, spot: Spot, findings: &mut Findings) -> Option<UserId> {
        let id = UserId::parse(name).ok()?;
        if self.ids.as_ref().is_none_or(|ids| ids.contains(&id)) {
            return Some(id);
        }
        let problem = Problem::new(spot, format!("there is no user {}", quoted(name)));
        let problem = problem.expected("a name under `users`, or somebody who is in the house already");
        findings.unknown(problem, id.name(), self.names.iter().map(String::as_str));
        None
    }
}

fn roles(root: &Node, findings: &mut Findings) {
    let defined: Vec<&str> = section(root, "roles").iter().map(|entry| entry.key.as_str()).collect();
    for user in section(root, "users") {
        let Some(role) = user.value.get("role") else { continue };
        let Some(name) = role.text().filter(|name| Role::parse(name).is_ok()) else { continue };
        if !Role::from(name.to_owned()).is_built_in() && !defined.contains(&name) {
            let built_in = ["admin", "member", "guest"];
            let problem = Problem::new(role.spot, format!("there is no role {}", quoted(name)))
                .expected("`admin`, `member`, `guest` or a role under `roles`");
            findings.unknown(problem, name, built_in.into_iter().chain(defined.iter().copied()));
        }
    }
}

/// An account belongs to one person.
fn accounts(root: &Node, findings: &mut Findings) {
    let mut owners: BTreeMap<(&str, &str), (&str, Spot)> = BTreeMap::new();
    for user in section(root, "users") {
        for account in user.value.get("identities").map(Node::entries).unwrap_or_default() {
            let Some(id) = account.value.text() else { continue };
            match owners.get(&(account.key.as_str(), id)) {
                None => {
                    owners.insert((&account.key, id), (&user.key, account.value.spot));
                }
                Some((owner, first)) => {
                    let message =
                        format!("this {} identity was given to {} in line {}", account.key, quoted(owner), first.line);
                    findings.problems.push(Problem::new(account.value.spot, message).expected("each identity once"));
                }
            }
        }
    }
}

fn members(workspace: &Entry, people: &People, findings: &mut Findings) {
    let mut members = BTreeSet::new();
    for member in workspace.value.get("members").map(Node::list).unwrap_or_default() {
        let Some(name) = member.text() else { continue };
        if let Some(id) = people.find(name, member.spot, findings)
            && !members.insert(id)
        {
            let message = format!("the member {} is named for the second time", quoted(name));
            findings.problems.push(Problem::new(member.spot, message).expected("each member once"));
        }
    }
    let limits = workspace.value.at(&["budget", "members"]).map(Node::entries).unwrap_or_default();
    for limit in limits {
        if UserId::parse(&limit.key).is_ok_and(|id| !members.contains(&id)) {
            let message = format!("{} is not a member of {}", quoted(&limit.key), quoted(&workspace.key));
            let problem = Problem::new(limit.key_spot, message).expected("a name under `members`");
            findings.unknown(problem, &limit.key, members.iter().map(UserId::name));
        }
    }
}
