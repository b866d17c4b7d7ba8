// The stylesheet of the pages (one typeface, light and dark, narrow and wide) and their only script.
import { plotStyle } from '../../util/plot.ts';

export const stylesheet = `
:root{color-scheme:light dark;--ink:#1f2430;--soft:#59626f;--line:#e2e5ea;--back:#fff;--band:#f5f6f8;--link:#1a5a9e;
--good:#1a7040;--wait:#835400;--bad:#ab231c;--good-band:#e8f4ec;--wait-band:#fbf1dc;--bad-band:#fcebe9;--calm:#9fb5a8}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#a5aebb;--line:#323944;--back:#14171c;--band:#1c2128;--link:#8fbcf7;
--good:#79d09b;--wait:#e8b95f;--bad:#f59b93;--good-band:#16301f;--wait-band:#362a11;--bad-band:#3d1b19;--calm:#52685b}}
*{box-sizing:border-box}
html{scroll-padding-top:1rem}
body{margin:0;background:var(--back);color:var(--ink);font:1rem/1.55 system-ui,sans-serif;overflow-wrap:anywhere}
body>header,main{max-width:66rem;margin:0 auto;padding:1rem 1.25rem}
body>header{display:flex;flex-wrap:wrap;gap:.75rem 1.5rem;align-items:center;justify-content:space-between;padding-bottom:.5rem}
.home{color:inherit;font-weight:650;font-size:1.15rem;letter-spacing:-.01em;text-decoration:none}
a{color:var(--link);text-underline-offset:.15em}
:focus-visible{outline:3px solid var(--link);outline-offset:2px;border-radius:.25rem}
.skip{position:absolute;left:-100rem}
.skip:focus{left:1rem;top:.5rem;background:var(--back);padding:.5rem}
h1{font-size:1.6rem;line-height:1.25;letter-spacing:-.015em;margin:1.25rem 0 .35rem;font-weight:650}
h2{font-size:1.05rem;margin:2.25rem 0 .5rem;font-weight:650}
h3,.name{font-size:1rem;margin:0;font-weight:600}
p{margin:.35rem 0}
.soft{color:var(--soft);font-size:.9375rem}
time{white-space:nowrap}
code,.log{font:.875em/1.5 ui-monospace,monospace}
.good{color:var(--good)}.wait{color:var(--wait)}.bad{color:var(--bad)}
.search{display:flex;gap:.5rem;flex:1 1 18rem;max-width:30rem}
input{font:inherit;color:inherit;background:var(--back);border:1px solid var(--soft);border-radius:.45rem;padding:.4rem .7rem;min-width:0}
.search input{flex:1}
button,.button{font:inherit;color:var(--ink);background:var(--band);border:1px solid var(--soft);border-radius:.45rem;padding:.4rem .9rem;cursor:pointer;text-decoration:none;display:inline-block}
button:hover,.button:hover{border-color:var(--ink)}
.row .button,.row button{font-size:.9375rem;padding:.25rem .75rem}
button.main{background:var(--ink);color:var(--back);border-color:var(--ink)}
.row{display:flex;flex-wrap:wrap;gap:.5rem .75rem;align-items:center;margin:.75rem 0}
.cards{list-style:none;margin:0;padding:0}
.cards>li{padding:.85rem 0;border-top:1px solid var(--line)}
.cards>li:last-child{border-bottom:1px solid var(--line)}
.summary{font-size:1.0625rem}
.filter{display:flex;flex-wrap:wrap;gap:.4rem .5rem;align-items:center;margin:.5rem 0}
.filter form{display:flex;gap:.4rem;flex:1 1 14rem;justify-content:flex-end}
.filter input,.filter button{font-size:.9375rem;padding:.2rem .7rem}
.chip{font-size:.875rem;border:1px solid var(--line);border-radius:1rem;padding:.1rem .7rem;text-decoration:none}
.chip[aria-current]{background:var(--band);border-color:var(--soft);color:var(--ink);font-weight:600}
.manifests{font-size:.9375rem;line-height:1.4}
.manifests th,.manifests td{padding:.1rem 1.25rem .1rem 0;white-space:nowrap;vertical-align:middle}
.manifests th[scope=row]{font-weight:600}
.manifests tr>:last-child{padding-right:0}
.manifests td:nth-child(2){white-space:normal}
.manifests svg,.manifests summary,.legend svg{display:block}
.legend,.legend span{display:flex;flex-wrap:wrap;gap:.35rem;align-items:center}
td progress{width:9rem}.manifests progress{width:5rem}
.hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.menu{position:relative;margin:0}
.menu summary{list-style:none;line-height:1.5rem;margin-inline-start:auto;width:2rem;text-align:center;border-radius:.45rem;font-weight:700}
.menu summary:hover,.menu[open] summary{background:var(--band)}
.menu div{position:absolute;z-index:1;right:0;top:100%;display:grid;gap:.35rem;width:max-content;padding:.5rem;background:var(--back);border:1px solid var(--soft);border-radius:.45rem}
.menu .button{font-size:.9375rem;padding:.2rem .75rem;border-color:transparent}
.legend span{margin-inline-start:.75rem}
.legend .strip{width:.4rem}
.row:empty{display:none}
figure{margin:.5rem 0}
.portals>li{padding:.4rem 0}
.portals li{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:center;justify-content:space-between}
.portals .row{margin:0}
.strip{height:1.25rem;width:10.625rem;max-width:100%}
.strip rect{fill:var(--calm)}.strip .bad{fill:var(--bad)}.strip .wait{fill:var(--wait)}.strip .now{fill:var(--link)}.strip .none{fill:var(--line)}
.note{border-inline-start:4px solid var(--line);background:var(--band);padding:.7rem 1rem;border-radius:0 .45rem .45rem 0;margin:.6rem 0}
.note.bad{border-color:var(--bad);background:var(--bad-band);color:inherit}
.note.wait{border-color:var(--wait);background:var(--wait-band);color:inherit}
.note.good{border-color:var(--good);background:var(--good-band);color:inherit}
.note ul{margin:.35rem 0;padding-inline-start:1.2rem}
.note p:first-child{margin-top:0}.note p:last-child,.note .row:last-child{margin-bottom:0}
.badge{display:inline-block;font-size:.8125rem;line-height:1.4;font-weight:600;border-radius:1rem;padding:.05rem .6rem;background:var(--band);white-space:nowrap}
.note .badge.badge{background:var(--back)}
.badge.good{background:var(--good-band)}.badge.wait{background:var(--wait-band)}.badge.bad{background:var(--bad-band)}
.tiles{display:flex;flex-wrap:wrap;gap:.5rem;list-style:none;margin:1rem 0;padding:0}
.tiles li{background:var(--band);border-radius:.5rem;padding:.5rem .9rem;min-width:6.5rem}
.tiles b{display:block;font-size:1.4rem;line-height:1.2;font-weight:650;font-variant-numeric:tabular-nums}
.tiles li{color:var(--soft);font-size:.875rem}.tiles b{color:var(--ink)}
.tiles .bad b{color:var(--bad)}.tiles .wait b{color:var(--wait)}
.scroll{overflow-x:auto}
.scroll table{min-width:32rem}
table{border-collapse:collapse;width:100%;font-size:.9375rem}
th,td{text-align:start;vertical-align:top;padding:.45rem .75rem .45rem 0;border-bottom:1px solid var(--line)}
thead th{color:var(--soft);font-weight:500;font-size:.875rem}
.n{text-align:end;font-variant-numeric:tabular-nums;white-space:nowrap}
.facts th{width:10rem;color:var(--soft);font-weight:400}
.timeline{list-style:none;margin:.5rem 0;padding:0 0 0 .45rem}
.timeline li{position:relative;border-inline-start:2px solid var(--line);padding:0 0 .7rem 1.1rem}
.timeline li:last-child{border-color:transparent}
.timeline li::before{content:"";position:absolute;inset-inline-start:-.42rem;top:.45rem;width:.7rem;height:.7rem;border-radius:50%;background:var(--good);border:2px solid var(--back)}
.timeline .bad::before{background:var(--bad)}.timeline .wait::before{background:var(--wait)}.timeline .told::before{background:var(--soft)}
.timeline .bad,.timeline .wait{color:inherit}
.timeline b{font-weight:600}
${plotStyle}
.plot{max-width:44rem}.plot svg{height:9rem}
.plot rect{fill:var(--calm)}.plot .now{fill:var(--good)}
details{margin:.75rem 0}
.diff del{background:#f882;color:inherit}.diff ins{background:#8f82;color:inherit;text-decoration:none}
summary{cursor:pointer;color:var(--link);width:fit-content}
pre{white-space:pre-wrap}
.log{white-space:pre-wrap;background:var(--band);border-radius:.45rem;padding:.75rem 1rem;margin:.5rem 0;max-height:30rem;overflow:auto}
progress{width:100%;max-width:24rem;height:.6rem;accent-color:var(--link)}
.login{max-width:22rem;margin:3rem auto}
.login label{display:block;margin:.75rem 0 .2rem}.login input{width:100%}.login button{margin-top:1.25rem}
@media(max-width:40rem){h1{font-size:1.35rem}
a{display:inline-block}a,summary{min-height:1.5rem;min-width:1.5rem}
.manifests thead{display:none}
.manifests tr{display:grid;grid-template-columns:1fr auto 4.4rem 2rem;gap:0 .6rem;align-items:center;padding:.1rem 0;border-bottom:1px solid var(--line)}
.manifests th,.manifests td{border:0;padding:0}.manifests a{vertical-align:top}.manifests td .strip{width:7rem}
.manifests th{grid-area:1/1}.manifests td:nth-child(2){grid-area:2/1}.manifests td:nth-child(3){grid-area:1/2/auto/4}.manifests td:nth-child(4){grid-area:2/2}
.manifests td:nth-child(5){grid-area:2/3/auto/5}.manifests td:nth-child(6){grid-area:1/4}
[aria-label=Jobs] table{min-width:0}[aria-label=Jobs] progress{width:100%}
.facts tr{display:block;padding:.4rem 0;border-bottom:1px solid var(--line)}.facts th,.facts td{display:block;width:auto;padding:0;border:0}}
`;

