// biome-ignore-all lint/suspicious/noTemplateCurlyInString: configurations hold references in this form
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import { tempDir } from '../support/temp-dir.ts';
import { problemsOf, writeText } from '../support/yaml-file.ts';

const load = async (text: string, env: NodeJS.ProcessEnv = {}): Promise<Config> => {
  const cwd = tempDir();
  writeText(cwd, 'config/sluice.yaml', text);
  writeText(cwd, 'config/smtp-password', 'from-a-file\n');
  return await loadConfig({ file: undefined, cwd, env });
};

const whole = `
notify:
  webhook: { url: '\${HOOK}', secret: '\${HOOK_SECRET}' }
  email:
    host: smtp.example.org
    username: sluice
    password: { file: smtp-password }
    from: Data team <sluice@example.org>
    to: ops@example.org
`;
const env = { HOOK: 'https://hooks.example.org/T0KEN', HOOK_SECRET: 'hook-secret' };

describe('notify', () => {
  it('is nobody without the key', async () => {
    expect((await load('retry: { attempts: 3 }')).notify).toEqual({ webhook: null, email: null, heartbeat: null });
  });

  it('takes addresses and secrets by reference; one recipient may stand without a list', async () => {
    const { webhook, email } = (await load(whole, env)).notify;
    expect({ ...webhook }).toMatchObject({ url: env.HOOK, secret: 'hook-secret' });
    expect({ ...email }).toMatchObject({ port: 587, secure: false, password: 'from-a-file', to: ['ops@example.org'] });
  });

  it('shows no secret, and no token of the address, when the configuration is printed', async () => {
    const config = await load(whole, env);
    for (const shown of [JSON.stringify(config), inspect(config, { depth: 9 })]) {
      expect(shown).toContain('smtp.example.org');
      for (const secret of ['T0KEN', 'hook-secret', 'from-a-file']) expect(shown).not.toContain(secret);
    }
  });

  it('refuses secrets in clear without repeating them, and addresses that are none', async () => {
    const text = `notify:
  webhook: { url: ftp://example.org, secret: in-clear }
  email: { host: h, from: nobody, to: [a@example.org, 'b c'] }
`;
    const told = (await problemsOf(load(text))).join('\n');
    expect(told).toContain('notify.webhook.url: must be a full address that begins with http:// or https://');
    expect(told).toContain('notify.webhook.secret: must be a reference');
    expect(told).toContain('notify.email.from: must be an e-mail address');
    expect(told).toContain('notify.email.to');
    expect(told).not.toContain('in-clear');
  });
});

describe('breaker', () => {
  it('is patient by default and takes durations', async () => {
    expect((await load('log: { level: info }')).breaker).toEqual({ failures: 5, probeMs: 5000, maxProbeMs: 300_000 });
    const changed = await load('breaker: { failures: 10, probe: 30s }');
    expect(changed.breaker).toEqual({ failures: 10, probeMs: 30_000, maxProbeMs: 300_000 });
  });
});
