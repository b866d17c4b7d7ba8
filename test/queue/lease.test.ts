// A worker that stood still while another took its job over writes nothing more: neither to a portal nor to the ledger.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { redisKeys } from '../../src/model/redis-keys.ts';
import { ledgerIn } from '../../src/state/ledger.ts';
import { cases } from '../support/extent.ts';
import { waitUntil } from '../support/wait-until.ts';
import { openToy, type Toy } from './support/toy.ts';

let toy: Toy;
beforeAll(async () => {
  toy = await openToy();
});
afterAll(() => toy.close());

it.each(cases(['before-the-note', 'before-the-request', 'before-the-end'], ['before-the-request']))(
  'a worker that is stopped %s, until another has done its job, is refused',
  async (where) => {
    const key = `m/stopped-${where}`;
    const former = await toy.start();
    await toy.addRun(`run-${where}`, [`stopped-${where}`]);
    await waitUntil('the first worker to stand still', async () => (await toy.redis.get(`toy.stops:${key}`)) === '1');
    const present = await toy.start();
    await waitUntil('the other to do the job', () => toy.outcomes(`run-${where}`));
    const ledger = ledgerIn(toy.redis, redisKeys('toy'));
    const done = await ledger.entry('p', key);
    expect(done).toMatchObject({ title: String(present.pid), pending: null });

    former.kill('SIGCONT');
    await waitUntil('the first to notice', async () => (await toy.redis.lrange(`toy.lost:${key}`, 0, -1))[0]);
    expect(await toy.redis.lrange(`toy.lost:${key}`, 0, -1)).toEqual([String(former.pid)]);
    expect(await ledger.entry('p', key)).toEqual(done);
    // What was on its way when it was stopped cannot be called back; nothing else is sent.
    const sent = where === 'before-the-end' ? [former.pid, present.pid] : [present.pid];
    expect(await toy.redis.lrange(`toy.sent:${key}`, 0, -1)).toEqual(sent.map(String));
    expect((await toy.outcomes(`run-${where}`))?.[key]).toMatchObject({ state: 'completed' });
    for (const worker of [former, present]) worker.kill('SIGKILL');
    await waitUntil('both to end', () => former.signalCode !== null && present.signalCode !== null);
  },
);

it('a starved worker begins no further step of a job whose lock it has lost', async () => {
  const worker = await toy.start();
  await toy.addRun('run-starved', ['starved']);
  const outcomes = await waitUntil('the job to end', () => toy.outcomes('run-starved'));
  expect(outcomes['m/starved']).toMatchObject({ state: 'completed' });
  expect(await toy.redis.lrange('toy.steps', 0, -1)).toEqual(['second']);
  worker.kill('SIGKILL');
  await waitUntil('it to end', () => worker.signalCode !== null);
}, 30_000);

it('a worker that takes a job again whose lock it had lost fails neither of them', async () => {
  const worker = await toy.start();
  await toy.addRun('run-twice', ['taken-twice']);
  const outcomes = await waitUntil('the job to end', () => toy.outcomes('run-twice'));
  expect(outcomes['m/taken-twice']).toMatchObject({ state: 'completed' });
  expect(await toy.redis.hgetall('toy.written')).toEqual({ 'm/taken-twice': 'second' });
  expect(await toy.redis.hget('toy.failed', 'm/taken-twice')).toBeNull();
  worker.kill('SIGKILL');
  await waitUntil('it to end', () => worker.signalCode !== null);
}, 30_000);
