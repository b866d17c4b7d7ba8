// The embedded portal as a process of its own (`sluice portal`), with one publisher.
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { atFileEnd } from '../../support/file-end.ts';
import { endSluices, type Sluice, startSluice } from '../../support/sluice-process.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { openReader, type Reader } from './reader.ts';

/** User and password of the publisher; the password is looked for in logs. */
export const publisher = { username: 'publisher', password: 'correct-horse-battery' };

/** A user who may create datasets, and sees no drafts in lists; same password. */
export const author = { username: 'author' };

/** A person who may edit everything on the portal; same password. */
export const editor = { username: 'editor' };

/** A portal process that can be killed and started again on the same port and store. */
export interface PortalProcess {
  url: string;
  process: Sluice;
  /** Folder of its store; to be copied only while the portal does not run. */
  store: string;
  reader(): Promise<Reader>;
  /** Starts it again after its end, on the same port. */
  restart(): Promise<void>;
}

/** Starts a portal process; `more` are further arguments of `sluice portal`. */
export const startPortalProcess = async (more: string[] = []): Promise<PortalProcess> => {
  const dir = tempDir();
  atFileEnd(endSluices);
  const users = join(dir, 'users.yaml');
  const account = { name: publisher.username, password: publisher.password, roles: ['administrator'] };
  const creator = { name: author.username, password: publisher.password, roles: ['content creator'] };
  const manager = { name: editor.username, password: publisher.password, roles: ['site manager'] };
  writeFileSync(users, JSON.stringify({ users: [account, creator, manager] }));
  chmodSync(users, 0o600);
  const start = async (port: string): Promise<Sluice> => {
    const store = ['--data', join(dir, 'store'), '--users', users];
    const child = startSluice(['portal', '--port', port, ...store, ...more], { cwd: dir });
    await child.said('portal ready at ');
    return child;
  };
  const portal: PortalProcess = {
    url: '',
    process: await start('0'),
    store: join(dir, 'store'),
    reader: () => openReader(portal.url, publisher.username, publisher.password),
    restart: async () => {
      portal.process = await start(new URL(portal.url).port);
    },
  };
  portal.url = /http:\/\/[\d.:]+/.exec(portal.process.out())?.[0] ?? '';
  return portal;
};

/** Configuration of a remote portal `local` at an address, with the publisher's login. */
export const remoteConfig = (url: string, more: Record<string, unknown> = {}) => ({
  portals: {
    local: {
      kind: 'remote',
      url,
      username: publisher.username,
      password: { file: 'password' },
      requestsPerSecond: 0,
      ...more,
    },
  },
});

/** Writes the password file that {@link remoteConfig} names. */
export const writePassword = (dir: string, password: string = publisher.password): void => {
  const path = join(dir, 'config', 'password');
  writeFileSync(path, `${password}\n`);
  chmodSync(path, 0o600);
};
