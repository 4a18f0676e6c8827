//! Names that are not ordinary files: what runs by itself later, what says how this house works, and what must stay secret.
//!
//! Compared part by part and without regard to case, wherever in a path they stand: what lies below one is protected too.

use crate::participants::glob;
use crate::paths::folded;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// Holds secrets: reading it counts as much as changing it.
    Secret,
    /// A repository's own records and settings.
    Repository,
    /// Read by a shell or a desktop whenever somebody starts one.
    StartsWithShell,
    /// Run by a build server or by a hook.
    RunsByItself,
    /// Read by agents and editors as instructions, or as what to start.
    SteersAgents,
    /// What this house is configured by and what it keeps.
    OurOwn,
}

impl Guard {
    pub fn as_sentence(self) -> &'static str {
        match self {
            Self::Secret => "it may hold secrets",
            Self::Repository => "it decides what a repository holds and runs",
            Self::StartsWithShell => "it is run whenever somebody opens a shell or a session",
            Self::RunsByItself => "it is run by a build server, an editor or a hook",
            Self::SteersAgents => "it tells agents or editors what to do and what to run",
            Self::OurOwn => "it is Longhouse's own configuration or data",
        }
    }
}

const SECRET: &[&str] = &[
    ".env*",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.ppk",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.p8",
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".config/gcloud",
    ".docker/config.json",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".config/git/credentials",
    ".cargo/credentials*",
    ".gem/credentials",
    ".config/gh",
    ".vault-token",
    ".htpasswd",
    ".password-store",
    ".terraform.d/credentials*",
    ".s3cfg",
    ".boto",
    "secrets.y*ml",
    "secrets.json",
    "credentials.json",
];
const REPOSITORY: &[&str] =
    &[".git", "*.git", "git~1", ".gitmodules", ".gitattributes", ".gitconfig", ".config/git", ".hg", ".svn", ".jj"];
const STARTS_WITH_SHELL: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".mkshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".logout",
    ".inputrc",
    ".config/fish",
    "config.fish",
    ".config/nushell",
    ".oh-my-zsh",
    ".xinitrc",
    ".xsession",
    ".xsessionrc",
    ".xprofile",
    ".pam_environment",
    ".config/autostart",
    ".config/systemd",
    ".config/environment.d",
    ".vimrc",
    ".exrc",
    ".nvimrc",
    ".config/nvim",
    ".emacs",
    ".emacs.d",
    ".tmux.conf",
    ".local/bin",
    ".direnvrc",
];
const RUNS_BY_ITSELF: &[&str] = &[
    ".github/workflows",
    ".github/actions",
    ".gitea/workflows",
    ".forgejo/workflows",
    ".gitlab-ci.y*ml",
    ".gitlab/ci",
    ".circleci",
    ".travis.y*ml",
    "jenkinsfile*",
    "azure-pipelines*.y*ml",
    ".azure-pipelines",
    "bitbucket-pipelines.y*ml",
    ".drone.y*ml",
    ".woodpecker*",
    "appveyor.y*ml",
    ".appveyor.y*ml",
    ".buildkite",
    ".teamcity",
    "cloudbuild.y*ml",
    "buildspec.y*ml",
    ".cirrus.y*ml",
    ".ci",
    ".husky",
    ".githooks",
    "hooks/pre-commit",
    "hooks/pre-push",
    "hooks/pre-receive",
    "hooks/pre-rebase",
    "hooks/post-commit",
    "hooks/post-checkout",
    "hooks/post-merge",
    "hooks/post-receive",
    "hooks/commit-msg",
    "hooks/prepare-commit-msg",
    "hooks/update",
    ".pre-commit-config.y*ml",
    "lefthook*.y*ml",
    ".lefthook*",
    ".overcommit.y*ml",
    ".lintstagedrc*",
    ".vscode",
    ".devcontainer",
    ".idea",
    ".cargo/config*",
];
const STEERS_AGENTS: &[&str] = &[
    ".mcp.json",
    "mcp.json",
    "mcp_config.json",
    "claude_desktop_config.json",
    ".claude",
    ".claude.json",
    "claude.md",
    "claude.local.md",
    ".codex",
    "agents.md",
    "agents.override.md",
    "agent.md",
    ".agents",
    ".cursor",
    ".cursorrules",
    ".cursorignore",
    ".windsurf",
    ".windsurfrules",
    ".codeium",
    ".gemini",
    "gemini.md",
    ".github/copilot-instructions.md",
    ".github/instructions",
    ".github/prompts",
    ".github/chatmodes",
    ".github/agents",
    ".clinerules",
    ".cline",
    ".roo",
    ".roorules*",
    ".roomodes",
    ".kilocode",
    ".kiro",
    ".amazonq",
    ".junie",
    ".continue",
    ".continuerules",
    ".aider*",
    ".goosehints",
    ".goose",
    ".opencode",
    "opencode.json*",
    ".zed",
    ".openhands",
    ".augment",
    ".augment-guidelines",
    ".rules",
    "skill.md",
];
const OUR_OWN: &[&str] =
    &["longhouse.y*ml", "longhouse-data", ".longhouse", ".config/longhouse", ".local/state/longhouse"];

