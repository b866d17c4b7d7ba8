import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { SourceMissingError, SourceRefusedError, SourceUnreachableError } from '../../../src/model/errors.ts';
import { Fetcher } from '../../../src/sources/fetch/fetch.ts';
import type { Fetched, FetchPolicy, Validators } from '../../../src/sources/fetch/policy.ts';
import { fetchPolicy } from '../../support/fetch-policy.ts';
import { fileAnswer, startSources } from '../../support/source-server.ts';
import { tempDir } from '../../support/temp-dir.ts';

const policy: FetchPolicy = { ...fetchPolicy, allowPrivate: ['127.0.0.0/8'], maxBytes: 50_000_000 };

const server = await startSources();
const opened: Fetcher[] = [];
const open = (changes: Partial<FetchPolicy> = {}, tools: ConstructorParameters<typeof Fetcher>[1] = {}): Fetcher => {
  const fetcher = new Fetcher({ ...policy, ...changes }, tools);
  opened.push(fetcher);
  return fetcher;
};
afterAll(() => Promise.all(opened.map((fetcher) => fetcher.close())));

const fetcher = open();
const signal = new AbortController().signal;
const plain = { known: null, signal };
const table = `id,name\n${Array.from({ length: 200 }, (_, id) => `${id},name ${id}\n`).join('')}`;
const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex');

const place = (): string => join(tempDir(), 'deep', 'table.csv');
const left = (into: string): string[] => (existsSync(join(into, '..')) ? readdirSync(join(into, '..')) : []);
const failure = async (work: Promise<unknown>): Promise<Error & { hint?: string }> => {
  try {
    await work;
  } catch (error) {
    return error as Error; // only errors are thrown here
  }
  throw new Error('it did not fail');
};
const whole = (fetched: Fetched): Extract<Fetched, { status: 'fetched' }> => {
  if (fetched.status !== 'fetched') throw new Error('it was not fetched');
  return fetched;
};

