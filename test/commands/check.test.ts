// biome-ignore-all lint/suspicious/noTemplateCurlyInString: configurations refer to secrets
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type CheckCommandOptions, checkCommand } from '../../src/commands/check.ts';
import { runProgram } from '../../src/commands/program.ts';
import { startPortalServer } from '../../src/embedded-portal/portal-server.ts';
import { UsageError } from '../../src/model/errors.ts';
import { createLog } from '../../src/model/log.ts';
import { commandIo } from '../support/command-io.ts';
import { fileAnswer, startSources } from '../support/source-server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { writeText } from '../support/yaml-file.ts';

const check = async (dir: string, paths: string[], options: CheckCommandOptions = {}, env: NodeJS.ProcessEnv = {}) => {
  const { io, out } = commandIo(dir, { env });
  const code = await checkCommand(paths, options, io);
  return { code, out: out(), lines: out().trimEnd().split('\n') };
};

const manifest = (file: string): string => `name: city
datasets:
  - id: budget
    title: Budget
    resources:
      - { id: spending, file: ${file} }
`;

describe('checking tables', () => {
  it('tells rows, columns and delimiter of a sound one', async () => {
    const dir = tempDir();
    writeText(dir, 'a.csv', 'Name;Amount\nAnn;1\nBob;2\n');
    expect(await check(dir, ['a.csv'])).toMatchObject({
      code: 0,
      lines: ['a.csv: sound, 2 rows, 2 columns, separated by semicolons', '  columns: Name (text), Amount (integer)'],
    });
  });

  it('names file, line and column of a fault, and what to do', async () => {
    const dir = tempDir();
    writeText(dir, 'a.csv', 'a,,c\n1,2,3\n');
    expect(await check(dir, ['a.csv'])).toMatchObject({
      code: 3,
      lines: [
        'a.csv:1:2: the header cell is empty [table-header]',
        '  | byte 3: a,,c',
        '  -> give the column a name',
        'a.csv: fixable, 1 row, 3 columns, separated by commas',
        '  fix: columns without a usable name get one, such as "column_2"',
        '  -> sluice check a.csv --fix -o NEW-FILE',
      ],
    });
  });

  it('tries at once what an error suggests, also with --fix', async () => {
    const dir = tempDir();
    writeText(dir, 'a.csv', 'Report\nname;town\nAnn;Bonn\nBob;Ulm\n');
    expect((await check(dir, ['a.csv'])).out).toContain('try it with `sluice check --skip-rows`');
    expect(await check(dir, ['a.csv'], { skipRows: '0' })).toMatchObject({
      code: 0,
      lines: ['a.csv: sound, 3 rows, 1 column, separated by commas', '  columns: Report (text)'],
    });
    expect((await check(dir, ['a.csv'], { skipRows: '1' })).out).toContain('fixable, 2 rows, 2 columns');
    expect((await check(dir, ['a.csv'], { skipRows: '1', fix: true, output: 'b.csv' })).code).toBe(0);
    expect(readFileSync(join(dir, 'b.csv'), 'utf8')).toBe('name;town\nAnn;Bonn\nBob;Ulm\n');
    await expect(check(dir, ['a.csv'], { skipRows: 'two' })).rejects.toThrow(UsageError);
    writeText(dir, 'c.csv', 'Wert, netto;Wert, brutto\n1,5;2,5\n3,5;4,5\n');
    expect((await check(dir, ['c.csv'])).out).toContain('try it with `sluice check --delimiter`');
    expect((await check(dir, ['c.csv'], { delimiter: 'semicolon' })).lines[0]).toMatch(
      /^c.csv: sound, 2 rows, 2 columns/,
    );
  });

  it('counts what is sound of many, and says what the others have', async () => {
    const dir = tempDir();
    const names = Array.from({ length: 60 }, (_, at) => `${String(at).padStart(2, '0')}.csv`);
    for (const [at, name] of names.entries())
      writeText(dir, name, at % 20 === 19 ? 'id,name\n1,a,b\n' : at === 30 ? 'id,\n1,2\n' : 'id\n1\n');
    const { code, lines } = await check(dir, names);
    expect(code).toBe(3);
    expect(lines.filter((line) => /^\d\d\.csv: sound/.test(line))).toHaveLength(19);
    expect(lines.slice(-2)).toEqual([
      '… and 37 more sound files; `--report text` lists all',
      '60 files, 4 faulty: 3 with table-ragged, 1 with table-header',
    ]);
    for (const name of ['19.csv', '30.csv', '39.csv', '59.csv'])
      expect(lines.filter((line) => line.startsWith(name))).not.toEqual([]);
    const all = await check(dir, names, { report: 'text' });
    expect(all.lines.filter((line) => /^\d\d\.csv: sound/.test(line))).toHaveLength(56);
  });

  it('tells remarks, which fail nothing', async () => {
    const dir = tempDir();
    writeText(dir, 'a.csv', 'day\n2026-01-31\n31.01.2026\n');
    const { code, lines } = await check(dir, ['a.csv']);
    expect(code).toBe(0);
    expect(lines).toEqual([
      'a.csv: sound, 2 rows, 1 column, separated by commas, 1 remark',
      '  columns: day (date)',
      expect.stringMatching(/^ {2}remark: line 3, column 1: the column has dates in several notations/),
    ]);
  });

  it('reports each column what it is, by which row, and its name on a portal', async () => {
    const dir = tempDir();
    writeText(dir, 'a.csv', 'Zip,Größe\n01234,1\n01235,2.5\n,\n');
    const { lines } = await check(dir, ['a.csv'], { report: 'text' });
    expect(lines).toContain('  column "Zip": text, decided by line 2, 1 empty; on a portal zip');
    expect(lines).toContain('  column "Größe": number, decided by line 3, 1 empty; on a portal gre');
  });

  it('writes a page of everything, in which nothing of the file is markup', async () => {
    const dir = tempDir();
    writeText(dir, 'a.csv', 'a,<script>\n1,"x"<b>,2\n');
    const { code, out } = await check(dir, ['a.csv'], { report: 'html' });
    expect(code).toBe(3);
    expect(out).toMatch(/^<!doctype html>/);
    expect(out).toContain('&lt;script&gt;');
    expect(out).not.toMatch(/<script|<b>/);
    expect(out).toContain('line 2, column 2');
  });

  it('goes on after a faulty one', async () => {
    const dir = tempDir();
    writeText(dir, 'bad.csv', 'a,b\n1\n');
    writeText(dir, 'good.csv', 'a,b\n1,2\n');
    const { code, lines } = await check(dir, ['bad.csv', 'gone.csv', 'good.csv']);
    expect(code).toBe(3);
    expect(lines.map((line) => line.split(/:? /, 1)[0]).filter(Boolean)).toEqual([
      'bad.csv:2',
      'bad.csv',
      'gone.csv',
      'good.csv',
      '3',
    ]);
    expect(lines.at(-1)).toBe('3 files, 2 faulty');
  });

  it('obeys the row limit of the configuration', async () => {
    const dir = tempDir();
    writeText(dir, 'a.csv', `a\n${'x'.repeat(2000)}\n`);
    expect(await check(dir, ['a.csv'])).toMatchObject({ code: 0 });
    writeText(dir, 'config/sluice.yaml', 'limits: { row: 1 kB }\n');
    const limited = await check(dir, ['a.csv']);
    expect(limited.code).toBe(3);
    expect(limited.out).toMatch('table-oversize');
  });

  it('reports a folder that is named like one', async () => {
    const dir = tempDir();
    mkdirSync(join(dir, 'tables.csv'));
    const { code, out } = await check(dir, ['tables.csv']);
    expect(code).toBe(3);
    expect(out).toContain('-> name the files in it');
  });

  it('refuses a kind of file that it does not know', async () => {
    const dir = tempDir();
    writeText(dir, 'a.pdf', 'x');
    mkdirSync(join(dir, 'folder'));
    const { code, out } = await check(dir, ['a.pdf', 'folder']);
    expect(code).toBe(2);
    expect(out).toMatch(/^a\.pdf: this is neither a table .* \[usage\]$/m);
    expect(out).toMatch(/^folder: this is a folder, not a file/m);
  });

  it('prints one object with --json and nothing else', async () => {
    const dir = tempDir();
    writeText(dir, 'good.csv', 'a,b\n1,2\n');
    writeText(dir, 'bad.csv', 'a,b\n1\n');
    const { code, out } = await check(dir, ['good.csv', 'bad.csv'], { json: true });
    expect(code).toBe(3);
    expect(JSON.parse(out)).toMatchObject({
      ok: false,
      portal: null,
      files: [
        {
          file: 'good.csv',
          kind: 'table',
          ok: true,
          table: { rows: 1, columns: ['a', 'b'], delimiter: ',' },
          faults: [],
        },
        { file: 'bad.csv', kind: 'table', ok: false, faults: [{ code: 'table-ragged', file: 'bad.csv', line: 2 }] },
      ],
    });
  });

  it('ends when it is interrupted', async () => {
    const dir = tempDir();
    writeText(dir, 'a.csv', 'a,b\n1,2\n');
    const { io, err, stop } = commandIo(dir);
    stop();
    expect(await runProgram(['check', 'a.csv'], io)).toBe(130);
    expect(err()).toContain('sluice: interrupted');
  });
});

