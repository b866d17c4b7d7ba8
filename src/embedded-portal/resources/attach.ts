// attach_file: puts an uploaded file on a resource (spec 4.8, recorded behaviour 12).
import { closeSync, openSync, readSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename } from 'node:path';
import { escapeHtml } from '../../util/html.ts';
import type { Call, Portal, Result } from '../call.ts';
import { textOf } from '../content/items.ts';
import { cleanFileName, fileTypeOf, freeName, mimeOf } from '../content/public-names.ts';
import type { Copies } from '../content/save.ts';
import type { UploadedFile } from '../media/multipart.ts';
import { Refusal } from '../refusal.ts';
import type { StoredFile } from '../store/files.ts';
import type { StoredNode } from '../store/nodes.ts';
import { attachedFile, inRace, renewDatasetsOf, touchedBy } from './node-saves.ts';

/** Removes the bytes of files whose rows are gone; what fails is swept at the next start. */
export const removeBytes = (portal: Portal, files: StoredFile[]): void => {
  for (const file of files) {
    rm(portal.store.pathOf(file), { force: true }).catch((error: unknown) =>
      portal.log.warn({ err: error, fid: file.fid }, 'could not remove the bytes of a file; the next start will'),
    );
  }
};

const tooManyFiles = 'You cannot upload so many files.';

const keyOf = (part: string): string | null => /^files\[([^\]]*)\]$/.exec(part)?.[1] ?? null;

/** The `attach` part: false only for what counts as false; true when it is missing. */
const refusesFilled = (value: unknown): boolean => {
  const text = value === undefined ? '1' : (textOf(value) ?? '1');
  return text !== '' && text !== '0';
};

const needField = (call: Call, node: StoredNode): void => {
  const name = textOf(call.body.field_name) ?? '';
  if (name === 'field_upload' && node.type === 'resource') return;
  if (call.portal.profile.fields[node.type].some((field) => field.name === name)) {
    throw new Refusal(406, `Failed to upload file. ${escapeHtml(keyOf(call.files[0]?.part ?? '') ?? '')}`);
  }
  throw new Refusal(406, `Field name '${escapeHtml(name)}' not found on node type '${node.type}'`);
};

interface Named {
  upload: UploadedFile;
  /** The uploaded bytes lie where they stay, under this name. */
  uuid: string;
  /** The cleaned file name. */
  name: string;
}

const needName = (call: Call, upload: UploadedFile): Named => {
  const { profile, site } = call.portal;
  const { extensions, takesPrograms } = profile;
  const name = cleanFileName(upload.filename, extensions, { takesPrograms });
  const { path } = upload;
  const isTooLarge = upload.bytes > (site.uploadMaxFilesize ?? Number.POSITIVE_INFINITY);
  if (name === null || path === null || isTooLarge) {
    throw new Refusal(406, `Failed to upload file. ${escapeHtml(keyOf(upload.part) ?? '')}`);
  }
  return { upload, uuid: basename(path), name };
};

const commit = async (call: Call, node: StoredNode, { upload, uuid, name }: Named): Promise<StoredFile> => {
  const { portal, user } = call;
  const { store } = portal;
  const filemime = mimeOf(name, portal.profile.mimeTypes);
  const type = fileTypeOf(filemime);
  const size = type === 'image' ? imageSizeOf(store.pathOf({ uuid })) : null;
  const save = (copies: Copies) => () => {
    if (store.nodes.byNid(node.nid) === null) throw new Refusal(404, `Node ${node.nid} could not be found`);
    refuseFilled(call, node);
    const now = portal.now();
    const freed = portal.profile.keepsAddresses ? store.files.assign(node.nid, []) : [];
    const replaced = freed.find((old) => old.filename === name);
    const row = {
      uid: user.uid,
      filename: name,
      name: replaced?.name ?? freeName(name, (candidate) => store.files.byName(candidate) !== null),
      filemime,
      filesize: upload.bytes,
      timestamp: now,
      type,
      uuid,
      sha256: upload.sha256,
      height: size?.height ?? null,
      width: size?.width ?? null,
    };
    const fid = store.files.add(row);
    freed.push(...store.files.assign(node.nid, [fid]));
    store.nodes.touch(node.nid, { at: now, uid: user.uid });
    portal.datastore.note(attachedFile(portal, node.nid, { ...row, fid }));
    renewDatasetsOf(call, node.nid, copies);
    return { file: { ...row, fid }, dropped: freed };
  };
  const { file, dropped } = await inRace(
    call,
    () => touchedBy(call, node.nid),
    (copies) => store.write(save(copies)),
  );
  upload.path = null;
  removeBytes(portal, dropped);
  return file;
};

