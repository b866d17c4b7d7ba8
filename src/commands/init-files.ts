// The files that `sluice init` writes.
import { readFile } from 'node:fs/promises';
import { lines } from './text.ts';

export interface ChosenPortal {
  name: string;
  /** Null for the embedded portal. */
  url: string | null;
  username: string | null;
  password: string | null;
}

/** A file to write, with its path below the chosen folder. */
export interface NewFile {
  path: string;
  text: string;
  /** Readable by its owner only. */
  secret?: true;
}

export const configPath = 'config/sluice.yaml';

/** Configuration and password: what the answers lead to. */
export const settingsFiles = (portal: ChosenPortal): NewFile[] => [
  { path: configPath, text: configText(portal) },
  ...(portal.password === null
    ? []
    : [{ path: `config/${portal.name}.password`, text: `${portal.password}\n`, secret: true as const }]),
];

/** Manifests and a table to begin with, and what version control should leave out. */
export const sampleFiles = async (portal: ChosenPortal): Promise<NewFile[]> => [
  { path: 'jobs/first.yaml', text: firstManifest(portal) },
  await ownFile('data/first.csv', 'jobs/demo/library-hours.csv'),
  { path: 'jobs/inbox.yaml', text: inboxManifest(portal) },
  { path: '.gitignore', text: '.sluice/\ninbox/\nconfig/*.password\n' },
];

/** The schemas of both files, by which an editor completes and checks them. */
export const schemaFiles = (): Promise<NewFile[]> =>
  Promise.all(['config/config.schema.json', 'config/manifest.schema.json'].map((path) => ownFile(path)));

const ownFile = async (path: string, from = path): Promise<NewFile> => ({
  path,
  text: await readFile(new URL(`../../${from}`, import.meta.url), 'utf8'),
});

/** First line of a manifest: where an editor finds its schema. */
const manifestSchema = '# yaml-language-server: $schema=../config/manifest.schema.json';

/** The watched folder of `jobs/inbox.yaml`. */
export const inboxFolder = 'inbox';

/** A text in YAML, of which JSON is a part. */
export const quoted = (text: string): string => JSON.stringify(text);

const configText = (portal: ChosenPortal): string => `# yaml-language-server: $schema=./config.schema.json
# Where and how sluice runs. What is published is in jobs/.
# Omitted keys have defaults; \`sluice help config\` lists every key.

portals:
${portalLines(portal).join('\n')}

# Manifests that \`sluice start\` serves, by path or pattern.
manifests: ["../jobs/*.yaml"]
`;

const portalLines = ({ name, url, username, password }: ChosenPortal): string[] =>
  lines(
    `  ${name}:`,
    url === null
      ? '    kind: embedded        # the portal that comes with sluice'
      : ['    kind: remote', `    url: ${quoted(url)}`],
    username !== null && `    username: ${quoted(username)}`,
    password !== null && `    password: { file: ${name}.password }   # beside this file, readable by its owner only`,
  );

const firstManifest = ({ name, url }: ChosenPortal): string => `${manifestSchema}
# A first manifest: what to publish. Put your own titles and files here; \`sluice help manifest\` lists every key.

name: first               # begins every key, such as first/library-hours/hours
portal: ${name}
guard: { rows: 50%, columns: grow, nulls: 50% }   # holds a table that differs too much

datasets:
  - id: library-hours
    title: Opening hours of the libraries (sample)
    description: A small sample table, to see that publishing works.
    license: cc-zero
${url === null ? '' : '    published: false      # a draft that visitors do not see; remove this line to publish\n'}    resources:
      - id: hours
        title: Opening hours
        file: ../data/first.csv   # relative to this file
${url === null ? '' : '        published: false\n'}`;

const inboxManifest = ({ name }: ChosenPortal): string => `${manifestSchema}
# Publishes what is dropped into the folder inbox/ while \`sluice start\` runs:
#   inbox/<dataset>/<resource>.csv, or inbox/<name>.csv for a dataset and resource of that name
# A file of the same name again is a new version of the same resource. Faulty files are put into inbox/_faulty/.

name: inbox
portal: ${name}
drop: { folder: ../${inboxFolder}, files: "**/*.{csv,tsv,xlsx,xlsm,json,geojson,zip,gz}" }
guard: { rows: 50%, columns: grow, nulls: 50% }   # holds a table that differs too much

# A table that a portal could not read is fixed while publishing if every fault has only one possible fix (encoding, titles
# above the header); others are faulty. off: nothing is fixed.
defaults: { resource: { mend: safe } }
`;
