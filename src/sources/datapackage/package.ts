// Reads `datapackage.json` and maps it to a dataset of a manifest. The table is in docs/how-to/datapackage.md.
import { basename, dirname, isAbsolute } from 'node:path';
import { z } from 'zod';
import { idOfName, titleOfName } from '../../dataset-api/names.ts';
import { licenseCode } from '../../dataset-api/values.ts';
import { errorMessage, type FileProblem, fileProblem, ManifestError } from '../../model/errors.ts';
import { encodings } from '../../model/recipe/encodings.ts';
import type { Step } from '../../model/recipe/steps.ts';
import { type TableSchema, tableSchemaSchema } from '../../model/recipe/table-schema.ts';
import { checkDocument } from '../../model/yaml/check.ts';
import { isDeeperThan, located, type Path, parseYaml, readText, type YamlDocument } from '../../model/yaml/document.ts';
import { defined, isObject } from '../../util/json.ts';
import { DatasetDraft, type Origin } from '../manifest/dataset-draft.ts';
import { isAddress } from '../manifest/list-schemas.ts';

const text = z.string().exactOptional();

const texts = <Name extends string>(...names: Name[]) =>
  Object.fromEntries(names.map((name) => [name, text])) as Record<Name, typeof text>; // as just made

const contributor = z.looseObject({
  ...texts('title', 'givenName', 'familyName', 'organization', 'email', 'role'),
  roles: z.array(z.string()).exactOptional(),
});

const packageResourceSchema = z.looseObject({
  ...texts('name', 'title', 'description', 'format', 'encoding'),
  path: z.union([z.string(), z.array(z.string()).min(1)]).exactOptional(),
  dialect: z.unknown().exactOptional(),
  schema: z.unknown().exactOptional(),
});

const packageSchema = z.looseObject({
  ...texts('name', 'id', 'title', 'description', 'homepage', 'version', 'created'),
  keywords: z.array(z.string()).exactOptional(),
  licenses: z.array(z.looseObject(texts('name', 'path', 'title'))).exactOptional(),
  contributors: z.array(contributor).exactOptional(),
  sources: z.array(z.looseObject(texts('title', 'path'))).exactOptional(),
  resources: z.array(packageResourceSchema).min(1),
});

type PackageFile = z.infer<typeof packageSchema>;
type PackageResource = z.infer<typeof packageResourceSchema>;

const maxBytes = 8 * 1024 * 1024;

/** In larger files a problem is placed at the beginning: positions of all values take a hundred times the memory. */
const placedBytes = 1024 * 1024;

const deepest = 100;

/** Throws ManifestError with all problems at once, also when there is no such file. */
const readPackage = async (file: string): Promise<{ value: PackageFile; document: YamlDocument }> => {
  const read = await readText(file, maxBytes);
  if ('problem' in read) throw refused([read.problem]);
  const value = parseJson(file, read.text);
  if (isDeeperThan(deepest, value)) throw refused([fileProblem(file, `the file nests deeper than ${deepest} levels`)]);
  // JSON is YAML, whose reader knows positions; where it refuses the file (a duplicate key), problems are at the beginning.
  const placed = read.text.length <= placedBytes ? parseYaml(read.text, file).document : null;
  const document = placed ?? located(file, value, null);
  const checked = checkDocument(document, packageSchema, withoutNulls(value));
  if (checked.value === null) throw refused(checked.problems);
  return { value: checked.value, document };
};

/** Some programs write `null` for missing values. */
const withoutNulls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (value === null || typeof value !== 'object') return value;
  const known = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(known.map(([key, inner]) => [key, withoutNulls(inner)]));
};

const refused = (problems: FileProblem[]) => new ManifestError(problems, { hint: 'fix the data package' });

