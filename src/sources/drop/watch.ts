// Watches the inbox for anything that happens to its files. Only a hint where to look: no event is trusted, none is needed.
import { relative, sep } from 'node:path';
import { watch } from 'chokidar';

/** The callbacks of a watch. Paths are relative to the watched folder, with `/`. */
export interface WatchListener {
  onPath: (path: string) => void;
  /** Something left the folder, so what stood in another file's way may be gone. */
  onRemoved: () => void;
  onError: (error: unknown) => void;
}

const pollingMs = 1000;

/**
 * Starts watching `folder`, `depth` levels deep; links are not followed, dot files and dot folders not reported. `poll` looks by
 * time instead of events (network drives). Resolves once changes are seen; what was there before is not reported.
 */
export const watchFolder = async (
  folder: string,
  { poll, depth, onPath, onRemoved, onError }: WatchListener & { poll: boolean; depth: number },
): Promise<{ close(): Promise<void> }> => {
  const inside = (path: string): string => relative(folder, path).split(sep).join('/');
  const watcher = watch(folder, {
    ignored: (path) =>
      inside(path)
        .split('/')
        .some((name) => name.startsWith('.') && name !== '..'),
    ignoreInitial: true,
    followSymlinks: false,
    depth,
    atomic: false,
    ...(poll ? { backend: 'polling', pollingInterval: pollingMs, pollingBinaryInterval: pollingMs } : {}),
  });
  watcher.on('all', (event, path) => {
    if (event === 'addDir') return;
    if (event === 'unlink' || event === 'unlinkDir') onRemoved();
    if (event !== 'unlinkDir') onPath(inside(path));
  });
  watcher.on('error', onError);
  await new Promise<void>((resolve) => watcher.once('ready', resolve));
  return { close: () => watcher.close() };
};
