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
import { idText, optional, text, webAddress } from '../../model/schema-parts.ts';
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
  resourceGuard,
  share,
  shareOf,
  tableGuardShape,
  tableShape,
  urlShape,
} from './resource-keys.ts';
import { resolveSchedule, scheduleFileSchema } from './schedule-schema.ts';

const published = optional(z.boolean(), {
  default: true,
  description: 'False keeps it unpublished on the portal.',
  examples: [false],
});
const importMode = optional(z.enum(importModes), {
  default: 'auto',
  description:
    '`auto` imports tables into the datastore; `never` sends the file only; `unchecked` also sends a faulty table as it is.',
  examples: ['never'],
});

const expectEvery = optional(
  z.union([durationText, z.literal('never')], { error: 'must be a duration such as `1d`, or `never`' }),
  {
    description: 'How often a new file is expected; a notice reports what is overdue. By default as `frequency` says.',
    examples: ['1d'],
  },
);

/** Keys of a dataset that `defaults.dataset` and `dataset.yaml` beside a dropped folder share with written-down datasets. */
const datasetShape = { ...datasetMetadataShape, published, expectEvery, fields: passedFieldsSchema.exactOptional() };
const resourceShape = {
  ...resourceMetadataShape,
  published,
  import: importMode,
  guard: resourceGuard,
  ...tableShape,
  fields: passedFieldsSchema.exactOptional(),
};

const datasetDetailsSchema = z.strictObject(datasetShape);
const resourceDetailsSchema = z.strictObject(resourceShape);

export const resourceSchema = z
  .strictObject({
    id: idText.meta({
      description: 'Name of the resource in its dataset; part of its key.',
      examples: ['spending'],
    }),
    title: optional(titleSchema, {
      description: 'Title; the id by default.',
      examples: ['Spending by department'],
    }),
    file: optional(text, {
      description: 'File to send: a path relative to the manifest, or absolute.',
      examples: ['data/spending.csv'],
    }),
    ...urlShape,
    link: optional(webAddress, {
      description: 'Instead of a file: a page or file elsewhere.',
      examples: ['https://example.org/data.zip'],
    }),
    api: optional(webAddress, {
      description: 'Instead of a file: an API.',
      examples: ['https://example.org/api'],
    }),
    renamedFrom: optional(idText, { description: 'Former id; the identity is kept.', examples: ['expenses'] }),
    ...resourceShape,
  })
  .meta({ oneOf: ['file', 'url', 'link', 'api'].map((key) => ({ required: [key] })) });

export const datasetSchema = z.strictObject({
  id: idText.meta({
    description: 'Name of the dataset in the manifest; part of its key.',
    examples: ['city-budget-2026'],
  }),
  title: titleSchema,
  renamedFrom: optional(idText, { description: 'Former id; the identity is kept.', examples: ['budget-2026'] }),
  ...datasetShape,
  resources: optional(z.array(resourceSchema), {
    description: 'Files and links of the dataset.',
    examples: [[{ id: 'spending', file: 'data/spending.csv' }]],
  }),
});

const folderName = z.string().regex(/^(?!(?:.*\/)?\.)[^/\\]+(?:\/[^/\\]+)*$/, {
  error: 'must be the path of a folder in the inbox such as `transport`',
});

const dropSchema = z.strictObject({
  folder: text.meta({
    description: 'Folder to watch, relative to the manifest or absolute: `<dataset>/<resource>.csv`.',
    examples: ['inbox'],
  }),
  files: optional(
    z.union([text, z.array(text).min(1)], { error: 'must be a pattern such as `**/*.csv`, or a list of patterns' }),
    {
      default: '**/*.csv',
      description: 'Files to publish: a pattern or a list.',
      examples: [['**/*.csv', '**/*.tsv']],
    },
  ),
  settle: optional(durationText, {
    description: 'How long a file must be unchanged; default `inbox.settle`.',
    examples: ['10s'],
  }),
  folders: optional(z.record(folderName, datasetDetailsSchema), {
    description: 'Folders with datasets (`transport/<dataset>/<resource>.csv`), and common metadata of these.',
    examples: [{ transport: { topics: ['Transport'] } }],
  }),
  trusted: optional(z.boolean(), {
    default: false,
    description: 'Whether files beside the data may set `groups`, any `fields`, and `published`.',
    examples: [true],
  }),
  marker: optional(z.string().regex(/^\.[A-Za-z0-9_-]+$/, { error: 'must be an ending such as `.done`' }), {
    description: 'Publish a file only once its marker exists: `x.csv.done` for `.done`.',
    examples: ['.done'],
  }),
});

/** The keys that say what a manifest publishes: exactly one of them is in each, and makes its kind. */
export const manifestKinds = ['datasets', 'drop', 'catalogue', 'index', 'datapackage'] as const;

