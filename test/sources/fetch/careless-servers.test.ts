// Servers that speak HTTP carelessly: never a bug of sluice, always with the address, and retried only where that can help.
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { reasonOf, SluiceError } from '../../../src/model/errors.ts';
import { Fetcher } from '../../../src/sources/fetch/fetch.ts';
import { calm, failureFrom, openForTest } from '../../portal-client/support/open.ts';
import { fetchPolicy } from '../../support/fetch-policy.ts';
import { startRaw } from '../../support/raw-server.ts';
import { tempDir } from '../../support/temp-dir.ts';

const fetcher = new Fetcher(fetchPolicy);
afterAll(() => fetcher.close());

const head = (...lines: string[]): string => ['HTTP/1.1 200 OK', ...lines, '', 'a,b'].join('\r\n');

const broken: [what: string, answer: string][] = [
  ['bare line feeds', head('Content-Length: 3').replaceAll('\r', '')],
  ['a blank in a header name', head('Bad Name: x', 'Content-Length: 3')],
  ['no colon in a header', head('Bad', 'Content-Length: 3')],
  ['a control character', head('X: a\u0001b', 'Content-Length: 3')],
  ['a length in words', head('Content-Length: five')],
  ['a negative length', head('Content-Length: -3')],
  ['a bad chunk size', head('Transfer-Encoding: chunked', '', 'zz')],
  ['headers beyond the limit', head(`X: ${'a'.repeat(40_000)}`)],
  ['no status', 'HTTP/1.1 abc OK\r\n\r\n'],
  ['another version', 'HTTP/9.9 200 OK\r\n\r\n'],
  ['another protocol', 'SSH-2.0-OpenSSH_9.9\r\n'],
  ['a switch of protocols', 'HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'],
];

const chunks = 'HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n';

const gone: [what: string, answer: string][] = [
  ['nothing at all', ''],
  ['half a head', 'HTTP/1.1 200 OK\r\nContent-Le'],
  ['half a body', head('Content-Length: 9')],
  ['half a chunk', head('Transfer-Encoding: chunked', '', '9')],
  ['half a body, and closes', head('Connection: close', 'Content-Length: 9')],
  ['half a chunk, and closes', `${chunks}9\r\na,b`],
  ['chunks without an end, and closes', `${chunks}3\r\na,b\r\n`],
  // Not to be told from half a body.
  ['two lengths', head('Content-Length: 3', 'Content-Length: 4')],
  ['length and chunks', head('Content-Length: 3', 'Transfer-Encoding: chunked')],
];

const failureAt = async (address: string): Promise<SluiceError> => {
  const fetching = fetcher.toFile(address, join(tempDir(), 'a.csv'), { known: null, signal: calm });
  const error = await fetching.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof SluiceError)) throw new Error(`it ended with ${String(error)}`);
  return error;
};

describe('a source', () => {
  it.each(broken)('that sends %s is not retried, and named', async (_, answer) => {
    const address = `http://${await startRaw(answer)}/table.csv`;
    const error = await failureAt(address);
    expect(reasonOf(error).code).toBe('source-refused');
    expect(error.message).toContain(`${address} could not be fetched: `);
    expect(error.hint).not.toContain('retries');
    expect(error.retryable).toBe(false);
  });

  it.each(gone)('that sends %s is retried', async (_, answer) => {
    const address = `http://${await startRaw(answer)}/table.csv`;
    const error = await failureAt(address);
    expect(error).toMatchObject({ code: 'source-unreachable', retryable: true });
    expect(error.message).toContain(address);
    expect(error.hint).toContain('retries by itself');
  });

  it('at an https address that speaks plain HTTP is told to be that', async () => {
    const address = `https://${await startRaw(head('Content-Length: 3'))}/table.csv`;
    const error = await failureAt(address);
    expect(error.message).toBe(`${address} could not be fetched: the server does not speak https there`);
    expect(error).toMatchObject({ code: 'source-refused', hint: expect.stringContaining('scheme and port') });
  });

  it.each([
    ['UTF-8', 'utf8', '/b%C3%A4ume.csv'],
    ['Latin-1', 'latin1', '/b%E4ume.csv'],
  ] as const)('that redirects to a path in %s gets these bytes back', async (_, encoding, path) => {
    const redirect = 'HTTP/1.1 302 Found\r\nLocation: /bäume.csv\r\nContent-Length: 0\r\n\r\n';
    const host = await startRaw(Buffer.from(redirect, encoding));
    expect((await failureAt(`http://${host}/`)).message).toContain('redirects more than 3 times');
    const next = await startRaw(Buffer.from(redirect.replace('/b', `http://${host.replace(/:.*/, ':1')}/b`), encoding));
    expect((await failureAt(`http://${next}/`)).message).toContain(`http://127.0.0.1:1${path} (redirected from`);
  });
});

describe('a portal', () => {
  it.each(broken)('that sends %s is another site before the first login', async (_, answer) => {
    const url = `http://${await startRaw(answer)}`;
    const error = await failureFrom(openForTest(url).nodes.list({}, calm));
    expect(error).toMatchObject({ code: 'portal-not-api', retryable: false });
    expect(error).toHaveProperty('message', expect.stringContaining('portal city: '));
  });

  it.each(gone)('that sends %s is tried again', async (_, answer) => {
    const url = `http://${await startRaw(answer)}`;
    const error = await failureFrom(openForTest(url).nodes.list({}, calm));
    expect(error).toMatchObject({ code: 'portal-unreachable', retryable: true });
  });

  it('at an https address that speaks plain HTTP is told to be that', async () => {
    const url = `https://${await startRaw(head('Content-Length: 3'))}`;
    const error = await failureFrom(openForTest(url).nodes.list({}, calm));
    expect(error).toMatchObject({ code: 'portal-not-api', hint: expect.stringContaining('does not speak https') });
  });
});
