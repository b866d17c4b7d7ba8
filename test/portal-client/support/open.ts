// Opens a client for a test and closes it afterwards.
import { onTestFinished } from 'vitest';
import { createLog } from '../../../src/model/log.ts';
import { Portal, type PortalHooks } from '../../../src/portal-client/client.ts';
import type { PortalSettings } from '../../../src/portal-client/settings.ts';

/** Never aborted. */
export const calm: AbortSignal = new AbortController().signal;

/** A client with short patience; closed when the test is over. */
export const openForTest = (
  url: string,
  settings: Partial<PortalSettings> = {},
  hooks: Partial<PortalHooks> = {},
): Portal => {
  const portal = Portal.open(
    {
      name: 'city',
      url,
      username: 'creator',
      password: 'open-sesame',
      dialect: 'auto',
      connections: 8,
      terms: { vocabularies: {}, terms: {} },
      timeouts: { connectMs: 20_000, headersMs: 20_000, bodyMs: 20_000, uploadMs: 20_000 },
      readRetries: 2,
      ...settings,
    },
    { log: createLog({ level: 'silent' }), ...hooks },
  );
  onTestFinished(() => portal.close());
  return portal;
};

/** The error a call rejects with. */
export const failureFrom = async (call: Promise<unknown>): Promise<unknown> => {
  try {
    await call;
  } catch (error) {
    return error;
  }
  throw new Error('the call did not fail');
};
