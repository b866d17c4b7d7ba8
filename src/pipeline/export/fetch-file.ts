// The file of a resource: from the portal, streamed to the disk; its rows from the datastore where the portal has lost it.
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { extensionOf } from '../../dataset-api/file-types.ts';
import {
  PortalReplyError,
  PortalUnreachableError,
  SluiceError,
  SourceRefusedError,
  SourceUnreachableError,
} from '../../model/errors.ts';
import type { TellMoved } from '../../model/moved.ts';
import { type FileReply, filePath, type Portal } from '../../portal-client/client.ts';
import { boundedBody, decodersFor, mediaType, tooLarge } from '../../sources/fetch/body.ts';
import type { Fetcher } from '../../sources/fetch/fetch.ts';
import { oneOf } from '../../sources/fetch/response-headers.ts';
import { csvLine } from '../../tables/transform/bad-rows.ts';
import type { Upload } from './describe.ts';
import { ownFolder, type Written, writeWhole } from './folder.ts';
import type { ExportedNode, Finding, StoredFile } from './record.ts';

export interface ExportTools {
  portal: Portal;
  fetcher: Fetcher;
  /** How often the work was started, this time included. */
  attempt: number;
  signal: AbortSignal;
  moved: TellMoved;
}

/** `got`: told of each piece of a file, and at its beginning how long it will be. */
export type FileTools = Omit<ExportTools, 'moved'> & { folder: string; got: (bytes: number, expected: number) => void };

/** A file that fails so often, while its node is readable, fails for good. */
const enoughAttempts = 3;

/** Stores the file under `path`; null where the portal has neither the file nor its rows. Adds what is odd to `findings`. */
export const fetchFile = async (
  tools: FileTools,
  { node, upload, path }: { node: ExportedNode; upload: Upload; path: string },
  findings: Finding[],
): Promise<StoredFile | null> => {
  const { name, version } = upload;
  await ownFolder(tools.folder, ...dirname(path).split('/'));
  const into = join(tools.folder, path);
  const lost = await downloadInSession(tools, { node, upload, into });
  if ('bytes' in lost) {
    if (Number.isFinite(upload.bytes) && lost.bytes !== upload.bytes) {
      const message = `${name} has ${lost.bytes} bytes, and the portal calls it ${upload.bytes} bytes long`;
      findings.push({ code: 'file-size', message });
    }
    return { path, name, version, ...lost, from: 'portal' };
  }
  findings.push(lost);
  const rows = await writeWhole(into, csvOf(tools.portal, node, tools.signal));
  if (rows.bytes === 0) {
    await rm(into);
    return null;
  }
  findings.push({ code: 'rows-instead-of-file', message: `${path} holds the rows of the datastore instead` });
  return { path, name, version, ...rows, from: 'datastore' };
};

/** A refused file is requested once more after a read of its node, which renews a session that was lost. */
const downloadInSession = async (
  tools: FileTools,
  { node, upload, into }: { node: ExportedNode; upload: Upload; into: string },
): Promise<Written | Finding> => {
  try {
    const found = await download(tools, upload, into);
    if (!('code' in found) || found.code !== 'file-refused' || tools.portal.isAnonymous) return found;
    await tools.portal.nodes.visible(node.nid, tools.signal);
    return await download(tools, upload, into);
  } catch (error) {
    if (error instanceof SourceRefusedError) return { code: 'file-unreachable', message: error.message };
    const isTransfer = error instanceof PortalUnreachableError || error instanceof SourceUnreachableError;
    if (!isTransfer || tools.attempt < enoughAttempts) throw error;
    // Rejects as well where the whole portal is down.
    await tools.portal.nodes.visible(node.nid, tools.signal);
    return { code: 'file-unreachable', message: `${upload.name} failed each time: ${error.message}` };
  }
};

