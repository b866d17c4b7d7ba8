// The pages in a real browser: accessible in light and dark and on a telephone, usable by keyboard, refreshed by themselves.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, ConsoleMessage, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { axeFaults, browserPath, type Look, looksOf, startBrowser, usePage } from './support/browser.ts';
import { type Filled, fill, fillMany, startWork, writeWorker } from './support/filled.ts';
import { openWebPlace, type WebPlace } from './support/web-place.ts';

/** Set to a folder to write screenshots: to `docs/images` for those of the documentation, elsewhere all. */
const pictures = process.env.SLUICE_SCREENSHOTS;
const documented = [
  'home-light',
  'home-dark',
  'home-phone',
  'item-light',
  'item-faulty-light',
  'run-dark',
  'empty-light',
];

const looks = looksOf(800);

describe.skipIf(browserPath === undefined)('the pages in a browser (skipped: no Chromium is found)', () => {
  let browser: Browser;
  let filled: WebPlace;
  let empty: WebPlace;
  let closed: WebPlace;
  let many: WebPlace;
  let calm: WebPlace;
  let read: WebPlace;
  let known: Filled;
  let work: string;
  const urls = { filled: '', empty: '', closed: '', many: '', calm: '', read: '' };
  beforeAll(async () => {
    const password = { password: 'correct horse' };
    const web = { port: 0, username: 'ann', password: { file: 'password' } };
    [browser, filled, empty, closed, many, calm, read] = await Promise.all([
      startBrowser(),
      openWebPlace(),
      openWebPlace(),
      openWebPlace({ web }, password),
      openWebPlace(),
      openWebPlace(),
      openWebPlace({ web: { ...web, public: true } }, password),
    ]);
    await fillMany(many.runtime, 40);
    await fillMany(calm.runtime, 2, { isCalm: true });
    await fillMany(read.runtime, 12);
    const faulty = await many.runtime.ledger.entry('local', 'amt-10/staff/table');
    if (!faulty?.reason) throw new Error('no faulty item');
    const reason = { ...faulty.reason, line: 2, path: many.place.write('wide.csv', `a\n${'1,'.repeat(150)}\n`) };
    await many.runtime.ledger.put('local', { ...faulty, reason });
    known = await fill(filled.runtime);
    await writeWorker(empty.runtime);
    work = await startWork(filled.runtime);
    urls.filled = await filled.app.listen({ host: '127.0.0.1', port: 0 });
    urls.empty = await empty.app.listen({ host: '127.0.0.1', port: 0 });
    urls.many = await many.app.listen({ host: '127.0.0.1', port: 0 });
    urls.calm = await calm.app.listen({ host: '127.0.0.1', port: 0 });
    urls.read = await read.app.listen({ host: '127.0.0.1', port: 0 });
    urls.closed = await closed.app.listen({ host: '127.0.0.1', port: 0 });
    await filled.runtime.redis.set(filled.runtime.keys.run('broken'), 'no record of a run');
  });
  afterAll(async () => {
    await browser?.close();
    await Promise.all([filled, empty, closed, many, calm, read].map((place) => place?.close()));
  });

  // The browser reports the status of a page that says itself what is wrong.
  const isStatus = (message: ConsoleMessage, page: Page): boolean =>
    message.location().url === page.url() && /status of (403|404|500)/.test(message.text());
  const onPage = (look: Look, use: (page: Page) => Promise<void>): Promise<void> =>
    usePage(browser, looks[look], isStatus, use);

  const addresses: [name: string, address: () => string, status?: number][] = [
    ['home', () => `${urls.filled}/`],
    ['home-calm', () => `${urls.calm}/`],
    ['home-40', () => `${urls.many}/`],
    ['home-filtered', () => `${urls.many}/?show=attention&manifest=amt-1`],
    ['home-reader', () => `${urls.read}/`],
    ['item-reader', () => `${urls.read}/item/amt-10/staff/table`],
    ['item-running', () => `${urls.filled}/item/transport/boardings/table`],
    ['item-wide-line', () => `${urls.many}/item/amt-10/staff/table`],
    ['search', () => `${urls.filled}/?q=table`],
    ['item', () => `${urls.filled}/item/${known.live}`],
    ['dataset', () => `${urls.filled}/item/city-open-data/budget-2026`],
    ['item-faulty', () => `${urls.filled}/item/${known.faulty}`],
    ['item-held', () => `${urls.filled}/item/${known.held}`],
    ['run', () => `${urls.filled}/run/${known.run}`],
    ['run-held', () => `${urls.filled}/run/${known.heldRun}`],
    ['run-open', () => `${urls.filled}/run/${work}`],
    ['run-items', () => `${urls.filled}/run/${known.run}/items`],
    ['runs', () => `${urls.filled}/runs/city-open-data@local`],
    ['confirm', () => `${urls.filled}/act/release?run=${known.heldRun}`],
    ['empty', () => `${urls.empty}/`],
    ['login', () => `${urls.closed}/`],
    ['nowhere', () => `${urls.filled}/nowhere`, 404],
    ['no-item', () => `${urls.filled}/item/of/nobody`, 404],
    ['broken', () => `${urls.filled}/run/broken`, 500],
  ];

  const expectSound = async (page: Page, look: Look): Promise<void> => {
    expect(await axeFaults(page)).toEqual([]);
    const { width } = looks[look].viewport;
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
  };

  describe.each(Object.keys(looks) as Look[])('%s', (look) => {
    it.each(addresses)('%s has no fault that axe finds, and fits the width', async (name, address, status = 200) => {
      await onPage(look, async (page) => {
        const reply = await page.goto(address(), { waitUntil: 'domcontentloaded' });
        expect(reply?.status()).toBe(status);
        await expectSound(page, look);
        if (pictures === undefined) return;
        const isDocumentation = pictures.endsWith('docs/images');
        if (isDocumentation && !documented.includes(`${name}-${look}`)) return;
        mkdirSync(pictures, { recursive: true });
        await page.screenshot({ path: join(pictures, `${name}-${look}.png`), fullPage: !isDocumentation });
      });
    });

    it('forms that are refused say so, without a fault that axe finds', async () => {
      await onPage(look, async (page) => {
        await page.goto(`${urls.filled}/act/pause?portal=local`);
        await page.evaluate("document.querySelector('main input[name=token]').value = 'outdated'");
        await page.click('main button.main');
        await page.waitForSelector('h1:has-text("Nothing was done")');
        await expectSound(page, look);
        await page.goto(`${urls.closed}/login`);
        await page.fill('#username', 'ann');
        await page.fill('#password', 'wrong');
        await page.click('main button');
        await page.waitForSelector('[role=alert]:has-text("Name or password is wrong.")');
        await expectSound(page, look);
      });
    });
  });

  it('on a phone what can be pressed is 24 pixels high and wide', async () => {
    await onPage('phone', async (page) => {
      for (const [, address] of addresses) {
        await page.goto(address(), { waitUntil: 'domcontentloaded' });
        const small = await page.evaluate(
          `[...document.querySelectorAll('a:not(.skip), button, summary, input:not([type=hidden])')].filter((e) => {
            const { width, height } = e.getBoundingClientRect();
            return width > 0 && (width < 24 || height < 24);
          }).map((e) => e.outerHTML.slice(0, 200))`,
        );
        expect(small, address()).toEqual([]);
      }
    });
  });

  it('forty manifests fit two screens, and a row has its actions in a menu', async () => {
    await onPage('light', async (page) => {
      await page.goto(`${urls.many}/`);
      const bottom = await page.evaluate("document.querySelector('table.manifests').getBoundingClientRect().bottom");
      expect(bottom).toBeLessThanOrEqual(2 * looks.light.viewport.height);
      await page.focus('[aria-label="Actions for amt-40@local"]');
      await page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
      expect((await focused(page)).name).toBe('Run now');
      await Promise.all([page.waitForURL(/\/act\/run-now\?target=amt-40/), page.keyboard.press('Enter')]);
    });
  });

  it('on a phone forty manifests fit two and a half screens, and what an upload has sent is seen at once', async () => {
    await onPage('phone', async (page) => {
      const { width, height } = looks.phone.viewport;
      await page.goto(`${urls.many}/`);
      const table = await page.evaluate("document.querySelector('table.manifests').getBoundingClientRect().height");
      expect(table).toBeLessThanOrEqual(2.5 * height);
      for (const path of ['/item/transport/boardings/table', `/run/${work}`]) {
        await page.goto(`${urls.filled}${path}`);
        const right = `Math.max(...[...document.querySelectorAll('progress')].map((e) => e.parentElement.getBoundingClientRect().right))`;
        expect(await page.evaluate(right), path).toBeLessThanOrEqual(width);
      }
    });
  });

  const focused = (page: Page): Promise<{ name: string; outline: string; href: string | null }> =>
    page.evaluate(`(() => {
      const element = document.activeElement;
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      return { name: element.innerText || element.getAttribute('aria-label') || element.tagName, outline: outlineStyle + ' ' + outlineWidth, href: element.getAttribute('href') };
    })()`);

  it('by keyboard alone somebody logs in, and out again', async () => {
    await onPage('light', async (page) => {
      await page.goto(`${urls.closed}/item/a/b`);
      expect(page.url()).toBe(`${urls.closed}/login?to=%2Fitem%2Fa%2Fb`);
      const reach = async (id: string): Promise<void> => {
        for (let tabs = 0; tabs < 10; tabs++) {
          await page.keyboard.press('Tab');
          expect((await focused(page)).outline).toBe('solid 3px');
          if ((await page.evaluate('document.activeElement.id || document.activeElement.innerText')) === id) return;
        }
        throw new Error(`nothing is called ${id}`);
      };
      await reach('username');
      await page.keyboard.type('ann');
      await reach('password');
      await page.keyboard.type('correct horse');
      await Promise.all([page.waitForURL(`${urls.closed}/item/a/b`), page.keyboard.press('Enter')]);
      await page.goto(`${urls.closed}/`);
      await reach('Log out');
      await Promise.all([page.waitForURL(`${urls.closed}/login`), page.keyboard.press('Enter')]);
    });
  });

  it('a page whose session has ended leads to the login when it refreshes, and back', async () => {
    await onPage('light', async (page) => {
      const asked = `${urls.closed}/?q=x`;
      const logIn = async (): Promise<void> => {
        await page.fill('#username', 'ann');
        await page.fill('#password', 'correct horse');
        await Promise.all([page.waitForURL(asked), page.click('main button')]);
      };
      await page.goto(asked);
      await logIn();
      await page.context().clearCookies();
      await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
      await page.waitForURL(`${urls.closed}/login?to=%2F%3Fq%3Dx`);
      await logIn();
    });
  });

  it('by keyboard alone a held run is discarded, and the focus is always seen', async () => {
    await onPage('light', async (page) => {
      await page.goto(`${urls.filled}/`);
      const press = async (name: string): Promise<void> => {
        for (let tabs = 0; tabs < 60; tabs++) {
          await page.keyboard.press('Tab');
          const { name: at, outline } = await focused(page);
          expect(outline, at).toBe('solid 3px');
          if (at.trim() === name) return page.keyboard.press('Enter');
        }
        throw new Error(`nothing is called ${name}`);
      };
      await page.keyboard.press('Tab');
      expect((await focused(page)).name).toBe('Skip to content');
      await page.keyboard.press('Enter');
      await Promise.all([page.waitForURL(/\/act\/discard/), press('Discard')]);
      expect(await page.textContent('main')).toContain('is dropped without changes');
      await Promise.all([page.waitForURL(/\/run\//), press('Discard')]);
      expect(await filled.runtime.plans.held()).toEqual([]);
    });
  });

  it('a page shows what has changed, and leaves focus and what was opened as they are', async () => {
    await onPage('light', async (page) => {
      await page.goto(`${urls.filled}/item/${known.live}`);
      await page.click('summary:has-text("earlier")');
      await page.focus('a[href="/item/city-open-data/air-quality"]');
      const entry = await filled.runtime.ledger.entry('local', known.live);
      if (!entry) throw new Error('no entry');
      await filled.runtime.ledger.put('local', { ...entry, title: 'Renamed meanwhile', syncedAt: Date.now() });
      await page.waitForSelector('h1:has-text("Renamed meanwhile")');
      expect(await page.evaluate('document.querySelector("details#versions").open')).toBe(true);
      expect((await focused(page)).href).toBe('/item/city-open-data/air-quality');
    });
  });

  it('a page that cannot be refreshed says so, until it is again', async () => {
    await onPage('light', async (page) => {
      await page.goto(`${urls.calm}/`);
      expect(await page.isVisible('#outdated')).toBe(false);
      await page.route('**', (route) => route.fulfill({ status: 500 }));
      await page.waitForSelector('text=may be outdated');
      await page.unroute('**');
      await page.waitForSelector('#outdated', { state: 'hidden' });
    });
  });

  it('without scripts everything is there', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    try {
      const page = await context.newPage();
      await page.goto(`${urls.filled}/`);
      await page.fill('input[name=q]', 'noise map table');
      await page.press('input[name=q]', 'Enter');
      await page.click('a[href="/item/city-open-data/noise-map/table"]');
      expect(await page.textContent('h1')).toBe('Noise map, table');
    } finally {
      await context.close();
    }
  });
});
