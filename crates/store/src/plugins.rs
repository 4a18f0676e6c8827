//! What was accepted of plugins, and calls of theirs that a server has begun. They are the house's: no workspace owns one.

use crate::rows::{Row, columns, from_json, params, to_json};
use crate::tool_calls::{ToolCallPlace, read_place};
use crate::{Result, Tx, sums};
use domain::ids::UserId;
use domain::plugins::Fingerprint;
use domain::times::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A plugin whose first tools were accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownPlugin {
    pub name: String,
    /// A digest of how the file says it is reached.
    pub reach: String,
    pub accepted_at: Timestamp,
    /// What somebody should look at, as it was told last, and when that was.
    pub noticed: BTreeMap<String, Fingerprint>,
    pub noticed_at: Option<Timestamp>,
}

/// A tool as it was accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct AcceptedTool {
    pub plugin: String,
    pub tool: String,
    pub fingerprint: Fingerprint,
    pub described: Described,
    /// None if it came with the declaration of its plugin.
    pub accepted_by: Option<UserId>,
    pub accepted_at: Timestamp,
}

/// What a model is told of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Described {
    pub description: String,
    pub schema: Map<String, Value>,
}

fn read_tool(mut row: Row) -> Result<AcceptedTool> {
    let (plugin, tool, fingerprint, document) = (row.text()?, row.text()?, row.text()?, row.text()?);
    let (accepted_by, accepted_at) = (row.optional_text()?, row.time()?);
    let found = sums::of_row(&columns![
        plugin.as_str(),
        tool.as_str(),
        fingerprint.as_str(),
        document.as_str(),
        accepted_by.as_deref(),
        accepted_at,
    ]);
    sums::check(row.optional_integer()?, || found, "an accepted tool of a plugin")?;
    Ok(AcceptedTool {
        described: from_json(&document)?,
        fingerprint: Fingerprint::from_kept(fingerprint),
        accepted_by: accepted_by.map(UserId::from_trusted),
        plugin,
        tool,
        accepted_at,
    })
}

fn read_plugin(mut row: Row) -> Result<KnownPlugin> {
    let (name, reach, accepted_at) = (row.text()?, row.text()?, row.time()?);
    let (noticed, noticed_at) = (row.text()?, row.optional_time()?);
    let found = sums::of_row(&columns![name.as_str(), reach.as_str(), accepted_at, noticed.as_str(), noticed_at]);
    sums::check(row.optional_integer()?, || found, "a plugin")?;
    Ok(KnownPlugin { noticed: from_json(&noticed)?, name, reach, accepted_at, noticed_at })
}

impl Tx {
    pub async fn known_plugins(&mut self) -> Result<Vec<KnownPlugin>> {
        let sql = "SELECT name, reach, accepted_at, noticed, noticed_at, sum FROM plugins ORDER BY name";
        self.query(sql, params![]).await?.into_iter().map(read_plugin).collect()
    }

    pub async fn save_plugin(&mut self, plugin: &KnownPlugin) -> Result<()> {
        let noticed = to_json(&plugin.noticed)?;
        let row = columns![
            plugin.name.as_str(),
            plugin.reach.as_str(),
            plugin.accepted_at,
            noticed.as_str(),
            plugin.noticed_at,
        ];
        let mut all = row.to_vec();
        all.push(sums::of_row(&row).into());
        self.execute(
            "INSERT INTO plugins (name, reach, accepted_at, noticed, noticed_at, sum) VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (name) DO UPDATE SET reach = $2, accepted_at = $3, noticed = $4, noticed_at = $5, sum = $6",
            &all,
        )
        .await?;
        Ok(())
    }

    /// Forgets a plugin with all that was accepted of it; answers whether there was one.
    pub async fn forget_plugin(&mut self, name: &str) -> Result<bool> {
        self.execute("DELETE FROM plugin_tools WHERE plugin = $1", params![name]).await?;
        Ok(self.execute("DELETE FROM plugins WHERE name = $1", params![name]).await? > 0)
    }

    /// Everything that is accepted, by plugin and name.
    pub async fn accepted_tools(&mut self) -> Result<Vec<AcceptedTool>> {
        let rows = self
            .query(
                "SELECT plugin, tool, fingerprint, document, accepted_by, accepted_at, sum FROM plugin_tools
                  ORDER BY plugin, tool",
                params![],
            )
            .await?;
        rows.into_iter().map(read_tool).collect()
    }

    /// What is accepted under a name, of whichever plugin.
    pub async fn accepted_tools_called(&mut self, tool: &str) -> Result<Vec<AcceptedTool>> {
        let rows = self
            .query(
                "SELECT plugin, tool, fingerprint, document, accepted_by, accepted_at, sum FROM plugin_tools
                  WHERE tool = $1 ORDER BY plugin",
                params![tool],
            )
            .await?;
        rows.into_iter().map(read_tool).collect()
    }

    pub async fn accept_tool(&mut self, accepted: &AcceptedTool) -> Result<()> {
        let document = to_json(&accepted.described)?;
        let row = columns![
            accepted.plugin.as_str(),
            accepted.tool.as_str(),
            accepted.fingerprint.as_str(),
            document.as_str(),
            accepted.accepted_by.as_ref().map(UserId::as_str),
            accepted.accepted_at,
        ];
        let mut all = row.to_vec();
        all.push(sums::of_row(&row).into());
        self.execute(
            "INSERT INTO plugin_tools (plugin, tool, fingerprint, document, accepted_by, accepted_at, sum)
             VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (plugin, tool) DO UPDATE
                SET fingerprint = $3, document = $4, accepted_by = $5, accepted_at = $6, sum = $7",
            &all,
        )
        .await?;
        Ok(())
    }

    /// Notes that this server begins a call.
    pub async fn begin_plugin_run(&mut self, (workspace, project, call): &ToolCallPlace, holder: &str) -> Result<()> {
        let row = params![workspace.as_str(), project.as_str(), call.as_str(), holder];
        self.execute("INSERT INTO plugin_runs (workspace, project, call, holder) VALUES ($1, $2, $3, $4)", row).await?;
        Ok(())
    }

    pub async fn end_plugin_run(&mut self, (workspace, project, call): &ToolCallPlace) -> Result<()> {
        let row = params![workspace.as_str(), project.as_str(), call.as_str()];
        self.execute("DELETE FROM plugin_runs WHERE workspace = $1 AND project = $2 AND call = $3", row).await?;
        Ok(())
    }

    /// What this server began and nobody knows the end of.
    pub async fn plugin_runs_of(&mut self, holder: &str) -> Result<Vec<ToolCallPlace>> {
        let sql = "SELECT workspace, project, call FROM plugin_runs WHERE holder = $1 ORDER BY call";
        self.query(sql, params![holder]).await?.into_iter().map(read_place).collect()
    }

    /// Calls of plugins that may begin, and that no server has begun.
    pub async fn plugin_calls_to_begin(&mut self, limit: u64) -> Result<Vec<ToolCallPlace>> {
        let rows = self
            .query(
                "SELECT workspace, project, id FROM tool_calls
                  WHERE deadline_at IS NOT NULL AND status = 'dispatched' AND node IS NULL ORDER BY deadline_at LIMIT $1",
                params![limit],
            )
            .await?;
        rows.into_iter().map(read_place).collect()
    }
}
