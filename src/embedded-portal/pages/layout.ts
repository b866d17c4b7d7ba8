// The frame of the public pages: head, stylesheet, header, footer, and the headers that keep a browser from running anything.
import { createHash } from 'node:crypto';
import { paths } from '../../dataset-api/paths.ts';
import { type Html, html, trusted } from '../../util/html.ts';
import type { Answer } from '../answer.ts';
import type { Call, Portal } from '../call.ts';

/** True when the portal has that operation of a resource: a page names no address that is not there. */
export const isExposed = ({ expose }: Portal, resource: string, operation: string): boolean =>
  expose === null || (Object.hasOwn(expose, resource) && expose[resource]?.includes(operation) === true);

const stylesheet = `
:root{color-scheme:light dark;--ink:#1d2129;--soft:#59616e;--line:#d9dde3;--back:#fff;--band:#f4f6f8;--link:#0b57a4}
@media(prefers-color-scheme:dark){:root{--ink:#e4e7eb;--soft:#a1a9b5;--line:#383f4a;--back:#14171c;--band:#1d2229;--link:#86b9f5}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--ink);font:1rem/1.55 system-ui,sans-serif;overflow-wrap:anywhere}
header,main,footer{max-width:62rem;margin:0 auto;padding:1rem 1.25rem}
header{border-bottom:1px solid var(--line)}
header a{color:inherit;font-weight:600;text-decoration:none}
footer{margin-top:2rem;border-top:1px solid var(--line);color:var(--soft);font-size:.875rem}
a{color:var(--link)}
h1{font-size:1.75rem;line-height:1.2;margin:.75rem 0}
h2{font-size:1.2rem;margin:2rem 0 .5rem}
.crumb,.soft{color:var(--soft);font-size:.9rem}
.crumb,.soft,.items p{margin:.15rem 0}
.items{list-style:none;margin:0;padding:0}
.items>li{padding:.9rem 0;border-bottom:1px solid var(--line)}
.items h2,.items h3{font-size:1.05rem;margin:0}
.tags{display:flex;flex-wrap:wrap;gap:.35rem;list-style:none;margin:0;padding:0}
.tags li{background:var(--band);border:1px solid var(--line);border-radius:1rem;padding:0 .6rem}
.text{max-width:44rem}
.text img{max-width:100%}
.text pre,.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.9375rem}
th,td{text-align:start;vertical-align:top;padding:.4rem .75rem;border-bottom:1px solid var(--line)}
.facts{width:100%}
.facts th{width:13rem;padding-inline-start:0;color:var(--soft);font-weight:500}
.scroll{border:1px solid var(--line);border-radius:.4rem}
.scroll table{font-size:.875rem;width:max-content;min-width:100%}
.scroll th,.scroll td{max-width:22rem;overflow-wrap:break-word}
.scroll thead th{background:var(--band);white-space:nowrap}
.scroll .n{text-align:end;font-variant-numeric:tabular-nums}
.scroll tbody tr:last-child td{border-bottom:0}
code{font:.875em ui-monospace,monospace}
nav.pages{display:flex;gap:1.25rem;padding:1rem 0}
@media(max-width:36rem){h1{font-size:1.4rem}.facts tr{display:block;padding:.4rem 0;border-bottom:1px solid var(--line)}.facts th,.facts td{display:block;width:auto;padding:0;border:0}}
`;

const styleHash = createHash('sha256').update(stylesheet).digest('base64');

const headers = {
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'same-origin',
  'x-frame-options': 'DENY',
};

/** A page as text: the whole document. `canonical` is its one address. */
export const pageText = (
  { baseUrl, portal }: Call,
  { title, canonical, main }: { title: string | null; canonical: string | null; main: Html },
): string => {
  const { siteName } = portal.profile;
  return html`<!DOCTYPE html>
<html lang="en" dir="ltr">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title === null ? siteName : `${title} | ${siteName}`}</title>
${canonical === null ? null : html`<link rel="canonical" href="${canonical}">\n`}<style>${trusted(stylesheet)}</style>
</head>
<body>
<header><a href="${baseUrl}/">${siteName}</a></header>
<main>
${main}
</main>
<footer>${isExposed(portal, 'node', 'index') ? html`Everything here as data: <a href="${baseUrl}${paths.nodes}.json">Dataset REST API</a>` : siteName}</footer>
</body>
</html>
`.text;
};

/** A page as answer, with a policy that lets nothing run and nothing be loaded from elsewhere. */
export const pageAnswer = (status: number, body: string): Answer => ({
  status,
  contentType: 'text/html; charset=utf-8',
  headers: { ...headers },
  body,
});
