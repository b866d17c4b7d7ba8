// The way to the web: direct, or through the proxies that the environment names.
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import type { ProxyPolicy } from './policy.ts';

/** The proxies of the usual variables, lower case before upper case; null when none is set. */
export const proxyOf = (env: NodeJS.ProcessEnv): ProxyPolicy | null => {
  const http = env.http_proxy || env.HTTP_PROXY || '';
  const https = env.https_proxy || env.HTTPS_PROXY || '';
  if (http === '' && https === '') return null;
  return { http, https, no: env.no_proxy || env.NO_PROXY || '' };
};

/**
 * Makes the dispatcher. Its connector is for servers that are reached directly; the connection to a proxy itself is not
 * guarded, since proxies lie inside.
 */
export const dispatcherFor = (proxy: ProxyPolicy | null, options: Agent.Options): Dispatcher => {
  if (proxy === null) return new Agent(options);
  return new EnvHttpProxyAgent({
    ...options,
    // An empty text keeps undici from looking into the environment itself.
    httpProxy: proxy.http,
    httpsProxy: proxy.https || proxy.http,
    noProxy: proxy.no,
  });
};
