// The HTTP client for web files and addresses of manifests, as configured. Not in `sources.ts`, because commands load that for
// `--help`, and this loads the client itself.
import type { Config } from '../config/config.ts';
import { proxyOf } from '../sources/fetch/connect.ts';
import { Fetcher } from '../sources/fetch/fetch.ts';

export const configuredFetcher = ({ sources }: Pick<Config, 'sources'>, env: NodeJS.ProcessEnv): Fetcher =>
  new Fetcher({
    ...sources,
    allowPrivate: sources.allow,
    userAgent: 'sluice (open data publishing)',
    proxy: sources.proxy === 'environment' ? proxyOf(env) : null,
  });
