//! Who a text is for: the bot's name in it, and commands. Only text, no identities.

/// What a person asks of the house and not of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChatCommand {
    /// A fresh session.
    New,
    /// Cancels what runs.
    Stop,
    /// Explains.
    Help,
}

/// The command that a text begins with, and the rest. With the name of a bot (`/new@some_bot`) it is a command of that bot
/// alone; `bot` is ours.
pub fn command_of<'t>(text: &'t str, bot: &str) -> Option<(ChatCommand, &'t str)> {
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let (name, of) = word.strip_prefix('/')?.split_once('@').map_or((&word[1..], None), |(name, of)| (name, Some(of)));
    if of.is_some_and(|of| bot.is_empty() || !of.eq_ignore_ascii_case(bot)) {
        return None;
    }
    let command = match name.to_ascii_lowercase().as_str() {
        "new" => ChatCommand::New,
        "stop" => ChatCommand::Stop,
        // What Telegram sends for a person who opens the chat for the first time.
        "help" | "start" => ChatCommand::Help,
        _ => return None,
    };
    Some((command, rest.trim()))
}

/// The text without the mentions of the bot, and whether there were any. `mentions` are the ways to write one, `@some_bot`
/// or `<@42>`; a longer name that begins like it (`@some_bot2`) is somebody else's.
pub fn without_mention(text: &str, mentions: &[&str]) -> (String, bool) {
    let mut rest = text.to_owned();
    let mut is_mentioned = false;
    for mention in mentions.iter().filter(|mention| !mention.is_empty()) {
        let mut from = 0;
        while let Some(at) = find(&rest, mention, from) {
            let after = at + mention.len();
            if is_whole(&rest, at, after) {
                is_mentioned = true;
                rest.replace_range(at..after, "");
                from = at;
            } else {
                from = after;
            }
        }
    }
    if is_mentioned { (rest.trim().to_owned(), true) } else { (rest, false) }
}

/// Names of bots are plain ASCII, in any case.
fn find(text: &str, mention: &str, from: usize) -> Option<usize> {
    let windows = text.as_bytes().get(from..)?.windows(mention.len());
    windows.into_iter().position(|window| window.eq_ignore_ascii_case(mention.as_bytes())).map(|at| from + at)
}

fn is_whole(text: &str, at: usize, after: usize) -> bool {
    if text.as_bytes()[after - 1] == b'>' {
        return true;
    }
    let is_of_a_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let goes_on = text[after..].chars().next().is_some_and(is_of_a_word);
    let is_within = text[..at].chars().next_back().is_some_and(is_of_a_word);
    !goes_on && !is_within
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_known_by_their_first_word_and_by_whose_they_are() {
        use ChatCommand::{Help, New, Stop};
        let cases = [
            ("/new", Some((New, ""))),
            ("  /NEW \n", Some((New, ""))),
            ("/new a house", Some((New, "a house"))),
            ("/stop@long_bot", Some((Stop, ""))),
            ("/stop@Long_Bot now", Some((Stop, "now"))),
            ("/stop@other_bot", None),
            ("/stop@", None),
            ("/stop@long_bot2", None),
            ("/help", Some((Help, ""))),
            ("/start", Some((Help, ""))),
            ("/newspaper", None),
            ("please /new", None),
            ("/", None),
            ("", None),
            ("//new", None),
            ("new", None),
            ("/né", None),
        ];
        for (text, expected) in cases {
            assert_eq!(command_of(text, "long_bot"), expected, "{text:?}");
        }
        assert_eq!(command_of("/new@", ""), None, "a bot without a name has no command of its own");
    }

    #[test]
    fn the_bots_own_name_is_taken_out_and_nobody_elses() {
        let cases = [
            ("@long_bot hello", ("hello", true)),
            ("hello @LONG_BOT", ("hello", true)),
            ("hello, @long_bot, are you there?", ("hello, , are you there?", true)),
            ("@long_bot @long_bot", ("", true)),
            ("<@42> hello", ("hello", true)),
            ("<@42>hello", ("hello", true)),
            ("@long_bot2 hello", ("@long_bot2 hello", false)),
            ("me@long_bot", ("me@long_bot", false)),
            ("@long_botä", ("@long_botä", false)),
            ("<@421> hello", ("<@421> hello", false)),
            (" hello ", (" hello ", false)),
            ("ä@long_bot", ("ä@long_bot", false)),
        ];
        for (text, (expected, is_mentioned)) in cases {
            assert_eq!(without_mention(text, &["@long_bot", "<@42>"]), (expected.to_owned(), is_mentioned), "{text:?}");
        }
        assert_eq!(without_mention("hello", &[""]), ("hello".to_owned(), false));
    }
}
