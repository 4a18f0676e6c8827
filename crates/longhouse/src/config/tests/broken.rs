//! Files that are wrong, each with the place and the sentence that a person gets.

use super::Scene;
use std::time::{Duration, Instant};

/// The text, where it is wrong, and a part of what is said.
type Case = (&'static str, (usize, usize), &'static str);

const CASES: &[Case] = &[
    // structure
    ("usrs: {}\n", (1, 1), "unknown key `usrs`; did you mean `users`?"),
    ("banana: 1\n", (1, 1), "unknown key `banana`; expected `users`, `roles`"),
    ("- users\n", (1, 1), "a list; expected a map with `users`"),
    ("just words\n", (1, 1), "text; expected a map with `users`"),
    ("users: [a]\n", (1, 8), "a list; expected a map whose keys are each a user's name"),
    ("users:\n  Sean: {}\n", (2, 3), "`Sean` cannot be a name here; expected a user's name"),
    ("users:\n  sean: { rol: admin }\n", (2, 11), "unknown key `rol`; did you mean `role`?"),
    ("users:\n  sean: { role: 5 }\n", (2, 17), "a whole number instead of text; expected a role"),
    ("users:\n  sean: { role: }\n", (2, 11), "nothing is written here; expected a role"),
    ("workspaces:\n  w:\n    menbers: [a]\n", (3, 5), "unknown key `menbers`; did you mean `members`?"),
    ("workspaces:\n  w: { members: owner }\n", (2, 17), "text; expected a list, each a user's name"),
    ("workspaces:\n  w: { description: true }\n", (2, 21), "a truth value instead of text"),
    ("workspaces:\n  w: { budget: }\n", (2, 8), "nothing is written here; expected a map with `daily_usd`"),
    ("workspaces:\n  w: { budget: { daily_usd: \"50\" } }\n", (2, 29), "text; expected an amount of dollars"),
    ("workspaces:\n  w: { budget: { daily_usd: -1 } }\n", (2, 29), "not an amount of money"),
    ("workspaces:\n  w: { budget: { daily_usd: 0.0000001 } }\n", (2, 29), "at most six digits after the point"),
    ("workspaces:\n  w: { tools: { allow: [k8s*] } }\n", (2, 25), "not well-formed; expected a tool such as `k8s.get`"),
    ("roles: { r: { rights: [aprove] } }\n", (1, 24), "did you mean `approve`?"),
    (
        "workspaces:\n  w: { bindings: [{ chat_id: 1 }] }\n",
        (2, 19),
        "the key `channel` is missing; expected `telegram`",
    ),
    (
        "workspaces:\n  w: { bindings: [{ channel: telegram }] }\n",
        (2, 19),
        "a key is missing; expected `chat_id` or `guild_id` with `channel_id`",
    ),
    (
        "workspaces:\n  w: { bindings: [{ channel: discord, guild_id: 1 }] }\n",
        (2, 19),
        "one of two keys that belong together",
    ),
    (
        "workspaces:\n  w: { bindings: [{ channel: discord, guild_id: 1, channel_id: 2, chat_id: 3 }] }\n",
        (2, 19),
        "exclude each other",
    ),
    (
        "workspaces:\n  w: { bindings: [{ channel: smoke, chat_id: 1 }] }\n",
        (2, 30),
        "expected `telegram`, `discord` or `http`",
    ),
    ("plugins: { p: { caps: [a.*] } }\n", (1, 15), "a key is missing; expected `command` or `url`"),
    ("plugins: { p: { command: [x], url: \"http://a\", caps: [] } }\n", (1, 15), "keys that exclude each other"),
    ("plugins: { p: { command: [], caps: [] } }\n", (1, 26), "an empty list; expected at least 1"),
    ("plugins: { p: { command: [x] } }\n", (1, 15), "the key `caps` is missing"),
    (
        "plugins: { p: { command: [x], caps: [], approval: sometimes } }\n",
        (1, 51),
        "expected `never` or `always`, or a list",
    ),
    ("plugins:\n  p:\n", (2, 3), "the key `caps` is missing"),
    (
        "plugins:\n  p: { command: [x], caps: [], timeouts: { call_s: 0 } }\n",
        (2, 52),
        "out of range; expected a whole number from 1 to 3600",
    ),
    ("plugins:\n  p: { command: [x], caps: [], timeouts: { start_s: 3601 } }\n", (2, 53), "out of range"),
    ("plugins:\n  p: { command: [x], caps: [], timeouts: { start_s: -1 } }\n", (2, 53), "out of range"),
    (
        "plugins:\n  p: { command: [x], caps: [], timeouts: { call_s: 99999999999999999999 } }\n",
        (2, 52),
        "a whole number from 1 to 3600",
    ),
    ("plugins:\n  p: { command: [x], caps: [], timeouts: { call_s: 1.5 } }\n", (2, 52), "a whole number from 1"),
    ("plugins:\n  p: { command: [x], caps: [], timeouts: { call_s: soon } }\n", (2, 52), "a whole number from 1"),
    ("plugins:\n  p: { command: [x], caps: [], timeouts: 5 }\n", (2, 42), "expected a map with `start_s` or `call_s`"),
    ("plugins:\n  p: { command: [x], caps: [], timeouts: { call: 5 } }\n", (2, 44), "`call`"),
    ("approvals: { high_timeout_s: 9 }\n", (1, 30), "out of range; expected a whole number from 10 to 86400"),
    ("approvals: { high_timeout_s: -10 }\n", (1, 30), "out of range"),
    ("approvals: { medium_timeout_s: 86401 }\n", (1, 32), "out of range; expected a whole number from 10 to 86400"),
    ("approvals: { medium_timeout_s: 5m }\n", (1, 32), "expected a whole number"),
    ("approvals: { medium_timeout: 60 }\n", (1, 14), "unknown key `medium_timeout`; did you mean `medium_timeout_s`?"),
    ("approvals: { denied_commands: curl }\n", (1, 31), "expected a list"),
    (
        "approvals: { denied_commands: [ls, /usr/bin/curl] }\n",
        (1, 36),
        "not well-formed; expected the name of a program such as `docker`, without a path",
    ),
    ("approvals: { denied_commands: [\"\"] }\n", (1, 32), "not well-formed"),
    ("approvals: { denied_commands: [\"rm -rf\"] }\n", (1, 32), "not well-formed"),
    ("approvals: { denied_commands: [\"cu*\"] }\n", (1, 32), "not well-formed"),
    ("approvals: { denied_commands: [7z, [curl]] }\n", (1, 36), "expected"),
    ("worker_space: { queue_size: 1.5 }\n", (1, 29), "a number; expected a whole number"),
    ("worker_space: { queue_size: 0 }\n", (1, 29), "out of range; expected a whole number from 1 to 10000"),
    ("worker_space: { queue_size: 10001 }\n", (1, 29), "out of range"),
    ("worker_space: { idle_timeout_s: 9 }\n", (1, 33), "out of range; expected a whole number from 10 to 604800"),
    ("worker_space: { cache_ttl_s: 86401 }\n", (1, 30), "out of range; expected a whole number from 0 to 86400"),
    ("worker_space: { cache_ttl: 5 }\n", (1, 17), "unknown key `cache_ttl`; did you mean `cache_ttl_s`?"),
    ("alerts: { webhok: \"http://a\" }\n", (1, 11), "unknown key `webhok`; did you mean `webhook`?"),
    ("alerts: { webhook: hooks.example }\n", (1, 20), "not well-formed; expected an address beginning with `http://`"),
    ("alerts: { webhook: \"ftp://hooks.example/a\" }\n", (1, 20), "not well-formed"),
    ("alerts: { webhook: \"http://hooks.example:port/a\" }\n", (1, 20), "not well-formed"),
    ("alerts: { webhook: \"http://hooks.example/a b\" }\n", (1, 20), "not well-formed"),
    ("server: { metrics_open: yes }\n", (1, 25), "expected `true` or `false`; did you mean `true`?"),
    ("server: { rate_limit: fast }\n", (1, 23), "expected `off`, or a map with `per_second`"),
    ("server: { rate_limit: { burst: 5 } }\n", (1, 23), "the key `per_second` is missing"),
    ("server: { listen: \"0.0.0.0:80\" }\n", (1, 11), "unknown key `listen`"),
    ("server: { public_url: house.example }\n", (1, 23), "an address beginning with `http://`"),
    ("storage: { url: mysql://x }\n", (1, 17), "`sqlite`, or an address beginning with `postgres://`"),
    ("embeddings: { provider: cloud }\n", (1, 25), "expected `local`, `openai` or `ollama`"),
    (
        "models: { providers: { p: { kind: opnai, base_url: \"http://a\" } } }\n",
        (1, 35),
        "expected `openai` or `anthropic`; did you mean `openai`?",
    ),
    ("models: { providers: { p: { kind: openai } } }\n", (1, 27), "the key `base_url` is missing"),
    ("models: { prices: { m: { input_per_mtok: 1 } } }\n", (1, 24), "the key `output_per_mtok` is missing"),
    ("base: &b { role: guest }\nusers: { a: { <<: *b } }\n", (2, 15), "`<<` merges nothing"),
    // secrets
    ("channels: { telegram: { token_env: \"123456:AAHsecret\" } }\n", (1, 36), "a secret does not belong in this file"),
    (
        "channels: { telegram: { token: \"123456:AAHsecret\" } }\n",
        (1, 25),
        "unknown key `token`; did you mean `token_env`?",
    ),
    (
        "models: { providers: { p: { kind: openai, base_url: \"http://a/v1\", api_key_env: AKIAIOSFODNN7SECRETKEY } } }\n",
        (1, 81),
        "a secret does not belong",
    ),
    (
        "models: { providers: { p: { kind: openai, base_url: \"https://me:secretkey@a/v1\" } } }\n",
        (1, 53),
        "expected an address beginning with `http://` or `https://`, without user",
    ),
    ("alerts: { webhook: \"https://me:secretkey@hooks.example/a\" }\n", (1, 20), "without user, `?` and `#`"),
    ("alerts: { webhook: \"https://hooks.example/a?token=secretkey\" }\n", (1, 20), "without user, `?` and `#`"),
    (
        "plugins: { p: { command: [x], caps: [], env: [\"KEY=secret\"] } }\n",
        (1, 47),
        "the name of an environment variable",
    ),
    // names that nobody has
    ("workspaces:\n  w: { members: [ownr] }\n", (2, 18), "there is no user `ownr`; expected a name under `users`"),
    (
        "workspaces:\n  w: { members: [owner, usr_owner] }\n",
        (2, 25),
        "the member `usr_owner` is named for the second time",
    ),
    (
        "users: { a: { role: admn } }\n",
        (1, 21),
        "there is no role `admn`; expected `admin`, `member`, `guest` or a role under `roles`; did you mean `admin`?",
    ),
    ("users: { sean: {}, usr_sean: {} }\n", (1, 20), "the same person as in line 1"),
    ("workspaces:\n  w: { skills: [monitorin] }\n", (2, 17), "there is no skill `monitorin`; expected a folder"),
    ("workspaces:\n  w: { skills: [Infra] }\n", (2, 17), "not well-formed; expected a skill's name"),
    (
        "models: { routes: { \"gpt-*\": opnai }, providers: { openai: { kind: openai, base_url: \"http://a/v1\" } } }\n",
        (1, 30),
        "there is no provider `opnai`; expected a name under `models.providers`; did you mean `openai`?",
    ),
    ("workspaces:\n  personal-x: {}\n", (2, 3), "the name `personal-x` is kept for people's own workspaces"),
    (
        "workspaces:\n  w: { members: [owner], budget: { members: { gardener: 1 } } }\n",
        (2, 47),
        "`gardener` is not a member of `w`",
    ),
    // places and accounts
    (
        "users:\n  a: { identities: { telegram: 1 } }\n  b: { identities: { telegram: \"1\" } }\n",
        (3, 32),
        "this telegram identity was given to `a` in line 2",
    ),
    (
        "users:\n  a: { identities: { telegram: \"@sean\" } }\n",
        (2, 32),
        "a handle, which its owner can change and another take; expected the provider's numeric id",
    ),
    ("users:\n  a: { identities: { discord: sean#1 } }\n", (2, 31), "the provider's numeric id"),
    ("workspaces:\n  w: { bindings: [{ channel: telegram, chat_id: \"@home\" }] }\n", (2, 49), "a handle"),
    (
        "workspaces:\n  w: { bindings: [{ channel: telegram, chat_id: home }] }\n",
        (2, 49),
        "telegram's numeric id of the chat",
    ),
    (
        "workspaces:\n  w: { bindings: [{ channel: discord, chat_id: 1 }] }\n",
        (2, 19),
        "expected `guild_id` with `channel_id`",
    ),
    (
        "workspaces:\n  v: { bindings: [{ channel: telegram, chat_id: -5 }] }\n  w: { bindings: [{ channel: telegram, chat_id: \"-5\" }] }\n",
        (3, 19),
        "this place is bound to `v` already, in line 2",
    ),
    ("channels: { telegram: { token_env: T, mode: webhook } }\n", (1, 45), "expected `webhook_secret_env` beside it"),
    ("users:\n  a: { identities: { discord: -222 } }\n", (2, 31), "numeric id without a sign"),
    (
        "workspaces:\n  w: { bindings: [{ channel: discord, guild_id: -5, channel_id: 6 }] }\n",
        (2, 49),
        "numeric id without a sign",
    ),
    (
        "workspaces:\n  w: { bindings: [{ channel: discord, guild_id: 5, channel_id: -6 }] }\n",
        (2, 64),
        "numeric id without a sign",
    ),
    (
        "workspaces:\n  w: { bindings: [{ channel: telegram, chat_id: -0 }] }\n",
        (2, 49),
        "telegram's numeric id of the chat",
    ),
    (
        "workspaces:\n  w: { bindings: [{ channel: telegram, chat_id: \"007\" }] }\n",
        (2, 49),
        "telegram's numeric id of the chat",
    ),
    (
        "workspaces:\n  w: { bindings: [{ channel: http, chat_id: \"a\\u200bb\" }] }\n",
        (2, 45),
        "a place of this channel is a `chat_id` and nothing else",
    ),
    ("users:\n  a: { identities: { http: \"a\\u200bb\" } }\n", (2, 28), "an identity is the provider's own"),
    (
        "workspaces:\n  w: { members: [owner], description: \"a\\u200bb\" }\n",
        (2, 39),
        "`description` has characters that nobody sees",
    ),
    ("personal: { budget: { timezone: UTC }, model: mystery-9 }\n", (1, 47), "has no known price"),
    // addresses
    ("plugins: { p: { url: \"http://169.254.169.254/mcp\", caps: [] } }\n", (1, 22), "a cloud's metadata service"),
    ("alerts: { webhook: \"http://2852039166/\" }\n", (1, 20), "a cloud's metadata service"),
    (
        "models: { providers: { p: { kind: openai, base_url: \"http://[fd00:ec2::254]/v1\" } } }\n",
        (1, 53),
        "a cloud's metadata service",
    ),
    (
        "channels: { telegram: { token_env: PATH, api_base: \"http://0.0.0.0:80\" } }\n",
        (1, 52),
        "no address in particular",
    ),
    (
        "channels: { discord: { token_env: PATH, gateway_url: \"ws://[::ffff:169.254.169.254]\" } }\n",
        (1, 54),
        "a cloud's metadata service",
    ),
    // skills
    (
        "skills_dir: ./elsewhere\nworkspaces:\n  w: { skills: [sow] }\n",
        (1, 13),
        "the folder of the skills cannot be read: there is no such folder; expected a folder at ",
    ),
    ("skills_dir: longhouse.yaml\n", (1, 13), "the folder of the skills cannot be read: Not a directory"),
    ("skills_dir: 5\n", (1, 13), "a whole number instead of text"),
    // money and time
    (
        "workspaces:\n  w: { model: mystery-9, budget: { daily_usd: 1 } }\n",
        (2, 15),
        "the model `mystery-9` has no known price",
    ),
    ("personal: { model: mystery-9 }\n", (1, 20), "the model `mystery-9` has no known price"),
    (
        "workspaces:\n  w: { budget: { timezone: Europe/Berlim } }\n",
        (2, 28),
        "there is no time zone `Europe/Berlim`; expected an IANA name such as `Europe/Berlin`; did you mean `Europe/Berlin`?",
    ),
    // engines
    ("bus: { url: \"nats://localhost\" }\n", (1, 13), "an engine that this version does not have; expected `memory`"),
];

