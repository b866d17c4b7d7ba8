// The recordings of deployed portals, played against the profiles of their releases.
import { describe, expect, it } from 'vitest';
import { canReplay, playable, replay, replayed, sharedFolder } from '../../../scripts/replay.ts';

/** Scenarios and steps that come out differently on purpose. */
const deliberate: [scenario: string, ...steps: number[]][] = [
  ['create_errors', 44, 45], // a `nid` in the body would overwrite the node of that number
  ['list_basic', 89], // rows of the same second have no defined order
  ['references_dataset_as_resource', 2], // the recorded server printed a page behind the JSON
  ['update_nid_in_body', 4, 6], // a `nid` in the body would overwrite the node of that number
];
const known = new Set(deliberate.flatMap(([scenario, ...steps]) => steps.map((step) => `${scenario} ${step}`)));

const why = canReplay() ? '' : ` (not run: no recordings at ${sharedFolder})`;

describe.skipIf(!canReplay())(`recorded exchanges${why}`, () => {
  it.each(playable())(
    'come out as recorded under %s, but for deliberate differences',
    async (profile) => {
      const { share, differences } = await replay(profile);
      expect(share).toBeGreaterThanOrEqual(replayed[profile].least);
      const unknown = differences
        .map(({ scenario, step, differences: found }) => ({ at: `${scenario.replace('.json', '')} ${step}`, found }))
        .filter(({ at }) => !known.has(at));
      expect(unknown).toEqual([]);
    },
    600_000,
  );
});
