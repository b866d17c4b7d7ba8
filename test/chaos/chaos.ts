// Publishes a city through a faulty portal while processes are killed, then proves what the portal holds.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Report } from '../../src/model/report.ts';
import { isAlive } from '../support/is-alive.ts';
import { reportIn as printedReport } from '../support/printed.ts';
import { type Random, randomOf } from '../support/random.ts';
import type { Sluice } from '../support/sluice-process.ts';
import { City } from './support/city.ts';
import { chaosFaults } from './support/fault-plan.ts';
import { type LogFigures, readJobLogs } from './support/job-logs.ts';
import { type Verdict, verifyPortal } from './support/verify.ts';
import { type JobSettings, World } from './support/world.ts';

/** What chaos to make. */
export interface ChaosOptions {
  seed: number;
  datasets: number;
  /** Kills at least. */
  kills: number;
  /** Goes on with kills for at least this long, milliseconds. */
  forMs: number;
  jobs: JobSettings | null;
  /** Kills afterwards without faults and with the product's own settings, to measure how soon work continues. */
  recoveries: number;
  say: (line: string) => void;
}

const victims = { service: 40, worker: 40, redis: 10, publisher: 5, portal: 5 } as const;
type Victim = keyof typeof victims;

/** What came out. */
export interface ChaosFigures {
  seed: number;
  kills: Record<Victim, number>;
  /** Publishes that ended under fire, and how their items did. */
  published: number;
  failedItems: Record<string, number>;
  faults: Record<string, number>;
  requests: number;
  /** Milliseconds from a kill to the next request at the portal, sorted; further kills may come in between. */
  recoveryMs: number[];
  recoveries: Recovery[];
  logs: LogFigures;
  verdict: Verdict;
  /** Exit codes of the last two publishes, with faults off. */
  settled: number | string;
  again: number | string;
  /** Writes that the second of them sent. */
  writesAgain: string[];
  /** How the service and the worker ended when they were asked to. */
  stopped: (number | string)[];
}

/** Runs chaos to its end; throws only when something does not come to an end. */
export const runChaos = async (options: ChaosOptions): Promise<ChaosFigures> => {
  const world = await World.open();
  world.configure(options.jobs);
  try {
    return await new Chaos(world, options).run();
  } finally {
    await world.close();
  }
};

/** One kill in calm work, with what the killed process was. */
export interface Recovery {
  victim: 'service' | 'worker' | 'both' | 'redis';
  /** Milliseconds to the next request at the portal. */
  requestMs: number;
  /** Milliseconds to the first killed job that continues; null when none had been running. */
  resumedMs: number | null;
}

