//! The bots of the house with providers, as the file has them. What is secret about them is in the environment.

use super::nodes::Node;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Accounts {
    pub(crate) telegram: Option<TelegramAccount>,
    pub(crate) discord: Option<DiscordAccount>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TelegramAccount {
    pub(crate) token_env: String,
    pub(crate) api_base: Option<String>,
    /// If updates are posted to us, and not asked for.
    pub(crate) webhook: Option<Webhook>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Webhook {
    pub(crate) secret_env: String,
    /// Where we are reached, if the file says so: then Telegram is told.
    pub(crate) public_url: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DiscordAccount {
    pub(crate) token_env: String,
    pub(crate) api_base: Option<String>,
    pub(crate) gateway_url: Option<String>,
}

pub(crate) fn accounts(root: &Node) -> Accounts {
    let channel = |name: &str| root.at(&["channels", name]);
    let text = |node: &Node, key: &str| node.get(key).and_then(Node::text).map(str::to_owned);
    let telegram = channel("telegram").and_then(|node| {
        let public_url = root.at(&["server", "public_url"]).and_then(Node::text).map(str::to_owned);
        let is_webhook = node.get("mode").and_then(Node::text) == Some("webhook");
        let secret_env = text(node, "webhook_secret_env").filter(|_| is_webhook);
        let webhook = secret_env.map(|secret_env| Webhook { secret_env, public_url });
        Some(TelegramAccount { token_env: text(node, "token_env")?, api_base: text(node, "api_base"), webhook })
    });
    let discord = channel("discord").and_then(|node| {
        let (api_base, gateway_url) = (text(node, "api_base"), text(node, "gateway_url"));
        Some(DiscordAccount { token_env: text(node, "token_env")?, api_base, gateway_url })
    });
    Accounts { telegram, discord }
}
