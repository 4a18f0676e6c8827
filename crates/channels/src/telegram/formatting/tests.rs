//! What readers see of Markdown, and that no text breaks out of its tags.

use super::*;

#[test]
fn markdown_becomes_the_tags_that_telegram_has() {
    let cases = [
        ("plain words", "plain words"),
        ("**bold** and *italic* and ~~gone~~", "<b>bold</b> and <i>italic</i> and <s>gone</s>"),
        ("__bold__ _italic_", "<b>bold</b> <i>italic</i>"),
        ("**bold with *italic* in it**", "<b>bold with <i>italic</i> in it</b>"),
        ("`a < b`", "<code>a &lt; b</code>"),
        ("``a ` b``", "<code>a ` b</code>"),
        ("`**not bold**`", "<code>**not bold**</code>"),
        ("# Title\ntext", "<b>Title</b>\ntext"),
        ("### A **bold** title", "<b>A bold title</b>"),
        ("#hashtag", "#hashtag"),
        ("- one\n- two", "- one\n- two"),
        ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
        ("[here](https://example.org/a?b=1&c=2)", "here (https://example.org/a?b=1&amp;c=2)"),
        ("[https://a.b](https://a.b)", "https://a.b"),
        ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
        ("```rust\nlet a = b && c;\n```", "<pre><code class=\"language-rust\">let a = b &amp;&amp; c;</code></pre>"),
        ("```\n**x**\n```\nafter", "<pre>**x**</pre>\nafter"),
        ("```\nnever closed", "<pre>never closed</pre>"),
        ("unfinished **bold", "unfinished **bold"),
        ("****", "****"),
        ("``", "``"),
    ];
    for (markdown, expected) in cases {
        assert_eq!(html(markdown), expected, "{markdown}");
    }
}

#[test]
fn text_cannot_write_tags_of_its_own() {
    let attacks = [
        "<b>x</b>",
        "</pre><a href=\"https://evil.example\">click</a>",
        "```\"><script>\ncode\n```",
        "```x\"onload=\ncode\n```",
        "`</code><b>`",
        "[<b>](https://a.b/\"><i>)",
        "**<tg-spoiler>**",
        "&lt;b&gt; &amp; \u{0}\u{7}",
    ];
    for attack in attacks {
        let text = html(attack);
        for tag in text.split('<').skip(1) {
            let name = tag.trim_start_matches('/').split(['>', ' ']).next().unwrap_or_default();
            assert!(["b", "i", "s", "code", "pre"].contains(&name), "{attack} became {text}");
        }
        assert!(!text.contains("href") || text.contains("&lt;a href"), "{text}");
        assert!(!text.contains(['\u{0}', '\u{7}']));
    }
    assert_eq!(html("```a\"b\nx\n```"), "<pre>x</pre>");
}

#[test]
fn deep_and_long_tricks_end_soon() {
    for trick in ["*", "**", "_", "`", "[", "](", "~~", "*_", "# ", "> "] {
        let text = html(&trick.repeat(4_096 / trick.len()));
        assert!(text.len() < 64 * 1024, "{trick}");
    }
}
