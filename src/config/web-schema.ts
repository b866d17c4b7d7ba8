// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these texts show people the reference syntax itself
// The shape of `web` in a configuration file: the HTTP server of the service.
import { z } from 'zod';
import { optional } from '../model/optional-key.ts';
import { normalUrl } from './addresses.ts';
import { defaults } from './defaults.ts';
import { portNumber, secret } from './portal-schema.ts';
import { redacting } from './references.ts';

const text = z.string().trim().min(1);

/** The HTTP server of the service. */
export const webFileSchema = z
  .strictObject({
    host: optional(text, {
      default: defaults.web.host,
      description: 'Where `sluice start` listens; outside loopback with a `password` only.',
      examples: ['0.0.0.0'],
    }),
    port: optional(portNumber, {
      default: defaults.web.port,
      description: 'Port, one per service on a host; 0 picks a free one.',
      examples: [4284],
    }),
    username: optional(text, {
      default: defaults.web.username,
      description: 'User of the pages.',
      examples: ['ann'],
    }),
    password: optional(secret, {
      description: 'Password of the pages, as a reference; without it there is no login.',
      examples: [{ file: 'web-password' }],
    }),
    token: optional(secret, {
      description: 'Token for `POST /runs`, as a reference.',
      examples: [{ file: 'web-token' }],
    }),
    publicUrl: optional(text, {
      description: 'Address behind a proxy, which needs a `password`; with https, cookies are secure.',
      examples: ['https://sluice.example.org'],
    }),
  })
  .meta({ description: 'The HTTP server of `sluice start`: its pages, health and metrics.' });

/** `web` as it is used; `password` null: no login; `token` null: no program may request runs. */
export const resolveWeb = (
  file: z.infer<typeof webFileSchema> | undefined,
  { password, token }: { password: string | null; token: string | null },
) => {
  const { host, port, username, publicUrl } = { publicUrl: undefined, ...defaults.web, ...file };
  const url = publicUrl === undefined ? null : normalUrl(publicUrl);
  return redacting({ host, port, username, password, token, publicUrl: url }, 'password', 'token');
};
