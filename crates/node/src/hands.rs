//! What a node does for a call: looks beforehand, does it once, and knows after a crash how far it came. Blocking; nothing here
//! speaks to anybody.

use crate::checks::{self, Identity, Vetoes, starts_from_what_was_shown};
use crate::commands::{Confinement, Launcher, RunCommand, Runner};
use crate::confinement::Limits;
use crate::files::{EditFile, ListDirectory, WriteFile, WriteMode};
use crate::journal::{AfterCrash, Call, Effect, Journal, Step};
use crate::{Change, Error, Failure, Fault, Files, Mark, Previews, Result, Root, Sha256, StateDirectory, Undo};
use domain::node_tools::{Mode, NodeRequest};
use domain::risks::{Assessment, Known, assess};
use domain::times::Timestamp;
use domain::tool_calls::Risk;
use protocol::messages;
use protocol::tool_calls::{Preview, ToolCall};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// How a call ended on this machine, in the words of the contract.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// `completed`, `failed`, `refused` or `unknown`.
    pub status: &'static str,
    pub result: Map<String, Value>,
    /// With `refused`.
    pub reason: Option<messages::Failure>,
}

impl Outcome {
    fn completed(result: &impl Serialize) -> Self {
        Self { status: "completed", result: object(result), reason: None }
    }

    pub(crate) fn refused(fault: Fault) -> Self {
        let reason = messages::Failure { code: fault.code.to_owned(), message: fault.message };
        Self { status: "refused", result: Map::new(), reason: Some(reason) }
    }

    pub(crate) fn broke_off(message: &str) -> Self {
        let result = json!({"success": false, "error": {"code": "BROKE_OFF", "message": message}});
        Self { status: "failed", result: object(&result), reason: None }
    }

    /// This node cannot say whether it was done.
    pub(crate) fn unknown() -> Self {
        Self { status: "unknown", result: Map::new(), reason: None }
    }

    /// What came of it cannot be sent.
    pub(crate) fn too_large() -> Self {
        failure(Fault { code: "TOO_LARGE", message: "the result is larger than can be told: ask for less".to_owned() })
    }
}

fn object(value: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(object)) => object,
        _ => Map::new(),
    }
}

/// What a person at this machine is asked about a call.
#[derive(Debug, Clone)]
pub struct Question {
    pub call: ToolCall,
    /// What it would do, as this node finds it now.
    pub found: Preview,
    /// By this node's own judgement, and why.
    pub risk: Risk,
    pub reasons: Vec<String>,
}

impl Question {
    /// From here on no answer lets it be made.
    pub fn ends_at(&self) -> Option<Timestamp> {
        self.call.expires_at.map(checks::latest)
    }
}

/// How a node was set up.
pub struct Setup<'a> {
    pub root: &'a Path,
    pub state: &'a StateDirectory,
    /// How commands are confined; none if there shall be none.
    pub launcher: Option<Launcher>,
    pub identity: Identity,
    pub vetoes: Vetoes,
    pub now: Timestamp,
}

pub struct Hands {
    files: Files,
    runner: std::result::Result<Runner, String>,
    /// Held while the disk is waited for: nobody takes it on a thread that others need.
    journal: Mutex<Journal>,
    /// As the journal was left last, for whoever cannot wait.
    is_stopped: AtomicBool,
    undo: Mutex<Undo>,
    identity: Identity,
    vetoes: Vetoes,
}

impl Hands {
    pub fn open(setup: Setup<'_>) -> Result<Self> {
        let Setup { root, state, launcher, identity, vetoes, now } = setup;
        let root = Root::open(root)?;
        root.require_outside(state.path())?;
        // What a crash left goes first: on a full disk nothing else may work before it has gone.
        let undo = Undo::open(state, now.as_ms())?;
        let files = Files::new(root.clone(), Mark::open(state)?);
        files.sweep()?;
        let journal = Journal::open(state, now.as_ms())?;
        let runner = match launcher {
            Some(launcher) => {
                Runner::open(&root, state, launcher, Limits::default()).map_err(|error| error.to_string())
            }
            None => Err("they were ruled out when it was started".to_owned()),
        };
        let (is_stopped, journal) = (AtomicBool::new(journal.is_stopped()), Mutex::new(journal));
        Ok(Self { files, runner, journal, is_stopped, undo: Mutex::new(undo), identity, vetoes })
    }

