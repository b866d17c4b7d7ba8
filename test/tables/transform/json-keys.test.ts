import { describe, expect, it } from 'vitest';
import { made, textOf } from './support/made.ts';
import { zipOf } from './support/zip.ts';

describe('keys of JSON', () => {
  it.each([
    [
      '[{"country":"Aruba","2021":5,"2020":4},{"country":"Angola","2020":7}]',
      'country,2021,2020\nAruba,5,4\nAngola,,7\n',
    ],
    ['[{"b":"x","0":1,"a\\"}":"{\\"c\\":1}"}]', 'b,0,"a""}"\nx,1,"{""c"":1}"\n'],
    ['{"id":1,"n":"a"}\n{"id":2,"n":"b"}\n', 'id,n\n1,a\n2,b\n'],
  ])('are columns in the order of the file: %s', async (content, text) => {
    expect(await textOf('t.json', content)).toBe(text);
  });

  it.each([
    ['{"town":"Ulm"}\n{"town":"Bonn","n":2}\n{"n":5}\n', 'town,n\nUlm,\nBonn,2\n,5\n'],
    ['{}\n{"a":1}\n{}\n{"a":2}\n', 'a\n\n1\n\n2\n'],
    ['{"a":null,"b":1}\n{"a":2}\n', 'a,b\n,1\n2,\n'],
    ['{"a":1,"b":2}\n{"b":3,"c":4}\n{"c":5,"d":6}\n', 'a,b,c,d\n1,2,,\n,3,4,\n,,5,6\n'],
    ['{"a":1}\n{"a":2}\n', 'a\n1\n2\n'],
  ])('may be missing in rows that share others: %s', async (content, text) => {
    expect((await textOf('t.jsonl', content)).replaceAll('""', '')).toBe(text);
  });

  it('are refused where a row has one twice, of which a value would be lost', async () => {
    await expect(textOf('t.json', '[{"id":1,"n":2,"id":3}]')).rejects.toThrow('row 1 has the key "id" twice');
    expect(await textOf('t.json', '[{"id":1,"n":"{\\"n\\": 1}"}]')).toContain('id,n');
  });
});

describe('rows that are not one table', () => {
  it.each([
    ['t.json', '{"meta":{"rows":2},"data":[{"id":1},{"id":2}]}'],
    ['t.json', '[["id","n"],[1,"a"]]'],
    ['t.json', '[{"id":1,"geo":{"lat":1}}]'],
    ['t.jsonl', '{"type":"meta","version":2}\n{"town":"Ulm","n":1}\n{"town":"Bonn","n":2}\n'],
    ['t.json', '[{"town":"Ulm","n":1},{"error":"timeout"},{"town":"Bonn","n":2}]'],
    ['t.json', '["a","b"]'],
    ['t.json', '{"id":{"0":1,"1":2},"name":{"0":"Ann","1":"Bob"}}'],
    ['t.json', '{"version":"2.0","class":"dataset","id":["year"],"size":[2],"value":[1,2]}'],
    ['t.json', `{"list":[${'1,'.repeat(70_000)}1]}`],
    ['t.geojson', '{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"a":1}}]}'],
  ])('are refused where files are fixed, and published as a file elsewhere: %s %s', async (name, content) => {
    await expect(made(name, content, { mend: 'safe' })).rejects.toMatchObject({
      hint: expect.stringMatching(/`import: never`|each row must be an object/),
    });
    expect((await made(name, content)).kind).toBe('as-is');
  });

  it.each([
    ['{"error": {"code": 404}}', 'is the answer of a server that failed'],
    ['{"errors": [{"message": "timeout"}], "data": null}', 'is the answer of a server that failed'],
    ['{"data": null, "errors": [{"message": "timeout"}]}', 'is not an array of rows'],
    ['{"success": false, "help": "x"}', 'is the answer of a server that failed'],
    ['{"message": "Forbidden"}', 'is the answer of a server that failed'],
    ['rows([{"id": 1}]);', 'is not JSON'],
    ['Service unavailable\n', 'is not JSON'],
    ['', 'is not JSON'],
    ['null', 'is not an array of rows'],
  ])('are refused with their cause: %s', async (content, cause) => {
    await expect(made('t.json', content, { mend: 'safe' })).rejects.toThrow(`t.json ${cause}`);
  });

  it.each([['{"title":"x","errors":[],"pages":3}'], ['{"message":"hello","id":7}'], ['{"detail":{"a":1},"n":null}']])(
    'are no answers of servers: %s',
    async (content) => {
      expect((await made('t.json', content, { mend: 'safe' })).kind).toBe('as-is');
    },
  );

  it('are refused in an archive of several tables, but not one without any', async () => {
    const two = await zipOf({ 'a.csv': 'a\n1\n', 'b.csv': 'b\n1\n' });
    await expect(made('t.zip', two, { mend: 'safe' })).rejects.toThrow('holds 2 tables');
    await expect(made('t.zip', await zipOf({ 'a.xlsx': 'x' }), { mend: 'safe' })).rejects.toThrow('holds no table');
    expect((await made('t.zip', await zipOf({ 'a.shp': 'x', 'a.dbf': 'x' }), { mend: 'safe' })).kind).toBe('as-is');
    expect((await made('t.json', '{"name":"x","list":[1,2]}', { mend: 'safe' })).kind).toBe('as-is');
  });
});
