// Keeps the embedded portal of a store served: by this process, or by another one that already does.
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PortalPortError } from '../model/errors.ts';
import { repeat } from '../util/concurrency.ts';
import { makeFolder, writeDurably } from '../util/files.ts';
import { http } from '../util/http.ts';
import { type PortalServer, type PortalServerOptions, startPortalServer } from './portal-server.ts';
import { StoreHeldError } from './store/open.ts';

/** Name of the account that sluice's own workers use where the configuration names none with a password. */
export const serviceAccount = 'sluice';

/** The password of the service account of a store, made at first use and kept in the store's folder with mode 600. */
export const servicePassword = async (dataDir: string): Promise<string> => {
  const path = join(dataDir, 'service.password');
  await makeFolder(dataDir, 0o700);
  const own = randomBytes(24).toString('base64url');
  // Exclusive creation decides between two processes that start at the same moment.
  await writeFile(path, `${own}\n`, { mode: 0o600, flag: 'wx' }).catch(() => undefined);
  return (await readFile(path, 'utf8')).trim();
};

/** Serves a portal store, or waits beside the process that serves it and takes over when that one ends. */
export class PortalSupervisor {
  readonly #options: PortalServerOptions;
  /** The server when this process is the one that serves. */
  server: PortalServer | null = null;
  /** Address of the portal, the same whichever process serves it. */
  url = '';
  #endTakeOvers: (() => Promise<void>) | undefined;

  constructor(options: PortalServerOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    const { dataDir, log } = this.#options;
    for (let tries = 0; !(await this.#serve()); tries++) {
      this.url = await storedAddress(dataDir);
      if (await answers(this.url)) break;
      if (tries > 100) {
        throw new PortalPortError(`another process holds the portal store ${dataDir} but does not answer`, {
          hint: 'stop that process, or give this portal another dataDir',
        });
      }
      await sleep(50);
    }
    const failed = (err: unknown): void => log.warn({ err }, 'the embedded portal could not be taken over');
    this.#endTakeOvers = repeat(1000, () => this.#takeOver(), failed);
  }

  async close(): Promise<void> {
    await this.#endTakeOvers?.();
    await this.server?.close();
    this.server = null;
  }

  async #takeOver(): Promise<void> {
    if (this.server || (await answers(this.url))) return;
    if (await this.#serve()) this.#options.log.info({ url: this.url }, 'took over the embedded portal');
  }

  /** False when another process holds the store. The port is kept, so that addresses stay true over restarts. */
  async #serve(): Promise<boolean> {
    const { dataDir, port = 0 } = this.#options;
    const before = await storedAddress(dataDir);
    const kept = port === 0 && before !== '' ? Number(new URL(before).port) : port;
    for (const wanted of new Set([kept, port])) {
      try {
        this.server = await startPortalServer({ ...this.#options, port: wanted });
      } catch (error) {
        if (!(error instanceof PortalPortError)) throw error;
        if (error instanceof StoreHeldError || (await answers(await storedAddress(dataDir)))) return false;
        if (wanted === port) throw error;
        continue; // another program took the port of last time meanwhile
      }
      this.url = this.server.url;
      await storeAddress(dataDir, this.url);
      return true;
    }
    return false;
  }
}

const addressFile = (dataDir: string): string => join(dataDir, 'address');

const storedAddress = async (dataDir: string): Promise<string> =>
  (await readFile(addressFile(dataDir), 'utf8').catch(() => '')).trim();

/** Notes where a store is served, so that other processes that want it find the one that does. */
export const storeAddress = (dataDir: string, url: string): Promise<void> =>
  writeDurably(addressFile(dataDir), `${url}\n`);

const answers = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    if (url === '') return resolve(false);
    const request = http.get(`${url}/healthz`, { timeout: 1000 }, (reply) =>
      resolve(reply.resume().statusCode === 200),
    );
    request.on('timeout', () => request.destroy()).on('error', () => resolve(false));
  });
