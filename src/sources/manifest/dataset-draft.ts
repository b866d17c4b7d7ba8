// A dataset of a manifest that is made of other data, and whose parts know where they come from.
import type { FileProblem } from '../../model/errors.ts';
import { checkDocument } from '../../model/yaml/check.ts';
import { type End, type Path, type PlacedValue, valueAt } from '../../model/yaml/document.ts';
import { datasetProblems } from './cross-checks.ts';
import { resolveDataset } from './load.ts';
import { datasetSchema, type ManifestBase } from './schema.ts';

/** A problem of the part that came from there, or of what is at `inner` in it; with an empty key, that of the dataset counts. */
export type Origin = (inner: Path, message: string, end?: End) => FileProblem;

type Mapping = Record<string, unknown>;

/** A value as in `datasets:` of a manifest, not checked yet. */
export class DatasetDraft implements PlacedValue {
  readonly value: Mapping & { resources: Mapping[] } = { resources: [] };
  readonly problems: FileProblem[] = [];
  readonly remarks: string[] = [];
  readonly #origins = new Map<string, Origin>();
  readonly #whole: Origin;

  constructor(whole: Origin) {
    this.#whole = whole;
  }

  /** Sets what is at a path; nothing for undefined and empty text. */
  set(path: Path, value: unknown, origin?: Origin): void {
    if (value === undefined || value === '') return;
    let here: object = this.value;
    for (const step of path.slice(0, -1)) {
      const next: unknown = Object.hasOwn(here, step) ? Reflect.get(here, step) : undefined;
      here = next !== null && typeof next === 'object' ? next : own(here, step, {});
    }
    own(here, path.at(-1) ?? '', value);
    if (origin) this.#origins.set(nameOf(path), origin);
  }

  fill(path: Path, value: unknown): void {
    if (valueAt(this.value, path) === undefined) this.set(path, value);
  }

  addResource(origin: Origin): number {
    const at = this.value.resources.push({}) - 1;
    this.#origins.set(nameOf(['resources', at]), origin);
    return at;
  }

  /** At the nearest part around the path that has an origin. */
  problem(path: Path, message: string, end?: End): FileProblem {
    let length = path.length;
    while (length > 0 && !this.#origins.has(nameOf(path.slice(0, length)))) length -= 1;
    const origin = this.#origins.get(nameOf(path.slice(0, length))) ?? this.#whole;
    const problem = origin(path.slice(length), message, end);
    const key = path.filter((step) => step !== 'resources' && typeof step !== 'number').join('.');
    return { ...problem, key: problem.key || key };
  }

  position(path: Path, end?: End): { line: number; column: number } {
    return this.problem(path, '', end);
  }
}

const nameOf = (path: Path): string => path.map(String).join('\u0000');

/** Sets a key, whatever its name. */
const own = <T>(target: object, key: PropertyKey, value: T): T => {
  Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
  return value;
};

/** The dataset of a draft, whose paths are relative to `dir`; null with all problems where it has some. */
export const datasetOfDraft = (draft: DatasetDraft, defaults: ManifestBase['defaults'], dir: string) => {
  const { value, problems } = checkDocument(draft, datasetSchema);
  const all = [...draft.problems, ...problems, ...datasetProblems(draft, defaults.dataset)];
  if (value === null || all.length > 0) return { spec: null, problems: all };
  return { spec: resolveDataset(value, defaults, dir), problems: [] };
};
