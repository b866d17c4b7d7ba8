// What somebody without a login may see where `web.public` is set: how everything stands. Never what messages, logs and
// reports hold: paths of the machine, addresses of sources, cells of tables, commands.
import { errorCodes } from '../../model/errors.ts';
import { type LedgerEntry, newEntry } from '../../model/ledger-entry.ts';
import type { Reason } from '../../model/report.ts';
import type { ItemView } from '../../service/items.ts';
import type { OverviewView, RunView } from '../../service/overview.ts';

/** What the code of a reason means in general. */
const plainReason = ({ code }: Reason): Reason => ({
  code: /^[a-z-]{1,40}$/.test(code) ? code : 'fault',
  message: Object.hasOwn(errorCodes, code) ? errorCodes[code as keyof typeof errorCodes] : 'It has a fault.',
  hint: null,
});

const plainRun = <Run extends { reason: Reason | null }>(run: Run): Run => ({
  ...run,
  reason: run.reason && plainReason(run.reason),
});

export const pauseForReaders = ({ portal, pause }: OverviewView['pauses'][number]): OverviewView['pauses'][number] => ({
  portal,
  pause: { ...pause, reason: plainReason(pause.reason) },
});

export const overviewForReaders = (view: OverviewView): OverviewView => ({
  ...view,
  targets: view.targets.map((target) => ({
    ...target,
    runs: target.runs.map(plainRun),
    held: target.held && { ...target.held, why: errorCodes.held },
  })),
  pauses: view.pauses.map(pauseForReaders),
  inboxes: [],
  late: {
    ...view.late,
    overdue: view.late.overdue.map((late) => {
      const why = `${late.manifest ?? 'a process of the service'}: what was expected did not happen in time`;
      return { ...late, key: null, why, hint: 'log in to see more' };
    }),
  },
});

/** An entry with nothing but what is named here. */
const plainEntry = (entry: LedgerEntry): LedgerEntry => {
  const { key, kind, nid, title, file, rows, live, stale, reason, removed, syncedAt } = entry;
  const isSeen = live || stale;
  return newEntry({
    key,
    kind,
    uuid: '',
    nid,
    title,
    rows,
    live,
    stale,
    removed,
    syncedAt,
    url: isSeen ? entry.url : null,
    file: isSeen && file ? { ...file, fid: '', sha256: '' } : null,
    reason: reason && plainReason(reason),
  });
};

export const itemForReaders = <Entry extends LedgerEntry>(entry: Entry): Entry => ({ ...entry, ...plainEntry(entry) });

export const itemViewForReaders = (view: ItemView): ItemView => ({
  ...view,
  entry: plainEntry(view.entry),
  comesFrom: null,
  log: [],
});

export const runForReaders = (run: RunView): RunView => ({
  ...plainRun(run),
  causes: run.causes.map(({ reason, count, items }) => ({
    reason: plainReason(reason),
    count,
    items: items.map(({ key }) => ({ key, message: '' })),
  })),
  remarks: [],
  log: [],
});
