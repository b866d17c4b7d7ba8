// Positions of all keys and values of a YAML document, built from the parser's events.
import {
  type AliasEvent,
  EVENT_ID,
  type Event,
  getScalarValue,
  type MappingEvent,
  SCALAR_STYLE,
  type ScalarEvent,
  type SequenceEvent,
} from 'js-yaml';

/** A child of a place: where its key (or list item) starts, and the place of its value. */
interface Child {
  key: number;
  value: Position;
}

/** The place of one node: an offset into the text, and its children. */
export class Position {
  readonly start: number;
  /** Nodes of this part with every alias written out. */
  size = 1;
  entries: Map<string, Child> | null = null;
  items: Position[] | null = null;
  /** What an alias stands for. */
  target: Position | null = null;
  /** What `<<` brings in. */
  merged: Position[] = [];

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
interface Fault {
  path: PropertyKey[];
  message: string;
  end: 'key' | 'value';
  /** Offset of the earlier place that the message ends with, as a line. */
  earlier?: number;
}

/** Nodes that aliases may add to a document, so that a few lines cannot become gigabytes. */
const maxAddedByAliases = 1_000_000;

/** Builds the places of the only document of `events`; faults are an empty text, a second document, duplicate or odd keys, and runaway aliases. */
export const buildPlaces = (events: readonly Event[], text: string): { root: Position | null; faults: Fault[] } => {
  const builder = new Builder(events, text);
  const root = builder.document();
  return { root, faults: builder.faults };
};

class Builder {
  readonly faults: Fault[] = [];
  readonly #events: readonly Event[];
  readonly #text: string;
  readonly #anchors = new Map<string, Position | 'open'>();
  readonly #path: PropertyKey[] = [];
  #at = 0;
  #added = 0;

  constructor(events: readonly Event[], text: string) {
    this.#events = events;
    this.#text = text;
  }

  document(): Position | null {
    const documents = this.#events.filter((event) => event.type === EVENT_ID.DOCUMENT).length;
    if (documents > 1) this.#fault('the file holds more than one YAML document; keep one (`---` separates them)');
    this.#at = 1;
    const first = this.#events[1];
    if (first === undefined || first.type === EVENT_ID.POP) {
      this.#fault('the file is empty');
      return null;
    }
    const root = this.#node();
    if (this.#added > maxAddedByAliases)
      this.#fault(`aliases (\`*name\`) would add more than ${maxAddedByAliases} values; write them out or use fewer`);
    return root;
  }

  #fault(message: string, where: { end?: 'key' | 'value'; earlier?: number } = {}): void {
    this.faults.push({ path: [...this.#path], message, end: 'value', ...where });
  }

  /** Takes the next node; the cursor is behind it afterwards. `fallback` is where an absent value stands. */
  #node(fallback = 0): Position {
    const event = this.#events[this.#at++];
    switch (event?.type) {
      case EVENT_ID.SCALAR:
        return this.#anchored(event, new Position(event.valueStart < 0 ? fallback : scalarStart(event, this.#text)));
      case EVENT_ID.ALIAS:
        return this.#alias(event);
      case EVENT_ID.SEQUENCE:
        return this.#sequence(event);
      case EVENT_ID.MAPPING:
        return this.#mapping(event);
      default:
        return new Position(fallback);
    }
  }

  #child(step: PropertyKey, fallback: number): Position {
    this.#path.push(step);
    const place = this.#node(fallback);
    this.#path.pop();
    return place;
  }

  #anchored(event: ScalarEvent | SequenceEvent | MappingEvent, place: Position): Position {
    if (event.anchorStart >= 0) this.#anchors.set(this.#text.slice(event.anchorStart, event.anchorEnd), place);
    return place;
  }

  /** An anchor whose node is not complete yet: an alias to it would be endless. */
  #open(event: SequenceEvent | MappingEvent): void {
    if (event.anchorStart >= 0) this.#anchors.set(this.#text.slice(event.anchorStart, event.anchorEnd), 'open');
  }

  #alias(event: AliasEvent): Position {
    const name = this.#text.slice(event.anchorStart, event.anchorEnd);
    const place = new Position(Math.max(0, event.anchorStart - 1));
    const target = this.#anchors.get(name);
    if (target === 'open') this.#fault(`the alias \`*${name}\` is used inside its own value`);
    else if (target !== undefined) {
      place.target = target;
      place.size = target.size;
      this.#added += target.size;
    }
    return place;
  }

  #sequence(event: SequenceEvent): Position {
    const place = new Position(event.start);
    const items: Position[] = [];
    place.items = items;
    this.#open(event);
    while (!this.#closed()) {
      const item = this.#child(items.length, event.start);
      items.push(item);
      place.size += item.size;
    }
    return this.#anchored(event, place);
  }

  #mapping(event: MappingEvent): Position {
    const place = new Position(event.start);
    const entries = new Map<string, Child>();
    place.entries = entries;
    this.#open(event);
    while (!this.#closed()) {
      const key = this.#key();
      const value = this.#child(key.text, key.start);
      place.size += 1 + value.size;
      if (key.text === '<<' && key.plain)
        place.merged = place.merged.concat(value.target?.items ?? value.items ?? [value]);
      const earlier = entries.get(key.text);
      entries.set(key.text, { key: key.start, value });
      if (earlier !== undefined) this.#twice(key.text, earlier.key);
    }
    return this.#anchored(event, place);
  }

  #twice(key: string, earlier: number): void {
    this.#path.push(key);
    this.#fault('duplicate key; the first is', { end: 'key', earlier });
    this.#path.pop();
  }

  #key(): { text: string; start: number; plain: boolean } {
    const event = this.#events[this.#at];
    const { start } = this.#node();
    if (event?.type === EVENT_ID.SCALAR)
      return { text: getScalarValue(this.#text, event), start, plain: event.style === SCALAR_STYLE.PLAIN };
    this.#fault('a key must be plain text, not a list, a mapping or an alias');
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

/** Offset of a scalar with its quote; of a block scalar its first line. */
const scalarStart = ({ style, valueStart }: ScalarEvent, text: string): number => {
  const quoted = style === SCALAR_STYLE.SINGLE_QUOTED || style === SCALAR_STYLE.DOUBLE_QUOTED;
  const quote = text[valueStart - 1];
  return quoted && (quote === '"' || quote === "'") ? valueStart - 1 : valueStart;
};
