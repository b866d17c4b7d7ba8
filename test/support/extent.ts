// How much of a test file runs. The main suite tries each rule; the long suite runs these files again, with everything.
import fc from 'fast-check';

/** True in the long suite. */
export const isWhole = process.env.EXTENT === 'whole';

/** With a fixed seed, so that a run of the tests can be repeated; FC_SEED draws other values. */
fc.configureGlobal({ seed: Number(process.env.FC_SEED ?? 1) });

/** How often a property is tried. */
export const draws = (all: number): number => (isWhole ? all : Math.ceil(all / 8));

/** All cases or the full size, or those of the main suite. */
export const cases = <T>(all: T, main: T): T => (isWhole ? all : main);

/** All of a list, or one in `every` of them in the main suite. */
export const sampled = <T>(all: T[], every: number): T[] =>
  cases(
    all,
    all.filter((_, at) => at % every === 0),
  );

export { fc };
