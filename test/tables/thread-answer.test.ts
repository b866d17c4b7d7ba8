// What becomes of errors at the border of a worker thread.
import { expect, it } from 'vitest';
import { MachineBusyError, missingSource, SourceMissingError } from '../../src/model/errors.ts';
import { answered, answerOf } from '../../src/tables/thread-answer.ts';

/** An error of the system with this code, as a check in a thread meets it, outside of the thread. */
const outside = async (code: string): Promise<unknown> => {
  const work = (): never => {
    throw Object.assign(new Error(`${code}: open 'a.csv'`), { code, syscall: 'open' });
  };
  const answer = await answerOf(work, (error) => missingSource('a.csv', error)).catch((error: unknown) => {
    throw structuredClone(error);
  });
  return answered(structuredClone(answer));
};

it('an error keeps its class, and whether a retry can help', async () => {
  await expect(outside('ENOENT')).rejects.toThrow(SourceMissingError);
  await expect(outside('ENOENT')).rejects.toMatchObject({ code: 'source-missing', retryable: false });
});

it('too many open files are no fault of the file that a thread could not open', async () => {
  await expect(outside('EMFILE')).rejects.toThrow(MachineBusyError);
  await expect(outside('EMFILE')).rejects.toMatchObject({ code: 'machine-busy', retryable: true });
});