const parseJson = (file: string, text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    const message = errorMessage(error);
    // JSON.parse does not always give a position; the YAML reader, which fails at the same place, does.
    const at = /line (\d+) column (\d+)/.exec(message)?.slice(1).map(Number);
    const place = text.length <= placedBytes ? parseYaml(text, file).problems[0] : undefined;
    const [line = place?.line ?? 1, column = place?.column ?? 1] = at ?? [];
    const words = message.replace(/(?: in JSON at position|, (?:\.{3})?").*$/s, '');
    throw refused([{ file, line, column, key: '', message: `not valid JSON: ${words}` }]);
  }
};

type Mapper = ReturnType<typeof mapperOf>;

/** Maps a package to a draft; `origin` is where in the package something came from. */
const mapperOf = (document: YamlDocument) => {
  const at =
    (origin: Path): Origin =>
    (inner, message, end) =>
      document.problem([...origin, ...inner], message, end);
  const draft = new DatasetDraft(at([]));
  return {
    draft,
    set: (path: string | Path, value: unknown, origin: Path): void => draft.set([path].flat(), value, at(origin)),
    addResource: (origin: Path): number => draft.addResource(at(origin)),
    fault: (origin: Path, message: string): null => {
      draft.problems.push(document.problem(origin, message));
      return null;
    },
    remark: (origin: Path, message: string): void => {
      const { line } = document.position(origin);
      draft.remarks.push(`${document.file}:${line}: ${origin.map(String).join('.')}: ${message}`);
    },
  };
};

/** As a dataset of a manifest, not checked yet; `only` says which resources are mapped. @throws ManifestError */
export const packageDraft = async (file: string, only?: (paths: string[]) => boolean) => {
  const { value, document } = await readPackage(file);
  const to = mapperOf(document);
  const name = value.name ?? basename(dirname(file));
  const title = oneLine(value.title);
  const id = idOfName(name);
  if (id === null && !only) to.fault(['name'], `cannot derive an id from \`${name}\``);
  to.set('id', id ?? 'package', ['name']);
  to.set('title', title || titleOfName(name), ['title']);
  to.set('description', value.description, ['description']);
  const tags = [...new Set(value.keywords?.map((word) => word.trim()).filter((word) => word !== ''))];
  if (tags.length > 0) to.set('tags', tags, ['keywords']);
  if (isAddress(value.homepage ?? '')) to.set('landingPage', value.homepage, ['homepage']);
  else if (value.homepage) to.remark(['homepage'], 'is not an http:// or https:// address');
  mapLicense(value, to);
  mapPeople(value, to);
  mapSources(value, to);
  for (const [fact, key] of Object.entries({ Identifier: 'id', Version: 'version', Created: 'created' }))
    to.set(['additionalInfo', fact], value[key], [key]);
  for (const key of Object.keys(value)) if (!understood.has(key)) to.remark([key], 'is ignored');
  for (const [index, resource] of value.resources.entries()) {
    if (!only || only([resource.path ?? []].flat())) mapResource(to, resource, ['resources', index]);
  }
  return { draft: to.draft, hasTitle: title !== '' };
};

const oneLine = (text = ''): string => text.replaceAll(/\s+/g, ' ').trim();

const understood = new Set([...Object.keys(packageSchema.shape), 'profile', '$schema']);

const mapLicense = ({ licenses = [] }: PackageFile, to: Mapper): void => {
  for (const [index, { name = '', path = '', title = '' }] of licenses.entries()) {
    const origin: Path = ['licenses', index];
    const code = licenseCode(path) ?? licenseCode(name);
    if (code !== null && to.draft.value.license === undefined) to.set('license', code, origin);
    else if (code !== to.draft.value.license) {
      const why = code === null ? 'portals have no code for it' : 'a dataset has one license';
      to.remark(origin, `\`${name || path || title}\` is ignored: ${why}`);
    }
  }
};

/** Author and contact, from the contributors by their roles. */
const mapPeople = ({ contributors = [] }: PackageFile, to: Mapper): void => {
  const people = contributors.map((each, index) => ({
    ...each,
    // Version 2 may name people by parts.
    title: [each.title, `${each.givenName ?? ''} ${each.familyName ?? ''}`, each.organization]
      .map((name = '') => name.trim())
      .find((name) => name !== ''),
    roles: new Set([...(each.roles ?? []), each.role ?? ''].map((role) => role.toLowerCase())),
    origin: ['contributors', index] as Path,
  }));
  const first = (...wanted: string[]) =>
    wanted.flatMap((role) => people.filter(({ roles, title }) => roles.has(role) && title !== undefined)).at(0);
  const author = first('author', 'creator', 'publisher') ?? people.find(({ title }) => title !== undefined);
  const contact =
    first('contact', 'contactpoint', 'maintainer', 'publisher') ?? people.find(({ email }) => email !== undefined);
  if (author) to.set('author', author.title, author.origin);
  if (contact) to.set('contact', defined({ name: contact.title, email: contact.email }), contact.origin);
  for (const person of people)
    if (person !== author && person !== contact) to.remark(person.origin, `\`${person.title ?? ''}\` is ignored`);
};

const mapSources = ({ sources = [] }: PackageFile, to: Mapper): void => {
  const links = sources.flatMap(({ title, path }, index) => {
    if (path !== undefined && isAddress(path)) return [{ title: title?.trim() || path, url: path }];
    to.remark(['sources', index], 'is ignored, because it has no address');
    return [];
  });
  if (links.length > 0) to.set('relatedContent', links, ['sources']);
};

/** Adds a resource of the package to the draft; one without a file of its own is a fault. */
const mapResource = (to: Mapper, resource: PackageResource, origin: Path): void => {
  const path = pathOf(to, resource, origin);
  if (path === null) return;
  const at = to.addResource(origin);
  const set = (key: string, value: unknown, from = key): void =>
    to.set(['resources', at, key], value, [...origin, from]);
  const base = basename(path.split(/[?#]/, 1)[0] ?? path);
  const name = resource.name ?? base.replace(/(?<=.)\.[^.]*$/, '');
  const id = idOfName(name);
  if (id === null) to.fault([...origin, 'name'], `cannot derive an id from \`${name}\``);
  set('id', id ?? 'resource', 'name');
  set('title', oneLine(resource.title));
  set('description', resource.description);
  set('format', resource.format);
  set(isAddress(path) ? 'url' : 'file', path, 'path');
  // The schema of a file that is no table (GeoJSON, say) is about something else.
  if (!/\.(?:csv|tsv|txt|tab)(?:\.gz)?$/i.test(base)) return;
  const schema = tableSchemaOf(to, resource.schema, [...origin, 'schema']);
  if (schema !== null) set('schema', schema);
  const steps = [...encodingSteps(to, resource, origin), ...delimiterSteps(to, resource, origin)];
  const isAsked = schema !== null || steps.some((step) => 'encoding' in step);
  // A delimiter is detected anyway, so it alone is no reason to transform the file.
  if (isAsked && steps.length > 0) set('table', steps, 'dialect');
};

/** The one file of a resource. The specification keeps paths below the folder of the package, and so do we. */
const pathOf = (to: Mapper, { path, data }: PackageResource, origin: Path): string | null => {
  const paths = path === undefined ? [] : [path].flat();
  const [first] = paths;
  const fault = (key: string, message: string): null => to.fault([...origin, key], message);
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

const encodingSteps = (to: Mapper, { encoding }: PackageResource, origin: Path): Step[] => {
  if (encoding === undefined || /^(?:utf-?8|us-ascii|ascii)$/i.test(encoding)) return [];
  const known = encodings.find((name) => name === encoding.toLowerCase());
  if (known !== undefined) return [{ encoding: known }];
  to.remark([...origin, 'encoding'], `\`${encoding}\` is unknown; the file is read as UTF-8`);
  return [];
};

const delimiters = { ',': ',', ';': ';', '|': '|', '\t': 'tab' } as const;

const delimiterSteps = (to: Mapper, { dialect }: PackageResource, origin: Path): Step[] => {
  if (!isObject(dialect)) {
    if (dialect !== undefined) to.remark([...origin, 'dialect'], 'is ignored: write it into the package');
    return [];
  }
  for (const [key, value] of Object.entries(dialect)) {
    const isPlain = key === 'delimiter' ? String(value) in delimiters : usual[key] === value;
    if (isPlain || key.startsWith('$') || key === 'csvddfVersion') continue;
    to.remark([...origin, 'dialect', key], 'is ignored; tables that need it are reported as faulty');
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
const tableSchemaOf = (to: Mapper, schema: unknown, origin: Path): TableSchema | null => {
  if (schema === undefined) return null;
  if (!isObject(schema) || !Array.isArray(schema.fields) || schema.fields.length === 0) {
    const what = typeof schema === 'string' ? 'a schema in a file of its own' : 'it has no `fields`';
    to.remark(origin, `the table is not checked against it: ${what}`);
    return null;
  }
  const fields = schema.fields.map((field: unknown, index) => fieldOf(to, field, [...origin, 'fields', index]));
  const { missingValues, ...rest } = schema;
  // Version 2 may write a missing value with a label.
  const plain = (missing: unknown): unknown => (isObject(missing) ? missing.value : missing);
  const missing = Array.isArray(missingValues) ? { missingValues: missingValues.map(plain) } : {};
  const { value, fault } = checked({ ...rest, ...missing, fields });
  if (fault !== null) to.remark(origin, `the table is not checked against it: ${fault}`);
  return value;
};

const fieldOf = (to: Mapper, field: unknown, origin: Path): unknown => {
  const { fault } = checked({ fields: [field] });
  if (fault === null || !isObject(field)) return field;
  to.remark(origin, `cells of this field are not checked: ${fault}`);
  return { name: field.name, type: 'any' };
};

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
