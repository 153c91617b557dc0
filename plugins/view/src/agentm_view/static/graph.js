// Draws the graph of notes. Notes that are connected form a group; each group is laid out by itself (nodes push each
// other away, edges pull) and the groups are put side by side. The table below says the same in words.
"use strict";

(() => {
  const APART = 78, WIDE = 1.9, ROOM = 46, SHOWN = 26; // a label is wider than it is high

  function groups(nodes, edges) {
    const found = [], seen = new Set(), beside = new Map(nodes.map((node) => [node, []]));
    for (const { from, to } of edges) { beside.get(from).push(to); beside.get(to).push(from); }
    for (const first of nodes) {
      if (seen.has(first)) continue;
      const group = [first];
      seen.add(first);
      for (const node of group) for (const other of beside.get(node)) if (!seen.has(other)) { seen.add(other); group.push(other); }
      found.push({ nodes: group, edges: edges.filter(({ from }) => group.includes(from)) });
    }
    return found.sort((a, b) => b.nodes.length - a.nodes.length);
  }

  function layOut({ nodes, edges }) {
    nodes.forEach((node, i) => { node.x = Math.cos(i * 2.4) * APART * Math.sqrt(i) * 0.6; node.y = Math.sin(i * 2.4) * APART * Math.sqrt(i) * 0.6; });
    const steps = 260;
    for (let step = 0; step < steps; step++) {
      const most = 24 * (1 - step / steps) + 0.5;
      for (const node of nodes) { node.dx = -node.x * 0.015; node.dy = -node.y * 0.015; }
      for (let i = 0; i < nodes.length; i++) {
        for (let j = i + 1; j < nodes.length; j++) {
          const a = nodes[i], b = nodes[j];
          const x = a.x - b.x || 0.1 * (i + 1), y = a.y - b.y || 0.1, push = (APART * APART) / (x * x + y * y + 1);
          a.dx += x * push; a.dy += y * push; b.dx -= x * push; b.dy -= y * push;
        }
      }
      for (const { from, to } of edges) {
        const x = to.x - from.x, y = to.y - from.y, pull = Math.hypot(x, y) / APART / 2;
        from.dx += x * pull; from.dy += y * pull; to.dx -= x * pull; to.dy -= y * pull;
      }
      for (const node of nodes) {
        const far = Math.hypot(node.dx, node.dy) || 1, go = Math.min(far, most);
        node.x += (node.dx / far) * go;
        node.y += (node.dy / far) * go;
      }
    }
    for (const node of nodes) node.x *= WIDE;
  }

  // Side by side, in rows; the size of it all.
  function pack(all, width) {
    let left = 0, top = 0, low = 0, right = 0;
    for (const { nodes } of all) {
      const xs = nodes.map((node) => node.x), ys = nodes.map((node) => node.y);
      const [x, y] = [Math.min(...xs), Math.min(...ys)];
      const wide = Math.max(...xs) - x + 4 * ROOM, high = Math.max(...ys) - y + 2 * ROOM;
      if (left && left + wide > width) { left = 0; top = low; }
      for (const node of nodes) { node.x += left + 2 * ROOM - x; node.y += top + ROOM * 0.8 - y; }
      left += wide;
      low = Math.max(low, top + high);
      right = Math.max(right, left);
    }
    return [right, low];
  }

  function make(name, attributes, words) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (words !== undefined) element.textContent = words;
    return element;
  }

  function draw(place) {
    const data = JSON.parse(place.dataset.graph);
    const nodes = data.nodes.map((node) => ({ ...node }));
    const byKey = new Map(nodes.map((node) => [node.key, node]));
    const edges = data.edges.map(([from, to, kind]) => ({ from: byKey.get(from), to: byKey.get(to), kind }));
    const all = groups(nodes, edges);
    all.forEach(layOut);
    const widest = Math.max(...all.map(({ nodes: some }) => Math.max(...some.map((node) => node.x)) - Math.min(...some.map((node) => node.x)))) + 4 * ROOM;
    const [width, height] = pack(all, Math.max(900, widest));
    const svg = make("svg", { viewBox: `${Math.min(0, (width - 900) / 2)} 0 ${Math.max(900, width)} ${height}` });
    for (const { from, to, kind } of edges) svg.append(make("line", { x1: from.x, y1: from.y, x2: to.x, y2: to.y, class: kind }));
    const crowded = nodes.length > 60;
    for (const node of nodes) {
      const link = make("a", { href: node.href, tabindex: "-1", class: node.current ? "" : "past" });
      const size = 5 + Math.min(7, node.degree);
      link.append(make("circle", { cx: node.x, cy: node.y, r: size }), make("title", {}, node.title));
      if (!crowded || node.degree > 3) {
        const words = node.title.length > SHOWN ? `${node.title.slice(0, SHOWN - 1)}…` : node.title;
        link.append(make("text", { x: node.x, y: node.y + size + 14, "text-anchor": "middle" }, words));
      }
      svg.append(link);
    }
    place.replaceChildren(svg);
  }

  window.drawGraphs = () => document.querySelectorAll("[data-graph]").forEach(draw);
})();
