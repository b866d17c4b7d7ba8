// Specification, sections 4.4 and 2.1 to 2.3: read a node.
import { beforeAll, describe, expect, it } from 'vitest';
import { type Caller, startTestPortal, type TestPortal } from '../support/portal.ts';

let portal: TestPortal;
let creator: Caller;

beforeAll(async () => {
  portal = await startTestPortal();
  creator = await portal.as('creator');
});

const commonFields =
  'nid vid uuid vuuid type title status language created changed revision_timestamp uid revision_uid name picture promote sticky comment tnid translate log data path body og_group_ref field_orphan'.split(
    ' ',
  );
const datasetFields =
  'field_resources field_author field_contact_name field_contact_email field_spatial_geographical_cover field_license field_frequency field_public_access_level field_tags field_spatial field_additional_info field_conforms_to field_data_dictionary field_data_dictionary_type field_granularity field_harvest_source_ref field_harvest_source_issued field_harvest_source_modified field_is_part_of field_landing_page field_language field_modified_source_date field_pod_theme field_related_content field_rights field_temporal_coverage field_topic'.split(
    ' ',
  );
const resourceFields =
  'field_dataset_ref field_upload field_link_api field_link_remote_file field_format field_datastore_status'.split(' ');

describe('Node', () => {
  it('a new dataset shows every field of 2.1 and 2.2, defaults filled, the others []', async () => {
    const node = await creator.read(await creator.create({ type: 'dataset', title: 'Bare' }));
    for (const name of [...commonFields, ...datasetFields]) expect(node).toHaveProperty(name);
    const filled = ['field_license', 'field_public_access_level', 'field_orphan'];
    for (const name of datasetFields.filter((field) => !filled.includes(field))) expect(node[name]).toEqual([]);
    expect(node.field_license).toMatchObject({ und: [{ value: 'notspecified' }] });
    expect(node.field_public_access_level).toEqual({ und: [{ value: 'public' }] });
    expect(node.field_orphan).toEqual({ und: [{ value: '0' }] });
  });

  it('a new resource shows every field of 2.1 and 2.3', async () => {
    const node = await creator.read(await creator.create({ type: 'resource', title: 'Bare' }));
    for (const name of [...commonFields, ...resourceFields]) expect(node).toHaveProperty(name);
    expect(node.field_upload).toEqual([]);
  });

  it('gives identifiers and times as strings, the language und, the author by uid and name', async () => {
    const node = await creator.read(await creator.create({ type: 'dataset', title: 'Strings' }));
    for (const name of ['nid', 'vid', 'uid', 'created', 'changed', 'revision_timestamp', 'revision_uid', 'status']) {
      expect(node[name]).toMatch(/^\d+$/);
    }
    expect(node).toMatchObject({ uid: '3', revision_uid: '3', name: 'creator', language: 'und', log: '' });
  });

  it('is found with and without the suffix .json, by nid only', async () => {
    const nid = await creator.create({ type: 'dataset', title: 'Found' });
    const { uuid } = await creator.read(nid);
    expect((await portal.anonymous.send('GET', `/api/dataset/node/${nid}.json`)).status).toBe(200);
    for (const id of [String(uuid), `${nid}abc`, '99999999999999999999', `${nid}%20`]) {
      expect((await portal.anonymous.send('GET', `/api/dataset/node/${id}`)).status).toBe(404);
    }
  });

  it('has a public path made of its title, unique, without stop words', async () => {
    const first = await creator.read(await creator.create({ type: 'dataset', title: 'Budget of the City' }));
    const second = await creator.read(await creator.create({ type: 'dataset', title: 'Budget of the City' }));
    expect(first.path).toBe(`${portal.url}/dataset/budget-city`);
    expect(second.path).toBe(`${portal.url}/dataset/budget-city-0`);
    const resource = await creator.read(await creator.create({ type: 'resource', title: 'x' }));
    expect(resource.path).toBe(`${portal.url}/dataset/resource/${resource.uuid}`);
  });

  it('shows the body with a safe text and a safe summary', async () => {
    const nid = await creator.create({
      type: 'dataset',
      title: 'Safe',
      body: {
        und: [
          {
            value: 'Some *words*<script>alert(1)</script> <a href="javascript:x">l</a>',
            summary: '<b>s</b>',
            format: 'html',
          },
        ],
      },
    });
    const { body } = await creator.read(nid);
    expect(body).toEqual({
      und: [
        {
          value: 'Some *words*<script>alert(1)</script> <a href="javascript:x">l</a>',
          summary: '<b>s</b>',
          format: 'html',
          safe_value: '<p>Some <em>words</em>alert(1) <a>l</a></p>\n',
          safe_summary: '<p>s</p>\n',
        },
      ],
    });
  });

  it('shows plain text fields escaped in safe_value', async () => {
    const nid = await creator.create({
      type: 'dataset',
      title: 'Plain',
      field_author: { und: [{ value: '<b>x</b> & "y"' }] },
    });
    expect((await creator.read(nid)).field_author).toEqual({
      und: [{ value: '<b>x</b> & "y"', format: null, safe_value: '&lt;b&gt;x&lt;/b&gt; &amp; &quot;y&quot;' }],
    });
  });

  it('computes centroid and bounds of a geometry', async () => {
    const wkt = 'POLYGON ((-90.415429 46.568478, -90.229213 46.508231, -89.94 46.3, -90.415429 46.568478))';
    const nid = await creator.create({ type: 'dataset', title: 'Geo', field_spatial: { und: [{ wkt }] } });
    expect((await creator.read(nid)).field_spatial).toEqual({
      und: [
        {
          wkt,
          geo_type: 'polygon',
          lat: '46.4589',
          lon: '-90.1949',
          left: '-90.4154',
          top: '46.5685',
          right: '-89.94',
          bottom: '46.3',
          srid: null,
          accuracy: null,
          source: null,
        },
      ],
    });
  });

  it('shows an unpublished node to its owner and to those who administer nodes only', async () => {
    const nid = await creator.create({ type: 'dataset', title: 'Hidden', status: 0 });
    const path = `/api/dataset/node/${nid}`;
    expect((await creator.send('GET', path)).status).toBe(200);
    for (const name of ['admin', 'manager', 'administrator']) {
      expect((await (await portal.as(name)).send('GET', path)).status).toBe(200);
    }
    for (const name of ['creator2', 'editor', 'plain']) {
      const reply = await (await portal.as(name)).send('GET', path);
      expect([reply.status, reply.json()]).toEqual([403, [`Access denied for user ${name}`]]);
    }
    expect((await portal.anonymous.send('GET', path)).json()).toEqual(['Access denied for user anonymous']);
  });

  it('is 404 when it does not exist, for anonymous too, with what was requested escaped', async () => {
    const reply = await portal.anonymous.send('GET', "/api/dataset/node/'");
    expect([reply.status, reply.json()]).toEqual([404, ['Node &#039; could not be found']]);
  });

  it('has an empty list of files as relationship', async () => {
    const nid = await creator.create({ type: 'resource', title: 'Rel' });
    expect((await portal.anonymous.send('GET', `/api/dataset/node/${nid}/files`)).json()).toEqual([]);
  });
});
