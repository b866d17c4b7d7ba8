// fast-check with a fixed seed, so that a run of the tests can be repeated; FC_SEED draws other values.
import fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env.FC_SEED ?? 1) });

export { fc };
