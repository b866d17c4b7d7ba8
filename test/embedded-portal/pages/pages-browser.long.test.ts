// The public pages in a real browser: accessible in light and dark and on a telephone, without scripts, usable by keyboard.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, ConsoleMessage, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestPortal, type TestPortal } from '../../support/portal.ts';
import { axeFaults, browserPath, type Look, looksOf, startBrowser, usePage } from '../../web/support/browser.ts';

/** Set to a folder to write screenshots: to `docs/images` for that of the documentation, elsewhere all. */
const pictures = process.env.SLUICE_SCREENSHOTS;

const looks = looksOf(900);

const und = (...items: unknown[]): { und: unknown[] } => ({ und: items });

const day = (number: number): string => new Date(Date.UTC(2025, 0, 1 + number)).toISOString().slice(0, 10);

const counts = Array.from({ length: 365 }, (_, at) => {
  const count = 620 - 330 * Math.cos(at / 58) + ((at * 7919) % 140) - (at % 7 > 4 ? 160 : 0);
  return `${day(at)},Station ${(at % 5) + 1},${Math.round(count)},${(11 - 10 * Math.cos((at - 20) / 58)).toFixed(1)}`;
});

const tables = {
  line: ['Daily counts', `day,station,bicycles,temperature\n${counts.join('\n')}\n`],
  bars: [
    'By station',
    'station,bicycles,change\nMarket square,12345,-3.5\nNorth bridge,9876,2.1\nRiver path,15230,8.4\nUniversity,11111,0.4\n',
  ],
  spread: [
    'Trips',
    `trip_id,minutes\n${Array.from({ length: 3000 }, (_, at) => `${at},${5 + ((at * 7919) % 100) ** 2 / 200}`).join('\n')}\n`,
  ],
} as const;

describe.skipIf(browserPath === undefined)('the public pages in a browser (skipped: no Chromium is found)', () => {
  let browser: Browser;
  let portal: TestPortal;
  const nodes: Record<string, string> = {};

  beforeAll(async () => {
    [browser, portal] = await Promise.all([startBrowser(), startTestPortal()]);
    const admin = await portal.as('admin');
    for (let station = 1; station <= 30; station++) {
      const text = `Measured values of station ${station}: nitrogen dioxide and fine dust, by hour.`;
      await admin.create({
        ...{ type: 'dataset', title: `Air quality, station ${station}`, status: 1, created: 1_700_000_000 + station },
        ...{ body: und({ value: text, format: 'html' }), field_author: und({ value: 'Environment Agency' }) },
      });
    }
    nodes.group = await admin.create({ type: 'group', title: 'Department of Mobility', status: 1 });
    const text = 'Bicycles counted at five permanent **counting stations**, day by day. Values are raw.';
    nodes.dataset = await admin.create({
      ...{ type: 'dataset', title: 'Bike counts', status: 1, body: und({ value: text, format: 'html' }) },
      ...{ og_group_ref: und({ target_id: nodes.group }), field_license: und({ value: 'cc-by' }) },
      ...{ field_tags: und({ tid: 'bikes' }, { tid: 'traffic' }), field_frequency: und({ value: 'R/P1D' }) },
    });
    for (const [name, [title, content]] of Object.entries(tables)) {
      nodes[name] = await admin.create({
        ...{ type: 'resource', title, status: 1, field_format: und({ tid: 'csv' }) },
        ...{ body: und({ value: text, format: 'html' }), field_dataset_ref: und({ target_id: nodes.dataset }) },
      });
      await admin.attach(nodes[name], { name: `${title.toLowerCase().replace(' ', '-')}.csv`, content });
    }
  });
  afterAll(async () => {
    await browser?.close();
  });

  // Browsers ask for an icon by themselves.
  const isIcon = (message: ConsoleMessage): boolean => message.location().url.endsWith('/favicon.ico');
  const onPage = (look: Look, use: (page: Page) => Promise<void>): Promise<void> =>
    usePage(browser, looks[look], isIcon, use);

  const addresses: [name: string, path: () => string][] = [
    ['portal-list', () => '/'],
    ['portal-last', () => '/?page=2'],
    ['portal-found', () => '/?search=bike+mobility'],
    ['portal-none', () => '/?search=nowhere'],
    ['portal-group', () => `/node/${nodes.group}`],
    ['portal-dataset', () => `/node/${nodes.dataset}`],
    ['portal-resource', () => `/node/${nodes.line}`],
    ['portal-rows', () => `/node/${nodes.line}?search=station+3&page=2&chart=temperature`],
    ['portal-bars', () => `/node/${nodes.bars}?chart=change`],
    ['portal-spread', () => `/node/${nodes.spread}`],
  ];

  describe.each(Object.keys(looks) as Look[])('%s', (look) => {
    it.each(addresses)(
      '%s has no fault that axe finds, fits the width, and has targets for fingers',
      async (name, path) => {
        await onPage(look, async (page) => {
          expect((await page.goto(`${portal.url}${path()}`))?.status()).toBe(200);
          if (
            pictures !== undefined &&
            (!pictures.endsWith('docs/images') || `${name}-${look}` === 'portal-resource-light')
          ) {
            mkdirSync(pictures, { recursive: true });
            const file = join(pictures, `${name}-${look}.png`);
            await page.screenshot({ path: file, fullPage: !pictures.endsWith('docs/images') });
          }
          expect(await axeFaults(page)).toEqual([]);
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
            looks[look].viewport.width,
          );
          const small = `[...document.querySelectorAll('a, button, input')].filter((one) => !one.closest('.text'))
          .filter((one) => one.getBoundingClientRect().height < 24).map((one) => one.outerHTML)`;
          expect(await page.evaluate(small)).toEqual([]);
        });
      },
    );
  });

  it('by keyboard alone somebody searches, pages through rows and chooses a chart', async () => {
    await onPage('light', async (page) => {
      const reach = async (text: string): Promise<void> => {
        for (let tabs = 0; tabs < 60; tabs++) {
          await page.keyboard.press('Tab');
          const [name, outline] = await page.evaluate<[string, string]>(`(() => {
            const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
            return [document.activeElement.ariaLabel || document.activeElement.innerText, outlineStyle + ' ' + outlineWidth];
          })()`);
          expect(outline).toBe('solid 3px');
          if (name === text) return;
        }
        throw new Error(`${text} cannot be reached`);
      };
      await page.goto(`${portal.url}/`);
      await reach('Search the datasets');
      await page.keyboard.type('bike');
      await page.keyboard.press('Enter');
      await page.waitForURL('**/?search=bike');
      await reach('Bike counts');
      await page.keyboard.press('Enter');
      await page.waitForURL('**/dataset/bike-counts');
      await page.goto(`${portal.url}/node/${nodes.line}`);
      await reach('temperature');
      await page.keyboard.press('Enter');
      await page.waitForSelector('figcaption:has-text("temperature by day")');
      await reach('Next');
      await page.keyboard.press('Enter');
      await page.waitForSelector('text=Rows 21 to 40 of 365 rows');
      await reach('Search the rows');
      await page.keyboard.type('2025-03-04');
      await page.keyboard.press('Enter');
      await page.waitForSelector('text=1 row found');
    });
  });
});