/** Runs in the browser: exchanges what is live when it has changed. What the reader has opened or focused stays so. */
export const refreshScript = `
const live = () => document.getElementById('live');
const outdated = document.getElementById('outdated');
let shown = live()?.innerHTML.trim();
let timer = 0;
const place = (root) => {
  const active = document.activeElement;
  if (!active || !root.contains(active)) return null;
  return active.id ? '#' + CSS.escape(active.id) : active.tagName === 'A' ? 'a[href="' + CSS.escape(active.getAttribute('href')) + '"]' : null;
};
const refresh = async () => {
  clearTimeout(timer);
  if (document.hidden || !shown) return;
  try {
    const reply = await fetch(location.href, { headers: { accept: 'text/html' } });
    if (reply.redirected) { location.assign(reply.url); return; }
    const before = live();
    const after = reply.ok && new DOMParser().parseFromString(await reply.text(), 'text/html').getElementById('live');
    outdated.hidden = Boolean(after);
    if (after && after.innerHTML.trim() !== shown && !String(getSelection()) && !before.querySelector('input:focus')) {
      shown = after.innerHTML.trim();
      for (const { id } of before.querySelectorAll('details[open][id]')) {
        const same = after.querySelector('#' + CSS.escape(id));
        if (same) same.open = true;
      }
      const focused = place(before);
      before.replaceWith(after);
      if (focused) after.querySelector(focused)?.focus({ preventScroll: true });
    }
  } catch { outdated.hidden = false; }
  clearTimeout(timer);
  timer = setTimeout(refresh, 3000);
};
document.addEventListener('visibilitychange', refresh);
timer = setTimeout(refresh, 3000);
`;
