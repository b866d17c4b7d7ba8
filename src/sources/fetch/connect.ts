// Connections that only lead where the guard lets them: the address is checked after the name service, at the connection.
import { lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { SourceRefusedError } from '../../model/errors.ts';
import type { AddressGuard } from './address-guard.ts';

/**
 * A connector for undici. The very addresses that the guard has seen are connected to, so a name that changes its
 * address between the check and the connection gains nothing.
 */
export const guardedConnector = (
  guard: AddressGuard,
  options: { connectMs: number; lookup?: LookupFunction | undefined },
): buildConnector.connector => {
  const lookup = guardedLookup(guard, options.lookup ?? systemLookup);
  // HTTP/2 gains nothing for one file after the other, and middleboxes of publishers speak HTTP/1.1 best.
  const connect = buildConnector({ timeout: options.connectMs, lookup, allowH2: false });
  return (target, callback) => {
    // A socket asks no name service for an address that is written out.
    const refusal = refusalOfHost(guard, target.hostname);
    if (refusal !== null) callback(refusal, null);
    else connect(target, callback);
  };
};

/** The error for a host that is an address which the guard refuses; null for names and for addresses that may be reached. */
export const refusalOfHost = (guard: AddressGuard, host: string): SourceRefusedError | null => {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  if (isIP(bare) === 0) return null;
  const kind = guard(bare, bare);
  return kind === null ? null : refused(`${host} is ${kind}`);
};

/** The error for a name that is known here to lead where the guard refuses; null for other known names, else `unknown`. */
export const refusalOfName = (
  guard: AddressGuard,
  host: string,
  lookup: LookupFunction = systemLookup,
): Promise<SourceRefusedError | 'unknown' | null> =>
  new Promise((resolve) => {
    guardedLookup(guard, lookup)(host, { all: true }, (error) => {
      if (error instanceof SourceRefusedError) resolve(error);
      else resolve(error ? 'unknown' : null);
    });
  });

const guardedLookup =
  (guard: AddressGuard, lookup: LookupFunction): LookupFunction =>
  (host, options, callback) => {
    lookup(host, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, '', 0);
      const addresses = Array.isArray(found) ? found : [{ address: found, family: isIP(found) }];
      for (const { address } of addresses) {
        const kind = guard(host, address);
        if (kind !== null) return callback(refused(`${host} leads to ${address}, ${kind}`), '', 0);
      }
      const [first] = addresses;
      if (options.all || first === undefined) return callback(null, addresses);
      callback(null, first.address, first.family);
    });
  };

const refused = (what: string): SourceRefusedError =>
  new SourceRefusedError(`${what}: it is not fetched`, {
    hint: 'only public addresses are fetched; name this host or its network in `sources.allow` of the configuration if it is meant',
  });
