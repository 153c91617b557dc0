// Draws the graph of notes: nodes push each other away, edges pull. The table below it says the same in words.
"use strict";

function drawGraph(place) {
  const data = JSON.parse(place.dataset.graph);
  const width = 900, height = 560, count = data.nodes.length;
  const nodes = data.nodes.map((node, i) => ({
    ...node,
    x: width / 2 + Math.cos(i * 2.4) * 14 * Math.sqrt(i + 1),
    y: height / 2 + Math.sin(i * 2.4) * 12 * Math.sqrt(i + 1),
  }));
  const byKey = new Map(nodes.map((node) => [node.key, node]));
  const edges = data.edges.map(([from, to, kind]) => ({ from: byKey.get(from), to: byKey.get(to), kind }));
  const apart = Math.min(110, Math.sqrt((width * height) / (count + 2)) * 0.7);
  for (let step = 0; step < 220; step++) {
    const most = 18 * (1 - step / 220) + 0.5;
    for (const node of nodes) { node.dx = (width / 2 - node.x) * 0.02; node.dy = (height / 2 - node.y) * 0.03; }
    for (let i = 0; i < count; i++) {
      for (let j = i + 1; j < count; j++) {
        const a = nodes[i], b = nodes[j];
        const x = a.x - b.x || 0.1, y = a.y - b.y || 0.1, far = Math.hypot(x, y);
        const push = (apart * apart) / far / far / 2;
        a.dx += x * push; a.dy += y * push; b.dx -= x * push; b.dy -= y * push;
      }
    }
    for (const { from, to } of edges) {
      const x = to.x - from.x, y = to.y - from.y, pull = Math.hypot(x, y) / apart / 3;
      from.dx += x * pull; from.dy += y * pull; to.dx -= x * pull; to.dy -= y * pull;
    }
    for (const node of nodes) {
      const far = Math.hypot(node.dx, node.dy) || 1, go = Math.min(far, most);
      node.x += (node.dx / far) * go;
      node.y += (node.dy / far) * go;
    }
  }
  fit(nodes, width, height);
  const make = (name, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}` });
  for (const { from, to, kind } of edges) {
    svg.append(make("line", { x1: from.x, y1: from.y, x2: to.x, y2: to.y, class: kind }));
  }
  for (const node of nodes) {
    const link = make("a", { href: node.href, tabindex: "-1", class: node.current ? "" : "past" });
    const size = 5 + Math.min(7, node.degree);
    link.append(make("circle", { cx: node.x, cy: node.y, r: size }));
    const title = make("title", {});
    title.textContent = node.title;
    link.append(title);
    if (count <= 40 || node.degree > 3) {
      const words = make("text", { x: node.x + size + 4, y: node.y + 4 });
      words.textContent = node.title.length > 26 ? `${node.title.slice(0, 25)}…` : node.title;
      link.append(words);
    }
    svg.append(link);
  }
  place.replaceChildren(svg);
}

// Move and shrink what was laid out until all of it, and the words right of it, can be seen.
function fit(nodes, width, height) {
  const xs = nodes.map((node) => node.x), ys = nodes.map((node) => node.y);
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const scale = Math.min(1.4, (width - 230) / (right - left || 1), (height - 60) / (bottom - top || 1));
  for (const node of nodes) {
    node.x = 30 + (width - 230 - (right - left) * scale) / 2 + (node.x - left) * scale;
    node.y = 30 + (height - 60 - (bottom - top) * scale) / 2 + (node.y - top) * scale;
  }
}

function drawGraphs() {
  document.querySelectorAll("[data-graph]").forEach(drawGraph);
}
