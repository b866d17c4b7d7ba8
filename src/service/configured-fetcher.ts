// The HTTP client for web files and addresses of manifests, as configured.
import type { Config } from '../config/config.ts';
import { proxyOf } from '../sources/fetch/connect.ts';
import { type Fetcher, openFetcher } from '../sources/fetch/fetch.ts';

/** Opens it; `close()` when done. */
export const configuredFetcher = ({ sources }: Pick<Config, 'sources'>, env: NodeJS.ProcessEnv): Fetcher =>
  openFetcher({
    ...sources,
    allowPrivate: sources.allow,
    userAgent: 'sluice (open data publishing)',
    proxy: sources.proxy === 'environment' ? proxyOf(env) : null,
  });
