// The documentation against the program: links, commands, codes, YAML.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandHelp, madePages, programHelp } from '../../scripts/reference.ts';
import { exitCodes } from '../../src/commands/io.ts';
import { configFileSchema } from '../../src/config/schema.ts';
import { errorCodes } from '../../src/model/errors.ts';
import { checkDocument } from '../../src/model/yaml/check.ts';
import { parseYaml } from '../../src/model/yaml/document.ts';
import { noticeEvents } from '../../src/notify/notice.ts';
import { findingCodes } from '../../src/pipeline/export/record.ts';
import { answers } from '../../src/portal-client/answers.ts';
import { manifestFileSchema } from '../../src/sources/manifest/schema.ts';
import { anchorsOf, blocksOf, pagePaths, pageText, root } from '../support/pages.ts';

const pages = pagePaths();
const commands = await commandHelp();
const names = commands.map(({ name }) => name);
const made = await madePages();

describe('pages made from the program', () => {
  it.each(made)('$path is in step (else run `node scripts/reference.ts`)', ({ path, text }) => {
    expect(pageText(path)).toBe(text);
  });

  it('say what every answer of a portal means', () => {
    expect(pageText('docs/reference/portal-answers.md')).not.toContain('TO BE SAID');
  });
});

describe('the threat model', () => {
  const page = pageText('docs/explanation/security.md');
  const rows = [...page.matchAll(/^\| (.+) \| `(test\/\S+)` \| (.+) \|$/gm)].map(
    ([, threat = '', path = '', title = '']) => ({ threat, path, title }),
  );

  it.each(rows)('is tested: $threat', ({ path, title }) => {
    expect(readFileSync(join(root, path), 'utf8').replaceAll("\\'", "'")).toContain(title);
  });

  it('has a test for every threat, and no other', () => {
    const listed = [...page.matchAll(/^- (.*)$/gm)].map(([, threat]) => threat);
    expect(rows.map(({ threat }) => threat)).toEqual(listed);
  });
});

describe('commands', () => {
  it('each show an example in their help', () => {
    const missing = commands.filter(
      ({ name, text }) => !new RegExp(`^Example:\\n(?:  .*\\n)*?  .*sluice ${name}\\b`, 'm').test(text),
    );
    expect(missing).toEqual([]);
  });

  it('are listed by `sluice --help` with the arguments that they declare', async () => {
    const page = pageText('docs/reference/commands.md');
    const listed = [...page.matchAll(/^- `([a-z][^`]*)`: \S/gm)].map(([, usage]) => usage);
    expect(listed).toHaveLength(names.length);
    const overview = (await programHelp()).match(/^ {2}[a-z-]+ \[options\](?: [[<]\S+)?/gm) ?? [];
    const declared = commands.map(({ text }) => /^Usage: sluice (.*)$/m.exec(text)?.[1]?.replace(' [command]', ''));
    expect(overview.map((usage) => usage.trim())).toEqual(declared);
  });

  it('in the pages exist, with options that exist', () => {
    const help = new Map(commands.map(({ name, text }) => [name, text]));
    const lines = pages
      .flatMap(blocksOf)
      .filter(({ language }) => language === 'sh')
      .flatMap(({ place, text }) => text.split('\n').map((line) => ({ place, line: line.replace(/\s#.*$/, '') })));
    const uses = lines.flatMap(({ place, line }) =>
      [...line.matchAll(/\bsluice (?:sluice )?(?:-- )?([a-z][a-z-]*)((?: [^&|;]+)?)/g)].map(
        ([, name = '', rest = '']) => ({
          place,
          name,
          rest,
        }),
      ),
    );
    const used = uses.filter(({ name, place }) => names.includes(name) || !/docker|systemd/.test(place));
    expect(used.length).toBeGreaterThan(30);
    const wrong = used.flatMap(({ place, name, rest }) => {
      const options = [...rest.matchAll(/(?<= )--?[a-z][a-z-]*/g)].map(([option]) => option);
      const text = help.get(name) ?? '';
      const odd = options.filter((option) => !new RegExp(`(?<![\\w-])${option}(?![\\w-])`).test(text));
      return names.includes(name) && odd.length === 0 ? [] : [`${place}: sluice ${name} ${odd.join(' ')}`];
    });
    expect(wrong).toEqual([]);
  });

  it('of CONTRIBUTING run with the Node release of the clone, whatever the machine has', () => {
    const text = pageText('CONTRIBUTING.md');
    const typed = [...text.matchAll(/(?:`|^)((?:[a-z]+ )*)(?:node|vitest|tsc|biome) (?!release)\S/gm)].map(
      ([, by]) => by,
    );
    expect(typed.length).toBeGreaterThan(3);
    expect(typed.filter((by) => by !== 'npx ')).toEqual([]);
    expect(text).toMatch(/npm run check .* some \w+ minutes/);
  });

  it('of npm in the pages exist', () => {
    const { scripts } = JSON.parse(pageText('package.json')) as { scripts: Record<string, string> }; // ours
    const uses = pages.flatMap((path) => [
      ...pageText(path).matchAll(/\bnpm (?:run (?:-s )?([a-z:-]+)|(start|test))\b/g),
    ]);
    const missing = uses.flatMap(([, run, short]) => ((run ?? short ?? '') in scripts ? [] : [run ?? short]));
    expect(missing).toEqual([]);
  });
});