describe('a fetch', () => {
  it('stores the file and tells what it is', async () => {
    server.on('/a/spending.csv', fileAnswer(table, { etag: '"v1"' }));
    const into = place();
    const fetched = await fetcher.toFile(`${server.url}/a/spending.csv`, into, plain);
    expect(fetched).toEqual({
      headers: expect.objectContaining({ etag: '"v1"' }),
      status: 'fetched',
      bytes: table.length,
      sha256: sha256(table),
      validators: { etag: '"v1"', lastModified: null, finalUrl: `${server.url}/a/spending.csv` },
      contentType: 'text/csv',
      fileName: 'spending.csv',
      finalUrl: `${server.url}/a/spending.csv`,
    });
    expect(readFileSync(into, 'utf8')).toBe(table);
    expect(left(into)).toEqual(['table.csv']);
  });

  it('names itself and what it takes', async () => {
    server.on('/named', fileAnswer('a\n', {}));
    await fetcher.toFile(`${server.url}/named`, place(), { ...plain, accept: 'text/csv, */*;q=0.1' });
    expect(server.asked.at(-1)?.headers).toMatchObject({
      'user-agent': 'sluice-test',
      accept: 'text/csv, */*;q=0.1',
    });
  });

  it.each([
    ['attachment; filename="b c.csv"', 'b c.csv'],
    ["attachment; filename=x.csv; filename*=UTF-8''gr%C3%B6%C3%9Fe.csv", 'größe.csv'],
    ['attachment; filename="../../etc/passwd"', 'passwd'],
    ['attachment; filename="C:\\\\data\\\\t.csv"', 't.csv'],
    ['attachment; filename=June report 2026.csv;', 'June report 2026.csv'],
    ['attachment; filename=June report 2026.csv ; size=7', 'June report 2026.csv'],
    ['attachment;FileName="a; b.csv";x=y', 'a; b.csv'],
    ['attachment; name="x; filename=no.csv"; filename=yes.csv', 'yes.csv'],
    ['attachment; filename="never closed.csv', 'never closed.csv'],
    ["attachment; filename='single quotes.csv'", 'single quotes.csv'],
    ['attachment; filename=first.csv; filename=second.csv', 'first.csv'],
    ['filename=bare.csv', 'bare.csv'],
    ["attachment; filename*=iso-8859-1''gr%F6%DFe.csv", 'größe.csv'],
    ["attachment; filename*=UTF-8''gr%F6%DFe.csv; filename=good.csv", 'good.csv'],
    ["attachment; filename*=UTF-8''50%.csv; filename=good.csv", 'good.csv'],
    ["attachment; filename*=klingon''x.csv; filename=good.csv", 'good.csv'],
    ['attachment; filename*=x.csv; filename=good.csv', 'good.csv'],
    ["attachment; filename*=UTF-8''a b.csv", 'a b.csv'],
    [Buffer.from('attachment; filename="größe.csv"').toString('latin1'), 'größe.csv'],
    ['attachment; filename="größe.csv"', 'größe.csv'],
    ['inline', 'download'],
  ])('takes the file name of %s', async (header, name) => {
    server.on('/download', (_request, response) =>
      response.writeHead(200, { 'content-disposition': header }).end('a\n'),
    );
    expect(whole(await fetcher.toFile(`${server.url}/download`, place(), plain)).fileName).toBe(name);
  });

  it('reports a gone file from one that may come back', async () => {
    server.on('/gone', (_request, response) => response.writeHead(410).end());
    server.on('/down', (_request, response) => response.writeHead(503).end());
    server.on('/later', (_request, response) => response.writeHead(202).end('{"status": "in progress"}'));
    server.on('/shut', (_request, response) => response.writeHead(403).end('the secret reason'));
    expect(await failure(fetcher.toFile(`${server.url}/none`, place(), plain))).toBeInstanceOf(SourceMissingError);
    expect(await failure(fetcher.toFile(`${server.url}/gone`, place(), plain))).toBeInstanceOf(SourceMissingError);
    expect(await failure(fetcher.toFile(`${server.url}/down`, place(), plain))).toBeInstanceOf(SourceUnreachableError);
    expect(await failure(fetcher.toFile(`${server.url}/later`, place(), plain))).toBeInstanceOf(SourceUnreachableError);
    const shut = await failure(fetcher.toFile(`${server.url}/shut?key=geheim`, place(), plain));
    expect(shut).toBeInstanceOf(SourceRefusedError);
    expect(shut.message).toBe(`${server.url}/shut?… answered 403 (forbidden)`);
  });

  it('obeys Retry-After, for the next requests to that host as well', async () => {
    const own = open();
    server.on('/busy', (_request, response) => response.writeHead(429, { 'retry-after': '120' }).end());
    const first = await failure(own.toFile(`${server.url}/busy`, place(), plain));
    expect(first).toMatchObject({ retryable: true, retryAfterMs: 120_000 });
    const before = server.asked.length;
    const second = await failure(own.toFile(`${server.url}/busy`, place(), plain));
    expect(second.message).toMatch(/requested a pause: paused for 1(20|19) s/);
    expect(second).toMatchObject({ hint: expect.stringContaining('in the next run') });
    expect(server.asked.length).toBe(before);
    server.on('/closed', (_request, response) => response.writeHead(503, { 'retry-after': '86400' }).end());
    const closed = await failure(open().toFile(`${server.url}/closed`, place(), plain));
    expect(closed).toMatchObject({ retryable: false, message: expect.stringContaining('a pause of 86400 s') });
  });

  it('gives up on a server that nobody answers at, that hangs, that only promises an answer, that goes silent, and that trickles', async () => {
    const closed = await new Promise<number>((resolve) => {
      const probe = createServer().listen(0, '127.0.0.1', () => {
        const address = probe.address();
        probe.close(() => resolve(typeof address === 'object' ? (address?.port ?? 0) : 0));
      });
    });
    const hasty = open({ headersMs: 300 });
    const patient = open({ bodyMs: 500 });
    server.on('/hang', () => undefined);
    server.on('/promise', (_request, response) => {
      const timer = setInterval(() => response.writeProcessing(), 50);
      response.on('close', () => clearInterval(timer));
    });
    server.on('/silent', (_request, response) => void response.writeHead(200).write('a,b\n'));
    server.on('/trickle', (_request, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write('a'), 50);
      response.on('close', () => clearInterval(timer));
    });
    const messages = await Promise.all(
      [
        `http://127.0.0.1:${closed}`,
        ...['hang', 'promise', 'silent', 'trickle'].map((at) => `${server.url}/${at}`),
      ].map(async (url, index) => {
        const error = await failure((index < 3 ? hasty : patient).toFile(url, place(), plain));
        expect(error).toBeInstanceOf(SourceUnreachableError);
        return error.message;
      }),
    );
    expect(messages[0]).toContain('connection refused');
    expect(messages[1]).toContain('no response in time');
    expect(messages[2]).toContain('no response in time');
    expect(messages[3]).toContain('stalled');
    expect(messages[4]).toMatch(/only \d+ bytes arrived within 5\d\d\d ms/);
  });

  it('does not wait again for a host that was unreachable a moment ago', async () => {
    let looked = 0;
    const lookup = (): void => {
      looked += 1; // and never an answer
    };
    const hasty = open({ connectMs: 200 }, { lookup });
    const url = `http://dead.example:${server.port}/x.csv`;
    expect((await failure(hasty.toFile(url, place(), plain))).message).toContain('connection timed out');
    const next = await failure(hasty.toFile(url, place(), plain));
    expect(next).toMatchObject({ retryable: true, retryAfterMs: expect.any(Number) });
    expect(next.message).toContain('was unreachable a moment ago');
    expect(looked).toBe(1);
  });

  it('spaces its requests to one host', async () => {
    const polite = open({ requestsPerSecond: 20 });
    const times: number[] = [];
    server.on('/paced', (_request, response) => {
      times.push(performance.now());
      response.end('a\n');
    });
    const begin = performance.now();
    await Promise.all(Array.from({ length: 4 }, () => polite.look(`${server.url}/paced`, plain)));
    // The last waits for three turns of 50 ms, however late the first one is.
    expect((times.at(-1) ?? 0) - begin).toBeGreaterThan(140);
  });

  it('uses its connections again', async () => {
    const own = open();
    const known = { etag: '"same"', lastModified: null };
    const ports = new Set<number | undefined>();
    const whole = fileAnswer(table, { etag: '"same"' });
    server.on('/same.csv', (request, response) => {
      ports.add(request.socket.remotePort);
      whole(request, response);
    });
    for (let n = 0; n < 5; n++)
      expect((await own.look(`${server.url}/same.csv`, { ...plain, known })).status).toBe('unchanged');
    for (let n = 0; n < 5; n++) expect((await own.look(`${server.url}/same.csv`, plain)).status).toBe('changed');
    expect(ports.size).toBeLessThan(5);
  });

  it('reports when the file cannot be stored', async () => {
    server.on('/stored.csv', fileAnswer(table, {}));
    const taken = join(tempDir(), 'taken');
    writeFileSync(taken, '');
    const error = await failure(fetcher.toFile(`${server.url}/stored.csv`, join(taken, 'table.csv'), plain));
    expect(error).toBeInstanceOf(SourceUnreachableError);
    expect(error.message).toContain(`${server.url}/stored.csv could not be stored`);
    expect(error.hint).toContain('state folder');
  });

  it('ends with the reason of its signal', async () => {
    server.on('/endless', (_request, response) => void response.writeHead(200).write('a,b\n'));
    const control = new AbortController();
    const work = failure(fetcher.toFile(`${server.url}/endless`, place(), { known: null, signal: control.signal }));
    control.abort(new Error('stop now'));
    expect((await work).message).toBe('stop now');
  });

  it('may come twice at once into the same file', async () => {
    server.on('/twice.csv', fileAnswer(table, {}));
    const into = place();
    const both = await Promise.all([1, 2].map(() => fetcher.toFile(`${server.url}/twice.csv`, into, plain)));
    expect(both.map((fetched) => whole(fetched).sha256)).toEqual([sha256(table), sha256(table)]);
  });
});

