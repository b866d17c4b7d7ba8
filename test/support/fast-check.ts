// fast-check with a fixed seed, so that a run of the tests can be repeated; FC_SEED draws other values.
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env.FC_SEED ?? 1) });

/** How often a property is tried: all of it in the long suite, which runs these files again. */
export const draws = (all: number): number => (process.env.DRAW_ALL ? all : Math.ceil(all / 4));

export { fc };
