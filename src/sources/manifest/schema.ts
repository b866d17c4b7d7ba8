// The schema of a manifest file, and the manifest once loaded.
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { heartbeatSchema, heartbeatUrls, recipientsSchema } from '../../config/notify-schema.ts';
import {
  datasetMetadataShape,
  passedFieldsSchema,
  resourceMetadataShape,
  titleSchema,
} from '../../dataset-api/metadata.ts';
import {
  driftPolicies,
  importModes,
  missingPolicies,
  type OnDrift,
  type OnMissing,
  type RunPriority,
  runPriorities,
} from '../../model/policy.ts';
import { idText, keysOf, needed, text, webAddress } from '../../model/schema-parts.ts';
import type { ResourceSource } from '../../model/wish.ts';
import { defined } from '../../util/json.ts';
import { durationMs, durationText } from '../../util/quantity.ts';
import {
  type CatalogueSpec,
  catalogueSchema,
  datapackageFileSchema,
  type IndexSpec,
  indexFileSchema,
} from './list-schemas.ts';
import {
  droppedTableShape,
  ifGiven,
  resolveTable,
  share,
  shareOf,
  tableGuardFileSchema,
  tableGuardShape,
  tableShape,
  urlShape,
} from './resource-keys.ts';
import { resolveSchedule, scheduleFileSchema } from './schedule-schema.ts';

const published = [z.boolean(), 'False keeps it unpublished on the portal.', false] as const;

