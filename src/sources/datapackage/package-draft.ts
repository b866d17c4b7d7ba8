// A data package as a dataset of a manifest that keeps the origin of each value.
import type { FileProblem } from '../../model/errors.ts';
import type { End, Path, PlacedValue, YamlDocument } from '../../model/yaml/document.ts';

type Mapping = Record<string, unknown>;

/** See the head of this file. */
export class PackageDraft implements PlacedValue {
  readonly value: Mapping & { resources: Mapping[] } = { resources: [] };
  /** What cannot be published. */
  readonly problems: FileProblem[] = [];
  /** What is not taken over. */
  readonly remarks: string[] = [];
  readonly #document: YamlDocument;
  readonly #origins = new Map<string, Path>();

  constructor(document: YamlDocument) {
    this.#document = document;
  }

  /** Sets a key of the dataset, of which `origin` is the place in the package. Nothing is set for undefined and empty text. */
  set(key: string, value: unknown, origin: Path): void {
    this.#put(this.value, [key], value, origin);
  }

  /** Adds a resource; returns what sets its keys. */
  addResource(origin: Path): (key: string, value: unknown, from: Path) => void {
    const at = this.value.resources.length;
    const resource: Mapping = {};
    this.value.resources.push(resource);
    this.#origins.set(nameOf(['resources', at]), origin);
    return (key, value, from) => this.#put(resource, ['resources', at, key], value, from);
  }

  /** Something of the package that cannot be published, at its place there. */
  fault(origin: Path, message: string): void {
    this.problems.push(this.#document.problem(origin, message));
  }

  /** Something of the package that is not taken over. */
  remark(origin: Path, message: string): void {
    const { line } = this.#document.position(origin);
    this.remarks.push(`${this.#document.file}:${line}: ${origin.map(String).join('.')}: ${message}`);
  }

  position(path: Path, end?: End): { line: number; column: number } {
    return this.#document.position(this.#originOf(path), end);
  }

  problem(path: Path, message: string, end?: End): FileProblem {
    return this.#document.problem(this.#originOf(path), message, end);
  }

  /** Another value for the part at `path`, whose parts came from the same places. */
  within(path: Path, value: unknown): PlacedValue {
    return {
      value,
      position: (inner, end) => this.position([...path, ...inner], end),
      problem: (inner, message, end) => this.problem([...path, ...inner], message, end),
    };
  }

  #put(target: Mapping, path: Path, value: unknown, origin: Path): void {
    if (value === undefined || value === '') return;
    target[String(path.at(-1))] = value;
    this.#origins.set(nameOf(path), origin);
  }

  /** The place of the nearest part around the path that came from the package; below it the keys are the same. */
  #originOf(path: Path): Path {
    for (let length = path.length; length > 0; length -= 1) {
      const origin = this.#origins.get(nameOf(path.slice(0, length)));
      if (origin) return [...origin, ...path.slice(length)];
    }
    return [];
  }
}

const nameOf = (path: Path): string => path.map(String).join('\u0000');
