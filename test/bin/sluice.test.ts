import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempDir } from '../support/temp-dir.ts';

const bin = join(import.meta.dirname, '../../bin/sluice.cjs');

const run = (...args: string[]) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  return { status, stdout, stderr };
};

describe('bin/sluice.cjs', () => {
  it('runs what was compiled in a package, and the sources in a clone', () => {
    const root = tempDir();
    for (const folder of ['bin', 'dist', 'src']) mkdirSync(join(root, folder));
    cpSync(bin, join(root, 'bin/sluice.cjs'));
    writeFileSync(join(root, 'package.json'), '{ "type": "module" }');
    writeFileSync(join(root, 'dist/cli.js'), 'console.log("package", ...process.argv.slice(2))');
    expect(run(join(root, 'bin/sluice.cjs'), 'status')).toEqual({ status: 0, stdout: 'package status\n', stderr: '' });
    writeFileSync(join(root, 'src/cli.ts'), 'console.log("clone" as string)');
    expect(run(join(root, 'bin/sluice.cjs'))).toEqual({ status: 0, stdout: 'clone\n', stderr: '' });
  });

  it.each(['20.20.2', '22.18.0'])('says in one line that Node %s is too old', (version) => {
    const pretend = `Object.defineProperty(process.versions, 'node', { value: '${version}' }); require('${bin}')`;
    expect(run('-e', pretend, 'status')).toEqual({
      status: 2,
      stdout: '',
      stderr: `sluice needs Node 22.19 or newer, this is ${version}: https://nodejs.org/download\n`,
    });
  });
});
