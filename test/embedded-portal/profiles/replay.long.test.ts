// The recordings of deployed portals, played against the profiles of their releases.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { canReplay, playable, replay, replayed, sharedFolder } from '../../../scripts/replay.ts';

/** The exchanges that the documentation says come out differently, as `scenario step`. */
const documented = (): Set<string> => {
  const text = readFileSync(join(import.meta.dirname, '../../../docs/embedded-portal/differences.md'), 'utf8');
  const rows = text.slice(text.indexOf('## Recorded')).matchAll(/^\| (\w+) \| ([\d, ]+) \|/gm);
  return new Set(
    [...rows].flatMap(([, scenario, steps]) => (steps ?? '').split(', ').map((step) => `${scenario} ${step}`)),
  );
};

const why = canReplay() ? '' : ` (not run: no recordings at ${sharedFolder})`;

describe.skipIf(!canReplay())(`recorded exchanges${why}`, () => {
  it.each(playable())(
    'come out as recorded under %s, but for those that docs/embedded-portal/differences.md names',
    async (profile) => {
      const { share, differences } = await replay(profile);
      expect(share).toBeGreaterThanOrEqual(replayed[profile].least);
      const known = documented();
      const unknown = differences
        .map(({ scenario, step, differences: found }) => ({ at: `${scenario.replace('.json', '')} ${step}`, found }))
        .filter(({ at }) => !known.has(at));
      expect(unknown).toEqual([]);
    },
    600_000,
  );
});