    /// The same for another node: one that is opened before it is known to its house learns afterwards who it is.
    #[must_use]
    pub fn belonging_to(self, identity: Identity) -> Self {
        Self { identity, ..self }
    }

    /// What holds for commands here, or why there are none.
    pub fn commands(&self) -> std::result::Result<(Confinement, Limits), &str> {
        self.runner.as_ref().map(|runner| (runner.confinement(), runner.limits())).map_err(String::as_str)
    }

    pub(crate) fn with_journal<T>(&self, act: impl FnOnce(&mut Journal) -> T) -> T {
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        let done = act(&mut journal);
        self.is_stopped.store(journal.is_stopped(), Ordering::Relaxed);
        done
    }

    /// Whether nothing can be put down, as far as is known. Waits for nobody.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Goes on with the journal if that is possible again, or says why nothing is done here.
    pub(crate) fn mend(&self, now: Timestamp) -> std::result::Result<(), Fault> {
        self.with_journal(|journal| journal.mend(now.as_ms())).map_err(|error| Fault::from(&error))
    }

    /// How far a call came here, if it was ever here.
    pub(crate) fn known(&self, call: &str) -> Option<Call> {
        self.with_journal(|journal| journal.call(call).cloned())
    }

    /// What a call would do, found out without doing it; of what this node would not do, why.
    pub fn preview(&self, call: &ToolCall, now: Timestamp) -> Preview {
        self.find(call, now).unwrap_or_else(|fault| {
            let refusal = messages::Failure { code: fault.code.to_owned(), message: fault.message };
            Preview { refusal: Some(refusal), ..Preview::default() }
        })
    }

    fn find(&self, call: &ToolCall, now: Timestamp) -> std::result::Result<Preview, Fault> {
        self.mend(now)?;
        self.would_do(call)?;
        self.look(call)
    }

    /// What was ruled out when it was started: nobody need be asked about it.
    fn would_do(&self, call: &ToolCall) -> std::result::Result<(), Fault> {
        let request = checks::request_of(call)?;
        checks::check_vetoes(&request, self.vetoes)?;
        self.require_commands(&request)
    }

    fn require_commands(&self, request: &NodeRequest) -> std::result::Result<(), Fault> {
        match (request, &self.runner) {
            (NodeRequest::Execute(_), Err(why)) => Err(Fault::from(&Error::CommandsOff(why.clone()))),
            _ => Ok(()),
        }
    }

    fn look(&self, call: &ToolCall) -> std::result::Result<Preview, Fault> {
        let previews = Previews::new(&self.files);
        let request = checks::request_of(call)?;
        let goes_on = !matches!(request, NodeRequest::Delete { .. });
        let of_file = |found: Result<crate::FilePreview>| {
            let found = found.map_err(|error| Fault::from(&error))?;
            let base_sha256 = found.base_sha256.map(|base| base.to_string());
            let path = Some(self.files.real_path(&found.path).unwrap_or(found.path));
            let (exists, cut) = (Some(found.exists), found.diff.as_ref().is_some_and(|diff| diff.truncated));
            let (diff, no_diff) = (found.diff.map(|diff| diff.text), found.why_no_diff.map(str::to_owned));
            // Of what is too long nothing is shown, which is a part, too. A file that goes is shown by its name.
            let diff_cut = cut || (goes_on && no_diff.as_deref() == Some(domain::tool_calls::Preview::TOO_LONG));
            Ok(Preview { exists, path, base_sha256, diff, diff_cut, no_diff, ..Preview::default() })
        };
        match request {
            NodeRequest::Write(request) => of_file(previews.write(&write(&request)?)),
            NodeRequest::Edit { path, old, new } => of_file(previews.edit(&EditFile { path, old, new })),
            NodeRequest::Delete { path } => of_file(previews.delete(&path)),
            NodeRequest::Execute(command) => {
                let found = previews.command(&run(&command)).map_err(|error| Fault::from(&error))?;
                let crate::CommandPreview { program, starts, cwd, environment, .. } = found;
                let (program, cwd, network) = (Some(program), Some(cwd), self.vetoes.allow_network);
                Ok(Preview { program, starts, cwd, environment, network, ..Preview::default() })
            }
            NodeRequest::Read { .. } | NodeRequest::List { .. } => Ok(Preview::default()),
        }
    }

