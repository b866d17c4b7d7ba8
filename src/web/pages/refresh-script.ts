// The only script of the pages: exchanges what is live on them when the service says that something has changed.

/**
 * Runs in the browser. While the page is hidden it listens to nothing: a browser has few connections to one server. What the
 * reader has opened or focused stays so.
 */
export const refreshScript = `
const live = () => document.getElementById('live');
let source = null;
let busy = false;
let missed = false;
const place = (root) => {
  const active = document.activeElement;
  if (!active || !root.contains(active)) return null;
  return active.id ? '#' + CSS.escape(active.id) : active.tagName === 'A' ? 'a[href="' + CSS.escape(active.getAttribute('href')) + '"]' : null;
};
const refresh = async () => {
  if (busy) { missed = true; return; }
  busy = true;
  try {
    const reply = await fetch(location.href, { headers: { accept: 'text/html' } });
    const before = live();
    const after = reply.ok && new DOMParser().parseFromString(await reply.text(), 'text/html').getElementById('live');
    if (before && after && !String(getSelection())) {
      for (const { id } of before.querySelectorAll('details[open][id]')) {
        const same = after.querySelector('#' + CSS.escape(id));
        if (same) same.open = true;
      }
      const focused = place(before);
      before.replaceWith(after);
      if (focused) after.querySelector(focused)?.focus({ preventScroll: true });
    }
  } catch {}
  busy = false;
  if (missed) { missed = false; setTimeout(refresh, 500); }
};
const listen = () => {
  if (document.hidden) { source?.close(); source = null; return; }
  if (source || !live()) return;
  source = new EventSource('/events');
  source.addEventListener('changed', refresh);
};
document.addEventListener('visibilitychange', () => { if (!document.hidden) refresh(); listen(); });
addEventListener('pagehide', () => { source?.close(); source = null; });
listen();
`;
