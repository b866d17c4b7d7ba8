import { describe, expect, it } from 'vitest';
import type { EmbeddedPortalConfig } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import { portalOperations } from '../../src/config/portal-schema.ts';
import { permissions } from '../../src/dataset-api/values.ts';
import type { Resource } from '../../src/embedded-portal/portal.ts';
import { profiles } from '../../src/embedded-portal/profiles/profiles.ts';
import { resourcesOf } from '../../src/embedded-portal/resources/table.ts';
import { defaultRoles } from '../../src/embedded-portal/roles.ts';
import { tempDir } from '../support/temp-dir.ts';
import { problemsOf, writeText } from '../support/yaml-file.ts';

/** Loads a configuration whose one portal has these lines. */
const load = async (...lines: string[]): Promise<EmbeddedPortalConfig> => {
  const cwd = tempDir();
  const text = ['portals:', '  local:', '    kind: embedded', ...lines.map((line) => `    ${line}`)].join('\n');
  const config = await loadConfig({ file: writeText(cwd, 'x.yaml', text), cwd, env: {} });
  return config.portals.local as EmbeddedPortalConfig; // of that kind, as written above
};

const operationsOf = (resource: Resource): string[] => [
  ...new Set(Object.keys(resource).map((name) => (name === 'createOn' ? 'create' : name))),
];

describe('what the configuration knows of the embedded portal', () => {
  it('are its permissions, all of them', () => {
    expect([...permissions].sort()).toEqual([...(defaultRoles.administrator?.permissions ?? [])].sort());
  });

  it('are its resources and operations, all of them', () => {
    const known = Object.entries(portalOperations).map(([name, names]) => [name, [...names].sort()]);
    const real = [...resourcesOf(profiles.spec, undefined)].map(([name, one]) => [name, operationsOf(one).sort()]);
    expect(Object.fromEntries(known)).toEqual(Object.fromEntries(real));
  });
});

describe('keys of an embedded portal', () => {
  it('are off and open without a word about them', async () => {
    const closed = { publicUrl: null, roles: {}, expose: null, tokens: false, xmlrpc: false };
    expect(await load()).toMatchObject(closed);
  });

  it('become what the file says', async () => {
    const portal = await load(
      'publicUrl: https://data.example.org/open/',
      'roles: { reviewer: [edit any content], editor: [] }',
      'expose: { node: [index], file: [] }',
      'tokens: true',
      'xmlrpc: true',
    );
    expect(portal).toMatchObject({
      publicUrl: 'https://data.example.org/open',
      roles: { reviewer: ['edit any content'], editor: [] },
      expose: { node: ['index'], file: [] },
      tokens: true,
      xmlrpc: true,
    });
  });

  it.each([
    [
      'roles: { editor: [edit all content] }',
      /^4:23 portals\.local\.roles\.editor\.0: `edit all content` is not allowed.*allowed: create content, .*administer users$/,
    ],
    ['roles: { "": [] }', /^4:14 portals\.local\.roles\.: a role name has 1 to 64/],
    ['roles: [editor]', /^4:12 portals\.local\.roles: must be a mapping/],
    [
      'expose: { node: [indx] }',
      /^4:22 portals\.local\.expose\.node\.0: `indx` is not allowed \(did you mean `index`\?\); allowed: index, retrieve/,
    ],
    ['expose: { nodes: [index] }', /^4:15 portals\.local\.expose\.nodes: unknown key; did you mean `node`\?$/],
    ['tokens: yes please', /^4:13 portals\.local\.tokens: must be true or false/],
    ['xmlrpc: 1', /^4:13 portals\.local\.xmlrpc: must be true or false/],
    ['publicUrl: data.example.org', /^4:16 portals\.local\.publicUrl: must be a full address/],
    [
      'oauth: { consumer: x }',
      /^4:5 portals\.local\.oauth: OAuth is not supported; use sessions, or access tokens \(`tokens: true`\)$/,
    ],
  ])('%s is a fault at its place', async (line, fault) => {
    expect(await problemsOf(load(line))).toEqual([expect.stringMatching(fault)]);
  });

  it('oauth of a remote portal is refused as clearly', async () => {
    const cwd = tempDir();
    const text =
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference of the configuration
      'portals: { city: { kind: remote, url: "https://x.example", username: u, password: "${PW}", oauth: true } }';
    const loading = loadConfig({ file: writeText(cwd, 'x.yaml', text), cwd, env: { PW: 'x' } });
    expect(await problemsOf(loading)).toEqual([
      expect.stringMatching(/portals\.city\.oauth: OAuth is not supported; use `username` and `password`$/),
    ]);
  });
});