    /// What a person at this machine is to be asked about a call: none for a look. By this node's own judgement, of what it
    /// finds itself; the server has no say in it. An error is what it would refuse, whatever they say.
    pub(crate) fn question(&self, call: &ToolCall, now: Timestamp) -> std::result::Result<Option<Question>, Fault> {
        self.check(call, now)?;
        self.question_about(call, now)
    }

    /// The same of a call that was checked.
    pub(crate) fn question_about(
        &self,
        call: &ToolCall,
        now: Timestamp,
    ) -> std::result::Result<Option<Question>, Fault> {
        let found = self.find(call, now)?;
        let (exists, resolved, is_unseen) = (found.exists, found.path.as_deref(), found.no_diff.is_some());
        let known = Known { exists, resolved, is_unseen, ..Known::default() };
        let Assessment { risk, reasons } = assess(&checks::request_of(call)?, known);
        Ok((risk != Risk::Low).then(|| Question { call: call.clone(), found, risk, reasons }))
    }

    /// What this node does not do, as things are now.
    fn check(&self, call: &ToolCall, now: Timestamp) -> std::result::Result<(), Fault> {
        let request = checks::check(call, &self.identity, self.vetoes, now)?;
        self.require_commands(&request)?;
        self.is_as_shown(call, &request)
    }

    /// The same checks once more, for a call that is gone on with.
    pub(crate) fn check_again(&self, call: &ToolCall, now: Timestamp) -> std::result::Result<(), Outcome> {
        self.check(call, now).map_err(|fault| Outcome::broke_off(&fault.message))
    }

    /// Makes sure of a call and puts down that it is about to be made; what this node does not do is refused here.
    pub(crate) fn intend(&self, call: &ToolCall, now: Timestamp) -> std::result::Result<(), Outcome> {
        self.check(call, now).map_err(Outcome::refused)?;
        let intent = self.with_journal(|journal| journal.intent(&call.id, call.attempt, &call.tool, now.as_ms()));
        intent.map_err(|error| Outcome::refused(Fault::from(&error)))
    }

    /// Whether a change or a command would still do what its person was shown.
    fn is_as_shown(&self, call: &ToolCall, request: &NodeRequest) -> std::result::Result<(), Fault> {
        if request.tool().only_looks() {
            return Ok(());
        }
        let shown = call.preview.as_ref();
        if shown.is_none() && !request.tool().is_command() {
            return Ok(());
        }
        let present = self.look(call)?;
        if let (NodeRequest::Execute(command), Some(found)) = (request, &present.program) {
            // A harmless name may be a link to another program.
            checks::check_command(found, &command.args, &present.starts)?;
        }
        let is_same = shown.is_none_or(|shown| {
            let Preview { path, base_sha256, program, starts, cwd, environment, .. } = shown;
            (path, base_sha256, program, starts, cwd, environment)
                == (
                    &present.path,
                    &present.base_sha256,
                    &present.program,
                    &present.starts,
                    &present.cwd,
                    &present.environment,
                )
        });
        if is_same { Ok(()) } else { Err(checks::stale("what is there now is not what was shown")) }
    }

