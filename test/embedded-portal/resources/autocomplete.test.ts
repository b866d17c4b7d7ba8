// Look-ups by name on deployed portals, as their forms use them.
import { describe, expect, it } from 'vitest';
import { type Caller, startTestPortal } from '../../support/portal.ts';

const profiles = ['dkan-7.18.16', 'dkan-7.18', 'dkan-7.14'] as const;

const lookUp = async (caller: Caller, path: string): Promise<unknown> => {
  const reply = await caller.send('GET', path);
  expect([reply.status, reply.headers['content-type']]).toEqual([200, 'application/json']);
  return reply.json();
};

const shown = (label: string, bundle?: string): string =>
  `<span class="autocomplete_title">${label}</span>${bundle === undefined ? '' : ` <span class="autocomplete_bundle">(${bundle})</span>`}`;

/** A portal with these tags; returns their tids. */
const withTags = async (profile: (typeof profiles)[number], names: string[]) => {
  const portal = await startTestPortal({ profile, races: false });
  const admin = await portal.as('admin');
  const items = names.map((name) => ({ tid: 'autocreate', vid: '2', name }));
  const field_tags =
    profile === 'dkan-7.14'
      ? { und: { textfield: '', value_field: names.map((name) => `""${name}""`).join(' ') } }
      : { und: items };
  const nid = await admin.create({ type: 'dataset', title: 'City', field_tags });
  const { und } = (await admin.read(nid)).field_tags as { und: { tid: string }[] };
  return { portal, tids: und.map(({ tid }) => tid) };
};

describe.each(profiles)('the look-ups of %s', (profile) => {
  it('find the terms that contain the text, in any case, with number and vocabulary', async () => {
    const { portal, tids } = await withTags(profile, ['socioeconomic', 'Economy', "o'neil & <b>", 'Straße']);
    const [socio, economy, neil] = tids;
    const { anonymous } = portal;
    const both = {
      [`Economy [id: ${economy}]`]: shown('Economy', 'tags'),
      [`socioeconomic [id: ${socio}]`]: shown('socioeconomic', 'tags'),
    };
    expect(await lookUp(anonymous, '/ctools/autocomplete/taxonomy_term/ECONOM')).toEqual(both);
    expect(await lookUp(anonymous, '/ctools/autocomplete/taxonomy_term/econom%2Fics')).toEqual(both);
    expect(await lookUp(anonymous, '/ctools/autocomplete/taxonomy_term/nothing')).toEqual([]);
    expect(await lookUp(await portal.as('creator'), "/ctools/autocomplete/taxonomy_term/o'neil")).toEqual({
      [`o'neil & <b> [id: ${neil}]`]: shown('o&#039;neil &amp; &lt;b&gt;', 'tags'),
    });
    expect(await lookUp(anonymous, `/ctools/autocomplete/taxonomy_term/id:%20${economy}`)).toEqual({
      [`Economy [id: ${economy}]`]: shown('Economy', 'tags'),
    });
    expect(await lookUp(anonymous, '/ctools/autocomplete/taxonomy_term/id:%2099999')).toEqual({
      '99999 [id: 99999]': shown('99999'),
    });
  });

  it('give ten at most, sorted', async () => {
    const names = Array.from({ length: 12 }, (_, at) => `tag ${String(12 - at).padStart(2, '0')}`);
    const { portal } = await withTags(profile, names);
    const found = (await lookUp(portal.anonymous, '/ctools/autocomplete/taxonomy_term/tag')) as object;
    expect(Object.keys(found).map((key) => key.replace(/ \[.*/, ''))).toEqual([...names].sort().slice(0, 10));
  });

  it('find a vocabulary by its label, and list the names of a field', async () => {
    const { portal } = await withTags(profile, ['b', 'a "q"']);
    const { anonymous } = portal;
    expect(await lookUp(anonymous, '/ctools/autocomplete/taxonomy_vocabulary/tags')).toEqual({
      'Tags [id: 2]': shown('Tags'),
    });
    const names = (await lookUp(anonymous, '/autocomplete_deluxe/taxonomy/field_tags/%20/0')) as object;
    expect(Object.entries(names)).toEqual(
      profile === 'dkan-7.14'
        ? expect.arrayContaining([['b', 'b']])
        : [
            ['"a ""q"""', 'a &quot;q&quot;'],
            ['b', 'b'],
          ],
    );
    expect((await anonymous.send('GET', '/autocomplete_deluxe/taxonomy/title/%20/0')).status).toBe(404);
  });

  it('show published nodes to everybody, and drafts to their author', async () => {
    const portal = await startTestPortal({ profile, races: false });
    const [admin, creator, other] = [await portal.as('admin'), await portal.as('creator'), await portal.as('creator2')];
    const live = await admin.create({ type: 'dataset', title: 'City budget', uid: '1' });
    const draft = await creator.create({ type: 'resource', title: 'budget draft', uid: '3', status: null });
    const path = '/ctools/autocomplete/node/budget';
    const open = { [`City budget [id: ${live}]`]: shown('City budget', 'dataset') };
    expect(await lookUp(portal.anonymous, path)).toEqual(open);
    expect(await lookUp(other, path)).toEqual(open);
    expect(await lookUp(creator, path)).toEqual({
      [`budget draft [id: ${draft}]`]: shown('budget draft', 'resource'),
      ...open,
    });
  });

  it('send the address of a term to its search, and know no other', async () => {
    const { portal, tids } = await withTags(profile, ['Town hall']);
    const reply = await portal.anonymous.send('GET', `/taxonomy/term/${tids[0]}`);
    expect([reply.status, reply.headers.location]).toEqual([
      301,
      `${portal.url}/search/field_tags/town-hall-${tids[0]}`,
    ]);
    expect((await portal.anonymous.send('GET', '/taxonomy/term/999')).status).toBe(404);
  });
});

it('under spec there are none', async () => {
  const portal = await startTestPortal();
  expect((await portal.anonymous.send('GET', '/ctools/autocomplete/taxonomy_term/csv')).status).toBe(404);
});
