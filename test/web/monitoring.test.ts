// Metrics: what they say, that Prometheus' own checker takes them, and that rules and dashboard name what exists.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gauges, metricsOf } from '../../src/service/metrics.ts';
import { overviewOf } from '../../src/service/overview.ts';
import { root } from '../support/pages.ts';
import { waitUntil } from '../support/wait-until.ts';
import { openWebPlace, type WebPlace } from './support/web-place.ts';

const hasPromtool = spawnSync('promtool', ['--version']).status === 0;
const whyNot = hasPromtool ? '' : ' (left out: there is no promtool, install the package prometheus)';

let web: WebPlace;
let text = '';

beforeAll(async () => {
  web = await openWebPlace({ manifests: ['*.yaml'], web: { token: { file: 'token' } } }, { token: 'secret' });
  await web.get('/metrics');
  await web.runtime.startWorkers();
  await run({ good: 'id\n1\n2\n', bad: 'id\n1,2\n' }, null);
  text = await waitUntil('the items to be counted', async () => {
    const { body } = await web.get('/metrics');
    return body.includes('sluice_items{') ? body : null;
  });
});
afterAll(() => web.close());

const run = async (tables: Record<string, string>, only: string[] | null): Promise<void> => {
  const path = web.place.manifest('city', tables);
  const target = { manifest: 'city', portal: 'local' };
  const { runId } = await web.runtime.requestRun({ manifestPath: path, manifest: 'city', portal: 'local' }, 'command', {
    only,
  });
  await waitUntil('the report', () => web.runtime.runs.isClosed(runId));
  await waitUntil('the end', async () => (await web.runtime.gate.state(target)).current === null);
};

/** Values by metric with its labels. */
const values = (): Map<string, number> =>
  new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );

/** Every metric by name, with its labels. */
const metricLabels: Record<string, readonly string[]> = {
  ...Object.fromEntries(Object.entries(gauges).map(([name, [, ...labels]]) => [name, labels])),
  sluice_request_duration_seconds: ['portal', 'kind'],
};

