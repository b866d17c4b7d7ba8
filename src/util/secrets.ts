// Secrets: compared, and taken out of what others wrote, such as a server that echoes them.
import { hash, timingSafeEqual } from 'node:crypto';

export const isSameSecret = (a: string, b: string): boolean =>
  timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'));

/** A text with `[redacted]` for each secret, also where it stands in JSON or in an address. */
export const withoutSecrets = (text: string, secrets: readonly string[]): string =>
  secrets
    .filter((secret) => secret.length > 2)
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)])
    .sort((one, other) => other.length - one.length) // one may be a part of another
    .reduce((clean, secret) => clean.replaceAll(secret, '[redacted]'), text);
