// Leaves garbage behind, is idle, and exits with 2 unless its memory is given back.
import { setTimeout as sleep } from 'node:timers/promises';
import { freeWhenIdle } from '../../src/util/idle-memory.ts';

let kept: object[] | null = Array.from({ length: 500_000 }, (_, at) => ({ at }));
const before = process.memoryUsage().heapTotal;
if (kept.length > 0) kept = null;
freeWhenIdle(50);
const total = (): number => process.memoryUsage().heapTotal;
for (let wait = 0; wait < 200 && total() > before * 0.7; wait++) await sleep(50);
process.exitCode = total() > before * 0.7 ? 2 : 0;
