// Lines of the log of an item as people read them: without names, keys and numbers that only the program needs.

const words: Readonly<Record<string, string>> = { guard: 'compare', attach: 'upload', orphan: 'detach' };

export const stepWord = (name: string): string => words[name] ?? name;

/** A line `TIME STEP ON: OUTCOME (12 ms)` about the item `key`: `text` follows the step. A note has neither `step` nor `ms`. */
export const stepLine = (line: string, key: string): { at: string; step: string; text: string; ms: number | null } => {
  const [, at = '', text = line, ms] = /^(\S+Z) (.*?)(?: \((\d+) ms\))?$/s.exec(line) ?? [];
  if (ms === undefined) return { at, step: '', text: text.replaceAll(aNode, 'its page'), ms: null };
  const [, step = '', rest = ''] = /^([^ :]*)(.*)$/s.exec(text.replace(` ${key}:`, ':').replace(onNode, '')) ?? [];
  return { at, step: stepWord(step), text: rest.replace(/:$/, ''), ms: Number(ms) };
};

const aNode = /(?:\b(?:the|dataset|resource) )*\bnode(?: \d+)?\b/g;
const onNode = / (?:to |dataset |resource )*node \d+(?=:|$)/;
