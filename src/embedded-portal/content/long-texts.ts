// Renders long texts in threads, whose entry this is: Markdown takes quadratic time and more. What takes too long stays plain.
import { createContext, Script } from 'node:vm';
import { WorkerPool } from '../../util/worker-pool.ts';
import type { Field } from './fields.ts';
import { formatted, isShort } from './safe-text.ts';

/** Longest text that is rendered as Markdown, characters. */
const longest = 100_000;

/** Most texts that wait for a thread; ordinary use never reaches it. */
const mostWaiting = 100;

const limitMs = 2000;

const collect = (value: unknown, into: Set<string>): void => {
  if (typeof value === 'string') {
    if (!isShort(value) && value.length <= longest) into.add(value);
  } else if (typeof value === 'object' && value !== null) {
    for (const part of Object.values(value)) collect(part, into);
  }
};

const pool = new WorkerPool<{ text: string }, string | null>({
  file: 'long-texts',
  of: import.meta.url,
  name: 'renderText',
  threads: 2,
});

let waiting = 0;

/** The HTML; null where that takes too long, or too many wait. */
const render = async (text: string): Promise<string | null> => {
  if (waiting >= mostWaiting) return null;
  waiting += 1;
  try {
    return await pool.run({ text });
  } catch {
    return null; // its thread has ended, for want of memory
  } finally {
    waiting -= 1;
  }
};

/** HTML of the formatted fields in `body` and of what is `stored` of them: it may change a part of one. Never rejects. */
export const renderTexts = async (
  fields: readonly Field[],
  body: Record<string, unknown>,
  stored: Record<string, unknown> = {},
): Promise<ReadonlyMap<string, string>> => {
  const texts = new Set<string>();
  for (const { kind, name } of fields) {
    if ((kind !== 'body' && kind !== 'long') || !Object.hasOwn(body, name)) continue;
    collect([body[name], stored[name]], texts);
  }
  const rendered = new Map<string, string>();
  for (const text of texts) {
    const html = await render(text);
    if (html !== null) rendered.set(text, html);
  }
  return rendered;
};

/** What a thread does. Only the virtual machine can end a regular expression, and does so for scripts with a time limit. */
export const renderText = ({ text }: { text: string }): string | null => {
  try {
    const context = createContext({ work: () => formatted(text) });
    return String(new Script('work()').runInContext(context, { timeout: limitMs }));
  } catch {
    return null; // out of time, or nested deeper than the stack
  }
};
