// Judges which words of a page a reader sees, by the browser's own layout and computed style. Knows nothing of mailwarden:
// it is the second opinion. Runs in the harness page and walks into each frame from outside; pages run no scripts.
'use strict';

const LEAST_OPACITY = 0.1;
const LEAST_FONT = 2;
const LEAST_CONTRAST = 1.25;
// To the right of this many widths of the window nobody scrolls.
const MOST_WIDTHS = 2;

// Elements whose text is no part of the page, or is not painted where it stands. Form fields are left to others.
const SILENT = new Set([
  'SCRIPT', 'STYLE', 'TITLE', 'TEMPLATE', 'OPTION', 'TEXTAREA', 'HEAD', 'CANVAS', 'DEFS', 'SYMBOL', 'CLIPPATH', 'MASK',
]);

function walk(doc) {
  const win = doc.defaultView;
  text.last = null;
  const seen = [];
  const unseen = [];
  const visit = (node) => {
    if (node.nodeType === 3) return text(node, doc, win, seen, unseen);
    if (node.nodeType !== 1) return;
    const name = node.tagName.toUpperCase();
    if (SILENT.has(name)) return;
    if (name === 'BR') return void seen.push('\n');
    const display = win.getComputedStyle(node).display;
    const flows = /^(inline|contents|ruby|none)/.test(display) && name !== 'HR';
    // Ruby text stands above its base.
    const gap = flows && name !== 'RT' ? '' : display === 'table-cell' ? '\t' : '\n';
    seen.push(gap);
    for (const child of node.childNodes) visit(child);
    seen.push(gap);
  };
  visit(doc.documentElement);
  return {
    seen: seen.join('').replace(/[ \t\r\f]*\n\s*/g, '\n').replace(/[ \t\r\f]+/g, ' ').trim(),
    unseen,
  };
}

// Pushes the words that are seen, keeps the others with the reason.
function text(node, doc, win, seen, unseen) {
  let at = 0;
  for (const piece of node.data.split(/([ \t\n\r\f]+)/)) {
    const from = at;
    at += piece.length;
    if (!piece) continue;
    if (/^[ \t\n\r\f]/.test(piece)) {
      const pre = /pre|break-spaces/.test(win.getComputedStyle(node.parentElement).whiteSpace);
      if (parts(node.parentElement, win)) seen.push(pre ? piece : ' ');
      continue;
    }
    const range = doc.createRange();
    range.setStart(node, from);
    range.setEnd(node, from + piece.length);
    const why = hidden(range, node.parentElement, win, piece.length);
    if (why) {
      unseen.push([why, piece]);
      continue;
    }
    const rects = range.getClientRects();
    if (apart(text.last, rects[0], parseFloat(win.getComputedStyle(node.parentElement).fontSize))) seen.push(' ');
    seen.push(piece);
    text.last = rects[rects.length - 1];
  }
}

// Whether two words on one line stand so far from each other that a reader takes them for two.
function apart(last, next, size) {
  if (!last || last.bottom <= next.top || next.bottom <= last.top) return false;
  return Math.max(next.left - last.right, last.left - next.right) > size / 4;
}

// Whether white space in here parts words: what is not laid out or has no size does not.
function parts(element, win) {
  let box = element;
  while (box.parentElement && win.getComputedStyle(box).display === 'contents') box = box.parentElement;
  return box.checkVisibility() && parseFloat(win.getComputedStyle(element).fontSize) > 0;
}

function hidden(range, element, win, length) {
  const rects = [...range.getClientRects()].filter((r) => r.width > 0 && r.height > 0);
  if (!rendered(element, win)) return 'visibility';
  if (rects.length === 0) return 'no box';
  const style = win.getComputedStyle(element);
  const size = parseFloat(style.fontSize) * scale(element, rects[0]);
  if (size < LEAST_FONT) return 'font size';
  if (rects.reduce((sum, r) => sum + Math.max(r.width, r.height), 0) < length * size * 0.08) return 'spacing';
  if (opacity(element, win) < LEAST_OPACITY) return 'opacity';
  if (blur(element, win) * 2 > size) return 'blur';
  if (turned(element, win)) return 'turned';
  const left = rects.map((r) => clipped(r, element, win)).filter(Boolean);
  if (left.length === 0) return 'clipped';
  if (!left.some((r) => reachable(r, win))) return 'off canvas';
  if (left.every((r) => pale(r, element, win))) return 'colour';
  if (left.every((r) => covered(r, element, win))) return 'covered';
  return null;
}

