// The embedded portal as `sluice portal` runs it, with one publisher.

import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { atFileEnd } from '../../support/file-end.ts';
import { endSluices, type Sluice, type Started, startSluice } from '../../support/sluice-process.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { startHere } from './here.ts';
import { openReader, type Reader } from './reader.ts';

/** User and password of the publisher; the password is looked for in logs. */
export const publisher = { username: 'publisher', password: 'correct-horse-battery' };

/** A user who may create datasets, and sees no drafts in lists; same password. */
export const author = { username: 'author' };

/** A person who may edit everything on the portal; same password. */
export const editor = { username: 'editor' };

/** A portal that runs as a command. */
export interface RunningPortal<S extends Started = Started> {
  url: string;
  command: S;
  /** Folder of its store; to be copied only while the portal does not run. */
  store: string;
  reader(): Promise<Reader>;
  /** Starts it again after its end, on the same port. */
  restart(): Promise<void>;
}

/** A portal that can be killed. */
export type PortalProcess = RunningPortal<Sluice>;

/** Starts a portal in this process; `more` are further arguments of `sluice portal`. */
export const startPortal = (more: string[] = []): Promise<RunningPortal> =>
  open((args, cwd) => startHere(args, { cwd, env: {} }), more);

/** Starts a portal in a process of its own. */
export const startPortalProcess = (more: string[] = []): Promise<PortalProcess> => {
  atFileEnd(endSluices);
  return open((args, cwd) => startSluice(args, { cwd }), more);
};

const open = async <S extends Started>(
  begin: (args: string[], cwd: string) => S,
  more: string[],
): Promise<RunningPortal<S>> => {
  const dir = tempDir();
  const users = join(dir, 'users.yaml');
  const account = { name: publisher.username, password: publisher.password, roles: ['administrator'] };
  const creator = { name: author.username, password: publisher.password, roles: ['content creator'] };
  const manager = { name: editor.username, password: publisher.password, roles: ['site manager'] };
  writeFileSync(users, JSON.stringify({ users: [account, creator, manager] }));
  chmodSync(users, 0o600);
  const start = async (port: string): Promise<S> => {
    const store = ['--data', join(dir, 'store'), '--users', users];
    const command = begin(['portal', '--port', port, ...store, ...more], dir);
    await command.said('portal ready at ');
    return command;
  };
  const portal: RunningPortal<S> = {
    url: '',
    command: await start('0'),
    store: join(dir, 'store'),
    reader: () => openReader(portal.url, publisher.username, publisher.password),
    restart: async () => {
      // Meanwhile a connection of another test may have that port.
      for (let left = 40; ; left -= 1) {
        const started = await start(new URL(portal.url).port).catch((error: unknown) => {
          if (left === 0 || !String(error).includes('EADDRINUSE')) throw error;
          return pause(250);
        });
        if (!started) continue;
        portal.command = started;
        return;
      }
    },
  };
  portal.url = /portal ready at (http:\/\/[\d.:]+)/.exec(portal.command.out())?.[1] ?? '';
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
