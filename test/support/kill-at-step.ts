// Preload (`node --import`) that kills its own process with SIGKILL at chosen steps of chosen jobs, each once.
// KILL_DIR = a folder with one file for each kill: `<dataset id>` holding `<kind>/<step>/begin` or `…/end`. The file
// goes at the kill; kinds without a key (`run`) are looked for in every file.
import { readdirSync, readFileSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Job } from 'bullmq';

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
const { updateData, log } = Job.prototype;
Job.prototype.updateData = async function (this: Job, data: { step?: string | null }) {
  const isNew = this.data?.step !== data.step;
  await updateData.call(this, data);
  if (isNew && data.step) killAt(this, data.step, 'begin');
};
Job.prototype.log = async function (this: Job, line: string) {
  const count = await log.call(this, line);
  killAt(this, line.split(' ')[1] ?? '', 'end');
  return count;
};
