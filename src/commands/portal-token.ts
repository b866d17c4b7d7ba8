// `sluice portal token add|list|revoke`: access tokens of the embedded portal.
import { resolve } from 'node:path';
import { UsageError } from '../errors.ts';
import { openTokens } from '../server/store/tokens.ts';
import { exitCodes } from './exit-code.ts';
import { type Io, say } from './io.ts';

/** What `sluice portal token` does. */
export type TokenAction =
  | { action: 'add'; user: string; label?: string }
  | { action: 'list' }
  | { action: 'revoke'; id: string };

/** Options of `sluice portal token`. */
export interface TokenOptions {
  /** Folder of the portal's store, relative to the working directory. */
  data?: string;
  json?: boolean;
}

/**
 * Makes, lists or revokes access tokens, also while the portal runs. A new token is printed once and stored hashed.
 * Throws UsageError, NotFoundError (no such account or token), PortalStoreError (no store).
 */
export const portalTokenCommand = async (what: TokenAction, options: TokenOptions, io: Io): Promise<number> => {
  const { tokens, close } = openTokens(resolve(io.cwd, options.data ?? '.sluice/portal/local'));
  try {
    if (what.action === 'add') {
      say(io, tokens.add(what.user, { label: what.label ?? '', now: Math.floor(Date.now() / 1000) }));
    } else if (what.action === 'list') {
      const all = tokens.list();
      if (options.json) say(io, JSON.stringify(all));
      for (const { id, user, label, created } of options.json ? [] : all) {
        say(io, `${id}\t${user}\t${new Date(created * 1000).toISOString()}\t${label}`);
      }
    } else {
      if (!/^\d{1,9}$/.test(what.id)) throw new UsageError(`"${what.id}" is no number of a token`);
      tokens.revoke(Number(what.id));
    }
  } finally {
    close();
  }
  return exitCodes.ok;
};
