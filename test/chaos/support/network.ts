// Networks of their own for hosts of a test (Linux, root): each has one wire to this host, which can be pulled.
import { execFileSync, spawnSync } from 'node:child_process';

const ip = (...args: string[]): void => {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
};

/** Why no network can be made here; null when one can. */
export const whyNoNetworks = (): string | null => {
  const name = `sluice-try-${process.pid}`;
  const made = spawnSync('ip', ['netns', 'add', name], { encoding: 'utf8' });
  if (made.error) return 'there is no `ip` command';
  if (made.status !== 0) return `\`ip netns add\`: ${made.stderr.trim()}`;
  spawnSync('ip', ['netns', 'del', name]);
  return null;
};

/** A host's network. */
export interface Network {
  /** Address of this host, as seen from there. */
  here: string;
  /** Command that runs another one there. */
  through: string[];
  /** Pulls the wire, or plugs it in again. */
  wire(state: 'up' | 'down'): void;
  remove(): void;
}

/** Makes the network of a host; `index` (0 to 63) tells hosts apart. Its wire goes with it. */
export const makeNetwork = (index: number): Network => {
  const name = `sluice-${process.pid}-${index}`;
  const [outer, inner] = [`slo${process.pid % 100_000}-${index}`, 'wire'];
  // Of the range for networks between hosts of one provider (RFC 6598), which a test machine does not use elsewhere.
  const subnet = `100.${64 + index}.${process.pid % 256}`;
  const [here, there] = [`${subnet}.1`, `${subnet}.2`];
  ip('netns', 'add', name);
  const plug = (): void => {
    ip('-n', name, 'link', 'set', inner, 'up');
    ip('-n', name, 'route', 'replace', 'default', 'via', here);
  };
  try {
    ip('link', 'add', outer, 'type', 'veth', 'peer', 'name', inner, 'netns', name);
    ip('addr', 'add', `${here}/24`, 'dev', outer);
    ip('link', 'set', outer, 'up');
    ip('-n', name, 'addr', 'add', `${there}/24`, 'dev', inner);
    ip('-n', name, 'link', 'set', 'lo', 'up');
    plug();
  } catch (error) {
    spawnSync('ip', ['netns', 'del', name]);
    throw error;
  }
  return {
    here,
    through: ['ip', 'netns', 'exec', name],
    wire: (state) => (state === 'up' ? plug() : ip('-n', name, 'link', 'set', inner, 'down')),
    remove: () => void spawnSync('ip', ['netns', 'del', name]),
  };
};
