// Checks between keys of a manifest. They read the raw value, so that their faults are reported with all others.
import { datasetMetadataFaults } from '../../dataset-api/metadata.ts';
import { slugOf } from '../../dataset-api/names.ts';
import type { FileProblem } from '../../model/errors.ts';
import type { PlacedValue, YamlDocument } from '../../model/yaml/document.ts';
import { nearest } from '../../model/yaml/nearest.ts';
import { isObject, recordOf } from '../../util/json.ts';
import { columnOf, indexColumns } from './index-columns.ts';
import { cronFault, timezoneFault } from './schedule-schema.ts';
import { manifestKinds } from './schema.ts';

/** All problems between keys: ids, sources, the kind of manifest, its schedule, limited access. */
export const crossProblems = (document: YamlDocument): FileProblem[] => {
  if (!isObject(document.value)) return []; // reported already
  const problems: FileProblem[] = [];
  const report: Report = (path, message, end = 'value') => problems.push(document.problem(path, message, end));
  checkKind(document.value, report);
  checkSchedule(document.value, report);
  checkPortals(document.value, report);
  if (document.value.name !== undefined && document.value.name === document.value.renamedFrom)
    report(['renamedFrom'], 'is the current name; remove it', 'key');
  checkIndex(document.value, report);
  checkFolders(document.value, report);
  checkDatasets({ document, report }, document.value);
  return problems;
};

type Report = (path: PropertyKey[], message: string, end?: 'key' | 'value') => void;
type Mapping = Record<string, unknown>;

const checkKind = (value: Mapping, report: Report): void => {
  const [kind, second] = manifestKinds.filter((key) => value[key] !== undefined);
  const choice = manifestKinds.map((key) => `\`${key}\``).join(', ');
  if (kind === undefined) report([], `the manifest publishes nothing: it needs one of ${choice}`);
  if (second !== undefined) report([second], `only one of ${choice} is allowed; \`${kind}\` is set, too`, 'key');
  if (value.drop !== undefined && value.onMissing !== undefined && value.onMissing !== 'keep') {
    report(['onMissing'], 'must be `keep` in a `drop` manifest: an archived drop is always missing');
  }
};

const checkSchedule = (value: Mapping, report: Report): void => {
  const { schedule, timezone } = value;
  checkTimezone(timezone, ['timezone'], report);
  if (typeof schedule === 'string') checkCron(schedule, ['schedule'], report);
  if (!isObject(schedule)) return; // reported already, or none
  if (timezone !== undefined) report(['timezone'], 'belongs in `schedule`, next to `cron`', 'key');
  checkCron(schedule.cron, ['schedule', 'cron'], report);
  checkTimezone(schedule.timezone, ['schedule', 'timezone'], report);
  const [from, to] = typeof schedule.window === 'string' ? schedule.window.split('-').map((part) => part.trim()) : [];
  if (from !== undefined && from === to) report(['schedule', 'window'], 'starts and ends at the same time; remove it');
};

const checkCron = (value: unknown, path: PropertyKey[], report: Report): void => {
  const fault = typeof value === 'string' ? cronFault(value) : null;
  if (fault !== null) report(path, fault);
};

const checkTimezone = (value: unknown, path: PropertyKey[], report: Report): void => {
  const fault = typeof value === 'string' ? timezoneFault(value) : null;
  if (fault !== null) report(path, fault);
};

const checkPortals = ({ portal, portals }: Mapping, report: Report): void => {
  if (portal !== undefined && portals !== undefined) {
    report(['portals'], 'only one of `portal`, `portals` is allowed', 'key');
  }
  if (!Array.isArray(portals)) return; // reported already, or none
  for (const [index, name] of portals.entries()) {
    if (portals.indexOf(name) !== index) report(['portals', index], `\`${name}\` is listed twice`);
  }
};

/** The names of columns are known; their headings are checked when the file is read. */
const checkIndex = ({ index }: Mapping, report: Report): void => {
  const known = indexColumns();
  for (const name of Object.keys(recordOf(recordOf(index).columns))) {
    if (columnOf(name, known) !== undefined) continue;
    const meant = nearest(name, [...known.keys()]);
    const advice = meant === undefined ? '`sluice help manifest` lists the keys' : `did you mean \`${meant}\`?`;
    report(['index', 'columns', name], `is not a column name; ${advice}`, 'key');
  }
};

