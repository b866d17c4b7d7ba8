import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo, LookupFunction } from 'node:net';
import { join } from 'node:path';
import { setDefaultCACertificates } from 'node:tls';
import { afterAll, describe, expect, it } from 'vitest';
import { SourceRefusedError } from '../../../src/model/errors.ts';
import { Fetcher } from '../../../src/sources/fetch/fetch.ts';
import { fetchPolicy } from '../../support/fetch-policy.ts';
import { tempDir } from '../../support/temp-dir.ts';

// A key for these tests only, and its certificate for the name data.example.
const [key, cert] = ['tls-key.pem', 'tls-cert.pem'].map((name) =>
  readFileSync(join(import.meta.dirname, 'fixtures', name), 'utf8'),
);
const server = createServer({ key, cert }, (_request, response) => response.end('id\n1\n'));
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const { port } = server.address() as AddressInfo; // it listens on a port

const lookup: LookupFunction = (_host, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]);
const fetcher = new Fetcher(fetchPolicy, { lookup });
afterAll(async () => {
  await fetcher.close();
  server.closeAllConnections();
  server.close();
});

const get = (host: string) =>
  fetcher.toFile(`https://${host}:${port}/x.csv`, join(tempDir(), 'x'), {
    known: null,
    signal: new AbortController().signal,
  });

describe('https', () => {
  it('is refused with a certificate that nobody vouches for', async () => {
    const error = await get('data.example').catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(SourceRefusedError);
    expect(error).toMatchObject({
      message: expect.stringContaining(
        `https://data.example:${port}/x.csv could not be fetched: its certificate is not accepted`,
      ),
      hint: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
    });
  });

  it('is fetched with a trusted certificate for that name, and refused for another name', async () => {
    setDefaultCACertificates([cert ?? '']);
    expect(await get('data.example')).toMatchObject({ status: 'fetched', bytes: 5 });
    await expect(get('other.example')).rejects.toBeInstanceOf(SourceRefusedError);
  });
});
