"""Makes databases of an older Longhouse, and looks at what schema a database has.

older_schema.py make DATA MIGRATIONS   turns the closed database in DATA into one of the schema before the newest
older_schema.py look DATA MIGRATIONS   prints the schema's version, and how many of the newest tables there are
"""
import glob, hashlib, os, re, sqlite3, sys

command, data, migrations = sys.argv[1:]
files = sorted(glob.glob(os.path.join(migrations, "*.sql")))
database = os.path.join(data, "longhouse.db")


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def tables(connection, schema):
    rows = connection.execute(f"SELECT name FROM {schema}.sqlite_master WHERE type = 'table'")
    return [name for (name,) in rows if name != "schema_migrations"]


def columns(connection, schema, table):
    return [row[1] for row in connection.execute(f"PRAGMA {schema}.table_info({table})")]


def make():
    newer = database + ".newer"
    os.rename(database, newer)
    connection = sqlite3.connect(database, isolation_level=None)
    connection.executescript(
        "PRAGMA page_size = 2048; PRAGMA journal_mode = WAL; PRAGMA application_id = 0x4C4E4748;"
        "CREATE TABLE schema_migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL);"
    )
    for path in files[:-1]:
        version, name = os.path.basename(path)[: -len(".sql")].split("_", 1)
        connection.executescript(text(path))
        checksum = hashlib.sha256(text(path).encode()).hexdigest()
        connection.execute("INSERT INTO schema_migrations VALUES (?, ?, ?)", (int(version), name, checksum))
    connection.execute("ATTACH ? AS newer", (newer,))
    for table in tables(connection, "main"):
        kept = [name for name in columns(connection, "main", table) if name in columns(connection, "newer", table)]
        names = ", ".join(kept)
        connection.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM newer.{table}")
    connection.execute("DETACH newer")
    connection.close()
    os.remove(newer)
    os.chmod(database, 0o600)


def look():
    connection = sqlite3.connect(database)
    (version,) = connection.execute("SELECT MAX(version) FROM schema_migrations").fetchone()
    newest = re.findall(r"CREATE TABLE (\w+)", text(files[-1]))
    there = [name for name in newest if name in tables(connection, "main")]
    print(f"{version - len(files)} {len(there)} {len(newest)}")


make() if command == "make" else look()
