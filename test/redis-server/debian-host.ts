// This host as one of Debian's without a Redis server.
import { accessSync, chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const systemPath = '/usr/bin:/bin';

/** True when the path exists. */
export const exists = (path: string): boolean => {
  try {
    accessSync(path);
    return true;
  } catch {
    return false;
  }
};

/** True where packages can be fetched with apt. */
export const isDebian = exists('/usr/bin/apt-get') && exists('/usr/bin/dpkg');
/** True where tests run as root. */
export const isRoot = process.getuid?.() === 0;
const hasServer = exists('/usr/bin/redis-server') || exists('/usr/bin/valkey-server');

/** The folders of the host's programs without any Redis server, so that the route is taken on every host. */
const pathWithoutRedis = (dir: string): string => {
  const needed = ['apt-get', 'dpkg', 'dpkg-deb', 'ldd', 'tar', 'xz', 'zstd', 'bash', 'sh'];
  for (const name of needed.filter((each) => exists(join('/usr/bin', each)))) {
    writeFileSync(join(dir, name), `#!/bin/sh\nPATH=${systemPath} exec /usr/bin/${name} "$@"\n`);
    chmodSync(join(dir, name), 0o755);
  }
  return dir;
};

/** A PATH with those programs, but no Redis server; `dir` takes what that needs. */
export const cleanPath = (dir: string): string => (hasServer ? pathWithoutRedis(dir) : systemPath);
