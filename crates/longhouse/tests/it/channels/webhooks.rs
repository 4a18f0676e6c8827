//! Telegram posts to the house: only with the secret, and the same update however often is one turn.

use super::{HOMELAB, SEAN, SECRET, Scene, until};
use serde_json::{Value, json};

const PATH: &str = "/channels/telegram/webhook";

fn scene() -> Scene {
    Scene::with(|api| {
        format!(
            "{{ token_env: TELEGRAM_BOT_TOKEN, api_base: \"{api}\", mode: webhook, webhook_secret_env: TELEGRAM_WEBHOOK_SECRET }}"
        )
    })
}

fn post(url: &str, secret: Option<&str>, body: &str) -> u16 {
    try_post(url, secret, body).expect("an answer")
}

fn try_post(url: &str, secret: Option<&str>, body: &str) -> Result<u16, ureq::Error> {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let mut asked = agent.post(format!("{url}{PATH}")).header("content-type", "application/json");
    if let Some(secret) = secret {
        asked = asked.header("x-telegram-bot-api-secret-token", secret);
    }
    asked.send(body).map(|answer| answer.status().as_u16())
}

fn update(scene: &Scene, number: u64, text: &str) -> String {
    json!({"update_id": number, "message": scene.telegram.message(SEAN, HOMELAB, &format!("@long_bot {text}"))})
        .to_string()
}

#[test]
fn an_update_posted_a_hundred_times_also_across_a_restart_is_one_turn() {
    let mut scene = scene();
    let body = update(&scene, 77, "just once");
    // Who the bot is has to be known before anything is understood.
    until("it is taken", || post(&scene.server().url, Some(SECRET), &body) == 200);
    for round in 0..4 {
        let url = scene.server().url.clone();
        let posting: Vec<_> = (0..25)
            .map(|_| {
                let (url, body) = (url.clone(), body.clone());
                std::thread::spawn(move || try_post(&url, Some(SECRET), &body))
            })
            .collect();
        if round == 1 {
            scene.kill();
        }
        for one in posting {
            let _ = one.join();
        }
        if round == 1 {
            scene.start();
            until("it is taken", || post(&scene.server().url, Some(SECRET), &body) == 200);
        }
    }
    let after = update(&scene, 78, "the next one");
    assert_eq!(post(&scene.server().url, Some(SECRET), &after), 200);
    until("it is answered", || scene.said_in(HOMELAB).iter().any(|text| text.contains("the next one")));
    let rows = scene.audit("homelab");
    assert_eq!(rows.iter().filter(|row| row["action"] == "message.send").count(), 2);
    let asked =
        scene.provider.requests().iter().filter(|request| request.last_user_text().contains("just once")).count();
    assert!(asked <= 1, "asked {asked} times");
}

#[test]
fn nobody_speaks_for_telegram_without_the_secret() {
    let scene = scene();
    let body = update(&scene, 5, "let me in");
    let url = &scene.server().url;
    for wrong in [None, Some(""), Some("a-secret_of-the-webhool"), Some("A-SECRET_OF-THE-WEBHOOK")] {
        assert_eq!(post(url, wrong, &body), 401, "{wrong:?}");
    }
    let owner = scene.server().token();
    let (status, _) = scene.server().post(&owner, PATH, &json!({})).unwrap();
    assert_eq!(status, 401, "not even a person");
    until("the bot is ready", || post(url, Some(SECRET), "{}") == 200);
    for odd in ["", "[]", "null", "{\"update_id\": \"x\"}", "{", "\u{0}", "{\"update_id\":1,\"message\":{\"chat\":7}}"]
    {
        assert_eq!(post(url, Some(SECRET), odd), 200, "what cannot be read is never readable: {odd:?}");
    }
    let large = format!("{{\"update_id\": 9, \"x\": \"{}\"}}", "y".repeat(2 * 1024 * 1024));
    // It is answered before all of it was sent.
    assert!(try_post(url, Some(SECRET), &large).map_or(true, |status| status == 413));
    assert_eq!(scene.provider.requests().len(), 0);
    assert!(!scene.log().contains(SECRET));
}

#[test]
fn a_bot_that_asks_for_its_updates_is_told_none() {
    let scene = Scene::new();
    assert_eq!(post(&scene.server().url, Some(SECRET), "{}"), 404);
}

#[test]
fn where_the_house_is_reached_telegram_is_told_and_posts_there() {
    let mut scene = scene();
    // The address that it was given, as one would write it into the file.
    let url = scene.server().url.clone();
    scene.kill();
    let address = url.strip_prefix("http://").unwrap().to_owned();
    let before = std::fs::read_to_string(scene.home.config()).unwrap();
    scene.home.write(&format!("{before}server: {{ public_url: \"{url}\" }}\n"));
    scene.start_at(&address);
    until("telegram is told", || scene.telegram.webhook_url().is_some());
    assert_eq!(scene.telegram.webhook_url().unwrap(), format!("{url}{PATH}"));
    scene.ask(SEAN, HOMELAB, "by post");
    let said = scene.sent(1);
    assert!(said[0].text.contains("by post"));
    let told: Value = scene.telegram.calls("setWebhook")[0].clone();
    assert_eq!(told["secret_token"], SECRET);
}
