// A portal with nodes of ours and of people, and a client for it.
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { createLog } from '../../../src/log.ts';
import type { Portal } from '../../../src/portal/client.ts';
import { type PortalServer, startPortalServer } from '../../../src/server/portal-server.ts';
import type { NodeFields } from '../../../src/wish.ts';
import { calm, openForTest } from '../../portal/support/open.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** See the head of this file. */
export interface City {
  /** A client for the running test. */
  portal(): Portal;
  /** Makes a node; returns number and uuid. */
  make(node: {
    type: 'dataset' | 'resource';
    title: string;
    log?: string;
    fields?: NodeFields;
  }): Promise<{ nid: string; uuid: string }>;
  /** Makes a resource with a file below a dataset. */
  makeTable(of: {
    dataset: string;
    title: string;
    log?: string;
    content: string;
  }): Promise<{ nid: string; uuid: string }>;
  /** Writes a local file; returns its path. */
  write(name: string, content: string): string;
}

/** Starts the portal of a test file. */
export const useCity = (): City => {
  const dir = tempDir();
  let server: PortalServer;
  beforeAll(async () => {
    server = await startPortalServer({
      dataDir: join(dir, 'portal'),
      users: [{ name: 'creator', password: 'open-sesame', roles: ['administrator'] }],
      log: createLog({ level: 'silent' }),
    });
  });
  afterAll(() => server.close());
  const city: City = {
    portal: () => openForTest(server.url),
    make: async ({ type, title, log = 'by a person', fields = {} }) => {
      const uuid = randomUUID();
      const { nid } = await city.portal().createNode({ type, title, status: 1, uuid, log, fields }, calm);
      return { nid, uuid };
    },
    makeTable: async ({ dataset, title, log = 'by a person', content }) => {
      const fields = { field_dataset_ref: { und: [{ target_id: dataset }] } };
      const node = await city.make({ type: 'resource', title, log, fields });
      const path = city.write(`${node.uuid}.csv`, content);
      const file = { path, name: 't.csv', bytes: Buffer.byteLength(content), contentType: 'text/csv' };
      await city.portal().attachFile(node.nid, file, calm);
      return node;
    },
    write: (name, content) => {
      const path = join(dir, name);
      writeFileSync(path, content);
      return path;
    },
  };
  return city;
};