describe('a known version', () => {
  const known = (validators: Partial<Validators>): Validators => ({ etag: null, lastModified: null, ...validators });

  it('is requested by its ETag and its date, and stays where it is unchanged', async () => {
    const modified = 'Mon, 02 Nov 2026 10:00:00 GMT';
    server.on('/k.csv', fileAnswer(table, { etag: '"k1"', modified }));
    const into = place();
    const { validators } = whole(await fetcher.toFile(`${server.url}/k.csv`, into, plain));
    expect(validators).toMatchObject({ etag: '"k1"', lastModified: modified });
    expect(await fetcher.toFile(`${server.url}/k.csv`, into, { ...plain, known: validators })).toMatchObject({
      status: 'unchanged',
    });
    expect(server.asked.at(-1)?.headers).toMatchObject({ 'if-none-match': '"k1"', 'if-modified-since': modified });
    expect(await fetcher.look(`${server.url}/k.csv`, { ...plain, known: validators })).toEqual({ status: 'unchanged' });
    expect(await fetcher.look(`${server.url}/k.csv`, { ...plain, known: known({ etag: '"k0"' }) })).toMatchObject({
      status: 'changed',
      bytes: table.length,
    });
  });

  it('is seen where the server knows no conditions', async () => {
    server.on('/dull.csv', (_request, response) => response.writeHead(200, { etag: 'W/"7"' }).end(table));
    const url = `${server.url}/dull.csv`;
    expect(await fetcher.toFile(url, place(), { ...plain, known: known({ etag: 'W/"7"' }) })).toMatchObject({
      status: 'unchanged',
    });
    expect(await fetcher.look(url, { ...plain, known: known({ etag: 'W/"6"' }) })).toMatchObject({ status: 'changed' });
  });

  it('is not believed to be the same at another place', async () => {
    server.on('/latest', (_request, response) => response.writeHead(302, { location: '/2026-02.csv' }).end());
    server.on('/2026-02.csv', fileAnswer(table, { etag: '"1"' }));
    const elsewhere = known({ etag: '"1"', finalUrl: `${server.url}/2026-01.csv` });
    const fetched = await fetcher.toFile(`${server.url}/latest`, place(), { ...plain, known: elsewhere });
    expect(whole(fetched).finalUrl).toBe(`${server.url}/2026-02.csv`);
  });

  it('is not known by a date that the next version may share', async () => {
    const now = new Date().toUTCString();
    server.on('/young.csv', fileAnswer(table, { modified: now }));
    expect(whole(await fetcher.toFile(`${server.url}/young.csv`, place(), plain)).validators.lastModified).toBeNull();
  });
});

