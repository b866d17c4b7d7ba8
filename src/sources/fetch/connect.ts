// Connections to public addresses only, direct or through the proxies that the environment names.
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { isNetwork } from '../../config/addresses.ts';
import { SourceRefusedError } from '../../model/errors.ts';
import { isIn, listOf } from '../../util/connections.ts';

/** Connects to the very addresses that the guard has seen: a name that changes its address meanwhile gains nothing. */
export const guardedConnector = (
  guard: AddressGuard,
  { connectMs, lookup }: { connectMs: number; lookup: LookupFunction },
): buildConnector.connector => {
  // HTTP/2 gains nothing for one file after the other, and middleboxes of publishers speak HTTP/1.1 best.
  const connect = buildConnector({ timeout: connectMs, lookup: guardedLookup(guard, lookup), allowH2: false });
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
export const refusalOfName = (guard: AddressGuard, host: string, lookup: LookupFunction) =>
  new Promise<SourceRefusedError | 'unknown' | null>((resolve) => {
    guardedLookup(guard, lookup)(host, { all: true }, (error) =>
      resolve(error instanceof SourceRefusedError ? error : error && 'unknown'),
    );
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
    hint: 'only public addresses are fetched; if this is intended, add the host or its network to `sources.allow` in the configuration',
  });

/** Kinds of addresses that lead inside, by the special-purpose registries of IANA (RFC 6890). */
const special: readonly [kind: string, ...ranges: string[]][] = [
  ['a cloud metadata address', '169.254.169.254/32', '100.100.100.200/32', '168.63.129.16/32', 'fd00:ec2::254/128'],
  ['an unspecified address', '0.0.0.0/8', '::/128'],
  ['a loopback address', '127.0.0.0/8', '::1/128'],
  ['a private address', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7', 'fec0::/10'],
  ['a link-local address', '169.254.0.0/16', 'fe80::/10'],
  ['an address behind a carrier', '100.64.0.0/10'],
  ['a multicast address', '224.0.0.0/4', 'ff00::/8'],
  [
    'a reserved address',
    ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
    // 2001::/23 holds Teredo and 2002::/16 is 6to4: both carry an IPv4 address inside.
    ...['240.0.0.0/4', '100::/64', '2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20', '5f00::/16'],
  ],
];

/** What is wrong with an address, such as `a loopback address`; null when it may be reached. */
export type AddressGuard = (host: string, address: string) => string | null;

/**
 * Makes a guard. `allow` holds addresses, CIDRs and host names (lower case); `host` is the name the address was found
 * under, without the brackets of IPv6. IPv4 addresses written as IPv6 are judged as IPv4.
 */
export const addressGuard = (allow: readonly string[]): AddressGuard => {
  const allowed = listOf(allow.filter(isNetwork));
  const names = new Set(allow.filter((entry) => !isNetwork(entry)).map(plainHost));
  return (host, address) => {
    if (names.has(plainHost(host)) || isIn(allowed, address)) return null;
    return kindOf(address);
  };
};

/** A host name as it is compared: lower case, without the dot of a complete name, without brackets. */
const plainHost = (host: string): string => host.toLowerCase().replace(/^\[(.*)\]$|\.$/, '$1');

const kinds = special.map(([kind, ...ranges]) => ({ kind, list: listOf(ranges) }));
/** Where global IPv6 addresses are, and IPv4 as IPv6. */
const globals = listOf(['2000::/3', '::ffff:0:0/96']);
/** An IPv4 address behind a translator, as the names of IPv6-only networks give it (RFC 6052). */
const translated = listOf(['64:ff9b::/96']);

const kindOf = (address: string): string | null => {
  const bare = address.replace(/%.*$/, '');
  const family = isIP(bare);
  if (family === 0) return 'no address';
  if (family === 6 && isIn(translated, bare)) return kindOf(translatedV4(bare));
  const kind = kinds.find(({ list }) => isIn(list, bare))?.kind;
  return kind ?? (family === 4 || isIn(globals, bare) ? null : 'a reserved address');
};

/** The last 32 bits of an IPv6 address in dotted form. */
const translatedV4 = (address: string): string => {
  // The URL parser writes any form of the address as groups of hexadecimal digits.
  const groups = new URL(`http://[${address}]/`).hostname.slice(1, -1).split(':');
  const [high = 0, low = 0] = groups.slice(-2).map((group) => Number.parseInt(group || '0', 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
};

/** Proxies by the usual variables of the environment, as undici takes them; empty texts keep it from looking there itself. */
export const proxyOf = (env: NodeJS.ProcessEnv) => {
  const httpProxy = env.http_proxy || env.HTTP_PROXY || '';
  const httpsProxy = env.https_proxy || env.HTTPS_PROXY || httpProxy;
  return httpsProxy === '' ? null : { httpProxy, httpsProxy, noProxy: env.no_proxy || env.NO_PROXY || '' };
};