export const manifestFileSchema = z
  .strictObject({
    name: idText.meta({
      description: 'Name of the manifest, unique per portal; begins every key.',
      examples: ['city-finance'],
    }),
    portal: optional(idText, {
      default: 'local',
      description: 'Name of the portal in the configuration.',
      examples: ['city'],
    }),
    portals: optional(z.array(idText).min(1), {
      description: 'Instead of `portal`: several portals.',
      examples: [['city', 'county']],
    }),
    schedule: optional(scheduleFileSchema, {
      description: 'When to run: a cron pattern, or a mapping.',
      examples: [{ cron: '15 3 * * *', timezone: 'Europe/Berlin' }],
    }),
    timezone: optional(text, {
      default: 'UTC',
      description: 'Time zone of a `schedule` that is a pattern.',
      examples: ['Europe/Berlin'],
    }),
    expectEvery: optional(durationText, {
      description: 'How often a successful run and new data are expected; a notice reports what is overdue.',
      examples: ['1d'],
    }),
    priority: optional(z.enum(runPriorities), {
      default: 'normal',
      description: 'Which manifest goes first when several wait for the same portal.',
      examples: ['high'],
    }),
    metadata: optional(z.literal('measure'), {
      description:
        'Fill what nobody wrote from the tables themselves: time and area that they cover, and what their columns hold.',
      examples: ['measure'],
    }),
    renamedFrom: optional(idText, { description: 'Former name; identities are kept.', examples: ['finance'] }),
    onMissing: optional(z.enum(missingPolicies), {
      default: 'keep',
      description:
        'What to do with nodes the manifest no longer names; `orphan` unpublishes and marks them. Not with `drop`.',
      examples: ['orphan'],
    }),
    missingFor: optional(durationText, {
      default: '0s',
      description: 'How long an item must be missing before `onMissing` acts.',
      examples: ['7d'],
    }),
    onDrift: optional(z.enum(driftPolicies), {
      default: 'hold',
      description: 'What to do with items whose published fields were edited on the portal.',
      examples: ['overwrite'],
    }),
    guard: optional(
      z.strictObject({
        maxRemovals: optional(share, {
          default: '10%',
          description: 'Holds a run that would remove more of the known items.',
          examples: ['10%'],
        }),
        min: optional(z.int().nonnegative(), {
          default: 5,
          description: 'Number of items that may always be removed or updated.',
          examples: [5],
        }),
        maxUpdates: optional(share, {
          description: 'Holds a run that would update more of the known items.',
          examples: ['50%'],
        }),
        ...tableGuardShape,
      }),
      {
        description: 'Limits beyond which a run is held before it changes anything, or a table is held.',
        examples: [{ maxRemovals: '10%', rows: '20%' }],
      },
    ),
    notify: optional(
      z.strictObject({
        email: optional(recipientsSchema, {
          description: 'E-mail addresses instead of those in the configuration.',
          examples: [['budget@example.org']],
        }),
        webhook: optional(webAddress, {
          description: 'Webhook instead of the configured one; never signed.',
          examples: ['https://ops.example.org/finance'],
        }),
        heartbeat: optional(heartbeatSchema, {
          description: 'Monitor instead of the configured one.',
          examples: ['https://hc-ping.com/1f0c4f4e-6a5c-4f0e-9d39-0e6a3a7b8c11'],
        }),
      }),
      {
        description: 'Recipients of notices about this manifest. Addresses must be public or in `sources.allow`.',
        examples: [{ email: ['budget@example.org'] }],
      },
    ),
    defaults: optional(
      z.strictObject({
        dataset: optional(datasetDetailsSchema, {
          description: 'For every dataset: any key but `id`, `title`, `renamedFrom` and `resources`.',
          examples: [{ license: 'cc-by' }],
        }),
        resource: optional(resourceDetailsSchema, {
          description: 'For every resource: any key but `id`, `title`, `renamedFrom` and its source.',
          examples: [{ import: 'never' }],
        }),
      }),
      { description: 'Values for what an entry leaves out. They merge shallowly; lists replace.' },
    ),
    datasets: optional(z.array(datasetSchema), {
      description: 'The datasets to publish.',
      examples: [[{ id: 'city-budget-2026', title: 'City budget 2026' }]],
    }),
    drop: optional(dropSchema, {
      description: 'Publish files dropped into a folder.',
      examples: [{ folder: 'inbox' }],
    }),
    index: optional(indexFileSchema, {
      description: 'Publish a list, one resource per row: a CSV or JSON lines file, or a mapping.',
      examples: ['resources.csv'],
    }),
    datapackage: optional(datapackageFileSchema, {
      description: 'Publish Frictionless data packages: a `datapackage.json`, a pattern, or a list.',
      examples: ['packages/*/datapackage.json'],
    }),
    catalogue: optional(catalogueSchema, {
      description: 'Harvest a catalogue (`data.json`, DCAT): its address or path, or a mapping.',
      examples: ['https://example.org/data.json'],
    }),
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

export const defaultRules = {
  priority: 'normal' as RunPriority,
  onMissing: 'keep' as OnMissing,
  missingForMs: 0,
  onDrift: 'hold' as OnDrift,
  guard: defaultGuard,
};

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
  const { folder, files = '**/*.csv', folders, settle, marker, trusted } = file;
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