describe('an interrupted fetch', () => {
  it('leaves nothing, and begins again', async () => {
    const into = place();
    let tries = 0;
    const whole = fileAnswer(table, { etag: '"r1"' });
    server.on('/r.csv', (request, response) => {
      if (++tries > 1) return whole(request, response);
      response.writeHead(200, { 'content-length': String(table.length), etag: '"r1"' });
      response.write(table.slice(0, 1000), () => response.destroy());
    });
    const broken = await failure(fetcher.toFile(`${server.url}/r.csv`, into, plain));
    expect(broken).toBeInstanceOf(SourceUnreachableError);
    expect(left(into)).toEqual([]);
    await fetcher.toFile(`${server.url}/r.csv`, into, plain);
    expect(readFileSync(into, 'utf8')).toBe(table);
    expect(left(into)).toEqual(['table.csv']);
  });

  it('takes away what a killed one left', async () => {
    const into = place();
    mkdirSync(join(into, '..'), { recursive: true });
    const killed = `${into}.0123456789ab.part`;
    writeFileSync(killed, 'id,na');
    const longAgo = new Date(Date.now() - 86_400_000);
    utimesSync(killed, longAgo, longAgo);
    server.on('/k.csv', fileAnswer(table, {}));
    await fetcher.toFile(`${server.url}/k.csv`, into, plain);
    expect(left(into)).toEqual(['table.csv']);
  });
});