/// Secrets first: they weigh more when a name is in two lists.
const LISTS: &[(&[&str], Guard)] = &[
    (SECRET, Guard::Secret),
    (REPOSITORY, Guard::Repository),
    (STARTS_WITH_SHELL, Guard::StartsWithShell),
    (RUNS_BY_ITSELF, Guard::RunsByItself),
    (STEERS_AGENTS, Guard::SteersAgents),
    (OUR_OWN, Guard::OurOwn),
];

/// The pattern that protects a path, and how. A node asks with the path that it found behind links.
pub fn guard_of(path: &str) -> Option<(&'static str, Guard)> {
    let parts: Vec<String> = path.split('/').map(folded).collect();
    let protects = |pattern: &str| {
        let wanted: Vec<&str> = pattern.split('/').collect();
        parts
            .windows(wanted.len())
            .any(|found| found.iter().zip(&wanted).all(|(part, pattern)| glob(pattern.as_bytes(), part.as_bytes())))
    };
    LISTS.iter().find_map(|(patterns, guard)| Some((*patterns.iter().find(|pattern| protects(pattern))?, *guard)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_protected_wherever_they_stand_and_however_they_are_written() {
        let cases = [
            (".git/config", Guard::Repository),
            ("sub/.git/hooks/pre-commit", Guard::Repository),
            (".GIT/config", Guard::Repository),
            (".Git", Guard::Repository),
            (".git./config", Guard::Repository),
            ("/home/ada/work/.git", Guard::Repository),
            ("git~1/config", Guard::Repository),
            (".gitmodules", Guard::Repository),
            ("mirror.git/config", Guard::Repository),
            (".env", Guard::Secret),
            (".ENV.local", Guard::Secret),
            ("a/.envrc", Guard::Secret),
            (".ssh/config", Guard::Secret),
            (".ſsh/config", Guard::Secret),
            ("keys/server.PEM", Guard::Secret),
            ("tls.key", Guard::Secret),
            ("id_ed25519", Guard::Secret),
            ("backup/id_rsa.old", Guard::Secret),
            (".aws/credentials", Guard::Secret),
            (".netrc", Guard::Secret),
            (".npmrc", Guard::Secret),
            (".bashrc", Guard::StartsWithShell),
            ("dotfiles/.ZSHRC", Guard::StartsWithShell),
            (".config/fish/config.fish", Guard::StartsWithShell),
            (".github/workflows/ci.yml", Guard::RunsByItself),
            (".GitHub/Workflows/ci.yml", Guard::RunsByItself),
            (".gitlab-ci.yml", Guard::RunsByItself),
            (".husky/pre-commit", Guard::RunsByItself),
            (".pre-commit-config.yaml", Guard::RunsByItself),
            ("Jenkinsfile", Guard::RunsByItself),
            ("hooks/post-receive", Guard::RunsByItself),
            (".vscode/tasks.json", Guard::RunsByItself),
            (".vscode/mcp.json", Guard::RunsByItself),
            (".mcp.json", Guard::SteersAgents),
            ("packages/app/.MCP.json", Guard::SteersAgents),
            (".claude/settings.local.json", Guard::SteersAgents),
            (".claude/commands/deploy.md", Guard::SteersAgents),
            ("CLAUDE.md", Guard::SteersAgents),
            ("docs/Claude.local.md", Guard::SteersAgents),
            ("AGENTS.md", Guard::SteersAgents),
            ("src/deep/agents.md", Guard::SteersAgents),
            ("AGENTS.override.md", Guard::SteersAgents),
            ("GEMINI.md", Guard::SteersAgents),
            (".gemini/settings.json", Guard::SteersAgents),
            (".codex/config.toml", Guard::SteersAgents),
            (".cursor/mcp.json", Guard::SteersAgents),
            (".cursor/rules/style.mdc", Guard::SteersAgents),
            (".cursorrules", Guard::SteersAgents),
            (".windsurfrules", Guard::SteersAgents),
            (".github/copilot-instructions.md", Guard::SteersAgents),
            (".github/instructions/rust.instructions.md", Guard::SteersAgents),
            (".clinerules/a.md", Guard::SteersAgents),
            (".roo/mcp.json", Guard::SteersAgents),
            (".aider.conf.yml", Guard::SteersAgents),
            (".zed/tasks.json", Guard::SteersAgents),
            ("opencode.jsonc", Guard::SteersAgents),
            ("skills/review/SKILL.md", Guard::SteersAgents),
            ("longhouse.yaml", Guard::OurOwn),
            ("longhouse-data/longhouse.db", Guard::OurOwn),
        ];
        for (path, expected) in cases {
            assert_eq!(guard_of(path).map(|(_, guard)| guard), Some(expected), "{path}");
        }
    }

    #[test]
    fn ordinary_files_are_ordinary() {
        for path in [
            "src/main.rs",
            ".",
            "/",
            "README.md",
            "git/config",
            "environment.rs",
            "env",
            ".github/ISSUE_TEMPLATE.md",
            "workflows/ci.yml",
            "key.rs",
            "pem",
            "keys/README",
            ".gitignore",
            "longhouse/src/lib.rs",
            "ssh/config",
            ".cargo/registry",
            "src/hooks/use_list.ts",
            "webhooks/update.rs",
            "src/agents.rs",
            "docs/agents/list.md",
            "claude/notes.md",
            "cursor.rs",
            "codex.md",
            ".github/CODEOWNERS",
            "mcp/server.rs",
            "skills/review/notes.md",
        ] {
            assert_eq!(guard_of(path), None, "{path}");
        }
    }
}
