// Overlapping requests, as several processes of a deployed portal run them: each works on what it read when it began.
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { exceptionFault, type Refusal } from './refusal.ts';

export interface RaceOptions {
  /** Start of the draws that decide which of the overlapping requests fail; 1 when absent. */
  seed?: number;
  /** How long a request works between reading and writing, milliseconds; 4 when absent. */
  pauseMs?: number;
  /** Of the new datasets with a list, so many of the first are taken back by a deadlock after their resources refer to them; 0 when absent. */
  lostDatasets?: number;
  /** Of the new datasets, so many of the first are taken back although they are answered as stored; 0 when absent. */
  lostAnswers?: number;
}

/**
 * Shares: of the saves that cross another one, what the database refuses; of those, whose savepoint is gone (the others meet
 * a deadlock); of the requests to a datastore while an import runs, what waits for the lock in vain.
 */
const shares = { refused: 0.3, savepoint: 0.2, locked: 0.15 };

/** What deployed portals say of a lock that they waited for in vain. */
export const lockRefused = 'Failed to get datastore variable lock, wait delay exceeded.';

const deadlock = (): Refusal =>
  exceptionFault(
    '40001',
    'SQLSTATE[40001]: Serialization failure: 1213 Deadlock found when trying to get lock; try restarting transaction',
  );

const lostSavepoint = (): Refusal =>
  exceptionFault(
    '42000',
    'SQLSTATE[42000]: Syntax error or access violation: 1305 SAVEPOINT savepoint_1 does not exist',
  );

/** Two numbers from 0 up to 1 that belong to a text. */
export const numbersOf = (text: string): [number, number] => {
  const bytes = createHash('sha256').update(text).digest();
  return [bytes.readUIntBE(0, 6) / 2 ** 48, bytes.readUIntBE(6, 6) / 2 ** 48];
};

export type Races = ReturnType<typeof racesOf>;

/** Keeps overlapping requests apart from each other until they write. A request that runs alone never notices. */
export const racesOf = ({ seed = 1, pauseMs = 4, lostDatasets = 0, lostAnswers = 0 }: RaceOptions) => {
  const left = { datasets: lostDatasets, answers: lostAnswers };
  /** The saves between their first read and their write. */
  const saves = new Set<{ isCrossed: boolean }>();
  let [drawn, imports] = [0, 0];
  const draw = (): number => numbersOf(`${seed} ${drawn++}`)[0];

  /** The time between the beginning of a request to a datastore and its write. */
  const pause = (): Promise<void> => sleep(pauseMs);

  /** True for a share of the requests that come while an import runs: the lock of the states is unavailable. */
  const isLocked = (): boolean => imports > 0 && draw() < shares.locked;

  return {
    pause,
    isLocked,

    demandLock: (): void => {
      if (isLocked()) throw exceptionFault('0', lockRefused);
    },

    /** Writes after a pause in which others may read the same; throws instead for a share of the saves that cross another. */
    save: async <T>(write: () => Promise<T>): Promise<T> => {
      const span = { isCrossed: saves.size > 0 };
      for (const other of saves) other.isCrossed = true;
      saves.add(span);
      try {
        await pause();
        if (span.isCrossed && draw() < shares.refused) throw draw() < shares.savepoint ? lostSavepoint() : deadlock();
        return await write();
      } finally {
        saves.delete(span);
      }
    },

    /** Takes a new dataset back where it is its turn; returns the answer then, null for that of success. */
    settle: ({ hasList }: { hasList: boolean }, takeBack: () => void): Refusal | null => {
      const isAnswered = left.answers > 0;
      if (isAnswered) left.answers -= 1;
      else if (hasList && left.datasets > 0) left.datasets -= 1;
      else return null;
      takeBack();
      return isAnswered ? null : deadlock();
    },

    /** Runs an import; meanwhile others may find the states locked. */
    import: async <T>(load: () => Promise<T>): Promise<T> => {
      imports += 1;
      try {
        await pause();
        return await load();
      } finally {
        imports -= 1;
      }
    },
  };
};
