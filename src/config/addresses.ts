// Checks of the addresses in a configuration.
import { isIPv6 } from 'node:net';
import { z } from 'zod';
import type { FileProblem } from '../model/errors.ts';
import { text, webAddressRule } from '../model/schema-parts.ts';
import type { YamlDocument } from '../model/yaml/document.ts';
import { isIn, listOf } from '../util/connections.ts';
import { hasCredentials } from '../util/http.ts';
import { recordOf } from '../util/json.ts';

/** What is wrong with the base address of a portal; null when it is sound. Never repeats the address. */
export const portalUrlFault = (address: string): string | null => {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) return webAddressRule;
  if (hasCredentials(url)) return 'must not hold a user or password; use the keys `username` and `password`';
  if (url.search !== '' || url.hash !== '') return 'must end with the path: no `?` and no `#`';
  if (/\/api\/dataset\/?/i.test(url.pathname)) return 'is the base address: leave out `/api/dataset` and what follows';
  return null;
};

/** The base address of a portal, or of a server behind a proxy. */
export const baseUrl = text.superRefine((address, { addIssue }) => {
  const message = portalUrlFault(address);
  if (message !== null) addIssue({ code: 'custom', message });
});

/** A base address as requests use it: without a slash at the end. */
export const normalUrl = (address: string): string => new URL(address).href.replace(/\/+$/, '');

/** Problems of addresses that the schema cannot see; `value` is the document's with references replaced. */
export const addressProblems = (document: YamlDocument, value: unknown, secrets: ReadonlyMap<string, string>) => {
  const problems: FileProblem[] = [];
  const hook = secrets.get('notify.webhook.url');
  if (hook !== undefined && !hook.includes('${') && !/^https?:$/.test(URL.parse(hook)?.protocol ?? ''))
    problems.push(document.problem(['notify', 'webhook', 'url'], webAddressRule));
  problems.push(...webProblems(document, recordOf(recordOf(value).web)));
  const redisUrl = secrets.get('redis.url');
  const written = recordOf(recordOf(document.value).redis).url;
  const fault = redisUrl === undefined ? null : redisUrlFault(redisUrl, written);
  if (fault !== null) problems.push(document.problem(['redis', 'url'], fault));
  return problems;
};

/** Whoever reaches the pages may act, so other hosts reach them only with a password. */
const webProblems = (document: YamlDocument, web: Record<string, unknown>): FileProblem[] => {
  const { host, publicUrl, password } = web;
  if (web.public === true && password === undefined)
    return [document.problem(['web', 'public'], 'also set `web.password`: without one everybody may act')];
  const opened = publicUrl !== undefined ? 'publicUrl' : typeof host === 'string' && !isLoopback(host) ? 'host' : null;
  if (opened === null || password !== undefined) return [];
  return [document.problem(['web', opened], 'exposes the pages to other hosts: also set `web.password`')];
};

const redisUrlFault = (address: string, written: unknown): string | null => {
  if (/\$\{/.test(address)) return null; // its variable is missing, which is reported already
  const url = URL.parse(address.replace(/,[^@/?#]*(?=[/?#]|$)/, '')); // without the other nodes or sentinels
  if (url === null || !/^(rediss?(\+sentinel)?|unix):$/.test(url.protocol))
    return 'must be an address such as `redis://host:6379`, `rediss://…` or `unix:///path/to/socket`';
  const inClear = typeof written === 'string' && !written.includes('${');
  // biome-ignore lint/suspicious/noTemplateCurlyInString: shows people the reference syntax itself
  const example = 'redis://:${REDIS_PASSWORD}@host:6379';
  if (inClear && url.password !== '') return `a password must be a reference: \`${example}\``;
  return null;
};

export const network = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
  error: 'must be an IP address or a network, such as `10.0.0.0/8`',
});

/** True for an address or CIDR, false for a host name. */
export const isNetwork = (entry: string): boolean => network.safeParse(entry).success;

const loopback = listOf(['127.0.0.0/8', '::1']);

/** True for loopback addresses and `localhost`, also in the brackets of an address. */
export const isLoopback = (host: string): boolean => {
  const name = host.replace(/^\[(.*)\]$/, '$1');
  return /^(?:.+\.)?localhost$/i.test(name) || isIn(loopback, name);
};

/** A host as it is in an address that answers: loopback for a wildcard. */
export const urlHost = (host: string): string => {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return isIPv6(host) ? `[${host}]` : host;
};