const refuseFilled = (call: Call, node: StoredNode): void => {
  const { profile, store } = call.portal;
  if (refusesFilled(call.body.attach) && store.files.ofNode(node.nid).length > 0) {
    throw profile.refuse(tooManyFiles);
  }
};

const withoutFile = async (call: Call, node: StoredNode): Promise<Result> => {
  const { portal, user } = call;
  if (!portal.profile.attachWithoutFile) {
    throw new Refusal(406, 'No file was sent: the part files[1] is missing.');
  }
  const dropped = await portal.store.write(() => {
    portal.store.nodes.touch(node.nid, { at: portal.now(), uid: user.uid });
    return refusesFilled(call.body.attach) ? [] : portal.store.files.assign(node.nid, []);
  });
  if (dropped.length > 0) await portal.datastore.fileRemoved(String(node.nid));
  removeBytes(portal, dropped);
  return { value: [] };
};

/**
 * Puts the file of the request on the node. `attach` 0 replaces what is there, anything else refuses a filled field.
 * Under `spec` a valid table is imported before the answer (as long as the portal waits for imports); a file that
 * cannot be imported is attached all the same.
 */
export const attachFile = async (call: Call, node: StoredNode): Promise<Result> => {
  const { portal } = call;
  needField(call, node);
  const uploads = call.files.filter((file) => keyOf(file.part) !== null);
  const [first] = uploads;
  if (first === undefined) return withoutFile(call, node);
  if (uploads.length > 1) throw portal.profile.refuse(tooManyFiles);
  const named = needName(call, first);
  refuseFilled(call, node);
  const file = await commit(call, node, named);
  await portal.datastore.attached(attachedFile(portal, node.nid, file));
  const uri = `${call.baseUrl}/api/dataset/file/${file.fid}`;
  return { value: portal.profile.attachAnswer({ fid: String(file.fid), uri }) };
};

/** Size in pixels. */
interface ImageSize {
  height: number;
  width: number;
}

const png = (bytes: Buffer): ImageSize | null =>
  bytes.toString('latin1', 1, 4) === 'PNG' && bytes.length >= 24
    ? { height: bytes.readUInt32BE(20), width: bytes.readUInt32BE(16) }
    : null;

const gif = (bytes: Buffer): ImageSize | null =>
  bytes.toString('latin1', 0, 4) === 'GIF8' && bytes.length >= 10
    ? { height: bytes.readUInt16LE(8), width: bytes.readUInt16LE(6) }
    : null;

/** The size is in the frame header, behind other segments. */
const jpeg = (bytes: Buffer): ImageSize | null => {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return null;
  let at = 2;
  while (at + 9 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return null;
};

const mostBytes = 65_536;

/** The size of the PNG, GIF or JPEG picture in a file, whatever its name; null for anything else. */
const imageSizeOf = (path: string): ImageSize | null => {
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(mostBytes);
    const bytes = buffer.subarray(0, readSync(file, buffer, 0, mostBytes, 0));
    return png(bytes) ?? gif(bytes) ?? jpeg(bytes);
  } finally {
    closeSync(file);
  }
};
