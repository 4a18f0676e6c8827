"""Makes databases of an older Longhouse, and looks at what schema a database has.

older_schema.py make DATA MIGRATIONS   turns the closed database in DATA into one of the schema of the first version
older_schema.py look DATA MIGRATIONS   prints how many steps are missing; fails if one is there in part
"""
import glob, hashlib, os, re, sqlite3, sys

command, data, migrations = sys.argv[1:]
files = sorted(glob.glob(os.path.join(migrations, "*.sql")))
database = os.path.join(data, "longhouse.db")
FIRST = 3


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
    for path in files[:FIRST]:
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


def schema(connection):
    return sorted(row for row in connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))


def look():
    """Every step is there wholly or not at all: the schema is that of a database made by so many steps."""
    connection = sqlite3.connect(database)
    (version,) = connection.execute("SELECT MAX(version) FROM schema_migrations").fetchone()
    made = sqlite3.connect(":memory:")
    made.execute("CREATE TABLE schema_migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL)")
    for path in files[:version]:
        made.executescript(text(path))
    names = lambda found: [(name, columns_of(sql)) for (name, sql) in found]
    assert names(schema(connection)) == names(schema(made)), f"half a step beyond schema {version}"
    print(len(files) - version)


def columns_of(sql):
    return re.sub(r"\s+", " ", re.sub(r"--[^\n]*", "", sql))


make() if command == "make" else look()
