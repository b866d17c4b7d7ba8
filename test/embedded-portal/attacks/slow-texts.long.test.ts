// Texts made to take long: nobody else waits for them.
import { beforeAll, describe, expect, it } from 'vitest';
import type { ReadContext } from '../../../src/embedded-portal/content/fields.ts';
import { datasetFields } from '../../../src/embedded-portal/content/fields.ts';
import { FieldFault, readItem } from '../../../src/embedded-portal/content/items.ts';
import { type Caller, startTestPortal, type TestPortal } from '../../support/portal.ts';

let portal: TestPortal;
let creator: Caller;

beforeAll(async () => {
  portal = await startTestPortal();
  creator = await portal.as('creator');
});

const safeValue = async (nid: string): Promise<string> => {
  const { body } = (await creator.read(nid)) as { body: { und: { safe_value: string }[] } };
  return body.und[0]?.safe_value ?? '';
};

const dataset = (value: string) => ({ type: 'dataset', title: 'x', body: { und: [{ value, format: 'html' }] } });

describe('Markdown', () => {
  it.each([
    ['that takes half a minute', '*a_'.repeat(20_000)],
    ['nested deeper than the stack', '> '.repeat(20_000)],
    ['longer than any description', `# Title\n\n${'word '.repeat(30_000)}`],
  ])('%s is kept and shown as plain text, while others are answered', async (_what, value) => {
    const answered: string[] = [];
    const created = creator.create(dataset(value)).then((nid) => {
      answered.push('create');
      return nid;
    });
    const health = portal.anonymous.send('GET', '/healthz').then(() => answered.push('health'));
    const [nid] = await Promise.all([created, health]);
    expect(answered).toEqual(['health', 'create']);
    expect(await safeValue(nid)).toMatch(/^<p>(?:\*a_|&gt; |# Title)/);
  });

  it('of an honest length is rendered, at create and at update', async () => {
    const value = `# Title\n\n${'Some *words* of a description.\n\n'.repeat(500)}`;
    const nid = await creator.create(dataset(value));
    expect(await safeValue(nid)).toMatch(/^<h1>Title<\/h1>\n<p>Some <em>words<\/em>/);
    await creator.send('PUT', `/api/dataset/node/${nid}`, { body: { body: { und: [{ value: `${value}End` }] } } });
    expect(await safeValue(nid)).toMatch(/^<h1>Title<\/h1>[\s\S]*<p>End<\/p>\n$/);
  });
});

describe('A pattern', () => {
  it('is not tried on an address that is too long for the field', () => {
    const field = datasetFields.find(({ name }) => name === 'field_landing_page');
    if (field === undefined) throw new Error('no such field');
    const url = `mailto:${'@'.repeat(1_000_000)} `;
    expect(() => readItem(field, { url }, {} as ReadContext)).toThrow(FieldFault);
  });

  it('over a geometry takes steps that grow with its length only', async () => {
    const deployed = await startTestPortal({ profile: 'dkan-7.18' });
    const admin = await deployed.as('admin');
    for (const wkt of [`POINT (1.${'0'.repeat(900_000)}1 2)`, `POINT (1${' '.repeat(900_000)}2)`]) {
      const body = { type: 'dataset', title: 'x', field_spatial: { und: [{ wkt }] } };
      expect((await admin.send('POST', '/api/dataset/node', { body })).status).toBe(200);
    }
  });
});
