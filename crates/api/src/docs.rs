//! The OpenAPI document as a page to read: made here, without scripts, so that it works offline.

use crate::app::App;
use crate::openapi;
use crate::welcome::page;
use axum::response::Response;
use serde_json::Value;
use std::fmt::Write as _;
use std::sync::LazyLock;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(docs))
}

/// This contract as a page to read.
#[utoipa::path(get, path = "/docs", tag = "house", security(()), responses((status = 200, content_type = "text/html", body = String)))]
async fn docs() -> Response {
    static PAGE: LazyLock<String> = LazyLock::new(|| render(openapi::document()));
    page("Longhouse API", &PAGE)
}

fn render(document: &Value) -> String {
    let mut html = String::from("<h1>Longhouse API</h1>\n");
    let _ = writeln!(html, "<p>{}</p>", prose(text(&document["info"]["description"])));
    html.push_str("<p>The machine-readable form is <a href=\"/openapi.json\">/openapi.json</a>.</p>\n");
    let tags = [
        "shared context",
        "sessions",
        "projects",
        "agents",
        "messages",
        "tasks",
        "worker spaces",
        "nodes",
        "tools",
        "approvals",
        "items",
        "workspaces",
        "gateway",
        "events",
        "mcp",
        "tokens",
        "identity",
        "house",
        "admin",
    ];
    for tag in tags {
        let _ = writeln!(html, "<h2>{tag}</h2>");
        for (path, methods) in document["paths"].as_object().into_iter().flatten() {
            for (method, operation) in methods.as_object().into_iter().flatten() {
                if operation["tags"][0] == tag {
                    render_operation(&mut html, path, method, operation);
                }
            }
        }
    }
    html.push_str("<h2>Shapes</h2>\n");
    for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
        render_schema(&mut html, name, schema);
    }
    html
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Escaped text in which `words` stand out.
fn prose(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let shown =
        parts.map(|(at, part)| if at % 2 == 1 { format!("<code>{}</code>", escape(part)) } else { escape(part) });
    shown.collect()
}

fn render_operation(html: &mut String, path: &str, method: &str, operation: &Value) {
    let _ = writeln!(html, "<section><h3><code>{} {}</code></h3>", method.to_uppercase(), escape(path));
    let _ = writeln!(html, "<p>{}</p>", prose(text(&operation["summary"])));
    let description = text(&operation["description"]);
    if !description.is_empty() {
        let _ = writeln!(html, "<p>{}</p>", prose(description));
    }
    html.push_str("<ul>\n");
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let (name, place) = (text(&parameter["name"]), text(&parameter["in"]));
        let note = prose(text(&parameter["description"]));
        let _ = writeln!(html, "<li><code>{}</code> in the {place}. {note}</li>", escape(name));
    }
    let body = &operation["requestBody"]["content"]["application/json"]["schema"];
    if !body.is_null() {
        let _ = writeln!(html, "<li>body: {}</li>", shape(body));
    }
    for (status, response) in operation["responses"].as_object().into_iter().flatten() {
        let content = response["content"].as_object().and_then(|content| content.values().next());
        let of = content.map_or(String::new(), |content| shape(&content["schema"]));
        let _ = writeln!(html, "<li>{status} {of} {}</li>", prose(text(&response["description"])));
    }
    html.push_str("</ul></section>\n");
}

fn render_schema(html: &mut String, name: &str, schema: &Value) {
    let _ = writeln!(html, "<section id=\"{0}\"><h3><code>{0}</code></h3>", escape(name));
    let _ = writeln!(html, "<p>{}</p>", prose(text(&schema["description"])));
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<_> = values.iter().map(|value| format!("<code>{}</code>", escape(text(value)))).collect();
        let _ = writeln!(html, "<p>{}</p>", values.join(" · "));
    }
    html.push_str("<ul>\n");
    for (field, about) in schema["properties"].as_object().into_iter().flatten() {
        let note = prose(text(&about["description"]));
        let _ = writeln!(html, "<li><code>{}</code>: {}. {note}</li>", escape(field), shape(about));
    }
    html.push_str("</ul></section>\n");
}

/// A type in a few words, linked where it has a section of its own.
fn shape(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = escape(reference.rsplit('/').next().unwrap_or(""));
        return format!("<a href=\"#{name}\">{name}</a>");
    }
    match &schema["type"] {
        Value::String(kind) if kind == "array" => format!("list of {}", shape(&schema["items"])),
        Value::String(kind) => escape(kind),
        Value::Array(kinds) => kinds.iter().map(|kind| escape(text(kind))).collect::<Vec<_>>().join(" or "),
        _ => schema["oneOf"]
            .as_array()
            .map_or("any".to_owned(), |options| options.iter().map(shape).collect::<Vec<_>>().join(" or ")),
    }
}
