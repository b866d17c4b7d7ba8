// attach_file: puts an uploaded file on a resource (spec 4.8, recorded behaviour 12).
import { rm } from 'node:fs/promises';
import { basename } from 'node:path';
import { escapeHtml } from '../../util/html.ts';
import type { Call, Portal, Result } from '../call.ts';
import { isNodeType } from '../content/fields.ts';
import { cleanFileName, fileTypeOf, freeName, mimeOf } from '../content/file-name.ts';
import { imageSizeOf } from '../content/image-size.ts';
import { textOf } from '../content/items.ts';
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

const keyOf = (part: string): string | null => /^files\[([^\]]*)\]$/.exec(part)?.[1] ?? null;

/** The `attach` part: false only for what counts as false; true when it is missing. */
const refusesFilled = (value: unknown): boolean => {
  const text = value === undefined ? '1' : (textOf(value) ?? '1');
  return text !== '' && text !== '0';
};

const needField = (call: Call, node: StoredNode): void => {
  const name = textOf(call.body.field_name) ?? '';
  if (name === 'field_upload' && node.type === 'resource') return;
  const fields = isNodeType(node.type) ? call.portal.profile.fields[node.type] : [];
  if (fields.some((field) => field.name === name)) {
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
  const { extensions, takesPrograms } = call.portal.profile;
  const name = cleanFileName(upload.filename, extensions, { takesPrograms });
  const { path } = upload;
  if (name === null || path === null) {
    throw new Refusal(406, `Failed to upload file. ${escapeHtml(keyOf(upload.part) ?? '')}`);
  }
  return { upload, uuid: basename(path), name };
};

const commit = async (call: Call, node: StoredNode, { upload, uuid, name }: Named): Promise<StoredFile> => {
  const { portal, user } = call;
  const { store } = portal;
  const type = fileTypeOf(mimeOf(name, portal.profile.mimeTypes));
  const size = type === 'image' ? imageSizeOf(store.pathOf({ uuid })) : null;
  const save = (copies: Copies) => () => {
    if (store.nodes.byNid(node.nid) === null) throw new Refusal(404, `Node ${node.nid} could not be found`);
    refuseFilled(call, node);
    const now = portal.now();
    const filemime = mimeOf(name, portal.profile.mimeTypes);
    const freed = portal.profile.keepsAddresses ? store.files.assign(node.nid, []) : [];
    const replaced = freed.find((old) => old.filename === name);
    const row = {
      uid: user.uid,
      filename: name,
      name:
        replaced?.name ??
        freeName(name, (candidate) => store.files.byName(candidate) !== null, store.files.nameNumbers),
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
    throw profile.tooManyFiles();
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
  if (uploads.length > 1) throw portal.profile.tooManyFiles();
  const named = needName(call, first);
  refuseFilled(call, node);
  const file = await commit(call, node, named);
  await portal.datastore.attached(attachedFile(portal, node.nid, file));
  const uri = `${call.baseUrl}/api/dataset/file/${file.fid}`;
  return { value: portal.profile.attachAnswer({ fid: String(file.fid), uri }) };
};