describe('encoded content', () => {
  it.each([
    ['gzip', gzipSync(table)],
    ['br', brotliCompressSync(table)],
    ['deflate', deflateSync(table)],
    ['gzip, br', brotliCompressSync(gzipSync(table))],
  ])('of kind %s is decoded', async (encoding, bytes) => {
    server.on('/e.csv', (_request, response) => response.writeHead(200, { 'content-encoding': encoding }).end(bytes));
    const into = place();
    const fetched = whole(await fetcher.toFile(`${server.url}/e.csv`, into, plain));
    expect(readFileSync(into, 'utf8')).toBe(table);
    expect(fetched).toMatchObject({ bytes: table.length, sha256: sha256(table) });
    // Some servers take `deflate` for another format than the one that the word stands for.
    expect(server.asked.at(-1)?.headers['accept-encoding']).toBe('gzip, br');
  });

  it('stays as it is where the file itself is compressed', async () => {
    const packed = gzipSync(table);
    server.on('/f.csv.gz', (_request, response) =>
      response.writeHead(200, { 'content-type': 'application/gzip', 'content-encoding': 'gzip' }).end(packed),
    );
    const into = place();
    await fetcher.toFile(`${server.url}/f.csv.gz`, into, plain);
    expect(server.asked.at(-1)?.headers['accept-encoding']).toBe('identity');
    expect(readFileSync(into).equals(packed)).toBe(true);
  });

  it.each([
    ['gzip', '/d.csv.gz', 2, 1],
    ['gzip', '/d.csv.gz', 3, 1],
    ['gzip', '/d.csv', 2, 0],
    ['gzip', '/d.csv', 0, 0],
    ['gzip, gzip', '/d.csv', 3, 0],
    ['gzip', '/download', 1, 0],
    ['gzip', '/download', 2, 1],
    ['identity', '/d.csv', 1, 0],
    ['identity', '/d.csv.gz', 2, 1],
    ['identity', '/download', 1, 1],
  ])('declared as %s at %s and packed %i times is stored packed %i times', async (encoding, path, times, kept) => {
    const packed = (layers: number): Buffer =>
      Array.from({ length: layers }).reduce<Buffer>((bytes) => gzipSync(bytes), Buffer.from(table));
    server.on(path, (_request, response) =>
      response.writeHead(200, { 'content-encoding': encoding }).end(packed(times)),
    );
    const into = place();
    await fetcher.toFile(`${server.url}${path}`, into, plain);
    expect(readFileSync(into).equals(packed(kept))).toBe(true);
  });

  it('of an unknown kind is refused', async () => {
    server.on('/u.csv', (_request, response) => response.writeHead(200, { 'content-encoding': 'zork' }).end('x'));
    const error = await failure(fetcher.toFile(`${server.url}/u.csv`, place(), plain));
    expect(error).toBeInstanceOf(SourceRefusedError);
    expect(error.message).toContain('zork');
  });

  it('that breaks off or is broken may work later', async () => {
    const packed = gzipSync(table);
    server.on('/b.csv', (_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed.subarray(0, 100)),
    );
    const error = await failure(fetcher.toFile(`${server.url}/b.csv`, place(), plain));
    expect(error).toBeInstanceOf(SourceUnreachableError);
    expect(error.message).toContain('is truncated');
  });

  it('that is a bomb is refused, by size and by ratio', async () => {
    const bomb = gzipSync(Buffer.alloc(100_000_000));
    server.on('/bomb.csv', (_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb));
    const bySize = await failure(fetcher.toFile(`${server.url}/bomb.csv`, place(), plain));
    expect(bySize).toBeInstanceOf(SourceRefusedError);
    expect(bySize.message).toContain('more than the limit of 50000000');
    const into = place();
    const byRatio = await failure(open({ maxBytes: 1e12 }).toFile(`${server.url}/bomb.csv`, into, plain));
    expect(byRatio).toBeInstanceOf(SourceRefusedError);
    expect(byRatio.message).toContain('when decompressed');
    expect(left(into)).toEqual([]);
  });
});

