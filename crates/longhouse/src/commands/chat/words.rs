//! What a typed line means. A message may begin with `/` too, as paths do: only a single word after it is a command.

pub(super) const HELP: &str = "\
/agent NAME  let another agent answer; /agent alone lists them
/stop        end the answer that is being written (so does Ctrl-C)
/new         begin a new session
/quit        end (so does Ctrl-D)
A line that begins with a space is always a message.";

#[derive(Debug, PartialEq)]
pub(super) enum Said {
    Nothing,
    Message(String),
    Agents,
    Agent(String),
    Stop,
    New,
    Help,
    Quit,
    /// Looks like a command and is none.
    Unknown(String),
}

pub(super) fn parse(line: &str) -> Said {
    let text = line.trim();
    if text.is_empty() {
        return Said::Nothing;
    }
    let is_command = |word: &str| {
        word.strip_prefix('/').is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic()))
    };
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    if line.starts_with(char::is_whitespace) || !is_command(word) {
        return Said::Message(text.to_owned());
    }
    match (word, rest.trim()) {
        ("/agent" | "/agents", "") => Said::Agents,
        ("/agent", name) => Said::Agent(name.to_owned()),
        ("/stop", "") => Said::Stop,
        ("/new", "") => Said::New,
        ("/help", "") => Said::Help,
        ("/quit" | "/exit", "") => Said::Quit,
        _ => Said::Unknown(word.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_message_unless_it_is_a_command() {
        let message = |text: &str| Said::Message(text.to_owned());
        let cases = [
            ("  \r\n", Said::Nothing),
            ("hello there\n", message("hello there")),
            ("/agent\n", Said::Agents),
            ("/agent  agent_writer \n", Said::Agent("agent_writer".to_owned())),
            ("/stop", Said::Stop),
            ("/new\n", Said::New),
            ("/help\n", Said::Help),
            ("/quit\n", Said::Quit),
            ("/exit\n", Said::Quit),
            ("/quitt\n", Said::Unknown("/quitt".to_owned())),
            ("/stop it\n", Said::Unknown("/stop".to_owned())),
            (" /stop\n", message("/stop")),
            ("/usr/bin is what?\n", message("/usr/bin is what?")),
            ("/ \n", message("/")),
            ("//\n", message("//")),
        ];
        for (line, meant) in cases {
            assert_eq!(parse(line), meant, "{line:?}");
        }
    }
}