describe('mending a table', () => {
  const faulty = '\ufeffId;Name;\n1;say "hi";\n2;Bob;\n';

  it('writes a new file that is sound and tells every change', async () => {
    const dir = tempDir();
    writeText(dir, 'a.csv', faulty);
    const { code, lines } = await check(dir, ['a.csv'], { fix: true, output: 'b.csv', separator: 'comma' });
    expect(code).toBe(0);
    expect(lines).toEqual([
      'a.csv: fixed, written to b.csv, 29 bytes, sound',
      '  the cells are separated by a comma instead of a semicolon',
      '  the byte order mark is removed',
      '  the semicolon at the end of every line is removed',
      '  the cell is put in quotes and its quotes are doubled',
      '  line 2: - 1;say "hi";',
      '  line 2: + 1,"say ""hi"""',
    ]);
    expect(readFileSync(join(dir, 'b.csv'), 'utf8')).toBe('Id,Name\n1,"say ""hi"""\n2,Bob\n');
    expect(readFileSync(join(dir, 'a.csv'), 'utf8')).toBe(faulty);
  });

  it('reports the same as JSON and as a page', async () => {
    const dir = tempDir();
    writeText(dir, 'a.csv', faulty);
    const { out } = await check(dir, ['a.csv'], { fix: true, output: 'b.csv', report: 'json' });
    expect(JSON.parse(out)).toMatchObject({ ok: true, output: 'b.csv', changed: 1, rows: [{ line: 2 }], left: [] });
    const page = await check(dir, ['a.csv'], { fix: true, output: 'c.csv', report: 'html' });
    expect(page.out).toContain('<del><code>1;say &quot;hi&quot;;</code></del>');
  });

  it('writes nothing for a fault that nobody can mend safely, and tells it', async () => {
    const dir = tempDir();
    writeText(dir, 'a.csv', 'a,b\n1,2,3\n');
    const { code, lines } = await check(dir, ['a.csv'], { fix: true, output: 'b.csv' });
    expect(code).toBe(3);
    expect(lines[0]).toBe('a.csv:2: the row has 3 cells, the header has 2 [table-ragged]');
    expect(lines.at(-1)).toBe('nothing was written: some faults cannot be fixed automatically');
    expect(existsSync(join(dir, 'b.csv'))).toBe(false);
  });

  it('reads the encoding that is reported where nothing else tells it', async () => {
    const dir = tempDir();
    writeFileSync(join(dir, 'a.csv'), Buffer.concat([Buffer.from('id,name\n1,'), Buffer.from([0xcc, 0xe8, 0xf0, 10])]));
    expect((await check(dir, ['a.csv'])).out).toMatch(/^a\.csv: faulty, .* encoding unknown$/m);
    const fix = { fix: true, output: 'b.csv' };
    expect(await check(dir, ['a.csv'], fix)).toMatchObject({ code: 3 });
    expect(await check(dir, ['a.csv'], { ...fix, encoding: 'Windows-1251' })).toMatchObject({ code: 0 });
    expect(readFileSync(join(dir, 'b.csv'), 'utf8')).toBe('id,name\n1,Мир\n');
    await expect(check(dir, ['a.csv'], { encoding: 'latin-99' })).rejects.toThrow('unknown encoding "latin-99"');
  });

  it('never overwrites a file', async () => {
    const dir = tempDir();
    writeText(dir, 'a.csv', 'a\n1\n');
    await expect(check(dir, ['a.csv'], { fix: true, output: 'a.csv' })).rejects.toThrow(
      'a file of that name already exists',
    );
    expect(readFileSync(join(dir, 'a.csv'), 'utf8')).toBe('a\n1\n');
  });

  it('wants one table and a name', async () => {
    const dir = tempDir();
    writeText(dir, 'a.csv', 'a\n1\n');
    await expect(check(dir, ['a.csv'], { fix: true })).rejects.toThrow(UsageError);
    await expect(check(dir, ['a.csv', 'a.csv'], { fix: true, output: 'b.csv' })).rejects.toThrow(UsageError);
  });
});