    /// Does what the server has said yes to. At most once: that it begins is on disk before it does.
    pub(crate) fn make(&self, call: &ToolCall, now: Timestamp) -> Outcome {
        let outcome = match checks::request_of(call) {
            Ok(request) => self.do_it(call, &request, now),
            Err(fault) => Ok(failure(fault)),
        };
        let outcome = match outcome {
            Ok(outcome) => outcome,
            // The journal said no: somebody has begun it before, or nothing can be written down.
            Err(error) => return self.after_crash(call, now).unwrap_or_else(|| failure(Fault::from(&error))),
        };
        let kept = if repeats(call) { None } else { Some(Value::Object(outcome.result.clone())) };
        let ended = self.with_journal(|journal| journal.ended(&call.id, call.attempt, kept, now.as_ms()));
        if let Err(error) = ended {
            tracing::error!(%error, call = call.id, "how a call ended could not be put down");
        }
        outcome
    }

    fn do_it(&self, call: &ToolCall, request: &NodeRequest, now: Timestamp) -> Result<Outcome> {
        match request {
            NodeRequest::Read { path } => self.begin(call, None, now, || told(self.files.read(path))),
            NodeRequest::List { path, recursive, pattern } => {
                let pattern = pattern.as_ref().map(|pattern| pattern.as_str().to_owned());
                let request = ListDirectory { path: path.clone(), recursive: *recursive, pattern };
                self.begin(call, None, now, || told(self.files.list(&request)))
            }
            NodeRequest::Write(request) => match write(request) {
                Ok(request) => self.change(call, self.files.prepare_write(&request), now),
                Err(fault) => Ok(failure(fault)),
            },
            NodeRequest::Edit { path, old, new } => {
                let request = EditFile { path: path.clone(), old: old.clone(), new: new.clone() };
                self.change(call, self.files.prepare_edit(&request), now)
            }
            NodeRequest::Delete { path } => self.change(call, self.files.prepare_delete(path), now),
            NodeRequest::Execute(command) => {
                let Ok(runner) = &self.runner else {
                    return Ok(failure(Fault::from(&Error::CommandsOff(String::new()))));
                };
                // It was refused before if this node does not allow it; nothing else is to decide that.
                let network = call.network && self.vetoes.allow_network;
                self.begin(call, None, now, || told(runner.run(&run(command), network)))
            }
        }
    }

    /// Puts down that it begins, then does it.
    fn begin(
        &self,
        call: &ToolCall,
        effect: Option<Effect>,
        now: Timestamp,
        act: impl FnOnce() -> Outcome,
    ) -> Result<Outcome> {
        self.with_journal(|journal| journal.begun(&call.id, call.attempt, effect, now.as_ms()))?;
        Ok(act())
    }

    fn change(&self, call: &ToolCall, prepared: Result<Change>, now: Timestamp) -> Result<Outcome> {
        let change = match prepared {
            Ok(change) => change,
            Err(error) => return Ok(failure(Fault::from(&error))),
        };
        let effect = Effect {
            path: change.path().to_owned(),
            base_sha256: change.base_sha256(),
            new_sha256: change.new_sha256(),
        };
        // By the handle that will be written through: a link may have been turned since the last look.
        let real_path = self.files.real_path_of(&change).map_err(|error| Fault::from(&error));
        if let Err(fault) = real_path.and_then(|path| starts_from_what_was_shown(call, &effect, &path)) {
            return Ok(failure(fault));
        }
        // What is replaced is kept first: without that there is no way back, and so no change.
        let kept = self.undo.lock().unwrap_or_else(PoisonError::into_inner).keep(&call.id, &change, now.as_ms());
        if let Err(error) = kept {
            return Ok(failure(Fault::from(&error)));
        }
        let begun = self.begin(call, Some(effect), now, || told(change.commit(now.as_ms())));
        if let Err(Error::JournalStopped(_)) = &begun {
            // Nothing was replaced, and the journal may need the room. What stays in spite of that is as old as its call.
            let _ = self.undo.lock().unwrap_or_else(PoisonError::into_inner).forget(&call.id);
        }
        begun
    }

