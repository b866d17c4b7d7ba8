// `sluice notices test`: whether notices arrive.
import { UsageError } from '../model/errors.ts';
import { testNotices } from '../service/test-notices.ts';
import type { CommandDeclarations } from './declaration.ts';
import { exitCodes } from './exit.ts';
import { type CommonOptions, type Io, print } from './io.ts';
import { configOf, oneOffLog } from './session.ts';
import { hintLine, lines } from './text.ts';

/** Sends one notice through every channel; 0 when all took it, 3 otherwise. @throws UsageError where there is none */
export const noticesTestCommand = async (options: CommonOptions, io: Io): Promise<number> => {
  const config = await configOf(options, io);
  const channels = await testNotices(config, { env: io.env, log: oneOffLog(config, options, io), signal: io.stop });
  if (channels.length === 0) {
    throw new UsageError('no channel for notices is configured', {
      hint: 'set `notify.webhook`, `notify.email` or `notify.heartbeat` in the configuration',
    });
  }
  const text = channels.map(({ channel, to, manifest, error }) => {
    const whose = manifest === null ? '' : ` (of ${manifest})`;
    return [`${channel} ${to}${whose}: ${error ? `failed: ${error.message}` : 'delivered'}`, hintLine(error?.hint)];
  });
  print(io, options, { json: { channels }, lines: lines(text) });
  return channels.every(({ error }) => error === null) ? exitCodes.ok : exitCodes.someFailed;
};

export const commands = {
  notices: {
    examples: ['sluice notices test'],
    subcommands: {
      test: {
        description: 'send one test notice through every channel',
        examples: ['sluice notices test --config config/sluice.yaml'],
        run: noticesTestCommand,
      },
    },
  },
} satisfies CommandDeclarations;
