//! Tokens as text: JWTs, one algorithm, every claim required and typed. Whether one still holds is `authority`'s to say.

use crate::Result;
use domain::ids::{AgentId, NodeId, ProjectId, SessionId, TokenId, UserId, WorkspaceId};
use domain::participants::Participant;
use domain::times::Timestamp;
use domain::tokens::{AgentPlace, Token, TokenKind};
use domain::{Code, Refusal};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

const ISSUER: &str = "longhouse";
/// How far in the future a token may claim to have been issued, for clocks that disagree.
const CLOCK_SKEW_S: i64 = 60;
const TOKEN_LONGEST: usize = 4096;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claims {
    iss: String,
    aud: String,
    sub: String,
    exp: i64,
    iat: i64,
    jti: String,
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    workspace: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    participant: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    channel: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node: Option<String>,
}

/// What a well-signed token says.
pub(crate) struct Claimed {
    pub(crate) id: TokenId,
    pub(crate) user: UserId,
    pub(crate) kind: TokenKind,
}

pub(crate) struct Signer {
    encoding: EncodingKey,
    decoding: DecodingKey,
    validation: Validation,
    pairing: [u8; 32],
}

/// A key of its own for each purpose, so that no signature can be used for another.
fn key_for(purpose: &[u8], secret: &[u8; 32]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update(purpose);
    hasher.update(secret);
    hasher.finalize().into()
}

impl Signer {
    pub(crate) fn new(secret: &[u8; 32]) -> Self {
        let key = key_for(b"longhouse token signing v1", secret);
        let mut validation = Validation::new(Algorithm::HS256);
        validation.set_issuer(&[ISSUER]);
        validation.set_audience(&[ISSUER]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        // Judged by the house's own clock below.
        validation.validate_exp = false;
        let pairing = key_for(b"longhouse sender pairing v1", secret);
        Self { encoding: EncodingKey::from_secret(&key), decoding: DecodingKey::from_secret(&key), validation, pairing }
    }

    /// What codes of unknown senders are made with.
    pub(crate) fn pairing_key(&self) -> [u8; 32] {
        self.pairing
    }

    pub(crate) fn sign(&self, token: &Token) -> Result<String> {
        let mut claims = Claims {
            iss: ISSUER.to_owned(),
            aud: ISSUER.to_owned(),
            sub: token.user.as_str().to_owned(),
            exp: token.expires_at.as_ms() / 1000,
            iat: token.created_at.as_ms() / 1000,
            jti: token.id.as_str().to_owned(),
            kind: token.kind.as_str().to_owned(),
            workspace: None,
            project: None,
            agent: None,
            session: None,
            participant: None,
            channel: None,
            node: None,
        };
        match &token.kind {
            TokenKind::User => {}
            TokenKind::Agent { workspace, agent, session, participant } => {
                claims.workspace = Some(workspace.as_str().to_owned());
                claims.project = agent.as_ref().map(|agent| agent.project.as_str().to_owned());
                claims.agent = agent.as_ref().map(|agent| agent.id.as_str().to_owned());
                claims.session = session.as_ref().map(|session| session.as_str().to_owned());
                claims.participant = Some(participant.as_str().to_owned());
            }
            TokenKind::Channel { channel } => claims.channel = Some(channel.clone()),
            TokenKind::Node { workspace, node } => {
                claims.workspace = Some(workspace.as_str().to_owned());
                claims.node = Some(node.as_str().to_owned());
            }
        }
        let signed = jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.encoding);
        signed.map_err(|_| Refusal::new(Code::Internal, "the token could not be signed").into())
    }

    /// Reads a token that this house signed and that has not run out.
    pub(crate) fn read(&self, text: &str, now: Timestamp) -> Result<Claimed> {
        if text.len() > TOKEN_LONGEST {
            return Err(unauthenticated().into());
        }
        let decoded = jsonwebtoken::decode::<Claims>(text, &self.decoding, &self.validation);
        let claims = decoded.map_err(|_| unauthenticated())?.claims;
        let now_s = now.as_ms() / 1000;
        if claims.exp <= now_s {
            return Err(Refusal::new(Code::Unauthenticated, "the token has expired: get a new one").into());
        }
        if claims.iat > now_s + CLOCK_SKEW_S || claims.iat >= claims.exp {
            return Err(unauthenticated().into());
        }
        let kind = claims.token_kind().ok_or_else(unauthenticated)?;
        Ok(Claimed { id: TokenId::from_trusted(claims.jti), user: UserId::from_trusted(claims.sub), kind })
    }
}