class Chaos {
  readonly #world: World;
  readonly #options: ChaosOptions;
  readonly #random: Random;
  readonly #city: City;
  readonly #kills: Record<Victim, number> = { service: 0, worker: 0, redis: 0, publisher: 0, portal: 0 };
  readonly #recoveryMs: number[] = [];
  readonly #failed: Record<string, number> = {};
  readonly #living: { service: Sluice | null; worker: Sluice | null; publisher: Sluice | null } = {
    service: null,
    worker: null,
    publisher: null,
  };
  #published = 0;
  #isOver = false;

  constructor(world: World, options: ChaosOptions) {
    this.#world = world;
    this.#options = options;
    this.#random = randomOf(options.seed);
    this.#city = new City(world.dir, options.datasets, randomOf(options.seed + 1));
  }

  async run(): Promise<ChaosFigures> {
    const world = this.#world;
    this.#living.service = world.start('start');
    this.#living.worker = world.start('worker');
    await this.#living.service.said('"sluice is running"');
    world.switchboard.setPlan(chaosFaults(this.#options.seed));
    const publishing = this.#publishOn();
    await Promise.race([this.#killOn(), publishing]); // a publisher that cannot go on ends it all
    this.#isOver = true;
    const faults = world.switchboard.counts();
    world.switchboard.setPlan(null);
    this.#options.say('faults are off; the last publish under fire comes to its end');
    await inTime('the last publish under fire', publishing);
    const settled = await this.#publish();
    const before = world.writes.length;
    const again = await this.#publish();
    const writesAgain = world.writes.slice(before);
    const recoveries = await this.#recover();
    const logs = readJobLogs(await world.jobLogs());
    const verdict = await verifyPortal(await world.reader(), this.#city.expected());
    const stopped = [await this.#stop('service'), await this.#stop('worker')];
    return {
      seed: this.#options.seed,
      kills: this.#kills,
      published: this.#published,
      failedItems: this.#failed,
      faults,
      requests: world.requests,
      recoveryMs: this.#recoveryMs.sort((a, b) => a - b),
      recoveries,
      logs,
      verdict,
      settled,
      again,
      writesAgain,
      stopped,
    };
  }

  /** Publishes one version of the city after another; a killed publisher is started again. */
  async #publishOn(): Promise<void> {
    while (!this.#isOver) {
      const code = await this.#publish();
      if (code !== 'SIGKILL') this.#published += 1;
      if (!this.#isOver) this.#city.change();
    }
  }

  async #publish(): Promise<number | string> {
    const publisher = this.#world.start('publish', this.#city.manifest, '--json', '--wait', '5m');
    this.#living.publisher = publisher;
    const code = await inTime('a publish', publisher.ended);
    if (code === 'SIGKILL') return code;
    const report = reportIn(publisher.out());
    if (report === null) throw new Error(`publish ended with ${code}:\n${publisher.out()}\n${publisher.err()}`);
    for (const { key, reason } of report.items) {
      if (!reason) continue;
      this.#failed[reason.code] = (this.#failed[reason.code] ?? 0) + 1;
      if (reason.code === 'bug') this.#options.say(`a bug at ${key}: ${reason.message}`);
    }
    this.#options.say(`published: exit ${code}, ${JSON.stringify(report.counts)}`);
    return code;
  }

  async #killOn(): Promise<void> {
    const { kills, forMs, say } = this.#options;
    const end = Date.now() + forMs;
    for (let count = 0; count < kills || Date.now() < end; count++) {
      await this.#moment();
      const victim = this.#random.weighted(victims);
      const pauseMs = this.#random.int(0, 300);
      const killedAt = Date.now();
      await this.#kill(victim, pauseMs);
      this.#kills[victim] += 1;
      this.#recoverySince(killedAt);
      if ((count + 1) % 25 === 0) say(`${count + 1} kills, ${this.#world.requests} requests`);
    }
  }

  /** A moment counted in requests, so that it falls into work; by time where no work is continuing. */
  async #moment(): Promise<void> {
    const world = this.#world;
    const at = world.requests + this.#random.int(1, 40);
    const longest = this.#random.int(300, 3000);
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, longest);
    world.onRequest = () => {
      if (world.requests >= at) resolve();
    };
    await promise;
    clearTimeout(timer);
    world.onRequest = () => undefined;
  }

  async #kill(victim: Victim, pauseMs: number): Promise<void> {
    const world = this.#world;
    if (victim === 'redis') {
      const pid = world.redisPid();
      if (pid !== null && isAlive(pid)) process.kill(pid, 'SIGKILL'); // its supervisor starts it again
      return;
    }
    if (victim === 'publisher') {
      await this.#living.publisher?.end('SIGKILL');
      return;
    }
    if (victim === 'portal') {
      await world.portal.end('SIGKILL');
      await sleep(pauseMs);
      await world.restartPortal();
      return;
    }
    const process_ = this.#living[victim];
    const how = await process_?.end('SIGKILL');
    if (how !== 'SIGKILL')
      throw new Error(`the ${victim} had ended with ${how}:\n${process_?.out()}\n${process_?.err()}`);
    await sleep(pauseMs);
    this.#living[victim] = world.start(victim === 'service' ? 'start' : 'worker');
  }

  async #recover(): Promise<Recovery[]> {
    const world = this.#world;
    const order = ['service', 'redis', 'worker', 'both'] as const;
    const found: Recovery[] = [];
    if (this.#options.recoveries > 0) {
      await Promise.all([this.#stop('service'), this.#stop('worker')]);
      world.configure(null);
      this.#living.service = world.start('start');
      this.#living.worker = world.start('worker');
      await Promise.all([
        this.#living.service.said('"sluice is running"'),
        this.#living.worker.said('"worker is running"'),
      ]);
    }
    for (let at = 0; at < this.#options.recoveries; at++) {
      this.#city.change();
      const publishing = this.#publish();
      const from = world.requests + 30;
      await Promise.race([publishing, until(() => world.requests >= from)]);
      found.push(await this.#recoverFrom(order[at % order.length] ?? 'service', publishing));
    }
    return found;
  }

  async #recoverFrom(victim: Recovery['victim'], publishing: Promise<unknown>): Promise<Recovery> {
    const world = this.#world;
    const killedAt = Date.now();
    if (victim === 'both') await Promise.all([this.#kill('service', 0), this.#kill('worker', 0)]);
    else await this.#kill(victim, 0);
    const resumed = (): number =>
      [this.#living.service, this.#living.worker].reduce(
        (sum, each) => sum + (each?.out().split('resumed after a kill').length ?? 1) - 1,
        0,
      );
    const [requests, resumptions] = [world.requests, resumed()];
    let isOver = false;
    const ended = publishing.then(() => {
      isOver = true;
    });
    await until(() => isOver || world.requests > requests);
    const requestMs = Date.now() - killedAt;
    await until(() => isOver || resumed() > resumptions);
    const resumedMs = resumed() > resumptions ? Date.now() - killedAt : null;
    await ended;
    return { victim, requestMs, resumedMs };
  }

  #recoverySince(killedAt: number): void {
    const world = this.#world;
    const from = world.requests;
    const look = setInterval(() => {
      if (world.requests === from && !this.#isOver) return;
      if (world.requests > from) this.#recoveryMs.push(Date.now() - killedAt);
      clearInterval(look);
    }, 20);
  }

  async #stop(name: 'service' | 'worker'): Promise<number | string> {
    const how = await this.#living[name]?.end('SIGTERM');
    return how ?? 'never started';
  }
}

const reportIn = (text: string): Report | null => {
  try {
    return printedReport(text);
  } catch {
    return null;
  }
};

const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await sleep(10);
};

const longestMs = 240_000;

const inTime = async <T>(what: string, promise: Promise<T>): Promise<T> => {
  const late = new AbortController();
  const timeout = AbortSignal.any([AbortSignal.timeout(longestMs), late.signal]);
  const never = once(timeout, 'abort').then((): T => {
    throw new Error(`${what} did not end within ${longestMs / 1000} s`);
  });
  never.catch(() => undefined);
  return Promise.race([promise, never]);
};
