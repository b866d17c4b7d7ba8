// Maps the properties of a data package and its resources to a manifest. The table is in docs/how-to/datapackage.md.
import { basename, isAbsolute } from 'node:path';
import { idOfName, titleOfName } from '../../dataset-api/names.ts';
import { licenseCode } from '../../dataset-api/values.ts';
import { type FileProblem, fileProblem } from '../../model/errors.ts';
import { encodings } from '../../model/recipe/encodings.ts';
import type { Step } from '../../model/recipe/steps.ts';
import { type TableSchema, tableSchemaSchema } from '../../model/recipe/table-schema.ts';
import { checkDocument } from '../../model/yaml/check.ts';
import { type End, type Path, PathMap, type PlacedValue, type YamlDocument } from '../../model/yaml/document.ts';
import { defined, isObject } from '../../util/json.ts';
import { isAddress } from '../manifest/list-schemas.ts';
import { type PackageFile, type PackageResource, packageSchema, type ReadPackage } from './read-package.ts';

type Mapping = Record<string, unknown>;

/** A data package as a dataset of a manifest that keeps the origin of each value. */
export class PackageDraft implements PlacedValue {
  readonly value: Mapping & { resources: Mapping[] } = { resources: [] };
  readonly problems: FileProblem[] = [];
  readonly remarks: string[] = [];
  readonly #document: YamlDocument;
  readonly #origins = new PathMap<Path>();

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
    this.#origins.set(['resources', at], origin);
    return (key, value, from) => this.#put(resource, ['resources', at, key], value, from);
  }

  /** Reports something of the package that cannot be published, at its place there. */
  fault(origin: Path, message: string): void {
    this.problems.push(this.#document.problem(origin, message));
  }

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
    this.#origins.set(path, origin);
  }

  /** The place of the nearest part around the path that came from the package; below it the keys are the same. */
  #originOf(path: Path): Path {
    const nearest = this.#origins.nearest(path);
    return nearest ? [...nearest.value, ...path.slice(nearest.length)] : [];
  }
}

/**
 * The package as a dataset of a manifest, not checked yet. `folder` is its name where it has none; `only` says which
 * resources are mapped, of a package that only describes files with ids of their own.
 */
export const mapPackage = (
  { value, document }: ReadPackage,
  folder: string,
  only?: (paths: string[]) => boolean,
): PackageDraft => {
  const draft = new PackageDraft(document);
  const name = value.name ?? folder;
  const id = idOfName(name);
  if (id === null && !only) draft.fault(['name'], `cannot derive an id from \`${name}\``);
  draft.set('id', id ?? 'package', ['name']);
  draft.set('title', oneLine(value.title) || titleOfName(name), ['title']);
  draft.set('description', value.description, ['description']);
  draft.set('tags', tagsOf(value), ['keywords']);
  mapHomepage(value, draft);
  mapLicense(value, draft);
  mapPeople(value, draft);
  mapSources(value, draft);
  draft.set('additionalInfo', factsOf(value), ['version']);
  for (const key of Object.keys(value)) if (!understood.has(key)) draft.remark([key], 'is ignored');
  for (const [index, resource] of value.resources.entries()) {
    if (only && !only([resource.path ?? []].flat())) continue;
    mapResource(draft, resource, ['resources', index]);
  }
  return draft;
};

const oneLine = (text: string | undefined): string | undefined => text?.replaceAll(/\s+/g, ' ').trim();

/** Properties that are mapped, or that mean nothing to readers. */
/** The others mean nothing to readers. */
const understood = new Set([...Object.keys(packageSchema.shape), 'profile', '$schema']);

const tagsOf = ({ keywords = [] }: PackageFile): string[] | undefined => {
  const tags = [...new Set(keywords.map((word) => word.trim()).filter((word) => word !== ''))];
  return tags.length > 0 ? tags : undefined;
};

const mapHomepage = ({ homepage }: PackageFile, draft: PackageDraft): void => {
  if (homepage === undefined || homepage === '') return;
  if (isAddress(homepage)) draft.set('landingPage', homepage, ['homepage']);
  else draft.remark(['homepage'], 'is not an http:// or https:// address');
};

const mapLicense = ({ licenses = [] }: PackageFile, draft: PackageDraft): void => {
  for (const [index, { name = '', path = '', title = '' }] of licenses.entries()) {
    const origin: Path = ['licenses', index];
    const code = licenseCode(path) ?? licenseCode(plainLicense(name));
    if (code !== null && draft.value.license === undefined) draft.set('license', code, origin);
    else if (code !== draft.value.license)
      draft.remark(
        origin,
        `\`${name || path || title}\` is ignored: ${code === null ? 'portals have no code for it' : 'a dataset has one license'}`,
      );
  }
};

