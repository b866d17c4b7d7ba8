// Somebody edits on the portal what we manage: who, when and what is reported, and the choice is the operator's.
import { beforeAll, describe, expect, it } from 'vitest';
import { planIn, reportIn } from '../support/printed.ts';
import type { Gateway } from './support/gateway.ts';
import { itemOf } from './support/items.ts';
import { openPortalPlace } from './support/portal-place.ts';
import type { Reader } from './support/reader.ts';
import type { RedisPlace } from './support/redis-place.ts';

let gateway: Gateway;
let reader: Reader;
let person: Reader;
let place: RedisPlace;
beforeAll(async () => {
  ({ gateway, reader, person, place } = await openPortalPlace());
});

const write = (
  name: string,
  version: { title?: string; description?: string; onDrift?: string; tags?: string[] } = {},
): string => {
  place.write(`data/${name}.csv`, 'id,value\n1,a\n');
  const { title = `${name} dataset`, description = 'As first written', tags = [], ...more } = version;
  const table = { id: 'table', title: `${name} table`, file: `data/${name}.csv` };
  return place.manifest({ name, ...more, datasets: [{ id: 'one', title, description, tags, resources: [table] }] });
};
const body = (text: string) => ({ und: [{ value: text }] });
const bodyOf = async (nid: string): Promise<unknown> => (await reader.read(nid)).body;
const titleOf = async (nid: string): Promise<string> => (await reader.read(nid)).title;
/** Who and when, as messages say it. */
const byAPerson = /by user \d+ at \d{4}-\d\d-\d\dT[\d:.]+Z/;

describe('an edit of a field of ours', () => {
  it('is seen by plan --refresh, holds the item, again and again, without a write, until the source agrees', async () => {
    const manifest = write('held');
    const nid = itemOf((await place.publish(manifest)).report, 'held/one').nid ?? '';
    await person.change(nid, { title: 'As the person likes it' });
    gateway.takeWrites();

    const planned = await place.run(['plan', manifest, '--json', '--refresh']);
    const item = planIn(planned.out).items.find(({ key }) => key === 'held/one');
    expect(item?.why).toMatch(byAPerson);
    expect(item).toMatchObject({ actions: ['verify'], why: expect.stringMatching(/: title$/) });

    for (const args of [['--refresh'], []]) {
      const { code, out } = await place.run(['publish', manifest, '--json', ...args]);
      const reason = itemOf(reportIn(out), 'held/one').reason;
      expect(code).toBe(4);
      expect(reason).toMatchObject({ code: 'drift', message: expect.stringMatching(byAPerson) });
      expect(reason?.message).toMatch(/: title$/);
    }
    const status = await place.run(['status', 'held/one']);
    expect(status).toMatchObject({ code: 3, out: expect.stringMatching(byAPerson) });
    expect(status.out).toContain('HELD by an edit on the portal: not live\n');
    expect(gateway.takeWrites()).toEqual([]);
    expect(await titleOf(nid)).toBe('As the person likes it');

    // The edit is taken over into the source: there is nothing to hold any more.
    write('held', { title: 'As the person likes it' });
    const agreed = await place.publish(manifest);
    expect(agreed.code).toBe(0);
    expect(itemOf(agreed.report, 'held/one').live).toBe(true);
    expect(await titleOf(nid)).toBe('As the person likes it');
  });

  it('holds an update of the same node, and --on-drift overwrite continues once', async () => {
    const manifest = write('once');
    const nid = itemOf((await place.publish(manifest)).report, 'once/one').nid ?? '';
    await person.change(nid, { body: body('By a person') });
    write('once', { title: 'Second title' });
    gateway.takeWrites();
    expect((await place.publish(manifest)).code).toBe(4);
    expect(gateway.takeWrites()).toEqual([]);
    const { code } = await place.run(['publish', manifest, '--on-drift', 'overwrite']);
    expect(code).toBe(0);
    expect(await titleOf(nid)).toBe('Second title');
    expect(await bodyOf(nid)).toMatchObject(body('As first written'));
  });

  it('is kept where the manifest says so, while the other fields follow the source', async () => {
    const manifest = write('kept', { onDrift: 'keep' });
    const nid = itemOf((await place.publish(manifest)).report, 'kept/one').nid ?? '';
    await person.change(nid, { body: body('By a person') });
    gateway.takeWrites();
    expect((await place.run(['publish', manifest, '--refresh'])).code).toBe(0);
    expect(gateway.takeWrites()).toEqual([]);
    for (const title of ['Second title', 'Third title']) {
      write('kept', { onDrift: 'keep', title, description: `For ${title}` });
      const { code, report } = await place.publish(manifest);
      expect(code).toBe(0);
      expect(itemOf(report, 'kept/one')).toMatchObject({ live: true, actions: ['updated'] });
      expect(await titleOf(nid)).toBe(title);
      expect(await bodyOf(nid)).toMatchObject(body('By a person'));
    }
    gateway.takeWrites();
    expect((await place.publish(manifest)).report.counts.actions).toEqual({});
    expect(gateway.takeWrites()).toEqual([]);
    // Overwritten once, it follows the source again.
    write('kept', { onDrift: 'keep', title: 'Fourth title' });
    expect((await place.run(['publish', manifest, '--on-drift', 'overwrite'])).code).toBe(0);
    expect(await bodyOf(nid)).toMatchObject(body('As first written'));
  });
});

