// Where every key and value of a YAML document stands, built from the parser's events.

import type { SequenceEvent } from 'js-yaml';
import { type AliasEvent, EVENT_ID, type Event, getScalarValue, type MappingEvent, type ScalarEvent } from 'js-yaml';

/** A child of a place: where its key (or list item) starts, and the place of its value. */
export interface Child {
  key: number;
  value: Place;
}

/** The place of one node: an offset into the text, and its children. */
export class Place {
  readonly start: number;
  /** Nodes of this part with every alias written out. */
  size = 1;
  entries: Map<string, Child> | null = null;
  items: Place[] | null = null;
  /** What an alias stands for. */
  target: Place | null = null;
  /** What `<<` brings in. */
  merged: Place[] = [];

  constructor(start: number) {
    this.start = start;
  }

  /** The child under a key or list position; through aliases and merge keys, too. */
  child(step: PropertyKey): Child | undefined {
    if (this.target !== null) return this.target.child(step);
    if (this.items !== null) {
      const item = this.items[Number(step)];
      return item && { key: item.start, value: item };
    }
    const own = this.entries?.get(String(step));
    if (own !== undefined) return own;
    for (const place of this.merged) {
      const found = place.child(step);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

/** A fault that the parser accepts and we do not. */
export interface Fault {
  path: PropertyKey[];
  message: string;
  end: 'key' | 'value';
}

/** Nodes that aliases may add to a document, so that a few lines cannot become gigabytes. */
const maxAddedByAliases = 1_000_000;

/** Builds the places of the only document of `events`; faults are an empty text, a second document, duplicate or odd keys, and runaway aliases. */
export const buildPlaces = (events: readonly Event[], text: string): { root: Place | null; faults: Fault[] } => {
  const builder = new Builder(events, text);
  const root = builder.document();
  return { root, faults: builder.faults };
};

class Builder {
  readonly faults: Fault[] = [];
  readonly #events: readonly Event[];
  readonly #text: string;
  readonly #anchors = new Map<string, Place | 'open'>();
  #at = 0;
  #added = 0;

  constructor(events: readonly Event[], text: string) {
    this.#events = events;
    this.#text = text;
  }

  document(): Place | null {
    const documents = this.#events.filter((event) => event.type === EVENT_ID.DOCUMENT).length;
    if (documents > 1) this.#fault([], 'the file holds more than one YAML document; keep one (`---` separates them)');
    this.#at = 1;
    const first = this.#events[1];
    if (first === undefined || first.type === EVENT_ID.POP) {
      this.#fault([], 'the file is empty');
      return null;
    }
    const root = this.#node([]);
    if (this.#added > maxAddedByAliases)
      this.#fault(
        [],
        `aliases (\`*name\`) would add more than ${maxAddedByAliases} values; write them out or use fewer`,
      );
    return root;
  }

  #fault(path: PropertyKey[], message: string, end: 'key' | 'value' = 'value'): void {
    this.faults.push({ path, message, end });
  }

  /** Takes the next node; the cursor stands behind it afterwards. `fallback` is where an absent value stands. */
  #node(path: PropertyKey[], fallback = 0): Place {
    const event = this.#events[this.#at++];
    switch (event?.type) {
      case EVENT_ID.SCALAR:
        return this.#anchored(event, new Place(event.valueStart < 0 ? fallback : scalarStart(event, this.#text)));
      case EVENT_ID.ALIAS:
        return this.#alias(event, path);
      case EVENT_ID.SEQUENCE:
        return this.#sequence(event, path);
      case EVENT_ID.MAPPING:
        return this.#mapping(event, path);
      default:
        return new Place(fallback);
    }
  }

  #anchored(event: ScalarEvent | SequenceEvent | MappingEvent, place: Place): Place {
    if (event.anchorStart >= 0) this.#anchors.set(this.#text.slice(event.anchorStart, event.anchorEnd), place);
    return place;
  }

  #open(event: SequenceEvent | MappingEvent): void {
    if (event.anchorStart >= 0) this.#anchors.set(this.#text.slice(event.anchorStart, event.anchorEnd), 'open');
  }

  #alias(event: AliasEvent, path: PropertyKey[]): Place {
    const name = this.#text.slice(event.anchorStart, event.anchorEnd);
    const place = new Place(Math.max(0, event.anchorStart - 1));
    const target = this.#anchors.get(name);
    if (target === 'open') this.#fault(path, `the alias \`*${name}\` stands inside what it stands for`);
    else if (target !== undefined) {
      place.target = target;
      place.size = target.size;
      this.#added += target.size;
    }
    return place;
  }

  #sequence(event: SequenceEvent, path: PropertyKey[]): Place {
    const place = new Place(event.start);
    const items: Place[] = [];
    place.items = items;
    this.#open(event);
    while (!this.#closed()) {
      const item = this.#node([...path, items.length], event.start);
      items.push(item);
      place.size += item.size;
    }
    return this.#anchored(event, place);
  }

  #mapping(event: MappingEvent, path: PropertyKey[]): Place {
    const place = new Place(event.start);
    const entries = new Map<string, Child>();
    place.entries = entries;
    this.#open(event);
    while (!this.#closed()) {
      const key = this.#key(path);
      const value = this.#node([...path, key.text], key.start);
      place.size += 1 + value.size;
      if (key.text === '<<' && key.plain) place.merged.push(...(value.target?.items ?? value.items ?? [value]));
      const earlier = entries.get(key.text);
      entries.set(key.text, { key: key.start, value });
      if (earlier !== undefined) {
        const line = this.#text.slice(0, earlier.key).split('\n').length;
        this.#fault([...path, key.text], `this key stands twice; the first is on line ${line}`, 'key');
      }
    }
    return this.#anchored(event, place);
  }

  #key(path: PropertyKey[]): { text: string; start: number; plain: boolean } {
    const event = this.#events[this.#at];
    if (event?.type === EVENT_ID.SCALAR) {
      const { start } = this.#node(path);
      return { text: getScalarValue(this.#text, event), start, plain: event.style === 1 };
    }
    const { start } = this.#node(path);
    this.#fault(path, 'a key must be plain text, not a list, a mapping or an alias');
    return { text: `?${start}`, start, plain: false };
  }

  /** True (and past it) at the end of a collection. */
  #closed(): boolean {
    const event = this.#events[this.#at];
    if (event !== undefined && event.type !== EVENT_ID.POP) return false;
    this.#at += 1;
    return true;
  }
}

/** Offset of a scalar as it is written: with its quote or block indicator's content. */
const scalarStart = (event: ScalarEvent, text: string): number => {
  const quote = text[event.valueStart - 1];
  return (event.style === 2 || event.style === 3) && (quote === '"' || quote === "'")
    ? event.valueStart - 1
    : event.valueStart;
};