const download = async (tools: FileTools, upload: Upload, into: string): Promise<Written | Finding> => {
  const { portal, signal } = tools;
  const path = filePath(upload.uri);
  if (path === null)
    return { code: 'file-gone', message: `${upload.name} is at ${upload.uri}, which the portal does not serve` };
  const answer = await portal.file(path, (reply) => take(tools, reply, { upload, into, path }), signal);
  if (!('location' in answer)) return answer;
  const next = URL.parse(answer.location, `${portal.url}${path}`);
  if (next?.href.startsWith(`${portal.url}/`))
    return { code: 'file-unreachable', message: `${upload.name}: too many redirects` };
  return elsewhere(tools, next?.href ?? answer.location, upload, into);
};

const take = async (
  { got, fetcher: { policy: limits } }: FileTools,
  { status, headers, body }: FileReply,
  { upload, into, path }: { upload: Upload; into: string; path: string },
): Promise<Written | Finding | { location: string }> => {
  const [location, type = '', encoding] = ['location', 'content-type', 'content-encoding'].map((name) =>
    oneOf(headers[name]),
  );
  if (status >= 300 && status < 400 && location !== undefined) return { location };
  if (status === 401 || status === 403)
    return { code: 'file-refused', message: `${upload.name} may not be read (${status} for ${path})` };
  if (status !== 200) return { code: 'file-gone', message: `${upload.name} is not served (${status} for ${path})` };
  if (/^text\/html\b/i.test(type) && !/^x?html?$/.test(extensionOf(upload.name)))
    return { code: 'file-is-page', message: `the portal answers with a web page instead of ${upload.name}` };
  // What the portal sends as it is stays as it is.
  const decoders = encoding ? decodersFor(encoding, { name: upload.name, type: mediaType(type) }, upload.name) : [];
  const announced = Number(decoders.length > 0 ? Number.NaN : (headers['content-length'] ?? Number.NaN));
  if (announced > limits.maxBytes) throw tooLarge(upload.name, `${announced} bytes`, limits.maxBytes);
  got(0, upload.bytes || announced || 0);
  const counted = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of boundedBody(body, { where: upload.name, decoders, limits })) {
      yield chunk;
      got(chunk.length, 0);
    }
  };
  const written = await writeWhole(into, counted());
  if (Number.isFinite(announced) && announced !== written.bytes) {
    const message = `${upload.name} broke off after ${written.bytes} of ${announced} bytes`;
    throw new PortalUnreachableError(message, { method: 'GET', path, mayHaveHappened: false });
  }
  return written;
};

/** A file that the portal keeps on another server is fetched without our session, and only from where sources may come from. */
const elsewhere = async (
  { fetcher, signal }: FileTools,
  url: string,
  { name }: Upload,
  into: string,
): Promise<Written | Finding> => {
  try {
    const fetched = await fetcher.toFile(url, into, { known: null, signal, name });
    if (fetched.status === 'fetched') return { bytes: fetched.bytes, sha256: fetched.sha256 };
    return { code: 'file-unreachable', message: `${name} could not be fetched from another server` };
  } catch (error) {
    if (!(error instanceof SluiceError) || error.retryable) throw error;
    return { code: 'file-unreachable', message: `${name} is on another server: ${error.message}` };
  }
};

/** The rows of a resource as CSV; nothing where there are none to read. */
async function* csvOf(portal: Portal, node: ExportedNode, signal: AbortSignal): AsyncGenerator<string> {
  let [count, total] = [0, 0];
  for await (const { rows, columns, records } of portal.datastore.rows(String(node.uuid), signal)) {
    if (columns.length === 0) return;
    if (count === 0) yield csvLine(columns);
    total = rows;
    count += records.length;
    yield records.map((record) => csvLine(columns.map((column) => String(record[column] ?? '')))).join('');
  }
  if (count === total) return;
  throw new PortalReplyError(
    `portal ${portal.name}: the datastore gave ${count} of ${total} rows of resource ${node.nid}`,
    { method: 'GET', path: 'datastore/search', mayHaveHappened: false },
    { hint: 'an import may be in progress' },
  );
}
