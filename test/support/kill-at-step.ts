// Preload (`node --import`) that kills its own process with SIGKILL at chosen steps of chosen jobs, each once.
// KILL_DIR = a folder with one file for each kill: `<dataset id>` holding `<kind>/<step>/begin` or `…/end`. The file
// goes at the kill; kinds without a key (`run`) are looked for in every file.
import { readdirSync, readFileSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Job } from 'bullmq';
import { Bookkeeping } from '../../src/queue/bookkeeping.ts';

const folder = process.env.KILL_DIR ?? '';

const killAt = (job: Job, step: string, moment: 'begin' | 'end'): void => {
  const id = typeof job.data.key === 'string' ? job.data.key.split('/')[1] : null;
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (id !== null && name !== id) continue;
    if (readFileSync(path, 'utf8') !== `${job.name}/${step}/${moment}`) continue;
    unlinkSync(path);
    process.kill(process.pid, 'SIGKILL');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); // the signal ends the process before this returns
  }
};

// The step's name is in the job's data before its work begins, and its log line comes when that has ended.
const { save, line } = Bookkeeping.prototype;
const steps = new WeakMap<Bookkeeping, string>();
Bookkeeping.prototype.save = function (this: Bookkeeping, data: { step?: string | null }): void {
  const isNew = steps.get(this) !== data.step;
  save.call(this, data);
  if (!isNew || !data.step) return;
  const { step } = data;
  steps.set(this, step);
  void this.settled().then(() => killAt(this.job, step, 'begin'));
};
Bookkeeping.prototype.line = function (this: Bookkeeping, text: string): void {
  line.call(this, text);
  void this.settled().then(() => killAt(this.job, text.split(' ')[0] ?? '', 'end'));
};
