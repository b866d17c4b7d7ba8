// The file resource: what the `uri` of an attach answers (spec 2.6), and the bytes at their public address.
import type { Answer } from '../answer.ts';
import { fileUrl } from '../content/view.ts';
import { type Call, needById, type Portal, type Resource, type Result } from '../portal.ts';
import { demand, mayReadFile } from '../refusal.ts';
import type { StoredFile } from '../store/nodes.ts';

const needFile = (call: Call): StoredFile =>
  needById(call, call.portal.store.files.byFid, (id) => `There is no file with ID ${id}.`);

/** Types that a browser displays without running anything; all others are sent as a download. */
const shownTypes = 'text/csv text/plain text/tab-separated-values application/pdf application/json'.split(' ');

/** The bytes of a file: never a type that could run in the portal's origin, always with a file name. */
export const fileAnswer = (portal: Portal, file: StoredFile): Answer => {
  const isShown = shownTypes.includes(file.filemime) || (file.type === 'image' && file.filemime !== 'image/svg+xml');
  const plainName = file.name.replace(/[^\x20-\x7e]|["\\]/g, '_');
  const disposition = `${isShown ? 'inline' : 'attachment'}; filename="${plainName}"; filename*=UTF-8''${encodeURIComponent(file.name)}`;
  return {
    status: 200,
    contentType: isShown ? file.filemime : 'application/octet-stream',
    body: { path: portal.store.pathOf(file), bytes: file.filesize, disposition },
  };
};

const retrieve = (call: Call): Result => {
  const file = needFile(call);
  if (call.query.file_contents === '1') return fileAnswer(call.portal, file);
  const item = call.portal.profile.uploads.item(file);
  return { value: { ...item, uri_full: fileUrl(file, call.baseUrl), sha256: file.sha256 }, shape: 'object' };
};

export const fileResource: Resource = {
  retrieve: {
    access: (call) => demand(call.user, mayReadFile(call.portal.store, call.user, needFile(call))),
    run: retrieve,
  },
};
