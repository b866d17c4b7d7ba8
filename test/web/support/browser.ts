// A real browser for the pages, where the machine has one.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, chromium, type Page } from 'playwright-core';

const places = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The browser's program; undefined where there is none. */
export const browserPath = places.find((path) => path !== undefined && existsSync(path));

/** Starts it. */
export const startBrowser = (): Promise<Browser> => {
  if (browserPath === undefined) throw new Error('no Chromium is found: set CHROMIUM');
  return chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--disable-gpu'] });
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