describe('a file that is not wanted', () => {
  it('is refused for its announced size before a byte is stored, and for its real size', async () => {
    const small = open({ maxBytes: 1000 });
    server.on('/big.csv', fileAnswer(table, {}));
    server.on('/long.csv', (_request, response) => response.writeHead(200).end(table)); // chunked: no length
    for (const path of ['/big.csv', '/long.csv']) {
      const into = place();
      const error = await failure(small.toFile(`${server.url}${path}`, into, plain));
      expect(error).toBeInstanceOf(SourceRefusedError);
      expect(error.message).toContain('more than the limit of 1000');
      expect(left(into)).toEqual([]);
    }
  });

  it.each([
    ['text/html; charset=utf-8', '<!DOCTYPE html>\n<html><head><title>Sign in\n to the portal</title></head></html>'],
    ['text/csv', '\uFEFF<html lang="en"><head><TITLE>Sign in to the portal</TITLE>'],
    ['text/plain', `<!-- made by a machine --><html>${' '.repeat(5000)}<title>Sign in to the portal</title>`],
  ])('is refused when it is a web page, by its title (%s)', async (type, page) => {
    server.on('/page.csv', (_request, response) => response.writeHead(200, { 'content-type': type }).end(page));
    const into = place();
    const error = await failure(fetcher.toFile(`${server.url}/page.csv`, into, plain));
    expect(error).toBeInstanceOf(SourceRefusedError);
    expect(error.message).toBe(`${server.url}/page.csv is a web page titled "Sign in to the portal", not a data file`);
    expect(left(into)).toEqual([]);
  });

  it('is refused when a program answers JSON for a table, and taken when JSON is meant', async () => {
    server.on('/err.csv', fileAnswer('{"error":"no such table"}', { type: 'application/problem+json' }));
    const error = await failure(fetcher.toFile(`${server.url}/err.csv`, place(), plain));
    expect(error).toBeInstanceOf(SourceRefusedError);
    expect(error.message).toBe(`${server.url}/err.csv is JSON, which does not match err.csv`);
    for (const [path, content, type] of [
      ['/good.json', '[{"a":1}]', 'application/json'],
      ['/odd.csv', 'a,b\n1,2\n', 'application/json'],
      ['/array.csv', '[a],b\n1,2\n', 'text/csv'],
    ] as const) {
      server.on(path, fileAnswer(content, { type }));
      expect(whole(await fetcher.toFile(`${server.url}${path}`, place(), plain)).bytes).toBe(content.length);
    }
  });

  it.each([
    ['comments without end', '<!---->'.repeat(20_000)],
    ['titles without end', `<html>${'<title>'.repeat(20_000)}`],
    ['spaces', ' '.repeat(200_000)],
    ['an open comment', `<!--${'-'.repeat(200_000)}`],
  ])('is looked at in no time, also when it is made of %s', async (_what, page) => {
    server.on('/mean.csv', (_request, response) => response.writeHead(200).end(page));
    const result = fetcher.toFile(`${server.url}/mean.csv`, place(), plain).catch((error: Error) => error);
    expect(await result).toBeDefined();
  });

  it('is taken when it begins like a page only at first sight', async () => {
    const gml = '<?xml version="1.0"?>\n<!-- made for you -->\n<gml:x>1</gml:x>';
    server.on('/x.gml', fileAnswer(gml, { type: 'application/xml' }));
    expect(whole(await fetcher.toFile(`${server.url}/x.gml`, place(), plain)).bytes).toBe(gml.length);
  });

  it('is taken when pages are what is wanted, or a table is only labelled as a page', async () => {
    server.on('/x.html', fileAnswer('<html></html>', { type: 'text/html' }));
    expect(whole(await fetcher.toFile(`${server.url}/x.html`, place(), plain)).bytes).toBe(13);
    server.on('/x', fileAnswer('<html></html>', { type: 'text/html' }));
    expect(whole(await fetcher.toFile(`${server.url}/x`, place(), { ...plain, accept: 'text/html' })).bytes).toBe(13);
    for (const data of ['a,b\n1,2\n', '<rdf:RDF xmlns="u">', '<https://example.org/d> a <urn:x> .']) {
      server.on('/x.csv', fileAnswer(data, { type: 'text/html' }));
      expect(whole(await fetcher.toFile(`${server.url}/x.csv`, place(), plain)).bytes).toBe(data.length);
    }
  });

  it('is refused when its type cannot be a table', async () => {
    server.on('/pic', fileAnswer('\x89PNG', { type: 'image/png' }));
    const error = await failure(fetcher.toFile(`${server.url}/pic`, place(), { ...plain, name: 'spending.csv' }));
    expect(error.message).toContain('is of type image/png, which does not match spending.csv');
  });
});
