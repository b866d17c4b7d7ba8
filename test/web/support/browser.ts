// A real browser for the pages, where the machine has one.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, type ConsoleMessage, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';

const places = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The browser's program; undefined where there is none. */
export const browserPath = places.find((path) => path !== undefined && existsSync(path));

/** Starts it. */
export const startBrowser = (): Promise<Browser> => {
  if (browserPath === undefined) throw new Error('no Chromium is found: set CHROMIUM');
  return chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--disable-gpu'] });
};

/** How pages are looked at: by day and by night in a window that high, and on a telephone. */
export const looksOf = (height: number) =>
  ({
    light: { colorScheme: 'light', viewport: { width: 960, height } },
    dark: { colorScheme: 'dark', viewport: { width: 960, height } },
    phone: { colorScheme: 'light', viewport: { width: 390, height: 844 } },
  }) satisfies Record<string, BrowserContextOptions>;

export type Look = keyof ReturnType<typeof looksOf>;

/** Uses a page that looks so; fails where it reports an error other than those for which `isMeant` holds. */
export const usePage = async (
  browser: Browser,
  look: BrowserContextOptions,
  isMeant: (message: ConsoleMessage, page: Page) => boolean,
  use: (page: Page) => Promise<void>,
): Promise<void> => {
  const context = await browser.newContext(look);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' && !isMeant(message, page)) faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(String(error)));
  try {
    await use(page);
    expect(faults).toEqual([]);
  } finally {
    await context.close();
  }
};

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

interface AxeResult {
  violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[];
}

/** What axe finds wrong with a page, a line each. Runs outside the page's policy, which lets no other script run. */
export const axeFaults = async (page: Page): Promise<string[]> => {
  const { readFileSync } = await import('node:fs');
  await page.evaluate(readFileSync(axePath, 'utf8'));
  const { violations } = await page.evaluate(
    () => (globalThis as unknown as { axe: { run(): Promise<AxeResult> } }).axe.run(), // defined by the line above
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  );
};
