// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these texts show people the reference syntax itself
// The shape of `notify` in a configuration file: who is notified, and how.
import { z } from 'zod';
import { keysOf, needed, optional, text, webAddress, webAddressRule } from '../model/schema-parts.ts';
import { defaults } from './defaults.ts';
import { portNumber, secret, secretAddress } from './portal-schema.ts';

const mailbox = z.string().regex(/^(?:[^<>\r\n]+<[^<>@\s]+@[^<>@\s]+>|[^<>@\s]+@[^<>@\s]+)$/, {
  error: 'must be an e-mail address: `ops@example.org` or `Data team <ops@example.org>`',
});

export const recipientsSchema = z.union([mailbox, z.array(mailbox).min(1)], {
  error: 'must be an e-mail address or a list of them',
});

const webhook = z.strictObject({
  url: needed(
    secretAddress('https://example.org/hook'),
    'Address that receives each notice as a JSON POST; may be a reference.',
    'https://ops.example.org/sluice',
  ),
  secret: optional(secret, {
    description: 'Key of the HMAC-SHA256 signature, as a reference; unsigned without it.',
    examples: ['${SLUICE_WEBHOOK_SECRET}'],
  }),
});

const email = z.strictObject({
  host: needed(text, 'Mail server.', 'smtp.example.org'),
  ...keysOf(
    {
      port: [portNumber, 'Its port.', 465],
      secure: [z.boolean(), 'Implicit TLS (port 465). Otherwise STARTTLS, required with a login.', true],
      username: [text, 'User to log in as, if any.', 'sluice'],
      password: [secret, 'Password, as a reference: `${NAME}` or `{file: path}`.', '${SMTP_PASSWORD}'],
    },
    defaults.email,
  ),
  from: needed(mailbox, 'Sender.', 'sluice@example.org'),
  to: needed(recipientsSchema, 'Recipients: an address or a list.', ['ops@example.org']),
});

const ping = (when: string, state: string) =>
  [webAddress, `Address that is called when a run ${when}.`, `https://example.org/ping?state=${state}`] as const;

/** Addresses that each run calls: one for all, or one each. */
export const heartbeatSchema = z.union(
  [
    webAddress,
    z.strictObject(
      keysOf({
        start: ping('begins', 'run'),
        ok: ping('has succeeded', 'complete'),
        fail: ping('has failed or is held', 'fail'),
      }),
    ),
  ],
  { error: `${webAddressRule}, or a mapping with \`start\`, \`ok\` and \`fail\`` },
);

/** What happens to a run, as reported to a heartbeat monitor. */
export type Heartbeat = 'start' | 'ok' | 'fail';

export type HeartbeatUrls = Partial<Record<Heartbeat, string>>;

/** Resolves a checked `heartbeat`; one address is that of success, with `/start` and `/fail` behind it for the others. */
export const heartbeatUrls = (file: z.infer<typeof heartbeatSchema>): HeartbeatUrls => {
  if (typeof file !== 'string') return file;
  const below = (name: string): string => {
    const url = new URL(file);
    url.pathname = `${url.pathname.replace(/\/$/, '')}/${name}`;
    return url.href;
  };
  return { start: below('start'), ok: file, fail: below('fail') };
};

export const notifyFileSchema = z
  .strictObject(
    keysOf({
      webhook: [webhook, 'Notices to a program.', { url: 'https://ops.example.org/sluice' }],
      email: [
        email,
        'Notices to people.',
        { host: 'smtp.example.org', from: 'sluice@example.org', to: 'ops@example.org' },
      ],
      heartbeat: [
        heartbeatSchema,
        'Monitor that each run calls: an address, which gets `/start` and `/fail` appended, or an address for each.',
        'https://hc-ping.com/1f0c4f4e-6a5c-4f0e-9d39-0e6a3a7b8c11',
      ],
    }),
  )
  .meta({ description: 'Who is notified of problems and recoveries.' });
