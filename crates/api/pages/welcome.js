// Signs this browser in when the address carries a one-time code, then shows who it is.
const show = (id, visible) => { document.getElementById(id).hidden = !visible; };
const say = (text) => { document.getElementById("status").textContent = text; };

async function message(response) {
  const body = await response.json().catch(() => null);
  return body?.error?.message ?? `The server answered ${response.status}.`;
}

async function signIn() {
  const code = location.hash.match(/^#\/sign-in\/([A-Za-z0-9_-]+)$/)?.[1];
  if (!code) return "";
  // The code works once; keep it out of the history.
  history.replaceState(null, "", "/");
  const response = await fetch("/auth/sign-in", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  return response.ok ? "" : message(response);
}

async function showSessions() {
  const response = await fetch("/sessions?limit=100");
  if (!response.ok) return;
  const list = document.getElementById("sessions");
  const { items } = await response.json();
  const line = (text) => Object.assign(document.createElement("li"), { textContent: text });
  const lines = items.map((s) => line(`${s.title ?? s.id} (${s.state}): ${s.key_count} keys, ${s.total_size_tokens} of ${s.config.max_store_tokens} tokens`));
  list.replaceChildren(...(lines.length ? lines : [line("None yet.")]));
}

async function main() {
  const problem = await signIn();
  const response = await fetch("/me");
  show("signed-in", response.ok);
  show("signed-out", !response.ok);
  say(problem || (response.ok ? "You are signed in." : "You are not signed in."));
  if (!response.ok) return;
  const me = await response.json();
  document.getElementById("user").textContent = me.user;
  document.getElementById("role").textContent = me.role;
  await showSessions();
}

document.getElementById("sign-out").addEventListener("click", async () => {
  await fetch("/auth/sign-out", { method: "POST" });
  await main();
});
window.addEventListener("hashchange", main);
main();
