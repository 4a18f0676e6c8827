//! Which of the tools that plugins list are offered, under which names, and why the others are not. Told for all plugins at
//! once, because two of them may end with one name, and then neither has it.

use super::names::{Unnameable, tool_name};
use super::showing::{Unshowable, shown_schema};
use super::{DESCRIPTION_LONGEST_CHARACTERS, Fingerprint, shown_text};
use crate::rules::Plugin;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What is shown of a name that is not one.
const OWN_NAME_SHOWN: usize = 64;

/// A tool as its plugin lists it.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed {
    pub name: String,
    pub description: Option<String>,
    pub schema: Map<String, Value>,
}

/// A tool that may be called, as far as its plugin's grants go.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    pub name: String,
    /// What the plugin itself calls it.
    pub own_name: String,
    /// Visible and bounded, as a model may be shown it.
    pub description: String,
    pub schema: Map<String, Value>,
    pub fingerprint: Fingerprint,
    pub waits_for_a_person: bool,
}

/// A tool that is not offered, for the eyes of whoever looks after the house.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub own_name: String,
    pub obstacle: Obstacle,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    Unnameable(Unnameable),
    /// The name that it would have is in none of the plugin's `caps`.
    OutsideCaps(String),
    /// More than one tool would have this name, of these plugins.
    SameName {
        name: String,
        plugins: Vec<String>,
    },
    /// The name begins with that of another plugin.
    OfAnother {
        name: String,
        plugin: String,
    },
    SchemaTooLarge,
    HiddenInSchema,
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unnameable(Unnameable::Letters) => {
                out.write_str("its name cannot be written in dotted words of a-z, 0-9 and `_`, at most 128 long")
            }
            Self::Unnameable(Unnameable::Reserved) => out.write_str("a tool of the house is called so"),
            Self::OutsideCaps(name) => write!(out, "`{name}` is not in the plugin's `caps`"),
            Self::SameName { name, plugins } => {
                write!(out, "more than one tool would be called `{name}` (plugins: {})", plugins.join(", "))
            }
            Self::OfAnother { name, plugin } => write!(out, "`{name}` is a name of the plugin `{plugin}`"),
            Self::SchemaTooLarge => out.write_str("its schema is too large or too deep to be shown"),
            Self::HiddenInSchema => out.write_str("the name of a parameter has characters that nobody sees"),
        }
    }
}

/// What one plugin offers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Offers {
    /// By name.
    pub tools: BTreeMap<String, Offer>,
    pub left_out: Vec<LeftOut>,
}

/// What all plugins offer, by plugin: their grants and what they list, as it is known now.
pub fn offers(plugins: &[(&str, &Plugin, &[Listed])]) -> BTreeMap<String, Offers> {
    let mut found: BTreeMap<String, Offers> = BTreeMap::new();
    let mut wanted: BTreeMap<String, Vec<(&str, Offer)>> = BTreeMap::new();
    let declared: Vec<&str> = plugins.iter().map(|(plugin, ..)| *plugin).collect();
    for (plugin, rules, listed) in plugins {
        let own = found.entry((*plugin).to_owned()).or_default();
        for tool in *listed {
            match offer(plugin, rules, tool).and_then(|offer| not_of_another(plugin, &declared, offer)) {
                Ok(offer) => wanted.entry(offer.name.clone()).or_default().push((plugin, offer)),
                Err(obstacle) => own.left_out.push(left_out(&tool.name, obstacle)),
            }
        }
    }
    for (name, mut claims) in wanted {
        let single = if claims.len() == 1 { claims.pop() } else { None };
        match single {
            Some((plugin, offer)) => {
                found.entry(plugin.to_owned()).or_default().tools.insert(name, offer);
            }
            None => leave_out_all(&mut found, &name, &claims),
        }
    }
    found
}

/// A name that begins with a plugin's own is that plugin's, whatever others were granted, and also before it has said anything:
/// nobody may stand in for one that is still starting.
fn not_of_another(plugin: &str, declared: &[&str], offer: Offer) -> Result<Offer, Obstacle> {
    let begins_with = |name: &str, other: &str| name.strip_prefix(other).is_some_and(|rest| rest.starts_with('.'));
    match declared.iter().find(|other| **other != plugin && begins_with(&offer.name, other)) {
        Some(other) => Err(Obstacle::OfAnother { name: offer.name, plugin: (*other).to_owned() }),
        None => Ok(offer),
    }
}

fn leave_out_all(found: &mut BTreeMap<String, Offers>, name: &str, claims: &[(&str, Offer)]) {
    let mut plugins: Vec<String> = claims.iter().map(|(plugin, _)| (*plugin).to_owned()).collect();
    plugins.dedup();
    for (plugin, offer) in claims {
        let obstacle = Obstacle::SameName { name: name.to_owned(), plugins: plugins.clone() };
        found.entry((*plugin).to_owned()).or_default().left_out.push(left_out(&offer.own_name, obstacle));
    }
}

fn left_out(own_name: &str, obstacle: Obstacle) -> LeftOut {
    LeftOut { own_name: shown_text(own_name, OWN_NAME_SHOWN), obstacle }
}

fn offer(plugin: &str, rules: &Plugin, tool: &Listed) -> Result<Offer, Obstacle> {
    let name = tool_name(plugin, &tool.name, &rules.caps).map_err(Obstacle::Unnameable)?;
    if rules.caps.find(&name).is_none() {
        return Err(Obstacle::OutsideCaps(name));
    }
    let schema = shown_schema(&tool.schema).map_err(|unshowable| match unshowable {
        Unshowable::TooLarge => Obstacle::SchemaTooLarge,
        Unshowable::HiddenName => Obstacle::HiddenInSchema,
    })?;
    Ok(Offer {
        waits_for_a_person: rules.waits_for_a_person(&name),
        own_name: tool.name.clone(),
        description: shown_text(tool.description.as_deref().unwrap_or_default(), DESCRIPTION_LONGEST_CHARACTERS),
        schema,
        fingerprint: Fingerprint::of(&tool.name, tool.description.as_deref(), &tool.schema),
        name,
    })
}

#[cfg(test)]
mod tests;