describe('/metrics', () => {
  it('counts items by state, without a label for each key', () => {
    const known = values();
    expect(known.get('sluice_items{manifest="city",portal="local",state="live"}')).toBe(2);
    expect(known.get('sluice_items{manifest="city",portal="local",state="quarantined"}')).toBe(1);
    expect(text).not.toContain('city/');
    expect(text).not.toContain('good');
  });

  it('says when runs ended, how long they took, and nothing of a success that never was', () => {
    const known = values();
    const labels = '{manifest="city",portal="local"}';
    expect(known.get(`sluice_run_last_end_timestamp_seconds${labels}`)).toBeGreaterThan(1_700_000_000);
    expect(known.get(`sluice_run_duration_seconds${labels}`)).toBeGreaterThan(0);
    expect(known.has(`sluice_run_last_success_timestamp_seconds${labels}`)).toBe(false);
  });

  it('measures requests by what they do, and shows queues, workers and pauses', () => {
    const known = values();
    for (const kind of ['login', 'read', 'write', 'upload']) {
      expect(known.get(`sluice_request_duration_seconds_count{portal="local",kind="${kind}"}`)).toBeGreaterThan(0);
    }
    expect(known.get('sluice_portal_paused{portal="local"}')).toBe(0);
    expect(known.get('sluice_workers')).toBe(1);
    expect(known.get('sluice_queue_jobs{queue="runs",state="wait"}')).toBe(0);
    expect(known.get('sluice_queue_oldest_job_age_seconds{queue="runs"}')).toBe(0);
    expect(known.get('sluice_overdue')).toBe(0);
  });

  it('has the labels that are declared, and no other metric', () => {
    const shown = [...values().keys()].map((key) => {
      const [, name = '', labels = ''] = /^(\w+)(?:\{(.*)\})?$/.exec(key) ?? [];
      return { name: name.replace(/_(?:bucket|sum|count)$/, ''), labels: labels.match(/\w+(?==")/g) ?? [] };
    });
    for (const { name, labels } of shown) {
      expect(metricLabels[name], name).toBeDefined();
      expect(labels.filter((label) => label !== 'le').sort()).toEqual([...(metricLabels[name] ?? [])].sort());
    }
  });

  it.skipIf(!hasPromtool)(`is accepted by promtool${whyNot}`, () => {
    expect(execFileSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })).toBe('');
  });
});

describe('the last success', () => {
  it('is of a whole run, not of one of single items', async () => {
    const name = 'sluice_run_last_success_timestamp_seconds{';
    const sound = { good: 'id\n1\n2\n', bad: 'id\n1\n' };
    const shown = (): Promise<string> => metricsOf(web.runtime, overviewOf(web.runtime)).text();
    await run(sound, ['city/one/bad']);
    expect(await shown()).not.toContain(name);
    await run(sound, null);
    expect(await shown()).toContain(name);
  });
});

describe('rules and dashboard', () => {
  const rulesPath = join(root, 'config/prometheus-rules.yaml');
  const dashboard = JSON.parse(readFileSync(join(root, 'config/grafana-dashboard.json'), 'utf8'));
  const rules = load(readFileSync(rulesPath, 'utf8')) as { groups: { rules: { alert: string; expr: string }[] }[] };
  const exprs = [
    ...rules.groups.flatMap((group) => group.rules.map(({ alert, expr }) => [`alert ${alert}`, expr])),
    ...dashboard.panels.flatMap(({ title, targets }: { title: string; targets: { expr: string }[] }) =>
      targets.map(({ expr }) => [`panel ${title}`, expr]),
    ),
  ] as [string, string][];

  it.each(exprs)('name metrics and labels that exist: %s', (_where, expr) => {
    const named = [...expr.matchAll(/\b(sluice_\w+)(?:\{([^}]*)\})?/g)];
    expect(named.length).toBeGreaterThan(0);
    for (const [, name = '', labels = ''] of named) {
      const known = metricLabels[name.replace(/_(?:bucket|sum|count)$/, '')];
      expect(known, name).toBeDefined();
      for (const [, label = ''] of labels.matchAll(/(\w+)(?==~?")/g)) expect(known).toContain(label);
    }
    const [, by = ''] = /\bby \(([^)]*)\)/.exec(expr) ?? [];
    const possible = named.flatMap(([, name = '']) => metricLabels[name.replace(/_(?:bucket|sum|count)$/, '')] ?? []);
    for (const label of by.split(', ').filter((each) => each !== '' && each !== 'le'))
      expect(possible).toContain(label);
  });

  it.skipIf(!hasPromtool)(`are accepted by promtool${whyNot}`, () => {
    expect(execFileSync('promtool', ['check', 'rules', rulesPath], { encoding: 'utf8' })).toContain('SUCCESS');
  });
});

describe('where the pages have a password', () => {
  it('needs the token; the password opens nothing here', async () => {
    const locked = await openWebPlace(
      { web: { port: 0, password: { file: 'password' }, token: { file: 'token' } } },
      { password: 'a-long-password', token: 'a-token' },
    );
    const codes = await Promise.all(
      [
        '',
        'Bearer wrong',
        'Bearer a-token',
        `Basic ${Buffer.from('sluice:wrong').toString('base64')}`,
        `Basic ${Buffer.from(`${locked.runtime.config.web.username}:a-long-password`).toString('base64')}`,
      ].map(async (authorization) => (await locked.get('/metrics', { authorization })).statusCode),
    );
    await locked.close();
    expect(codes).toEqual([401, 401, 200, 401, 401]);
  });
});

describe('/readyz', () => {
  it('is ready when Redis and portals answer, and says what is not', async () => {
    const ready = await web.get('/readyz');
    expect([ready.statusCode, ready.json()]).toEqual([
      200,
      { status: 'ready', checks: { redis: 'ok', 'portal local': 'ok' } },
    ]);
    await web.runtime.pauses.pause('local', { code: 'portal-login', message: 'refused', hint: null });
    const view = { manifest: 'm', folder: '/nowhere/in', settling: [], left: [], spooled: 0, at: Date.now() };
    await web.runtime.redis.hset(web.runtime.keys.inboxes, 'm', JSON.stringify(view));
    const not = await web.get('/readyz');
    expect([not.statusCode, not.json().checks]).toEqual([
      503,
      {
        redis: 'ok',
        'portal local': 'paused: portal-login',
        'inbox /nowhere/in': 'its folder cannot be read and written',
      },
    ]);
  });
});

it('/readyz names portals and paths only to who may see the pages', async () => {
  const config = { web: { port: 0, password: { file: 'password' }, token: { file: 'token' } } };
  const closed = await openWebPlace(config, { password: 'secret', token: 'secret' });
  try {
    expect((await closed.get('/readyz')).json()).toEqual({ status: 'not ready' });
    const seen = await closed.get('/readyz', { authorization: 'Bearer secret' });
    expect(seen.json().checks).toMatchObject({ 'portal local': 'it is not open yet' });
  } finally {
    await closed.close();
  }
});

describe('while Redis is silent', () => {
  it('both answer all the same: not ready, and no metrics; pages, and programs that request a run, are told', async () => {
    await web.runtime.redis.call('CLIENT', 'PAUSE', '15000', 'ALL');
    const headers = { authorization: 'Bearer secret' };
    const asked = { method: 'POST', url: '/runs', headers, payload: { manifest: 'city' } } as const;
    const [ready, page, run] = await Promise.all([web.get('/readyz'), web.get('/'), web.send(asked)]);
    const metrics = await web.get('/metrics'); // by now what was collected before is too old
    expect([ready.statusCode, ready.json().checks]).toEqual([
      503,
      { redis: 'no answer within 3 s', 'portal local': 'no answer within 3 s' },
    ]);
    expect([metrics.statusCode, metrics.body]).toEqual([503, 'Redis does not answer.\n']);
    expect([page.statusCode, run.statusCode, run.json().error.code]).toEqual([503, 503, 'redis-unreachable']);
    expect(page.body).toContain('Redis cannot be used: no answer within 5 s');
  });
});
