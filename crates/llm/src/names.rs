//! Names of tools and ids of calls as providers take them: letters, digits, `_` and `-` only, and not too long.
//!
//! Names are mapped back by a table made for one request, never by replacement, so that `a.b` and `a__b` stay two tools.

use crate::Tool;
use std::collections::BTreeMap;

/// The longest name that both protocols take.
const NAME_MOST: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct WireNames {
    to_wire: BTreeMap<String, String>,
    from_wire: BTreeMap<String, String>,
}

impl WireNames {
    pub(crate) fn new(tools: &[Tool]) -> Self {
        let mut names = Self::default();
        // Names that may be written as they are keep their own; the others find a free one.
        let (plain, dotted): (Vec<_>, Vec<_>) = tools.iter().partition(|tool| as_written(&tool.name) == tool.name);
        for tool in plain.into_iter().chain(dotted) {
            if !names.to_wire.contains_key(&tool.name) {
                let wire = names.free(&as_written(&tool.name));
                names.from_wire.insert(wire.clone(), tool.name.clone());
                names.to_wire.insert(tool.name.clone(), wire);
            }
        }
        names
    }

    fn free(&self, wanted: &str) -> String {
        let numbered = (2_usize..).map(|number| {
            let end = format!("_{number}");
            // Written names are ASCII, so every byte is a place to cut.
            format!("{}{end}", &wanted[..wanted.len().min(NAME_MOST - end.len())])
        });
        let mut candidates = std::iter::once(wanted.to_owned()).chain(numbered);
        candidates.find(|name| !self.from_wire.contains_key(name)).unwrap_or_default()
    }

    /// A name for the provider. History may hold names that nobody offers any longer, or never did.
    pub(crate) fn written(&self, name: &str) -> String {
        self.to_wire.get(name).cloned().unwrap_or_else(|| as_written(name))
    }

    /// The tool that the model means; a name that was not offered is left as it is.
    pub(crate) fn meant<'a>(&'a self, name: &'a str) -> &'a str {
        self.from_wire.get(name).map_or(name, String::as_str)
    }
}

fn as_written(name: &str) -> String {
    let name = name.replace('.', "__");
    let written: String = name.chars().map(|letter| if is_allowed(letter) { letter } else { '_' }).collect();
    match written.len() {
        0 => "_".to_owned(),
        length => written[..length.min(NAME_MOST)].to_owned(),
    }
}

fn is_allowed(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

/// The ids of a conversation's calls, made unique: each step may have its own `call_0`, and providers refuse that.
#[derive(Debug, Default)]
pub(crate) struct CallIds {
    used: BTreeMap<String, usize>,
    latest: BTreeMap<String, String>,
}

impl CallIds {
    pub(crate) fn begin(&mut self, id: &str) -> String {
        let written = as_written(id);
        let mut wire = written.clone();
        while let Some(times) = self.used.get_mut(&wire) {
            *times += 1;
            let end = format!("_{times}");
            wire = format!("{}{end}", &written[..written.len().min(NAME_MOST - end.len())]);
        }
        self.used.insert(wire.clone(), 1);
        self.latest.insert(id.to_owned(), wire.clone());
        wire
    }

    pub(crate) fn of_result(&self, id: &str) -> String {
        self.latest.get(id).cloned().unwrap_or_else(|| as_written(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tools(names: &[&str]) -> Vec<Tool> {
        let tool = |name: &&str| Tool { name: (*name).to_owned(), description: String::new(), parameters: json!({}) };
        names.iter().map(tool).collect()
    }

    #[test]
    fn every_tool_has_a_name_of_its_own_on_the_wire_and_comes_back_from_it() {
        let long = "a".repeat(70);
        let longer = "a".repeat(80);
        let cases: &[(&[&str], &[&str])] = &[
            (&["workspace_write"], &["workspace_write"]),
            (&["k8s.get", "k8s.pods.list"], &["k8s__get", "k8s__pods__list"]),
            (&["a.b", "a__b"], &["a__b_2", "a__b"]),
            (&["a__b", "a.b", "a__b_2"], &["a__b", "a__b_3", "a__b_2"]),
            (&["a.b.c", "a__b.c", "a.b__c"], &["a__b__c", "a__b__c_2", "a__b__c_3"]),
            (&["with space", "ünicode", ""], &["with_space", "_nicode", "_"]),
        ];
        for (names, expected) in cases {
            let table = WireNames::new(&tools(names));
            let wire: Vec<_> = names.iter().map(|name| table.written(name)).collect();
            assert_eq!(&wire, expected);
            let back: Vec<_> = wire.iter().map(|name| table.meant(name)).collect();
            assert_eq!(&back, names);
        }
        let table = WireNames::new(&tools(&[&long, &longer]));
        assert!([&long, &longer].iter().all(|name| table.written(name).len() == NAME_MOST));
        assert_eq!(table.meant(&table.written(&longer)), longer);
    }

    #[test]
    fn a_name_that_nobody_offered_comes_back_as_it_is() {
        let table = WireNames::new(&tools(&["a.b"]));
        for unknown in ["a.b", "x__y", "", "rm -rf"] {
            assert_eq!(table.meant(unknown), unknown);
        }
        assert_eq!(table.written("gone.tool"), "gone__tool");
    }

    #[test]
    fn the_same_id_in_two_steps_is_two_ids_on_the_wire() {
        let mut ids = CallIds::default();
        assert_eq!(ids.begin("call_0"), "call_0");
        assert_eq!(ids.of_result("call_0"), "call_0");
        assert_eq!(ids.begin("call_0"), "call_0_2");
        assert_eq!(ids.of_result("call_0"), "call_0_2");
        assert_eq!(ids.begin("call_0"), "call_0_3");
        assert_eq!(ids.begin("odd:id"), "odd_id");
        assert_eq!(ids.of_result("odd:id"), "odd_id");
        assert_eq!(ids.of_result("never made"), "never_made");
    }
}
