import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { tempDir } from '../support/temp-dir.ts';

const load = async (text: string) => {
  const file = join(tempDir(), 'sluice.yaml');
  writeFileSync(file, text);
  return (await loadConfig({ file, cwd: tempDir(), env: {} })).sources;
};

describe('sources', () => {
  it('are fetched from public addresses only unless the configuration allows more', async () => {
    expect(await load('{}')).toEqual({
      allow: [],
      maxBytes: 10e9,
      maxRedirects: 5,
      connectMs: 10_000,
      headersMs: 60_000,
      bodyMs: 60_000,
      requestsPerSecond: 10,
      proxy: 'none',
    });
    const allow = ['data.intern.example', 'localhost', '10.1.0.0/16', '127.0.0.1', 'fd00::/8', '::1'];
    expect((await load(JSON.stringify({ sources: { allow, requestsPerSecond: 0.5 } }))).allow).toEqual(allow);
  });

  it.each(['10.0.0.0/33', '10.1.0', 'http://intern.example', 'intern.example:8080', '*.example', '', 'fd00::/129'])(
    'name hosts and networks, not %j',
    async (entry) => {
      await expect(load(JSON.stringify({ sources: { allow: [entry] } }))).rejects.toThrow(
        'must be a host name, an address or a network such as `10.1.0.0/16`',
      );
    },
  );
});