// The browser's own check, and what it says of an element's children but not of its own text.
function rendered(element, win) {
  let box = element;
  while (box.parentElement && win.getComputedStyle(box).display === 'contents') box = box.parentElement;
  if (!box.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true })) return false;
  if (win.getComputedStyle(element).visibility !== 'visible') return false;
  const style = win.getComputedStyle(box);
  if (style.contentVisibility === 'hidden') return false;
  if (box.tagName === 'DETAILS' && !box.open) return false;
  return true;
}

// How much smaller than its layout the element is painted.
function scale(element, rect) {
  let factor = 1;
  for (let e = element; e; e = e.parentElement) {
    const box = e.getBoundingClientRect();
    if (e.offsetWidth > 0 && e.offsetHeight > 0) {
      factor = Math.min(box.width / e.offsetWidth, box.height / e.offsetHeight, 1);
      break;
    }
  }
  return rect.height === 0 ? 0 : factor;
}

// Whether the back of something is turned to the reader, and is not painted.
function turned(element, win) {
  for (let e = element; e; e = e.parentElement) {
    const style = win.getComputedStyle(e);
    if (style.backfaceVisibility !== 'hidden') continue;
    const all = [style.transform, style.rotate].join(' ');
    const cells = (/matrix3d\((.*?)\)/.exec(all) || [, ''])[1].split(',').map(parseFloat);
    if (cells.length === 16 && cells[10] < 0) return true;
  }
  return false;
}

function opacity(element, win) {
  let all = 1;
  for (let e = element; e; e = e.parentElement) {
    const style = win.getComputedStyle(e);
    all *= parseFloat(style.opacity);
    for (const [, part] of style.filter.matchAll(/opacity\(([^)]*)\)/g)) all *= parseFloat(part);
    const mask = style.maskImage || style.webkitMaskImage || 'none';
    if (/gradient/.test(mask)) {
      const stops = colours(mask);
      if (stops.length && stops.every((c) => c[3] < LEAST_OPACITY)) all = 0;
    }
  }
  return all;
}

function blur(element, win) {
  let most = 0;
  for (let e = element; e; e = e.parentElement) {
    for (const [, part] of win.getComputedStyle(e).filter.matchAll(/blur\(([\d.]+)px\)/g)) {
      most = Math.max(most, parseFloat(part));
    }
  }
  return most;
}

// What is left of a box after every ancestor that cuts it, or null. A sliver does not count.
function clipped(rect, element, win) {
  let box = { left: rect.left, top: rect.top, right: rect.right, bottom: rect.bottom };
  const enough = (b) => b.right - b.left >= Math.min(2, rect.width * 0.3) && b.bottom - b.top >= Math.min(rect.height * 0.3, 4);
  // An out-of-flow box is cut only by ancestors from its containing block upwards.
  let escapes = null;
  for (let e = element; e; e = e.parentElement) {
    const style = win.getComputedStyle(e);
    const own = e.getBoundingClientRect();
    const holds = style.position !== 'static' || style.transform !== 'none' || style.filter !== 'none' ||
      /paint|strict|content/.test(style.contain);
    const holdsFixed = style.transform !== 'none' || style.filter !== 'none' || /paint|strict|content/.test(style.contain);
    if (escapes === 'absolute' && holds) escapes = null;
    if (escapes === 'fixed' && holdsFixed) escapes = null;
    const root = e === win.document.documentElement || e === win.document.body;
    const block = !/^(inline|contents)$/.test(style.display);
    if (!escapes && block && !root) box = overflow(box, style, own, enough);
    if (!box) return null;
    const path = shape(style, own);
    if (path) box = meet(box, path);
    if (!enough(box)) return null;
    if (style.position === 'absolute' || style.position === 'fixed') escapes = style.position;
  }
  return box;
}

