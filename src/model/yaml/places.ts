// The nodes of a YAML document: their values, where they stand, and what the parser accepts and we do not.
import { type Alias, isAlias, isMap, isNode, isScalar, isSeq, type LineCounter, type Node, type Pair } from 'yaml';
import { isObject } from '../../util/json.ts';

/** Keys and list positions from the root of a document to a value. */
export type Path = readonly PropertyKey[];

/** Which end of an entry a problem points at: its key (or the `-` item), or its value. */
export type End = 'key' | 'value';

/** Nodes that aliases may add to a document, so that a few lines cannot become gigabytes. */
const maxAddedByAliases = 1_000_000;

const maxDepth = 100;

type LineColumn = { line: number; column: number };

export class Places {
  readonly value: unknown;
  readonly faults: (LineColumn & { key: string; message: string })[] = [];
  readonly #root: Node;
  readonly #lines: LineCounter;
  /** Anchored nodes with their values and the nodes they stand for; null while they are read. */
  readonly #anchors = new Map<string, { node: Node; value: unknown; size: number } | null>();
  readonly #targets = new Map<Alias, Node>();
  /** Nodes so far, with every alias written out. */
  #size = 0;
  #added = 0;

  constructor(root: Node, lines: LineCounter) {
    this.#root = root;
    this.#lines = lines;
    this.value = this.#valueOf(root, []);
  }

  /** Line and column (from 1) of a path, or of the nearest part around it. */
  position(path: Path, end: End): LineColumn {
    let [value, place] = [this.#root, this.#root];
    for (const [depth, step] of path.entries()) {
      const child = this.#child(value, step);
      if (child === undefined) break;
      const { range } = child.value; // without a length where nothing is written, as behind `key:`
      const isMeant = end === 'value' && depth === path.length - 1 && range?.[0] !== range?.[1];
      place = isMeant ? child.value : child.key;
      value = child.value;
    }
    return this.#positionOf(place);
  }

  /** Key and value under a key or list position; through aliases and merge keys, too. */
  #child(node: Node, step: PropertyKey): { key: Node; value: Node } | undefined {
    const place = this.#target(node);
    const item = isSeq<Node>(place) ? place.items[Number(step)] : undefined;
    if (item !== undefined) return { key: item, value: item };
    if (!isMap<Node, Node>(place)) return undefined;
    const own = place.items.find(({ key }) => keyText(key) === step);
    if (own !== undefined) return { key: own.key, value: own.value ?? own.key };
    const merged = place.items.filter(isMerge).flatMap(({ value }) => {
      const listed = value && this.#target(value);
      return isSeq<Node>(listed) ? listed.items : (listed ?? []);
    });
    return merged
      .values()
      .map((each) => this.#child(each, step))
      .find((found) => found !== undefined);
  }

  #target(node: Node): Node {
    return (isAlias(node) && this.#targets.get(node)) || node;
  }

  #positionOf(node: Node): LineColumn {
    const { line, col } = this.#lines.linePos(node.range?.[0] ?? 0);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  }

  #fault(place: Node, path: Path, message: string): null {
    this.faults.push({ ...this.#positionOf(place), key: path.map(String).join('.'), message });
    return null;
  }

  #valueOf(node: Node | null, path: Path): unknown {
    this.#size += 1;
    if (isAlias(node)) return this.#aliased(node, path);
    if (!isNode(node) || !node.anchor) return this.#plain(node, path);
    const before = this.#size - 1;
    this.#anchors.set(node.anchor, null);
    const value = this.#plain(node, path);
    this.#anchors.set(node.anchor, { node, value, size: this.#size - before });
    return value;
  }

  #aliased(alias: Alias, path: Path): unknown {
    const { source } = alias;
    const found = this.#anchors.get(source);
    if (found === undefined)
      return this.#fault(alias, path, `the alias \`*${source}\` has no anchor \`&${source}\` before it`);
    if (found === null) return this.#fault(alias, path, `the alias \`*${source}\` is used inside its own value`);
    this.#targets.set(alias, found.node);
    this.#size += found.size;
    this.#added += found.size;
    if (this.#added <= maxAddedByAliases) return found.value;
    const most = maxAddedByAliases.toLocaleString('en');
    if (this.#added - found.size <= maxAddedByAliases)
      this.#fault(alias, path, `aliases (\`*name\`) would add more than ${most} values; write them out or use fewer`);
    return {};
  }

  #plain(node: Node | null, path: Path): unknown {
    if (isScalar(node)) return node.value;
    if (path.length > maxDepth && node)
      return this.#fault(node, path.slice(0, 2), `values are nested more than ${maxDepth} levels deep`);
    if (isSeq<Node>(node)) return node.items.map((item, at) => this.#valueOf(item, [...path, at]));
    return isMap<Node, Node>(node) ? this.#mapping(node.items, path) : null;
  }

  #mapping(pairs: readonly Pair<Node, Node>[], path: Path): unknown {
    const keys = new Map<string, Node>();
    const entries = new Map<string, unknown>();
    for (const { key, value } of pairs) {
      const name = keyText(key);
      const earlier = keys.get(name);
      if (earlier !== undefined)
        this.#fault(key, [...path, name], `duplicate key; the first is on line ${this.#positionOf(earlier).line}`);
      keys.set(name, key);
      this.#size += 1;
      entries.set(name, this.#valueOf(value, [...path, name]));
    }
    for (const { key } of pairs.filter(isMerge)) {
      const merged = [entries.get('<<')].flat();
      entries.delete('<<');
      if (!merged.every(isObject)) this.#fault(key, path, '`<<` takes a mapping, or a list of mappings');
      else for (const [name, value] of merged.flatMap(Object.entries)) if (!keys.has(name)) entries.set(name, value);
    }
    return Object.fromEntries(entries);
  }
}

/** The parser has refused other keys than text. */
const keyText = (key: Node): string => (isScalar(key) ? String(key.value) : '');

/** True for the key `<<`, which brings in the keys of other mappings. */
const isMerge = ({ key }: Pair<Node, Node>): boolean => isScalar(key) && key.type === 'PLAIN' && key.value === '<<';
