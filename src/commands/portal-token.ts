// `sluice portal token add|list|revoke`: access tokens of the embedded portal.
import { openTokens } from '../embedded-portal/store/sessions.ts';
import { UsageError } from '../model/errors.ts';
import { jsonOption, type Subcommand } from './declaration.ts';
import { exitCodes } from './exit-code.ts';
import { type Io, say, warn } from './io.ts';
import { chosenEmbedded, type PortalChoice, storeDirOf } from './portal-settings.ts';

/** What `sluice portal token` does. */
type TokenAction =
  | { action: 'add'; user: string; label?: string }
  | { action: 'list' }
  | { action: 'revoke'; id: string };

/** Options of `sluice portal token`. */
interface TokenOptions extends PortalChoice {
  json?: boolean;
}

/** Says on standard error that a token is of no use yet where the configuration has tokens off. */
const warnWhenOff = async (options: TokenOptions, io: Io): Promise<void> => {
  if (options.data !== undefined) return; // a store of its own: how it is served is not known
  const { portal } = await chosenEmbedded(options, io);
  if (!portal.tokens) warn(io, `tokens are off: set portals.${portal.name}.tokens: true in the configuration`);
};

/**
 * Makes, lists or revokes access tokens, also while the portal runs. A new token is printed once and stored hashed.
 * Throws what `storeDirOf` does, UsageError, NotFoundError (no such account or token), PortalStoreError (no store).
 */
export const portalTokenCommand = async (what: TokenAction, options: TokenOptions, io: Io): Promise<number> => {
  const { tokens, close } = openTokens(await storeDirOf(options, io));
  try {
    if (what.action === 'add') {
      say(io, tokens.add(what.user, { label: what.label ?? '', now: Math.floor(Date.now() / 1000) }));
      await warnWhenOff(options, io);
    } else if (what.action === 'list') {
      const all = tokens.list();
      if (options.json) say(io, JSON.stringify(all));
      for (const { id, user, label, created } of options.json ? [] : all) {
        say(io, `${id}\t${user}\t${new Date(created * 1000).toISOString()}\t${label}`);
      }
    } else {
      if (!/^\d{1,9}$/.test(what.id)) throw new UsageError(`"${what.id}" is not a token number`);
      tokens.revoke(Number(what.id));
    }
  } finally {
    close();
  }
  return exitCodes.ok;
};

/** `sluice portal token` on the command line. */
export const tokenDeclaration: Subcommand = {
  description: 'access tokens for programs without a session; needs `tokens: true`',
  examples: [
    'sluice portal token add ann --label "nightly job" --data /srv/portal',
    'sluice portal token list --portal local',
  ],
  subcommands: {
    add: {
      description: 'create a token for an account and print it once',
      arguments: { '<user>': '' },
      options: { '--label <text>': 'label, shown by list' },
      examples: ['sluice portal token add ann --label "nightly job"'],
      run: (user: string, options: TokenOptions & { label?: string }, io: Io) =>
        portalTokenCommand({ action: 'add', user, label: options.label ?? '' }, options, io),
    },
    list: {
      description: 'list tokens by number, account, time and label',
      options: jsonOption,
      examples: ['sluice portal token list --json'],
      run: (options: TokenOptions, io: Io) => portalTokenCommand({ action: 'list' }, options, io),
    },
    revoke: {
      description: 'revoke a token',
      arguments: { '<number>': '' },
      examples: ['sluice portal token revoke 3'],
      run: (id: string, options: TokenOptions, io: Io) => portalTokenCommand({ action: 'revoke', id }, options, io),
    },
  },
};
