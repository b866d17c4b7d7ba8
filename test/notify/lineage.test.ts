// OpenLineage events of runs: what they hold, that they are off by default, and that no receiver is in a run's way.
import { createServer } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLog } from '../../src/model/log.ts';
import { LineageSender } from '../../src/notify/lineage.ts';
import { makePlace } from '../flow/support/place.ts';

/** A catalogue that keeps what it is sent; `status` null: it never answers. */
const openCatalogue = async (status: number | null = 201) => {
  const events: Record<string, unknown>[] = [];
  const tokens: (string | undefined)[] = [];
  const server = createServer((request, reply) => {
    const chunks: Buffer[] = [];
    tokens.push(request.headers.authorization);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      events.push(JSON.parse(Buffer.concat(chunks).toString()));
      if (status !== null) reply.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/api/v1/lineage`, events, tokens };
};

const facet = (name: string, version: string) => ({
  _producer: expect.stringMatching(/^urn:sluice:\d+\.\d+\.\d+$/),
  _schemaURL: `https://openlineage.io/spec/facets/${version}/${name}.json#/$defs/${name}`,
});

describe('a run', () => {
  it('is told from beginning to end under one id, with columns, rows and empty cells of what it wrote', async () => {
    const catalogue = await openCatalogue();
    const place = makePlace({ lineage: { url: catalogue.url, token: { file: 'lineage-token' }, namespace: 'city' } });
    place.write('config/lineage-token', 't0ken\n');
    const file = place.write('table.csv', 'id,name\n1,one\n2,\n');
    const resources = [{ id: 't', title: 'T', file }];
    const manifest = place.manifest({ name: 'n', datasets: [{ id: 'a', title: 'A', resources }] });
    expect((await place.publish(manifest)).code).toBe(0);
    const common = {
      producer: expect.stringMatching(/^urn:sluice:/),
      schemaURL: 'https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent',
      job: { namespace: 'city', name: 'n@local' },
      run: { runId: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/), facets: {} },
    };
    expect(catalogue.events).toEqual([
      { ...common, eventType: 'START', eventTime: expect.any(String), inputs: [], outputs: [] },
      {
        ...common,
        eventType: 'COMPLETE',
        eventTime: expect.any(String),
        inputs: [{ namespace: 'file', name: file }],
        outputs: [
          {
            namespace: expect.stringMatching(/^http:\/\/127\.0\.0\.1:/),
            name: 'n/a/t',
            facets: {
              schema: {
                ...facet('SchemaDatasetFacet', '1-1-1'),
                fields: [
                  { name: 'id', type: 'number' },
                  { name: 'name', type: 'text' },
                ],
              },
              dataQualityMetrics: {
                ...facet('DataQualityMetricsDatasetFacet', '1-0-0'),
                rowCount: 2,
                bytes: 17,
                columnMetrics: { id: { nullCount: 0 }, name: { nullCount: 1 } },
              },
            },
            outputFacets: {
              outputStatistics: { ...facet('OutputStatisticsOutputDatasetFacet', '1-0-2'), rowCount: 2, size: 17 },
            },
          },
        ],
      },
    ]);
    const [begun, ended] = catalogue.events as { run: { runId: string } }[];
    expect(begun?.run.runId).toBe(ended?.run.runId);
    expect(catalogue.tokens).toEqual(['Bearer t0ken', 'Bearer t0ken']);
  });

  it('that fails is reported as failed with codes and no words of others, and no receiver that refuses fails a run', async () => {
    const catalogue = await openCatalogue(500);
    const place = makePlace({ lineage: { url: catalogue.url } });
    const resources = [{ id: 't', title: 'T', file: 'missing.csv' }];
    const manifest = place.manifest({ name: 'n', datasets: [{ id: 'a', title: 'A', resources }] });
    expect((await place.publish(manifest)).code).toBe(3);
    expect(catalogue.events.map(({ eventType }) => eventType)).toEqual(['START', 'FAIL']);
    expect(catalogue.events[1]).toMatchObject({
      run: {
        facets: {
          errorMessage: {
            ...facet('ErrorMessageRunFacet', '1-0-1'),
            message: 'items failed: {"failed":1}',
            programmingLanguage: 'JavaScript',
          },
        },
      },
    });
    place.write('missing.csv', 'id\n1\n');
    expect((await place.publish(manifest)).code).toBe(0);
  });
});

describe('a receiver that hangs', () => {
  it('holds up a stop for some seconds at most, and events beyond a thousand are left out', async () => {
    const hung = await openCatalogue(null);
    const sender = new LineageSender({ url: hung.url, token: null, namespace: 'n' }, createLog({ level: 'silent' }));
    const taken = Array.from({ length: 5000 }, (_, index) => sender.add({ index })).filter(Boolean);
    expect(taken.length).toBeGreaterThanOrEqual(1000);
    expect(taken.length).toBeLessThan(1100);
    await sender.close();
    expect(hung.events).toEqual([{ index: 0 }]);
  });
});
