//! What a plugin's tool is called in the house: `<plugin>.<tool>`, or its own name where that already begins with something
//! the plugin was granted.

use crate::capabilities::{ToolSet, is_tool_name};
use crate::platform_tools;
use crate::policy::NODE_CAPABILITIES;

/// Why a tool has no name in the house.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unnameable {
    /// Its own name cannot be written in dotted words of a-z, 0-9 and `_`, or is too long.
    Letters,
    /// The house's own tools, or those of nodes, are called so.
    Reserved,
}

/// The name of a plugin's tool. Always dotted, so that no plugin can have a name that stands alone.
pub fn tool_name(plugin: &str, own: &str, caps: &ToolSet) -> Result<String, Unnameable> {
    let (plugin, own) = (written(plugin), written(own));
    let name = if is_granted_prefix(&own, caps) { own } else { format!("{plugin}.{own}") };
    if !is_tool_name(&name) {
        return Err(Unnameable::Letters);
    }
    let is_reserved = NODE_CAPABILITIES.contains(&name.as_str()) || platform_tools::find(&name).is_some();
    if is_reserved { Err(Unnameable::Reserved) } else { Ok(name) }
}

/// The protocol lets names have capitals and hyphens, which many do; other letters have no counterpart here.
fn written(name: &str) -> String {
    name.chars().map(|letter| if letter == '-' { '_' } else { letter.to_ascii_lowercase() }).collect()
}

/// `*` grants everything and names no prefix: a plugin that has it may still not choose any name it likes.
fn is_granted_prefix(name: &str, caps: &ToolSet) -> bool {
    name.contains('.') && caps.find(name).is_some_and(|pattern| pattern != "*")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Case<'a> = (&'a str, &'a str, &'a [&'a str], Result<&'a str, Unnameable>);

    #[test]
    fn tools_are_called_after_their_plugin_unless_they_carry_a_granted_prefix() {
        let cases: [Case<'_>; 21] = [
            ("kubernetes", "get", &["kubernetes.*"], Ok("kubernetes.get")),
            ("kubernetes", "k8s.get", &["k8s.*"], Ok("k8s.get")),
            ("kubernetes", "K8s.Get-Pods", &["k8s.*"], Ok("k8s.get_pods")),
            ("kubernetes", "k8s.get", &["k8s.get"], Ok("k8s.get")),
            ("kubernetes", "k8s.get", &["*"], Ok("kubernetes.k8s.get")),
            ("kubernetes", "k8s.get", &["*", "k8s.*"], Ok("k8s.get")),
            ("kubernetes", "k8s.get", &["helm.*"], Ok("kubernetes.k8s.get")),
            ("kubernetes", "get", &["get"], Ok("kubernetes.get")),
            ("my-plugin", "do-it", &["*"], Ok("my_plugin.do_it")),
            ("p", "listPods", &["*"], Ok("p.listpods")),
            ("p", "", &["*"], Err(Unnameable::Letters)),
            ("p", "a..b", &["*"], Err(Unnameable::Letters)),
            ("p", ".a", &["*"], Err(Unnameable::Letters)),
            ("p", "a b", &["*"], Err(Unnameable::Letters)),
            ("p", "a/b", &["*"], Err(Unnameable::Letters)),
            ("p", "größe", &["*"], Err(Unnameable::Letters)),
            // A Cyrillic letter that looks like ours, and one that only Unicode's rules make small.
            ("p", "g\u{435}t", &["*"], Err(Unnameable::Letters)),
            ("p", "\u{212a}8s", &["*"], Err(Unnameable::Letters)),
            ("p", "get\u{200b}", &["*"], Err(Unnameable::Letters)),
            ("filesystem", "read", &["filesystem.*"], Err(Unnameable::Reserved)),
            ("p", "exec.sandboxed", &["exec.*"], Err(Unnameable::Reserved)),
        ];
        for (plugin, own, caps, expected) in cases {
            let found = tool_name(plugin, own, &ToolSet::of(caps));
            assert_eq!(found.as_deref().map_err(|error| *error), expected, "{plugin} {own:?} {caps:?}");
        }
        assert_eq!(tool_name("p", &"a".repeat(126), &ToolSet::of(&["*"])).map(|name| name.len()), Ok(128));
        assert_eq!(tool_name("p", &"a".repeat(127), &ToolSet::of(&["*"])), Err(Unnameable::Letters));
    }

    proptest! {
        #[test]
        fn whatever_a_tool_calls_itself_its_name_is_dotted_and_starts_as_it_may(own in ".{0,40}", cap in "[a-c]{1,2}") {
            let caps = ToolSet::of(&[&format!("{cap}.*")]);
            if let Ok(name) = tool_name("plug", &own, &caps) {
                prop_assert!(is_tool_name(&name) && name.contains('.'));
                prop_assert!(name.starts_with("plug.") || name.starts_with(&format!("{cap}.")), "{}", name);
                prop_assert!(platform_tools::find(&name).is_none());
            }
        }
    }
}