describe('checking manifests and configurations', () => {
  it('brings the tables that a manifest publishes', async () => {
    const dir = tempDir();
    writeText(dir, 'jobs/city.yaml', manifest('../data/a.csv'));
    writeText(dir, 'data/a.csv', 'a,b\n1,2\n');
    expect(await check(dir, ['jobs/city.yaml'])).toMatchObject({
      code: 0,
      lines: [
        'jobs/city.yaml: sound, manifest city, 1 dataset, 1 resource',
        'data/a.csv: sound, 1 row, 2 columns, separated by commas',
        '  columns: a (integer), b (integer)',
        '2 files, all sound',
      ],
    });
  });

  it('says that it does not fetch the files of the web that a manifest publishes', async () => {
    const dir = tempDir();
    writeText(dir, 'm.yaml', manifest('a.csv').replace('file: a.csv', 'url: "http://127.0.0.1:9/a.csv"'));
    expect(await check(dir, ['m.yaml'])).toMatchObject({
      code: 0,
      lines: [
        'm.yaml: sound, manifest city, 1 dataset, 1 resource',
        '  1 file of the web is fetched and checked when published, not here',
      ],
    });
  });

  it('reports that a file of a manifest is missing', async () => {
    const dir = tempDir();
    writeText(dir, 'city.yaml', manifest('report.pdf'));
    const { code, out } = await check(dir, ['city.yaml']);
    expect(code).toBe(3);
    expect(out).toMatch(/^report\.pdf: there is no such file \[source-missing\]$/m);
  });

  it.each([
    ['none.csv', 'none.csv: there is no such file [source-missing]', 'check the path'],
    ['file.csv/none.csv', 'file.csv/none.csv: there is no such file [source-missing]', 'check the path'],
    ['folder.csv', 'folder.csv: this is a folder, not a file [source-missing]', 'name the files in it'],
    ['pipe.csv', 'pipe.csv: this is a pipe or device, not a file [source-missing]', 'name a regular file'],
    ['folder', 'folder: this is a folder, not a file [source-missing]', 'name the files in it'],
    ['none.yaml', 'none.yaml: there is no such file [manifest]', 'check the path'],
  ])('says of %s in words that it cannot be read', async (path, message, hint) => {
    const dir = tempDir();
    writeText(dir, 'file.csv', 'a\n1\n');
    mkdirSync(join(dir, 'folder.csv'));
    mkdirSync(join(dir, 'folder'));
    execFileSync('mkfifo', [join(dir, 'pipe.csv')]);
    const { lines } = await check(dir, [path]);
    expect(lines[0]).toBe(message);
    expect(lines[1]).toContain(`-> ${hint}`);
  });

  it('shows a command that a shell takes, whatever the file is called', async () => {
    const dir = tempDir();
    writeText(dir, "Ann's table.csv", 'a,,c\n1,2,3\n');
    expect((await check(dir, ["Ann's table.csv"])).out).toContain(
      "-> sluice check 'Ann'\\''s table.csv' --fix -o NEW-FILE",
    );
  });

  it('says of a path with backslashes how folders are separated, of an address where it belongs', async () => {
    const dir = tempDir();
    writeText(dir, 'city.yaml', manifest('data\\first.csv'));
    expect((await check(dir, ['city.yaml'])).out).toContain('-> separate folders by `/`, not `\\`; check the path');
    writeText(dir, 'city.yaml', manifest('https://example.org/first.csv'));
    const { code, out } = await check(dir, ['city.yaml']);
    expect(code).toBe(2);
    expect(out).toContain('city.yaml:6:31: datasets.0.resources.0.file: is an address: use the key `url` [manifest]');
  });

  it('reports served manifests of one name, of which the service would take only one', async () => {
    const dir = tempDir();
    writeText(dir, 'config/sluice.yaml', 'manifests: ["../jobs/*.yaml"]\n');
    writeText(dir, 'jobs/city.yaml', 'name: city\ndatasets: []\n');
    writeText(dir, 'jobs/copy.yaml', 'name: city\ndatasets: []\n');
    const { code, lines } = await check(dir, []);
    expect(code).toBe(2);
    expect(lines).toEqual([
      expect.stringContaining('config/sluice.yaml: sound'),
      expect.stringContaining('jobs/city.yaml: sound'),
      'jobs/copy.yaml: name: `city` is the name of jobs/city.yaml, too: `sluice start` takes only one of them [manifest]',
      '  -> give each manifest a name of its own',
      '3 files, 1 faulty',
    ]);
    expect((await check(dir, ['jobs/city.yaml', 'jobs/copy.yaml'])).code).toBe(0);
  });

  it('shows all faults of a manifest, each with line, column and key', async () => {
    const dir = tempDir();
    writeText(dir, 'city.yaml', 'name: city\ndatasets:\n  - id: Budget\n    titel: Budget\n');
    const { code, lines } = await check(dir, ['city.yaml']);
    expect(code).toBe(2);
    expect(lines).toEqual([
      'city.yaml:3:5: datasets.0.title: this key is required [manifest]',
      expect.stringMatching(/^city\.yaml:3:9: datasets\.0\.id: must be 1 to 64 characters from .* \[manifest\]$/),
      'city.yaml:4:5: datasets.0.titel: unknown key; did you mean `title`? [manifest]',
      expect.stringMatching(/^ {2}-> fix these lines; `sluice help manifest`/),
    ]);
  });

  it('takes a file that cannot be read for a manifest, unless its name is that of a configuration', async () => {
    const dir = tempDir();
    writeText(dir, 'jobs/city.yaml', 'name: city\n  portal: [\n');
    expect((await check(dir, ['jobs/city.yaml'])).out).toMatch(
      /^jobs\/city\.yaml:1:\d+: not valid YAML: .* \[manifest\]$/m,
    );
    writeText(dir, 'other/sluice.yaml', 'portals:\n  - [\n');
    expect((await check(dir, ['other/sluice.yaml'])).out).toMatch(/ \[config\]$/m);
  });

  it('names the list that is at fault instead of the manifest that names it', async () => {
    const dir = tempDir();
    writeText(dir, 'list.csv', '');
    writeText(dir, 'city.yaml', 'name: city\nindex: list.csv\n');
    const { code, lines } = await check(dir, ['city.yaml']);
    expect(code).toBe(2);
    expect(lines[0]).toBe('list.csv:1:1: the index is empty: its first line names the columns [manifest]');
  });

  it('reports the columns of a list that are not used, and patterns that fit nothing', async () => {
    const dir = tempDir();
    writeText(dir, 'list.csv', 'dataset,link,Owner\na,https://example.org,Ann\n');
    writeText(dir, 'city.yaml', 'name: city\nindex: list.csv\n');
    expect((await check(dir, ['city.yaml'])).lines).toContain('  the column `Owner` is not used');
    writeText(dir, 'packs.yaml', 'name: packs\ndatapackage: packs/*/datapackage.json\n');
    const { code, out } = await check(dir, ['packs.yaml']);
    expect(code).toBe(0);
    expect(out).toMatch(/^ {2}nothing counts as missing: no file matches `.*packs\/\*\/datapackage\.json`/m);
  });

  it('looks into a data package', async () => {
    const dir = tempDir();
    writeText(dir, 'trees/datapackage.json', '{"resources": [{"path": "trees.csv"}]}');
    writeText(dir, 'trees/trees.csv', 'id\n1,2\n');
    const { code, out } = await check(dir, ['trees/datapackage.json']);
    expect(code).toBe(3);
    expect(out).toMatch(/^trees\/datapackage\.json: data package, 1 resource$/m);
    expect(out).toMatch(/^trees\/trees\.csv:2: the row has 2 cells/m);
    writeText(dir, 'trees/datapackage.json', '{"resources": [{"path": "../trees.csv"}]}');
    expect((await check(dir, ['trees/datapackage.json'])).out).toMatch(
      /^trees\/datapackage\.json:1:\d+: resources\.0\.path: .* leads out of the folder/m,
    );
  });

  it('reports that the portal of a manifest is not configured', async () => {
    const dir = tempDir();
    writeText(dir, 'config/sluice.yaml', 'portals: { local: { kind: embedded } }\n');
    writeText(dir, 'jobs/city.yaml', 'name: city\nportal: town\ndatasets: []\n');
    const { code, out } = await check(dir, ['jobs/city.yaml']);
    expect(code).toBe(2);
    expect(out).toMatch(/^jobs\/city\.yaml:2:9: portal: the configuration has no portal `town` \[manifest\]$/m);
  });

  it('takes a YAML file without the keys of a manifest for a configuration', async () => {
    const dir = tempDir();
    writeText(dir, 'here.yml', 'portals: { local: { kind: embedded } }\n');
    writeText(dir, 'odd.yml', 'portals: { local: { kind: embeded } }\n');
    const { code, out } = await check(dir, ['here.yml', 'odd.yml']);
    expect(code).toBe(2);
    expect(out).toMatch(/^here\.yml: sound, 1 portal: local$/m);
    expect(out).toMatch(/^odd\.yml:1:\d+: portals\.local\.kind: .*allowed: embedded, remote.* \[config\]$/m);
  });

  it('checks tables even when the configuration in force is faulty, and names its faults, too', async () => {
    const dir = tempDir();
    writeText(dir, 'config/sluice.yaml', 'portls: {}\n');
    writeText(dir, 'a.csv', 'a,b\n1,2\n');
    const { code, out } = await check(dir, ['a.csv']);
    expect(code).toBe(2);
    expect(out).toMatch(/sluice\.yaml:1:1: portls: unknown key/);
    expect(out).toMatch(/^a\.csv: sound/m);
  });

  it('checks the configuration and all its manifests when nothing is named', async () => {
    const dir = tempDir();
    writeText(dir, 'config/sluice.yaml', 'manifests: ["../jobs/*.yaml"]\n');
    writeText(dir, 'jobs/city.yaml', manifest('a.csv'));
    writeText(dir, 'jobs/a.csv', 'a,b\n1,2\n');
    const { code, out } = await check(dir, []);
    expect(code).toBe(0);
    expect(out).toMatch(/^config\/sluice\.yaml: sound[\s\S]*^jobs\/city\.yaml: sound[\s\S]*^3 files, all sound$/m);
  });

  it('checks manifests in the order in which people count', async () => {
    const dir = tempDir();
    writeText(dir, 'config/sluice.yaml', 'manifests: ["../jobs/*.yaml"]\n');
    for (const name of ['amt-10', 'amt-2']) writeText(dir, `jobs/${name}.yaml`, manifest('a.csv'));
    writeText(dir, 'jobs/a.csv', 'a,b\n1,2\n');
    const { out } = await check(dir, []);
    expect(out.indexOf('jobs/amt-2.yaml')).toBeLessThan(out.indexOf('jobs/amt-10.yaml'));
  });

  it('says so when there is nothing to check', async () => {
    await expect(check(tempDir(), [])).rejects.toThrow(UsageError);
  });
});