/** Ids are derived from the names of folders, and their metadata is merged over the defaults. */
const checkFolders = ({ drop, defaults }: Mapping, report: Report): void => {
  for (const [name, details] of Object.entries(recordOf(recordOf(drop).folders))) {
    const path = ['drop', 'folders', name];
    if (name.split('/').some((segment) => slugOf(segment) === null))
      report(
        path,
        'cannot derive an id from this name: rename the folder to at most 64 of a-z, 0-9, `.`, `_`, `-`',
        'key',
      );
    for (const fault of datasetMetadataFaults({ ...recordOf(recordOf(defaults).dataset), ...recordOf(details) }))
      report([...path, ...fault.path], fault.message);
  }
};

/** Where faults between keys are reported. */
interface Checked {
  document: PlacedValue;
  report: Report;
}

const checkDatasets = (checked: Checked, value: Mapping): void => {
  const defaults = recordOf(recordOf(value.defaults).dataset);
  const datasets = listOf(value.datasets);
  checkIds(checked, datasets, ['datasets']);
  for (const [index, dataset] of datasets.entries())
    checkDataset(checked, { ...defaults, ...dataset }, ['datasets', index]);
};

/** `dataset` has the values of the defaults for keys that it leaves out. */
const checkDataset = (checked: Checked, dataset: Mapping, path: PropertyKey[]): void => {
  for (const fault of datasetMetadataFaults(dataset)) checked.report([...path, ...fault.path], fault.message);
  const resources = listOf(dataset.resources);
  checkIds(checked, resources, [...path, 'resources']);
  for (const [position, resource] of resources.entries())
    checkSource(resource, [...path, 'resources', position], checked.report);
};

/** The problems between the keys of one dataset, as it is in a manifest, in a value of its own. */
export const datasetProblems = (document: PlacedValue, defaults: object): FileProblem[] => {
  const problems: FileProblem[] = [];
  const report: Report = (path, message, end = 'value') => problems.push(document.problem(path, message, end));
  checkDataset({ document, report }, { ...defaults, ...recordOf(document.value) }, []);
  return problems;
};

/** Ids must differ, and a former id must not be that of another entry: otherwise two nodes would share an identity. */
const checkIds = ({ document, report }: Checked, entries: Mapping[], path: PropertyKey[]): void => {
  const what = String(path.at(-1)).slice(0, -1); // `datasets` or `resources`
  const lineOf = (index: number, key: string): number => document.position([...path, index, key]).line;
  const first = new Map<unknown, { index: number; key: string }>();
  const check = (index: number, key: string, id: unknown): void => {
    if (typeof id !== 'string') return;
    const other = first.get(id);
    if (other === undefined) first.set(id, { index, key });
    else if (other.index === index) report([...path, index, key], 'is the current id; remove it', 'key');
    else {
      const line = lineOf(other.index, other.key);
      const used =
        other.key === 'id' ? `the ${what} on line ${line} has this id` : `line ${line} has the same former id`;
      report([...path, index, key], `\`${id}\` is already used: ${used}; ids must be unique`);
    }
  };
  for (const [index, entry] of entries.entries()) check(index, 'id', entry.id);
  for (const [index, entry] of entries.entries()) check(index, 'renamedFrom', entry.renamedFrom);
};

const checkSource = (resource: Mapping, path: PropertyKey[], report: Report): void => {
  const given = ['file', 'url', 'link', 'api'].filter((key) => resource[key] !== undefined);
  if (given.length === 0) report(path, 'the resource has no content: it needs one of `file`, `url`, `link`, `api`');
  const second = given[1];
  if (second !== undefined)
    report(
      [...path, second],
      `only one of \`file\`, \`url\`, \`link\`, \`api\` is allowed; \`${given[0]}\` is set, too`,
      'key',
    );
  if (resource.name !== undefined && resource.url === undefined)
    report([...path, 'name'], 'is allowed with `url` only', 'key');
};

const listOf = (value: unknown): Mapping[] => (Array.isArray(value) ? value.map(recordOf) : []);
