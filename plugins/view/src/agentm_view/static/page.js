// The page: fetches screens with its bearer and shows them. What it shows was made, and escaped, by the server.
"use strict";

(() => {
  const main = document.getElementById("main");
  const query = document.getElementById("q");
  const said = document.getElementById("said");
  const trouble = document.getElementById("trouble");
  const KEEP = "agentm-bearer";
  let bearer = sessionStorage.getItem(KEEP);
  let shown = { html: null, about: {} };
  let turn = 0; // the newest question; answers to older ones are dropped

  // ---------------------------------------------------------------------------------------------- asking

  class Problem extends Error {
    constructor(status, answer) {
      super(answer.error || "the page did not understand the answer");
      this.status = status;
      this.answer = answer;
    }
  }

  async function ask(path, options = {}) {
    let response;
    try {
      response = await fetch(path, { ...options, headers: { ...options.headers, Authorization: `Bearer ${bearer}` } });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      gone();
      throw error;
    }
    if (response.status === 401) locked();
    else back();
    return response;
  }

  async function askJson(path, options) {
    const response = await ask(path, options);
    const answer = await response.json();
    if (!response.ok && answer.html === undefined) throw new Problem(response.status, answer);
    return { status: response.status, ...answer };
  }

  const post = (path, body) =>
    askJson(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

  async function enter() {
    const token = new URLSearchParams(location.hash.slice(1)).get("token");
    if (token) {
      history.replaceState(null, "", location.pathname + location.search);
      const response = await fetch("/api/enter", {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ token }),
      });
      if (response.ok) {
        bearer = (await response.json()).bearer;
        sessionStorage.setItem(KEEP, bearer);
      }
    }
    if (!bearer) bearer = await fromOtherTab();
    if (bearer) sessionStorage.setItem(KEEP, bearer);
    return Boolean(bearer);
  }

  // A new tab of this very page may have the key of another one. Only this origin hears the question.
  const tabs = new BroadcastChannel("agentm-view");
  tabs.onmessage = ({ data }) => {
    if (data.asks && bearer) tabs.postMessage({ bearer, to: data.asks });
  };
  function fromOtherTab() {
    const me = crypto.randomUUID();
    return new Promise((resolve) => {
      const hear = ({ data }) => { if (data.to === me) { done(data.bearer); } };
      const done = (found) => { tabs.removeEventListener("message", hear); clearTimeout(timer); resolve(found); };
      const timer = setTimeout(() => done(null), 300);
      tabs.addEventListener("message", hear);
      tabs.postMessage({ asks: me });
    });
  }

  // ---------------------------------------------------------------------------------------------- trouble

  function element(name, words, attributes = {}) {
    const made = document.createElement(name);
    made.textContent = words;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  function show_trouble(words, command, again) {
    const line = element("p", `${words} `);
    if (command) line.append(element("code", command));
    const button = element("button", "Try again", { type: "button" });
    button.addEventListener("click", again || (() => location.reload()));
    trouble.replaceChildren(line, button);
    trouble.hidden = false;
  }

  function gone() {
    if (trouble.dataset.why === "gone") return;
    trouble.dataset.why = "gone";
    show_trouble("The page has ended; what you wrote is kept in this tab. Start it again with", "agentm view", async () => {
      try { await ask("/api/menu"); refresh(); follow(); } catch { /* still gone */ }
    });
  }

  function locked() {
    sessionStorage.removeItem(KEEP);
    bearer = null;
    main.replaceChildren(
      element("h1", "This tab has no key", { tabindex: "-1" }),
      element("p", "Each address opens the page once. In the terminal where the page runs, press Enter for another address, or start it again:"),
      element("p", "agentm view", { class: "command" }),
    );
    document.title = "agentm";
  }

  function back() {
    if (trouble.dataset.why === "gone") { trouble.hidden = true; delete trouble.dataset.why; }
  }

  function storeTrouble(words) {
    if (words) { trouble.dataset.why = "store"; show_trouble(words, "", refresh); }
    else if (trouble.dataset.why === "store") { trouble.hidden = true; delete trouble.dataset.why; }
  }

  // ---------------------------------------------------------------------------------------------- screens

  const fragment = (html) => {
    const template = document.createElement("template");
    template.innerHTML = html;
    return template.content;
  };
  const linkTo = (place, href) => [...place.querySelectorAll("a")].find((one) => one.getAttribute("href") === href);
  const here = () => location.pathname + location.search;

  async function open(address, { push = true, quiet = false } = {}) {
    const mine = quiet ? turn : ++turn, before = shown; // looking again never takes the place of where the person goes
    keepDrafts();
    let answer;
    try {
      answer = await askJson(`/api/screen?at=${encodeURIComponent(address)}`);
    } catch (error) {
      if (error instanceof Problem && error.status !== 401) answer = { html: failure(error), title: "Not to be had", about: {} };
      else return;
    }
    if (mine !== turn || (quiet && shown !== before)) return; // the person was on the way when we looked, and is there
    if (push && address !== here()) history.pushState(null, "", address);
    if (quiet && answer.html === shown.html) { shown.news = answer.news; loadParts(true); return; }
    put(answer, quiet);
  }

  function put(answer, quiet = false) {
    const scroll = window.scrollY, wasOpen = [...main.querySelectorAll("details")].map((one) => one.open);
    const focused = main.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    shown = answer;
    main.replaceChildren(fragment(answer.html));
    document.title = answer.title ? `${answer.title} · agentm` : "agentm";
    markMenu();
    loadParts(quiet);
    restoreDrafts();
    if (window.drawGraphs) drawGraphs();
    if (quiet) {
      [...main.querySelectorAll("details")].forEach((one, i) => { one.open = Boolean(wasOpen[i]); });
      if (focused) linkTo(main, focused)?.focus({ preventScroll: true });
      window.scrollTo(0, scroll);
    } else {
      window.scrollTo(0, 0);
      const isBusy = document.activeElement === query || said.contains(document.activeElement); // searching, undoing
      if (!isBusy) (main.querySelector("[autofocus], h1") || main).focus({ preventScroll: true });
      follow();
    }
  }

  function failure(error) {
    const box = element("div", "", { class: "failure", role: "alert" });
    box.append(element("p", error.message));
    if (error.answer?.hint) box.append(element("p", `Next: ${error.answer.hint}`, { class: "hint" }));
    return box.outerHTML;
  }

  const parts = new Map(); // what each part said last, so that a refresh does not flicker
  function loadParts(quiet) {
    const places = [...main.querySelectorAll("[data-load]")];
    for (const place of places) {
      const known = parts.get(place.dataset.load);
      if (known !== undefined && place.querySelector(".loading")) fill(place, known);
    }
    const settled = main.querySelector("[data-settled]");
    Promise.all(places.map(async (place) => {
      try {
        const { html } = await askJson(`/api/part?${place.dataset.load}`);
        const changed = parts.get(place.dataset.load) !== html || !quiet;
        parts.set(place.dataset.load, html);
        if (changed && !isDirty(place)) fill(place, html);
      } catch (error) {
        if (error instanceof Problem) fill(place, failure(error));
      }
    })).then(() => {
      const rest = settled && [...settled.querySelectorAll("[data-load]")].some((one) => !one.hidden);
      settled?.querySelector(".settled")?.toggleAttribute("hidden", Boolean(rest));
    });
  }

  function fill(place, html) {
    const title = place.querySelector("h2");
    place.replaceChildren(...(title ? [title] : []), fragment(html));
    place.hidden = html === "";
  }

  async function loadMenu() {
    const { screens, read_only: readOnly } = await askJson("/api/menu");
    document.getElementById("menu").replaceChildren(
      ...screens.map(([title, address]) => element("a", title, { href: address })),
    );
    document.getElementById("foot").textContent = readOnly ? "This page only shows." : "Press ? for keys.";
    markMenu();
  }

  function markMenu() {
    for (const link of document.querySelectorAll("#menu a")) {
      const path = link.getAttribute("href");
      const at = location.pathname;
      const is = path === at || (path === "/notes" && /^\/(note\/|edit|new)/.test(at)) || (path === "/projects" && at.startsWith("/project/"));
      link.toggleAttribute("aria-current", is);
      if (is) link.setAttribute("aria-current", "page");
      if (is) bringIntoView(link, link.parentElement);
    }
  }

  /** Sideways only: on a phone the menu is a line that goes on beyond the edge, and the page stays where it is. */
  function bringIntoView(link, menu) {
    const [inner, outer] = [link.getBoundingClientRect(), menu.getBoundingClientRect()];
    menu.scrollLeft += Math.max(inner.right - outer.right, 0) + Math.min(inner.left - outer.left, 0);
  }

  const refresh = () => open(here(), { push: false, quiet: true });

  // ---------------------------------------------------------------------------------------------- drafts

  const isDirty = (place) => [...place.querySelectorAll("textarea")].some((one) => one.value !== one.defaultValue);

  function keepDrafts() {
    for (const area of main.querySelectorAll("textarea[data-draft]")) {
      const name = `agentm-draft:${area.dataset.draft}`;
      if (area.value === area.defaultValue) continue;
      sessionStorage.setItem(name, JSON.stringify({ text: area.value, expect: area.form.elements.expect?.value }));
    }
  }

  function restoreDrafts() {
    for (const area of main.querySelectorAll("textarea[data-draft]")) {
      const kept = JSON.parse(sessionStorage.getItem(`agentm-draft:${area.dataset.draft}`) || "null");
      if (!kept || kept.text === area.value) continue;
      area.value = kept.text;
      // Still on the condition of the text that it was written against: whoever changed that meanwhile is seen.
      if (kept.expect && area.form.elements.expect) area.form.elements.expect.value = kept.expect;
      area.form.prepend(element("p", "This is what you wrote before and did not save.", { class: "notice" }));
    }
  }

  const dropDraft = (name) => sessionStorage.removeItem(`agentm-draft:${name}`);

  // ---------------------------------------------------------------------------------------------- doing

  function toast(words, undo) {
    const box = element("div", "", { class: "toast" });
    box.append(element("span", words));
    if (undo) {
      const button = element("button", "Undo", { type: "button" });
      button.addEventListener("click", () => send("undo", { undo }));
      box.append(button);
    }
    said.replaceChildren(box);
    clearTimeout(toast.timer);
    toast.timer = setTimeout(() => said.replaceChildren(), undo ? 15000 : 5000);
  }

  function confirmed(words) {
    const dialog = document.getElementById("ask");
    document.getElementById("question").textContent = words;
    dialog.returnValue = "no";
    dialog.showModal();
    return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true }));
  }

  async function send(what, fields, form) {
    const buttons = form ? [...form.querySelectorAll("button")] : [];
    buttons.forEach((one) => { one.disabled = true; });
    try {
      const answer = await post("/api/do", { do: what, fields });
      const area = form?.querySelector("textarea[data-draft]");
      if (answer.status === 409) { // changed meanwhile: both texts, and nothing lost
        if (area) dropDraft(area.dataset.draft);
        shown = { ...shown, html: answer.html, about: { ...shown.about, editing: "yes" } };
        main.replaceChildren(fragment(answer.html));
        window.scrollTo(0, 0);
        return;
      }
      if (area) dropDraft(area.dataset.draft);
      form?.querySelectorAll("textarea").forEach((one) => { one.defaultValue = one.value; });
      toast(answer.said, answer.undo);
      parts.clear();
      if (answer.go) await open(answer.go, { push: answer.go !== here() });
      else await refresh();
    } catch (error) {
      if (!(error instanceof Problem)) return;
      if (form?.isConnected) {
        form.querySelector(".failure")?.remove();
        form.append(fragment(failure(error)));
        form.querySelector(".failure").scrollIntoView({ block: "nearest" });
      } else toast(error.message);
    } finally {
      buttons.forEach((one) => { one.disabled = false; });
    }
  }

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (form.method === "dialog") return;
    event.preventDefault();
    if (form.id === "search") { main.querySelector(".notes a")?.focus(); return; }
    if (!form.dataset.do) return;
    const question = event.submitter?.dataset.confirm;
    if (question && !(await confirmed(question))) return;
    const fields = Object.fromEntries(new FormData(form));
    if (form.dataset.do === "panel") Object.assign(fields, { panel: form.dataset.panel, action: form.dataset.action });
    await send(form.dataset.do, fields, form);
  });

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || link.target) return;
    const href = link.getAttribute("href");
    if (link.dataset.discard !== undefined) {
      link.closest("form").querySelectorAll("textarea").forEach((one) => { one.value = one.defaultValue; });
      dropDraft(link.dataset.discard);
    }
    if (!href.startsWith("/")) return;
    event.preventDefault();
    open(href);
  });

  window.addEventListener("popstate", () => open(here(), { push: false }));
  window.addEventListener("beforeunload", keepDrafts);

  // ---------------------------------------------------------------------------------------------- searching

  let typing = null;
  const lastFound = new WeakMap();
  async function searchNow() {
    const address = query.value ? `/search?q=${encodeURIComponent(query.value)}` : "/search";
    if (location.pathname !== "/search") {
      keepDrafts();
      history.pushState(null, "", address);
      const asked = query.value;
      await open(address, { push: false });
      if (query.value !== asked) searchNow(); // more was typed before the screen was there
      return;
    }
    history.replaceState(null, "", address);
    if (!document.getElementById("found")) return;
    typing?.abort();
    typing = new AbortController();
    try {
      const { html } = await askJson(`/api/search?q=${encodeURIComponent(query.value)}`, { signal: typing.signal });
      const place = document.getElementById("found");
      if (!place || lastFound.get(place) === html) return;
      const at = place.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
      place.replaceChildren(fragment(html));
      lastFound.set(place, html);
      if (at) (linkTo(place, at) || place.querySelector("a"))?.focus();
    } catch (error) {
      if (error instanceof Problem) document.getElementById("found")?.replaceChildren(fragment(failure(error)));
    }
  }
  query.addEventListener("input", () => { clearTimeout(searchNow.timer); searchNow.timer = setTimeout(searchNow, 10); }); // keys of one moment are one question

  // ---------------------------------------------------------------------------------------------- keys

  const goTo = { t: "/", n: "/notes", p: "/projects", h: "/health" };
  let going = false;
  document.addEventListener("keydown", (event) => {
    const at = event.target;
    const isField = at.matches("input, textarea, select") || at.isContentEditable;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && at.form) { at.form.requestSubmit(at.form.querySelector("button[type=submit]")); return; }
    if (event.key === "Escape" && at === query) { query.value = ""; query.blur(); return; }
    if (at === query && event.key === "ArrowDown") { event.preventDefault(); move(1); return; }
    if (isField || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (going && goTo[event.key]) { going = false; event.preventDefault(); open(goTo[event.key]); return; }
    going = event.key === "g";
    if (event.key === "/") { event.preventDefault(); query.focus(); query.select(); }
    else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "e") main.querySelector("[data-key=e]")?.click();
    else if (event.key === "n" && !document.getElementById("foot").textContent.includes("only")) open("/new");
    else if (event.key === "?") document.getElementById("keys").showModal();
  });

  function move(by) {
    const links = [...main.querySelectorAll(".notes a.title")];
    const at = links.indexOf(document.activeElement);
    links[Math.max(0, Math.min(links.length - 1, at + by))]?.focus();
  }

  // ---------------------------------------------------------------------------------------------- following

  let stream = null;
  async function follow() {
    stream?.abort();
    const mine = (stream = new AbortController());
    const about = new URLSearchParams({ note: shown.about?.key ?? "", news: shown.news ?? "" });
    try {
      const response = await ask(`/api/changes?${about}`, { signal: mine.signal });
      if (!response.ok) return;
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const lines = (rest + value).split("\n");
        rest = lines.pop();
        lines.filter(Boolean).forEach((line) => heard(JSON.parse(line)));
      }
      if (!mine.signal.aborted) { await new Promise((wait) => setTimeout(wait, 500)); if (!mine.signal.aborted) follow(); }
    } catch (error) {
      if (error.name !== "AbortError" && !mine.signal.aborted) gone();
    }
  }

  function heard(line) {
    if ("trouble" in line) storeTrouble(line.trouble);
    if (line.ended) { gone(); return; }
    if (!line.changed) return;
    if (shown.about?.editing || isDirty(main)) {
      if (line.note && !document.getElementById("meanwhile")) {
        // below the editor: above it, the button would move away from under the pointer
        main.append(element("p", "Somebody has just changed this note. When you save, you see both texts, and nothing is lost.", { class: "notice", id: "meanwhile", role: "status" }));
      }
      return;
    }
    if (location.pathname === "/search") { searchNow(); return; }
    refresh();
  }

  let resting = null;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(resting);
    if (document.hidden) resting = setTimeout(() => { stream?.abort(); stream = null; }, 60000);
    else if (!stream && bearer) { follow(); refresh(); }
  });

  // The page ends after half an hour without use; whoever reads or writes in it uses it.
  let used = Date.now();
  function use() {
    if (!bearer || Date.now() - used < 60000) return;
    used = Date.now();
    ask("/api/here").catch(() => {});
  }
  for (const kind of ["keydown", "pointermove", "wheel", "touchstart"]) document.addEventListener(kind, use, { passive: true });

  // ---------------------------------------------------------------------------------------------- beginning

  (async () => {
    if (!(await enter())) { locked(); return; }
    query.value = location.pathname === "/search" ? new URLSearchParams(location.search).get("q") || "" : "";
    loadMenu().catch(() => {});
    await open(here(), { push: false });
  })();
})();
