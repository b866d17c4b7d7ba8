// Markup in everything that a client may write: a page shows it as text and runs nothing.
import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { hrefOf } from '../../../src/embedded-portal/pages/layout.ts';
import { html } from '../../../src/util/html.ts';
import { type Caller, type Reply, startTestPortal, type TestPortal } from '../../support/portal.ts';

const evil = `"><script>alert(1)</script><img src=x onerror='alert(2)'>&amp;`;

let portal: TestPortal;
let admin: Caller;

beforeAll(async () => {
  portal = await startTestPortal();
  admin = await portal.as('admin');
});

const und = (...items: unknown[]): { und: unknown[] } => ({ und: items });

const show = async (nid: string): Promise<Reply> => {
  const reply = await portal.anonymous.send('GET', `/node/${nid}`);
  expect(reply.status).toBe(200);
  return reply;
};

const known =
  /^<(?:\/?(?:html|head|title|style|body|header|main|footer|nav|h[1-6]|p|a|ul|li|table|thead|tbody|tr|th|td|div|code|time|bdi|span|strong|em|form|button|figure|figcaption|svg)|meta|link|br|input|path|rect)(?: (?:id|lang|dir|charset|name|content|rel|href|class|scope|role|aria-label|aria-hidden|aria-current|tabindex|datetime|type|value|maxlength|placeholder|viewBox|preserveAspectRatio|d|x|y|width|height)="[^"<>]*")* ?\/?>$/;

/** Tags of a page that its templates do not have. */
const oddTags = (text: string): string[] =>
  [...text.replace('<!DOCTYPE html>', '').matchAll(/<[^>]*>?/g)].map(([tag]) => tag).filter((tag) => !known.test(tag));

const oddLinks = (text: string): string[] =>
  [...text.matchAll(/(?:href|src)="([^"]*)"/g)]
    .map(([, url = '']) => url)
    .filter((url) => !/^(?:https?|mailto|ftp):/.test(url));

const expectHarmless = (text: string): void => {
  expect(oddTags(text)).toEqual([]);
  expect(oddLinks(text)).toEqual([]);
};

