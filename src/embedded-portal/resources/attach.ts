// attach_file: puts an uploaded file on a resource (spec 4.8, recorded behaviour 12).
import { rm } from 'node:fs/promises';
import { basename } from 'node:path';
import { escapeHtml } from '../../util/html.ts';
import { textOf } from '../content/items.ts';
import { fileTypeOf } from '../content/public-names.ts';
import type { Call, Portal, Result } from '../portal.ts';
import { Refusal } from '../refusal.ts';
import type { StoredFile, StoredNode } from '../store/nodes.ts';
import { inRace, noteFile, saveWith, touchedBy } from './node-saves.ts';

/** Removes the bytes of files whose rows are gone; what fails is swept at the next start. */
export const removeBytes = (portal: Portal, files: StoredFile[]): void => {
  for (const file of files) {
    rm(portal.store.pathOf(file), { force: true }).catch((error: unknown) =>
      portal.log.warn({ err: error, fid: file.fid }, 'could not remove the bytes of a file; the next start will'),
    );
  }
};

export const tooManyFiles = 'You cannot upload so many files.';

export const keyOf = (part: string): string | null => /^files\[([^\]]*)\]$/.exec(part)?.[1] ?? null;

/** The `attach` part: false only for what counts as false; true when it is missing. */
export const refusesFilled = (value: unknown): boolean => !['', '0'].includes(textOf(value) ?? '1');

/** Throws 406 where the named field takes no files. */
export const needField = (call: Call, node: StoredNode): void => {
  const name = textOf(call.body.field_name) ?? '';
  if (name === 'field_upload' && node.type === 'resource') return;
  if (call.portal.profile.fields[node.type].some((field) => field.name === name)) {
    throw new Refusal(406, `Failed to upload file. ${escapeHtml(keyOf(call.files[0]?.part ?? '') ?? '')}`);
  }
  throw new Refusal(406, `Field name '${escapeHtml(name)}' not found on node type '${node.type}'`);
};

const refuseFilled = (call: Call, node: StoredNode): void => {
  const isFilled = call.portal.store.files.ofNode(node.nid).length > 0;
  if (isFilled && refusesFilled(call.body.attach)) throw new Refusal(406, tooManyFiles);
};

/** The file of the request and its cleaned name; its bytes lie where they stay. Throws 406 where it may not be attached. */
const needUpload = ({ files, portal: { profile, site } }: Call) => {
  const [upload, ...others] = files.filter(({ part }) => keyOf(part) !== null);
  if (upload === undefined) throw new Refusal(406, 'No file was sent: the part files[1] is missing.');
  if (others.length > 0) throw new Refusal(406, tooManyFiles);
  const name = profile.uploads.nameOf(upload.filename);
  const { path } = upload;
  const isTooLarge = upload.bytes > (site.uploadMaxFilesize ?? Number.POSITIVE_INFINITY);
  if (name !== null && path !== null && !isTooLarge) return { upload, uuid: basename(path), name };
  throw new Refusal(406, `Failed to upload file. ${escapeHtml(keyOf(upload.part) ?? '')}`);
};

/**
 * Puts the file of the request on the node. `attach` 0 replaces what is there, anything else refuses a filled field. Under
 * `spec` a valid table is imported before the answer; a file that cannot be imported is attached all the same.
 */
export const attachFile = async (call: Call, node: StoredNode): Promise<Result> => {
  const { portal, user } = call;
  const { store, profile } = portal;
  needField(call, node);
  const { upload, uuid, name } = needUpload(call);
  refuseFilled(call, node);
  const filemime = profile.uploads.mimeOf(name);
  const { bytes: filesize, sha256 } = upload;
  const facts = { filename: name, filemime, filesize, type: fileTypeOf(filemime), uuid, sha256 };
  const { fid, dropped, settle } = await inRace(call, touchedBy(call, node.nid), (copies) => {
    if (store.nodes.byNid(node.nid) === null) throw new Refusal(404, `Node ${node.nid} could not be found`);
    refuseFilled(call, node);
    const timestamp = portal.now();
    const before = store.files.ofNode(node.nid);
    const freed = store.files.assign(node.nid, []);
    const isTaken = (candidate: string): boolean => store.files.byName(candidate) !== null;
    const publicName = profile.uploads.publicName(name, isTaken, freed);
    const fid = store.files.add({ uid: user.uid, name: publicName, timestamp, ...facts });
    const dropped = [...freed, ...store.files.assign(node.nid, [fid])];
    store.nodes.touch(node.nid, { at: timestamp, uid: user.uid });
    const settle = noteFile(portal, node.nid, before);
    saveWith(call, node.nid, copies);
    return { fid, dropped, settle };
  });
  upload.path = null;
  removeBytes(portal, dropped);
  await settle();
  return { value: { fid: String(fid), uri: `${call.baseUrl}/api/dataset/file/${fid}` } };
};
