// Makes a fault at each point of a recorded run, lets it be ended, and compares what it left with a run that met none.
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { exitCodes } from '../../src/commands/io.ts';
import { randomOf } from '../support/random.ts';
import type { Sluice } from '../support/sluice-process.ts';
import type { CrashMode } from './support/crash-mode.ts';
import { CrashSite, type Strike } from './support/crash-site.ts';
import { differencesOf, type EndState, endStateOf, isOpen, knownRuns, standOf } from './support/end-state.ts';

/** A point and what happens there. */
export interface Trial {
  at: number;
  mode: CrashMode;
}

/** What became of a trial. */
export interface Outcome extends Trial {
  /** `<number> <kind> <what>`; null when the run ended before that point. */
  point: string | null;
  /** Milliseconds from the restart (or from the fault, where nothing is started again) until every run has closed. */
  recoveryMs: number;
  hangs: boolean;
  /** What is otherwise than without a fault; of a run that hangs, where it stands. */
  differences: string[];
}

/** A run that has to close in this time counts as hanging, milliseconds. */
const hangMs = 180_000;

/** How trials are chosen and made. */
export interface CrashOptions {
  seed: number;
  /** How many trials are drawn from all. */
  sample: number;
  modes: readonly CrashMode[];
  /** Only points whose line it matches. */
  match?: RegExp;
  /** Sites that are tried at concurrently. */
  lanes: number;
  /** No further trial is started after so long, milliseconds. */
  forMs: number;
  onOutcome?: (outcome: Outcome) => void;
}

/** What trials came to. */
export interface CrashFigures {
  /** Points of a run by a publish alone, and by one of two workers. */
  points: { publish: number; worker: number };
  outcomes: Outcome[];
}

/** Makes a fault at each point of a run, or at a sample of them. */
export const tryCrashPoints = async (options: CrashOptions): Promise<CrashFigures> => {
  const { sample, modes, lanes, forMs, onOutcome = () => undefined } = options;
  const sites = await Promise.all(Array.from({ length: lanes }, () => CrashPoints.open()));
  try {
    const [first] = sites;
    if (!first) throw new Error('no site to try at');
    const alone = await first.record('publish');
    const among = modes.some(isAmongWorkers) ? await first.record('worker') : [];
    const left = drawn(options, alone, among).slice(0, sample);
    const outcomes: Outcome[] = [];
    const end = performance.now() + forMs;
    const work = async (site: CrashPoints): Promise<void> => {
      for (let trial = left.shift(); trial && performance.now() < end; trial = left.shift()) {
        const outcome = await site.try(trial);
        outcomes.push(outcome);
        onOutcome(outcome);
      }
    };
    await Promise.all(sites.map(work));
    return { points: { publish: alone.length, worker: among.length }, outcomes };
  } finally {
    await Promise.all(sites.map((site) => site.close()));
  }
};

const isAmongWorkers = (mode: CrashMode): boolean => mode.startsWith('worker');

/** Every trial that there is, in the order of the seed, and the modes by turns. */
const drawn = ({ seed, modes, match = /^/ }: CrashOptions, alone: string[], among: string[]): Trial[] => {
  const random = randomOf(seed);
  const turns = new Map<CrashMode, number>();
  const nextTurn = (mode: CrashMode): number => {
    const turn = turns.get(mode) ?? 0;
    turns.set(mode, turn + 1);
    return turn;
  };
  return modes
    .flatMap((mode) =>
      (isAmongWorkers(mode) ? among : alone).flatMap((point, index) =>
        match.test(point) ? { at: index + 1, mode } : [],
      ),
    )
    .map((trial) => ({ trial, draw: random.next() }))
    .sort((a, b) => a.draw - b.draw)
    .map(({ trial }) => ({ trial, turn: nextTurn(trial.mode) }))
    .sort((a, b) => a.turn - b.turn)
    .map(({ trial }) => trial);
};

/** The longest that a run should take to close after the restart, milliseconds. */
export const recoveryLimitMs = 10_000;

/** Runs trials at one site, one after another. */
class CrashPoints {
  readonly #site: CrashSite;
  #expected: EndState = {};

  private constructor(site: CrashSite) {
    this.#site = site;
  }

  /** Makes the site and the run without a fault. */
  static async open(): Promise<CrashPoints> {
    const crash = new CrashPoints(await CrashSite.open());
    crash.#expected = (await crash.#run(null)).state;
    return crash;
  }