/** Open Definition and SPDX identifiers without their versions: `CC-BY-4.0` is `cc-by`. */
const plainLicense = (name: string): string => {
  const plain = name.toLowerCase().replace(/-\d+(?:\.\d+)*$/, '');
  return (
    { cc0: 'cc-zero', pddl: 'odc-pddl', odbl: 'odc-odbl', 'odc-pddl': 'odc-pddl', ogl: 'uk-ogl', 'ogl-uk': 'uk-ogl' }[
      plain
    ] ?? plain
  );
};

/** Author and contact, from the contributors by their roles. */
const mapPeople = ({ contributors = [] }: PackageFile, draft: PackageDraft): void => {
  const people = contributors.map(({ title, email, role, roles = [], ...names }, index) => ({
    title: title?.trim() || nameOf(names),
    email,
    roles: new Set([...roles, ...(role === undefined ? [] : [role])].map((each) => each.toLowerCase())),
    origin: ['contributors', index] as Path,
  }));
  const first = (...wanted: string[]) =>
    wanted.flatMap((role) => people.filter(({ roles, title }) => roles.has(role) && title !== undefined)).at(0);
  const author = first('author', 'creator') ?? first('publisher') ?? people.find(({ title }) => title !== undefined);
  const contact =
    first('contact', 'contactpoint', 'maintainer') ??
    first('publisher') ??
    people.find(({ email }) => email !== undefined);
  if (author) draft.set('author', author.title, author.origin);
  if (contact) {
    const { title: name, email } = contact;
    draft.set('contact', defined({ name, email }), contact.origin);
  }
  for (const person of people)
    if (person !== author && person !== contact) draft.remark(person.origin, `\`${person.title ?? ''}\` is ignored`);
};

/** Version 2 may name people by parts. */
const nameOf = ({
  givenName = '',
  familyName = '',
  organization = '',
}: Partial<Record<'givenName' | 'familyName' | 'organization', string>>) =>
  `${givenName} ${familyName}`.trim() || organization.trim() || undefined;

const mapSources = ({ sources = [] }: PackageFile, draft: PackageDraft): void => {
  const links = sources.flatMap(({ title, path }, index) => {
    if (path !== undefined && isAddress(path)) return [{ title: title?.trim() || path, url: path }];
    draft.remark(['sources', index], 'is ignored, because it has no address');
    return [];
  });
  if (links.length > 0) draft.set('relatedContent', links, ['sources']);
};

const factsOf = ({ id, version, created }: PackageFile): Record<string, string> | undefined => {
  const facts = Object.entries({ Identifier: id, Version: version, Created: created }).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, value] as const],
  );
  return facts.length > 0 ? Object.fromEntries(facts) : undefined;
};

