// Names, types and items of files on deployed portals.
import { expect, it } from 'vitest';
import type { ProfileName } from '../../../src/embedded-portal/portal.ts';
import { type Caller, startTestPortal } from '../../support/portal.ts';

const admin = async (profile: ProfileName): Promise<Caller> =>
  (await startTestPortal({ profile, races: false })).as('admin');

/** The item of a file that was attached under a name, or the status of its refusal. */
const attached = async (user: Caller, name: string, content: string | Buffer = 'a\n1\n') => {
  const nid = await user.create({ type: 'resource', title: name, uid: '1' });
  const { status } = await user.attach(nid, { name, content });
  if (status !== 200) return status;
  const { field_upload } = await user.read(nid);
  return (field_upload as { und: [Record<string, unknown>] }).und[0];
};

it('files have the types of release B and C', async () => {
  const user = await admin('dkan-7.18');
  const expected = {
    'a.html': ['text/html', 'document'],
    'a.xls': ['application/vnd.ms-excel', 'document'],
    'a.zip': ['application/zip', 'document'],
    'a.rdf': ['application/rdf+xml', 'undefined'],
    'a.xml': ['text/xml', 'undefined'],
    'a.tab': ['application/octet-stream', 'undefined'],
    'a.odf': ['application/vnd.oasis.opendocument.formula', 'undefined'],
  };
  for (const [name, [filemime, type]] of Object.entries(expected)) {
    expect(await attached(user, name)).toMatchObject({ filename: name, filemime, type, metadata: [] });
  }
});

it('the item of a picture has its texts as fields, and a size that is not known', async () => {
  const size = { height: null, width: null };
  const texts = { field_file_image_alt_text: [], field_file_image_title_text: [] };
  const picture = { type: 'image', metadata: size, ...size, ...texts };
  expect(await attached(await admin('dkan-7.18'), 'a.png')).toMatchObject(picture);
});

it('inner extensions of programs are made harmless, and B and C store programs as text', async () => {
  const names = ['evil.php.csv', 'two.dots.csv', 'x.html.csv', 'script.php', 's.php.js', 's.phtml'];
  const stored = async (profile: ProfileName): Promise<unknown[]> => {
    const user = await admin(profile);
    const items = [];
    for (const name of names) items.push(await attached(user, name));
    return items.map((item) => (typeof item === 'number' ? item : item?.filename));
  };
  const harmless = ['evil.php_.csv', 'two.dots_.csv', 'x.html.csv'];
  for (const profile of ['dkan-7.18', 'dkan-7.14'] as const) {
    expect(await stored(profile)).toEqual([...harmless, 'script.php.txt', 's.php_.js.txt', 406]);
  }
  expect(await stored('dkan-7.18.16')).toEqual([...harmless, 406, 406, 406]);
});
