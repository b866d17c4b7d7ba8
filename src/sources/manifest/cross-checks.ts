// Checks between keys of a manifest. They read the raw value, so that their faults are reported with all others.
import { datasetMetadataFaults } from '../../dataset-api/metadata.ts';
import { slugOf } from '../../dataset-api/names.ts';
import type { FileProblem } from '../../model/errors.ts';
import type { PlacedValue, YamlDocument } from '../../model/yaml/document.ts';
import { nearest } from '../../model/yaml/nearest.ts';
import { isObject, recordOf } from '../../util/json.ts';
import { columnOf, indexColumns } from './index-columns.ts';
import { cronFault, timezoneFault } from './schedule-schema.ts';
import { contentKeys, manifestKinds } from './schema.ts';

type Report = (path: PropertyKey[], message: string, end?: 'key' | 'value') => void;
type Mapping = Record<string, unknown>;

const problemsIn = (document: PlacedValue, check: (report: Report) => void): FileProblem[] => {
  const problems: FileProblem[] = [];
  check((path, message, end = 'value') => problems.push(document.problem(path, message, end)));
  return problems;
};

/** All problems between keys: ids, sources, the kind of manifest, its schedule, limited access. */
export const crossProblems = (document: YamlDocument): FileProblem[] => {
  const { value } = document;
  if (!isObject(value)) return []; // reported already
  return problemsIn(document, (report) => {
    checkKind(value, [], report);
    if (value.drop !== undefined && value.onMissing !== undefined && value.onMissing !== 'keep')
      report(['onMissing'], 'must be `keep` in a `drop` manifest: an archived drop is always missing');
    checkSchedule(value, report);
    checkPortals(value, report);
    if (value.name !== undefined && value.name === value.renamedFrom)
      report(['renamedFrom'], 'is the current name; remove it', 'key');
    checkIndex(value, report);
    checkFolders(value, report);
    const datasets = listOf(value.datasets);
    const shared = recordOf(recordOf(value.defaults).dataset);
    checkIds({ document, report }, datasets, ['datasets']);
    for (const [index, dataset] of datasets.entries())
      checkDataset({ document, report }, { ...shared, ...dataset }, ['datasets', index]);
  });
};

/** Checks that a mapping has exactly one of these keys. */
const oneOf =
  (keys: readonly string[], none: string) =>
  (value: Mapping, path: PropertyKey[], report: Report): void => {
    const [first, second] = keys.filter((key) => value[key] !== undefined);
    const choice = keys.map((key) => `\`${key}\``).join(', ');
    if (first === undefined) report(path, `${none}: it needs one of ${choice}`);
    if (second !== undefined)
      report([...path, second], `only one of ${choice} is allowed; \`${first}\` is set, too`, 'key');
  };

const checkKind = oneOf(manifestKinds, 'the manifest publishes nothing');
const checkContent = oneOf(contentKeys, 'the resource has no content');

const checkSchedule = ({ schedule, timezone }: Mapping, report: Report): void => {
  const check = (path: PropertyKey[], value: unknown, faultOf: (text: string) => string | null): void => {
    const fault = typeof value === 'string' ? faultOf(value) : null;
    if (fault !== null) report(path, fault);
  };
  check(['timezone'], timezone, timezoneFault);
  check(['schedule'], schedule, cronFault);
  if (!isObject(schedule)) return; // reported already, or none
  if (timezone !== undefined) report(['timezone'], 'belongs in `schedule`, next to `cron`', 'key');
  check(['schedule', 'cron'], schedule.cron, cronFault);
  check(['schedule', 'timezone'], schedule.timezone, timezoneFault);
  const [from, to] = typeof schedule.window === 'string' ? schedule.window.split('-').map((part) => part.trim()) : [];
  if (from !== undefined && from === to) report(['schedule', 'window'], 'starts and ends at the same time; remove it');
};