function overflow(box, style, own, enough) {
  const inner = {
    left: own.left + parseFloat(style.borderLeftWidth), top: own.top + parseFloat(style.borderTopWidth),
    right: own.right - parseFloat(style.borderRightWidth), bottom: own.bottom - parseFloat(style.borderBottomWidth),
  };
  const [x, y] = [style.overflowX, style.overflowY];
  const contains = /paint|strict|content/.test(style.contain);
  if (x === 'visible' && y === 'visible' && !contains) return box;
  // What scrolls can be brought into view, if there is anything to look through.
  const scrolls = /auto|scroll/.test(x + y);
  if (scrolls) {
    const room = inner.right - inner.left >= 8 && inner.bottom - inner.top >= 8;
    const before = box.right <= inner.left - 1 || box.bottom <= inner.top - 1;
    return room && !before ? inner : null;
  }
  const cut = { ...box };
  if (x !== 'visible' || contains) [cut.left, cut.right] = [Math.max(box.left, inner.left), Math.min(box.right, inner.right)];
  if (y !== 'visible' || contains) [cut.top, cut.bottom] = [Math.max(box.top, inner.top), Math.min(box.bottom, inner.bottom)];
  return enough(cut) ? cut : null;
}

function meet(a, b) {
  return {
    left: Math.max(a.left, b.left), top: Math.max(a.top, b.top),
    right: Math.min(a.right, b.right), bottom: Math.min(a.bottom, b.bottom),
  };
}

// The bounding box of `clip` or `clip-path`, or null when there is none.
function shape(style, own) {
  const clip = /^rect\((.*)\)$/.exec(style.clip);
  if (clip && /absolute|fixed/.test(style.position)) {
    const [t, r, b, l] = clip[1].split(/[,\s]+/).map((v) => (v === 'auto' ? null : parseFloat(v)));
    return {
      top: own.top + (t ?? 0), left: own.left + (l ?? 0),
      right: r === null ? own.right : own.left + r, bottom: b === null ? own.bottom : own.top + b,
    };
  }
  const path = style.clipPath;
  const length = (text, whole) => (text.endsWith('%') ? (parseFloat(text) / 100) * whole : parseFloat(text));
  let found = /inset\(([^)]*)\)/.exec(path);
  if (found) {
    const sides = found[1].split(' round ')[0].trim().split(/\s+/);
    const [t, r = t, b = t, l = r] = sides;
    return {
      top: own.top + length(t, own.height), right: own.right - length(r, own.width),
      bottom: own.bottom - length(b, own.height), left: own.left + length(l, own.width),
    };
  }
  found = /(circle|ellipse)\((?:([^)]*?)\s*)?(?:at ([^)]*))?\)/.exec(path);
  if (found && found[2]) {
    const [rx, ry = rx] = found[2].split(/\s+/).map((v) => length(v, own.width));
    const [cx = '50%', cy = '50%'] = (found[3] || '').split(/\s+/).filter(Boolean);
    const [x, y] = [own.left + length(cx, own.width), own.top + length(cy, own.height)];
    return { left: x - rx, right: x + rx, top: y - ry, bottom: y + ry };
  }
  found = /polygon\(([^)]*)\)/.exec(path);
  if (found) {
    const points = found[1].replace(/^(nonzero|evenodd),/, '').split(',').map((p) => p.trim().split(/\s+/));
    const xs = points.map((p) => own.left + length(p[0], own.width));
    const ys = points.map((p) => own.top + length(p[1], own.height));
    return { left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) };
  }
  return null;
}

