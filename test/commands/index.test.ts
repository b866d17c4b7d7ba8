import { describe, expect, it } from 'vitest';
import { checkCommand } from '../../src/commands/check.ts';
import { publishCommand } from '../../src/commands/publish.ts';
import type { Report } from '../../src/model/report.ts';
import { type CommandPlace, commandPlace } from '../support/command-place.ts';
import { reportIn } from '../support/printed.ts';

const makePlace = (rows: string[]): CommandPlace => {
  const place = commandPlace();
  for (const name of ['a', 'b', 'c']) place.write(`data/${name}.csv`, `id\n${name}\n`);
  const lists = (more: string[]): string => ['dataset,dataset.title,license,file,note', ...more].join('\n');
  place.write('list.csv', lists(rows));
  place.write('m.yaml', 'name: m\nonMissing: unpublish\nindex: list.csv\n');
  return place;
};

const publish = async (place: CommandPlace): Promise<{ code: number; report: Report }> => {
  const { io, out } = place.io();
  const code = await publishCommand(['m.yaml'], { ...place.options, json: true }, io);
  return { code, report: reportIn(out()) };
};

const states = ({ items }: Report): string[] => items.map(({ key, outcome, live }) => `${key} ${outcome} ${live}`);

describe('data packages', () => {
  it('are published with the tables they name, held against their schemas; a faulty one stops itself only', async () => {
    const place = commandPlace();
    const pack = (name: string, more: object): void => {
      const fields = [{ name: 'id', type: 'integer' }];
      const resources = [{ name: 'table', path: 'table.csv', schema: { fields } }];
      place.write(`packages/${name}/datapackage.json`, JSON.stringify({ name, resources, ...more }));
      place.write(`packages/${name}/table.csv`, name === 'odd' ? 'id\nnone\n' : 'id\n1\n2\n');
    };
    pack('trees', { title: 'Trees', licenses: [{ name: 'ODC-BY-1.0' }] });
    pack('odd', {});
    pack('torn', { contributors: [{ title: 'Ann', email: 'nobody' }] });
    place.write('m.yaml', 'name: m\ndatapackage: packages/*/datapackage.json\n');
    const { code, report } = await publish(place);
    expect(code).toBe(3);
    expect(states(report)).toEqual([
      'm/odd unchanged false',
      'm/odd/table quarantined false',
      'm/torn quarantined false',
      'm/trees done true',
      'm/trees/table done true',
    ]);
    expect(report.items[2]?.reason?.message).toMatch(/torn\/datapackage\.json:1:\d+: contributors\.0\.email: must be/);
    const { io, out } = place.io();
    expect(await checkCommand(['m.yaml'], place.options, io)).toBe(3);
    expect(out()).toContain('contributors.0.email: must be an e-mail address');
  });
});

describe('an index', () => {
  it('is published; a row that turns faulty leaves its dataset as it is, one that goes is missing', async () => {
    const place = makePlace(['one,One,cc-by,data/a.csv,', 'two,Two,,data/b.csv,', 'three,Three,,data/c.csv,']);
    const first = await publish(place);
    expect(first.code).toBe(0);
    expect(states(first.report)).toHaveLength(6);
    expect(first.report.items.every(({ live }) => live)).toBe(true);

    place.write('list.csv', 'dataset,dataset.title,license,file\none,One,cc-bye,data/a.csv\ntwo,Two!,,data/b.csv\n');
    const second = await publish(place);
    expect(second.code).toBe(3);
    expect(states(second.report)).toEqual([
      'm/one quarantined true',
      'm/three done false',
      'm/three/c done false',
      'm/two done true',
      'm/two/b unchanged true',
    ]);
    expect(second.report.items[0]?.reason).toMatchObject({ code: 'entry-fault' });
    expect(second.report.items[0]?.reason?.message).toMatch(/list\.csv:2:3: license: `cc-bye` is not allowed/);
    expect(second.report.items.find(({ key }) => key === 'm/three')?.actions).toEqual(['unpublished']);
  });

  it('is checked with the files it names', async () => {
    const place = makePlace(['one,One,cc-bye,data/a.csv,x', 'two,Two,,data/gone.csv,']);
    const { io, out } = place.io();
    expect(await checkCommand(['m.yaml'], place.options, io)).toBe(3);
    expect(out()).toMatch(/list\.csv:2:3: license: `cc-bye` is not allowed/);
    expect(out()).toMatch(/gone\.csv: .*\[source-missing\]/);
  });
});
