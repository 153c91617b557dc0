// The search of an exported page: every word must be in a note; the title counts most.
"use strict";

(() => {
  const up = document.documentElement.dataset.up;
  const query = document.getElementById("q");
  const main = document.getElementById("main");
  const screen = [...main.childNodes];
  const notes = (self.agentmNotes || []).map((row) => ({ row, title: row[1].toLowerCase(), text: `${row[0]} ${row[2]} ${row[3]} ${row[5]}`.toLowerCase() }));
  const element = (name, words, className) => {
    const made = document.createElement(name);
    made.textContent = words;
    if (className) made.className = className;
    return made;
  };

  function found(words) {
    const scored = [];
    for (const note of notes) {
      let score = 0;
      for (const word of words) {
        const inTitle = note.title.includes(word), inText = note.text.includes(word);
        if (!inTitle && !inText) { score = 0; break; }
        score += (inTitle ? 4 : 0) + (inText ? 1 : 0);
      }
      if (score) scored.push([score, note]);
    }
    return scored.sort((a, b) => b[0] - a[0] || (a[1].row[4] < b[1].row[4] ? 1 : -1)).map(([, note]) => note);
  }

  function snippet(text, words) {
    const low = text.toLowerCase();
    const at = Math.max(0, Math.min(...words.map((word) => (low.indexOf(word) + 1 || Infinity) - 1)) - 50);
    const from = Number.isFinite(at) ? at : 0;
    const line = element("p", "", "snippet");
    let rest = (from ? "…" : "") + text.slice(from, from + 180);
    while (rest) {
      const hits = words.map((word) => [rest.toLowerCase().indexOf(word), word.length]).filter(([place]) => place >= 0).sort((a, b) => a[0] - b[0]);
      if (!hits.length) { line.append(rest); break; }
      const [place, length] = hits[0];
      line.append(rest.slice(0, place), element("mark", rest.slice(place, place + length)));
      rest = rest.slice(place + length);
    }
    return line;
  }

  function show() {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) { main.replaceChildren(...screen); return; }
    const answers = found(words);
    const list = document.createElement("ul");
    list.className = "notes found";
    for (const { row: [href, title, kind, project, changed, text] } of answers.slice(0, 50)) {
      const item = document.createElement("li");
      const link = element("a", title, "title");
      link.href = up + href;
      const meta = element("span", "", "meta");
      meta.append(element("span", kind, "kind"), element("span", project, "place"), element("span", changed));
      item.append(link, snippet(text, words), meta);
      list.append(item);
    }
    const head = element("h1", "Search");
    const count = element("p", answers.length ? `${answers.length} notes` : "Nothing found. Fewer or other words may find it.", "quiet");
    count.setAttribute("role", "status");
    main.replaceChildren(head, count, list);
  }

  query.addEventListener("input", show);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && event.target !== query) { event.preventDefault(); query.focus(); }
    if (event.key === "Escape" && event.target === query) { query.value = ""; show(); }
  });
  if (self.drawGraphs) drawGraphs();
})();
