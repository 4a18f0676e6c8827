//! Where the file says what the house may refuse: kept after the tree is gone, so that such a refusal has a place too.

use super::Loaded;
use super::declarations::section;
use super::nodes::Node;
use super::problems::{Problem, Spot, in_order};
use domain::Refusal;
use domain::ids::UserId;
use serde_json::Value;
use std::collections::BTreeMap;

/// Positions by dotted path: each section, each user, each account, each workspace and its parts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spots(BTreeMap<String, Spot>);

impl Spots {
    pub(crate) fn of(root: &Node) -> Self {
        let mut spots = Self::default();
        spots.add("", root);
        for entry in section(root, "users") {
            // `sean` and `usr_sean` are one person.
            let id = UserId::parse(&entry.key);
            let path = format!("users.{}", id.as_ref().map_or(entry.key.as_str(), UserId::name));
            spots.add(&format!("{path}."), &entry.value);
            if let Some(accounts) = entry.value.get("identities") {
                spots.add(&format!("{path}.identities."), accounts);
            }
            spots.0.insert(path, entry.key_spot);
        }
        for entry in section(root, "workspaces") {
            spots.add(&format!("workspaces.{}.", entry.key), &entry.value);
            spots.0.insert(format!("workspaces.{}", entry.key), entry.key_spot);
        }
        spots
    }

    fn add(&mut self, above: &str, map: &Node) {
        self.0.extend(map.entries().iter().map(|entry| (format!("{above}{}", entry.key), entry.key_spot)));
    }

    /// The nearest place that the file has for a path: it may say nothing of what is missing.
    fn find(&self, path: &str) -> Spot {
        let mut path = path;
        loop {
            match (self.0.get(path), path.rsplit_once('.')) {
                (Some(spot), _) => return *spot,
                (None, Some((above, _))) => path = above,
                (None, None) => return Spot::START,
            }
        }
    }
}

impl Loaded {
    /// What the house refuses of this file, each with its place.
    pub(crate) fn problems_of(&self, refusal: &Refusal) -> Vec<Problem> {
        let told = refusal.details.get("problems").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut problems: Vec<Problem> = told.iter().filter_map(|problem| self.problem_of(problem)).collect();
        if problems.is_empty() {
            problems.push(Problem::new(Spot::START, &refusal.message));
        }
        in_order(problems, &self.path.display().to_string())
    }

    fn problem_of(&self, told: &Value) -> Option<Problem> {
        let (text, about) = (told["text"].as_str()?, told["about"].as_str()?);
        Some(Problem::new(self.spots.find(about), text))
    }
}

#[cfg(test)]
mod tests {
    use crate::config::tests::Scene;
    use domain::{Code, Refusal};
    use serde_json::json;

    #[test]
    fn what_the_house_refuses_is_told_where_the_file_says_it() {
        let scene =
            Scene::new("users:\n  usr_wife: { identities: { http: w } }\nworkspaces:\n  lab: { members: [] }\n");
        let said = |problems: serde_json::Value| {
            let refusal = Refusal::new(Code::RulesConflict, "all of it").with("problems", problems);
            let folder = format!("{}/", scene.file().parent().unwrap().display());
            let problems = scene.accepted().problems_of(&refusal);
            problems.iter().map(|problem| problem.to_string().replace(&folder, "")).collect::<Vec<_>>()
        };
        let problems = json!([
            {"text": "taken", "about": "workspaces.lab"},
            {"text": "removed", "about": "users.wife"},
            {"text": "given", "about": "users.wife.identities.http"},
            {"text": "not there", "about": "workspaces.lab.members"},
            {"text": "bound", "about": "workspaces.lab.bindings"},
            {"text": "nobody is admin", "about": "users"},
            {"text": "elsewhere", "about": "roles.cook"},
        ]);
        let expected = [
            "1:1: elsewhere",
            "1:1: nobody is admin",
            "2:3: removed",
            "2:29: given",
            "4:3: bound",
            "4:3: taken",
            "4:10: not there",
        ];
        assert_eq!(said(problems), expected.map(|line| format!("longhouse.yaml:{line}")));
        assert_eq!(said(json!(null)), ["longhouse.yaml:1:1: all of it"]);
    }
}