it('tags that somebody edited are held, kept beside the others, and overwritten when that is requested', async () => {
  const manifest = write('tags', { tags: ['one', 'two'] });
  const nid = itemOf((await place.publish(manifest)).report, 'tags/one').nid ?? '';
  const tagsOf = async (): Promise<string> => JSON.stringify((await reader.read(nid)).field_tags);
  const ours = await tagsOf();
  await person.change(nid, {
    field_tags: {
      und: [
        { tid: 'autocreate', name: 'one', vocabulary: 'tags' },
        { tid: 'autocreate', name: 'of a person', vocabulary: 'tags' },
      ],
    },
  });
  const theirs = await tagsOf();
  expect(theirs).not.toBe(ours);
  gateway.takeWrites();
  const held = await place.run(['publish', manifest, '--json', '--refresh']);
  expect(held.code).toBe(4);
  expect(itemOf(reportIn(held.out), 'tags/one').reason?.message).toMatch(/: field_tags$/);

  write('tags', { tags: ['one', 'two'], onDrift: 'keep', title: 'Another title' });
  for (const more of [[], ['--refresh']]) {
    const { code } = await place.run(['publish', manifest, '--json', ...more]);
    expect(code).toBe(0);
    expect(await titleOf(nid)).toBe('Another title');
    expect(await tagsOf()).toBe(theirs);
  }
  expect(gateway.takeWrites()).toHaveLength(1);

  await person.change(nid, { field_author: body('A person') });
  expect((await place.run(['publish', manifest, '--refresh', '--on-drift', 'overwrite'])).code).toBe(0);
  expect(await tagsOf()).toBe(ours);
});

it('an edit of a field that we do not manage is no drift, and stays as it is', async () => {
  const manifest = write('free');
  const nid = itemOf((await place.publish(manifest)).report, 'free/one').nid ?? '';
  const field_author = body('A person');
  await person.change(nid, { field_author });
  gateway.takeWrites();
  const refreshed = await place.run(['publish', manifest, '--json', '--refresh']);
  expect(refreshed.code).toBe(0);
  expect(gateway.takeWrites()).toEqual([]);
  write('free', { title: 'New title' });
  expect((await place.publish(manifest)).code).toBe(0);
  expect(await reader.read(nid)).toMatchObject({ title: 'New title', field_author });
});

it('a node that was deleted on the portal is seen by --refresh and recreated', async () => {
  const manifest = write('deleted');
  const nid = itemOf((await place.publish(manifest)).report, 'deleted/one').nid ?? '';
  await person.remove(nid);
  const { code, out } = await place.run(['publish', manifest, '--json', '--refresh']);
  const report = reportIn(out);
  expect(code, out).toBe(0);
  expect(itemOf(report, 'deleted/one')).toMatchObject({ live: true, actions: expect.arrayContaining(['recreated']) });
  expect(await reader.read(itemOf(report, 'deleted/one/table').nid ?? '')).toMatchObject({
    field_dataset_ref: { und: [{ target_id: itemOf(report, 'deleted/one').nid }] },
  });
});