describe('checking a portal', () => {
  const login = { SLUICE_USERNAME: 'ann', SLUICE_PASSWORD: 'open-sesame' };
  const portal = async (roles: string[]) => {
    const server = await startPortalServer({
      dataDir: join(tempDir(), 'portal'),
      users: [{ name: 'ann', password: 'open-sesame', roles }],
      log: createLog({ level: 'silent' }),
    });
    onTestFinished(() => server.close());
    return server;
  };

  it('reports what works there, and writes nothing', async () => {
    const server = await portal(['content creator']);
    const { code, out } = await check(tempDir(), [], { portal: server.url }, login);
    expect(code).toBe(0);
    expect(out).toMatch(/ok {2}logged in as ann/);
    expect(out).toMatch(/ok {2}the account may create/);
    expect(out).toMatch(/ok {2}takes fields in the form `entity`/);
    expect(server.requests().writes).toBe(0);
  });

  it('reports what does not work and what to do', async () => {
    const server = await portal([]);
    const { code, out } = await check(tempDir(), [], { portal: server.url }, login);
    expect(code).toBe(3);
    expect(out).toMatch(/NO {2}the account has no role .*\n {6}-> give it the role/);
  });

  it('reports a refused login', async () => {
    const server = await portal(['content creator']);
    const wrong = { ...login, SLUICE_PASSWORD: 'wrong' };
    const { code, out } = await check(tempDir(), [], { portal: server.url, json: true }, wrong);
    expect(code).toBe(3);
    expect(JSON.parse(out)).toMatchObject({
      ok: false,
      portal: { reachable: true, api: true, login: { code: 'portal-login' } },
    });
  });

  it.each<[answer: string, status: number, body: string | Buffer]>([
    ['a web page', 200, '<!doctype html><title>Welcome</title>'],
    ['a notice of PHP before the JSON', 200, '<br />\n<b>Notice</b>: Undefined index in x.php\n{"sessid": "1"}'],
    ['gzip that is not declared', 200, gzipSync('{"sessid": "1"}')],
    ['other JSON', 200, '{"status": "ok"}'],
    ['a redirect', 301, ''],
    ['an error', 500, 'Fatal error'],
    ['no such page', 404, 'Not found'],
  ])('says what to do where it answers %s, other than this command', async (_answer, status, body) => {
    const server = createServer((_request, response) => {
      response.writeHead(status, { location: '/elsewhere', 'content-type': 'application/json' }).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo; // it listens on a port
    const { code, out } = await check(tempDir(), [], { portal: `http://127.0.0.1:${port}` }, login);
    expect(code).toBe(3);
    expect(out).toMatch(/NO {2}.*\n {6}-> \S/);
    expect(out).not.toContain('check --portal');
  });

  it('serves an embedded portal of the configuration for that long', async () => {
    const { code, out } = await check(tempDir(), [], { portal: 'local' });
    expect(code).toBe(0);
    expect(out).toMatch(/^portal local \(http:\/\/127\.0\.0\.1:\d+\)$/m);
    expect(out).toMatch(/the password of its user admin is \S+ \(shown this once\)/);
  });

  it('refuses a name that is not configured', async () => {
    await expect(check(tempDir(), [], { portal: 'town' })).rejects.toThrow(/unknown portal `town`/);
  });
});

describe('checking sources behind a login', () => {
  const withLogins = async () => {
    const server = await startSources();
    const dir = tempDir();
    const sources = { allow: ['127.0.0.1'], credentials: { [server.url]: { bearer: '${TOKEN}' } } };
    writeText(dir, 'config/sluice.yaml', JSON.stringify({ sources }));
    return { server, dir, env: { TOKEN: 'tok-3f9a' } };
  };
  const fileManifest = (url: string): string =>
    JSON.stringify({
      name: 'city',
      datasets: [
        {
          id: 'd',
          title: 'D',
          resources: ['a', 'b'].map((id) => ({ id, title: id, url: `${url}/${id}.csv?key=1` })),
        },
      ],
    });

  it('says which login goes with how many files, and that the first answers with it', async () => {
    const { server, dir, env } = await withLogins();
    server.on('/a.csv', fileAnswer('a\n1\n', {}));
    writeText(dir, 'm.yaml', fileManifest(server.url));
    const { code, out } = await check(dir, ['m.yaml'], {}, env);
    expect(out).toContain(
      `  login for ${server.url}: used by 2 sources, unencrypted; ${server.url}/a.csv?… answers with it`,
    );
    expect(code).toBe(0);
    expect(server.asked.map(({ headers }) => headers.authorization)).toEqual(['Bearer tok-3f9a']);
    expect(out).not.toContain('tok-3f9a');
  });

  it.each([
    ['refuses it', 403, 'check the login for'],
    ['answers with a page', 200, 'is a web page titled "Log in"'],
  ])('names the login of a catalogue whose server %s', async (_what, status, words) => {
    const { server, dir, env } = await withLogins();
    server.on('/data.json', (_request, response) =>
      response.writeHead(status, { 'content-type': 'text/html' }).end('<html><title>Log in</title></html>'),
    );
    writeText(dir, 'm.yaml', JSON.stringify({ name: 'all', catalogue: `${server.url}/data.json` }));
    const { code, out } = await check(dir, ['m.yaml'], {}, env);
    expect([code, out]).toEqual([3, expect.stringContaining(words)]);
    expect(out).toContain(`login for ${server.url}: used by 1 source`);
  });
});
