// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these texts show people the reference syntax itself
// The shape of `notify` in a configuration file: who is notified, and how.
import { z } from 'zod';
import { optional } from '../model/optional-key.ts';
import { defaults } from './defaults.ts';
import { portNumber, secret } from './portal-schema.ts';

const text = z.string().trim().min(1);
const mailbox = z.string().regex(/^(?:[^<>\r\n]+<[^<>@\s]+@[^<>@\s]+>|[^<>@\s]+@[^<>@\s]+)$/, {
  error: 'must be an e-mail address: `ops@example.org` or `Data team <ops@example.org>`',
});

/** Recipients of e-mail: one address or a list of them. */
export const recipientsSchema = z.union([mailbox, z.array(mailbox).min(1)], {
  error: 'must be an e-mail address or a list of them',
});

const webhook = z.strictObject({
  url: z
    .union(
      [
        text,
        z.strictObject({ file: text.meta({ description: 'File that holds the address.', examples: ['webhook-url'] }) }),
      ],
      {
        error: 'must be an address such as `https://example.org/hook`, or `{file: path}`',
      },
    )
    .meta({
      description: 'Address that receives each notice as a JSON POST; may be a reference.',
      examples: ['https://ops.example.org/sluice'],
    }),
  secret: optional(secret, {
    description: 'Key of the HMAC-SHA256 signature, as a reference; without it notices are not signed.',
    examples: ['${SLUICE_WEBHOOK_SECRET}'],
  }),
});

const email = z.strictObject({
  host: text.meta({ description: 'Mail server.', examples: ['smtp.example.org'] }),
  port: optional(portNumber, { default: defaults.email.port, description: 'Its port.', examples: [465] }),
  secure: optional(z.boolean(), {
    default: defaults.email.secure,
    description: 'Implicit TLS (port 465). Otherwise STARTTLS, required with a login.',
    examples: [true],
  }),
  username: optional(text, { description: 'User to log in as, if any.', examples: ['sluice'] }),
  password: optional(secret, {
    description: 'Password, as a reference: `${NAME}` or `{file: path}`.',
    examples: ['${SMTP_PASSWORD}'],
  }),
  from: mailbox.meta({ description: 'Sender.', examples: ['sluice@example.org'] }),
  to: recipientsSchema.meta({ description: 'Recipients: an address or a list.', examples: [['ops@example.org']] }),
});

/** Who is notified of problems and recoveries. */
export const notifyFileSchema = z
  .strictObject({
    webhook: optional(webhook, {
      description: 'Notices to a program.',
      examples: [{ url: 'https://ops.example.org/sluice' }],
    }),
    email: optional(email, {
      description: 'Notices to people.',
      examples: [{ host: 'smtp.example.org', from: 'sluice@example.org', to: 'ops@example.org' }],
    }),
  })
  .meta({ description: 'Who is notified of problems and recoveries.' });
