// Preload (`node --import`) that kills its own process with SIGKILL at chosen steps of chosen items, each once.
// KILL_DIR = a folder with one file for each kill: `<dataset id>` holding `<kind>/<step>/begin` or `…/end`. The file
// goes at the kill; steps of runs, which have no dataset, are searched for in every file.
import { readdirSync, readFileSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Trace } from '../../src/model/job.ts';
import { kindOfKey } from '../../src/model/key.ts';
import { JobJournal } from '../../src/queue/journal.ts';

const folder = process.env.KILL_DIR ?? '';

/** `key` is '' for a step of a run. */
const killAt = (key: string, step: string, moment: 'begin' | 'end'): void => {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (key !== '' && name !== key.split('/')[1]) continue;
    if (readFileSync(path, 'utf8') !== `${key === '' ? 'run' : kindOfKey(key)}/${step}/${moment}`) continue;
    unlinkSync(path);
    process.kill(process.pid, 'SIGKILL');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); // the signal ends the process before this returns
  }
};

// The step's name is in the job's data before its work begins, and its log line comes when that has ended.
const { save, line } = JobJournal.prototype;
const begun = new WeakMap<JobJournal, Trace['steps']>();
JobJournal.prototype.save = function (this: JobJournal, data: { trace?: Trace }): void {
  save.call(this, data);
  const [before, now] = [begun.get(this) ?? {}, data.trace?.steps ?? {}];
  begun.set(this, now);
  for (const [key, step] of Object.entries(now)) {
    if (before[key] !== step) void this.flush().then(() => killAt(key, step, 'begin'));
  }
};
JobJournal.prototype.line = function (this: JobJournal, text: string, log?: string): void {
  line.call(this, text, log);
  const [step = ''] = text.split(' ');
  const key = Object.entries(begun.get(this) ?? {}).find(([, under]) => under === step)?.[0] ?? '';
  void this.flush().then(() => killAt(key, step, 'end'));
};
