// The uuids that nodes really have, where they are not those of their keys. Pure.
import { uuidOfKey } from '../../model/key.ts';
import type { LedgerEntry } from '../../model/ledger-entry.ts';
import type { DatasetWish } from '../../model/wish.ts';

/**
 * The wishes with the uuids that their nodes have: renamed and adopted nodes keep the one they were born with. A new item
 * under a key whose former node goes on under another one gets a uuid of its own, so that it never takes that node over.
 */
export const withKnownUuids = (wishes: DatasetWish[], entries: ReadonlyMap<string, LedgerEntry>): DatasetWish[] => {
  const owners = new Map([...entries.values()].filter(({ nid }) => nid !== null).map(({ uuid, key }) => [uuid, key]));
  const uuidOf = (wish: { key: string; uuid: string }): string => {
    const entry = entries.get(wish.key);
    if (entry?.nid) return entry.uuid;
    const owner = owners.get(wish.uuid);
    return owner === undefined || owner === wish.key ? wish.uuid : uuidOfKey(`${wish.key}#beside#${owner}`);
  };
  return wishes.map((wish) => ({
    ...wish,
    uuid: uuidOf(wish),
    resources: wish.resources.map((resource) => ({ ...resource, uuid: uuidOf(resource) })),
  }));
};