// Whether a reader can scroll there, and would.
function reachable(box, win) {
  const root = win.document.scrollingElement;
  const rtl = win.getComputedStyle(win.document.documentElement).direction === 'rtl' ||
    win.getComputedStyle(win.document.body).direction === 'rtl';
  const width = win.innerWidth;
  const [left, right] = [box.left + win.scrollX, box.right + win.scrollX];
  const least = rtl ? Math.max(width - root.scrollWidth, -MOST_WIDTHS * width) : 0;
  const most = rtl ? width : Math.min(Math.max(root.scrollWidth, width), MOST_WIDTHS * width);
  return right > least + 1 && left < most - 1 && box.bottom + win.scrollY > 1;
}

// [red, green, blue, alpha], 0 to 255 and 0 to 1.
function colours(text) {
  return [...text.matchAll(/rgba?\(([^)]*)\)/g)].map(([, body]) => {
    const [r, g, b, a = 1] = body.split(/[,\s/]+/).filter(Boolean).map(parseFloat);
    return [r, g, b, a];
  });
}

const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });

// Any notation that the browser computes, as [red, green, blue, alpha].
function colour(text) {
  const plain = colours(text);
  if (plain.length === 1 && text.startsWith('rgb')) return plain[0];
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = text;
  canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
  return [r, g, b, a / 255];
}

function over(front, back) {
  const a = front[3];
  return [0, 1, 2].map((i) => front[i] * a + back[i] * (1 - a)).concat(1);
}

function luminance([r, g, b]) {
  const part = (v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
}

function contrast(a, b) {
  const [x, y] = [luminance(a), luminance(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

// What lies behind the middle of a box, nearest first: ancestors, then what is painted under them.
function behind(box, element, win) {
  const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  const there = (r) => r.left <= x && x <= r.right && r.top <= y && y <= r.bottom;
  const chain = [];
  for (let e = element; e; e = e.parentElement) {
    // The colours of body and root cover the canvas; others need a box.
    const root = e === win.document.documentElement || e === win.document.body;
    if (root || [...e.getClientRects()].some(there)) chain.push(e);
  }
  const stack = win.document.elementsFromPoint(x, y);
  const under = stack.slice(stack.indexOf(element) + 1).filter((e) => !e.contains(element));
  const floor = chain.findIndex((e) => e === win.document.body || e === win.document.documentElement);
  return stack.includes(element) ? [...chain.slice(0, floor), ...under, ...chain.slice(floor)] : chain;
}

// Whether the text's colour is that of what lies behind it. Remote pictures are not loaded, so they cover nothing.
function pale(box, element, win) {
  const style = win.getComputedStyle(element);
  let backs = [[255, 255, 255, 1]];
  let painted = false;
  for (const e of behind(box, element, win).reverse()) {
    const own = win.getComputedStyle(e);
    if (/text/.test(own.backgroundClip) && e.contains(element)) {
      painted ||= /gradient/.test(own.backgroundImage) || contrast(over(colour(own.backgroundColor), backs[0]), backs[0]) >= LEAST_CONTRAST;
      continue;
    }
    backs = backs.map((back) => over(colour(own.backgroundColor), back));
    const stops = /gradient/.test(own.backgroundImage) ? colours(own.backgroundImage) : [];
    if (stops.length) backs = stops.flatMap((stop) => backs.map((back) => over(stop, back))).slice(0, 64);
  }
  if (painted) return false;
  const shadows = style.textShadow === 'none' ? [] : colours(style.textShadow);
  const stroke = parseFloat(style.webkitTextStrokeWidth) > 0 ? [colour(style.webkitTextStrokeColor)] : [];
  const inks = [colour(style.webkitTextFillColor || style.color), ...shadows, ...stroke];
  return backs.every((back) => inks.every((ink) => contrast(over(ink, back), back) < LEAST_CONTRAST));
}

// Whether something opaque is painted above the middle of the box.
function covered(box, element, win) {
  const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  const stack = win.document.elementsFromPoint(x, y);
  const own = stack.indexOf(element);
  if (own < 0) return false;
  return stack.slice(0, own).some((e) => !element.contains(e) && colour(win.getComputedStyle(e).backgroundColor)[3] > 0.9 &&
    opacity(e, win) > 0.9);
}
