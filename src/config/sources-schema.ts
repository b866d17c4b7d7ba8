// The shape of `sources:` in a configuration file: how files and catalogues of the web are fetched.
import { z } from 'zod';
import { optional } from '../model/optional-key.ts';
import { durationMs, durationText, sizeBytes, sizeText } from '../util/quantity.ts';
import { isNetwork } from './addresses.ts';
import { defaults } from './defaults.ts';

const hostName = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*\.?$/i;

/** An address, a CIDR or a host name. Numbers with dots that are no address are most often a mistyped one. */
const reachable = z.string().refine((text) => isNetwork(text) || (hostName.test(text) && !/^[\d./:]+$/.test(text)), {
  error: 'must be a host name, an address or a network such as `10.1.0.0/16`',
});

const duration = (value: string, description: string, example: string) =>
  optional(durationText, { default: value, description, examples: [example] });

/** How files and catalogues are fetched from the web. */
export const sourcesFileSchema = z
  .strictObject({
    allow: optional(z.array(reachable), {
      default: [],
      description: 'Hosts and networks to allow although their addresses are not public.',
      examples: [['data.intern.example', '10.1.0.0/16']],
    }),
    maxSize: optional(sizeText, {
      default: defaults.sources.maxSize,
      description: 'Largest file that is fetched, after decompression.',
      examples: ['500 MB'],
    }),
    maxRedirects: optional(z.int().min(0).max(20), {
      default: defaults.sources.maxRedirects,
      description: 'Redirects that are followed; each is checked like the first address.',
      examples: [2],
    }),
    connect: duration(defaults.sources.connect, 'Time to reach a server.', '5s'),
    headers: duration(defaults.sources.headers, 'Time until a reply begins.', '2m'),
    body: duration(defaults.sources.body, 'Longest pause within a reply, including replies that only trickle.', '2m'),
    requestsPerSecond: optional(z.number().min(0).max(1000), {
      default: defaults.sources.requestsPerSecond,
      description: 'Requests per second to one host; 0 means no limit.',
      examples: [1],
    }),
    proxy: optional(z.enum(['none', 'environment']), {
      default: defaults.sources.proxy,
      description: '`environment` uses `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`.',
      examples: ['environment'],
    }),
  })
  .meta({ description: 'How files and catalogues are fetched from the web.' });

/** Resolves a checked `sources:`: its defaults, in plain numbers. */
export const resolveSources = (file: z.infer<typeof sourcesFileSchema> = {}) => {
  const { allow = [], ...rest } = file;
  const { maxSize, maxRedirects, connect, headers, body, requestsPerSecond, proxy } = { ...defaults.sources, ...rest };
  return {
    allow,
    maxBytes: sizeBytes(maxSize),
    maxRedirects,
    connectMs: durationMs(connect),
    headersMs: durationMs(headers),
    bodyMs: durationMs(body),
    requestsPerSecond,
    proxy,
  };
};