describe('codes', () => {
  it('of errors in the pages exist', () => {
    const families = [...new Set(Object.keys(errorCodes).map((code) => code.split('-')[0]))].join('|');
    const uses = pages.flatMap((path) =>
      [...pageText(path).matchAll(new RegExp(`(?:\`|^ *)((?:${families})-[a-z-]+)(?:\`|: )`, 'gm'))].map(
        ([, code = '']) => code,
      ),
    );
    expect(uses.length).toBeGreaterThan(40);
    const others = ['redis-server', ...Object.keys(noticeEvents), ...findingCodes, ...Object.keys(answers)];
    expect(uses.filter((code) => !(code in errorCodes) && !others.includes(code))).toEqual([]);
  });

  it('of notices are documented, all of them and no other, in the words of the program', () => {
    const rows = [...pageText('docs/how-to/notices.md').matchAll(/^\| `([a-z-]+)` \| ([A-Z].*) \|$/gm)];
    const plain = rows.map(([, event = '', words = '']) => [event, words.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')]);
    expect(Object.fromEntries(plain)).toEqual(noticeEvents);
  });

  it('of exits are documented, all of them and no other', () => {
    const rows = [...pageText('docs/reference/commands.md').matchAll(/^\| `(\d+)` \|/gm)].map(([, code]) =>
      Number(code),
    );
    expect(rows).toEqual(Object.values(exitCodes).sort((a, b) => a - b));
  });
});

describe('links', () => {
  it('lead to pages and headings that exist', () => {
    const broken = pages.flatMap((path) =>
      [...pageText(path).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)]+))?\)/g)].flatMap(([link, file = '', anchor]) => {
        const target = file === '' ? path : join(dirname(path), file).replaceAll('\\', '/');
        if (!existsSync(join(root, target))) return [`${path}: ${link}`];
        return anchor !== undefined && !anchorsOf(target).includes(anchor) ? [`${path}: ${link}`] : [];
      }),
    );
    expect(broken).toEqual([]);
  });

  it('reach every page from the README', () => {
    const seen = new Set<string>();
    const walk = (path: string): void => {
      if (seen.has(path) || !path.endsWith('.md')) return;
      seen.add(path);
      for (const [, file = ''] of pageText(path).matchAll(/\]\((?!https?:)([^)#\s]+)/g)) {
        walk(join(dirname(path), file).replaceAll('\\', '/'));
      }
    };
    walk('README.md');
    expect(pages.filter((path) => !seen.has(path))).toEqual([]);
  });
});

describe('YAML in the pages', () => {
  const yaml = pages.flatMap(blocksOf).filter(({ language }) => language === 'yaml');
  const whole = (key: string) => yaml.filter(({ text }) => new RegExp(`^${key}:`, 'm').test(text));

  it.each(whole('name'))('a manifest is sound: $place', ({ place, text }) => {
    const { document } = parseYaml(text, place);
    expect(document && checkDocument(document, manifestFileSchema).problems).toEqual([]);
  });

  it.each(whole('portals').filter(({ text }) => !/^name:/m.test(text)))(
    'a configuration is sound: $place',
    ({ place, text }) => {
      const { document } = parseYaml(text, place);
      const problems = (document && checkDocument(document, configFileSchema).problems) ?? [];
      // Parts that show two keys of a portal leave out what it requires.
      expect(problems.filter(({ message }) => !message.startsWith('this key is required'))).toEqual([]);
    },
  );
});