const filePath = text.refine((path) => !/^https?:\/\//i.test(path), { error: 'is an address: use the key `url`' });

/** Keys of a dataset that `defaults.dataset` and `dataset.yaml` beside a dropped folder share with written-down datasets. */
const datasetShape = {
  ...datasetMetadataShape,
  ...keysOf(
    {
      published,
      expectEvery: [
        z.union([durationText, z.literal('never')], { error: 'must be a duration such as `1d`, or `never`' }),
        'How often a new file is expected; a notice reports what is overdue. By default as `frequency` says.',
        '1d',
      ],
      changes: [
        z.literal('publish'),
        'Adds a resource `Change log` to the dataset: a table of the rows that changed with each new version of its tables.',
        'publish',
      ],
    },
    { published: true },
  ),
  fields: passedFieldsSchema.exactOptional(),
};
const resourceShape = {
  ...resourceMetadataShape,
  ...keysOf(
    {
      published,
      import: [
        z.enum(importModes),
        '`auto` imports tables into the datastore; `never` sends the file only; `unchecked` also sends a faulty table as it is.',
        'never',
      ],
      guard: [
        tableGuardFileSchema,
        'Limits beyond which a new version of the table is held, as in the `guard` of the manifest.',
        { rows: '20%', columns: 'grow' },
      ],
    },
    { published: true, import: 'auto' },
  ),
  ...tableShape,
  fields: passedFieldsSchema.exactOptional(),
};

const datasetDetailsSchema = z.strictObject(datasetShape);
const resourceDetailsSchema = z.strictObject(resourceShape);

/** The keys that say what a resource is made of: exactly one of them is in each. */
export const contentKeys = ['file', 'url', 'link', 'api'];

export const resourceSchema = z
  .strictObject({
    id: needed(idText, 'Name of the resource in its dataset; part of its key.', 'spending'),
    ...keysOf({
      title: [titleSchema, 'Title; the id by default.', 'Spending by department'],
      file: [filePath, 'File to send: a path relative to the manifest, or absolute.', 'data/spending.csv'],
    }),
    ...urlShape,
    ...keysOf({
      link: [webAddress, 'Instead of a file: a page or file elsewhere.', 'https://example.org/data.zip'],
      api: [webAddress, 'Instead of a file: an API.', 'https://example.org/api'],
      renamedFrom: [idText, 'Former id; the identity is kept.', 'expenses'],
    }),
    ...resourceShape,
  })
  .meta({ oneOf: contentKeys.map((key) => ({ required: [key] })) });

export const datasetSchema = z.strictObject({
  id: needed(idText, 'Name of the dataset in the manifest; part of its key.', 'city-budget-2026'),
  title: titleSchema,
  ...keysOf({ renamedFrom: [idText, 'Former id; the identity is kept.', 'budget-2026'] }),
  ...datasetShape,
  ...keysOf({
    resources: [
      z.array(resourceSchema),
      'Files and links of the dataset.',
      [{ id: 'spending', file: 'data/spending.csv' }],
    ],
  }),
});

const folderName = z.string().regex(/^(?!(?:.*\/)?\.)[^/\\]+(?:\/[^/\\]+)*$/, {
  error: 'must be the path of a folder in the inbox such as `transport`',
});

const usualDrop = { files: '**/*.csv', trusted: false };

const dropSchema = z.strictObject({
  folder: needed(text, 'Folder to watch, relative to the manifest or absolute: `<dataset>/<resource>.csv`.', 'inbox'),
  ...keysOf(
    {
      files: [
        z.union([text, z.array(text).min(1)], { error: 'must be a pattern such as `**/*.csv`, or a list of patterns' }),
        'Files to publish: a pattern or a list.',
        ['**/*.csv', '**/*.tsv'],
      ],
      settle: [durationText, 'How long a file must be unchanged; default `inbox.settle`.', '10s'],
      folders: [
        z.record(folderName, datasetDetailsSchema),
        'Folders with datasets (`transport/<dataset>/<resource>.csv`), and common metadata of these.',
        { transport: { topics: ['Transport'] } },
      ],
      trusted: [z.boolean(), 'Whether files beside the data may set `groups`, any `fields`, and `published`.', true],
      marker: [
        z.string().regex(/^\.[A-Za-z0-9_-]+$/, { error: 'must be an ending such as `.done`' }),
        'Publish a file only once its marker exists: `x.csv.done` for `.done`.',
        '.done',
      ],
    },
    usualDrop,
  ),
});

/** The keys that say what a manifest publishes: exactly one of them is in each, and makes its kind. */
export const manifestKinds = ['datasets', 'drop', 'catalogue', 'index', 'datapackage'] as const;

const plainRules = { priority: 'normal' as RunPriority, onMissing: 'keep' as OnMissing, onDrift: 'hold' as OnDrift };

const notifySchema = z.strictObject(
  keysOf({
    email: [recipientsSchema, 'E-mail addresses instead of those in the configuration.', ['budget@example.org']],
    webhook: [webAddress, 'Webhook instead of the configured one; never signed.', 'https://ops.example.org/finance'],
    heartbeat: [
      heartbeatSchema,
      'Monitor instead of the configured one.',
      'https://hc-ping.com/1f0c4f4e-6a5c-4f0e-9d39-0e6a3a7b8c11',
    ],
  }),
);

export const manifestFileSchema = z
  .strictObject({
    name: needed(idText, 'Name of the manifest, unique per portal; begins every key.', 'city-finance'),
    ...keysOf(
      {
        portal: [idText, 'Name of the portal in the configuration.', 'city'],
        portals: [z.array(idText).min(1), 'Instead of `portal`: several portals.', ['city', 'county']],
        schedule: [
          scheduleFileSchema,
          'When to run: a cron pattern, or a mapping.',
          { cron: '15 3 * * *', timezone: 'Europe/Berlin' },
        ],
        timezone: [text, 'Time zone of a `schedule` that is a pattern.', 'Europe/Berlin'],
        expectEvery: [
          durationText,
          'How often a successful run and new data are expected; a notice reports what is overdue.',
          '1d',
        ],
        priority: [z.enum(runPriorities), 'Which manifest goes first when several wait for the same portal.', 'high'],
        metadata: [
          z.literal('measure'),
          'Fill what nobody wrote from the tables themselves: time and area that they cover, and what their columns hold.',
          'measure',
        ],
        renamedFrom: [idText, 'Former name; identities are kept.', 'finance'],
        onMissing: [
          z.enum(missingPolicies),
          'What to do with nodes the manifest no longer names; `orphan` unpublishes and marks them. Not with `drop`.',
          'orphan',
        ],
        missingFor: [durationText, 'How long an item must be missing before `onMissing` acts.', '7d'],
        onDrift: [
          z.enum(driftPolicies),
          'What to do with items whose published fields were edited on the portal.',
          'overwrite',
        ],
        guard: [
          z.strictObject({
            ...keysOf(
              {
                maxRemovals: [share, 'Holds a run that would remove more of the known items.', '10%'],
                min: [z.int().nonnegative(), 'Number of items that may always be removed or updated.', 5],
                maxUpdates: [share, 'Holds a run that would update more of the known items.', '50%'],
              },
              { maxRemovals: '10%', min: 5 },
            ),
            ...tableGuardShape,
          }),
          'Limits beyond which a run is held before it changes anything, or a table is held.',
          { maxRemovals: '10%', rows: '20%' },
        ],
        notify: [
          notifySchema,
          'Recipients of notices about this manifest. Addresses must be public or in `sources.allow`.',
          { email: ['budget@example.org'] },
        ],
        defaults: [
          z.strictObject(
            keysOf({
              dataset: [
                datasetDetailsSchema,
                'For every dataset: any key but `id`, `title`, `renamedFrom` and `resources`.',
                { license: 'cc-by' },
              ],
              resource: [
                resourceDetailsSchema,
                'For every resource: any key but `id`, `title`, `renamedFrom` and its source.',
                { import: 'never' },
              ],
            }),
          ),
          'Values for what an entry leaves out. They merge shallowly; lists replace.',
        ],
        datasets: [
          z.array(datasetSchema),
          'The datasets to publish.',
          [{ id: 'city-budget-2026', title: 'City budget 2026' }],
        ],
        drop: [dropSchema, 'Publish files dropped into a folder.', { folder: 'inbox' }],
        index: [
          indexFileSchema,
          'Publish a list, one resource per row: a CSV or JSON lines file, or a mapping.',
          'resources.csv',
        ],
        datapackage: [
          datapackageFileSchema,
          'Publish Frictionless data packages: a `datapackage.json`, a pattern, or a list.',
          'packages/*/datapackage.json',
        ],
        catalogue: [
          catalogueSchema,
          'Harvest a catalogue (`data.json`, DCAT): its address or path, or a mapping.',
          'https://example.org/data.json',
        ],
      },
      { portal: 'local', timezone: 'UTC', missingFor: '0s', ...plainRules },
    ),
  })
  .meta({ title: 'sluice manifest', oneOf: manifestKinds.map((kind) => ({ required: [kind] })) });

/** `dataset.yaml` in a dropped dataset's folder. */
export const datasetDetailsFileSchema = z.strictObject({ title: titleSchema.exactOptional(), ...datasetShape });

/** `<resource>.yaml` beside a dropped file. */
export const resourceDetailsFileSchema = z.strictObject({
  title: titleSchema.exactOptional(),
  ...resourceShape,
  ...droppedTableShape,
});

export type ManifestFile = z.infer<typeof manifestFileSchema>;

export type DatasetDetails = z.infer<typeof datasetDetailsSchema>;

export type ResourceDetails = z.infer<typeof resourceDetailsSchema>;

/** A resource as the manifest wants it, defaults merged in. */
export interface ResourceSpec {
  id: string;
  title: string;
  renamedFrom?: string;
  /** True where the id is made of the address, so that another address gives another id. */
  byAddress?: boolean;
  /** A file's path is absolute; its existence is not checked here. */
  source: ResourceSource;
  details: ResourceDetails;
}

export interface DatasetSpec extends Pick<ResourceSpec, 'id' | 'title' | 'renamedFrom'> {
  details: DatasetDetails;
  resources: ResourceSpec[];
}

/** Limits beyond which a run is held whole; shares are 0 to 1, null = no limit. */
const defaultGuard = { maxRemovals: 0.1, min: 5, maxUpdates: null as number | null };

export type GuardRules = typeof defaultGuard;

export const defaultRules = { ...plainRules, missingForMs: 0, guard: defaultGuard };

/** Resolves a checked `notify`; null where the recipients of the configuration are meant. */
const resolveNotify = ({ email, webhook, heartbeat }: NonNullable<ManifestFile['notify']>) => ({
  email: email === undefined ? null : [email].flat(),
  webhook: webhook ?? null,
  ...(heartbeat === undefined ? {} : { heartbeat: heartbeatUrls(heartbeat) }),
});

export type ManifestNotify = ReturnType<typeof resolveNotify>;

/** What manifests of all kinds have; `path` is absolute. */
export const resolveBase = (file: ManifestFile, path: string) => {
  const { name, portal = 'local', portals = [], guard: { maxRemovals, min, maxUpdates, ...ofTables } = {} } = file;
  const { dataset = {}, resource = {} } = file.defaults ?? {};
  // The table limits of the manifest's guard are the defaults of every resource.
  const guard = { ...ofTables, ...resource.guard };
  const isGuarded = Object.keys(guard).length > 0;
  return {
    path,
    name,
    /** A portal named in the configuration; of several the first, or the one that is meant (see `perPortal`). */
    portal: portals[0] ?? portal,
    ...defaultRules,
    ...defined({
      portals: portals.length > 1 ? portals : undefined,
      schedule: ifGiven(file.schedule, (schedule) => resolveSchedule(schedule, file.timezone)),
      /** How often a successful run and something new are expected. */
      expectMs: ifGiven(file.expectEvery, durationMs),
      /** Former name, whose identities the keys keep. */
      renamedFrom: file.renamedFrom,
      priority: file.priority,
      metadata: file.metadata,
      onMissing: file.onMissing,
      missingForMs: ifGiven(file.missingFor, durationMs),
      onDrift: file.onDrift,
      notify: ifGiven(file.notify, resolveNotify),
    }),
    guard: {
      ...defaultGuard,
      ...defined({ maxRemovals: ifGiven(maxRemovals, shareOf), min, maxUpdates: ifGiven(maxUpdates, shareOf) }),
    },
    defaults: { dataset, resource: resolveTable({ ...resource, ...(isGuarded && { guard }) }, dirname(path)) },
  };
};

export type ManifestBase = ReturnType<typeof resolveBase>;

export const resolveDrop = (file: NonNullable<ManifestFile['drop']>, dir: string) => {
  const { folder, files = usualDrop.files, folders, settle, marker, trusted } = file;
  return {
    folder: resolve(dir, folder),
    files: [files].flat(),
    /** Null: as the configuration says (`inbox.settle`). */
    settleMs: settle === undefined ? null : durationMs(settle),
    ...defined({ marker, folders, trusted }),
  };
};

export type ListManifest = ManifestBase & { datasets: DatasetSpec[] };
export type DropManifest = ManifestBase & { drop: ReturnType<typeof resolveDrop> };
export type CatalogueManifest = ManifestBase & { catalogue: CatalogueSpec };
export type IndexManifest = ManifestBase & { index: IndexSpec };
/** Absolute paths and patterns. */
export type PackageManifest = ManifestBase & { datapackages: string[] };

/** A loaded manifest: everything resolved, nothing left to check but the data itself. Its kind is the key it has. */
export type Manifest = ListManifest | DropManifest | CatalogueManifest | IndexManifest | PackageManifest;

export const isDropManifest = (manifest: Manifest): manifest is DropManifest => 'drop' in manifest;
