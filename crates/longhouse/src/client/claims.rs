//! What a token says about itself. Nothing is verified here: it only serves to address requests. The server decides.

use data_encoding::BASE64URL_NOPAD;
use serde_json::Value;

/// The agent that a token is for.
#[derive(Debug, PartialEq)]
pub(crate) struct OwnAgent {
    pub(crate) project: String,
    pub(crate) agent: String,
}

/// The person whose token it is.
pub(super) fn user(token: &str) -> Option<String> {
    claims(token)?["sub"].as_str().map(str::to_owned)
}

fn claims(token: &str) -> Option<Value> {
    let payload = BASE64URL_NOPAD.decode(token.split('.').nth(1)?.as_bytes()).ok()?;
    serde_json::from_slice(&payload).ok()
}

pub(super) fn own_agent(token: &str) -> Option<OwnAgent> {
    let claims = claims(token)?;
    let claim = |name: &str| claims[name].as_str().map(str::to_owned);
    Some(OwnAgent { project: claim("project")?, agent: claim("agent")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_token_for_an_agent_names_one() {
        let token = |claims: &str| format!("e30.{}.c2lnbmVk", BASE64URL_NOPAD.encode(claims.as_bytes()));
        let own = own_agent(&token(r#"{"kind": "agent", "project": "prj_1", "agent": "agt_1"}"#));
        assert_eq!(own, Some(OwnAgent { project: "prj_1".into(), agent: "agt_1".into() }));
        let others = [
            token(r#"{"kind": "user"}"#),
            token(r#"{"kind": "agent", "session": "s"}"#),
            token(r#"{"project": 1, "agent": {}}"#),
            token("no JSON"),
            token("[]"),
            "a.b.c".to_owned(),
            "é.é.é".to_owned(),
            String::new(),
        ];
        for text in others {
            assert_eq!(own_agent(&text), None, "{text}");
        }
    }
}
