// Which public page a path means: the list of datasets, a dataset, a resource, a group or page.
import { mayRead } from '../access.ts';
import type { Answer } from '../answer.ts';
import type { Call } from '../call.ts';
import { publicPath } from '../content/view.ts';
import type { StoredNode } from '../store/nodes.ts';
import { datasetText } from './dataset.ts';
import { homeText } from './home.ts';
import { formattedHtml, html, titleText } from './html.ts';
import { pageAnswer, pageText } from './layout.ts';
import { resourceText } from './resource.ts';

/** The page of a node that is neither dataset nor resource. */
const plainText = (call: Call, node: StoredNode): string => {
  const title = titleText(node);
  const main = html`<h1 dir="auto">${title}</h1>\n${formattedHtml(node, 'body')}`;
  return pageText(call, { title, canonical: publicPath(node, call.baseUrl), main });
};

/** The page of a caller without a session is the same for all of them, so it is kept until something is written. */
const remembered = (call: Call, key: string, write: () => string): string =>
  call.user.uid === 0 ? call.portal.responses.get(`page ${call.baseUrl} ${key}`, write) : write();

const home = (call: Call): Answer | null => {
  const wished = call.query.page ?? '1';
  if (typeof wished !== 'string' || !/^[1-9]\d{0,6}$/.test(wished)) return null;
  const body = remembered(call, `home ${wished}`, () => homeText(call, Number(wished)) ?? '');
  return body === '' ? null : pageAnswer(200, body);
};

const aliasIn = (path: string): string | null => {
  try {
    return decodeURIComponent(path.slice(1));
  } catch {
    return null;
  }
};

const nodeOf = ({ portal }: Call, path: string): StoredNode | null => {
  const { nodes } = portal.store;
  const number = /^\/node\/(\d{1,15})$/.exec(path)?.[1];
  if (number !== undefined) return nodes.byNid(Number(number));
  const alias = aliasIn(path);
  const nid = alias === null ? null : nodes.aliasOwner(alias);
  return nid === null ? null : nodes.byNid(nid);
};

const denied = (call: Call): Answer => {
  const main = html`<h1>Access denied</h1>\n<p>This page is not published.</p>`;
  return pageAnswer(403, pageText(call, { title: 'Access denied', canonical: null, main }));
};

/**
 * The public page at a path: `/`, the address that a read of a node shows as `path`, or `/node/<nid>`. 403 for a node
 * the caller may not read; null where there is no page, and for all methods but GET and HEAD.
 */
export const publicPage = async (call: Call, path: string): Promise<Answer | null> => {
  const { method } = call.request;
  if (method !== 'GET' && method !== 'HEAD') return null;
  if (path === '/') return home(call);
  const node = nodeOf(call, path);
  if (node === null) return null;
  if (!mayRead(call.user, node)) return denied(call);
  if (node.type === 'dataset')
    return pageAnswer(
      200,
      remembered(call, `${node.nid}`, () => datasetText(call, node)),
    );
  return pageAnswer(200, node.type === 'resource' ? await resourceText(call, node) : plainText(call, node));
};
