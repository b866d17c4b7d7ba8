// Puts a file into an inbox, whole, in the place of one that was dropped there.
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SourceRefusedError } from '../../model/errors.ts';
import { writeDurably } from '../../util/durable.ts';
import { makeFolder } from '../../util/make-folder.ts';
import type { DropManifest } from '../manifest/schema.ts';
import { droppedNames, listedFolders, placeRule } from './drop-target.ts';
import { lookAt } from './inbox-view.ts';

/** Path in its inbox of the file that a path in the spool comes from; null for another path. */
export const droppedPath = (path: string): string | null =>
  /\/\.sluice\/spool\/\d{13}-[0-9a-f]{8}\/file\/(.+)$/.exec(path)?.[1] ?? null;

/**
 * Writes `content` into the inbox as a new version of the file that was `dropped` there; the ending is that of `name`, and
 * nothing else of it counts. Returns the path in the inbox.
 *
 * @throws SourceRefusedError where the inbox does not take such a file, or a link is in its place
 */
export const putIntoInbox = async (
  { drop }: DropManifest,
  { dropped, name }: { dropped: string; name: string },
  content: AsyncIterable<Uint8Array>,
): Promise<string> => {
  const { folder, files, marker } = drop;
  const stemOf = (of: string): string => droppedNames(of, []).resource;
  const path = join(dirname(dropped), stemOf(dropped) + name.slice(stemOf(name).length));
  const placed = placeRule({ files, marker: marker ?? '.done', folders: listedFolders(drop) })(path);
  const sight = await lookAt(folder, path);
  const reason = placed.kind === 'left' ? placed.reason : sight.kind === 'left' ? sight.reason : '';
  if (placed.kind !== 'file' || (sight.kind !== 'file' && sight.kind !== 'absent'))
    throw new SourceRefusedError(`${path} ${reason || 'is not taken by this inbox'}`, {
      hint: 'upload a file with the same ending',
    });
  const target = join(folder, path);
  await makeFolder(dirname(target));
  await writeDurably(target, content);
  if (marker !== undefined) await writeFile(target + marker, '');
  return path;
};
