// Reads and validates `datapackage.json`, with positions.
import { z } from 'zod';
import { errorMessage, type FileProblem, fileProblem, ManifestError } from '../../model/errors.ts';
import { checkDocument } from '../../model/yaml/check.ts';
import { isDeeperThan, parseYaml, readText, YamlDocument } from '../../model/yaml/document.ts';

const text = z.string();

const license = z.looseObject({ name: text.exactOptional(), path: text.exactOptional(), title: text.exactOptional() });

const contributor = z.looseObject({
  title: text.exactOptional(),
  givenName: text.exactOptional(),
  familyName: text.exactOptional(),
  organization: text.exactOptional(),
  email: text.exactOptional(),
  role: text.exactOptional(),
  roles: z.array(text).exactOptional(),
});

const source = z.looseObject({ title: text.exactOptional(), path: text.exactOptional() });

const packageResourceSchema = z.looseObject({
  name: text.exactOptional(),
  title: text.exactOptional(),
  description: text.exactOptional(),
  path: z.union([text, z.array(text).min(1)]).exactOptional(),
  format: text.exactOptional(),
  encoding: text.exactOptional(),
  dialect: z.unknown().exactOptional(),
  schema: z.unknown().exactOptional(),
});

export const packageSchema = z.looseObject({
  name: text.exactOptional(),
  id: text.exactOptional(),
  title: text.exactOptional(),
  description: text.exactOptional(),
  homepage: text.exactOptional(),
  version: text.exactOptional(),
  created: text.exactOptional(),
  keywords: z.array(text).exactOptional(),
  licenses: z.array(license).exactOptional(),
  contributors: z.array(contributor).exactOptional(),
  sources: z.array(source).exactOptional(),
  resources: z.array(packageResourceSchema).min(1),
});

export type PackageFile = z.infer<typeof packageSchema>;
export type PackageResource = z.infer<typeof packageResourceSchema>;

export type ReadPackage = { value: PackageFile; document: YamlDocument };

const maxBytes = 8 * 1024 * 1024;

/** In larger files a problem is placed at the beginning: positions of all values take a hundred times the memory. */
const placedBytes = 1024 * 1024;

/** Throws ManifestError with all problems at once, also when there is no such file. */
export const readPackage = async (file: string): Promise<ReadPackage> => {
  const text = await textOf(file);
  const value = parseJson(file, text);
  if (isDeeperThan(deepest, value)) throw refused([fileProblem(file, `the file nests deeper than ${deepest} levels`)]);
  // JSON is YAML, whose reader knows positions; where it refuses the file (a duplicate key), problems are at the beginning.
  const places =
    (text.length <= placedBytes ? parseYaml(text, file).document : null) ?? new YamlDocument(file, value, null);
  const checked = checkDocument(places, packageSchema, withoutNulls(value));
  if (checked.value === null) throw refused(checked.problems);
  return { value: checked.value, document: places };
};

/** Some programs write `null` for missing values. */
const withoutNulls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (value === null || typeof value !== 'object') return value;
  const known = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(known.map(([key, inner]) => [key, withoutNulls(inner)]));
};

const deepest = 100;

const refused = (problems: FileProblem[]): ManifestError =>
  new ManifestError(problems, { hint: 'fix the data package' });

const textOf = async (file: string): Promise<string> => {
  const read = await readText(file, maxBytes);
  if ('problem' in read) throw refused([read.problem]);
  return read.text;
};

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