#[test]
fn every_kind_of_mistake_is_found_at_its_place_and_told_in_a_sentence() {
    let mut wrong = Vec::new();
    for (text, (line, column), part) in CASES {
        let problems = Scene::new(text).problems();
        let begin = format!("longhouse.yaml:{line}:{column}: ");
        if !problems.iter().any(|problem| problem.starts_with(&begin) && problem.contains(part)) {
            wrong.push(format!("{text:?} should give {begin}…{part}…: {problems:#?}"));
        }
        if problems.iter().any(|problem| problem.to_lowercase().contains("secretkey") || problem.contains("AAH")) {
            wrong.push(format!("{text:?} tells a secret: {problems:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_mistake_is_told_once() {
    // These are two mistakes.
    let twice = ["plugins:\n  p:\n", "base: &b", "channels: { telegram: { token: "];
    for (text, ..) in CASES.iter().filter(|(text, ..)| !twice.iter().any(|known| text.starts_with(known))) {
        let problems = Scene::new(text).problems();
        assert_eq!(problems.len(), 1, "{text:?}: {problems:#?}");
    }
}

#[test]
fn all_mistakes_of_a_file_are_told_in_the_order_of_its_text() {
    let text = "usrs: 1\nworkspaces:\n  w:\n    members: [nobody]\n    tools: { alow: [] }\n    budget: { timezone: Mars }\n  w: {}\napprovals: { high_timeout_s: x }\n";
    let problems = Scene::new(text).problems();
    let places: Vec<_> = problems.iter().map(|problem| problem.split(": ").next().unwrap().to_owned()).collect();
    let expected = ["1:1", "4:15", "5:14", "6:25", "7:3", "8:30"].map(|place| format!("longhouse.yaml:{place}"));
    assert_eq!(places, expected, "{problems:#?}");
}

#[test]
fn what_is_not_a_file_is_refused_at_once() {
    let started = Instant::now();
    let scene = Scene::new("{}");
    let pipe = scene.0.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let missing = scene.0.path().join("missing.yaml");
    let cases = [
        (scene.0.path(), "it is a folder"),
        (pipe.as_path(), "a device or a pipe"),
        (std::path::Path::new("/dev/zero"), "a device or a pipe"),
        (missing.as_path(), "there is no such file"),
    ];
    for (path, part) in cases {
        let rejected = super::load(path, &super::KnownPeople::Anybody).unwrap_err();
        let said = rejected.problems[0].to_string();
        assert!(said.contains("cannot be read") && said.contains(part), "{said}");
    }
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[test]
fn files_without_end_are_refused_soon() {
    let many_users: String = (0..20_000).map(|n| format!("  u{n}: {{}}\n")).collect();
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (vec![b'#'; 2 * 1024 * 1024], "more than 1024 KiB"),
        ((0..=255u8).cycle().take(100_000).collect(), "not UTF-8"),
        ((0..=127u8).cycle().take(100_000).collect(), "control character"),
        (vec![0xff; 1_000], "not UTF-8"),
        ("[".repeat(200_000).into_bytes(), "nested too deeply"),
        (format!("users:\n{many_users}").into_bytes(), "20000 are too many; expected at most 10000"),
        ("- a\n".repeat(200_000).into_bytes(), "stands for too much"),
    ];
    for (text, part) in cases {
        let started = Instant::now();
        let problems = Scene::new(&text).problems();
        assert!(problems[0].contains(part), "{}", problems[0]);
        assert!(started.elapsed() < Duration::from_secs(3), "{part}");
    }
}

#[test]
fn files_of_nothing_but_mistakes_are_answered_soon() {
    let users: String = (0..9_000).map(|n| format!("  user-{n}: {{}}\n")).collect();
    let strangers: String = (0..1_000).map(|n| format!("stranger-{n}, ")).collect();
    let workspaces: String = (0..60).map(|n| format!("  w{n}: {{ members: [{strangers}] }}\n")).collect();
    let keys: String = (0..40_000).map(|n| format!("key{n}: 1\n")).collect();
    let mystery: String =
        (0..900).map(|n| format!("  w{n}: {{ model: m{n}, budget: {{ daily_usd: 1 }} }}\n")).collect();
    let prices: String =
        (0..900).map(|n| format!("    \"*a*b*{n}\": {{ input_per_mtok: 1, output_per_mtok: 1 }}\n")).collect();
    let cases = [
        (format!("users:\n{users}workspaces:\n{workspaces}"), 60_000),
        (keys, 40_000),
        (format!("workspaces:\n{mystery}models:\n  prices:\n{prices}"), 900),
    ];
    for (text, mistakes) in cases {
        let started = Instant::now();
        assert_eq!(Scene::new(&text).problems().len(), mistakes);
        assert!(started.elapsed() < Duration::from_secs(10), "{:?} for {mistakes}", started.elapsed());
    }
}
