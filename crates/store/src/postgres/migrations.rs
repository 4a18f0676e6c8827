//! Bringing a PostgreSQL database to the newest schema. A copy of an older one is put aside first.

use super::copies;
use crate::migrations::{Applied, Migration, checksum};
use crate::sqlite::backups::Aside;
use crate::{Error, Result};
use sqlx::postgres::PgConnection;
use sqlx::{Executor, Row};
use std::path::Path;

const PLACE: &str = "the PostgreSQL database";

/// `copies` is the folder in which a copy of an older database is put.
pub(super) async fn migrate(connection: &mut PgConnection, copies: &Path, known: &[Migration]) -> Result<()> {
    let applied = applied(connection).await?;
    let missing = applied.missing(known, |step| step.postgres)?;
    if missing.is_empty() {
        return Ok(());
    }
    let from = applied.version();
    if from == 0 {
        return apply(connection, missing).await;
    }
    let aside = Aside::name(copies, from)?;
    copies::to_file(connection, &aside.partial, &known[..applied.steps.len()]).await?;
    let copy = aside.finish()?;
    tracing::info!(from, copy = %copy.display(), "upgrading the database; a copy was put aside");
    apply(connection, missing).await.map_err(|source| Error::Migration {
        place: applied.place,
        from,
        copy,
        way_back: "start the version you had: the database is as it was",
        source: Box::new(source),
    })
}

/// The steps that were applied. A database in which somebody else keeps tables is refused untouched.
async fn applied(connection: &mut PgConnection) -> Result<Applied> {
    let foreign = |reason: &str| Error::Foreign { place: PLACE.to_owned(), reason: reason.to_owned() };
    let row = sqlx::query(
        "SELECT current_schema() IS NOT NULL,
                EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'schema_migrations'),
                EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = current_schema())",
    );
    let row = row.fetch_one(&mut *connection).await?;
    let (has_schema, has_history, has_tables) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    let steps = match (has_schema, has_history, has_tables) {
        (false, ..) => return Err(foreign("it has no schema to use: check search_path")),
        (_, true, _) => {
            let rows = sqlx::query("SELECT version, checksum FROM schema_migrations ORDER BY version");
            let rows = rows.fetch_all(connection).await.map_err(|_| foreign("its schema_migrations is not ours"))?;
            rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect::<Result<_>>()?
        }
        (_, false, true) => return Err(foreign("another program keeps tables in it: give Longhouse its own")),
        (_, false, false) => Vec::new(),
    };
    Ok(Applied { steps, place: PLACE.to_owned() })
}

/// All steps or none.
async fn apply(connection: &mut PgConnection, steps: &[Migration]) -> Result<()> {
    let mut transaction = sqlx::Connection::begin(connection).await?;
    transaction
        .execute(
            "CREATE TABLE IF NOT EXISTS schema_migrations (
               version BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL)",
        )
        .await?;
    for step in steps {
        transaction.execute(step.postgres).await?;
        sqlx::query("INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)")
            .bind(step.version)
            .bind(step.name)
            .bind(checksum(step.postgres))
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await?;
    Ok(())
}
