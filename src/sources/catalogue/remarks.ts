// What of a catalogue is published otherwise than it stands, or not at all: counted, with the first place it happened.
const longestList = 60;

/** Collects remarks; equal ones are told once, with their number. */
export class Remarks {
  readonly #counts = new Map<string, { times: number; first: string }>();

  /** Notes one. `where` names the entry. */
  add(part: string, what: string, where: string): void {
    const text = `\`${part}\` ${what}`;
    const known = this.#counts.get(text);
    if (known) known.times += 1;
    else this.#counts.set(text, { times: 1, first: where });
  }

  /** One line for each kind, the frequent ones first. */
  lines(): string[] {
    const sorted = [...this.#counts].sort(([a, { times: m }], [b, { times: n }]) => n - m || (a < b ? -1 : 1));
    const lines = sorted.slice(0, longestList).map(([text, { times, first }]) => {
      const often = times === 1 ? `in ${first}` : `${times} times, first in ${first}`;
      return `${text} (${often})`;
    });
    return sorted.length > longestList ? [...lines, `and ${sorted.length - longestList} more kinds of remarks`] : lines;
  }
}