const checkPortals = ({ portal, portals }: Mapping, report: Report): void => {
  if (portal !== undefined && portals !== undefined)
    report(['portals'], 'only one of `portal`, `portals` is allowed', 'key');
  const names = Array.isArray(portals) ? portals : []; // anything else is reported already
  for (const [index, name] of names.entries())
    if (names.indexOf(name) !== index) report(['portals', index], `\`${name}\` is listed twice`);
};

/** The names of columns are known; their headings are checked when the file is read. */
const checkIndex = ({ index }: Mapping, report: Report): void => {
  for (const name of Object.keys(recordOf(recordOf(index).columns))) {
    if (columnOf(name) !== undefined) continue;
    const meant = nearest(name, [...indexColumns().keys()]);
    const advice = meant === undefined ? '`sluice help manifest` lists the keys' : `did you mean \`${meant}\`?`;
    report(['index', 'columns', name], `is not a column name; ${advice}`, 'key');
  }
};

/** Ids are derived from the names of folders, and their metadata is merged over the defaults. */
const checkFolders = ({ drop, defaults }: Mapping, report: Report): void => {
  const noId = 'cannot derive an id from this name: rename the folder to at most 64 of a-z, 0-9, `.`, `_`, `-`';
  for (const [name, details] of Object.entries(recordOf(recordOf(drop).folders))) {
    const path = ['drop', 'folders', name];
    if (name.split('/').some((segment) => slugOf(segment) === null)) report(path, noId, 'key');
    for (const fault of datasetMetadataFaults({ ...recordOf(recordOf(defaults).dataset), ...recordOf(details) }))
      report([...path, ...fault.path], fault.message);
  }
};

interface Checked {
  document: PlacedValue;
  report: Report;
}

/** `dataset` has the values of the defaults for keys that it leaves out. */
const checkDataset = (checked: Checked, dataset: Mapping, path: PropertyKey[]): void => {
  for (const fault of datasetMetadataFaults(dataset)) checked.report([...path, ...fault.path], fault.message);
  const resources = listOf(dataset.resources);
  checkIds(checked, resources, [...path, 'resources']);
  for (const [position, resource] of resources.entries()) {
    const place = [...path, 'resources', position];
    checkContent(resource, place, checked.report);
    if (resource.name !== undefined && resource.url === undefined)
      checked.report([...place, 'name'], 'is allowed with `url` only', 'key');
  }
};

/** The problems between the keys of one dataset, as it is in a manifest, in a value of its own. */
export const datasetProblems = (document: PlacedValue, defaults: object): FileProblem[] =>
  problemsIn(document, (report) =>
    checkDataset({ document, report }, { ...defaults, ...recordOf(document.value) }, []),
  );

/** Ids must differ, and a former id must not be that of another entry: otherwise two nodes would share an identity. */
const checkIds = ({ document, report }: Checked, entries: Mapping[], path: PropertyKey[]): void => {
  const what = String(path.at(-1)).slice(0, -1); // `datasets` or `resources`
  const first = new Map<unknown, { index: number; key: string }>();
  const check = (index: number, key: string, id: unknown): void => {
    if (typeof id !== 'string') return;
    const other = first.get(id);
    if (other === undefined) first.set(id, { index, key });
    else if (other.index === index) report([...path, index, key], 'is the current id; remove it', 'key');
    else {
      const { line } = document.position([...path, other.index, other.key]);
      const used =
        other.key === 'id' ? `the ${what} on line ${line} has this id` : `line ${line} has the same former id`;
      report([...path, index, key], `\`${id}\` is already used: ${used}; ids must be unique`);
    }
  };
  for (const [index, entry] of entries.entries()) check(index, 'id', entry.id);
  for (const [index, entry] of entries.entries()) check(index, 'renamedFrom', entry.renamedFrom);
};

const listOf = (value: unknown): Mapping[] => (Array.isArray(value) ? value.map(recordOf) : []);
