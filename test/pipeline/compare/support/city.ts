// A portal with nodes of ours and of people, and a client for it.
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { type PortalServer, startPortalServer } from '../../../../src/embedded-portal/portal-server.ts';
import { createLog } from '../../../../src/model/log.ts';
import type { NodeFields } from '../../../../src/model/wish.ts';
import type { Portal } from '../../../../src/portal-client/client.ts';
import { calm, openForTest } from '../../../portal-client/support/open.ts';
import { tempDir } from '../../../support/temp-dir.ts';

/** See the head of this file. */
export interface City {
  /** A client for the running test. */
  portal(): Portal;
  /** One of an account that sees no drafts in lists. */
  ordinary(): Portal;
  /** Makes a node; returns number and uuid. A draft is one of the ordinary account. */
  make(node: {
    type: 'dataset' | 'resource';
    title: string;
    status?: 0 | 1;
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
      users: [
        { name: 'creator', password: 'open-sesame', roles: ['administrator'] },
        { name: 'ordinary', password: 'open-sesame', roles: ['content creator'] },
      ],
      log: createLog({ level: 'silent' }),
    });
  });
  afterAll(() => server.close());
  const city: City = {
    portal: () => openForTest(server.url),
    ordinary: () => openForTest(server.url, { username: 'ordinary' }),
    make: async ({ type, title, status = 1, log = 'by a person', fields = {} }) => {
      const uuid = randomUUID();
      const portal = status === 1 ? city.portal() : city.ordinary();
      const { nid } = await portal.createNode({ type, title, status, uuid, log, fields }, calm);
      return { nid, uuid };
    },
    makeTable: async ({ dataset, title, log = 'by a person', content }) => {
      const fields = { field_dataset_ref: { und: [{ target_id: dataset }] } };
      const node = await city.make({ type: 'resource', title, log, fields });
      const path = city.write(`${node.uuid}.csv`, content);
      const file = { path, name: 't.csv', bytes: Buffer.byteLength(content), contentType: 'text/csv' };
      await city.portal().attach(node.nid, file, calm);
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