impl Claims {
    fn token_kind(&self) -> Option<TokenKind> {
        let agent = match (&self.project, &self.agent) {
            (None, None) => None,
            (Some(project), Some(id)) => Some(AgentPlace {
                project: ProjectId::from_trusted(project.clone()),
                id: AgentId::from_trusted(id.clone()),
            }),
            _ => return None,
        };
        let nothing_more = agent.is_none() && self.session.is_none();
        if let Some(node) = &self.node {
            let alone = nothing_more && self.participant.is_none() && self.channel.is_none() && self.kind == "node";
            let workspace = self.workspace.clone().filter(|_| alone).map(WorkspaceId::from_trusted)?;
            return Some(TokenKind::Node { workspace, node: NodeId::from_trusted(node.clone()) });
        }
        match (self.kind.as_str(), &self.workspace, &self.participant, &self.channel) {
            ("user", None, None, None) if nothing_more => Some(TokenKind::User),
            ("agent", Some(workspace), Some(participant), None) if !nothing_more => Some(TokenKind::Agent {
                workspace: WorkspaceId::from_trusted(workspace.clone()),
                agent,
                session: self.session.clone().map(SessionId::from_trusted),
                participant: Participant::from_trusted(participant.clone()),
            }),
            ("channel", None, None, Some(channel)) if nothing_more => {
                Some(TokenKind::Channel { channel: channel.clone() })
            }
            _ => None,
        }
    }
}

pub(crate) fn unauthenticated() -> Refusal {
    Refusal::new(Code::Unauthenticated, "a valid bearer token is needed: Authorization: Bearer …")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const NOW: i64 = 1_800_000_000;

    fn signer() -> Signer {
        Signer::new(&[7; 32])
    }

    fn claims() -> Value {
        json!({"iss": "longhouse", "aud": "longhouse", "sub": "usr_a", "exp": NOW + 60, "iat": NOW, "jti": "tok_1", "kind": "user"})
    }

    fn forge(claims: &Value, header: &Header, key: &EncodingKey) -> String {
        jsonwebtoken::encode(header, claims, key).unwrap()
    }

    fn read(text: &str) -> Result<Claimed> {
        signer().read(text, Timestamp::from_ms(NOW * 1000))
    }

    #[test]
    fn every_claim_is_required_and_typed() {
        let header = Header::new(Algorithm::HS256);
        let key = signer().encoding;
        assert!(read(&forge(&claims(), &header, &key)).is_ok());
        for name in ["iss", "aud", "sub", "exp", "iat", "jti", "kind"] {
            for wrong in [None, Some(json!({"a": 1})), Some(json!("x")), Some(json!(null)), Some(json!([1]))] {
                let mut forged = claims();
                match wrong.clone() {
                    None => drop(forged.as_object_mut().unwrap().remove(name)),
                    Some(value) => forged[name] = value,
                }
                let accepted = read(&forge(&forged, &header, &key)).is_ok();
                // Any text is a possible `sub` and `jti`: whether they exist is looked up, not guessed.
                let may_be_any_text = matches!(name, "sub" | "jti") && wrong == Some(json!("x"));
                assert_eq!(accepted, may_be_any_text, "{name} {wrong:?}");
            }
        }
    }

    #[test]
    fn forged_expired_and_foreign_tokens_are_refused() {
        let (header, key) = (Header::new(Algorithm::HS256), signer().encoding);
        let with = |name: &str, value: Value| {
            let mut forged = claims();
            forged[name] = value;
            forge(&forged, &header, &key)
        };
        let bad = [
            with("exp", json!(NOW)),
            with("iat", json!(NOW + 61)),
            with("kind", json!("admin")),
            with("kind", json!("agent")),
            with("channel", json!("http")),
            with("node", json!("nod_1")),
            with("kind", json!("node")),
            with("role", json!("admin")),
            forge(&claims(), &header, &EncodingKey::from_secret(&[8; 32])),
            forge(&claims(), &Header::new(Algorithm::HS384), &key),
            String::new(),
            "a.b.c".to_owned(),
            "x".repeat(100_000),
        ];
        for text in bad {
            assert_eq!(read(&text).err().map(|error| error.code()), Some(Code::Unauthenticated));
        }
        let payload = forge(&claims(), &header, &key).split('.').nth(1).unwrap().to_owned();
        let unsigned =
            format!("{}.{payload}.", data_encoding::BASE64URL_NOPAD.encode(br#"{"alg":"none","typ":"JWT"}"#));
        assert!(read(&unsigned).is_err());
    }
}
