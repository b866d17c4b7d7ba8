// `sluice portal --faults`: the embedded portal behind a switchboard.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { portalCommand } from '../../src/commands/portal.ts';
import { ConfigError } from '../../src/model/errors.ts';
import { commandIo } from '../support/command-io.ts';
import { tempDir } from '../support/temp-dir.ts';
import { waitUntil } from '../support/wait-until.ts';

const withFaults = (text: string) => {
  const dir = tempDir();
  writeFileSync(join(dir, 'faults.yaml'), text);
  const surroundings = commandIo(dir);
  const ended = portalCommand({ faults: 'faults.yaml', data: 'store' }, surroundings.io);
  return { ...surroundings, ended };
};

describe('sluice portal --faults', () => {
  it('injects the faults at its own address, none at the other, and counts them at the end', async () => {
    const { out, stop, ended } = withFaults(
      'seed: 5\nrules:\n  - { route: GET /healthz, fault: status, status: 503 }\n',
    );
    await waitUntil('the portal to be ready', () => out().includes('portal ready at'));
    const faulty = /ready at (\S+)/.exec(out())?.[1];
    const sound = /1 fault rule of .*faults\.yaml, seed 5; without faults: (\S+)/.exec(out())?.[1];
    expect((await fetch(`${faulty}/healthz`)).status).toBe(503);
    expect((await fetch(`${sound}/healthz`)).status).toBe(200);
    stop();
    expect(await ended).toBe(0);
    expect(out()).toContain('faults injected: {"status":1}');
  });

  it('starts nothing when the rules are wrong, and names each fault with its line and column', async () => {
    const text = 'rules:\n  - { route: POST /x, fault: dropreply }\n  - { route: x, fault: hang, delay: 2s }\n';
    const { out, ended } = withFaults(text);
    const error = await ended.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConfigError);
    expect(String(error)).toMatch(/faults\.yaml:2:\d+: rules\.0\.fault: .*did you mean `drop-reply`/);
    expect(String(error)).toMatch(/faults\.yaml:3:\d+: rules\.1\.route: must be a method/);
    expect(String(error)).toMatch(/faults\.yaml:3:\d+: rules\.1\.delay: unknown key/);
    expect(out()).toBe('');
  });
});
