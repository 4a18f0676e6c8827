//! The envelope of `skill_read` and what it answers: the same JSON over HTTP, MCP and in the agent loop.

use crate::fields::Fields;
use crate::skills::Skill;
use crate::{Code, Refusal, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq)]
pub struct SkillRequest {
    pub skill: String,
    /// One of the skill's other files, instead of its body.
    pub file: Option<String>,
}

impl SkillRequest {
    pub fn parse(tool: &str, envelope: Map<String, Value>) -> Result<Self> {
        let mut fields = Fields::of(envelope)?;
        let request = Self { skill: fields.text("skill")?, file: fields.optional_text("file")? };
        fields.finish(tool)?;
        Ok(request)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SkillAnswer {
    Body { name: String, description: String, body: String, files: Vec<String> },
    File { name: String, file: String, text: String },
}

impl SkillAnswer {
    /// What of this skill was asked for. Its warnings are for people, and its wishes grant nothing: neither is told here.
    pub fn from(skill: &Skill, file: Option<&str>) -> Result<Self> {
        let name = skill.name.clone();
        let Some(path) = file else {
            let files = skill.files.keys().cloned().collect();
            return Ok(Self::Body { name, description: skill.description.clone(), body: skill.body.clone(), files });
        };
        match skill.files.get_key_value(path) {
            Some((file, text)) => Ok(Self::File { name, file: file.clone(), text: text.clone() }),
            None => {
                let message =
                    "this skill has no file of that path: without `file` you get its body and a list of its files";
                Err(Refusal::new(Code::SkillNotFound, message).with("field", "file"))
            }
        }
    }
}

pub fn not_found() -> Refusal {
    Refusal::new(Code::SkillNotFound, "this workspace has no skill of that name").with("field", "skill")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_wrong_is_named_and_nothing_sent_is_repeated() {
        let cases = [
            (json!({}), "skill"),
            (json!({"skill": 1}), "skill"),
            (json!({"skill": "a", "file": ["SECRET"]}), "file"),
            (json!({"skill": "a", "workspace": "SECRET"}), "workspace"),
            (json!({"skill": "a", "participant": "SECRET"}), "participant"),
        ];
        for (envelope, field) in cases {
            let Value::Object(map) = envelope.clone() else { panic!("{envelope}") };
            let refusal = SkillRequest::parse("skill_read", map).unwrap_err();
            assert_eq!((refusal.code, &refusal.details["field"]), (Code::InvalidRequest, &json!(field)), "{envelope}");
            assert!(!refusal.message.contains("SECRET"), "{envelope}");
        }
    }

    #[test]
    fn a_file_is_found_by_its_own_path_only() {
        let skill = Skill {
            name: "infra-ops".to_owned(),
            description: "Runs it.".to_owned(),
            body: "Look first.".to_owned(),
            files: [("references/limits.md".to_owned(), "Ten.".to_owned())].into(),
            wished_tools: vec!["exec.host".to_owned()],
            warnings: vec!["odd".to_owned()],
        };
        let body = serde_json::to_value(SkillAnswer::from(&skill, None).unwrap()).unwrap();
        let expected = json!({
            "name": "infra-ops", "description": "Runs it.", "body": "Look first.", "files": ["references/limits.md"]
        });
        assert_eq!(body, expected);
        let file = serde_json::to_value(SkillAnswer::from(&skill, Some("references/limits.md")).unwrap()).unwrap();
        assert_eq!(file, json!({"name": "infra-ops", "file": "references/limits.md", "text": "Ten."}));
        for path in ["", "limits.md", "SKILL.md", "../infra-ops/references/limits.md", "/etc/passwd", "references/"] {
            assert_eq!(SkillAnswer::from(&skill, Some(path)).unwrap_err().code, Code::SkillNotFound, "{path}");
        }
    }
}
