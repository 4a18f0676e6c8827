//! `skill_read` as a model is told about it.

use super::Tool;
use crate::platform_tools::SKILL_READ;
use serde_json::json;

const READ: &str = "\
Loads one of the skills of your workspace: instructions for a kind of task, kept ready. Load it before you begin a task that \
its description fits. Answers with the text and the paths of further files, which you load one at a time with file. A skill \
gives you no tool that you do not have. Fails with SKILL_NOT_FOUND if the workspace has none of that name, or the skill no \
such file. \
Examples: {\"skill\":\"infra-ops\"}; {\"skill\":\"infra-ops\",\"file\":\"references/limits.md\"}.";

pub fn read() -> Tool {
    let input = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "skill": {"type": "string", "description": "The skill's name."},
            "file": {"type": "string", "description": "The path of one of its files; its main text if left out."}
        },
        "required": ["skill"]
    });
    Tool { name: SKILL_READ, description: READ, input }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skill_requests::SkillRequest;
    use serde_json::Value;

    #[test]
    fn the_examples_in_the_description_are_valid_requests() {
        let mut seen = 0;
        for (at, _) in READ.match_indices('{') {
            let example = serde_json::Deserializer::from_str(&READ[at..]).into_iter::<Value>().next().unwrap().unwrap();
            let Value::Object(map) = example else { panic!("{example}") };
            SkillRequest::parse(SKILL_READ, map).unwrap();
            seen += 1;
        }
        assert_eq!(seen, 2);
    }
}