/** Adds a resource of the package to the draft; one without a file of its own is a fault. */
const mapResource = (draft: PackageDraft, resource: PackageResource, origin: Path): void => {
  const path = pathOf(draft, resource, origin);
  if (path === null) return;
  const set = draft.addResource(origin);
  const base = basename(path.split(/[?#]/, 1)[0] ?? path);
  const name = resource.name ?? base.replace(/(?<=.)\.[^.]*$/, '');
  const id = idOfName(name);
  if (id === null) draft.fault([...origin, 'name'], `cannot derive an id from \`${name}\``);
  set('id', id ?? 'resource', [...origin, 'name']);
  set('title', oneLine(resource.title), [...origin, 'title']);
  set('description', resource.description, [...origin, 'description']);
  set('format', resource.format, [...origin, 'format']);
  set(isAddress(path) ? 'url' : 'file', path, [...origin, 'path']);
  if (!tabular.test(base)) return;
  const schema = tableSchemaOf(draft, resource.schema, [...origin, 'schema']);
  if (schema !== null) set('schema', schema, [...origin, 'schema']);
  const steps = [...encodingSteps(draft, resource, origin), ...delimiterSteps(draft, resource, origin)];
  const isAsked = schema !== null || steps.some((step) => 'encoding' in step);
  // A delimiter is detected anyway, so it alone is no reason to transform the file.
  if (isAsked && steps.length > 0) set('table', steps, [...origin, 'dialect']);
};

/** Files that are tables; a schema of other files (GeoJSON, say) is about something else. */
const tabular = /\.(?:csv|tsv|txt|tab)(?:\.gz)?$/i;

/** The one file of a resource. The specification keeps paths below the folder of the package, and so do we. */
const pathOf = (draft: PackageDraft, { path, data }: PackageResource, origin: Path): string | null => {
  const paths = path === undefined ? [] : [path].flat();
  const [first] = paths;
  const fault = (key: string, message: string): null => {
    draft.fault([...origin, key], message);
    return null;
  };
  if (first === undefined) {
    return data === undefined
      ? fault('path', 'the resource has no `path`')
      : fault('data', 'data inside the package cannot be published: put it into a file and name that in `path`');
  }
  if (paths.length > 1) return fault('path', 'a resource of several files cannot be published: make each a resource');
  if (isAddress(first)) return first;
  if (/^[^:\\]+\\/.test(first))
    return fault('path', `\`${first}\`: write folders with \`/\`, as in \`${first.replaceAll('\\', '/')}\``);
  const isOutside = isAbsolute(first) || /^[A-Za-z]:|\\/.test(first) || first.split('/').includes('..');
  return isOutside ? fault('path', `\`${first}\` leads out of the folder of the package`) : first;
};

const encodingSteps = (draft: PackageDraft, { encoding }: PackageResource, origin: Path): Step[] => {
  if (encoding === undefined || /^(?:utf-?8|us-ascii|ascii)$/i.test(encoding)) return [];
  const known = encodings.find((name) => name === encoding.toLowerCase());
  if (known !== undefined) return [{ encoding: known }];
  draft.remark([...origin, 'encoding'], `\`${encoding}\` is unknown; the file is read as UTF-8`);
  return [];
};

const delimiters = { ',': ',', ';': ';', '|': '|', '\t': 'tab' } as const;

const delimiterSteps = (draft: PackageDraft, { dialect }: PackageResource, origin: Path): Step[] => {
  if (!isObject(dialect)) {
    if (dialect !== undefined) draft.remark([...origin, 'dialect'], 'is ignored: write it into the package');
    return [];
  }
  for (const [key, value] of Object.entries(dialect)) {
    const isPlain = key === 'delimiter' ? String(value) in delimiters : usual[key] === value;
    if (isPlain || key.startsWith('$') || key === 'csvddfVersion') continue;
    draft.remark([...origin, 'dialect', key], 'is ignored; tables that need it are reported as faulty');
  }
  const delimiter = delimiters[dialect.delimiter as keyof typeof delimiters]; // undefined for all others
  return delimiter === undefined ? [] : [{ delimiter }];
};

/** What a dialect says of every ordinary table. */
const usual: Record<string, unknown> = {
  lineTerminator: '\r\n',
  quoteChar: '"',
  doubleQuote: true,
  header: true,
  caseSensitiveHeader: false,
  skipInitialSpace: false,
  headerJoin: ' ',
};

/** The schema as far as tables are checked against it; the rest is reported, and those cells are not checked. */
const tableSchemaOf = (draft: PackageDraft, schema: unknown, origin: Path): TableSchema | null => {
  if (schema === undefined) return null;
  if (!isObject(schema) || !Array.isArray(schema.fields) || schema.fields.length === 0) {
    const what = typeof schema === 'string' ? 'a schema in a file of its own' : 'it has no `fields`';
    draft.remark(origin, `the table is not checked against it: ${what}`);
    return null;
  }
  const fields = schema.fields.map((field: unknown, index) => fieldOf(draft, field, [...origin, 'fields', index]));
  const { missingValues, ...rest } = schema;
  const missing = Array.isArray(missingValues) ? { missingValues: missingValues.map(plainValue) } : {};
  const { value, fault } = checked({ ...rest, ...missing, fields });
  if (fault !== null) draft.remark(origin, `the table is not checked against it: ${fault}`);
  return value;
};

const fieldOf = (draft: PackageDraft, field: unknown, origin: Path): unknown => {
  const { fault } = checked({ fields: [field] });
  if (fault === null || !isObject(field)) return field;
  draft.remark(origin, `cells of this field are not checked: ${fault}`);
  return { name: field.name, type: 'any' };
};

/** Version 2 may write a missing value with a label. */
const plainValue = (missing: unknown): unknown => (isObject(missing) ? missing.value : missing);

/** A schema, or the first of its faults in words. */
const checked = (schema: unknown): { value: TableSchema; fault: null } | { value: null; fault: string } => {
  const problem = (path: Path, message: string): FileProblem => fileProblem('', message, String(path.at(-1) ?? ''));
  const { value, problems } = checkDocument(
    { value: schema, problem, position: () => ({ line: 1, column: 1 }) },
    tableSchemaSchema,
  );
  const [first] = problems;
  return value === null ? { value, fault: `${first?.key ?? ''}: ${first?.message ?? ''}` } : { value, fault: null };
};