    /// What can be said of a call that was under way when this node stopped; none if it had not begun.
    pub(crate) fn after_crash(&self, call: &ToolCall, now: Timestamp) -> Option<Outcome> {
        let known = self.known(&call.id).filter(|known| known.attempt == call.attempt)?;
        match known.step {
            Step::Intended => None,
            Step::Ended | Step::Told => Some(match known.result {
                Some(Value::Object(result)) => Outcome { status: "completed", result, reason: None },
                // A look can be had again.
                _ if repeats(call) => self.look_again(call, now),
                _ if !known.has_begun() => Outcome::broke_off("it was given up before it began"),
                _ => Outcome::unknown(),
            }),
            Step::Begun if repeats(call) => Some(self.look_again(call, now)),
            Step::Begun => Some(match known.after_crash(&self.files) {
                AfterCrash::Done => {
                    let sha256: Option<Sha256> = known.effect.and_then(|effect| effect.new_sha256);
                    Outcome::completed(&json!({"success": true, "sha256": sha256}))
                }
                AfterCrash::NotBegun | AfterCrash::NotDone => {
                    Outcome::broke_off("the node stopped before anything changed")
                }
                AfterCrash::Unknown => Outcome::unknown(),
            }),
        }
    }

    fn look_again(&self, call: &ToolCall, now: Timestamp) -> Outcome {
        if let Err(outcome) = self.check_again(call, now) {
            return outcome;
        }
        match checks::request_of(call) {
            Ok(NodeRequest::Read { path }) => told(self.files.read(&path)),
            Ok(NodeRequest::List { path, recursive, pattern }) => {
                let pattern = pattern.map(|pattern| pattern.as_str().to_owned());
                told(self.files.list(&ListDirectory { path, recursive, pattern }))
            }
            _ => Outcome::unknown(),
        }
    }

    /// Puts back what a call replaced, if nobody has changed the file since.
    pub fn undo(&self, call: &str, now: Timestamp) -> Result<crate::Undone> {
        let mut undo = self.undo.lock().unwrap_or_else(PoisonError::into_inner);
        undo.undo(call, &self.files, now.as_ms())
    }

    /// The server knows how it ended, or no longer wants it.
    pub(crate) fn told(&self, call: &str, attempt: u64, now: Timestamp) {
        if let Err(error) = self.with_journal(|journal| journal.told(call, attempt, now.as_ms())) {
            tracing::debug!(%error, call, "a call was told of before");
        }
    }
}

/// Whether doing it again has no effect.
fn repeats(call: &ToolCall) -> bool {
    domain::node_tools::NodeTool::parse(&call.tool).is_some_and(domain::node_tools::NodeTool::only_looks)
}

fn told<T: Serialize>(done: Result<T>) -> Outcome {
    match done {
        Ok(done) => Outcome::completed(&done),
        Err(error) => failure(Fault::from(&error)),
    }
}

/// It ran to its end, and the end is that it did nothing.
fn failure(fault: Fault) -> Outcome {
    Outcome::completed(&Failure { success: false, error: fault })
}

fn write(request: &domain::node_tools::WriteRequest) -> std::result::Result<WriteFile, Fault> {
    let base_sha256 = request.base_sha256.as_deref().map(Sha256::parse).transpose();
    let base_sha256 = base_sha256.map_err(|error| Fault::from(&error))?;
    Ok(WriteFile {
        path: request.path.clone(),
        content: request.content.clone(),
        create_dirs: request.create_dirs,
        mode: match request.mode {
            Mode::Write => WriteMode::Write,
            Mode::Append => WriteMode::Append,
        },
        base_sha256,
    })
}

fn run(request: &domain::node_tools::CommandRequest) -> RunCommand {
    RunCommand {
        program: request.program.clone(),
        args: request.args.clone(),
        cwd: request.cwd.clone(),
        timeout_s: request.timeout_s,
    }
}
