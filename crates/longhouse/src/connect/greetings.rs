//! What a node says of itself at its start: for whom it works, and what may happen here.

use super::identities::Identity;
use crate::cli::Connect;
use node::Hands;
use node::commands::Confinement;
use node::confinement::Limits;

pub(super) fn greeting(identity: &Identity, hands: &Hands, options: &Connect) -> Vec<String> {
    let mut lines = vec![format!("{} works for {}", identity.name, identity.works_for())];
    match hands.commands() {
        _ if options.read_only => lines.push("read only: nothing is changed or run here, whoever agrees".to_owned()),
        _ if options.no_exec => lines.push("no commands: none is run here, whoever agrees".to_owned()),
        Ok((confinement, limits)) => lines.extend(confined(confinement, limits, options.allow_network)),
        Err(why) => lines.push(format!("commands are off: {why}")),
    }
    if options.ask_locally {
        lines.push("you are asked here, too, before anything is changed or run".to_owned());
    }
    lines
}

/// What commands may do and use, and what this kernel leaves to others.
fn confined(confinement: Confinement, limits: Limits, allow_network: bool) -> [String; 2] {
    let Confinement { landlock, tcp_rules, scopes, counts_processes } = confinement;
    let network = match (allow_network, tcp_rules) {
        (true, _) => "the network where the workspace grants it",
        (false, true) => "no network",
        (false, false) => "no network (by the filter alone: this kernel has no rules for TCP)",
    };
    let signals = if scopes { "" } else { ", no signals (this kernel cannot keep them inside)" };
    let processes = if counts_processes { "" } else { " (counted by the node: the kernel does not count root's)" };
    let gib = |bytes: u64| bytes >> 30;
    [
        format!(
            "commands: each needs a yes; they write in the folder only, {network}{signals} (Landlock {landlock}, seccomp); modes \
             and times of your other files are not kept from them"
        ),
        format!(
            "limits of a command: {} s of processor and {} GiB of memory for each of its processes, not for all of them \
             together; {} GiB in a file; {} processes{processes}",
            limits.processor_s,
            gib(limits.memory_bytes),
            gib(limits.file_bytes),
            limits.processes
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_cannot_enforce_is_said_and_nothing_else() {
        let said = |tcp_rules, scopes, counts_processes| {
            let confinement = Confinement { landlock: 5, tcp_rules, scopes, counts_processes };
            confined(confinement, Limits::default(), false).join("\n")
        };
        let whole = said(true, true, true);
        assert!(whole.contains("Landlock 5") && whole.contains("no network (Landlock 5"), "{whole}");
        let limits = "300 s of processor and 2 GiB of memory for each of its processes, not for all of them together; 1 GiB \
                      in a file; 256 processes";
        assert!(whole.contains(limits), "{whole}");
        for (told, missing) in [
            (said(false, true, true), "no rules for TCP"),
            (said(true, false, true), "cannot keep them inside"),
            (said(true, true, false), "does not count root's"),
        ] {
            assert!(told.contains(missing) && !whole.contains(missing), "{told}");
        }
    }
}