  /** Numbers the points of a run without a fault; throws when it left something else than the first one. */
  async record(kind: 'publish' | 'worker'): Promise<string[]> {
    const { state, points } = await this.#run({ at: 0, mode: '' }, kind === 'worker');
    const differences = differencesOf(this.#expected, state);
    if (differences.length > 0) throw new Error(`two runs without a fault differ:\n${differences.join('\n')}`);
    return points;
  }

  /** Makes one fault. */
  async try(trial: Trial): Promise<Outcome> {
    try {
      const { state, points, recoveryMs, hangs, stand } = await this.#run(trial, isAmongWorkers(trial.mode));
      const of = isCancelling(trial.mode) ? withoutReports : same;
      const differences = hangs ? stand : differencesOf(of(this.#expected), of(state));
      return { ...trial, point: points[0] ?? null, recoveryMs, hangs, differences };
    } catch (error) {
      const [point = null] = this.#site.points();
      return { ...trial, point, recoveryMs: 0, hangs: false, differences: [String(error)] };
    }
  }

  /** Ends everything. */
  async close(): Promise<void> {
    await this.#site.close();
  }

  async #run(strike: Strike | null, withWorkers = false) {
    const site = this.#site;
    await site.restore();
    const before = new Set(await knownRuns(site));
    const others: Sluice[] = [];
    try {
      const [recoveryMs, hangs] = withWorkers
        ? await this.#amongWorkers(strike, others)
        : await this.#alone(strike, others);
      const state = hangs ? {} : await endStateOf(site, before);
      const stand = hangs
        ? [...(await standOf(site)), ...others.map((each) => `said: ${each.out()}${each.err()}`)]
        : [];
      return { state, points: strike ? site.points() : [], recoveryMs, hangs, stand };
    } finally {
      await Promise.all(others.map((each) => each.hasEnded() || each.end('SIGKILL')));
      await site.stop();
    }
  }

  /** A publish; one that is killed or paused, or whose Redis is gone before it begins, is requested again. */
  async #alone(strike: Strike | null, others: Sluice[]): Promise<[number, boolean]> {
    let publish = this.#site.publish(strike ?? undefined);
    others.push(publish);
    let restarted: number | null = null;
    if (await hangsUntil(publish.ended)) return [hangMs, true];
    const isPaused = strike?.mode === 'pause' && (await publish.ended) === exitCodes.someFailed;
    if (strike?.mode === 'pause') await this.#site.resume();
    const isAskedAgain = isPaused || isCancelling(strike?.mode ?? '');
    if (isAskedAgain || (await publish.ended) === 'SIGKILL' || foundNoRedis(publish)) {
      restarted = Date.now();
      publish = this.#site.publish();
      others.push(publish);
      if (await hangsUntil(publish.ended)) return [hangMs, true];
    }
    refuseFault(publish, await publish.ended);
    const isOpen = await this.#staysOpen();
    return [Date.now() - (restarted ?? this.#site.struckAt() ?? Date.now()), isOpen];
  }

  /** A publish for two workers, one of which may be killed. */
  async #amongWorkers(strike: Strike | null, others: Sluice[]): Promise<[number, boolean]> {
    const [one, other] = await Promise.all([this.#site.worker(strike ?? undefined), this.#site.worker()]);
    others.push(one, other);
    const publish = this.#site.publish();
    others.push(publish);
    if (await hangsUntil(publish.ended)) return [hangMs, true];
    refuseFault(publish, await publish.ended);
    const isOpen = await this.#staysOpen();
    return [Date.now() - (this.#site.struckAt() ?? Date.now()), isOpen];
  }

  async #staysOpen(): Promise<boolean> {
    const end = performance.now() + hangMs;
    while (await isOpen(this.#site)) {
      if (performance.now() > end) return true;
      await sleep(20);
    }
    return false;
  }
}

const isCancelling = (mode: CrashMode | ''): boolean => mode.startsWith('cancel');

/**
 * What a cancelled run and the next one did together is the same, but neither did all of it. A resource whose dataset was
 * there before it was checked has the address below that dataset. What was made of a table for a job that never comes
 * again is swept after a day. A dropped file that was published before the cancel is none of the next run, which saves
 * their dataset once more.
 */
const withoutReports = (state: EndState): EndState =>
  Object.fromEntries(
    Object.entries(state)
      .filter(([name]) => !/^(?:report|done twice) |^(?:dataset Traffic|ledger inbox\/traffic)$/.test(name))
      .map(([name, text]) => [
        name,
        text
          .replace(/\/dataset\/[^/"]+\/resource\//, '/dataset/resource/')
          .replace(/,"prepared\/[^"]*"|\{"revisions":\d+,"uuid":"02ef3667-35b9-5443-a874-78a8cce67d1f"\},/g, ''),
      ]),
  );

const same = (state: EndState): EndState => state;

const foundNoRedis = (publish: Sluice): boolean => /Redis at \S+ cannot be used/.test(publish.err());

/** One item of the run is held on purpose, so this is how it ends, also where nothing was left to do. */
const refuseFault = (publish: Sluice, code: number | NodeJS.Signals): void => {
  if (code !== exitCodes.held) throw new Error(`publish ended with ${code}:\n${publish.out()}\n${publish.err()}`);
};

const hangsUntil = async (ended: Promise<unknown>): Promise<boolean> => {
  const done = new AbortController();
  const late = once(AbortSignal.any([AbortSignal.timeout(hangMs), done.signal]), 'abort').then(() => true);
  const hangs = await Promise.race([ended.then(() => false), late]);
  done.abort();
  return hangs;
};
