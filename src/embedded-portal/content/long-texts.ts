// Renders long texts of a body in worker threads before it is read; text that takes too long stays plain.
import { WorkerPool } from '../../util/worker-pool.ts';
import type { Field } from './fields.ts';
import type { RenderTask } from './render-worker.ts';
import { isShort } from './safe-text.ts';

export type RenderedTexts = ReadonlyMap<string, string>;

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

const pool = new WorkerPool<RenderTask, string | null>({
  file: 'render-worker',
  of: import.meta.url,
  name: 'renderText',
  threads: 2,
});

/** Has long texts rendered, a bounded number at a time. */
export class LongTexts {
  #waiting = 0;

  /**
   * Renders what `body` holds for the formatted fields among `fields`, and what is `stored` of these, because a body that
   * changes a part of a field falls back to it; never rejects.
   */
  async render(
    fields: readonly Field[],
    body: Record<string, unknown>,
    stored: Record<string, unknown> = {},
  ): Promise<RenderedTexts> {
    const texts = new Set<string>();
    for (const { kind, name } of fields) {
      if ((kind !== 'body' && kind !== 'long') || !Object.hasOwn(body, name)) continue;
      collect(body[name], texts);
      collect(stored[name], texts);
    }
    const rendered = new Map<string, string>();
    for (const text of texts) {
      const html = await this.#one(text);
      if (html !== null) rendered.set(text, html);
    }
    return rendered;
  }

  async #one(text: string): Promise<string | null> {
    if (this.#waiting >= mostWaiting) return null;
    this.#waiting += 1;
    try {
      return await pool.run({ text, limitMs });
    } catch {
      return null; // its thread has ended, for want of memory
    } finally {
      this.#waiting -= 1;
    }
  }
}
