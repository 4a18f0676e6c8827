//! What is written to a person about a call. All of it is somebody else's text: what is hidden is written out, and nothing
//! ends the code that it stands in. A message that shows less than the whole is never one under which it can be approved.

use super::{Notice, NoticeStatus};
use crate::approvals::{Approval, ApprovalStatus};
use crate::channels::{DISCORD_LONGEST, utf16_length};
use crate::ids::UserId;
use crate::node_tools::{NodeRequest, NodeTool};
use crate::risks::{made_visible, made_visible_in_a_line};
use crate::tool_calls::{Preview, Risk, ToolCall};
use serde_json::Value;

/// All lengths are in UTF-16 code units, as providers count; the whole is one message everywhere.
const BODY_LONGEST: usize = 1_500;
const NAME_LONGEST: usize = 64;
const PATH_LONGEST: usize = 300;
const REASONS_LONGEST: usize = 300;
/// The marks around what would be done.
const FENCES: usize = 20;

/// What a person is asked.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    pub workspace: &'a str,
    pub project: &'a str,
    /// The machine; none if it is gone, or a plugin runs the call.
    pub node: Option<&'a str>,
    pub approval: &'a Approval,
    pub call: &'a ToolCall,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    pub text: String,
    /// Whether a yes can be given under it. A no always can.
    pub offers_approval: bool,
}

impl Question<'_> {
    pub fn words(&self) -> Words {
        let mut page = Page::default();
        let request = self.request();
        let risk = self.call.judgement.as_ref().map_or(Risk::High, |judgement| judgement.risk);
        let head = self.head(&mut page, request.as_ref());
        let where_to = format!("in the console or with `longhouse approvals show {}`", self.approval.id);
        let until = format!("It waits until {}.", self.approval.expires_at);
        let dangerous = format!("Here it can only be rejected; to approve it, look at all of it {where_to}.");
        let unseen = format!("Not all of it is shown here: the rest is {where_to}, where it can be approved, too.");
        let tail_longest = utf16_length(&until) + utf16_length(&dangerous).max(utf16_length(&unseen));
        let left = DISCORD_LONGEST.saturating_sub(utf16_length(&head) + tail_longest + FENCES);
        let body = self.body(request.as_ref()).map(|(language, text)| {
            let shown = page.fitted(&in_a_fence(&text), left.min(BODY_LONGEST), true);
            if shown.is_empty() {
                return "No line of it changes.\n".to_owned();
            }
            format!("```{language}\n{shown}\n```\n")
        });
        let may_be = risk != Risk::High && self.is_for_a_chat(request.as_ref());
        let offers_approval = may_be && !page.is_cut;
        let tail = match (may_be, page.is_cut) {
            (true, false) => String::new(),
            (false, _) => format!(" {dangerous}"),
            (true, true) => format!(" {unseen}"),
        };
        let text = format!("{head}{}{until}{tail}", body.unwrap_or_default());
        Words { text, offers_approval }
    }

    /// What it was about, for when it is over.
    pub fn in_a_line(&self) -> String {
        let mut page = Page::default();
        let request = self.request();
        let path = request.as_ref().and_then(NodeRequest::path).map(|path| page.code(path, PATH_LONGEST));
        let path = path.map_or_else(String::new, |path| format!(" {path}"));
        let tool = page.code(&self.call.wish.tool, NAME_LONGEST);
        format!("{tool}{path}{} in {}", self.on_machine(&mut page), page.code(self.workspace, NAME_LONGEST))
    }

    fn request(&self) -> Option<NodeRequest> {
        let tool = NodeTool::parse(&self.call.wish.tool)?;
        let arguments: Value = serde_json::from_str(&self.call.wish.params).ok()?;
        NodeRequest::parse(tool, &arguments).ok()
    }

    fn preview(&self) -> Option<&Preview> {
        self.call.judgement.as_ref()?.preview.as_ref()
    }

    fn on_machine(&self, page: &mut Page) -> String {
        self.node.map_or_else(String::new, |node| format!(" on {}", page.code(node, NAME_LONGEST)))
    }

    fn head(&self, page: &mut Page, request: Option<&NodeRequest>) -> String {
        let mut head = format!(
            "**Your approval is needed** in workspace {}, project {}.\nAgent {} wants to use {}{}.\n",
            page.code(self.workspace, NAME_LONGEST),
            page.code(self.project, NAME_LONGEST),
            page.code(&self.call.origin.agent.name, NAME_LONGEST),
            page.code(&self.call.wish.tool, NAME_LONGEST),
            self.on_machine(page),
        );
        if let Some(path) = request.and_then(NodeRequest::path) {
            head.push_str(&format!("Path: {}", page.code(path, PATH_LONGEST)));
            // Behind links it may be another one.
            let real = self.preview().and_then(|preview| preview.path.as_deref()).filter(|real| *real != path);
            if let Some(real) = real {
                head.push_str(&format!(", which leads to {}", page.code(real, PATH_LONGEST)));
            }
            head.push('\n');
        }
        if matches!(request, Some(NodeRequest::Write(write)) if write.create_dirs) {
            head.push_str("Folders that are missing are made.\n");
        }
        if let Some(judgement) = &self.call.judgement {
            let reasons = made_visible_in_a_line(&judgement.reasons.join("; "));
            let reasons = page.fitted(&reasons, REASONS_LONGEST, false);
            head.push_str(&format!("Risk {}: {reasons}\n", judgement.risk.as_str()));
        }
        head
    }

    /// What would be done, and the language that it is shown in; nothing if the path has said it all.
    fn body(&self, request: Option<&NodeRequest>) -> Option<(&'static str, String)> {
        if matches!(request, Some(NodeRequest::Read { .. } | NodeRequest::Delete { .. })) {
            return None;
        }
        if let Some(diff) = self.preview().and_then(|preview| preview.diff.as_deref()) {
            return Some(("diff", diff.to_owned()));
        }
        let arguments: Value = serde_json::from_str(&self.call.wish.params).unwrap_or_default();
        Some(("json", serde_json::to_string_pretty(&arguments).unwrap_or_default()))
    }

    /// Whether it is of a kind that a chat can show: no command, nothing of a plugin, and of a change what would change.
    fn is_for_a_chat(&self, request: Option<&NodeRequest>) -> bool {
        match request {
            Some(NodeRequest::Read { .. } | NodeRequest::List { .. }) => true,
            Some(NodeRequest::Write(_) | NodeRequest::Edit { .. }) => {
                self.preview().is_some_and(|preview| preview.diff.is_some() && !preview.diff_cut)
            }
            Some(NodeRequest::Delete { .. } | NodeRequest::Execute(_)) | None => false,
        }
    }
}