describe('markup', () => {
  it('in titles and texts of a dataset is shown as text', async () => {
    const nid = await admin.create({
      type: 'dataset',
      title: evil,
      status: 1,
      body: und({ value: evil, summary: evil, format: 'plain_text' }),
      field_author: und({ value: evil }),
      field_contact_name: und({ value: evil }),
      field_contact_email: und({ value: `${evil}@example.org` }),
      field_granularity: und({ value: evil }),
      field_rights: und({ value: evil }),
      field_spatial_geographical_cover: und({ value: evil }),
      field_data_dictionary: und({ value: evil, format: 'plain_text' }),
      field_tags: und({ tid: evil }),
      field_language: und({ value: evil }),
      field_additional_info: und({ first: evil, second: evil }),
      field_landing_page: und({ url: 'https://example.org/?a=%22&b=1', title: evil }),
    });
    await admin.create({ type: 'resource', title: evil, status: 1, field_dataset_ref: und({ target_id: nid }) });
    const { text } = await show(nid);
    expectHarmless(text);
    expect(text.split('&lt;script&gt;alert(1)').length).toBeGreaterThan(10);
    const front = await portal.anonymous.send('GET', '/');
    expect(front.text).toContain('&lt;script&gt;');
    expectHarmless(front.text);
    const found = await portal.anonymous.send('GET', `/?search=${encodeURIComponent(evil)}`);
    expect(found.text).toContain('1 dataset found');
    expectHarmless(found.text);
  });

  it('in file names, formats, columns and cells of a resource is shown as text', async () => {
    const nid = await admin.create({ type: 'resource', title: evil, status: 1, field_format: und({ tid: evil }) });
    const cell = `"${evil.replaceAll('"', '""')}"`;
    const content = `a,${cell},n\n${cell},${cell},1\n"2",${cell},2\n`;
    await admin.attach(nid, { name: `<img src=x onerror=alert(3)>'.csv`, content });
    const { text } = await show(nid);
    expect(text).toContain('<th scope="row" dir="auto">&quot;&gt;&lt;script&gt;alert(1)');
    const search = encodeURIComponent('"><script>');
    expectHarmless((await portal.anonymous.send('GET', `/node/${nid}?search=${search}&chart=${search}`)).text);
    expect(text).toContain('<td dir="auto">&quot;&gt;&lt;script&gt;alert(1)');
    expectHarmless(text);
  });

  it('in formatted text is what the sanitiser leaves', async () => {
    const value = `${evil}\n\n[x](javascript:alert(1)) <a href="java&#9;script:alert(1)" onclick="a()">y</a> <svg onload=alert(1)> </div></main> <style>*{}</style> **kept**`;
    const nid = await admin.create({ type: 'dataset', title: 'x', status: 1, body: und({ value, format: 'html' }) });
    const { text } = await show(nid);
    const [before = '', after = ''] = text.split('<strong>kept</strong>');
    expect(text).not.toMatch(/javascript:[^<]*"|<svg|onclick="|onerror="|<script/i);
    expect(before.match(/<style>/g)).toHaveLength(1);
    expect(`${before}${after}`.match(/<\/main>/g)).toHaveLength(1);
  });

  it('in a path or a Host header comes back nowhere', async () => {
    const marked = `${evil}<b>echoed</b>`;
    const missing = await portal.anonymous.send('GET', `/dataset/${encodeURIComponent(marked)}`);
    expect(missing.status).toBe(404);
    expect(missing.text).not.toContain('echoed');
    const front = await portal.anonymous.send('GET', '/', { headers: { host: 'a"><b>echoed</b>' } });
    expect(front.status).toBe(200);
    expect(front.text).not.toContain('echoed');
  });
});

describe('links', () => {
  it.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    ' javascript:alert(1)',
    'java\tscript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'vbscript:x',
    'file:///etc/passwd',
    '//example.org/x',
    'blob:https://example.org/x',
    '',
  ])('%j leads nowhere', (url) => {
    expect(hrefOf(url, 'http://portal')).toBeNull();
  });

  it.each([
    ['https://example.org/a?b=c&d', 'https://example.org/a?b=c&d'],
    ['ftp://example.org/a', 'ftp://example.org/a'],
    ['mailto:ann@example.org', 'mailto:ann@example.org'],
    ['example.org/a', 'http://example.org/a'],
    ['node/12', 'http://portal/node/12'],
    ['/node/12', 'http://portal/node/12'],
    ['<front>', 'http://portal/'],
  ])('%j leads to %j', (url, href) => {
    expect(hrefOf(url, 'http://portal')).toBe(href);
  });

  it('that may not be followed are shown as text', async () => {
    const nid = await admin.create({ type: 'resource', title: 'x', status: 1 });
    const refused = await admin.send('PUT', `/api/dataset/node/${nid}`, {
      body: { field_link_api: und({ url: 'javascript:alert(1)' }) },
    });
    expect(refused.status).toBe(406);
    expectHarmless((await show(nid)).text);
  });
});

describe('the template', () => {
  it('escapes texts, also in lists, and leaves HTML of its own as it is', () => {
    expect(html`<a title="${'"<&\''}">${['<', html`<b>${'>'}</b>`, null, 3]}</a>`.text).toBe(
      '<a title="&quot;&lt;&amp;&#039;">&lt;<b>&gt;</b>3</a>',
    );
  });
});

describe('headers', () => {
  it('let a browser run nothing, load nothing from elsewhere and guess no type', async () => {
    const nid = await admin.create({ type: 'dataset', title: 'Hidden', status: 0 });
    for (const [path, status] of [
      ['/', 200],
      [`/node/${nid}`, 403],
    ] as const) {
      const { headers, text, ...reply } = await portal.anonymous.send('GET', path);
      expect(reply.status).toBe(status);
      const style = /<style>(.*?)<\/style>/s.exec(text)?.[1] ?? '';
      const hash = createHash('sha256').update(style).digest('base64');
      expect(headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': `default-src 'none'; style-src 'sha256-${hash}'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
      });
      expect(text).not.toMatch(/ style="|<script|@import|url\(/);
    }
  });
});
