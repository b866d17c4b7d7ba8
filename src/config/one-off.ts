// The portal of `--portal`: one by name, or any address with credentials from the environment.
import { UsageError } from '../model/errors.ts';
import { nearest } from '../model/yaml/nearest.ts';
import { normalUrl, portalUrlFault } from './addresses.ts';
import type { Config, PortalConfig } from './config.ts';
import { redacting } from './redact.ts';
import { remotePortal } from './resolve.ts';

/**
 * Returns `config` with `portal` set to the one that `wanted` names; the address of an unknown portal adds it, with
 * SLUICE_USERNAME and SLUICE_PASSWORD. The same two fill in what a named portal lacks. Throws UsageError.
 */
export const choosePortal = (config: Config, wanted: string, env: NodeJS.ProcessEnv): Config => {
  if (!/^[a-z]+:\/\//i.test(wanted)) return named(config, wanted, env);
  const fault = portalUrlFault(wanted);
  if (fault !== null) throw new UsageError(`--portal: the address ${fault}`);
  const url = normalUrl(wanted);
  const known = Object.values(config.portals).find((portal) => portal.kind === 'remote' && portal.url === url);
  if (known !== undefined) return named(config, known.name, env);
  const { SLUICE_USERNAME: username, SLUICE_PASSWORD: password } = env;
  if (!username || !password)
    throw new UsageError(`--portal ${url}: the login is missing`, {
      hint: 'set SLUICE_USERNAME and SLUICE_PASSWORD in the environment, or name the portal in a configuration file',
    });
  const name = portalNameOf(url);
  return withPortal(config, remotePortal(name, { kind: 'remote', url, username, password, token: null }));
};

const named = (config: Config, name: string, env: NodeJS.ProcessEnv): Config => {
  const portal = Object.hasOwn(config.portals, name) ? config.portals[name] : undefined;
  if (portal === undefined) {
    const names = Object.keys(config.portals);
    const meant = nearest(name, names);
    throw new UsageError(`--portal: no portal is called \`${name}\`${meant ? `; did you mean \`${meant}\`?` : ''}`, {
      hint: `configured: ${names.join(', ') || 'none'}; an address must begin with http:// or https://`,
    });
  }
  const { SLUICE_USERNAME, SLUICE_PASSWORD } = env;
  if (portal.password !== null || !SLUICE_PASSWORD) return withPortal(config, portal);
  const filled = { ...portal, username: SLUICE_USERNAME || portal.username, password: SLUICE_PASSWORD };
  return withPortal(config, redacting(filled, 'password'));
};

const withPortal = (config: Config, portal: PortalConfig): Config => ({
  ...config,
  portals: { ...config.portals, [portal.name]: portal },
  portal: portal.name,
});

/** The name of a portal that is known by its address alone: host, port and path with dashes. */
export const portalNameOf = (url: string): string =>
  url
    .replace(/^https?:\/\//, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]+/g, '-')
    .replaceAll(/^[^a-z0-9]+|[^a-z0-9]+$/g, '')
    .slice(0, 64);
