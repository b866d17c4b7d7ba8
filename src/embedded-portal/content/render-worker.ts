// Worker-thread entry: long Markdown, which takes time that grows with the square of its length and more.
import { createContext, Script } from 'node:vm';
import { formatted } from './safe-text.ts';

export interface RenderTask {
  text: string;
  /** Longest time for it. */
  limitMs: number;
}

const context = createContext({ work: (): void => undefined });
const script = new Script('work()');

/** The text as HTML that may be shown; null where that takes too long or cannot be done. */
export const renderText = ({ text, limitMs }: RenderTask): string | null => {
  let html: string | null = null;
  context.work = (): void => {
    html = formatted(text);
  };
  try {
    // Only the virtual machine can end a regular expression, and does so for scripts with a time limit.
    script.runInContext(context, { timeout: limitMs });
  } catch {
    return null; // out of time, or nested deeper than the stack
  }
  return html;
};
