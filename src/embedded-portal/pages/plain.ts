// The page of a group, or of a page: title and text.
import type { Call } from '../call.ts';
import { publicPath } from '../content/view.ts';
import type { StoredNode } from '../store/nodes.ts';
import { formattedHtml } from './facts.ts';
import { html } from './html.ts';
import { pageText } from './layout.ts';
import { titleText } from './words.ts';

/** The page of a node that is neither dataset nor resource. */
export const plainText = (call: Call, node: StoredNode): string => {
  const title = titleText(node);
  const main = html`<h1 dir="auto">${title}</h1>\n${formattedHtml(node, 'body')}`;
  return pageText(call, { title, canonical: publicPath(node, call.baseUrl), main });
};
