//! The rules for single words of the configuration file. Where `domain` has a rule of its own, a test below holds the
//! two together.

use crate::config::shapes::Word;
use domain::workspaces::{DESCRIPTION_LONGEST, NAME_LONGEST, PLACE_LONGEST};

const fn word(pattern: &'static str, longest: usize, expected: &'static str) -> Word {
    Word { pattern, longest, expected }
}

pub(crate) static USER: Word =
    word("^(usr_)?[a-z][a-z0-9_-]*$", 36, "a user's name: a letter, then at most 31 of a-z, 0-9, `_` and `-`");
pub(crate) static ROLE: Word =
    word("^[a-z][a-z0-9_-]*$", 32, "a role: a letter, then at most 31 of a-z, 0-9, `_` and `-`");
pub(crate) static WORKSPACE: Word = word("^[a-z0-9_-]+$", 64, "a workspace's name: 1 to 64 of a-z, 0-9, `_` and `-`");
pub(crate) static NAME: Word =
    word("^[a-z][a-z0-9_-]*$", 64, "a name: a letter, then at most 63 of a-z, 0-9, `_` and `-`");
pub(crate) static NODE: Word =
    word("^[A-Za-z0-9][A-Za-z0-9._-]*$", NAME_LONGEST, "a node's name: letters, digits, `.`, `_`, `-`");
pub(crate) static SKILL: Word =
    word("^[a-z0-9]+(-[a-z0-9]+)*$", 64, "a skill's name: 1 to 64 of a-z and 0-9, with single hyphens between");
pub(crate) static TOOL: Word =
    word("^(\\*|[a-z0-9_]+(\\.[a-z0-9_]+)*(\\.\\*)?)$", 128, domain::capabilities::ToolPattern::EXPECTED);
pub(crate) static MODEL: Word =
    word("^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$", NAME_LONGEST, "the name of a model such as `claude-opus-4-6`");
pub(crate) static MODEL_PATTERN: Word =
    word("^[A-Za-z0-9*][A-Za-z0-9._:/@+*-]*$", NAME_LONGEST, "the name of a model, or a pattern such as `gpt-*`");
pub(crate) static PROGRAM: Word =
    word("^[A-Za-z0-9_][A-Za-z0-9._+-]*$", 255, "the name of a program such as `docker`, without a path");
pub(crate) static DESCRIPTION: Word = word("^[^\\x00-\\x1f\\x7f-\\x9f]*$", DESCRIPTION_LONGEST, "one line of text");
pub(crate) static LINE: Word = word("^[^\\x00-\\x1f\\x7f-\\x9f]*$", 500, "one line of at most 500 characters");
pub(crate) static ARGUMENT: Word = word("^[^\\x00]*$", 4_096, "text of at most 4096 characters");
pub(crate) static KEY: Word =
    word("^[a-z0-9_]+(:[a-z0-9_]+)?$", 64, "a key: 1 to 64 of a-z, 0-9 and `_`, or `namespace:key`");
pub(crate) static TIME_ZONE: Word = word("^[A-Za-z0-9_+/-]+$", 64, "a time zone such as `Europe/Berlin`");
pub(crate) static NUMERIC_ID: Word =
    word("^-?[1-9][0-9]{0,19}$", 21, "the provider's numeric id, a handle will not do");
pub(crate) static SNOWFLAKE: Word =
    word("^[1-9][0-9]{0,19}$", 20, "the provider's numeric id without a sign, a handle will not do");
pub(crate) static FREE_ID: Word =
    word("^[^\\x00-\\x1f\\x7f-\\x9f]+$", PLACE_LONGEST, "an id of at least one character on one line");
pub(crate) static HOST: Word = word("^(\\[[0-9a-fA-F:.]+\\]|[A-Za-z0-9.-]+)$", 253, "a host name without port");
pub(crate) static URL_WORD: Word = word(
    "^https?://(\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?(/[!-\"$->@-~]*)?$",
    2_048,
    "an address beginning with `http://` or `https://`, without user, `?` and `#`",
);
pub(crate) static WEBSOCKET_URL_WORD: Word =
    word("^wss?://[^\\s/?#@]+(/[^\\s#]*)?$", 2_048, "an address beginning with `ws://` or `wss://`");
pub(crate) static PATH_WORD: Word = word("^[^\\x00-\\x1f]+$", 1_024, "a path");
pub(crate) static STORAGE_URL: Word = word(
    "^(sqlite|postgres(ql)?://[^\\s#]+)$",
    2_048,
    "`sqlite`, or an address beginning with `postgres://`, `#` as `%23`",
);
pub(crate) static BUS_URL: Word =
    word("^(memory|nats://\\S+)$", 2_048, "`memory`, or an address beginning with `nats://`");
pub(crate) static VECTORS_URL: Word =
    word("^(embedded|https?://\\S+)$", 2_048, "`embedded`, or an address beginning with `http://`");

#[cfg(test)]
mod tests {
    use super::*;
    use domain::capabilities::ToolPattern;
    use domain::ids::{UserId, WorkspaceId};
    use domain::keys::Key;
    use domain::roles::Role;
    use domain::workspaces::Identity;

    fn is_identity(channel: &str, id: &str) -> bool {
        Identity { channel: channel.to_owned(), id: id.to_owned() }.check().is_ok()
    }

    #[test]
    fn words_and_the_rules_of_the_domain_agree() {
        let samples = [
            "",
            "a",
            "0",
            "-",
            "_",
            "a-b",
            "a_b",
            "A",
            "é",
            "a.b",
            "a..b",
            ".a",
            "a.",
            "*",
            "a.*",
            "a*",
            "*.a",
            "a.*.b",
            "a b",
            "a:b",
            "a:b:c",
            ":a",
            "usr_sean",
            "sean",
            "0day",
            "a\n",
            "k8s.pods.list",
            "007",
            "-0",
            "-5",
            "222",
            "+5",
            "12345678901234567890",
            "123456789012345678901",
            " a",
        ];
        type Rule = fn(&str) -> bool;
        let rules: [(&Word, Rule); 8] = [
            (&USER, |text| UserId::parse(text).is_ok()),
            (&ROLE, |text| Role::parse(text).is_ok()),
            (&WORKSPACE, |text| WorkspaceId::parse(text).is_ok()),
            (&TOOL, |text| ToolPattern::parse(text).is_some()),
            (&KEY, |text| Key::parse(text, true).is_ok()),
            (&NUMERIC_ID, |text| is_identity("telegram", text)),
            (&SNOWFLAKE, |text| is_identity("discord", text)),
            (&FREE_ID, |text| is_identity("http", text)),
        ];
        for (word, rule) in rules {
            let pattern = regex::Regex::new(word.pattern).unwrap();
            for text in samples {
                assert_eq!(pattern.is_match(text), rule(text), "{text:?} as {}", word.expected);
            }
        }
    }
}