/// Notes whether anything was left out.
#[derive(Default)]
struct Page {
    is_cut: bool,
}

impl Page {
    /// A name within a line.
    fn code(&mut self, text: &str, longest: usize) -> String {
        let visible = made_visible_in_a_line(text).replace('`', TICK);
        format!("`{}`", self.fitted(&visible, longest, false))
    }

    /// As much as fits: whole lines, if `by_lines` and there is one.
    fn fitted(&mut self, text: &str, longest: usize, by_lines: bool) -> String {
        if utf16_length(text) <= longest {
            return text.to_owned();
        }
        self.is_cut = true;
        let mut left = longest.saturating_sub(1);
        let fits = |character: &char| {
            let units = character.len_utf16();
            let does = units <= left;
            left = if does { left - units } else { 0 };
            does
        };
        let kept: String = text.chars().take_while(fits).collect();
        let end = if by_lines { kept.rfind('\n').map_or(kept.len(), |at| at + 1) } else { kept.len() };
        format!("{}…", &kept[..end])
    }
}

/// A backtick for those who cannot be shown one.
const TICK: &str = "\\u{60}";

/// Where three backticks would end the block. Some providers end it wherever they stand, so none may.
fn in_a_fence(text: &str) -> String {
    made_visible(text).replace("```", &TICK.repeat(3)).trim_end_matches('\n').to_owned()
}

/// What became of it, in a sentence. None: it went with its session or project.
pub fn conclusion(approval: Option<&Approval>, told: &UserId) -> String {
    let Some(approval) = approval else { return "This is not here to be decided any more.".to_owned() };
    let by = approval.decided.as_ref().and_then(|decided| decided.by.as_ref());
    let by = by.map_or_else(String::new, |by| if by == told { " by you".to_owned() } else { format!(" by {by}") });
    match approval.status {
        ApprovalStatus::Pending => "This still waits.".to_owned(),
        ApprovalStatus::Approved => format!("Approved{by}."),
        ApprovalStatus::Rejected => format!("Rejected{by}. Nothing was done."),
        ApprovalStatus::Expired => "Nobody decided in time. Nothing was done.".to_owned(),
        ApprovalStatus::Cancelled => "This was withdrawn before anybody decided. Nothing was done.".to_owned(),
    }
}

/// What is said in the group from which a turn came: nothing of the call, because not everybody there is a member.
pub fn group_words(direct: &Notice) -> &'static str {
    if direct.status == NoticeStatus::Failed && direct.told.is_none() {
        "This needs your approval, and I could not write to you: write to me once in a direct chat, or decide it in the \
         console or with `longhouse approvals`."
    } else {
        "This needs your approval: I wrote to you directly."
    }
}
