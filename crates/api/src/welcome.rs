//! The page at `/`: until the console is built in, it signs a browser in and says where to go on.

use crate::app::App;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Everything comes from this server; nothing may frame it.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(welcome)).routes(routes!(style)).routes(routes!(script))
}

/// A page with its title and the house's style.
pub(crate) fn page(title: &str, body: &str) -> Response {
    let html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{title}</title>\
         <link rel=\"stylesheet\" href=\"/welcome.css\"></head><body><main>\n{body}</main></body></html>\n"
    );
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, html).into_response()
}

/// The first page.
#[utoipa::path(get, path = "/", tag = "house", security(()), responses((status = 200, content_type = "text/html", body = String)))]
async fn welcome() -> Response {
    page("Longhouse", include_str!("../pages/welcome.html"))
}

/// The style of the pages.
#[utoipa::path(get, path = "/welcome.css", tag = "house", security(()), responses((status = 200, content_type = "text/css", body = String)))]
async fn style() -> Response {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], include_str!("../pages/welcome.css")).into_response()
}

/// The script of the first page.
#[utoipa::path(get, path = "/welcome.js", tag = "house", security(()), responses((status = 200, content_type = "text/javascript", body = String)))]
async fn script() -> Response {
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], include_str!("../pages/welcome.js")).into_response()
}
