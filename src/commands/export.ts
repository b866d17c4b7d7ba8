// `sluice export`: a portal as a folder of data packages, with a catalogue, and a manifest that publishes it elsewhere.
import { hash } from 'node:crypto';
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { resolve } from 'node:path';
import { UsageError } from '../model/errors.ts';
import { exportedFiles } from '../model/policy.ts';
import type { ExportOrder } from '../model/report.ts';
import { makeFolder } from '../util/files.ts';
import { type CommandDeclarations, commonOptions, waitOption } from './declaration.ts';
import { type CommonOptions, type Io, unwritable } from './io.ts';
import { configOf, withRuntime } from './session.ts';
import { awaitReports } from './wait.ts';

interface ExportOptions extends Omit<CommonOptions, 'portal'> {
  output?: string;
  only?: string[];
  files?: ExportOrder['files'];
  public?: boolean;
  wait?: number;
}

/** Exports a portal, named or by its address, as one run. */
const exportCommand = async (portal: string, options: ExportOptions, io: Io): Promise<number> => {
  if (options.output === undefined) {
    throw new UsageError('the target folder is missing', { hint: 'sluice export PORTAL -o FOLDER' });
  }
  const config = await configOf({ ...options, portal, isReadOnly: true }, io);
  const name = config.portal ?? portal;
  const folder = resolve(io.cwd, options.output);
  try {
    await makeFolder(folder);
    await access(folder, constants.W_OK);
  } catch (cause) {
    throw unwritable(folder, cause, 'sluice export PORTAL -o FOLDER');
  }
  const { files = 'changed', only = null, public: isPublic = false } = options;
  const order: ExportOrder = { folder, files, only, isPublic };
  return withRuntime({ config, options, role: 'export' }, io, async (runtime) => {
    // Two exports to one folder wait for each other.
    const manifest = `export-${name.slice(0, 40)}-${hash('sha256', folder).slice(0, 8)}`;
    const target = { manifestPath: folder, manifest, portal: name };
    return awaitReports(runtime, [await runtime.requestRun(target, 'command', { export: order })], options, io);
  });
};

const { '--portal <name|URL>': _portal, ...options } = commonOptions;

export const commands = {
  export: {
    arguments: { '<portal>': 'name in the configuration, or URL; without a login, public content only' },
    options: {
      ...options,
      '-o, --output <folder>': 'target folder: new, or from an earlier export',
      '--only <dataset...>': 'datasets by UUID, node id or title (`*` matches any text)',
      '--files <which>': { text: 'files to download: changed (default), all or none', choices: exportedFiles },
      '--public': 'export public content only, even with a login',
      ...waitOption,
    },
    examples: ['sluice export city -o backup/city', 'sluice export https://data.example.org -o portal --files none'],
    run: exportCommand,
  },
} satisfies CommandDeclarations;
