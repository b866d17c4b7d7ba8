// Notices of real processes: to a web address and a mail server, once for each incident, over kills.
import { describe, expect, it } from 'vitest';
import { signatureOf } from '../../src/notify/channels.ts';
import { openHook } from '../notify/support/hook.ts';
import { openMailServer } from '../notify/support/smtp.ts';
import { isWhole } from '../support/extent.ts';
import { waitUntil } from '../support/wait-until.ts';
import { isIdle, makePlace, type Place } from './support/place.ts';

const secret = 'hook-secret-1';
const password = 'mail-password-2';
const cell = 'cell-of-a-row-3';

const withSecrets = (place: Place): Place => {
  place.write('config/hook-secret', `${secret}\n`);
  place.write('config/mail-password', `${password}\n`);
  return place;
};
const manifestOf = (place: Place, file: string, more: object = {}): string =>
  place.manifest({
    name: 'n',
    ...more,
    datasets: [
      { id: 'a', title: 'A', resources: [{ id: 'table', title: 'Table', file }] },
      { id: 'b', title: 'B' },
    ],
  });

describe('notices of publish', () => {
  it('tell of a held table once, and again of the next one', async () => {
    const hook = await openHook();
    const place = withSecrets(makePlace({ notify: { webhook: { url: hook.url, secret: { file: 'hook-secret' } } } }));
    const table = (rows: number): string => place.write('table.csv', `id\n${'1\n'.repeat(rows)}`);
    const manifest = manifestOf(place, table(30), { guard: { rows: '20%' } });
    expect((await place.publish(manifest)).code).toBe(0);
    table(3);
    for (const _ of [1, 2]) expect((await place.publish(manifest)).code).toBe(4);
    expect(hook.events()).toEqual(['run-held']);
    expect(JSON.parse(hook.taken[0]?.body ?? '')).toMatchObject({
      items: [{ key: 'n/a/table', code: 'held', rows: { added: 0, removed: 27, changed: 0 } }],
    });
    expect((await place.run(['discard', 'n/a/table'])).code).toBe(0);
    expect((await place.publish(manifest)).code).toBe(0);
    expect(hook.events()).toEqual(['run-held', 'recovered']);
    table(4);
    expect((await place.publish(manifest)).code).toBe(4);
    expect(hook.events()).toEqual(['run-held', 'recovered', 'run-held']);
  });

  it('tell of a failure once and of its end, by webhook and e-mail, with no secret and no row', async () => {
    const [hook, mail] = [await openHook(), await openMailServer()];
    const place = withSecrets(
      makePlace({
        notify: {
          webhook: { url: hook.url, secret: { file: 'hook-secret' } },
          email: {
            host: '127.0.0.1',
            port: mail.port,
            username: 'u',
            password: { file: 'mail-password' },
            from: 'sluice@example.org',
            to: 'ops@example.org',
          },
        },
      }),
    );
    const table = place.write('table.csv', `id,name\n1,${cell},one too many\n`);
    const manifest = manifestOf(place, table);
    const ended = [await place.publish(manifest), await place.publish(manifest)];
    expect(ended.map(({ code }) => code)).toEqual([3, 3]);
    expect(hook.events()).toEqual(['file-quarantined']);
    place.write('table.csv', 'id,name\n1,one\n');
    expect((await place.publish(manifest)).code).toBe(0);
    expect((await place.publish(manifest)).code).toBe(0);
    expect(hook.events()).toEqual(['file-quarantined', 'recovered']);
    expect(mail.mails.map(({ to, login }) => ({ to, login }))).toEqual([
      { to: ['ops@example.org'], login: `u ${password}` },
      { to: ['ops@example.org'], login: `u ${password}` },
    ]);
    expect(JSON.parse(hook.taken[0]?.body ?? '')).toMatchObject({
      manifest: 'n',
      portal: 'local',
      runId: ended[0]?.report.runId,
      summary: 'n@local: 1 file quarantined',
      items: [{ key: 'n/a/table', code: 'table-ragged', line: 2 }],
    });
    for (const { body, headers } of hook.taken) expect(headers['sluice-signature']).toBe(signatureOf(body, secret));
    const sent = [...hook.taken.map(({ body }) => body), ...mail.mails.map(({ data }) => data)].join('\n');
    const shown = ended.map(({ out, err }) => out + err).join('\n');
    for (const hidden of [secret, password, cell]) expect(sent).not.toContain(hidden);
    for (const hidden of [secret, password, 't0ken']) expect(shown).not.toContain(hidden);
  });

  it('go where the manifest says instead, without the signature of the configuration', async () => {
    const [hook, own] = [await openHook(), await openHook()];
    const place = withSecrets(
      makePlace({
        sources: { allow: ['127.0.0.1'] },
        notify: { webhook: { url: hook.url, secret: { file: 'hook-secret' } } },
      }),
    );
    const manifest = manifestOf(place, 'missing.csv', { notify: { webhook: own.url } });
    expect((await place.publish(manifest)).code).toBe(3);
    expect(own.events()).toEqual(['run-failed']);
    expect(own.taken[0]?.headers).not.toHaveProperty('sluice-signature');
    expect(hook.taken).toEqual([]);
  });
});

describe('notices of a run that the guard holds', () => {
  it('tell of it once, and that it has recovered when the source is whole', async () => {
    const hook = await openHook();
    const place = makePlace({ notify: { webhook: { url: hook.url } } });
    const publish = async (datasets: number): Promise<unknown> => {
      const listed = Array.from({ length: datasets }, (_, index) => ({ id: `d${index}`, title: `D ${index}` }));
      return (await place.publish(place.manifest({ name: 'n', onMissing: 'delete', datasets: listed }))).code;
    };
    expect([await publish(12), await publish(2), await publish(2), await publish(12)]).toEqual([0, 4, 4, 0]);
    expect(hook.events()).toEqual(['run-held', 'recovered']);
    expect(JSON.parse(hook.taken[0]?.body ?? '')).toMatchObject({
      summary: 'n@local: the run is held',
      items: [{ key: '', code: 'held' }],
    });
  });
});

describe('notices of the service', () => {
  it.runIf(isWhole)('that were refused outlive a kill and arrive once', async () => {
    const hook = await openHook();
    hook.status = 500;
    const place = makePlace({ notify: { webhook: { url: hook.url } } });
    const manifest = manifestOf(place, 'missing.csv');
    const service = await place.spawnService();
    expect((await place.publish(manifest)).code).toBe(3);
    await waitUntil('a refused delivery', () => hook.taken.length > 0);
    const redis = place.redis();
    await waitUntil('the run to close', () => isIdle(place, redis, 'n'));
    redis.disconnect();
    await service.end('SIGKILL');
    hook.status = 204;
    const next = await place.serve();
    await waitUntil('the notice', () => hook.events().length > 0);
    expect((await place.publish(manifest)).code).toBe(3);
    expect(await next.end('SIGTERM')).toBe(0);
    expect(hook.events()).toEqual(['run-failed']);
    const ids = new Set(hook.taken.map(({ headers }) => headers['sluice-notice']));
    expect(ids.size).toBe(1);
  });
});
