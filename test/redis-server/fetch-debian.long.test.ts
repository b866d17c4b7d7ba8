// A Debian host that lacks a library of the server.
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runTool } from '../../src/redis-server/fetch-debian.ts';
import { resolveBinary } from '../../src/redis-server/resolve.ts';
import { tempDir } from '../support/temp-dir.ts';
import { cleanPath, isDebian } from './debian-host.ts';
import { keptLog } from './embedded-support.ts';

test.skipIf(!isDebian)(
  `libraries that ldd calls missing are fetched too, and the checker of the data is there${isDebian ? '' : ' (skipped: needs apt)'}`,
  async () => {
    const dir = tempDir();
    const programs = join(dir, 'bin');
    mkdirSync(programs);
    // A host without that library, as far as ldd knows; its package has a name with a hyphen.
    writeFileSync(join(programs, 'ldd'), "#!/bin/sh\nprintf '\\tliblua5.4.so.0 => not found\\n'\n");
    chmodSync(join(programs, 'ldd'), 0o755);
    const rest = join(dir, 'rest');
    mkdirSync(rest);
    const env = { PATH: `${programs}:${cleanPath(rest)}` };
    const folder = join(dir, 'redis');
    const { path } = await resolveBinary({ folders: [folder], allowFetch: true, env, log: keptLog().log });
    expect(path).toBe(join(folder, 'server', 'redis-server'));
    const libraries = join(folder, 'server', 'root', 'usr', 'lib');
    const triplets = readdirSync(libraries);
    expect(triplets.filter((triplet) => existsSync(join(libraries, triplet, 'liblua5.4.so.0')))).toHaveLength(1);
    const checker = await runTool(join(folder, 'server', 'redis-check-aof'), [], { env: {}, timeoutMs: 10_000 });
    expect(checker.output).toContain('Usage');
  },
);
