// Probes a portal for `sluice check --portal`: what works, what does not, what to do.
import type { Config } from '../config/config.ts';
import type { Log } from '../model/log.ts';
import type { PortalProbe } from '../portal-client/client.ts';
import { hintLine, lines } from './text.ts';

export interface PortalFinding extends PortalProbe {
  name: string;
  url: string;
  /** Of an embedded portal with a new store; never shown again. */
  newAdminPassword: string | null;
}

/** Probes a configured portal; an embedded one that is not running is started meanwhile. Needs no queue. */
export const probePortal = async (
  name: string,
  config: Config,
  { log, signal }: { log: Log; signal: AbortSignal },
): Promise<PortalFinding> => {
  const { portalAccess } = await import('../service/portal-access.ts'); // clients and a store, which `init` and `check` start without
  const access = portalAccess(config, log);
  try {
    const portal = await access.open(name);
    const newAdminPassword = access.supervisor(name)?.server?.newAdminPassword ?? null;
    return { name, url: portal.url, newAdminPassword, ...(await portal.probe(signal)) };
  } finally {
    await access.close();
  }
};

/** Findings as lines: `ok`, `NO`, or `?` for unknown, each with its hint below. */
export const portalLines = ({ name, url, findings, newAdminPassword: password }: PortalFinding): string[] =>
  lines(
    `portal ${name} (${url})`,
    findings.map(({ ok, what, hint }) => [
      `  ${ok === null ? '? ' : ok ? 'ok' : 'NO'}  ${what}`,
      hintLine(hint, '      '),
    ]),
    password !== null && `  its store is new: the password of its user admin is ${password} (shown this once)`,
  );
