// Finds resources that were renamed: a node of ours below the same dataset that no wish names, with our mark of the new key or the same bytes.

import type { ResourceWish } from '../../model/wish.ts';
import type { Portal, PortalNode } from '../../portal-client/client.ts';
import { fileOf } from '../../portal-client/replies.ts';
import { type KnownFile, type LocalTools, withLocalFile } from './local-file.ts';
import { bearsMark, linkedNids } from './node.ts';

/** What is known when resources are looked for. */
export interface RenamedOptions {
  portal: Portal;
  /** Name of the manifest: only nodes whose log names it are ours. */
  manifest: string;
  /** Uuids that belong to some wish of the manifest. */
  wished: ReadonlySet<string>;
  tools: LocalTools;
  fileOf: (wish: ResourceWish) => KnownFile;
}

/**
 * Nodes of the wishes that were not found by identity, by key. A node and a wish belong together when its last write was
 * that of the wish, or else their bytes are the same and no other node or wish has them.
 */
export const findRenamed = async (
  dataset: PortalNode,
  wishes: ResourceWish[],
  options: RenamedOptions,
): Promise<Map<string, string>> => {
  const nodes = wishes.length === 0 ? [] : await freeNodes(dataset, options);
  const marked = new Map<string, string>();
  for (const { key } of wishes) {
    const node = nodes.find((each) => bearsMark(each, key));
    if (node) marked.set(key, node.nid);
  }
  const taken = new Set(marked.values());
  const candidates = nodes.filter(({ nid }) => !taken.has(nid));
  const found: { key: string; nid: string }[] = [];
  for (const wish of candidates.length === 0 ? [] : wishes.filter(({ key }) => !marked.has(key))) {
    const known = options.fileOf(wish);
    const sent = await withLocalFile(wish, known, options.tools, async (local) => local.sent);
    if (!sent) continue;
    for (const node of candidates) {
      if (await hasBytes(node, sent, options)) found.push({ key: wish.key, nid: node.nid });
    }
  }
  const isOnly = (name: 'key' | 'nid', value: string): boolean =>
    found.filter((match) => match[name] === value).length === 1;
  const pairs = found.filter(({ key, nid }) => isOnly('key', key) && isOnly('nid', nid));
  return new Map([...marked, ...pairs.map(({ key, nid }) => [key, nid] as const)]);
};

/** Resource nodes of the dataset that we wrote for this manifest and that no wish names any more. */
const freeNodes = async (dataset: PortalNode, options: RenamedOptions): Promise<PortalNode[]> => {
  const { portal, manifest, wished, tools } = options;
  const nodes = await Promise.all(linkedNids(dataset).map((nid) => portal.nodes.read(nid, tools.signal)));
  return nodes.filter((node) => !wished.has(node.uuid) && node.log.startsWith(`sluice ${manifest}/`));
};

const hasBytes = async (
  node: PortalNode,
  sent: { bytes: number; sha256: string },
  { portal, tools }: RenamedOptions,
): Promise<boolean> => {
  const file = fileOf(node);
  if (file?.filesize !== sent.bytes) return false;
  return (await portal.fileHash(typeof file.uri === 'string' ? file.uri : '', tools.signal)) === sent.sha256;
};
